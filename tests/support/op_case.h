/* Test cases of ops: values and gradients are compared with float64 references.
 *
 * A case is an expression written twice: once with the library (build) and once with reference.h (reference).
 * A suite puts all its cases into one graph and computes all their outputs and gradients with one plan, and
 * those of the cases with a batch dimension with one plan for each further batch size, so that few programs
 * are compiled; then every case is a separate test:
 *
 *   value      each element within the error that the reference allows
 *   gradients  of sum(output · weights) for fixed random weights, with regard to each f32 input: in several
 *              random directions against the central difference of the reference in float64
 *
 * With $WEFT_TEST_FORMAT (f16, bf16 or f64) inputs of f32 become inputs of that format, and the allowed errors are
 * those of the format. */
#ifndef TEST_OP_CASE_H
#define TEST_OP_CASE_H

#include "oracle/dtype_values.h"
#include "oracle/reference.h"
#include "support/fixture.h"

/* How an input reaches the op: as it is, or as a view that makes its memory strided. */
typedef enum op_view {
    OP_WHOLE,
    OP_TRANSPOSED, /* its memory has the last two axes swapped */
    OP_REVERSED,   /* its memory has all axes in reverse order */
    OP_SLICED      /* its memory has two more elements before and one after, along the last axis */
} op_view;

typedef enum op_values {
    OP_ABSENT,       /* the case has no further inputs */
    OP_RANDOM,       /* uniform in low .. high; whole numbers for integers */
    OP_WHOLE_RANDOM, /* whole numbers in low .. high, so that ties occur */
    OP_PARAMETER     /* like OP_RANDOM, in a parameter instead of an input */
} op_values;

typedef struct op_input {
    weft_dtype dtype;
    op_values values;
    double low, high;
    int64_t dims[WEFT_MAX_RANK + 1]; /* ended by WEFT_END; WEFT_BATCH (times k) is allowed */
    op_view view;
} op_input;

#define DIMS(...)                                                                                            \
    { __VA_ARGS__, WEFT_END }
#define F32(lowest, highest, ...)                                                                            \
    { WEFT_F32, OP_RANDOM, lowest, highest, DIMS(__VA_ARGS__), OP_WHOLE }
#define F32_NUMBER(lowest, highest)                                                                          \
    { WEFT_F32, OP_RANDOM, lowest, highest, {WEFT_END}, OP_WHOLE }
#define F32_VIEW(how, lowest, highest, ...)                                                                  \
    { WEFT_F32, OP_RANDOM, lowest, highest, DIMS(__VA_ARGS__), how }
#define F32_TIES(lowest, highest, ...)                                                                       \
    { WEFT_F32, OP_WHOLE_RANDOM, lowest, highest, DIMS(__VA_ARGS__), OP_WHOLE }
#define F32_PARAMETER(lowest, highest, ...)                                                                  \
    { WEFT_F32, OP_PARAMETER, lowest, highest, DIMS(__VA_ARGS__), OP_WHOLE }
#define I32(lowest, highest, ...)                                                                            \
    { WEFT_I32, OP_RANDOM, lowest, highest, DIMS(__VA_ARGS__), OP_WHOLE }

#define OP_CASE_INPUTS 9

typedef struct op_case op_case;
typedef weft_tensor *op_build(const op_case *c, weft_graph *graph, weft_tensor *const *inputs);
typedef f64_array *op_reference(const op_case *c, const f64_array *const *inputs);

struct op_case {
    const char *name; /* what the case tests, for example "broadcast both sides" */
    op_input inputs[OP_CASE_INPUTS];
    op_build *build;
    op_reference *reference;
    /* For build and reference to share; unused ones are zero. */
    int64_t list[WEFT_MAX_RANK + 1]; /* axes, dimensions: LIST(0, -1) */
    int axis;
    int64_t start, end;
    bool keep;
    const void *row; /* the row of the table from which the case was created */
    /* For 16-bit floats and cases that consist of several ops: an element may be wrong by this many rounding errors of the
     * largest element, in addition to one rounding error of its own. */
    double roundings;
    /* An absolute error of the directional derivative that is allowed because large terms of it cancel. */
    double gradient_error;
    bool
        no_gradient; /* gradients are not tested, because the value has jumps, where a difference is no derivative */
};
#define LIST(...) .list = {__VA_ARGS__, WEFT_END}
#define ALL_AXES  .list = {WEFT_END}

/* CASE("last axis", softmax, INPUTS(F32(-4, 4, 3, 17)), .axis = -1) calls build_softmax and
 * reference_softmax. */
#define CASE(text, function, ...)                                                                            \
    { .name = text, .build = build_##function, .reference = reference_##function, __VA_ARGS__ }
#define INPUTS(...) .inputs = {__VA_ARGS__}

/* The cases of one op. */
typedef struct op_cases {
    const char *
        op; /* its name in the op table; the graph of each case must contain a node of this op. NULL: any graph */
    const op_case *cases;
    size_t count;
} op_cases;
#define OP_CASES(op, table)                                                                                  \
    { #op, table, sizeof(table) / sizeof((table)[0]) }

/* Runs all cases as one cmocka group; returns the result for main. */
int op_suite_run(const char *name, const op_cases *ops, size_t count);

/* Compares the numbers `got` of this dtype with the reference. If an error is too large, fails the test with the index of the
 * worst element and both values. */
void op_assert_close(const char *what, weft_dtype dtype, const void *got, const f64_array *wanted);

/* Whether `tensor` is computed from `on`. An input on which no output depends is not an input of the plan. */
bool op_depends_on(const weft_tensor *tensor, const weft_tensor *on);

#endif
