/* Plans and runs programs: see program.h. */
#include "oracle/dtype_values.h"
#include "random/program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUTS = 3 * PROGRAM_VALUES };
#define RATE 0.125f

/* A program as a graph with its loss, gradients and update. */
typedef struct trained {
    program_graph built;
    weft_tensor *weights[PROGRAM_LOSS_TERMS]; /* inputs */
    int wrt[PROGRAM_VALUES], wrt_count;
    weft_tensor *gradients[PROGRAM_VALUES], *seconds[PROGRAM_VALUES],
        *across[PROGRAM_VALUES]; /* by place in wrt */
    weft_tensor *update;
    weft_tensor *outputs[OUTPUTS];
    size_t output_count;
    uint64_t runs; /* of its plans so far */
} trained;

/* ---- the graph ---- */

static bool is_float(const program *p, int value) {
    return p->values[value].source.dtype == p->format;
}

static weft_tensor *loss_of(trained *t, const program *p) {
    weft_tensor *loss = NULL;
    for (int term = 0; term < p->loss_count; term++) {
        weft_tensor *const value = t->built.tensors[p->loss[term]];
        int64_t dims[WEFT_MAX_RANK];
        char name[16];
        const int rank = weft_tensor_rank(value);
        for (int i = 0; i < rank; i++) dims[i] = weft_tensor_dimension(value, i);
        snprintf(name, sizeof name, "w%d", term);
        t->weights[term] = weft_input_shape(t->built.graph, name, p->format, rank, dims);
        weft_tensor *const part = weft_sum(weft_mul(value, t->weights[term]));
        loss = loss ? weft_add(loss, part) : part;
    }
    return loss;
}

static bool loss_depends(const program *p, int source) {
    for (int term = 0; term < p->loss_count; term++)
        if (program_depends(p, p->loss[term], source)) return true;
    return false;
}

/* Second gradients: of the sum of a gradient times a direction, which is an input. */
static void add_seconds(trained *t, const program *p) {
    const int count = t->wrt_count < 2 ? t->wrt_count : 2;
    for (int i = 0; p->second && i < count; i++) {
        weft_tensor *const source = t->built.tensors[t->wrt[i]];
        int64_t dims[WEFT_MAX_RANK];
        char name[16];
        const int rank = weft_tensor_rank(source);
        for (int k = 0; k < rank; k++) dims[k] = weft_tensor_dimension(source, k);
        snprintf(name, sizeof name, "u%d", i);
        t->across[i] = weft_input_shape(t->built.graph, name, p->format, rank, dims);
        t->seconds[i] = weft_gradient(weft_sum(weft_mul(t->gradients[i], t->across[i])), source);
    }
}

static void add_training(trained *t, const program *p) {
    weft_tensor *const loss = loss_of(t, p);
    weft_tensor *wrt[PROGRAM_VALUES];
    for (int i = 0; i < p->count; i++) {
        if (p->values[i].is_call || !is_float(p, i) || !loss_depends(p, i)) continue;
        wrt[t->wrt_count] = t->built.tensors[i];
        t->wrt[t->wrt_count++] = i;
    }
    if (!loss || t->wrt_count == 0 ||
        weft_gradients(loss, wrt, (size_t)t->wrt_count, t->gradients) != WEFT_OK) {
        t->wrt_count = 0;
        return;
    }
    add_seconds(t, p);
    bool trains = false;
    for (int i = 0; i < t->wrt_count; i++)
        trains = trains || p->values[t->wrt[i]].source.kind == PROGRAM_PARAMETER;
    if (p->minimizes && trains) t->update = weft_train_step(loss, weft_sgd(RATE), NULL);
}

static void add_output(trained *t, weft_tensor *tensor) {
    if (tensor && t->output_count < OUTPUTS) t->outputs[t->output_count++] = tensor;
}

static weft_status prepare(trained *t, weft_context *context, const program *p, const oracle_sizes *sizes) {
    *t = (trained){0};
    weft_status status = program_build(&t->built, context, p, p->count, sizes);
    if (status != WEFT_OK) return status;
    if (p->loss_count > 0) add_training(t, p);
    for (int i = 0; i < p->count; i++)
        if (p->values[i].shown) add_output(t, t->built.tensors[i]);
    for (int i = 0; i < t->wrt_count; i++) add_output(t, t->gradients[i]), add_output(t, t->seconds[i]);
    add_output(t, t->update);
    return weft_graph_status(t->built.graph);
}

/* ---- a run ---- */

typedef struct run {
    const program *p;
    trained *t;
    weft_plan *plan;
    oracle_sizes sizes;
    f64_array *values[PROGRAM_VALUES];
    program_result *result;
    const char *form;
} run;

static void *memory_of(weft_dtype dtype, const f64_array *values) {
    void *const data = calloc(values->count + 1, 8);
    if (data) f64_to_dtype(dtype, values->value, values->count, data);
    return data;
}

/* Inputs that no output needs are not among the plan's: they need no numbers. */
static void write_values(
    const run *r, weft_tensor *tensor, bool variable, weft_dtype dtype, const f64_array *values) {
    void *const data = memory_of(dtype, values);
    const size_t bytes = values->count * weft_dtype_size(dtype);
    if (data && variable) (void)weft_tensor_write(tensor, data, bytes);
    if (data && !variable) (void)weft_plan_write(r->plan, tensor, data, bytes);
    free(data);
}

static void write_sources(run *r) {
    for (int i = 0; i < r->p->count; i++) {
        const program_source *const source = &r->p->values[i].source;
        if (r->p->values[i].is_call) continue;
        r->values[i] = program_source_values(r->p, i, &r->sizes);
        if (source->kind != PROGRAM_ARRAY)
            write_values(
                r, r->t->built.tensors[i], source->kind != PROGRAM_INPUT, source->dtype, r->values[i]);
    }
}

static void write_directions(const run *r) {
    for (int term = 0; term < r->p->loss_count; term++)
        write_values(r, r->t->weights[term], false, r->p->format,
            program_loss_weights(r->p, term, r->values[r->p->loss[term]]));
    for (int i = 0; i < r->t->wrt_count; i++)
        if (r->t->across[i])
            write_values(r, r->t->across[i], false, r->p->format,
                program_direction(r->p, r->t->wrt[i], r->values[r->t->wrt[i]]));
}

static bool fail(run *r, weft_status status) {
    const bool refused = status == WEFT_ERROR_UNSUPPORTED || status == WEFT_ERROR_SHAPE ||
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
        right = program_judge_gradient(r->p, &r->sizes, r->values, source, gradient, second, r->result);
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

/* A step of SGD moves a parameter by its gradient, which was judged, times the rate. */
static bool check_update(run *r, int place) {
    const int source = r->t->wrt[place];
    if (!r->t->update || r->p->values[source].source.kind != PROGRAM_PARAMETER) return true;
    const size_t count = r->values[source]->count;
    float *const now = read_output(r, r->t->built.tensors[source], count, true);
    float *const gradient = now ? read_output(r, r->t->gradients[place], count, false) : NULL;
    bool right = now && gradient;
    for (size_t i = 0; right && i < count; i++) {
        const double wanted = r->values[source]->value[i] - (double)RATE * (double)gradient[i];
        const double allowed = 2e-6 * (fabs(wanted) + fabs(r->values[source]->value[i])) + 1e-30;
        if (fabs((double)now[i] - wanted) <= allowed || !isfinite(wanted)) continue;
        right = false;
        r->result->verdict = PROGRAM_WRONG;
        snprintf(r->result->line, sizeof r->result->line,
            "%s: v%d after an update: element %zu is %.9g instead of %.9g", r->form, source, i,
            (double)now[i], wanted);
    }
    free(now);
    free(gradient);
    return right;
}

static bool check_run(run *r) {
    const weft_status status = weft_plan_run(r->plan);
    if (status != WEFT_OK) return fail(r, status);
    for (int i = 0; i < r->p->count; i++)
        if (r->p->values[i].shown && !check_output(r, i)) return false;
    for (int i = 0; i < r->t->wrt_count; i++)
        if (!check_gradient(r, i, false) || !check_gradient(r, i, true) || !check_update(r, i)) return false;
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

static bool run_plan(run *r, int times) {
    bool right = true;
    const f64_mark mark = f64_pool_mark();
    write_sources(r);
    for (int i = 0; i < times && right; i++) {
        r->sizes.runs = r->t->runs++;
        if (i == 0 || is_random(r->p)) program_evaluate(r->p, &r->sizes, r->values, 0, 0);
        if (i == 0) write_directions(r);
        right = check_run(r);
    }
    f64_pool_release(mark);
    return right;
}

/* In all memory that it likes, or in the least that it can do with. */
static bool run_at(
    const program *p, trained *t, oracle_sizes sizes, const char *form, bool least, program_result *result) {
    run r = {.p = p, .t = t, .sizes = sizes, .result = result, .form = form};
    const size_t limit = least ? least_memory(&r) : 0;
    if (least && limit == 0) return true;
    const weft_status status = create_plan(&r, limit);
    if (status != WEFT_OK) return fail(&r, status);
    const bool right = run_plan(&r, t->update ? 1 : 2); /* an update moves parameters */
    weft_plan_release(r.plan);
    return right;
}

static bool run_free(const program *p, trained *t, program_result *result) {
    static const int64_t batches[] = {1, 17, 4}, lengths[] = {17, 1, 8};
    oracle_sizes sizes = {.batch = p->batch,
        .length = p->length,
        .inference = p->inference,
        .seed = p->seed,
        .format = p->format};
    if (!run_at(p, t, sizes, "as drawn", false, result)) return false;
    if (!run_at(p, t, sizes, "in the least memory", true, result)) return false;
    for (int i = 0; i < 3 && (p->free_batch || p->free_length); i++) {
        if (p->free_batch) sizes.batch = batches[i];
        if (p->free_length) sizes.length = lengths[i];
        if (!run_at(p, t, sizes, "at other sizes", false, result)) {
            /* Some programs exist at some sizes only. */
            if (result->verdict != PROGRAM_REFUSED) return false;
            result->verdict = PROGRAM_RIGHT;
        }
    }
    return true;
}

void program_run(const program *p, weft_context *context, program_result *result) {
    trained t;
    *result = (program_result){0};
    f64_track_errors(true);
    const oracle_sizes sizes = {.batch = p->batch,
        .length = p->length,
        .inference = p->inference,
        .seed = p->seed,
        .format = p->format};
    run r = {.p = p, .result = result, .form = "graph"};
    const weft_status status = prepare(&t, context, p, &sizes);
    if (status != WEFT_OK)
        (void)fail(&r, status);
    else if (t.output_count > 0)
        (void)run_free(p, &t, result);
    weft_graph_release(t.built.graph);
}
