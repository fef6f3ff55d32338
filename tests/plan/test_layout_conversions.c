/* Images change their order in memory at the edges of a network and nowhere else, and a plan says where. */
#include "ops/op_table.h"
#include "support/fixture.h"
#include "support/image_tower.h"

#include "ops/movement/memory_order.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, C = 3, H = 5, W = 4 };

static weft_plan *plan_of(weft_tensor *const *outputs, size_t count) {
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(
        &plan, outputs, count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    return plan;
}

static weft_plan_info info_of(const weft_plan *plan) {
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    return info;
}

static weft_tensor *image_input(weft_graph *graph, const char *name, int64_t a, int64_t b, int64_t c) {
    return weft_input_shape(graph, name, WEFT_F32, 4, (const int64_t[]){WEFT_BATCH, a, b, c});
}

/* A training step of a tower over an image that lies channels-last. */
static weft_plan_info train_tower(weft_tensor *(*op)(weft_tensor *), bool user) {
    weft_graph *const graph = test_graph();
    weft_tensor *const input = image_input(graph, "image", H, W, C);
    weft_tensor *const image = user ? weft_permute(input, 0, 3, 1, 2) : weft_channels_first(input);
    weft_tensor *const bias = weft_parameter(graph, "bias", weft_fill(0.5f), C);
    weft_tensor *const gate = weft_parameter(graph, "gate", weft_fill(0.5f), 1, 2 * C, 1, 1);
    weft_tensor *const loss = weft_mean_axes(weft_square(image_tower(image, bias, gate, op)), NULL, false);
    const weft_optimizer sgd = weft_sgd(0.1f);
    weft_tensor *updates[8];
    size_t count = 0;
    assert_weft_ok(weft_minimize(loss, &sgd, updates, 8, &count));
    weft_plan *const plan = plan_of(updates, count);
    const weft_plan_info info = info_of(plan);
    weft_plan_release(plan);
    weft_graph_release(graph);
    return info;
}

/* Forward, backward and update of a tower do not move data; without the kept order they do. */
static void test_tower_moves_nothing(void **state) {
    (void)state;
    const weft_plan_info kept = train_tower(image_tower_op, false);
    assert_int_equal(kept.layout_conversions, 0);
    assert_int_equal(kept.conversions, 0);
    const weft_plan_info moved = train_tower(image_tower_op_of_user, true);
    assert_true(moved.steps >= kept.steps + 5);
    assert_true(moved.bytes_moved > 1.2 * kept.bytes_moved);
}

static char *described(const weft_plan *plan, weft_format format) {
    size_t length = 0;
    assert_weft_ok(weft_plan_describe(plan, format, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, format, text, length + 1, NULL));
    return text;
}

static double json_sum(const cJSON *root, const char *name) {
    double sum = 0;
    const cJSON *step;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(root, "steps")) {
        const cJSON *const number = cJSON_GetObjectItemCaseSensitive(step, name);
        assert_true(cJSON_IsNumber(number));
        sum += number->valuedouble;
    }
    return sum;
}

/* What a plan says of them, as text, numbers and JSON. */
static void assert_changes(const weft_plan *plan, int to_last, int to_first) {
    char *const text = described(plan, WEFT_FORMAT_TEXT), *const json = described(plan, WEFT_FORMAT_JSON);
    assert_int_equal(info_of(plan).layout_conversions, to_last + to_first);
    assert_int_equal(strstr(text, "(N, C, ...) -> channels-last]") != NULL, to_last > 0);
    assert_int_equal(strstr(text, "channels-last -> (N, C, ...)]") != NULL, to_first > 0);
    cJSON *const root = cJSON_Parse(json);
    assert_int_equal(
        cJSON_GetObjectItemCaseSensitive(root, "layout_conversions")->valuedouble, to_last + to_first);
    assert_int_equal(json_sum(root, "to_channels_last"), to_last);
    assert_int_equal(json_sum(root, "to_channels_first"), to_first);
    cJSON_Delete(root);
    free(text);
    free(json);
}

/* From (N, C, H, W) to an op of images and back: once in, within the map before it, and once out. The same
 * numbers in the order of memory cost neither. */
static void test_edges(void **state) {
    (void)state;
    enum { SIZE = BATCH * C * H * W };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = image_input(graph, "x", C, H, W), *const lying = image_input(graph, "y", H, W, C);
    weft_tensor *const seen = weft_channels_first(lying);
    weft_tensor *const from_first = image_tower_op(weft_mul_number(weft_tanh(x), 0.5));
    weft_tensor *const from_last = image_tower_op(weft_mul_number(weft_tanh(seen), 0.5));
    weft_tensor *const in_memory[] = {weft_channels_last(from_last)};
    weft_tensor *const all[] = {from_first, weft_channels_last(from_first), from_last, in_memory[0]};
    weft_plan *plan = plan_of(all, 4);
    assert_changes(plan, 1, 2);
    static float values[4][SIZE], first[SIZE], last[SIZE];
    test_random random = test_random_named("edges", 0);
    for (int i = 0; i < SIZE; i++) {
        const int w = i % W, h = i / W % H, c = i / W / H % C, n = i / W / H / C;
        first[i] = (float)test_random_between(&random, -1, 1);
        last[((n * H + h) * W + w) * C + c] = first[i];
    }
    assert_weft_ok(weft_plan_write(plan, x, first, sizeof first));
    assert_weft_ok(weft_plan_write(plan, lying, last, sizeof last));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 4; i++) assert_weft_ok(weft_plan_read(plan, all[i], values[i], sizeof values[i]));
    weft_plan_release(plan);
    assert_memory_equal(values[0], values[2], sizeof values[0]);
    assert_memory_equal(values[1], values[3], sizeof values[1]);
    for (int i = 0; i < SIZE; i++) {
        const int w = i % W, h = i / W % H, c = i / W / H % C, n = i / W / H / C;
        assert_true(values[0][i] == values[1][((n * H + h) * W + w) * C + c]);
        assert_float_equal(values[0][i], tanhf(0.5f * tanhf(first[i])), 1e-6);
    }
    plan = plan_of(in_memory, 1);
    assert_changes(plan, 0, 0);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Pixels that are only moved: the step is named a conversion. */
static void test_conversion_is_named(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const last = weft_channels_last(image_input(graph, "x", C, H, W));
    weft_plan *const plan = plan_of(&last, 1);
    assert_changes(plan, 1, 0);
    assert_int_equal(info_of(plan).conversions, 1);
    char *const text = described(plan, WEFT_FORMAT_TEXT);
    assert_non_null(strstr(text, "layout conversion"));
    free(text);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The joined parts of an inception block are written where they belong by what computes them: loops, and a
 * product with its epilogue. */
static void test_join_copies_nothing(void **state) {
    (void)state;
    enum { PIXELS = BATCH * H * W, ALL = 3 * C };
    weft_graph *const graph = test_graph();
    weft_tensor *const lying = image_input(graph, "x", H, W, C), *const x = weft_channels_first(lying);
    weft_tensor *const mixer = weft_input_shape(graph, "m", WEFT_F32, 2, (const int64_t[]){C, C});
    weft_tensor *const product = wi_channels_first(weft_matmul(lying, mixer));
    weft_tensor *const parts[] = {weft_tanh(x), weft_exp(x), weft_relu(product)};
    weft_tensor *const joined = weft_channels_last(weft_concat(parts, 3, 1));
    weft_plan *const plan = plan_of(&joined, 1);
    assert_changes(plan, 0, 0);
    assert_int_equal(info_of(plan).conversions, 0);
    assert_true(info_of(plan).steps <= 3);
    float values[PIXELS * C], got[PIXELS * ALL], mix[C * C];
    for (int i = 0; i < PIXELS * C; i++) values[i] = (float)(i % 11) / 5 - 1;
    for (int i = 0; i < C * C; i++) mix[i] = (float)i / 4 - 1;
    assert_weft_ok(weft_plan_write(plan, lying, values, sizeof values));
    assert_weft_ok(weft_plan_write(plan, mixer, mix, sizeof mix));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, joined, got, sizeof got));
    for (int i = 0; i < PIXELS * C; i++) {
        const float *const pixel = got + i / C * ALL, *const from = values + i / C * C;
        float mixed = 0;
        for (int k = 0; k < C; k++) mixed += from[k] * mix[k * C + i % C];
        assert_float_equal(pixel[i % C], tanhf(values[i]), 1e-6);
        assert_float_equal(pixel[C + i % C], expf(values[i]), 1e-5);
        assert_float_equal(pixel[2 * C + i % C], mixed > 0 ? mixed : 0, 1e-5);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Convolutions want rows of pixels in memory: the map before them writes those, and a bare input is copied
 * once for the convolution and for the gradient of its weight. */
static void test_convolution_converts_once(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = image_input(graph, "x", C, H, W);
    weft_tensor *const weight = weft_parameter(graph, "w", weft_fill(0.5f), 4, C, 3, 3);
    weft_tensor *const images[] = {weft_tanh(x), x};
    for (int bare = 0; bare < 2; bare++) {
        weft_tensor *const y = weft_relu(weft_conv_with(images[bare], weight, NULL, NULL));
        weft_tensor *const loss = weft_mean_axes(weft_square(y), NULL, false);
        weft_tensor *const outputs[] = {loss, weft_gradient(loss, weight)};
        weft_plan *const plan = plan_of(outputs, 2);
        assert_changes(plan, 1, 0);
        assert_int_equal(info_of(plan).conversions, bare);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* Permutes of users, of whatever order, cost what they did and change no layout of images. */
static void test_permutes_of_users(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = image_input(graph, "x", 6, 5, 4);
    weft_tensor *const permuted = weft_permute(x, 0, 3, 1, 2);
    weft_tensor *const heads = weft_permute(x, 0, 2, 1, 3);
    assert_int_equal(wi_memory_order_of(permuted).rank, 0);
    assert_ptr_equal(weft_tanh(permuted)->inputs[0], permuted);
    assert_ptr_equal(weft_tanh(heads)->inputs[0], heads);
    weft_tensor *const outputs[] = {weft_tanh(permuted), weft_tanh(heads)};
    weft_plan *plan = plan_of(outputs, 2);
    assert_changes(plan, 0, 0);
    assert_int_equal(info_of(plan).steps, 2);
    weft_plan_release(plan);
    weft_tensor *const cancelled[] = {weft_tanh(x), weft_tanh(weft_permute(wi_channels_first(x), 0, 2, 3, 1)),
        weft_tanh(wi_channels_last(permuted))};
    plan = plan_of(cancelled, 3);
    assert_changes(plan, 0, 0);
    assert_int_equal(info_of(plan).steps, 1);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Exporters write the norm of groups of channels as the instance norm of a reshaped image. It stays channels-last, as the group norm,
 * and has its numbers. */
static void test_groups_of_reshape(void **state) {
    (void)state;
    enum { CHANNELS = 2 * C, GROUPS = 2, SIZE = BATCH * CHANNELS * H * W };
    static float values[SIZE], got[4][SIZE];
    weft_graph *const graph = test_graph();
    weft_tensor *const lying = image_input(graph, "x", H, W, CHANNELS), *const x = weft_channels_first(lying);
    weft_tensor *const weight = weft_parameter(graph, "weight", weft_fill(0.5f), GROUPS);
    weft_tensor *const whole = weft_reshape(x, WEFT_BATCH, GROUPS, CHANNELS / GROUPS * H * W);
    weft_tensor *const norms[] = {
        weft_reshape(weft_instance_norm_with(whole, weight, NULL, NULL, 1e-5f), WEFT_BATCH, CHANNELS, H, W),
        weft_mul_number(weft_group_norm_with(x, GROUPS, NULL, NULL, 1e-5f), 0.5)};
    for (int i = 0; i < SIZE; i++) values[i] = (float)(i * 5 % 23) / 7 - 1;
    for (int i = 0; i < 2; i++) {
        weft_tensor *const loss = weft_mean_axes(weft_square(weft_tanh(norms[i])), NULL, false);
        weft_tensor *const outputs[] = {weft_channels_last(norms[i]), weft_gradient(loss, lying)};
        weft_plan *const plan = plan_of(outputs, 2);
        assert_changes(plan, 0, 0);
        assert_weft_ok(weft_plan_write(plan, lying, values, sizeof values));
        assert_weft_ok(weft_plan_run(plan));
        for (int k = 0; k < 2; k++)
            assert_weft_ok(weft_plan_read(plan, outputs[k], got[2 * i + k], sizeof got[0]));
        weft_plan_release(plan);
    }
    for (int i = 0; i < SIZE; i++) {
        assert_float_equal(got[0][i], got[2][i], 1e-6);
        assert_float_equal(got[1][i], got[3][i], 1e-6);
    }
    weft_graph_release(graph);
}

/* Channels that a user shuffles, by reshapes and a permute, stay the last in memory, forward and backward: each way is one copy. */
static void test_shuffle_stays_last(void **state) {
    (void)state;
    enum { GROUPS = 2, CHANNELS = GROUPS * C, SIZE = BATCH * CHANNELS * H * W };
    static float values[SIZE], got[2][SIZE];
    weft_graph *const graph = test_graph();
    weft_tensor *const lying = image_input(graph, "x", H, W, CHANNELS), *const x = weft_channels_first(lying);
    weft_tensor *const apart = weft_permute(weft_reshape(x, WEFT_BATCH, GROUPS, C, H, W), 0, 2, 1, 3, 4);
    weft_tensor *const y = weft_channels_last(weft_reshape(apart, WEFT_BATCH, CHANNELS, H, W));
    weft_tensor *const loss = weft_sum(weft_mul(y, weft_stop_gradient(y)));
    weft_tensor *const outputs[] = {y, weft_gradient(loss, lying)};
    weft_plan *const plan = plan_of(outputs, 2);
    assert_int_equal(info_of(plan).conversions, 2);
    for (int i = 0; i < SIZE; i++) values[i] = (float)i;
    assert_weft_ok(weft_plan_write(plan, lying, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    for (int k = 0; k < 2; k++) assert_weft_ok(weft_plan_read(plan, outputs[k], got[k], sizeof got[k]));
    for (int i = 0; i < SIZE; i++) {
        const int channel = i % CHANNELS, from = channel % GROUPS * C + channel / GROUPS;
        assert_true(got[0][i] == values[i - channel + from]);
        assert_true(got[1][i] == values[i]);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tower_moves_nothing),
        cmocka_unit_test(test_edges), cmocka_unit_test(test_conversion_is_named),
        cmocka_unit_test(test_join_copies_nothing), cmocka_unit_test(test_convolution_converts_once),
        cmocka_unit_test(test_permutes_of_users), cmocka_unit_test(test_groups_of_reshape),
        cmocka_unit_test(test_shuffle_stays_last)};
    return test_finish(cmocka_run_group_tests_name("layout_conversions", tests, NULL, NULL));
}
