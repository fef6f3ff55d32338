/* Inference on a batch of any size. The plans are kept with the graph, the least recently used makes room;
 * they do not hold the graph themselves, since it holds them. */
#include "graph/nodes.h"
#include "plan/compiled_plan.h"
#include "train/correct_count.h"
#include "train/feed.h"

enum { KEPT_PLANS = 8, MAX_INPUTS = 32 };

static const char cache_key[] = "predict";

typedef struct kept_plan {
    weft_tensor *output;
    size_t batch;
    weft_plan *plan;
    uint64_t used; /* when, in calls */
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

static weft_status get_plan(weft_plan **plan, plan_cache *cache, weft_tensor *output, size_t batch) {
    kept_plan *oldest = &cache->plans[0];
    cache->calls++;
    for (size_t i = 0; i < KEPT_PLANS; i++) {
        kept_plan *const kept = &cache->plans[i];
        if (kept->plan && kept->output == output && kept->batch == batch) {
            kept->used = cache->calls;
            *plan = kept->plan;
            return WEFT_OK;
        }
        if (kept->used < oldest->used) oldest = kept;
    }
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)batch, .inference = true};
    weft_plan_release(oldest->plan);
    *oldest = (kept_plan){0};
    WI_TRY(wi_plan_create_unowned(&oldest->plan, &output, 1, &options));
    oldest->output = output;
    oldest->batch = batch;
    oldest->used = cache->calls;
    *plan = oldest->plan;
    return WEFT_OK;
}

/* Binds inputs and columns both ways: a column that feeds nothing is a misspelt name. */
static weft_status bind_inputs(wi_feed *feed, const weft_column *inputs, size_t count, const void **data) {
    if (count > MAX_INPUTS)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: %zu inputs, at most %d", count, MAX_INPUTS);
    WI_TRY(wi_feed_bind(feed, inputs, count));
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i].name || !wi_feed_find(feed, inputs[i].name))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: the output has no input '%s'",
                inputs[i].name ? inputs[i].name : "(NULL)");
        if (!inputs[i].data)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: input '%s' has no data", inputs[i].name);
        data[i] = inputs[i].data;
    }
    return WEFT_OK;
}

/* The copies and launches that are still on the queue: they use the caller's memory. */
static void wait_after_failure(weft_plan *plan) {
    char line[2048];
    wi_error_save(line, sizeof line);
    (void)weft_plan_wait(plan);
    wi_error_restore(line);
}

weft_status weft_predict(
    weft_tensor *output, size_t batch, const weft_column *inputs, size_t count, void *data, size_t bytes) {
    if (!output) return wi_missing_tensor("weft_predict", "output");
    if ((!inputs && count) || !data || batch == 0 || batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_predict: inputs and data must not be NULL, batch (%zu) in 1..%d",
            batch, INT32_MAX);
    weft_graph *const graph = weft_tensor_graph(output);
    WI_TRY(weft_graph_status(graph));
    const void *columns[MAX_INPUTS];
    plan_cache *cache = NULL;
    weft_plan *plan = NULL;
    wi_feed feed = {0};
    weft_status status = wi_feed_collect(&feed, graph->context->allocator, &output, 1);
    if (status == WEFT_OK) status = wi_feed_check_batch(&feed, batch);
    if (status == WEFT_OK) status = bind_inputs(&feed, inputs, count, columns);
    if (status == WEFT_OK) status = get_cache(&cache, graph);
    if (status == WEFT_OK) status = get_plan(&plan, cache, output, batch);
    if (status == WEFT_OK) status = wi_feed_write(&feed, plan, columns, batch);
    if (status == WEFT_OK) status = weft_plan_run(plan);
    if (status == WEFT_OK) status = weft_plan_read(plan, output, data, bytes); /* waits for the copies too */
    if (status != WEFT_OK && plan) wait_after_failure(plan);
    wi_feed_clear(&feed);
    return status;
}
