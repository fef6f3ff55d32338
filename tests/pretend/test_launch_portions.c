/* Launches that are expected to take long are cut, so that a display is not without an answer: as many portions as the estimate
 * asks for, on devices that may have a display, and with the same bits. */
#include "kernels/selection.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include <math.h>
#include <string.h>

enum { BATCH = 8, CHANNELS = 3, SIDE = 12, CLASSES = 10, STEPS = 2, LENGTH = 5, WIDTH = 16 };

static weft_context *open_limited(const char *device, double longest) {
    weft_context *context = NULL;
    assert_true(pretend_layer_choose(device));
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .seed = 3, .longest_launch = longest};
    assert_ok(weft_context_create(&context, &options));
    pretend_layer_begin();
    return context;
}

/* ---- what is computed ---- */

typedef struct outcome {
    float losses[STEPS], first[CHANNELS * 8 * 9], last[CLASSES];
    weft_plan_info info;
    long launches, above;
} outcome;

/* Products, convolutions, their gradients, reductions, pooling, attention, a recurrent layer, an embedding, dropout. */
static weft_tensor *loss_of(weft_tensor *image, weft_tensor *tokens, weft_tensor *label) {
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d(image, 8, 3)));
    h = weft_dropout(weft_linear(weft_flatten(weft_max_pool2d(h, 2)), WIDTH), 0.1f);
    weft_tensor *s = weft_lstm(weft_embedding(tokens, 20, WIDTH), WIDTH, NULL).y;
    s = weft_mean(weft_attention(s, s, s, NULL), 1);
    return weft_cross_entropy(weft_linear(weft_layer_norm(weft_add(h, s)), CLASSES), label);
}

static void write_inputs(weft_plan *plan, weft_tensor *image, weft_tensor *tokens, weft_tensor *label) {
    static float pixels[BATCH * CHANNELS * SIDE * SIDE];
    int32_t words[BATCH * LENGTH], labels[BATCH];
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
        pixels[i] = (float)(i * 2654435761u % 1000u) / 500.0f - 1.0f;
    for (int i = 0; i < BATCH * LENGTH; i++) words[i] = i * 7 % 20;
    for (int i = 0; i < BATCH; i++) labels[i] = i % CLASSES;
    assert_ok(weft_plan_write(plan, image, pixels, sizeof pixels));
    assert_ok(weft_plan_write(plan, tokens, words, sizeof words));
    assert_ok(weft_plan_write(plan, label, labels, sizeof labels));
}

static weft_plan *make_plan(weft_context *context, weft_tensor *outputs[]) {
    weft_graph *const graph = weft_context_graph(context);
    const weft_optimizer adam = weft_adam(1e-3f);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    size_t count = 0;
    weft_plan *plan = NULL;
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, CHANNELS, SIDE, SIDE);
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, LENGTH);
    weft_tensor *const label = weft_input_shape(graph, "label", WEFT_I32, 1, (const int64_t[]){WEFT_BATCH});
    outputs[0] = loss_of(image, tokens, label);
    assert_ok(weft_minimize(outputs[0], &adam, outputs + 1, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, outputs, 1 + count, &options));
    write_inputs(plan, image, tokens, label);
    return plan;
}

/* Each portion is a launch of the profile. */
static void assert_profiled(weft_plan *plan) {
    weft_profile *profile = NULL;
    weft_profile_info info;
    pretend_layer_begin();
    assert_ok(weft_profile_run(&profile, plan));
    assert_ok(weft_profile_get_info(profile, &info));
    assert_int_equal(info.launches, pretend_layer_record().launches + pretend_layer_record().copies);
    weft_profile_release(profile);
}

static outcome train(const char *device, double longest) {
    outcome o = {.launches = 0};
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    weft_context *const context = open_limited(device, longest);
    weft_plan *const plan = make_plan(context, outputs);
    weft_graph *const graph = weft_context_graph(context);
    assert_ok(weft_plan_get_info(plan, &o.info));
    pretend_layer_begin();
    for (int i = 0; i < STEPS; i++) {
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, outputs[0], &o.losses[i], sizeof *o.losses));
    }
    o.launches = pretend_layer_record().launches + pretend_layer_record().copies;
    o.above = pretend_layer_record().above;
    assert_profiled(plan);
    const size_t last = weft_graph_parameter_count(graph) - 1;
    assert_ok(weft_tensor_read(weft_graph_parameter(graph, 0), o.first, sizeof o.first));
    assert_ok(weft_tensor_read(weft_graph_parameter(graph, last), o.last, sizeof o.last));
    weft_plan_release(plan);
    weft_context_release(context);
    return o;
}

/* A limit that everything exceeds cuts all that has several groups; a longer one, some. */
static void portions_compute_the_same_bits(void **state) {
    (void)state;
    const outcome whole = train("groups64", -1.0), cut = train("groups64", 1e-9),
                  some = train("groups64", 8e-6);
    assert_true(isfinite(whole.losses[0]) && whole.losses[1] != whole.losses[0]);
    assert_int_equal(whole.launches, STEPS * (long)whole.info.launches);
    assert_true(cut.launches > 4 * whole.launches);
    assert_true(some.launches > whole.launches && some.launches < cut.launches);
    assert_int_equal(cut.info.launches, whole.info.launches);
    assert_int_equal(cut.above, 0);
    const outcome *const others[] = {&cut, &some};
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(others[i]->losses, whole.losses, sizeof whole.losses);
        assert_memory_equal(others[i]->first, whole.first, sizeof whole.first);
        assert_memory_equal(others[i]->last, whole.last, sizeof whole.last);
    }
}

/* ---- which devices ---- */

enum { LARGE = 8192 };

/* Launches of one product of 1.1e12 operations, of which nothing is computed, and what it should take by the estimate. */
static long count_launches(const char *device, double longest, double *seconds) {
    weft_context *const context = open_limited(device, longest);
    weft_graph *const graph = weft_context_graph(context);
    weft_plan *plan = NULL;
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, LARGE);
    weft_tensor *const w = weft_input_shape(graph, "w", WEFT_F32, 2, (const int64_t[]){LARGE, LARGE});
    weft_tensor *const y = weft_matmul(x, w);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = LARGE};
    float *const numbers = calloc((size_t)LARGE * LARGE, sizeof *numbers); /* nobody reads them */
    assert_non_null(numbers);
    pretend_layer_skip(true);
    assert_ok(weft_plan_create(&plan, &y, 1, &options));
    assert_ok(weft_plan_write(plan, x, numbers, (size_t)LARGE * LARGE * sizeof *numbers));
    assert_ok(weft_plan_write(plan, w, numbers, (size_t)LARGE * LARGE * sizeof *numbers));
    pretend_layer_begin();
    assert_ok(weft_plan_run(plan));
    *seconds = plan->schedule.of[0].seconds;
    const pretend_record record = pretend_layer_record();
    assert_int_equal(record.above, 0);
    weft_plan_release(plan);
    pretend_layer_skip(false);
    free(numbers);
    weft_context_release(context);
    return record.launches;
}

static void slow_devices_with_a_display_are_cut(void **state) {
    double seconds;
    (void)state;
    const long portions = count_launches("slow", 0, &seconds);
    assert_true(seconds > 5.0);
    assert_true((double)portions >= seconds / 0.5 && (double)portions <= 4 * seconds / 0.5);
    assert_int_equal(count_launches("slow", -1, &seconds), 1);
    assert_int_equal(count_launches("slow", 1000, &seconds), 1);
    assert_int_equal(count_launches("H100", 0, &seconds), 1);
    const long asked = count_launches("H100", 0.5, &seconds); /* a unit of it takes less */
    assert_true(seconds > 2.0);
    assert_true((double)asked >= seconds / 0.5);
    assert_int_equal(count_launches("units512", 0, &seconds), 1); /* fast enough */
    assert_true(seconds < 0.5);
}

static void the_environment_says_it_too(void **state) {
    weft_context *context = NULL;
    (void)state;
    setenv("WEFT_LONGEST_LAUNCH", "-1", 1);
    double seconds;
    assert_int_equal(count_launches("slow", 0, &seconds), 1);
    static const char *const wrong[] = {"soon", "1s", "nan"};
    for (int i = 0; i < 3; i++) {
        setenv("WEFT_LONGEST_LAUNCH", wrong[i], 1);
        assert_fails(weft_context_create(&context, NULL), WEFT_ERROR_ARGUMENT, "must be a number");
    }
    unsetenv("WEFT_LONGEST_LAUNCH");
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .longest_launch = (double)NAN};
    assert_fails(weft_context_create(&context, &options), WEFT_ERROR_ARGUMENT, "longest_launch");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portions_compute_the_same_bits),
        cmocka_unit_test(slow_devices_with_a_display_are_cut),
        cmocka_unit_test(the_environment_says_it_too),
    };
    (void)argc;
    setenv("WEFT_BUILD_OPTIONS", "-cl-opt-disable", 0); /* compiling is most of the time */
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
