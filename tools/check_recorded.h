/* The part of `weft check` that compares every op and its gradients in one format.
 *
 * In f32 and f64 with what PyTorch computed. In f16 and bf16 with what the device computes in f32 from the same numbers, rounded
 * to the format: inputs are of the format where the op takes it, and else f32 in a graph of mixed precision, which stores
 * images in 16 bits and rounds what its matrix engines multiply. */
#ifndef CHECK_RECORDED_H
#define CHECK_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/weft.h>

typedef struct check_part {
    weft_dtype format; /* f32, f64, f16 or bf16 */
    bool all;          /* every recorded case, else the first of each op */
    const char *only;  /* cases of this op or public function; NULL: of all */
    /* Results; what is checked is added. */
    size_t count, passed; /* cases that the format has */
    size_t mixed;         /* of these: in mixed precision */
    size_t missing;       /* cases of ops that do not take the format */
    double largest;       /* error of those that passed */
} check_part;

/* Is a case of this op, or of what this public function is a form of, recorded? */
bool weft_check_knows(const char *name);
/* The largest error that passes, as a share of the largest number of an array. */
double check_allowed(weft_dtype format);
/* Prints a row a case. */
weft_status weft_check_recorded(weft_context *context, check_part *part);

#endif
