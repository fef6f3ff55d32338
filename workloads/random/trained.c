/* A program as a graph with its loss, gradients and update: see trained.h. */
#include "random/trained.h"
#include "ops/op_table.h"
#include "oracle/dtype_values.h"
#include <stdio.h>
#include <stdlib.h>

static bool is_float(const program *p, int value) {
    return p->values[value].source.dtype == p->format;
}

/* An input of the tensor's shape, named by a letter and a number. */
static weft_tensor *input_like(
    weft_graph *graph, char letter, int number, weft_dtype dtype, const weft_tensor *tensor) {
    int64_t dims[WEFT_MAX_RANK];
    char name[16];
    const int rank = weft_tensor_rank(tensor);
    for (int i = 0; i < rank; i++) dims[i] = weft_tensor_dimension(tensor, i);
    snprintf(name, sizeof name, "%c%d", letter, number);
    return weft_input_shape(graph, name, dtype, rank, dims);
}

static weft_tensor *loss_of(trained *t, const program *p) {
    weft_tensor *loss = NULL;
    for (int term = 0; term < p->loss_count; term++) {
        weft_tensor *const value = t->built.tensors[p->loss[term]];
        t->weights[term] = input_like(t->built.graph, 'w', term, p->format, value);
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
        t->across[i] = input_like(t->built.graph, 'u', i, p->format, source);
        t->seconds[i] = weft_gradient(weft_sum(weft_mul(t->gradients[i], t->across[i])), source);
    }
}

bool program_is_frozen(const program *p, int source) {
    return p->frozen >> source & 1;
}

/* Does the loss reach a parameter that is not frozen? It may depend on one by indices and roundings alone. */
static bool moves_any(weft_tensor *loss, const weft_optimizer *rule) {
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    return weft_minimize(loss, rule, updates, WEFT_MAX_UPDATES, &count) != WEFT_ERROR_STATE;
}

/* A step of SGD for all parameters that the loss depends on, of which some are frozen after their gradients were made. */
static weft_tensor *update_of(const trained *t, const program *p, weft_tensor *loss) {
    weft_tensor *parameters[PROGRAM_VALUES], *gradients[PROGRAM_VALUES];
    size_t count = 0;
    bool moves = false;
    for (int i = 0; i < t->wrt_count; i++) {
        const int source = t->wrt[i];
        if (p->values[source].source.kind != PROGRAM_PARAMETER) continue;
        char name[16];
        snprintf(name, sizeof name, "v%d", source);
        if (program_is_frozen(p, source)) (void)weft_freeze(t->built.graph, name, true);
        /* A step of nothing but frozen parameters, and of those that the loss does not reach, is an error. */
        moves = moves || (!program_is_frozen(p, source) && !wi_gradient_is_unreached(t->gradients[i]));
        parameters[count] = t->built.tensors[source];
        gradients[count++] = t->gradients[i];
    }
    weft_optimizer rule = weft_sgd(PROGRAM_RATE);
    rule.clip_norm = p->clip_norm;
    if (!moves || !moves_any(loss, &rule)) return NULL;
    return weft_optimizer_step(weft_optimizer_create(t->built.graph, &rule), parameters, gradients, count);
}

static void add_training(trained *t, const program *p) {
    weft_tensor *const loss = loss_of(t, p);
    weft_tensor *wrt[PROGRAM_VALUES];
    for (int i = 0; i < p->count; i++) {
        const bool is_variable = !p->values[i].is_call && is_float(p, i) && !p->values[i].source.changed;
        if (!is_variable || !loss_depends(p, i)) continue;
        wrt[t->wrt_count] = t->built.tensors[i];
        t->wrt[t->wrt_count++] = i;
    }
    if (!loss || t->wrt_count == 0 ||
        weft_gradients(loss, wrt, (size_t)t->wrt_count, t->gradients) != WEFT_OK) {
        t->wrt_count = 0;
        return;
    }
    add_seconds(t, p);
    if (p->minimizes) t->update = update_of(t, p, loss);
}

static void add_output(trained *t, weft_tensor *tensor) {
    if (tensor && t->output_count < PROGRAM_OUTPUTS) t->outputs[t->output_count++] = tensor;
}

weft_status program_prepare(trained *t, weft_context *context, const program *p, const oracle_sizes *sizes) {
    *t = (trained){0};
    weft_status status = program_build(&t->built, context, p, p->count, sizes);
    if (status != WEFT_OK) return status;
    if (p->loss_count > 0) add_training(t, p);
    for (int i = 0; i < p->count; i++)
        if (p->values[i].shown) add_output(t, t->built.tensors[i]);
    for (int i = 0; i < t->wrt_count; i++) add_output(t, t->gradients[i]), add_output(t, t->seconds[i]);
    t->value_count = t->output_count;
    for (int i = 0; i < p->count; i++)
        if (p->values[i].assigned)
            add_output(t, weft_assign(t->built.tensors[i], t->built.tensors[p->values[i].assigned]));
    add_output(t, t->update);
    return weft_graph_status(t->built.graph);
}

static void *memory_of(weft_dtype dtype, const f64_array *values) {
    void *const data = calloc(values->count + 1, 8);
    if (data) f64_to_dtype(dtype, values->value, values->count, data);
    return data;
}

/* Inputs that no output needs are not among the plan's: they need no numbers. */
static void write_values(
    weft_plan *plan, weft_tensor *tensor, bool variable, weft_dtype dtype, const f64_array *values) {
    void *const data = memory_of(dtype, values);
    const size_t bytes = values->count * weft_dtype_size(dtype);
    if (data && variable) (void)weft_tensor_write(tensor, data, bytes);
    if (data && !variable) (void)weft_plan_write(plan, tensor, data, bytes);
    free(data);
}

void program_write_sources(const trained *t, const program *p, weft_plan *plan, f64_array *const *values) {
    for (int i = 0; i < p->count; i++) {
        const program_source *const source = &p->values[i].source;
        if (p->values[i].is_call || source->kind == PROGRAM_ARRAY) continue;
        write_values(plan, t->built.tensors[i], source->kind != PROGRAM_INPUT, source->dtype, values[i]);
    }
}

void program_write_directions(const trained *t, const program *p, weft_plan *plan, f64_array *const *values) {
    for (int term = 0; term < p->loss_count; term++)
        write_values(
            plan, t->weights[term], false, p->format, program_loss_weights(p, term, values[p->loss[term]]));
    for (int i = 0; i < t->wrt_count; i++)
        if (t->across[i])
            write_values(
                plan, t->across[i], false, p->format, program_direction(p, t->wrt[i], values[t->wrt[i]]));
}

void program_forget(trained *t) {
    for (size_t i = 0; i < t->value_count; i++) free(t->kept[i]);
    weft_graph_release(t->built.graph);
}
