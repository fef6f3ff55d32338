/* WEFT_ZERO is the number 0 in fields of options in which 0 means a default. */
#include "support/fixture.h"

#include <math.h>
#include <weft/weft.h>

enum { ROWS = 2, WIDTH = 4, COUNT = ROWS * WIDTH };
static const float small[COUNT] = {1e-3f, 2e-3f, 3e-3f, 5e-3f, -1e-3f, 4e-3f, 2e-3f, 1e-3f};

static weft_tensor *make_x(weft_graph *graph) {
    return weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, WIDTH});
}

static void compute(weft_tensor *y, weft_tensor *x, float *values) {
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_status(weft_tensor_graph(x)));
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    assert_weft_ok(weft_plan_step(plan, (weft_value[]){{x, (void *)small, sizeof small}}, 1));
    assert_weft_ok(weft_plan_read(plan, y, values, COUNT * sizeof *values));
    weft_plan_release(plan);
}

static void moments(int first, int stride, int count, double *mean, double *variance) {
    *mean = *variance = 0;
    for (int i = 0; i < count; i++) *mean += (double)small[first + i * stride] / count;
    for (int i = 0; i < count; i++) {
        const double apart = (double)small[first + i * stride] - *mean;
        *variance += apart * apart / count;
    }
}

static weft_tensor *layer_norm_of(weft_tensor *x, float epsilon) {
    return weft_layer_norm_layer(x, WEFT_WITH(norm, .epsilon = epsilon));
}
static weft_tensor *rms_norm_of(weft_tensor *x, float epsilon) {
    return weft_rms_norm_layer(x, WEFT_WITH(norm, .epsilon = epsilon));
}
static weft_tensor *group_norm_of(weft_tensor *x, float epsilon) {
    return weft_group_norm_layer(x, 1, WEFT_WITH(norm, .epsilon = epsilon));
}
static weft_tensor *batch_norm_of(weft_tensor *x, float epsilon) {
    return weft_batch_norm_layer(x, WEFT_WITH(batch_norm, .epsilon = epsilon));
}
static weft_tensor *instance_norm_of(weft_tensor *x, float epsilon) {
    x = weft_reshape(x, 1, ROWS, WIDTH);
    return weft_reshape(
        weft_instance_norm_layer(x, WEFT_WITH(instance_norm, .epsilon = epsilon)), ROWS, WIDTH);
}

/* Variances of 1e-6 are below the default, 1e-5. */
static void epsilon_may_be_zero(void **state) {
    static const struct {
        const char *name;
        weft_tensor *(*norm)(weft_tensor *x, float epsilon);
        float otherwise;
        bool by_columns, of_squares;
    } rows[] = {
        {"layer norm", layer_norm_of, 1e-5f, false, false},
        {"rms norm", rms_norm_of, 0x1p-23f, false, true},
        {"group norm", group_norm_of, 1e-5f, false, false},
        {"instance norm", instance_norm_of, 1e-5f, false, false},
        {"batch norm", batch_norm_of, 1e-5f, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int zero = 0; zero < 2; zero++) {
            weft_graph *const graph = test_graph();
            weft_tensor *const x = make_x(graph);
            float got[COUNT];
            compute(rows[i].norm(x, zero ? (float)WEFT_ZERO : 0), x, got);
            for (int k = 0; k < COUNT; k++) {
                double mean, variance;
                moments(rows[i].by_columns ? k % WIDTH : k / WIDTH * WIDTH, rows[i].by_columns ? WIDTH : 1,
                    rows[i].by_columns ? ROWS : WIDTH, &mean, &variance);
                if (rows[i].of_squares) variance += mean * mean, mean = 0;
                const double wanted =
                    ((double)small[k] - mean) / sqrt(variance + (zero ? 0 : (double)rows[i].otherwise));
                if (!(fabs((double)got[k] - wanted) <= 1e-4))
                    fail_msg("%s, zero %d: element %d is %g instead of %g", rows[i].name, zero, k,
                        (double)got[k], wanted);
            }
            weft_graph_release(graph);
        }
}

static void momentum_may_be_zero(void **state) {
    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = make_x(graph);
        float got[COUNT], var[WIDTH];
        compute(
            weft_batch_norm_layer(x, WEFT_WITH(batch_norm, .momentum = zero ? (float)WEFT_ZERO : 0)), x, got);
        assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "batchnorm1.running_var"), var, sizeof var));
        for (int i = 0; i < WIDTH; i++) assert_true(zero ? var[i] == 1 : var[i] < 0.95f);
        weft_graph_release(graph);
    }
    weft_graph *const graph = test_graph();
    assert_null(weft_batch_norm_layer(
        make_x(graph), WEFT_WITH(batch_norm, .momentum = WEFT_ZERO, .cumulative = true)));
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_graph_status(graph), "momentum is 0, but the running mean is cumulative");
    weft_graph_release(graph);
}

static void a_scale_may_be_zero(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = make_x(graph);
    float got[COUNT];
    (void)state;
    compute(weft_attention(weft_mul_number(x, 1e3), x, x, WEFT_WITH(attention, .scale = WEFT_ZERO)), x, got);
    for (int k = 0; k < COUNT; k++) {
        const double wanted = ((double)small[k % WIDTH] + (double)small[k % WIDTH + WIDTH]) / 2;
        assert_true(fabs((double)got[k] - wanted) <= 1e-8);
    }
    weft_graph_release(graph);
}

/* The loss is the same in each epoch: none but the first is an improvement. */
static void epochs_and_patience_may_be_zero(void **state) {
    static const struct {
        size_t epochs, patience, wanted;
    } rows[] = {{0, 0, 1}, {WEFT_ZERO, 0, 0}, {5, 0, 5}, {5, 2, 3}, {5, 1, 2}, {5, WEFT_ZERO, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH);
        weft_tensor *const p = weft_parameter(graph, "p", weft_fill(1), WIDTH);
        weft_dataset *dataset = NULL;
        weft_trainer *trainer = NULL;
        weft_training_info info;
        const weft_column column = {
            .name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = small};
        const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0),
            .epochs = rows[i].epochs, .batch = ROWS,
            .early_stopping = {.monitor = "loss", .patience = rows[i].patience, .restore_best = true}};
        assert_weft_ok(weft_dataset_from_memory(&dataset, test_context(), ROWS, &column, 1));
        assert_weft_ok(weft_trainer_create(&trainer, weft_mean(weft_square(weft_mul(x, p))), &options));
        assert_weft_ok(weft_trainer_run(trainer, dataset));
        weft_trainer_get_info(trainer, &info);
        if (info.steps != rows[i].wanted) fail_msg("row %zu: %zu epochs", i, info.steps);
        weft_trainer_release(trainer);
        weft_dataset_release(dataset);
        weft_graph_release(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epsilon_may_be_zero),
        cmocka_unit_test(momentum_may_be_zero),
        cmocka_unit_test(a_scale_may_be_zero),
        cmocka_unit_test(epochs_and_patience_may_be_zero),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
