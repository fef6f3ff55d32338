/* Distributions of gradients (contract in trainer_gradients.h). */
#include "train/trainer_gradients.h"
#include <stdio.h>
#include <string.h>

enum { TAG = 1024 };

typedef struct gradients {
    const weft_allocator *allocator;
    weft_tensor **parameters, **of; /* of[i]: of parameters[i] */
    size_t count, most;             /* most: elements of the largest parameter */
    wi_feed feed;
    weft_plan *plan;
    float *values; /* of one gradient */
} gradients;

static void clear(gradients *g) {
    weft_plan_release(g->plan);
    wi_feed_clear(&g->feed);
    wi_release(g->allocator, g->parameters);
    wi_release(g->allocator, g->of);
    wi_release(g->allocator, g->values);
}

static size_t elements(const weft_tensor *parameter) {
    return parameter->variable->bytes / sizeof(float);
}

static weft_status list(gradients *g, const weft_graph *graph) {
    const size_t count = weft_graph_parameter_count(graph);
    g->parameters = wi_allocate_array(g->allocator, count + 1, sizeof *g->parameters);
    g->of = wi_allocate_array(g->allocator, count + 1, sizeof *g->of);
    if (!g->parameters || !g->of) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        weft_tensor *const parameter = weft_graph_parameter(graph, i);
        if (parameter->dtype != WEFT_F32 || parameter->variable->frozen) continue;
        g->parameters[g->count++] = parameter;
        if (elements(parameter) > g->most) g->most = elements(parameter);
    }
    g->values = wi_allocate_array(g->allocator, g->most + 1, sizeof *g->values);
    return g->values ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status make_plan(gradients *g, const weft_trainer *trainer, size_t examples) {
    weft_graph *const graph = trainer->graph;
    const weft_dataset *const dataset = trainer->training.dataset;
    WI_TRY(weft_gradients(trainer->training.outputs[0], g->parameters, g->count, g->of));
    WI_TRY(wi_feed_collect(&g->feed, g->allocator, g->of, g->count));
    WI_TRY(wi_feed_bind(&g->feed, dataset->columns, dataset->count));
    const bool told = graph->told_of_training;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)examples,
        .memory_limit = trainer->options.memory_limit, .sizes = g->feed.sizes,
        .size_count = g->feed.size_count};
    graph->told_of_training = true; /* this plan trains nothing by intention */
    const weft_status status = weft_plan_create(&g->plan, g->of, g->count, &options);
    graph->told_of_training = told;
    return status;
}

static weft_status report(
    weft_events *events, size_t step, const weft_tensor *parameter, const float *values) {
    char tag[TAG];
    snprintf(tag, sizeof tag, "%s/gradient", weft_tensor_name(parameter));
    for (char *c = tag; *c; c++)
        if (*c == '.') *c = '/';
    return weft_events_histogram(events, tag, step, values, elements(parameter));
}

static weft_status report_all(gradients *g, weft_events *events, size_t step) {
    for (size_t i = 0; i < g->count; i++) {
        WI_TRY(weft_plan_read(g->plan, g->of[i], g->values, elements(g->parameters[i]) * sizeof *g->values));
        WI_TRY(report(events, step, g->parameters[i], g->values));
    }
    return WEFT_OK;
}

/* The snapshot exists only during this function, because it takes as much device memory as the parameters and states. */
static weft_status run(
    gradients *g, const weft_trainer *trainer, const void *const *columns, size_t examples) {
    weft_snapshot *before = NULL;
    WI_TRY(weft_snapshot_create(&before, trainer->graph));
    weft_status status = weft_snapshot_take(before);
    if (status == WEFT_OK) status = wi_feed_write(&g->feed, g->plan, columns, examples);
    if (status == WEFT_OK) status = weft_plan_run(g->plan);
    if (status == WEFT_OK) status = report_all(g, trainer->events, trainer->steps + 1);
    if (status == WEFT_OK) status = weft_snapshot_restore(before);
    weft_snapshot_release(before);
    return status;
}

/* With gradient shards, the step has the gradients of the whole batch in host memory. */
static weft_status report_sums(const weft_trainer *trainer) {
    const wi_divided_update *const divided = &trainer->shards[0].divided;
    const float *sums = trainer->shards[0].sum.result;
    for (size_t i = 0; i < divided->count; i++) {
        const size_t begin = weft_graph_parameter(trainer->graph, divided->first[i])->variable->offset;
        for (size_t p = divided->first[i]; p < divided->first[i] + divided->length[i]; p++) {
            const weft_tensor *const parameter = weft_graph_parameter(trainer->graph, p);
            if (parameter->variable->frozen) continue;
            const float *const values = sums + (parameter->variable->offset - begin) / sizeof *sums;
            WI_TRY(report(trainer->events, trainer->steps + 1, parameter, values));
        }
        sums += divided->bytes[i] / sizeof *sums;
    }
    return WEFT_OK;
}

weft_status wi_trainer_gradients(const weft_trainer *trainer, const void *const *columns, size_t examples) {
    if (trainer->training.shards) return report_sums(trainer);
    gradients g = {.allocator = trainer->context->allocator};
    weft_status status = list(&g, trainer->graph);
    if (status == WEFT_OK && g.count) status = make_plan(&g, trainer, examples);
    if (status == WEFT_OK && g.count) status = run(&g, trainer, columns, examples);
    clear(&g);
    return status;
}
