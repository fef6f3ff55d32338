/* What stands for a size that plans give, WEFT_LENGTH and a dimension of the batch, is refused wherever a number is taken: by
 * every expression, and by every field of the structs that optimizers, schedules, trainers and datasets are made of. */
#include "support/fixture.h"
#include "support/public_calls.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { STAND_INS = 3 };
static double stand_ins[STAND_INS] = {(double)WEFT_LENGTH, 2 * (double)WEFT_LENGTH + 1};

/* The last one: what weft_tensor_dimension gives of a batch that is cut. */
static int with_batch(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const cut = weft_slice(weft_input(graph, "x", WEFT_F32, 4), 0, 1, WEFT_END);
    stand_ins[STAND_INS - 1] = (double)weft_tensor_dimension(cut, 0);
    weft_graph_release(graph);
    return 0;
}

static int wrong;

/* ---- expressions ---- */

typedef struct replaced {
    bool wholes; /* integers are replaced, else floats */
    int at, asked;
    double by;
} replaced;

static bool is_replaced(replaced *r, bool is_whole) {
    return r->wholes == is_whole && r->asked++ == r->at;
}

static int64_t whole(call_source *self, int64_t usual) {
    replaced *const r = self->user;
    return is_replaced(r, true) ? (int64_t)r->by : usual;
}

static double number(call_source *self, double usual) {
    replaced *const r = self->user;
    return is_replaced(r, false) ? r->by : usual;
}

static weft_tensor *tensor(call_source *self, weft_dtype dtype, int rank, const int64_t *dims) {
    return weft_input_shape(self->graph, "x", dtype, rank, dims);
}

/* Returns false when the row has no argument `at`. */
static bool is_refused(const public_call *call, replaced r, bool *refused) {
    weft_graph *const graph = test_graph();
    call_source source = {graph, whole, number, tensor, &r};
    (void)call->make(&source);
    *refused = weft_graph_status(graph) != WEFT_OK;
    weft_graph_release(graph);
    return r.asked > r.at;
}

/* The end of weft_arange is a size: positions go up to the length. */
static bool is_size(const public_call *call, int at) {
    return strcmp(call->name, "arange") == 0 && at == 1;
}

static void expressions_refuse_sizes_as_floats(void **state) {
    (void)state;
    int numbers = 0;
    wrong = 0;
    for (size_t i = 0; i < public_call_count; i++) {
        const public_call *const call = &public_calls[i];
        bool refused, there = true;
        for (int at = 0; there; at++)
            for (int k = 0; k < STAND_INS && there; k++) {
                there = is_refused(call, (replaced){.at = at, .by = stand_ins[k]}, &refused);
                numbers += there && k == 0;
                if (!there || refused || is_size(call, at)) continue;
                print_error("weft_%s: float %d is taken to be %.0f\n", call->name, at, stand_ins[k]);
                wrong++;
            }
    }
    assert_int_equal(wrong, 0);
    assert_true(numbers >= 96);
}

/* ---- fields ---- */

/* Sets the field at an offset of a struct: what a row of a table says of it. */
typedef struct field {
    const char *name;
    size_t at;
    enum { FLOAT, DOUBLE, I32, U32, I64, U64, SIZE } type;
} field;
#define FIELD(of, name, type)                                                                                \
    { #name, offsetof(of, name), type }

static void set(void *options, const field *f, double value) {
    void *const at = (char *)options + f->at;
    switch (f->type) {
    case FLOAT: *(float *)at = (float)value; return;
    case DOUBLE: *(double *)at = value; return;
    case I32: *(int32_t *)at = (int32_t)(int64_t)value; return;
    case U32: *(uint32_t *)at = (uint32_t)(int64_t)value; return;
    case I64: *(int64_t *)at = (int64_t)value; return;
    case U64: *(uint64_t *)at = (uint64_t)value; return;
    case SIZE: *(size_t *)at = (size_t)value; return;
    }
}

static void judge(const char *of, const field *f, double value, weft_status status) {
    if (status == WEFT_ERROR_ARGUMENT && strstr(weft_last_error(), "is a placeholder for a size") &&
        strstr(weft_last_error(), f->name))
        return;
    print_error("%s.%s = %.0f: %s, '%s'\n", of, f->name, value, weft_status_name(status),
        status == WEFT_OK ? "" : weft_last_error());
    wrong++;
}

/* use: gives a status for the struct, all of whose other fields are usual. */
#define WALK(type, usual, use, ...)                                                                          \
    do {                                                                                                     \
        const field list[] = {__VA_ARGS__};                                                                  \
        for (size_t walk_i = 0; walk_i < sizeof list / sizeof *list; walk_i++)                               \
            for (int walk_k = 0; walk_k < STAND_INS; walk_k++) {                                             \
                type options = usual;                                                                        \
                set(&options, &list[walk_i], stand_ins[walk_k]);                                             \
                judge(#type, &list[walk_i], stand_ins[walk_k], use);                                         \
            }                                                                                                \
    } while (0)

static weft_tensor *loss_of(weft_graph *graph) {
    weft_tensor *const p = weft_parameter(graph, "p", weft_zeros(), 4);
    return weft_mean(weft_square(weft_sub(weft_input(graph, "x", WEFT_F32, 4), p)));
}

static weft_status minimized(weft_optimizer rule) {
    weft_graph *const graph = test_graph();
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count;
    const weft_status status = weft_minimize(loss_of(graph), &rule, updates, WEFT_MAX_UPDATES, &count);
    weft_graph_release(graph);
    return status;
}

static weft_status grouped(weft_parameter_group group) {
    weft_optimizer rule = weft_adam(0.1f);
    rule.groups = &group;
    rule.group_count = 1;
    return minimized(rule);
}

static void optimizers_refuse_sizes(void **state) {
    (void)state;
    wrong = 0;
#define OF(name) FIELD(weft_optimizer, name, FLOAT)
    WALK(weft_optimizer, weft_sgd_momentum(0.1f, 0.9f, 0), minimized(options), OF(rate), OF(weight_decay),
        OF(clip_value), OF(clip_norm), FIELD(weft_optimizer, accumulate, U32));
    WALK(weft_optimizer, weft_adam(0.1f), minimized(options), OF(epsilon));
    WALK(weft_optimizer, weft_adagrad(0.1f), minimized(options), OF(rate_decay), OF(first_sum));
    WALK(weft_optimizer, weft_nadam(0.1f), minimized(options), OF(momentum_decay));
#undef OF
#define USUAL_GROUP ((weft_parameter_group){"p", 1, 0})
    WALK(weft_parameter_group, USUAL_GROUP, grouped(options), FIELD(weft_parameter_group, rate_factor, FLOAT),
        FIELD(weft_parameter_group, weight_decay, FLOAT));
    assert_int_equal(wrong, 0);
}

static weft_status rate_of(weft_schedule schedule) {
    float rate;
    return weft_schedule_rate(&schedule, 0.1f, 1, &rate);
}

static weft_status plateau_of(weft_schedule schedule) {
    weft_plateau plateau = {0};
    float rate;
    return weft_plateau_rate(&schedule, &plateau, 0.1f, 1, &rate);
}

static void schedules_refuse_sizes(void **state) {
    (void)state;
    const uint64_t milestones[] = {1, 2};
    float rate;
    wrong = 0;
#define OF(name, type) FIELD(weft_schedule, name, type)
    WALK(weft_schedule, weft_step_schedule(2, 0.5f), rate_of(options), OF(period, U64), OF(factor, FLOAT),
        OF(warmup, U64));
    WALK(weft_schedule, weft_cosine_restarts_schedule(2, 1, 0), rate_of(options), OF(period_factor, U32),
        OF(floor, FLOAT));
    WALK(weft_schedule, weft_one_cycle_schedule(8), rate_of(options), OF(divisor, FLOAT),
        OF(end_divisor, FLOAT));
    WALK(weft_schedule, weft_polynomial_schedule(2, 1), rate_of(options), OF(power, FLOAT));
    WALK(weft_schedule, weft_plateau_schedule(0.5f, 2), plateau_of(options), OF(patience, U64),
        OF(cooldown, U64));
    weft_schedule steps = weft_multi_step_schedule(milestones, 2, 0.5f);
    steps.milestones[1] = (uint64_t)stand_ins[0];
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, rate_of(steps), "schedule: milestone = 2203077050368 is a placeholder");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_schedule_rate(&steps, (float)stand_ins[0], 0, &rate),
        "is a placeholder for a size");
#undef OF
    assert_int_equal(wrong, 0);
}

static weft_status scaled(weft_loss_scaling scaling) {
    weft_graph *const graph = test_graph();
    const weft_status status = weft_graph_set_loss_scaling(graph, &scaling);
    weft_graph_release(graph);
    return status;
}

static weft_status searched(weft_lbfgs_options options) {
    weft_graph *const graph = test_graph();
    weft_lbfgs *made = NULL;
    const weft_status status = weft_lbfgs_create(&made, loss_of(graph), &options);
    weft_lbfgs_release(made);
    weft_graph_release(graph);
    return status;
}

static weft_status trained(weft_trainer_options options) {
    weft_graph *const graph = test_graph();
    weft_trainer *made = NULL;
    const weft_status status = weft_trainer_create(&made, loss_of(graph), &options);
    weft_trainer_release(made);
    weft_graph_release(graph);
    return status;
}

static weft_status stopped(weft_early_stopping stopping) {
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .early_stopping = stopping};
    return trained(options);
}

static weft_status saved(weft_checkpoint_every every) {
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .checkpoint_every = every};
    return trained(options);
}

static void training_refuses_sizes(void **state) {
    (void)state;
    wrong = 0;
#define SCALING  ((weft_loss_scaling){WEFT_LOSS_SCALING_INIT})
#define OF(name) FIELD(weft_loss_scaling, name, FLOAT)
    WALK(weft_loss_scaling, SCALING, scaled(options), OF(initial), OF(growth), OF(backoff), OF(least),
        FIELD(weft_loss_scaling, interval, U32));
#undef OF
#define SEARCH         ((weft_lbfgs_options){WEFT_LBFGS_OPTIONS_INIT})
#define OF(name, type) FIELD(weft_lbfgs_options, name, type)
    WALK(weft_lbfgs_options, SEARCH, searched(options), OF(rate, FLOAT), OF(max_iterations, I32),
        OF(max_evaluations, I32), OF(tolerance_grad, DOUBLE), OF(tolerance_change, DOUBLE), OF(history, I32));
#undef OF
#define TRAINING       ((weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT})
#define OF(name, type) FIELD(weft_trainer_options, name, type)
    WALK(weft_trainer_options, TRAINING, trained(options), OF(epochs, SIZE), OF(batch, SIZE),
        OF(loader_threads, SIZE), OF(ignored_label, I32), OF(checkpoint_keep, SIZE));
#undef OF
#define STOPPING ((weft_early_stopping){.monitor = "loss"})
    WALK(weft_early_stopping, STOPPING, stopped(options), FIELD(weft_early_stopping, patience, SIZE),
        FIELD(weft_early_stopping, minimum_change, DOUBLE));
#define EVERY          ((weft_checkpoint_every){0})
#define OF(name, type) FIELD(weft_checkpoint_every, name, type)
    WALK(
        weft_checkpoint_every, EVERY, saved(options), OF(steps, SIZE), OF(epochs, SIZE), OF(seconds, DOUBLE));
#undef OF
    assert_int_equal(wrong, 0);
}

static weft_status measured(weft_metric metric) {
    weft_metric_state *made = NULL;
    const weft_status status = weft_metric_create(&made, NULL, &metric, 4);
    weft_metric_release(made);
    return status;
}

static weft_dataset *rows_of_numbers(void) {
    static const float numbers[4] = {1, 2, 3, 4};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .data = numbers};
    weft_dataset *dataset = NULL;
    assert_weft_ok(weft_dataset_from_memory(&dataset, test_context(), 4, &column, 1));
    return dataset;
}

static weft_status loaded(weft_loader_options options) {
    weft_dataset *const dataset = rows_of_numbers();
    weft_loader *made = NULL;
    const weft_status status = weft_loader_create(&made, dataset, &options);
    weft_loader_release(made);
    weft_dataset_release(dataset);
    return status;
}

static weft_status images_with(weft_image_options options) {
    static const unsigned char pixels[3 * 4];
    const weft_image_block block = {.examples = 1, .channels = 3, .height = 2, .width = 2, .pixels = pixels};
    weft_dataset *made = NULL;
    const weft_status status = weft_dataset_from_images(&made, test_context(), &block, &options);
    weft_dataset_release(made);
    return status;
}

static weft_status cropped(weft_transform transform) {
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform, .transform_count = 1};
    return images_with(options);
}

static weft_status table_with(weft_csv_options options) {
    weft_dataset *made = NULL;
    const weft_status status = weft_dataset_open_csv(&made, test_context(), "no such file", &options);
    weft_dataset_release(made);
    return status;
}

static void data_refuse_sizes(void **state) {
    (void)state;
    wrong = 0;
    WALK(weft_metric, weft_metric_top_k(2), measured(options), FIELD(weft_metric, k, I64),
        FIELD(weft_metric, ignored_label, I32));
#define LOADER   ((weft_loader_options){WEFT_LOADER_OPTIONS_INIT})
#define OF(name) FIELD(weft_loader_options, name, SIZE)
    WALK(weft_loader_options, LOADER, loaded(options), OF(batch), OF(prefetch), OF(threads));
#undef OF
#define IMAGES ((weft_image_options){WEFT_IMAGE_OPTIONS_INIT})
    WALK(weft_image_options, IMAGES, images_with(options),
        {"mean", offsetof(weft_image_options, mean), FLOAT},
        {"deviation", offsetof(weft_image_options, deviation), FLOAT});
    WALK(weft_transform, weft_transform_random_resized_crop(2, 2), cropped(options),
        FIELD(weft_transform, most_ratio, DOUBLE));
#define TABLE ((weft_csv_options){WEFT_CSV_OPTIONS_INIT, .missing = WEFT_MISSING_FILL})
    WALK(weft_csv_options, TABLE, table_with(options), FIELD(weft_csv_options, fill, DOUBLE));
    assert_int_equal(wrong, 0);
}

/* ---- integers of expressions that are no sizes ---- */

static weft_tensor *image;
#define TAKES(name, expression)                                                                              \
    static weft_tensor *name(int64_t n) {                                                                    \
        return expression;                                                                                   \
    }
TAKES(stride_of_pool, weft_max_pool2d(image, 2, .stride = n))
TAKES(padding_of_pool, weft_max_pool2d(image, 2, .padding = n))
TAKES(dilation_of_pool, weft_max_pool2d(image, 2, .dilation = n))
TAKES(divisor_of_pool, weft_avg_pool2d(image, 2, .divisor = n))
TAKES(stride_of_conv, weft_conv2d(image, 4, 3, .stride = n))
TAKES(padding_of_conv, weft_conv2d(image, 4, 3, .padding = n))
TAKES(dilation_of_conv, weft_conv2d(image, 4, 3, .dilation = n))
TAKES(groups_of_conv, weft_conv2d(image, 4, 3, .groups = n))
TAKES(groups_of_norm, weft_group_norm(image, n))
TAKES(factor_nearest, weft_upsample_nearest(image, n))
TAKES(factor_linear, weft_upsample_linear(image, n, false))
TAKES(factor_shuffled, weft_pixel_shuffle(image, n))
TAKES(correction, weft_var_with(image, (int)n, NULL, false))
TAKES(layers, weft_lstm(weft_flatten_axes(image, 2, 3), 3, WEFT_WITH(recurrent, .layers = n)).y)
TAKES(heads, weft_multi_head_attention(image, image, image, n, NULL))
TAKES(drawn_of, weft_categorical(image, 1, n, 1))
TAKES(first_of, weft_topk(image, n, 1, true))
TAKES(channels, weft_local_response_norm(image, n, 1, 1, 1))
TAKES(ignored,
    weft_cross_entropy_loss(weft_flatten(image), weft_input(weft_tensor_graph(image), "label", WEFT_I32),
        WEFT_WITH(class_loss, .ignore = true, .ignored_label = (int32_t)n)))

static void integers_refuse_sizes(void **state) {
    (void)state;
    weft_tensor *(*const calls[])(int64_t) = {stride_of_pool, padding_of_pool, dilation_of_pool,
        divisor_of_pool, stride_of_conv, padding_of_conv, dilation_of_conv, groups_of_conv, groups_of_norm,
        factor_nearest, factor_linear, factor_shuffled, correction, layers, heads, drawn_of, first_of,
        channels, ignored};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int k = 0; k < STAND_INS; k++) {
            weft_graph *const graph = test_graph();
            image = weft_input(graph, "x", WEFT_F32, 4, 6, 6);
            if (calls[i]((int64_t)stand_ins[k])) print_error("call %zu takes %.0f\n", i, stand_ins[k]);
            assert_int_not_equal(weft_graph_status(graph), WEFT_OK);
            weft_graph_release(graph);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(expressions_refuse_sizes_as_floats),
        cmocka_unit_test(optimizers_refuse_sizes), cmocka_unit_test(schedules_refuse_sizes),
        cmocka_unit_test(training_refuses_sizes), cmocka_unit_test(data_refuse_sizes),
        cmocka_unit_test(integers_refuse_sizes)};
    return test_finish(cmocka_run_group_tests(tests, with_batch, NULL));
}
