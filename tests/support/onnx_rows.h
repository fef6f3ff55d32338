/* Tests of ONNX nodes by tables of operands and expected results. Each node runs twice: with constants as operands, so that the host can
 * compute it while loading, and with inputs, so that the device computes it. */
#ifndef ONNX_ROWS_H
#define ONNX_ROWS_H

#include "support/onnx_case.h"

enum { F = CASE_FLOAT, I = CASE_INT64, B = CASE_BOOL, MOST_OPERANDS = 9, MOST_NUMBERS = 32 };

typedef struct operand {
    int type; /* 0: the node has no further operands; -1: an optional operand that is not given */
    const char *dims;
    double numbers[MOST_NUMBERS];
} operand;

/* given: a bit for each operand that is an input when the device computes the node; 0: only the host computes it. wanted: the expected
 * numbers of the one or two outputs, one after the other; counts: how many each output has. */
typedef struct row {
    const char *op, *attributes;
    operand in[MOST_OPERANDS];
    unsigned given;
    size_t counts[2];
    double wanted[MOST_NUMBERS];
} row;

#define SIX                                                                                                  \
    { 1, 2, 3, 4, 5, 6 }
#define MIXED                                                                                                \
    { 3, 1, 2, 5, 9, 5 }

/* A node with constant operands that cannot be loaded: the error line contains the text `error`. */
typedef struct refusal {
    const char *op, *attributes;
    operand in[MOST_OPERANDS];
    const char *error;
} refusal;

/* Tests all rows in one network of operator set `version`, once with constants and once with inputs; `error`: see onnx_case_compare. */
void rows_check(const row *rows, size_t count, int version, double error);
/* Tests each refusal as a network; given: a bit for each operand that is an input. */
void refusals_check(const refusal *refused, size_t count, unsigned given);

#endif
