/* The oracle: every row of the op table in float64, apart from the library.
 *
 * A call is one op with its inputs and attributes. It can be done three ways: by the library (build), in float64 with a bound
 * on the error that a correct f32 computation may have (evaluate), and as a line of C (code). A function of the op table that the library
 * builds from other ops, and an op that it lowers to others, are evaluated by their own definition here.
 *
 * Each family has a file, oracle_<family>.c, with an oracle_op for each of its rows; oracle_table.c collects them by the op
 * table, so that a row without one does not link. The shapes that a call can have, and the values that it may read, are
 * chosen by its draw function from what a random program has already (draw.h). */
#ifndef ORACLE_ORACLE_H
#define ORACLE_ORACLE_H

#include "oracle/reference.h"
#include <weft/weft.h>

enum { ORACLE_INPUTS = 9, ORACLE_INTEGERS = 20, ORACLE_NUMBERS = 6 };

typedef struct oracle_op oracle_op;
typedef struct oracle_draw oracle_draw;

/* What stands for the symbols of a program. Sizes in calls and sources are written as the library writes them: WEFT_BATCH
 * times k, WEFT_LENGTH and numbers that are calculated from it. */
typedef struct oracle_sizes {
    int64_t batch, length;
    bool inference; /* norms and dropout in their form for inference */
    bool fixed;     /* the network is built with numbers in place of its symbols */
    uint64_t runs; /* how often plans of the graph have run before: random ops draw new numbers in each run */
    uint64_t seed; /* of the context */
    weft_dtype
        format; /* of the program's floats: ops that the library makes of several may store what is between in it */
} oracle_sizes;

typedef struct oracle_call {
    const oracle_op *op;
    int inputs[ORACLE_INPUTS]; /* values of the program by number; -1: that one is absent */
    int input_count;
    int64_t integers[ORACLE_INTEGERS];
    double numbers[ORACLE_NUMBERS];
    int64_t dims[WEFT_MAX_RANK + 1]; /* axes or sizes, ended by WEFT_END */
    const char *text;
    int draws;        /* random ops: how many random nodes the program created before this one */
    bool no_gradient; /* the gradient that the op's definition gives is not that of its value */
} oracle_call;

struct oracle_op {
    const char *name; /* its row of the op table */
    /* A line of C: $0 to $8 are the inputs ("NULL" where absent), $i0 to $i19 the integers as sizes, $a0 likewise as axes or
     * ends of slices, which count from the end where they are negative, $b0 likewise as booleans, $n0 to $n5 the numbers, $l
     * the list of dims as an array that WEFT_END ends, $x likewise as axes, $d rank and dims, $r its length, $t the text as a string, $w the
     * text as it is, $g the graph. A line that has `parts` is one of a function that writes several results there. */
    const char *code;
    /* Chooses inputs and attributes; false: nothing that the program has can be taken. */
    bool (*draw)(oracle_draw *draw, oracle_call *call);
    /* in: the inputs; NULL for those that are absent. */
    weft_tensor *(*build)(
        weft_graph *graph, const oracle_call *call, weft_tensor *const *in, const oracle_sizes *sizes);
    f64_array *(*evaluate)(const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes);
    bool no_gradient;         /* asking for a gradient through it is an error */
    bool first_gradient_only; /* asking for a second gradient is an error */
    bool random;              /* its value is drawn anew in each run */
    /* Do its slopes cancel out at these inputs, so that float32 leaves rounding of them? A norm of two elements is ±1 whatever they
     * are. NULL: never. */
    bool (*cancels)(const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes);
    /* What a run that needs the result leaves in this input, a state (`changed` in draw_source_options). NULL: nothing changes. */
    f64_array *(*effect)(
        const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes, int input);
};

/* A row of the op table, NULL if there is none of that name; their number, and each of them. */
const oracle_op *oracle_find(const char *name);
size_t oracle_op_count(void);
const oracle_op *oracle_op_at(size_t index);

/* The number of elements that a size of a call or source stands for. */
int64_t oracle_size(int64_t size, const oracle_sizes *sizes);
/* The size as it is given to the library: itself, or what it stands for in a network of fixed sizes. */
int64_t oracle_given(int64_t size, const oracle_sizes *sizes);
/* All sizes of a list that WEFT_END ends; `to` has WEFT_MAX_RANK + 1 places. Returns how many there are. */
int oracle_sizes_of(const int64_t *list, const oracle_sizes *sizes, int64_t *to);
int oracle_given_of(const int64_t *list, const oracle_sizes *sizes, int64_t *to);
/* The same of a start or end of a slice, which counts from the end where it is negative. */
int64_t oracle_end(int64_t end, const oracle_sizes *sizes);
int64_t oracle_given_end(int64_t end, const oracle_sizes *sizes);
/* What storing a number of the program may change: 0 in f32, whose roundings are part of every tolerance. */
/* The absolute values: what the terms of a sum of products add up to. */
f64_array *oracle_magnitudes(const f64_array *a);
double oracle_rounding(const oracle_sizes *sizes, double value);
/* A negative axis counts from the end. */
int oracle_axis(int64_t axis, int rank);

/* ---- how a family's file writes an op: ORACLE_OP(roll, "weft_roll($0, $i0, $i1)") takes draw_roll, build_roll and
 * evaluate_roll ---- */
#define ORACLE_OP(op, line)                                                                                  \
    const oracle_op oracle_op_##op = {                                                                       \
        .name = #op, .code = line, .draw = draw_##op, .build = build_##op, .evaluate = evaluate_##op}
#define ORACLE_OP_WITH(op, line, ...)                                                                        \
    const oracle_op oracle_op_##op = {.name = #op,                                                           \
        .code = line,                                                                                        \
        .draw = draw_##op,                                                                                   \
        .build = build_##op,                                                                                 \
        .evaluate = evaluate_##op,                                                                           \
        __VA_ARGS__}
#define ORACLE_BUILD(op)                                                                                     \
    static weft_tensor *build_##op(                                                                          \
        weft_graph *graph, const oracle_call *call, weft_tensor *const *in, const oracle_sizes *sizes)
#define ORACLE_EVALUATE(op)                                                                                  \
    static f64_array *evaluate_##op(                                                                         \
        const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes)
#define ORACLE_EFFECT(op)                                                                                    \
    static f64_array *effect_##op(                                                                           \
        const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes, int input)
#define ORACLE_DRAW(op) static bool draw_##op(oracle_draw *draw, oracle_call *call)
/* For parameters that a function does not read. */
#define ORACLE_UNUSED (void)graph, (void)call, (void)in, (void)sizes

#endif
