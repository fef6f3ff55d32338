/* Optimizers: the table of them, their checks, and what is the same for all.
 *
 * Parameters p, gradients g and each state are one tensor (rows, 16), so a few elementwise nodes update the
 * whole network and the planner makes one launch of them. Around an optimizer's rule (update_rules.c) stand,
 * in this order: accumulation, clipping by value, clipping by norm, coupled decay; then frozen rows, the
 * average, and the choice between old and new on runs that only accumulate.
 *
 * Each optimizer has a learning rate of its own, one scalar. Adding an optimizer: a kind in nn.h, a row here, a
 * rule, a case in tests/golden/make_optimizer_golden.py. */
#include "nn/fraction.h"
#include "nn/update_rules.h"
#include "ops/op_table.h"
#include <string.h>

/* ---- fields and rows ---- */

enum {
    MOMENTUM = 1 << 0,
    BETAS = 1 << 1,
    EPSILON = 1 << 2,
    RHO = 1 << 3,
    DAMPENING = 1 << 4,
    RATE_DECAY = 1 << 5,
    FIRST_SUM = 1 << 6,
    MOMENTUM_DECAY = 1 << 7,
    NESTEROV = 1 << 8,
    CENTERED = 1 << 9,
    AMSGRAD = 1 << 10,
    DECOUPLED = 1 << 11, /* the rule itself applies the decay */
    POSITIVE_EPSILON = 1 << 12,
    ALWAYS = 1 << 30
};

typedef struct optimizer_row {
    const char *name;
    unsigned uses;
    size_t states; /* without those that momentum, centered and amsgrad add */
    weft_tensor *(*rule)(wi_update *);
} optimizer_row;

static const optimizer_row rows[] = {
    [WEFT_SGD] = {"SGD", MOMENTUM | DAMPENING | NESTEROV, 0, wi_sgd_rule},
    [WEFT_ADAM] = {"Adam", BETAS | EPSILON | AMSGRAD, 2, wi_adam_rule},
    [WEFT_ADAMW] = {"AdamW", BETAS | EPSILON | AMSGRAD | DECOUPLED, 2, wi_adam_rule},
    [WEFT_NADAM] = {"NAdam", BETAS | EPSILON | MOMENTUM_DECAY, 2, wi_nadam_rule},
    [WEFT_RMSPROP] = {"RMSprop", MOMENTUM | RHO | EPSILON | CENTERED, 1, wi_rmsprop_rule},
    [WEFT_ADAGRAD] = {"Adagrad", EPSILON | RATE_DECAY | FIRST_SUM, 1, wi_adagrad_rule},
    [WEFT_ADADELTA] = {"Adadelta", RHO | EPSILON | POSITIVE_EPSILON, 2, wi_adadelta_rule},
    [WEFT_LAMB] = {"LAMB", BETAS | EPSILON | POSITIVE_EPSILON | DECOUPLED, 2, wi_lamb_rule},
    [WEFT_LION] = {"Lion", BETAS | DECOUPLED, 1, wi_lion_rule},
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct field_row {
    const char *name;
    unsigned use;
    size_t offset;
    float end; /* values are in [0, end) */
} field_row;

#define FIELD(name, use, end)                                                                                \
    { #name, use, offsetof(weft_optimizer, name), end }
static const field_row fields[] = {
    FIELD(rate, ALWAYS, INFINITY),
    FIELD(weight_decay, ALWAYS, INFINITY),
    FIELD(clip_value, ALWAYS, INFINITY),
    FIELD(clip_norm, ALWAYS, INFINITY),
    FIELD(average_decay, ALWAYS, 1),
    FIELD(momentum, MOMENTUM, 1),
    FIELD(beta1, BETAS, 1),
    FIELD(beta2, BETAS, 1),
    FIELD(epsilon, EPSILON, INFINITY),
    FIELD(rho, RHO, 1),
    FIELD(dampening, DAMPENING, 1.0000001f), /* 1 is allowed */
    FIELD(rate_decay, RATE_DECAY, INFINITY),
    FIELD(first_sum, FIRST_SUM, INFINITY),
    FIELD(momentum_decay, MOMENTUM_DECAY, INFINITY),
};

/* ---- values ---- */

weft_optimizer weft_sgd(float rate) {
    return weft_sgd_momentum(rate, 0.0f, 0.0f);
}

weft_optimizer weft_sgd_momentum(float rate, float momentum, float weight_decay) {
    return (weft_optimizer){
        .kind = WEFT_SGD, .rate = rate, .momentum = momentum, .weight_decay = weight_decay};
}

static weft_optimizer of_moments(weft_optimizer_kind kind, float rate) {
    return (weft_optimizer){.kind = kind, .rate = rate, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
}

weft_optimizer weft_adam(float rate) {
    return of_moments(WEFT_ADAM, rate);
}

weft_optimizer weft_adamw(float rate, float weight_decay) {
    weft_optimizer o = of_moments(WEFT_ADAMW, rate);
    o.weight_decay = weight_decay;
    return o;
}

weft_optimizer weft_nadam(float rate) {
    weft_optimizer o = of_moments(WEFT_NADAM, rate);
    o.momentum_decay = 0.004f;
    return o;
}

weft_optimizer weft_rmsprop(float rate) {
    return (weft_optimizer){.kind = WEFT_RMSPROP, .rate = rate, .rho = 0.99f, .epsilon = 1e-8f};
}

weft_optimizer weft_adagrad(float rate) {
    return (weft_optimizer){.kind = WEFT_ADAGRAD, .rate = rate, .epsilon = 1e-10f};
}

weft_optimizer weft_adadelta(float rate) {
    return (weft_optimizer){.kind = WEFT_ADADELTA, .rate = rate, .rho = 0.9f, .epsilon = 1e-6f};
}

weft_optimizer weft_lamb(float rate, float weight_decay) {
    weft_optimizer o = of_moments(WEFT_LAMB, rate);
    o.weight_decay = weight_decay;
    o.epsilon = 1e-6f;
    return o;
}

weft_optimizer weft_lion(float rate, float weight_decay) {
    return (weft_optimizer){
        .kind = WEFT_LION, .rate = rate, .beta1 = 0.9f, .beta2 = 0.99f, .weight_decay = weight_decay};
}

/* ---- checks ---- */

static weft_status check_field(
    const optimizer_row *row, const weft_optimizer *optimizer, const field_row *field) {
    float value;
    memcpy(&value, (const char *)optimizer + field->offset, sizeof value);
    if (!(field->use & (row->uses | ALWAYS))) {
        if (value == 0) return WEFT_OK;
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is %g, but %s has none: expected 0", field->name,
            (double)value, row->name);
    }
    if (value >= 0 && value < field->end) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is %g, expected at least 0 and below %g", field->name,
        (double)value, (double)field->end);
}

static weft_status check_flags(const optimizer_row *row, const weft_optimizer *o) {
    const struct {
        const char *name;
        bool set;
        unsigned use;
    } flags[] = {{"nesterov", o->nesterov, NESTEROV}, {"centered", o->centered, CENTERED},
        {"amsgrad", o->amsgrad, AMSGRAD}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].set && !(row->uses & flags[i].use))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is set, but %s has none", flags[i].name, row->name);
    if (o->nesterov && (!(o->momentum > 0) || o->dampening > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "optimizer: nesterov needs momentum above 0 and dampening 0; they are %g and %g",
            (double)o->momentum, (double)o->dampening);
    if (row->uses & POSITIVE_EPSILON && !(o->epsilon > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: epsilon is %g, %s needs one above 0", (double)o->epsilon,
            row->name);
    return WEFT_OK;
}

static weft_status check_optimizer(const weft_optimizer *optimizer) {
    const size_t kind = (size_t)optimizer->kind;
    if (kind >= ROWS || !rows[kind].rule)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: kind %d is not one of WEFT_SGD to WEFT_LION",
            (int)optimizer->kind);
    const optimizer_row *const row = &rows[kind];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        WI_TRY(check_field(row, optimizer, &fields[i]));
    return check_flags(row, optimizer);
}

static size_t count_updates(const weft_optimizer *o) {
    return 1 + rows[o->kind].states + (o->momentum > 0) + o->centered + o->amsgrad + (o->accumulate > 1) +
           (o->average_decay > 0);
}

/* ---- the gradient before the rule ---- */

static weft_tensor *limit(weft_tensor *x, double low, double high) {
    x = weft_maximum(x, weft_number(x, low));
    return weft_neg(weft_maximum(weft_neg(x), weft_number(x, -high))); /* NaN stays NaN */
}

static double last_of_every(wi_scalar *scalar, const wi_clock *clock) {
    (void)scalar;
    return clock->runs % clock->every == 0;
}

/* The sum over the runs of an update, kept until the last of them, which takes the mean. */
static weft_tensor *accumulated(wi_update *u, weft_tensor *g) {
    const uint32_t every = u->optimizer->accumulate;
    if (every <= 1) return g;
    weft_tensor *const last = wi_step_scalar(u->graph, u->clock, last_of_every, 0, 0);
    u->apply = weft_less(weft_number(last, 0), last);
    weft_tensor *const sum = wi_update_state(u, "gradient_sum", 0);
    g = weft_add(g, sum);
    wi_update_keep(u, sum, weft_where(u->apply, weft_number(g, 0), g));
    return wi_scaled(g, 1.0 / every);
}

/* PyTorch's clip_grad_norm_. The factor goes through memory: the norm is a launch of its own. */
static weft_tensor *clipped(const weft_optimizer *o, weft_tensor *g) {
    if (o->clip_value > 0) g = limit(g, -(double)o->clip_value, (double)o->clip_value);
    if (!(o->clip_norm > 0)) return g;
    weft_tensor *const norm = weft_sqrt(wi_sum_keep(weft_square(g), 3u));
    weft_tensor *const factor =
        weft_div(weft_number(norm, (double)o->clip_norm), weft_add(norm, weft_number(norm, 1e-6)));
    return weft_mul(g, weft_reshape_shape(limit(factor, 0, 1), 0, NULL));
}

/* ---- what follows the rule ---- */

static double average_keep(wi_scalar *scalar, const wi_clock *clock) {
    return wi_clock_update(clock) == 1 ? 0 : scalar->a; /* the first average is the first p */
}

static double average_take(wi_scalar *scalar, const wi_clock *clock) {
    return 1 - average_keep(scalar, clock);
}

static void keep_average(wi_update *u, weft_tensor *p) {
    if (!(u->optimizer->average_decay > 0)) return;
    const double decay = wi_fraction(u->optimizer->average_decay);
    weft_tensor *const average = wi_update_state(u, "average", 0);
    weft_tensor *const keep = wi_step_scalar(u->graph, u->clock, average_keep, decay, 0);
    weft_tensor *const take = wi_step_scalar(u->graph, u->clock, average_take, decay, 0);
    wi_update_keep(u, average, weft_add(weft_mul(p, take), weft_mul(average, keep)));
    u->graph->average = average;
    u->graph->average_clock = u->clock;
}

/* Runs that only accumulate leave everything but the sum (the pair `sum`, if any) as it is. */
static void make_assignments(const wi_update *u, size_t sum, weft_tensor **updates) {
    for (size_t i = 0; i < u->count; i++) {
        weft_tensor *const variable = u->pairs[i].variable, *value = u->pairs[i].value;
        if (u->apply && i != sum) value = weft_where(u->apply, value, variable);
        updates[i] = weft_assign(variable, value);
    }
}

/* The rule for what u->p, u->g and its states are, in u->pairs. */
static weft_status apply_rule(wi_update *u, const wi_rows *by_row) {
    const optimizer_row *const row = &rows[u->optimizer->kind];
    if (u->decay && !(row->uses & DECOUPLED)) u->g = weft_add(u->g, weft_mul(u->p, u->decay));
    WI_TRY(weft_graph_status(u->graph));
    weft_tensor *next = row->rule(u);
    if (by_row->frozen) /* chosen, not multiplied by 0: whatever the rule makes of them */
        next = weft_where(weft_less(weft_number(by_row->factor, 0), by_row->factor), next, u->p);
    u->pairs[0] = (wi_pair){u->p, next};
    return weft_graph_status(u->graph);
}

/* ---- large parameters ---- */

/* A matrix whose gradient is one product, of so many elements that writing the gradient down and reading it
 * again would take longer than the update: it is updated where its gradient is computed. */
enum { LARGE = 1 << 20 };

static bool is_large(const weft_tensor *parameter, const weft_tensor *gradient) {
    int64_t elements;
    int power;
    if (gradient->op == &wi_op_permute) gradient = gradient->inputs[0]; /* a transposed product is one, too */
    wi_shape_count(&parameter->shape, &elements, &power);
    return parameter->shape.rank == 2 && elements >= LARGE && elements % WI_FLAT_ROW == 0 &&
           gradient->op == &wi_op_matmul;
}

/* Does an element's update need nothing but what belongs to that element? */
static bool is_elementwise(const wi_update *u, const wi_rows *by_row) {
    const weft_optimizer *const o = u->optimizer;
    return o->kind != WEFT_LAMB && o->accumulate <= 1 && !(o->clip_norm > 0) && !(o->average_decay > 0) &&
           !by_row->factor && (!by_row->decay || by_row->decay->shape.rank == 0);
}

static int64_t row_of(const weft_tensor *parameter) {
    return (int64_t)(parameter->variable->offset / WI_FLAT_ROW_BYTES);
}

/* The next parameters that are updated together: a large one, or all up to the next large one. */
static size_t run_length(weft_graph *graph, weft_tensor *const *gradients, size_t first) {
    const size_t count = weft_graph_parameter_count(graph);
    size_t end = first;
    while (end < count && !is_large(weft_graph_parameter(graph, end), gradients[end])) end++;
    return end > first ? end - first : 1;
}

/* Sets p, g and part of the update to the run's. */
static void take_run(wi_update *u, weft_tensor *const *gradients, size_t first, size_t length) {
    const size_t end = first + length, count = weft_graph_parameter_count(u->graph);
    weft_tensor *const parameter = weft_graph_parameter(u->graph, first);
    u->first_row = row_of(parameter);
    const int64_t height =
        (end < count ? row_of(weft_graph_parameter(u->graph, end)) : wi_flat_rows(u->graph)) - u->first_row;
    const bool large = is_large(parameter, gradients[first]);
    u->range = large ? parameter->shape : (wi_shape){.rank = 2, .dims = {height, WI_FLAT_ROW}};
    u->p = wi_update_range(u, wi_flat_parameters(u->graph));
    u->g = large ? gradients[first] : wi_flat_gradients(u->graph, gradients, first, length, height);
    if (u->optimizer->clip_value > 0)
        u->g = limit(u->g, -(double)u->optimizer->clip_value, (double)u->optimizer->clip_value);
    u->count = 1;
    u->asked = 0;
}

/* One assignment a flat tensor, each of as many parts as there are runs. */
static weft_status update_in_ranges(
    wi_update *u, const wi_rows *by_row, weft_tensor *const *gradients, weft_tensor **updates) {
    const size_t count = weft_graph_parameter_count(u->graph);
    weft_tensor **const views = wi_arena_take(&u->graph->arena, WEFT_MAX_UPDATES * count * sizeof *views);
    if (!views) return WEFT_ERROR_MEMORY;
    size_t runs = 0;
    for (size_t first = 0, length; first < count; first += length, runs++) {
        length = run_length(u->graph, gradients, first);
        take_run(u, gradients, first, length);
        WI_TRY(apply_rule(u, by_row));
        for (size_t i = 0; i < u->count; i++)
            views[i * count + runs] = wi_assign_view(u->pairs[i].variable, u->pairs[i].value);
    }
    for (size_t i = 0; i < u->count; i++)
        updates[i] = wi_assign_views(wi_flat_parameters(u->graph), views + i * count, runs);
    return weft_graph_status(u->graph);
}

static weft_status make_updates(wi_update *u, weft_tensor *loss, weft_tensor **updates) {
    const size_t count = weft_graph_parameter_count(u->graph);
    wi_rows by_row = {0};
    weft_tensor **const gradients = wi_parameter_gradients(loss);
    if (!gradients) return weft_graph_status(u->graph);
    WI_TRY(wi_groups_rows(u->graph, u->optimizer, &by_row));
    u->rate = by_row.factor ? weft_mul(by_row.factor, u->graph->rate) : u->graph->rate;
    u->decay = by_row.decay;
    bool large = false;
    for (size_t i = 0; i < count; i++)
        large = large || is_large(weft_graph_parameter(u->graph, i), gradients[i]);
    if (large && is_elementwise(u, &by_row)) return update_in_ranges(u, &by_row, gradients, updates);
    u->p = wi_flat_parameters(u->graph);
    u->count = 1; /* p comes first: pairs[0] */
    u->g = clipped(u->optimizer,
        accumulated(u, wi_flat_gradients(u->graph, gradients, 0, count, wi_flat_rows(u->graph))));
    WI_TRY(apply_rule(u, &by_row));
    keep_average(u, u->pairs[0].value);
    make_assignments(u, u->apply ? 1 : 0, updates);
    return weft_graph_status(u->graph);
}

/* ---- weft_minimize ---- */

weft_tensor *weft_minimize_rate(weft_graph *graph) {
    return graph ? graph->rate : NULL;
}

static weft_status make_rate(weft_graph *graph, float value) {
    graph->rate = weft_scalar(graph, "learning_rate", value);
    return weft_graph_status(graph);
}

static weft_status new_clock(weft_graph *graph, uint32_t every, size_t *clock) {
    if (graph->clock_count == WI_MAX_CLOCKS)
        WI_FAIL(WEFT_ERROR_STATE, "weft_minimize: the graph has %d optimizers already", WI_MAX_CLOCKS);
    *clock = graph->clock_count++;
    graph->clocks[*clock] = (wi_clock){.every = every > 1 ? every : 1};
    return WEFT_OK;
}

static weft_status check_parameters(const weft_graph *graph) {
    const size_t count = weft_graph_parameter_count(graph);
    if (count == 0) WI_FAIL(WEFT_ERROR_STATE, "weft_minimize: the graph has no parameters to train");
    for (size_t i = 0; i < count; i++)
        if (!weft_graph_parameter(graph, i)->variable->frozen) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE, "weft_minimize: all %zu parameters are frozen", count);
}

weft_status weft_minimize(weft_tensor *loss, const weft_optimizer *optimizer, weft_tensor **updates,
    size_t capacity, size_t *count) {
    if (!loss || !optimizer || !updates || !count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_minimize: loss, optimizer, updates and count must not be NULL");
    weft_graph *const graph = weft_tensor_graph(loss);
    WI_TRY(weft_graph_status(graph));
    WI_TRY(check_optimizer(optimizer));
    const size_t needed = count_updates(optimizer);
    if (capacity < needed)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_minimize: %zu updates, room for %zu", needed, capacity);
    WI_TRY(check_parameters(graph));
    WI_TRY(wi_groups_check(graph, optimizer));
    wi_update u = {.graph = graph, .optimizer = optimizer};
    WI_TRY(new_clock(graph, optimizer->accumulate, &u.clock));
    WI_TRY(make_rate(graph, optimizer->rate));
    WI_TRY(make_updates(&u, loss, updates));
    *count = u.count;
    return u.count == needed
               ? WEFT_OK
               : wi_fail(WEFT_ERROR_INTERNAL, "weft_minimize: %zu updates, not %zu", u.count, needed);
}
