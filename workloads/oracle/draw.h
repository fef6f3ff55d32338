/* Choosing the inputs and attributes of a random call from the values that its program has.
 *
 * A value is a source (an input, a parameter, a state or an array of constants) or the result of an earlier call. Functions that
 * return a value's number return -1 where there is none and none can be made. New sources are made where an op needs one of
 * a certain shape. Chosen values are mostly recent ones, so that programs become chains. */
#ifndef ORACLE_DRAW_H
#define ORACLE_DRAW_H

#include "oracle/oracle.h"

/* ---- numbers ---- */
int64_t draw_below(oracle_draw *draw, int64_t bound); /* 0 .. bound - 1 */
bool draw_chance(oracle_draw *draw, int percent);
double draw_between(oracle_draw *draw, double low, double high);
/* The nearest number that floats of every dtype have: constants of calls are stored in the dtype of their tensors. */
double draw_exact(double number);
/* A size: one of 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130, at most `most`. */
int64_t draw_size(oracle_draw *draw, int64_t most);
weft_dtype draw_format(const oracle_draw *draw); /* of the program's floats */
int draw_axis(oracle_draw *draw, int value);     /* 0 .. rank - 1; rank is at least 1 */
/* The position 0 .. size - 1 as a number that counts from either end. */
int64_t draw_from_either_end(oracle_draw *draw, int64_t position, int64_t size);
/* A size of at most `most` elements: WEFT_BATCH, WEFT_LENGTH where a value has it, or a draw_size. */
int64_t draw_any_size(oracle_draw *draw, int64_t most);
bool draw_is_number(int64_t dim); /* is the dimension an ordinary number, not a free one? */

/* ---- what is known of a value ---- */
int draw_rank(const oracle_draw *draw, int value);
weft_dtype draw_dtype(const oracle_draw *draw, int value);
/* As the library writes it: negative or with WEFT_LENGTH where it is free. Negative axes count from the end. */
int64_t draw_dim(const oracle_draw *draw, int value, int axis);
bool draw_is_fixed(const oracle_draw *draw, int value, int axis); /* is that dimension an ordinary number? */
/* All dimensions as a list that WEFT_END ends. */
void draw_dims(const oracle_draw *draw, int value, int64_t *dims);
/* The number of elements, at the sizes that the program is drawn with; of a list of dimensions. */
int64_t draw_count(const oracle_draw *draw, int value);
int64_t draw_count_of(const oracle_draw *draw, const int64_t *dims);
/* How many elements a value of the program may have. */
int64_t draw_most(const oracle_draw *draw);
/* What it is in float64, at the sizes that the program is drawn with. */
const f64_array *draw_array(const oracle_draw *draw, int value);
/* Is an element outside of 0 .. 1, at the sizes that the program is drawn with? Then the value is no result of softmax or sigmoid,
 * which losses refuse as logits and as log-probabilities. */
bool draw_is_no_probability(const oracle_draw *draw, int value);
int draw_value_count(const oracle_draw *draw);
/* May a further call read it? Not the states that runs change. */
bool draw_may_read(const oracle_draw *draw, int value);

/* ---- choosing values ---- */
typedef enum draw_types {
    DRAW_FLOAT = 1,
    DRAW_I32 = 2,
    DRAW_BOOL = 4,
    DRAW_NUMERIC = DRAW_FLOAT | DRAW_I32,
    DRAW_ANY = 7
} draw_types;

/* A value of one of these types and of a rank in this range: an existing one, or now and then a new source. */
int draw_value(oracle_draw *draw, draw_types types, int least_rank, int most_rank);
/* The same with elements in low .. high at the sizes that the program is drawn with. */
int draw_value_within(
    oracle_draw *draw, draw_types types, int least_rank, int most_rank, double low, double high);
/* A value of this dtype and exactly this shape (a list that WEFT_END ends): an existing one, or a new source with elements in low .. high. */
int draw_shaped(oracle_draw *draw, weft_dtype dtype, const int64_t *dims, double low, double high);
/* A value of the dtype of `value` and this shape. */
int draw_alike(oracle_draw *draw, int value, const int64_t *dims);
/* i32 of this shape with elements in 0 .. below - 1, a size as the library writes it: an existing value or a new source. */
int draw_indices(oracle_draw *draw, const int64_t *dims, int64_t below);
/* Does the value lie in memory in the order of its axes? What is computed from images need not. */
bool draw_is_row_major(const oracle_draw *draw, int value);
/* A value of this dtype that broadcasts together with `value`: an existing one or a new source, of the same shape or with dimensions
 * of 1 or fewer dimensions. */
int draw_partner(oracle_draw *draw, int value, weft_dtype dtype, double low, double high);

typedef struct draw_source_options {
    weft_dtype dtype;
    const int64_t *dims; /* ended by WEFT_END */
    double low, high;    /* of its elements; for i32, whole numbers from low to high, both included */
    /* i32: elements are 0 .. below - 1, a size as the library writes it, in place of low and high; 0: no such limit. */
    int64_t below;
    bool parameter; /* a parameter or a state, not an input (no dimension may be free) */
    bool
        changed; /* a state that runs change by the call's effect: no other call reads it, and it has no gradient */
    bool ascending; /* sorted */
    bool distinct;  /* i32 with `below`: no number twice along the only axis */
    bool from_zero; /* the first element is 0 */
} draw_source_options;
/* A new source; without `parameter` its kind is drawn. */
int draw_source(oracle_draw *draw, const draw_source_options *options);
/* A new f32 source, often a parameter: weights. */
int draw_weights(oracle_draw *draw, const int64_t *dims, double low, double high);
/* A random shape of this rank with free dimensions where the program has them, at most draw_most elements; writes rank
 * dimensions and WEFT_END. */
void draw_shape(oracle_draw *draw, int rank, int64_t *dims);

/* The dimensions of `value` without its `last` ones, or leading dimensions that broadcast with them: without the first, with dimensions of
 * 1 in place of larger ones and larger ones in place of 1, with one more before them. Returns how many; no WEFT_END is written. */
int draw_leading(oracle_draw *draw, int value, int last, int64_t *dims);

/* Does the program have room for a value of these dimensions? */
bool draw_fits(const oracle_draw *draw, const int64_t *dims);

#endif
