/* Layers of norms: what they are in training, validation, files and best weights, and bad input. */
#include "cl/context.h"
#include "support/fixture.h"

#include <math.h>
#include <string.h>

/* ---- in training, files, best weights ---- */

enum { EXAMPLES = 8, CHANNELS = 3, SPACE = 4 };

typedef struct course {
    weft_graph *graph;
    weft_tensor *x, *y, *loss;
    weft_dataset *data;
    float values[EXAMPLES * CHANNELS * SPACE];
    float noted; /* a running mean */
} course;

/* loss = mean((norm(x) - 1)²); examples around 3. */
static course make_course(const weft_batch_norm_options *options) {
    course it = {.graph = test_graph()};
    test_random random = test_random_named("course", 0);
    for (int i = 0; i < EXAMPLES * CHANNELS * SPACE; i++)
        it.values[i] = (float)test_random_between(&random, 2, 4);
    const weft_column column = {
        .name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {CHANNELS, SPACE}, .data = it.values};
    assert_weft_ok(weft_dataset_from_memory(&it.data, test_context(), EXAMPLES, &column, 1));
    it.x = weft_input(it.graph, "x", WEFT_F32, CHANNELS, SPACE);
    it.y = weft_batch_norm_layer(it.x, options);
    it.loss = weft_mean(weft_square(weft_sub_number(it.y, 1)));
    assert_weft_ok(weft_graph_status(it.graph));
    return it;
}

static void end_course(course *it) {
    weft_dataset_release(it->data);
    weft_graph_release(it->graph);
}

typedef struct running {
    float mean[CHANNELS], var[CHANNELS];
} running;

static running running_of(weft_graph *graph) {
    running r;
    assert_weft_ok(
        weft_tensor_read(weft_graph_find(graph, "batchnorm1.running_mean"), r.mean, sizeof r.mean));
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "batchnorm1.running_var"), r.var, sizeof r.var));
    return r;
}

static void predict(course *it, float *y, size_t batch) {
    const weft_column column = {
        .name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {CHANNELS, SPACE}, .data = it->values};
    assert_weft_ok(weft_predict(it->y, batch, &column, 1, y, batch * CHANNELS * SPACE * sizeof(float)));
}

/* A trainer moves the statistics in every step, not in validation; what it predicts follows from them. */
static void trainer_moves_them(void **state) {
    (void)state;
    course it = make_course(NULL);
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = 3, .batch = EXAMPLES,
        .optimizer = weft_sgd(0.1f), .validation = it.data};
    assert_weft_ok(weft_trainer_create(&trainer, it.loss, &options));
    assert_weft_ok(weft_trainer_run(trainer, it.data));
    const running after = running_of(it.graph);
    for (int c = 0; c < CHANNELS; c++) {
        double mean = 0;
        for (int n = 0; n < EXAMPLES; n++)
            for (int k = 0; k < SPACE; k++)
                mean += (double)it.values[(n * CHANNELS + c) * SPACE + k] / (EXAMPLES * SPACE);
        assert_true(fabs((double)after.mean[c] - mean * (1 - 0.9 * 0.9 * 0.9)) < 1e-5);
    }
    double loss;
    assert_weft_ok(weft_trainer_evaluate(trainer, it.data, &loss, NULL));
    float one[CHANNELS * SPACE], weight[CHANNELS], bias[CHANNELS];
    predict(&it, one, 1); /* one example is enough in inference */
    assert_weft_ok(weft_tensor_read(weft_graph_find(it.graph, "batchnorm1.weight"), weight, sizeof weight));
    assert_weft_ok(weft_tensor_read(weft_graph_find(it.graph, "batchnorm1.bias"), bias, sizeof bias));
    for (int i = 0; i < CHANNELS * SPACE; i++) {
        const int c = i / SPACE;
        const double near = (double)it.values[i] - (double)after.mean[c];
        const double wanted = near / sqrt((double)after.var[c] + 1e-5) * (double)weight[c] + (double)bias[c];
        assert_true(fabs((double)one[i] - wanted) < 1e-5 * fmax(1, fabs(wanted)));
    }
    const running still = running_of(it.graph);
    assert_memory_equal(&after, &still, sizeof after);
    weft_trainer_release(trainer);
    end_course(&it);
}

static bool note_running(void *user, const weft_epoch *epoch) {
    course *const it = user;
    if (epoch->epoch == 0) it->noted = running_of(it->graph).mean[0];
    return true;
}

/* A rate of 1e6 makes every later epoch worse, so that the first one is the best. */
static void best_weights_have_them(void **state) {
    (void)state;
    course it = make_course(NULL);
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = 3, .batch = EXAMPLES,
        .optimizer = weft_sgd(1e6f), .on_epoch = note_running, .user = &it,
        .not_finite = WEFT_NOT_FINITE_CONTINUE,
        .early_stopping = {.monitor = "loss", .restore_best = true, .patience = 9}};
    assert_weft_ok(weft_trainer_create(&trainer, it.loss, &options));
    assert_weft_ok(weft_trainer_run(trainer, it.data));
    assert_true(running_of(it.graph).mean[0] == it.noted);
    weft_trainer_release(trainer);
    end_course(&it);
}

static void files_have_them(void **state) {
    (void)state;
    const running wanted = {{1, 2, 3}, {4, 5, 6}}, other = {{0}, {0}};
    course it = make_course(NULL);
    const char *const path = test_path("norm.safetensors");
    weft_tensor *const mean = weft_graph_find(it.graph, "batchnorm1.running_mean"),
                       *const var = weft_graph_find(it.graph, "batchnorm1.running_var");
    assert_weft_ok(weft_tensor_write(mean, wanted.mean, sizeof wanted.mean));
    assert_weft_ok(weft_tensor_write(var, wanted.var, sizeof wanted.var));
    assert_weft_ok(weft_weights_save(it.graph, path));
    assert_weft_ok(weft_tensor_write(mean, other.mean, sizeof other.mean));
    assert_weft_ok(weft_tensor_write(var, other.var, sizeof other.var));
    assert_weft_ok(weft_weights_load(it.graph, path, NULL));
    const running got = running_of(it.graph);
    assert_memory_equal(&got, &wanted, sizeof got);
    end_course(&it);
}

/* Fixed statistics: training is as inference, and nothing moves. */
static void fixed_stay(void **state) {
    (void)state;
    course it = make_course(&(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, .fixed = true});
    const running before = {{2, 3, 4}, {1, 4, 9}};
    assert_weft_ok(weft_tensor_write(
        weft_graph_find(it.graph, "batchnorm1.running_mean"), before.mean, sizeof before.mean));
    assert_weft_ok(weft_tensor_write(
        weft_graph_find(it.graph, "batchnorm1.running_var"), before.var, sizeof before.var));
    weft_plan *plan = NULL;
    float trained[EXAMPLES * CHANNELS * SPACE], predicted[EXAMPLES * CHANNELS * SPACE];
    assert_weft_ok(
        weft_plan_create(&plan, &it.y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = EXAMPLES}));
    assert_weft_ok(weft_plan_write(plan, it.x, it.values, sizeof it.values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, it.y, trained, sizeof trained));
    predict(&it, predicted, EXAMPLES);
    assert_memory_equal(trained, predicted, sizeof trained);
    assert_true(fabs((double)trained[SPACE] - ((double)it.values[SPACE] - 3) / sqrt(4 + 1e-5)) < 1e-5);
    const running after = running_of(it.graph);
    assert_memory_equal(&before, &after, sizeof after);
    weft_plan_release(plan);
    end_course(&it);
}

/* A convolution's statistics in inference are a scale and an addition an element where its results are
 * stored: no step of their own passes over the image. */
static void folded_into_convolutions(void **state) {
    (void)state;
    enum { FILTERS = 17, SIDE = 5, TAPS = 3, IMAGE = 3 * SIDE * SIDE };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3, SIDE, SIDE);
    const weft_conv_layer_options same = {WEFT_CONV_LAYER_OPTIONS_INIT, .no_bias = true,
        .conv = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_SAME}};
    weft_tensor *const made = weft_conv_layer(x, FILTERS, (const int64_t[]){TAPS, TAPS}, &same);
    weft_tensor *const y = weft_relu(weft_batch_norm(made));
    float image[IMAGE], plain[FILTERS * SIDE * SIDE], folded[FILTERS * SIDE * SIDE], values[4][FILTERS];
    static const char *const names[] = {
        "batchnorm1.running_mean", "batchnorm1.running_var", "batchnorm1.weight", "batchnorm1.bias"};
    test_random random = test_random_named("folded_into_convolutions", 0);
    for (int i = 0; i < IMAGE; i++) image[i] = (float)test_random_between(&random, -1, 1);
    for (int v = 0; v < 4; v++) {
        for (int c = 0; c < FILTERS; c++) values[v][c] = (float)test_random_between(&random, 0.25, 1);
        assert_weft_ok(weft_tensor_write(weft_graph_find(graph, names[v]), values[v], sizeof values[v]));
    }
    const weft_plan_options inference = {WEFT_PLAN_OPTIONS_INIT, .batch = 1, .inference = true};
    weft_plan *plans[2];
    weft_tensor *const outputs[] = {made, y};
    float *const results[] = {plain, folded};
    for (int i = 0; i < 2; i++) {
        assert_weft_ok(weft_plan_create(&plans[i], &outputs[i], 1, &inference));
        assert_weft_ok(weft_plan_write(plans[i], x, image, sizeof image));
        assert_weft_ok(weft_plan_run(plans[i]));
        assert_weft_ok(weft_plan_read(plans[i], outputs[i], results[i], sizeof plain));
    }
    weft_plan_info without, with;
    assert_weft_ok(weft_plan_get_info(plans[0], &without));
    assert_weft_ok(weft_plan_get_info(plans[1], &with));
    /* At most the channels' scale and addition, where the device does not compute them for every element. */
    assert_in_range(with.steps, without.steps, without.steps + 1);
    char text[8000];
    assert_weft_ok(weft_plan_describe(plans[1], WEFT_FORMAT_TEXT, text, sizeof text, NULL));
    assert_non_null(strstr(text, "conv+mul+add+relu"));
    for (int c = 0; c < FILTERS; c++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int at = c * SIDE * SIDE + i;
            const double normal =
                ((double)plain[at] - (double)values[0][c]) / sqrt((double)values[1][c] + 1e-5);
            const double wanted = fmax(normal * (double)values[2][c] + (double)values[3][c], 0);
            assert_true(fabs(wanted - (double)folded[at]) <= 4e-6);
        }
    }
    for (int i = 0; i < 2; i++) weft_plan_release(plans[i]);
    weft_graph_release(graph);
}

/* ---- names, and what all layers begin as ---- */

static void names(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 6, 5);
    const weft_batch_norm_options plain = {WEFT_BATCH_NORM_OPTIONS_INIT, .no_affine = true};
    x = weft_batch_norm_layer(weft_batch_norm(x), &plain);
    x = weft_batch_norm(x);
    x = weft_rms_norm(weft_layer_norm(weft_group_norm(x, 3)));
    x = weft_layer_norm_layer(x, &(weft_norm_options){WEFT_NORM_OPTIONS_INIT, .axes = 2, .no_bias = true});
    x = weft_instance_norm(x);
    assert_weft_ok(weft_graph_status(graph));
    static const char *const wanted[] = {"batchnorm1.weight", "batchnorm1.bias", "batchnorm3.weight",
        "batchnorm3.bias", "groupnorm1.weight", "groupnorm1.bias", "layernorm1.weight", "layernorm1.bias",
        "rmsnorm1.weight", "layernorm2.weight"};
    assert_int_equal(weft_graph_parameter_count(graph), sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), wanted[i]);
    assert_int_equal(weft_graph_state_count(graph), 6);
    assert_string_equal(weft_tensor_name(weft_graph_state(graph, 3)), "batchnorm2.running_var");
    assert_int_equal(weft_tensor_rank(weft_graph_find(graph, "layernorm2.weight")), 2);
    float values[6];
    for (int i = 0; i < 2; i++) {
        assert_weft_ok(weft_tensor_read(weft_graph_parameter(graph, (size_t)i), values, sizeof values));
        for (int k = 0; k < 6; k++) assert_true(values[k] == (i ? 0 : 1));
        assert_weft_ok(weft_tensor_read(weft_graph_state(graph, (size_t)i), values, sizeof values));
        for (int k = 0; k < 6; k++) assert_true(values[k] == (i ? 1 : 0));
    }
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static void one_value_a_channel(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const y = weft_batch_norm(weft_input(graph, "x", WEFT_F32, 3, 1, 1));
    weft_plan *plan = NULL;
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_plan_create(&plan, &y, 1, NULL), "batch_norm",
        "one value per channel", "in training");
    assert_weft_ok(
        weft_plan_create(&plan, &y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The statistics of f64 examples are f64. */
static void statistics_of_f64(void **state) {
    (void)state;
    if (!wi_context_device(test_context())->caps.fp64) {
        print_message("SKIPPED: the device has no f64\n");
        return;
    }
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F64, 1);
    weft_tensor *const y = weft_batch_norm(x);
    const double values[2] = {1e10 + 1, 1e10 + 3}; /* f32 has multiples of 1024 here */
    double mean = 0, var = 0, got[2];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "batchnorm1.running_mean"), &mean, sizeof mean));
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "batchnorm1.running_var"), &var, sizeof var));
    const double scaled = 1 / sqrt(1 + 1e-5);
    assert_true(fabs(got[0] + scaled) < 1e-9 && fabs(got[1] - scaled) < 1e-9);
    assert_true(fabs(mean - (double)0.1f * (1e10 + 2)) < 1e-3);
    assert_true(fabs(var - (1 - (double)0.1f + (double)0.1f * 2)) < 1e-9);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

enum { PASSES = 2, ROWS_OF_PASS = 4 };

/* One norm, two batches in a plan: as PyTorch's layer that is called twice, in the order of the calls, whatever the
 * order of the outputs. */
static void follow_shared(bool cumulative, bool backwards) {
    const int64_t width = 3;
    weft_graph *const graph = test_graph();
    weft_running shared = {.mean = weft_state_shape(graph, "m", WEFT_F32, weft_zeros(), 1, &width),
        .var = weft_state_shape(graph, "v", WEFT_F32, weft_fill(1), 1, &width),
        .momentum = 0.1f};
    if (cumulative) shared.batches = weft_state_shape(graph, "n", WEFT_I32, weft_zeros(), 0, NULL);
    weft_tensor *x[PASSES], *y[PASSES];
    float values[PASSES][ROWS_OF_PASS][3], mean[3], var[3];
    double wanted_mean[3] = {0}, wanted_var[3] = {1, 1, 1};
    for (int i = 0; i < PASSES; i++) {
        x[i] = weft_input(graph, i ? "x1" : "x0", WEFT_F32, width);
        y[i] = weft_batch_norm_with(x[i], NULL, NULL, &shared, 1e-5f);
    }
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS_OF_PASS};
    weft_tensor *const outputs[] = {y[backwards], y[!backwards]};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, PASSES, &options));
    for (int i = 0; i < PASSES; i++) {
        for (int k = 0; k < ROWS_OF_PASS * 3; k++)
            values[i][k / 3][k % 3] = (float)((k * 5 + i * 7) % 11 - 4 * i);
        assert_weft_ok(weft_plan_write(plan, x[i], values[i], sizeof values[i]));
    }
    for (int run = 0; run < 2; run++) {
        assert_weft_ok(weft_plan_run(plan));
        for (int i = 0; i < PASSES; i++) {
            const double momentum = cumulative ? 1.0 / (run * PASSES + i + 1) : 0.1;
            for (int c = 0; c < 3; c++) {
                double sum = 0, square = 0;
                for (int k = 0; k < ROWS_OF_PASS; k++) sum += (double)values[i][k][c];
                for (int k = 0; k < ROWS_OF_PASS; k++)
                    square += pow((double)values[i][k][c] - sum / ROWS_OF_PASS, 2);
                wanted_mean[c] += momentum * (sum / ROWS_OF_PASS - wanted_mean[c]);
                wanted_var[c] += momentum * (square / (ROWS_OF_PASS - 1) - wanted_var[c]);
            }
        }
    }
    assert_weft_ok(weft_tensor_read(shared.mean, mean, sizeof mean));
    assert_weft_ok(weft_tensor_read(shared.var, var, sizeof var));
    for (int c = 0; c < 3; c++) {
        assert_true(fabs((double)mean[c] - wanted_mean[c]) < 1e-5);
        assert_true(fabs((double)var[c] - wanted_var[c]) < 1e-4);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void shared_statistics(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) follow_shared(way & 1, way & 2);
}

#define BATCH(...)                                                                                           \
    weft_batch_norm_layer(x, &(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, __VA_ARGS__})
#define INSTANCE(...)                                                                                        \
    weft_instance_norm_layer(x, &(weft_instance_norm_options){WEFT_INSTANCE_NORM_OPTIONS_INIT, __VA_ARGS__})
#define NORM(...)                                                                                            \
    &(weft_norm_options) {                                                                                   \
        WEFT_NORM_OPTIONS_INIT, __VA_ARGS__                                                                  \
    }
/* ROW(name, expression over x (batch, 6, 5), status, texts of the line...): each is a test. */
#define BAD(ROW)                                                                                             \
    ROW(batch_size, weft_batch_norm_layer(x, &(weft_batch_norm_options){.struct_size = 1}), ARGUMENT,        \
        "weft_batch_norm", "struct_size 1")                                                                  \
    ROW(instance_size, weft_instance_norm_layer(x, &(weft_instance_norm_options){.struct_size = 1}),         \
        ARGUMENT, "weft_instance_norm", "struct_size 1")                                                     \
    ROW(layer_size, weft_layer_norm_layer(x, &(weft_norm_options){.struct_size = 1}), ARGUMENT,              \
        "weft_layer_norm", "struct_size 1")                                                                  \
    ROW(momentum, BATCH(.momentum = 2), ARGUMENT, "weft_batch_norm", "momentum is 2")                        \
    ROW(two_momenta, BATCH(.momentum = 0.5f, .cumulative = true), ARGUMENT, "momentum is 0.5", "cumulative") \
    ROW(idle_momentum, INSTANCE(.momentum = 0.5f), ARGUMENT, "weft_instance_norm", "no running")             \
    ROW(idle_count, INSTANCE(.cumulative = true), ARGUMENT, "weft_instance_norm", "no running")              \
    ROW(idle_fixed, BATCH(.no_running = true, .fixed = true), ARGUMENT, "weft_batch_norm", "no running")     \
    ROW(epsilon, BATCH(.epsilon = -1), ARGUMENT, "batch_norm", "epsilon is -1")                              \
    ROW(channels, weft_batch_norm(weft_permute(x, 1, 0, 2)), SHAPE, "weft_batch_norm", "channels")           \
    ROW(groups, weft_group_norm(x, 5), ARGUMENT, "group_norm", "5 groups", "6 channels")                     \
    ROW(group_axes, weft_group_norm_layer(x, 2, NORM(.axes = 1)), ARGUMENT, "weft_group_norm", "axes")       \
    ROW(axes, weft_layer_norm_layer(x, NORM(.axes = 4)), SHAPE, "weft_layer_norm", "last 4 axes")            \
    ROW(batch_axis, weft_rms_norm_layer(x, NORM(.axes = 3)), SHAPE, "weft_rms_norm", "batch")                \
    ROW(rms_bias, weft_rms_norm_layer(x, NORM(.no_bias = true)), ARGUMENT, "weft_rms_norm", "no_bias")

#define BAD_TEST(name, expression, status, ...)                                                              \
    static void bad_##name(void **state) {                                                                   \
        (void)state;                                                                                         \
        weft_graph *const graph = test_graph();                                                              \
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 6, 5);                                       \
        assert_null(expression);                                                                             \
        assert_weft_fails(WEFT_ERROR_##status, weft_graph_status(graph), __VA_ARGS__);                       \
        weft_graph_release(graph);                                                                           \
    }
BAD(BAD_TEST)
#define BAD_ENTRY(name, ...) cmocka_unit_test(bad_##name),

/* ---- frozen statistics ---- */

typedef struct frozen_case {
    weft_graph *graph;
    weft_tensor *x, *y, *gradient;
} frozen_case;

enum { FROZEN_NUMBERS = 6 * 3 };

static void run_frozen(
    const frozen_case *c, bool inference, float y[FROZEN_NUMBERS], float g[FROZEN_NUMBERS]) {
    float numbers[FROZEN_NUMBERS];
    weft_plan *plan = NULL;
    for (int i = 0; i < FROZEN_NUMBERS; i++) numbers[i] = (float)(i * i % 7);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 6, .inference = inference};
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){c->y, c->gradient}, 2, &options));
    assert_weft_ok(weft_plan_write(plan, c->x, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, c->y, y, sizeof numbers));
    assert_weft_ok(weft_plan_read(plan, c->gradient, g, sizeof numbers));
    weft_plan_release(plan);
}

static void read_running_mean(weft_graph *graph, float mean[3]) {
    assert_weft_ok(
        weft_tensor_read(weft_graph_find(graph, "batchnorm1.running_mean"), mean, 3 * sizeof *mean));
}

/* Training and inference are one form while the statistics are frozen, forward and backward, and move again afterwards. */
static void frozen_statistics_stay(void **state) {
    (void)state;
    frozen_case c = {.graph = test_graph()};
    float y[4][FROZEN_NUMBERS], g[4][FROZEN_NUMBERS], mean[3][3];
    c.x = weft_input(c.graph, "x", WEFT_F32, 3);
    c.y = weft_batch_norm(c.x);
    c.gradient = weft_gradient(weft_sum(weft_mul(weft_square(c.y), c.x)), c.x);
    run_frozen(&c, false, y[0], g[0]); /* moves them once */
    read_running_mean(c.graph, mean[0]);
    run_frozen(&c, true, y[1], g[1]);
    assert_weft_ok(weft_freeze(c.graph, "batchnorm1.*", true));
    run_frozen(&c, false, y[2], g[2]);
    read_running_mean(c.graph, mean[1]);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(y[1], y[2], sizeof y[1]);
    assert_memory_equal(g[1], g[2], sizeof g[1]);
    assert_true(memcmp(y[0], y[2], sizeof y[0]) != 0);
    assert_weft_ok(weft_freeze(c.graph, "*.running_mean", false));
    run_frozen(&c, false, y[3], g[3]);
    read_running_mean(c.graph, mean[2]);
    assert_memory_equal(y[0], y[3], sizeof y[0]);
    assert_memory_equal(g[0], g[3], sizeof g[0]);
    assert_true(memcmp(mean[1], mean[2], sizeof mean[1]) != 0);
    weft_graph_release(c.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trainer_moves_them),
        cmocka_unit_test(best_weights_have_them), cmocka_unit_test(files_have_them),
        cmocka_unit_test(fixed_stay), cmocka_unit_test(folded_into_convolutions), cmocka_unit_test(names),
        cmocka_unit_test(one_value_a_channel), cmocka_unit_test(statistics_of_f64),
        cmocka_unit_test(shared_statistics), cmocka_unit_test(frozen_statistics_stay), BAD(BAD_ENTRY)};
    return test_finish(cmocka_run_group_tests_name("layers of norms", tests, NULL, NULL));
}
