/* Plans and runs programs: see random_program.h. */
#include "ops/op_table.h"
#include "oracle/dtype_values.h"
#include "random/trained.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run ---- */

typedef struct run {
    const program *p;
    trained *t;
    weft_plan *plan;
    oracle_sizes sizes;
    f64_array *values[PROGRAM_VALUES], *next[PROGRAM_VALUES]; /* next: of states that the run has changed */
    program_result *result;
    const char *form;
    bool keeps_bits;
    bool other_graph; /* what was kept is of another graph: bits are equal where nothing is summed up */
} run;

static void write_sources(run *r) {
    for (int i = 0; i < r->p->count; i++)
        if (!r->p->values[i].is_call) r->values[i] = program_source_values(r->p, i, &r->sizes);
    program_write_sources(r->t, r->p, r->plan, r->values);
}

static bool fail(run *r, weft_status status) {
    const bool too_large =
        status == WEFT_ERROR_DEVICE_MEMORY && strstr(weft_last_error(), "the largest buffer of") != NULL;
    const bool refused = too_large || status == WEFT_ERROR_UNSUPPORTED || status == WEFT_ERROR_SHAPE ||
                         status == WEFT_ERROR_MEMORY_LIMIT || status == WEFT_ERROR_ARGUMENT;
    r->result->verdict = refused ? PROGRAM_REFUSED : PROGRAM_INTERNAL;
    snprintf(r->result->line, sizeof r->result->line, "%s: %s: %.400s", r->form, weft_status_name(status),
        weft_last_error());
    return false;
}

/* What an output holds, as allocated memory; NULL after an error. */
static void *read_output(run *r, weft_tensor *tensor, size_t count, bool variable) {
    const size_t bytes = count * weft_dtype_size(weft_tensor_dtype(tensor));
    void *const data = calloc(count + 1, 8);
    if (!data) return NULL;
    const weft_status status =
        variable ? weft_tensor_read(tensor, data, bytes) : weft_plan_read(r->plan, tensor, data, bytes);
    if (status == WEFT_OK) return data;
    free(data);
    (void)fail(r, status);
    return NULL;
}

static bool check_output(run *r, int value) {
    weft_tensor *const tensor = r->t->built.tensors[value];
    char what[80];
    void *const data = read_output(r, tensor, r->values[value]->count, false);
    if (!data) return false;
    snprintf(what, sizeof what, "%s: v%d, batch %lld, length %lld", r->form, value, (long long)r->sizes.batch,
        (long long)r->sizes.length);
    const bool right = program_judge(what, weft_tensor_dtype(tensor), data, r->values[value], r->result);
    if (!right) r->result->verdict = PROGRAM_WRONG;
    free(data);
    return right;
}

static bool check_gradient(run *r, int place, bool second) {
    weft_tensor *const tensor = second ? r->t->seconds[place] : r->t->gradients[place];
    const int source = r->t->wrt[place];
    if (!tensor) return true;
    const size_t count = r->values[source]->count;
    void *const data = read_output(r, tensor, count, false);
    double *const gradient = calloc(count + 1, sizeof *gradient);
    bool right = data && gradient;
    if (right) {
        f64_from_dtype(weft_tensor_dtype(tensor), data, count, gradient);
        right = program_judge_gradient(r->p, weft_graph_context(r->t->built.graph), &r->sizes, r->values,
            source, gradient, second, r->result);
        if (!right) r->result->verdict = PROGRAM_WRONG;
        char line[400];
        snprintf(line, sizeof line, "%.399s", r->result->line);
        if (!right)
            snprintf(r->result->line, sizeof r->result->line, "%s: batch %lld, length %lld: %s", r->form,
                (long long)r->sizes.batch, (long long)r->sizes.length, line);
    }
    free(gradient);
    free(data);
    return right;
}

/* How much clipping leaves of the gradients, which were judged before: their norm is over the parameters that move. Negative after an error. */
static double clipped(run *r) {
    double squares = 0;
    for (int i = 0; i < r->t->wrt_count; i++) {
        const int source = r->t->wrt[i];
        if (r->p->values[source].source.kind != PROGRAM_PARAMETER || program_is_frozen(r->p, source))
            continue;
        float *const gradient = read_output(r, r->t->gradients[i], r->values[source]->count, false);
        if (!gradient) return -1;
        for (size_t k = 0; k < r->values[source]->count; k++)
            squares += (double)gradient[k] * (double)gradient[k];
        free(gradient);
    }
    return r->p->clip_norm > 0 ? fmin(1, (double)r->p->clip_norm / (sqrt(squares) + 1e-6)) : 1;
}

/* A step of SGD moves a parameter by its gradient times the rate and what clipping leaves; a frozen one stays. */
static bool check_update(run *r, int place, double scale) {
    const int source = r->t->wrt[place];
    if (r->p->values[source].source.kind != PROGRAM_PARAMETER) return true;
    if (program_is_frozen(r->p, source)) scale = 0;
    const size_t count = r->values[source]->count;
    float *const now = read_output(r, r->t->built.tensors[source], count, true);
    float *const gradient = now ? read_output(r, r->t->gradients[place], count, false) : NULL;
    bool right = now && gradient;
    for (size_t i = 0; right && i < count; i++) {
        const double before = r->values[source]->value[i],
                     move = (double)PROGRAM_RATE * scale * (double)gradient[i];
        const double allowed =
            2e-6 * (fabs(before) + fabs(move)) + 1e-5 * (r->p->clip_norm > 0) * fabs(move) + 1e-30;
        if (fabs((double)now[i] - (before - move)) <= allowed || !isfinite(move)) continue;
        right = false;
        r->result->verdict = PROGRAM_WRONG;
        snprintf(r->result->line, sizeof r->result->line,
            "%s: v%d after an update: element %zu is %.9g instead of %.9g", r->form, source, i,
            (double)now[i], before - move);
    }
    free(now);
    free(gradient);
    return right;
}

static bool check_updates(run *r) {
    const double scale = r->t->update ? clipped(r) : 0;
    for (int i = 0; r->t->update && i < r->t->wrt_count; i++)
        if (scale < 0 || !check_update(r, i, scale)) return false;
    return true;
}

/* Compares a state with what it should hold. The next run begins from what it does hold, which is rounded otherwise. */
static bool check_state(run *r, int state, const f64_array *wanted) {
    char what[80];
    weft_tensor *const tensor = r->t->built.tensors[state];
    void *const data = read_output(r, tensor, wanted->count, true);
    if (!data) return false;
    snprintf(what, sizeof what, "%s: state v%d after run %d, batch %lld, length %lld", r->form, state,
        (int)r->sizes.runs + 1, (long long)r->sizes.batch, (long long)r->sizes.length);
    const bool right = program_judge(what, weft_tensor_dtype(tensor), data, wanted, r->result);
    if (!right) r->result->verdict = PROGRAM_WRONG;
    r->next[state] = f64_zeros(wanted->rank, wanted->dims);
    f64_from_dtype(weft_tensor_dtype(tensor), data, wanted->count, r->next[state]->value);
    free(data);
    return right;
}

static bool check_assigned(run *r) {
    for (int i = 0; i < r->p->count; i++) {
        const int value = r->p->values[i].assigned;
        if (value && !check_state(r, i, r->values[value])) return false;
    }
    return true;
}

/* What the states are in the next run. */
static void assign_states(run *r) {
    for (int i = 0; i < r->p->count; i++) {
        if (r->next[i]) r->values[i] = r->next[i];
        r->next[i] = NULL;
    }
}

static bool is_needed(const program *p, int call) {
    for (int i = call; i < p->count; i++)
        if (p->values[i].shown && program_depends(p, i, call)) return true;
    return false;
}

static bool check_effects(run *r, int value) {
    const oracle_call *const call = &r->p->values[value].call;
    const f64_array *in[ORACLE_INPUTS] = {NULL};
    f64_array *left[ORACLE_INPUTS] = {NULL};
    if (!r->p->values[value].is_call || !call->op->effect || !is_needed(r->p, value)) return true;
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] >= 0) in[i] = r->values[call->inputs[i]];
    for (int i = 0; i < call->input_count; i++)
        if (in[i]) left[i] = call->op->effect(call, in, &r->sizes, i);
    for (int i = 0; i < call->input_count; i++) {
        if (left[i] && !check_state(r, call->inputs[i], left[i])) return false;
    }
    return true;
}

static size_t count_of(const run *r, const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++)
        count *= (size_t)oracle_size(weft_tensor_dimension(tensor, i), &r->sizes);
    return count;
}

/* Is it computed by something that adds up numbers, whose order may differ? So may that of three terms of a gradient: at a fixed
 * size a roll may move nothing, and its term joins another. */
static bool sums(const weft_tensor *x) {
    if (x->op->kind == WI_REDUCE || x->op->kind == WI_PRODUCT || x->op->kind == WI_KERNEL ||
        x->op->kind == WI_COMPOSITE)
        return true;
    for (int i = 0; i < x->input_count && x->op == &wi_op_add; i++)
        if (x->inputs[i]->op == &wi_op_add) return true;
    for (int i = 0; i < x->input_count; i++)
        if (sums(x->inputs[i])) return true;
    return false;
}

/* A memory limit changes no bit (plan.h): what the first plan gave is kept, and the next one, within the least memory, gives the same. */
static bool check_bits(run *r) {
    for (size_t i = 0; i < r->t->value_count; i++) {
        weft_tensor *const tensor = r->t->outputs[i];
        if (r->other_graph && sums(tensor)) continue;
        const size_t count = count_of(r, tensor), bytes = count * weft_dtype_size(weft_tensor_dtype(tensor));
        void *const now = read_output(r, tensor, count, false);
        if (!now) return false;
        const bool first = !r->t->kept[i], same = first || memcmp(r->t->kept[i], now, bytes) == 0;
        if (first)
            r->t->kept[i] = now;
        else
            free(now);
        if (same) continue;
        r->result->verdict = PROGRAM_WRONG;
        snprintf(r->result->line, sizeof r->result->line, "%s: output %zu has other bits", r->form, i);
        return false;
    }
    return true;
}

static bool check_run(run *r) {
    const weft_status status = weft_plan_run(r->plan);
    if (status != WEFT_OK) return fail(r, status);
    for (int i = 0; i < r->p->count; i++)
        if (r->p->values[i].shown && !check_output(r, i)) return false;
    for (int i = 0; i < r->t->wrt_count; i++)
        if (!check_gradient(r, i, false) || !check_gradient(r, i, true)) return false;
    if (!check_updates(r) || !check_assigned(r)) return false;
    for (int i = 0; i < r->p->count; i++)
        if (!check_effects(r, i)) return false;
    return true;
}

static weft_status create_plan(run *r, size_t limit) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = r->sizes.batch,
        .length = r->p->free_length && !r->sizes.fixed ? r->sizes.length : 0, .inference = r->p->inference,
        .memory_limit = limit};
    r->result->tally.plans++;
    return weft_plan_create(&r->plan, r->t->outputs, r->t->output_count, &options);
}

/* The least that a plan can do with, as the error of a limit of one byte says. 0: it cannot be told. */
static size_t least_memory(run *r) {
    size_t least = 0;
    if (create_plan(r, 1) == WEFT_OK) {
        weft_plan_release(r->plan);
        r->plan = NULL;
    } else if (sscanf(weft_last_error(), "plan: needs at least %zu bytes", &least) != 1) {
        least = 0;
    }
    return least;
}

static bool is_random(const program *p) {
    bool random = false;
    for (int i = 0; i < p->count; i++) random = random || program_is_random(p, i);
    return random;
}

/* Are its values others in each run? */
static bool changes(const program *p) {
    bool assigns = false;
    for (int i = 0; i < p->count; i++)
        assigns = assigns || p->values[i].assigned || (p->values[i].is_call && p->values[i].call.op->effect);
    return assigns || is_random(p);
}

static bool run_plan(run *r, int times) {
    bool right = true;
    const f64_mark mark = f64_pool_mark();
    write_sources(r);
    for (int i = 0; i < times && right; i++) {
        r->sizes.runs = r->t->runs++;
        if (i == 0 || changes(r->p)) program_evaluate(r->p, &r->sizes, r->values, 0, 0);
        program_write_directions(r->t, r->p, r->plan, r->values);
        right = check_run(r) && (!r->keeps_bits || i > 0 || check_bits(r));
        assign_states(r);
    }
    f64_pool_release(mark);
    return right;
}

/* In all memory that it likes, or in the least that it can do with. */
typedef enum run_memory {
    RUN_ANYHOW,
    RUN_FREELY,
    RUN_LEAST,
    RUN_OTHER_GRAPH
} run_memory; /* the last three give the same bits, that of another graph where nothing is summed up */

static bool run_at(const program *p, trained *t, oracle_sizes sizes, const char *form, run_memory memory,
    program_result *result) {
    const bool least = memory == RUN_LEAST;
    run r = {.p = p, .t = t, .sizes = sizes, .result = result, .form = form};
    result->sizes = sizes;
    r.keeps_bits = memory != RUN_ANYHOW && !is_random(p);
    r.other_graph = memory == RUN_OTHER_GRAPH;
    const size_t limit = least ? least_memory(&r) : 0;
    if (least && limit == 0) return true;
    const weft_status status = create_plan(&r, limit);
    if (status != WEFT_OK) return fail(&r, status);
    const bool right = run_plan(&r, t->update ? 1 : 2); /* an update moves parameters */
    weft_plan_release(r.plan);
    return right;
}

static bool run_free(const program *p, trained *t, oracle_sizes sizes, program_result *result) {
    static const int64_t batches[] = {1, 17, 4}, lengths[] = {17, 1, 8};
    if (!run_at(p, t, sizes, "as drawn", RUN_FREELY, result)) return false;
    if (!run_at(p, t, sizes, "in the least memory", RUN_LEAST, result)) return false;
    for (int i = 0; i < 3 && (p->free_batch || p->free_length); i++) {
        if (p->free_batch) sizes.batch = batches[i];
        if (p->free_length) sizes.length = lengths[i];
        if (!run_at(p, t, sizes, "at other sizes", RUN_ANYHOW, result)) {
            /* Some programs exist at some sizes only. */
            if (result->verdict != PROGRAM_REFUSED) return false;
            result->verdict = PROGRAM_RIGHT;
        }
    }
    return true;
}

/* What the values were in the first run of the one graph is what they are in the other. */
static void move_kept(trained *to, trained *from) {
    for (size_t i = 0; i < from->value_count; i++) {
        to->kept[i] = from->kept[i];
        from->kept[i] = NULL;
    }
}

/* The same program as a network of other kind: with numbers in place of free sizes, whose kept bits are those of `first`, or by plans
 * without optional gains, in which the compiler contracts other sums of products (first: NULL). */
static bool run_other(
    const program *p, weft_context *context, oracle_sizes sizes, trained *first, program_result *result) {
    trained t;
    const bool plain = first == NULL;
    run r = {.p = p, .result = result, .form = plain ? "without gains" : "fixed sizes"};
    weft_status status = program_prepare(&t, context, p, &sizes);
    if (t.built.graph) t.built.graph->plain = plain;
    if (first && status == WEFT_OK) move_kept(&t, first);
    const run_memory memory = plain ? RUN_ANYHOW : RUN_OTHER_GRAPH;
    const bool right = status == WEFT_OK ? run_at(p, &t, sizes, r.form, memory, result) : fail(&r, status);
    program_forget(&t);
    return right;
}

void program_run(const program *p, weft_context *context, program_result *result) {
    trained t;
    *result = (program_result){0};
    f64_track_errors(true);
    const oracle_sizes sizes = program_sizes(p, context);
    run r = {.p = p, .result = result, .form = "graph"};
    const weft_status status = program_prepare(&t, context, p, &sizes);
    if (status != WEFT_OK) (void)fail(&r, status);
    result->sizes = sizes;
    bool right = status == WEFT_OK && t.output_count > 0 && run_free(p, &t, sizes, result);
    oracle_sizes fixed = sizes;
    fixed.fixed = true;
    if (right && (p->free_batch || p->free_length)) right = run_other(p, context, fixed, &t, result);
    program_forget(&t);
    if (right) (void)run_other(p, context, sizes, NULL, result);
}
