/* Tables of ONNX nodes with what they give, run as constants, which the host computes where it can, and as inputs. */
#ifndef ONNX_ROWS_H
#define ONNX_ROWS_H

#include "support/onnx_case.h"

enum { F = CASE_FLOAT, I = CASE_INT64, B = CASE_BOOL, MOST_OPERANDS = 9, MOST_NUMBERS = 32 };

typedef struct operand {
    int type; /* 0: there is none; -1: it is left out */
    const char *dims;
    double numbers[MOST_NUMBERS];
} operand;

/* given: bits of the operands that are inputs where the device computes; 0: the host alone. counts: of the one or two outputs, whose
 * numbers follow each other. */
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

/* A node of constants that is refused by a line with this text. */
typedef struct refusal {
    const char *op, *attributes;
    operand in[MOST_OPERANDS];
    const char *error;
} refusal;

/* All rows as one network of an operator set, once known and once given; `error` as of onnx_case_compare. */
void rows_check(const row *rows, size_t count, int version, double error);
/* Each as a network of its own; given: bits of the operands that are inputs. */
void refusals_check(const refusal *refused, size_t count, unsigned given);

#endif
