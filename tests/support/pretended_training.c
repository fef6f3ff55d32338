/* Trainings on devices with small buffers (contract in pretended_training.h). */
#include "support/pretended_training.h"
#include <math.h>
#include <stdio.h>

enum { MOST_NUMBERS = 1 << 19 };

typedef struct trained {
    float losses[TRAINED_STEPS], *parameters;
    size_t
        count; /* how many numbers the parameters have, and after them their averages, if the optimizer keeps any */
    pretend_record record;
    weft_plan_info info;
} trained;

static void fill(const trained_network *n, weft_plan *plan, weft_tensor *x) {
    static union {
        float f[MOST_NUMBERS];
        int32_t i[MOST_NUMBERS];
    } values;
    const bool labels = weft_tensor_dtype(x) == WEFT_I32;
    size_t count = (size_t)n->batch;
    for (int i = 1; i < weft_tensor_rank(x); i++) count *= (size_t)weft_tensor_dimension(x, i);
    assert_true(count <= MOST_NUMBERS);
    for (size_t i = 0; i < count; i++) {
        const uint32_t hash = (uint32_t)i * 2654435761u >> 8;
        if (labels)
            values.i[i] = (int32_t)(hash % 10);
        else
            values.f[i] = (float)(hash % 1000) / 500.0f - 1.0f;
    }
    assert_ok(weft_plan_write(plan, x, values.f, count * 4));
}

static void read_parameters(weft_graph *graph, trained *o) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        weft_tensor *const p = weft_graph_parameter(graph, i);
        size_t count = 1;
        for (int k = 0; k < weft_tensor_rank(p); k++) count *= (size_t)weft_tensor_dimension(p, k);
        o->parameters = realloc(o->parameters, (o->count + count) * sizeof(float));
        assert_non_null(o->parameters);
        assert_ok(weft_tensor_read(p, o->parameters + o->count, count * sizeof(float)));
        o->count += count;
    }
}

static trained train_on(const char *device, const trained_network *n) {
    trained o = {0};
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_context *const context = pretended_open(device);
    weft_graph *const graph = weft_context_graph(context);
    const weft_optimizer sgd = weft_sgd_momentum(0.1f, 0.9f, 0);
    assert_ok(weft_graph_set_precision(graph, n->precision));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = n->batch};
    int64_t dims[5] = {WEFT_BATCH};
    int rank = 1;
    for (; n->dims[rank - 1]; rank++) dims[rank] = n->dims[rank - 1];
    weft_tensor *const x = weft_input_shape(graph, "x", n->dtype, rank, dims), *const label = weft_input(
                                                                                   graph, "label", WEFT_I32);
    outputs[0] = n->loss(x, label);
    assert_ok(weft_graph_status(graph));
    if (n->sparse) assert_ok(weft_sparse_updates(graph, n->sparse, true));
    assert_ok(
        weft_minimize(outputs[0], n->optimizer ? n->optimizer : &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, outputs, 1 + count, &options));
    assert_ok(weft_plan_get_info(plan, &o.info));
    fill(n, plan, x);
    if (!n->unlabelled) fill(n, plan, label);
    for (int i = 0; i < TRAINED_STEPS; i++) {
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, outputs[0], &o.losses[i], sizeof *o.losses));
    }
    read_parameters(graph, &o);
    if (n->optimizer && n->optimizer->average_decay > 0) {
        assert_ok(weft_average_swap(graph));
        read_parameters(graph, &o);
    }
    weft_plan_release(plan);
    o.record = pretend_layer_record();
    weft_context_release(context);
    return o;
}

/* ---- comparing with a training without a limit ---- */

static float largest_of(const float *a, size_t count) {
    float largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(a[i]));
    return largest;
}

static void assert_near(const char *what, const float *a, const float *b, size_t count, float tolerance) {
    const float allowed = tolerance * largest_of(b, count);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= allowed))
            fail_msg("%s, number %zu: %g, whole %g; %g is allowed", what, i, (double)a[i], (double)b[i],
                (double)allowed);
}

static void assert_same(const trained_network *n, const char *limited, const trained *whole) {
    const size_t buffer = n->buffer ? n->buffer : 1 << 20;
    trained cut = train_on(limited, n);
    printf("%s on %s, %lld micro-batches: %ld launches, whole %ld; buffers of %zu bytes, whole %zu\n",
        n->name, limited, (long long)cut.info.micro_batches, cut.record.launches, whole->record.launches,
        cut.record.largest, whole->record.largest);
    assert_int_equal(cut.record.above, 0);
    assert_int_equal(cut.info.io_bytes, whole->info.io_bytes);
    assert_int_equal(cut.info.total_bytes, cut.info.arena_bytes + cut.info.io_bytes);
    assert_true(cut.record.largest <= buffer && whole->record.largest > buffer);
    if (n->micro_batches) {
        assert_int_equal(cut.info.variable_bytes, whole->info.variable_bytes);
        assert_true(cut.info.micro_batches > 1 && whole->info.micro_batches == 1);
    }
    assert_near(n->name, cut.losses, whole->losses, TRAINED_STEPS, n->tolerance);
    assert_int_equal(cut.count, whole->count);
    assert_near(n->name, cut.parameters, whole->parameters, cut.count, n->tolerance);
    free(cut.parameters);
}

void assert_same_training(const trained_network *n, const char *const *limited, size_t count) {
    trained whole = train_on("largest256", n);
    for (size_t i = 0; i < count; i++) assert_same(n, limited[i], &whole);
    free(whole.parameters);
}
