/* Networks of ONNX nodes that tests write as text, and their results as doubles, which tests compare with expected numbers. */
#ifndef ONNX_CASE_H
#define ONNX_CASE_H

#include "support/onnx_bytes.h"

/* Element types of a file. */
enum {
    CASE_FLOAT = 1,
    CASE_UINT8,
    CASE_INT8,
    CASE_UINT16,
    CASE_INT16,
    CASE_INT32,
    CASE_INT64,
    CASE_STRING,
    CASE_BOOL,
    CASE_FLOAT16
};

/* Writes an initializer of up to 4096 numbers. FLOAT, INT32 and INT64 store the numbers themselves; for all other types, each number is
 * one byte of the stored data. */
void onnx_case_constant(onnx_bytes *b, const char *name, int type, const char *dims, const double *numbers);
/* Writes a node. attributes: a text such as "axis=1 scale=0.5 pads=[0,1] mode=edge". A number with a point is a float, a list has names or
 * numbers of one kind, and anything else is a string. */
void onnx_case_node(
    onnx_bytes *b, const char *op, const char *inputs, const char *outputs, const char *attributes);
/* Replaces the version of the operator set that onnx_begin_model has written. */
void onnx_case_version(onnx_bytes *b, int version);

/* The numbers of an input; arrays of these are in the order of the inputs. */
typedef struct onnx_case_input {
    const double *numbers;
    size_t count;
} onnx_case_input;

/* onnx_case_run loads the network, writes its inputs, runs it, and reads output i into results[i]. An output has at most CASE_MOST numbers.
 * Fails the test after an error. */
enum { CASE_MOST = 512 };
typedef struct onnx_case_result {
    double numbers[CASE_MOST];
    size_t count;
} onnx_case_result;
void onnx_case_run(const onnx_bytes *b, const onnx_case_input *inputs, onnx_case_result *results);
/* onnx_case_run for a file. */
void onnx_case_run_path(const char *path, const onnx_case_input *inputs, onnx_case_result *results);

/* Fails the test unless the result has these numbers, each within `error` (absolute, and relative to numbers above 1). */
void onnx_case_compare(
    const char *what, const onnx_case_result *result, const double *wanted, size_t count, double error);
/* Fails the test unless loading fails with an error line that names the op and contains the text. */
void onnx_case_refused(const onnx_bytes *b, const char *op, const char *text);

#endif
