/* The builders of weft/models.h: what their plans cost, names and prefixes, and bad input. Their numbers:
 * test_model_golden.c. */
/* test once slow */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct step {
    weft_graph *graph;
    weft_tensor *image, *label, *outputs[WEFT_MAX_UPDATES + 1];
    size_t count;
} step;

/* A training step of (N, channels, size, size). */
static step make_step(weft_context *context, const char *name, int64_t channels, int64_t size) {
    step s = {0};
    assert_weft_ok(weft_graph_create(&s.graph, context));
    s.image = weft_input(s.graph, "image", WEFT_F32, channels, size, size);
    s.label = weft_input(s.graph, "label", WEFT_I32);
    s.outputs[0] = weft_cross_entropy(weft_model(s.image, name, 10, NULL), s.label);
    const weft_optimizer sgd = weft_sgd_momentum(0.01f, 0.9f, 0);
    assert_weft_ok(weft_minimize(s.outputs[0], &sgd, s.outputs + 1, WEFT_MAX_UPDATES, &s.count));
    s.count++;
    return s;
}

/* Planned, but not compiled. */
static weft_plan *plan_late(const step *s, int64_t batch) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .compile_late = true};
    assert_weft_ok(weft_plan_create(&plan, s->outputs, s->count, &options));
    return plan;
}

/* ---- plans ---- */

static void every_network_is_planned(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t channels, size;
        size_t
            changes; /* of layout: the image, and maps of more than a pixel flattened, and their gradients */
    } rows[] = {{"lenet5", 1, 32, 2}, {"alexnet_s", 3, 67, 1}, {"alexnet_r", 3, 32, 3}, {"vgg11", 3, 32, 3},
        {"vgg16", 0, 0, 0}, {"googlenet", 3, 64, 1}, {"inception_v3", 3, 107, 1}, {"resnet18", 3, 64, 1},
        {"resnet34", 3, 64, 1}, {"resnet50", 3, 64, 1}, {"resnet101", 3, 64, 1}, {"resnet20", 3, 32, 1},
        {"resnet56", 3, 32, 1}, {"mobilenet_v2", 3, 64, 1}, {"mobilenet_v3_large", 3, 64, 1},
        {"mobilenet_v3_small", 3, 64, 1}, {"efficientnet_b0", 3, 64, 1}, {"vit_b_16", 3, 48, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(weft_model_name(i), rows[i].name);
        if (rows[i].size == 0) continue; /* as vgg11, and a GB more to fill */
        const step s = make_step(test_context(), rows[i].name, rows[i].channels, rows[i].size);
        weft_plan *const plan = plan_late(&s, 2);
        weft_plan_info info;
        assert_weft_ok(weft_plan_get_info(plan, &info));
        print_message("%-18s %4zu launches, %3zu kernels, %zu layout changes, arena %zu bytes\n",
            rows[i].name, info.launches, info.kernels, info.layout_conversions, info.arena_bytes);
        assert_int_equal(info.layout_conversions, rows[i].changes);
        weft_plan_release(plan);
        weft_graph_release(s.graph);
    }
    assert_null(weft_model_name(sizeof rows / sizeof rows[0]));
}

/* Parameters and states have memory from their first read on. */
static void make_variables(weft_graph *graph) {
    for (size_t i = 0, states = weft_graph_state_count(graph); i <= states; i++) {
        weft_tensor *const t = i < states ? weft_graph_state(graph, i) : weft_graph_parameter(graph, 0);
        size_t bytes = weft_dtype_size(weft_tensor_dtype(t));
        for (int k = 0; k < weft_tensor_rank(t); k++) bytes *= (size_t)weft_tensor_dimension(t, k);
        void *const data = malloc(bytes);
        assert_non_null(data);
        assert_weft_ok(weft_tensor_read(t, data, bytes));
        free(data);
    }
}

/* Batch 16 at 224²: variables (parameters, momentum, statistics) and all else below 3 GB. */
static void resnet50_trains_within_3_gb(void **state) {
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT}); /* an empty pool */
    const step s = make_step(context, "resnet50", 3, 224);
    make_variables(s.graph);
    size_t before, during;
    weft_context_memory(context, &before, NULL);
    weft_plan *const plan = plan_late(&s, 16);
    weft_context_memory(context, &during, NULL);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    print_message("ResNet-50, batch 16: %zu bytes of its own, %zu of variables, %zu launches\n",
        info.total_bytes, info.variable_bytes, info.launches);
    assert_true(info.total_bytes + info.variable_bytes < 3000000000u);
    assert_int_equal(info.layout_conversions, 1); /* the image */
    assert_int_equal(during - before, info.total_bytes);
    weft_plan_release(plan);
    weft_graph_release(s.graph);
    weft_context_release(context);
}

/* To the byte, and a run takes nothing more. */
static void what_is_allocated_is_what_was_said(void **state) {
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT}); /* an empty pool */
    const step s = make_step(context, "resnet20", 3, 8);
    make_variables(s.graph);
    size_t before, during, after, peak;
    weft_context_memory(context, &before, NULL);
    weft_plan *const plan = plan_late(&s, 3);
    weft_context_memory(context, &during, NULL);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_int_equal(during - before, info.total_bytes);
    static const float image[3 * 3 * 8 * 8];
    static const int32_t label[3];
    assert_weft_ok(weft_plan_write(plan, s.image, image, sizeof image));
    assert_weft_ok(weft_plan_write(plan, s.label, label, sizeof label));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(plan));
    float loss;
    assert_weft_ok(weft_plan_read(plan, s.outputs[0], &loss, sizeof loss));
    weft_context_memory(context, &after, &peak);
    assert_int_equal(after, during);
    weft_plan_release(plan);
    weft_graph_release(s.graph);
    weft_context_release(context);
}

/* ---- names ---- */

static void assert_shape(weft_graph *graph, const char *name, int rank, const int64_t *dims) {
    weft_tensor *const found = weft_graph_find(graph, name);
    if (!found) fail_msg("the graph has no %s", name);
    assert_int_equal(weft_tensor_rank(found), rank);
    for (int i = 0; i < rank; i++) assert_int_equal(weft_tensor_dimension(found, i), dims[i]);
}

static void two_networks_in_one_graph(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "image", WEFT_F32, 3, 32, 32);
    weft_tensor *const student = weft_mobilenet_v2(x, 10, NULL);
    weft_tensor *const teacher = weft_resnet50(x, 7, "teacher.");
    assert_weft_ok(weft_graph_status(graph));
    assert_int_equal(weft_tensor_dimension(student, 1), 10);
    assert_int_equal(weft_tensor_dimension(teacher, 1), 7);
    assert_int_equal(weft_tensor_dimension(teacher, 0), WEFT_BATCH);
    assert_shape(graph, "teacher.layer2.0.downsample.0.weight", 4, (const int64_t[]){512, 256, 1, 1});
    assert_shape(graph, "teacher.layer4.2.bn3.running_var", 1, (const int64_t[]){2048});
    assert_shape(graph, "teacher.fc.bias", 1, (const int64_t[]){7});
    assert_shape(graph, "features.1.conv.0.0.weight", 4, (const int64_t[]){32, 1, 3, 3});
    assert_shape(graph, "features.17.conv.3.running_mean", 1, (const int64_t[]){320});
    assert_shape(graph, "classifier.1.weight", 2, (const int64_t[]){10, 1280});
    weft_graph_release(graph);
}

/* Deviations of the first values, within 5 % over many elements. */
static void assert_deviation(weft_graph *graph, const char *name, double wanted) {
    weft_tensor *const tensor = weft_graph_find(graph, name);
    static float values[2400000];
    size_t count = 1;
    double sum = 0;
    if (!tensor) fail_msg("the graph has no %s", name);
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    assert_true(count <= 2400000);
    assert_weft_ok(weft_tensor_read(tensor, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
    const double got = sqrt(sum / (double)count);
    if (!(fabs(got - wanted) <= 0.05 * wanted)) fail_msg("%s deviates by %g, not %g", name, got, wanted);
}

static void first_values_are_the_networks_own(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "image", WEFT_F32, 3, 80, 80);
    (void)weft_resnet18(x, 20, "r.");
    (void)weft_googlenet(x, 20, "g.");
    (void)weft_inception_v3(x, 20, "i.");
    (void)weft_mobilenet_v2(x, 20, "m.");
    (void)weft_alexnet_r(x, 20, "a.");
    (void)weft_mobilenet_v3_large(x, 20, "l.");
    (void)weft_efficientnet_b0(x, 20, "e.");
    (void)weft_vit_b_16(x, 20, "v.");
    assert_weft_ok(weft_graph_status(graph));
    assert_deviation(graph, "r.layer1.0.conv1.weight", sqrt(2.0 / (64 * 9)));
    assert_deviation(graph, "r.fc.weight", 1 / sqrt(3.0 * 512));
    assert_deviation(graph, "r.layer1.0.bn1.weight", 1);
    assert_deviation(graph, "g.conv2.conv.weight", 0.01);
    assert_deviation(graph, "g.fc.weight", 0.01);
    assert_deviation(graph, "i.fc.weight", 0.1);
    assert_deviation(graph, "m.features.3.conv.0.0.weight", sqrt(2.0 / 144));
    assert_deviation(graph, "m.features.3.conv.1.0.weight", sqrt(2.0 / (144 * 9)));
    assert_deviation(graph, "m.classifier.1.weight", 0.01);
    assert_deviation(graph, "a.3.weight", 1 / sqrt(3.0 * 32 * 25));
    assert_deviation(graph, "m.classifier.1.bias", 0);
    assert_deviation(graph, "l.features.4.block.2.fc1.weight", sqrt(2.0 / 24));
    assert_deviation(graph, "l.features.4.block.2.fc1.bias", 0);
    assert_deviation(graph, "l.classifier.0.weight", 0.01);
    assert_deviation(graph, "e.features.2.0.block.0.0.weight", sqrt(2.0 / 96));
    assert_deviation(graph, "e.classifier.1.weight", 1 / sqrt(3.0 * 20));
    assert_deviation(graph, "e.classifier.1.bias", 0);
    assert_deviation(graph, "v.conv_proj.weight", 1 / sqrt(3.0 * 256));
    assert_deviation(graph, "v.conv_proj.bias", 0);
    assert_deviation(graph, "v.class_token", 0);
    assert_deviation(graph, "v.encoder.pos_embedding", 0.02);
    assert_deviation(graph, "v.encoder.layers.encoder_layer_11.mlp.0.weight", sqrt(2.0 / (768 + 3072)));
    assert_deviation(graph, "v.encoder.layers.encoder_layer_11.mlp.3.bias", 1e-6);
    assert_deviation(graph, "v.heads.head.weight", 0);
    weft_graph_release(graph);
}

/* ---- features ---- */

static void without_classes_the_features_are_returned(void **state) {
    (void)state;
    static const int64_t widths[] = {
        84, 4096, 576, 4096, 4096, 1024, 2048, 512, 512, 2048, 2048, 64, 64, 1280, 1280, 1024, 1280, 768};
    for (size_t i = 0; weft_model_name(i); i++) {
        weft_graph *const graph = test_graph();
        const int64_t size = i == 0 || i == 2 ? 32 : 224;
        weft_tensor *const x = weft_input(graph, "image", WEFT_F32, 3, size, size);
        weft_tensor *const features = weft_model(x, weft_model_name(i), 0, NULL);
        assert_weft_ok(weft_graph_status(graph));
        assert_int_equal(weft_tensor_rank(features), 2);
        assert_int_equal(weft_tensor_dimension(features, 1), widths[i]);
        assert_null(weft_graph_find(graph, "fc.weight"));
        assert_null(weft_graph_find(graph, "classifier.6.weight"));
        assert_null(weft_graph_find(graph, "classifier.1.weight"));
        assert_null(weft_graph_find(graph, "heads.head.weight"));
        weft_graph_release(graph);
    }
}

/* The features of a network are what the last layer of the same network reads. */
static void features_are_what_the_head_reads(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "image", WEFT_F32, 1, 32, 32);
    assert_weft_ok(weft_scope_begin(graph, "net", true));
    weft_tensor *const logits = weft_lenet5(x, 10, NULL), *const features = weft_lenet5(x, 0, NULL);
    assert_weft_ok(weft_scope_end(graph));
    weft_tensor *const again = weft_linear_with(
        features, weft_graph_find(graph, "net.11.weight"), weft_graph_find(graph, "net.11.bias"));
    assert_ptr_equal(again, logits); /* equal nodes are made once */
    weft_graph_release(graph);
}

/* ---- bad input ---- */

#define assert_refused(status, expression, ...)                                                              \
    do {                                                                                                     \
        weft_graph *const graph = test_graph();                                                              \
        weft_tensor *const x = weft_input(graph, "image", WEFT_F32, 3, 8, 8);                                \
        (void)x;                                                                                             \
        assert_null(expression);                                                                             \
        assert_weft_fails(status, weft_graph_status(graph), __VA_ARGS__);                                    \
        weft_graph_release(graph);                                                                           \
    } while (0)

static void bad_input_is_an_error(void **state) {
    (void)state;
    char prefix[200] = "";
    memset(prefix, 'a', sizeof prefix - 1);
    const weft_model_options old = {.struct_size = 1};
    assert_refused(WEFT_ERROR_SHAPE, weft_alexnet_s(x, 10, NULL), "weft_alexnet_s", "layer 0", "11 x 11");
    assert_refused(WEFT_ERROR_SHAPE, weft_alexnet_r(x, 10, "a."), "layer a.8", "3 x 3");
    assert_refused(WEFT_ERROR_SHAPE, weft_vgg11(x, 10, NULL), "layer features.15", "2 x 2");
    assert_refused(WEFT_ERROR_SHAPE, weft_inception_v3(x, 10, NULL), "layer maxpool1", "3 x 3");
    assert_refused(WEFT_ERROR_SHAPE, weft_vit_b_16(x, 10, NULL), "weft_vit_b_16", "8 x 8 pixels", "16");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_resnet50(x, -7, NULL), "weft_resnet50", "classes is -7");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_lenet5(x, -1, NULL), "weft_lenet5", "classes is -1");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_resnet20(x, 10, prefix), "199 characters");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_add(weft_resnet20(x, 10, NULL), weft_resnet20(x, 10, NULL)),
        "weft_resnet20", "'0.weight'", "prefix");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_model(x, "resnet51", 10, NULL), "resnet51");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_model(x, NULL, 10, NULL), "no network");
    assert_refused(
        WEFT_ERROR_ARGUMENT, weft_model(x, "resnet20", 10, &old), "the options have struct_size 1");
    assert_refused(
        WEFT_ERROR_SHAPE, weft_resnet18(weft_flatten(x), 10, NULL), "weft_resnet18", "(N, C, H, W)");
    assert_refused(WEFT_ERROR_SHAPE, weft_resnet18(weft_swap_axes(x, 0, 1), 10, NULL), "may be the batch");
    assert_refused(WEFT_ERROR_DTYPE, weft_resnet18(weft_cast(x, WEFT_I32), 10, NULL), "i32, expected f32");
    assert_null(weft_resnet18(NULL, 10, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_network_is_planned),
        cmocka_unit_test(resnet50_trains_within_3_gb), cmocka_unit_test(what_is_allocated_is_what_was_said),
        cmocka_unit_test(two_networks_in_one_graph), cmocka_unit_test(first_values_are_the_networks_own),
        cmocka_unit_test(without_classes_the_features_are_returned),
        cmocka_unit_test(features_are_what_the_head_reads), cmocka_unit_test(bad_input_is_an_error)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
