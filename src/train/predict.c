/* weft_predict: inference on a batch of any size. The graph keeps up to KEPT_PLANS plans; a new one replaces the least
 * recently used one. The plans do not retain the graph, because the graph holds them. */
#include "graph/weft_graph.h"
#include "plan/compiled_plan.h"
#include "train/feed.h"
#include <string.h>

enum { KEPT_PLANS = 8, MAX_INPUTS = 32, MAX_OUTPUTS = 16 };

static const char cache_key[] = "predict";

typedef struct wanted {
    weft_tensor *outputs[MAX_OUTPUTS]; /* NULL beyond the last */
    size_t count, batch;
    uint64_t sizes; /* the digest of the feed's values; 0: none */
} wanted;

typedef struct kept_plan {
    wanted of;
    weft_plan *plan;
    uint64_t used; /* number of the call that used the plan last */
} kept_plan;

typedef struct plan_cache {
    const weft_allocator *allocator;
    uint64_t calls;
    kept_plan plans[KEPT_PLANS];
} plan_cache;

static void release_cache(void *value) {
    plan_cache *const cache = value;
    for (size_t i = 0; i < KEPT_PLANS; i++) weft_plan_release(cache->plans[i].plan);
    wi_release(cache->allocator, cache);
}

static weft_status get_cache(plan_cache **cache, weft_graph *graph) {
    *cache = wi_graph_attachment(graph, cache_key);
    if (*cache) return WEFT_OK;
    *cache = wi_allocate(graph->context->allocator, sizeof **cache);
    if (!*cache) return WEFT_ERROR_MEMORY;
    (*cache)->allocator = graph->context->allocator;
    const weft_status status = wi_graph_attach(graph, cache_key, *cache, release_cache);
    if (status != WEFT_OK) release_cache(*cache);
    return status;
}

static bool is_for(const kept_plan *kept, const wanted *w) {
    return kept->plan && kept->of.batch == w->batch && kept->of.sizes == w->sizes &&
           kept->of.count == w->count && memcmp(kept->of.outputs, w->outputs, sizeof w->outputs) == 0;
}

static weft_status get_plan(weft_plan **plan, plan_cache *cache, const wanted *w, const wi_feed *feed) {
    kept_plan *oldest = &cache->plans[0];
    cache->calls++;
    for (size_t i = 0; i < KEPT_PLANS; i++) {
        kept_plan *const kept = &cache->plans[i];
        if (is_for(kept, w)) {
            kept->used = cache->calls;
            *plan = kept->plan;
            return WEFT_OK;
        }
        if (kept->used < oldest->used) oldest = kept;
    }
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)w->batch, .inference = true,
        .sizes = feed->sizes, .size_count = feed->size_count};
    weft_plan_release(oldest->plan);
    *oldest = (kept_plan){0};
    WI_TRY(wi_plan_create_unowned(&oldest->plan, w->outputs, w->count, &options));
    oldest->of = *w;
    oldest->used = cache->calls;
    *plan = oldest->plan;
    return WEFT_OK;
}

/* Finds a column for each input. A column without an input is an error: its name is probably misspelt. */
static weft_status bind_inputs(
    wi_feed *feed, const weft_graph *graph, const weft_column *inputs, size_t count, const void **data) {
    if (count > MAX_INPUTS)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_predict: count is %zu inputs, expected at most %d", count, MAX_INPUTS);
    WI_TRY(wi_feed_bind(feed, inputs, count));
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i].name || !wi_feed_find(feed, inputs[i].name))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: the outputs do not depend on an input '%s'",
                inputs[i].name ? inputs[i].name : "(NULL)");
        if (!inputs[i].data)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: input '%s' has no data", inputs[i].name);
        const weft_encoding *const known = wi_graph_encoding(graph, inputs[i].name);
        if (known && inputs[i].encoding) WI_TRY(wi_encoding_check(inputs[i].name, inputs[i].encoding, known));
        data[i] = inputs[i].data;
    }
    return WEFT_OK;
}

/* Waits for enqueued copies and launches, which use the caller's memory. Keeps the error line. */
static void wait_after_failure(weft_plan *plan) {
    char line[WI_ERROR_LINE];
    wi_error_save(line, sizeof line);
    (void)weft_plan_wait(plan);
    wi_error_restore(line);
}

static weft_status check_outputs(wanted *w, const weft_prediction *outputs, size_t count) {
    if (!outputs || count == 0 || count > MAX_OUTPUTS)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: the number of outputs is %zu, expected 1 to %d",
            outputs ? count : 0, MAX_OUTPUTS);
    *w = (wanted){.count = count};
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i].output) return wi_fail_null("weft_predict", "output");
        if (!outputs[i].data) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: the data of output %zu is NULL", i);
        if (outputs[i].output->graph != outputs[0].output->graph)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: output %zu belongs to another graph", i);
        w->outputs[i] = outputs[i].output;
    }
    return WEFT_OK;
}

/* Reading an output also waits for the copies of the inputs. */
static weft_status run(weft_plan *plan, const weft_prediction *outputs, size_t count) {
    WI_TRY(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++)
        WI_TRY(weft_plan_read(plan, outputs[i].output, outputs[i].data, outputs[i].bytes));
    return WEFT_OK;
}

weft_status weft_predict_all(const weft_prediction *outputs, size_t output_count, size_t batch,
    const weft_column *inputs, size_t count) {
    wanted w;
    WI_TRY(check_outputs(&w, outputs, output_count));
    if ((!inputs && count) || batch == 0 || batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: inputs is NULL, or batch is %zu, expected 1 to %d", batch,
            INT32_MAX);
    w.batch = batch;
    weft_graph *const graph = w.outputs[0]->graph;
    WI_TRY(weft_graph_status(graph));
    const void *columns[MAX_INPUTS];
    plan_cache *cache = NULL;
    weft_plan *plan = NULL;
    wi_feed feed = {0};
    weft_status status = wi_feed_collect(&feed, graph->context->allocator, w.outputs, w.count);
    if (status == WEFT_OK) status = wi_feed_check_batch(&feed, batch, 1);
    if (status == WEFT_OK) status = bind_inputs(&feed, graph, inputs, count, columns);
    if (status == WEFT_OK) status = get_cache(&cache, graph);
    w.sizes = feed.digest;
    if (status == WEFT_OK) status = get_plan(&plan, cache, &w, &feed);
    if (status == WEFT_OK) status = wi_feed_write(&feed, plan, columns, batch);
    if (status == WEFT_OK) status = run(plan, outputs, output_count);
    if (status != WEFT_OK && plan) wait_after_failure(plan);
    wi_feed_clear(&feed);
    return status;
}

weft_status weft_predict(
    weft_tensor *output, size_t batch, const weft_column *inputs, size_t count, void *data, size_t bytes) {
    return weft_predict_all(&(weft_prediction){output, data, bytes}, 1, batch, inputs, count);
}
