/* What the tests of losses share: the options of a case. */
#ifndef TEST_LOSS_REFERENCE_H
#define TEST_LOSS_REFERENCE_H

#include "oracle/reference_loss.h"
#include "support/op_case.h"

/* What a case of a loss has besides its inputs; a case names one in its field `row`, none is all zero. */
typedef struct loss_setup {
    weft_loss_reduction reduction;
    bool weighted;  /* the case's last input is the weights */
    double number;  /* delta, beta, margin, label smoothing */
    int p;          /* norm or exponent */
    bool flag;      /* full, log_target, swap */
    bool log_input; /* poisson */
    bool ignore;    /* labels `ignored` */
    int32_t ignored;
} loss_setup;

/* .row = &SETUP(.reduction = WEFT_LOSS_SUM) */
#define SETUP(...) ((const loss_setup){.reduction = WEFT_LOSS_MEAN, __VA_ARGS__})

static inline const loss_setup *setup_of(const op_case *c) {
    static const loss_setup none;
    return c->row ? c->row : &none;
}

static inline int input_count(const op_case *c) {
    int count = 0;
    while (count < OP_CASE_INPUTS && c->inputs[count].values != OP_ABSENT) count++;
    return count;
}

static inline weft_loss_options options_of(const op_case *c, weft_tensor *const *inputs) {
    const loss_setup *const setup = setup_of(c);
    return (weft_loss_options){WEFT_LOSS_OPTIONS_INIT, .reduction = setup->reduction,
        .weights = setup->weighted ? inputs[input_count(c) - 1] : NULL};
}

/* Weighted, if the case says so, and reduced. */
static inline f64_array *finished(const op_case *c, const f64_array *const *inputs, const f64_array *losses) {
    const loss_setup *const setup = setup_of(c);
    if (setup->weighted) losses = f64_mul(losses, inputs[input_count(c) - 1]);
    return f64_loss_reduced(losses, setup->reduction);
}

/* A loss: its expression in options, and its simple form (cases that are SIMPLE), and the reference of
 * its single losses; all over a, b, d (the inputs), n (the number), setup and options. */
#define LOSS(name, full, simple, reference)                                                                  \
    static weft_tensor *build_##name(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {      \
        weft_tensor *const a = inputs[0], *const b = inputs[1], *const d = inputs[2];                        \
        const loss_setup *const setup = setup_of(c);                                                         \
        const weft_loss_options chosen = options_of(c, inputs), *const options = &chosen;                    \
        const float n = (float)setup->number;                                                                \
        (void)graph, (void)options, (void)a, (void)b, (void)d, (void)n;                                      \
        return c->keep ? simple : full;                                                                      \
    }                                                                                                        \
    static f64_array *reference_##name(const op_case *c, const f64_array *const *inputs) {                   \
        const f64_array *const a = inputs[0], *const b = inputs[1], *const d = inputs[2];                    \
        const loss_setup *const setup = setup_of(c);                                                         \
        const double n = (double)(float)setup->number;                                                       \
        (void)a, (void)b, (void)d, (void)n, (void)setup;                                                     \
        return finished(c, inputs, reference);                                                               \
    }
#define SIMPLE .keep = true /* the case calls the simple form of the function */

#endif
