/* Text of C: what print.c and print_program.c share. */
#ifndef RANDOM_PRINT_H
#define RANDOM_PRINT_H

#include "random/random_program.h"

typedef struct text {
    char *data; /* allocated; NULL: empty */
    size_t length, capacity;
    bool failed; /* out of memory */
} text;

/* Adds text as printf writes it. */
void program_text_add(text *t, const char *format, ...);
/* Rank and dimensions, as constructors take them. */
void program_text_add_shape(text *t, const int64_t *dims);
/* The expression of a call. */
void program_text_add_call(text *t, const oracle_call *call);
const char *program_dtype_word(weft_dtype dtype);

#endif
