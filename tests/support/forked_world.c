/* The objects that tests of fork() use (contract in forked_world.h). */
#include "support/checks.h"
#include "support/fixture.h"

#include "support/forked_world.h"
#include "support/scratch.h"
#include <stdio.h>

enum { THREADS = 3 };

weft_column world_column(world *w) {
    return (weft_column){.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {SMALL_NET_IN}, .data = w->x};
}

static weft_status open_data(world *w, weft_dataset **data) {
    float x[WORLD_EXAMPLES * SMALL_NET_IN];
    int32_t labels[WORLD_EXAMPLES];
    small_net_fill(x, WORLD_EXAMPLES * SMALL_NET_IN, 1);
    for (int i = 0; i < WORLD_EXAMPLES; i++) labels[i] = x[i * SMALL_NET_IN] > x[i * SMALL_NET_IN + 1];
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {SMALL_NET_IN}, .data = x},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    return weft_dataset_from_memory(data, w->context, WORLD_EXAMPLES, columns, 2);
}

weft_status world_trainer(world *w, weft_trainer **trainer, const char *folder, weft_progress_callback step) {
    char log[4096];
    snprintf(log, sizeof log, "%s/log.csv", w->folder);
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(0.01f),
        .epochs = 2, .batch = WORLD_BATCH, .loader_threads = THREADS, .checkpoint = folder,
        .checkpoint_every = {.steps = 1}, .csv_log = folder ? log : NULL, .on_step = step, .user = w};
    return weft_trainer_create(trainer, w->cost, &options);
}

/* No call has needed the parameter `later` yet, so that its initial values, which take seconds, are not computed. */
static void make_network(world *w) {
    w->net = small_net_in(w->context);
    w->label = weft_input(w->net.graph, "label", WEFT_I32);
    w->spare = weft_parameter(w->net.graph, "spare", weft_zeros(), SMALL_NET_OUT, SMALL_NET_IN);
    w->cost = weft_cross_entropy(w->net.hidden, w->label);
    w->later = weft_parameter(
        weft_context_graph(w->context), "later", weft_init_orthogonal(1.0f), WORLD_SIDE, WORLD_SIDE);
    assert_ok(weft_graph_status(w->net.graph));
    small_net_fill(w->x, WORLD_BATCH * SMALL_NET_IN, 7);
}

static weft_context *open_context(const char *folder, bool two_queues) {
    weft_context *context = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder};
    if (two_queues) setenv("WEFT_UPLOAD_QUEUE", "1", 1);
    const weft_status status = weft_context_create(&context, &options);
    if (two_queues) unsetenv("WEFT_UPLOAD_QUEUE");
    assert_ok(status);
    return context;
}

void world_open(world *w, bool two_queues, weft_progress_callback step) {
    const weft_loader_options options = {
        WEFT_LOADER_OPTIONS_INIT, .batch = WORLD_BATCH, .shuffle = true, .threads = THREADS};
    const weft_metric accuracy = weft_metric_accuracy();
    *w = (world){.folder = scratch_make()};
    w->context = open_context(w->folder, two_queues);
    make_network(w);
    w->plan = small_net_plan(w->net.y, WORLD_BATCH);
    for (int i = 0; i < 3; i++) small_net_compute(w->plan, &w->net, w->x, WORLD_BATCH, w->y);
    assert_ok(open_data(w, &w->data));
    assert_ok(weft_loader_create(&w->loader, w->data, &options));
    assert_ok(weft_loader_begin(w->loader, 0));
    assert_ok(world_trainer(w, &w->trainer, scratch_path(w->folder, "run"), step));
    assert_ok(weft_trainer_evaluate(w->trainer, w->data, NULL, NULL));
    assert_ok(weft_snapshot_create(&w->snapshot, w->net.graph));
    assert_ok(weft_snapshot_take(w->snapshot));
    assert_ok(weft_metric_create(&w->metric, w->context, &accuracy, SMALL_NET_OUT));
    assert_ok(weft_weights_save(w->net.graph, scratch_path(w->folder, "weights")));
    assert_ok(weft_checkpoint_save(w->net.graph, scratch_path(w->folder, "checkpoint"), NULL, 0));
    assert_ok(weft_predict(w->net.y, WORLD_BATCH, (weft_column[]){world_column(w)}, 1, w->y, sizeof w->y));
}

void world_release(world *w) {
    weft_profile_release(w->profile);
    weft_metric_release(w->metric);
    weft_snapshot_release(w->snapshot);
    weft_trainer_release(w->trainer);
    weft_loader_release(w->loader);
    weft_dataset_release(w->data);
    weft_plan_release(w->plan);
    weft_graph_release(w->net.graph);
    weft_context_release(w->context);
}

void world_close(world *w) {
    world_release(w);
    scratch_remove(w->folder);
}
