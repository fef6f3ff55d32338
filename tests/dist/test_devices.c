/* A context of several devices: a training divides its batches among them, with the bits of one device; lists of devices, sub-devices,
 * devices of two drivers, and what is refused. A device is opened several times where the machine has only one. */
#include "cl/context.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXAMPLES = 37,
    BATCH = 12,
    SHARDS = 4,
    CHANNELS = 2,
    SIDE = 6,
    PIXELS = CHANNELS * SIDE * SIDE,
    CLASSES = 3,
    IGNORED = -1,
    EPOCHS = 2,
    NUMBERS = 2048
};

typedef struct examples {
    float images[EXAMPLES][PIXELS];
    int32_t labels[EXAMPLES];
} examples;

static const examples *make_examples(void) {
    static examples all;
    test_random random = test_random_named("devices", 1);
    for (size_t i = 0; i < EXAMPLES; i++) {
        for (size_t p = 0; p < PIXELS; p++) all.images[i][p] = (float)test_random_between(&random, -1, 1);
        const bool counts = test_random_below(&random, 4) > 0;
        all.labels[i] = counts ? all.images[i][0] > 0.3f ? 2 : all.images[i][1] > 0 : IGNORED;
    }
    return &all;
}

/* ---- contexts ---- */

static const char *position(void) {
    return weft_context_device(test_context())->selector;
}

/* The test's device `count` times. */
static const char *several(size_t count) {
    static char list[128];
    list[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", position());
    return list;
}

static weft_context *open_devices(const char *list, size_t count) {
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .seed = 3});
    assert_int_equal(context->device_count, count);
    return context;
}

/* ---- trainings ---- */

typedef struct training {
    size_t shards, epochs;
    const char *saves, *resumes; /* folders of checkpoints; NULL: none */
    weft_precision precision;
    bool is_plain; /* no norm of the batch, no dropout, and SGD: rounding errors stay small */
    weft_status (*step)(void *user, weft_step *step);
} training;

typedef struct result {
    weft_status status;
    char line[512];
    float numbers[NUMBERS]; /* all parameters and states, and then losses and metrics */
    size_t count;
} result;

static bool note(void *user, const weft_epoch *state) {
    result *const it = user;
    const double all[] = {state->loss, state->accuracy, state->validation_loss, state->validation_accuracy,
        state->validation_metrics[0]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) it->numbers[it->count++] = (float)all[i];
    return true;
}

static void read_variable(result *it, weft_tensor *variable) {
    size_t count = 1;
    for (int d = 0; d < weft_tensor_rank(variable); d++) count *= (size_t)weft_tensor_dimension(variable, d);
    if (weft_tensor_dtype(variable) != WEFT_F32) return;
    assert_true(it->count + count < NUMBERS);
    assert_ok(weft_tensor_read(variable, it->numbers + it->count, count * sizeof(float)));
    it->count += count;
}

static weft_tensor *network(weft_tensor *x, bool is_plain) {
    x = weft_conv2d(x, 6, 3, .padding = 1);
    if (!is_plain) x = weft_batch_norm(x);
    x = weft_max_pool2d(weft_relu(x), 2);
    if (!is_plain) x = weft_dropout(x, 0.2f);
    return weft_linear(weft_flatten(x), CLASSES);
}

static weft_status run(weft_context *context, weft_graph *graph, const training *how, result *it) {
    const examples *const all = make_examples();
    weft_dataset *data = NULL;
    weft_trainer *trainer = NULL;
    weft_tensor *const logits =
        network(weft_input(graph, "image", WEFT_F32, CHANNELS, SIDE, SIDE), how->is_plain);
    const weft_class_loss_options counted = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = IGNORED};
    weft_tensor *const loss = weft_cross_entropy_loss(logits, weft_input(graph, "label", WEFT_I32), &counted);
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {CHANNELS, SIDE, SIDE}, .data = all->images},
        {.name = "label", .dtype = WEFT_I32, .data = all->labels}};
    const weft_metric metrics[] = {weft_metric_f1(WEFT_AVERAGE_MACRO)};
    weft_optimizer optimizer = how->is_plain ? weft_sgd(0.1f) : weft_adam(1e-2f);
    optimizer.clip_norm = how->is_plain ? 0 : 0.5f;
    weft_status status = weft_dataset_from_memory(&data, context, EXAMPLES, columns, 2);
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer,
        .epochs = how->epochs ? how->epochs : EPOCHS, .batch = BATCH, .gradient_shards = how->shards,
        .logits = logits, .ignore = true, .ignored_label = IGNORED, .validation = data, .metrics = metrics,
        .metric_count = 1, .training_metrics = true, .on_epoch = note, .user = it, .step = how->step,
        .precision = how->precision, .checkpoint = how->saves};
    if (status == WEFT_OK) status = weft_trainer_create(&trainer, loss, &options);
    if (status == WEFT_OK && how->resumes) status = weft_trainer_resume(trainer, how->resumes, NULL);
    if (status == WEFT_OK) status = weft_trainer_run(trainer, data);
    snprintf(it->line, sizeof it->line, "%s", status == WEFT_OK ? "" : weft_last_error());
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    return status;
}

static result train_in(weft_context *context, const training *how) {
    result it = {0};
    weft_graph *graph = NULL;
    it.status = weft_graph_create(&graph, context);
    if (it.status == WEFT_OK) it.status = run(context, graph, how, &it);
    for (size_t i = 0; it.status == WEFT_OK && i < weft_graph_parameter_count(graph); i++)
        read_variable(&it, weft_graph_parameter(graph, i));
    for (size_t i = 0; it.status == WEFT_OK && i < weft_graph_state_count(graph); i++)
        read_variable(&it, weft_graph_state(graph, i));
    weft_graph_release(graph);
    return it;
}

static result train(const char *list, size_t count, const training *how) {
    weft_context *const context = open_devices(list, count);
    const result it = train_in(context, how);
    weft_context_release(context);
    return it;
}

static void assert_trained(const result *it, const char *what) {
    if (it->status != WEFT_OK) fail_msg("%s: %s", what, it->line);
    assert_true(it->count > 250);
}

static void assert_same_bits(const result *one, const result *other, const char *what) {
    assert_trained(other, what);
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++)
        if (memcmp(&one->numbers[i], &other->numbers[i], sizeof *one->numbers) != 0)
            fail_msg("%s: number %zu is %.9g, not %.9g", what, i, (double)other->numbers[i],
                (double)one->numbers[i]);
}

/* ---- bits ---- */

/* What most cases are compared with. */
static const result *of_one_device(void) {
    static result one;
    if (one.count == 0) one = train(several(1), 1, &(training){.shards = SHARDS});
    assert_trained(&one, "one device");
    return &one;
}

/* Two and three devices are in other cases. */
static void several_devices_have_the_bits_of_one(void **state) {
    (void)state;
    const training how = {.shards = SHARDS};
    const result more = train(several(SHARDS), SHARDS, &how);
    assert_same_bits(of_one_device(), &more, several(SHARDS));
    const training by_default = {.epochs = 1}, two = {.shards = 2, .epochs = 1};
    const result of_two = train(several(1), 1, &two), unasked = train(several(2), 2, &by_default);
    assert_same_bits(&of_two, &unasked, "as many shards as devices by default");
}

static void scaled_losses_too(void **state) {
    (void)state;
    const training how = {.shards = SHARDS, .precision = WEFT_PRECISION_F16};
    const result one = train(several(1), 1, &how), two = train(several(2), 2, &how);
    assert_trained(&one, "one device in f16");
    assert_same_bits(&one, &two, "two devices in f16");
}

static void queues_for_uploads_too(void **state) {
    (void)state;
    const training how = {.shards = SHARDS};
    assert_int_equal(setenv("WEFT_UPLOAD_QUEUE", "1", 1), 0);
    const result two = train(several(2), 2, &how);
    unsetenv("WEFT_UPLOAD_QUEUE");
    assert_same_bits(of_one_device(), &two, "two devices with queues for uploads");
}

static void a_training_resumes_on_other_devices(void **state) {
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", test_path("checkpoints"));
    const training half = {.shards = SHARDS, .epochs = 1, .saves = folder},
                   rest = {.shards = SHARDS, .resumes = folder};
    const result first = train(several(3), 3, &half);
    assert_trained(&first, "the first epoch");
    result second = train(several(2), 2, &rest);
    assert_trained(&second, "the rest");
    /* The resumed training has told only of its own epochs. */
    const size_t told = of_one_device()->count - second.count;
    assert_int_equal(told, 5);
    result expected = *of_one_device();
    memmove(expected.numbers, expected.numbers + told, second.count * sizeof *expected.numbers);
    expected.count = second.count;
    assert_same_bits(&expected, &second, "resumed");
}

/* ---- sub-devices ---- */

static void parts_of_a_device_have_its_bits(void **state) {
    char list[32];
    const training how = {.shards = SHARDS};
    const weft_device_info *const info = weft_context_device(test_context());
    weft_context *halves = NULL;
    (void)state;
    snprintf(list, sizeof list, "%s/2", position());
    /* With the same number of work units, whole and half divide work in the same way. */
    const weft_context_options options = {
        WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .seed = 3, .work_units = 2};
    if (info->compute_units < 2 || weft_context_create(&halves, &options) == WEFT_ERROR_UNSUPPORTED) {
        print_message("skipped: the device has no parts\n");
        return;
    }
    assert_int_equal(halves->device_count, 2);
    assert_int_equal(halves->devices[1]->info.compute_units, info->compute_units / 2);
    assert_string_equal(halves->devices[1]->info.selector, list);
    weft_context *const whole = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .device = position(), .seed = 3, .work_units = 2});
    const result one = train_in(whole, &how), two = train_in(halves, &how);
    weft_context_release(whole);
    weft_context_release(halves);
    assert_trained(&one, "the whole device");
    assert_same_bits(&one, &two, "two halves");
    snprintf(list, sizeof list, "%s/%u", position(), info->compute_units + 1);
    weft_context *none = NULL;
    assert_fails(
        weft_context_create(&none, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .devices = list}),
        WEFT_ERROR_ARGUMENT, "sub-devices: ask for at most");
}

/* ---- devices of different speed ---- */

/* A device and one that is called otherwise: the same bits, whoever computes how many shards. */
static void measured_devices_have_the_bits_of_one(void **state) {
    (void)state;
    scratch_log log = {0};
    const training how = {.shards = 6};
    const result one = train(several(1), 1, &how);
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
        .devices = several(2), .seed = 3, .log = scratch_log_line, .log_user = &log});
    context->devices[1]->info.name[0] = '?';
    const result two = train_in(context, &how);
    weft_context_release(context);
    assert_same_bits(&one, &two, "two measured devices");
    if (!strstr(log.text, "of 6 gradient shards"))
        fail_msg("the log does not tell the division: %s", log.text);
}

/* ---- two drivers ---- */

/* A device of another driver than the test's. */
static bool find_other(weft_device_info *other) {
    size_t count = 0;
    assert_ok(weft_device_count(&count));
    for (size_t i = 0; i < count; i++)
        if (weft_device_get(i, other) == WEFT_OK &&
            strcmp(other->platform, weft_context_device(test_context())->platform) != 0)
            return true;
    return false;
}

static void devices_of_two_drivers_train_together(void **state) {
    char list[64];
    weft_device_info other;
    const training how = {.shards = SHARDS, .is_plain = true};
    (void)state;
    if (!find_other(&other)) {
        print_message("skipped: there is no second driver\n");
        return;
    }
    snprintf(list, sizeof list, "%s,%s", position(), other.selector);
    const result one = train(several(1), 1, &how), two = train(list, 2, &how);
    assert_trained(&one, "one driver");
    assert_trained(&two, list);
    for (size_t i = 0; i < one.count; i++)
        if (fabs((double)one.numbers[i] - (double)two.numbers[i]) >
            2e-6 * fmax(1, fabs((double)one.numbers[i])))
            fail_msg(
                "%s: number %zu is %.9g, not %.9g", list, i, (double)two.numbers[i], (double)one.numbers[i]);
}

/* ---- what is refused ---- */

static weft_status run_plan(void *user, weft_step *step) {
    (void)user;
    return weft_plan_run(step->plan);
}

/* Without gradient shards, the devices share the batch of the plan that the callback runs. */
static void step_callbacks_run_on_several_devices(void **state) {
    const training plain = {.is_plain = true}, called = {.is_plain = true, .step = run_plan};
    (void)state;
    const result one = train(several(1), 1, &plain), two = train(several(2), 2, &called),
                 again = train(several(2), 2, &called);
    assert_trained(&one, "one device");
    assert_trained(&two, "a step callback on two devices");
    for (size_t i = 0; i < one.count; i++)
        if (fabs((double)one.numbers[i] - (double)two.numbers[i]) >
            5e-6 * fmax(1, fabs((double)one.numbers[i])))
            fail_msg("number %zu is %.9g, not %.9g", i, (double)two.numbers[i], (double)one.numbers[i]);
    assert_same_bits(&two, &again, "again");
}

static void assert_refused(const char *list, size_t count, const training *how, const char *text) {
    const result it = train(list, count, how);
    assert_int_not_equal(it.status, WEFT_OK);
    if (!strstr(it.line, text)) fail_msg("'%s' does not say '%s'", it.line, text);
}

static void trainings_that_cannot_be_divided_are_refused(void **state) {
    (void)state;
    const training few = {.shards = 3}, uneven = {0};
    assert_refused(several(4), 4, &few,
        "gradient_shards is 3, but there are 4 devices, and each needs a shard: set gradient_shards to at "
        "least 4, or select fewer devices");
    assert_refused(several(5), 5, &uneven, "a batch of 12 examples cannot be divided into 5 gradient shards");
}

static weft_status open_list(weft_context **context, const char *list) {
    return weft_context_create(context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .devices = list});
}

static void lists_that_are_wrong_are_refused(void **state) {
    weft_context *context = NULL;
    char list[256];
    (void)state;
    snprintf(list, sizeof list, "%s,no such device", position());
    assert_fails(open_list(&context, list), WEFT_ERROR_NO_DEVICE, "device 'no such device' of the list");
    assert_fails(open_list(&context, several(9)), WEFT_ERROR_ARGUMENT, "more than 8 devices");
    assert_fails(open_list(&context, ""), WEFT_ERROR_ARGUMENT, "is empty");
    snprintf(list, sizeof list, "%s, ", position());
    assert_fails(open_list(&context, list), WEFT_ERROR_ARGUMENT, "is empty");
    snprintf(list, sizeof list, "%s/0", position());
    assert_fails(open_list(&context, list), WEFT_ERROR_ARGUMENT, "asks for 0 sub-devices");
    const weft_context_options both = {WEFT_CONTEXT_OPTIONS_INIT, .device = "cpu", .devices = "cpu"};
    assert_fails(
        weft_context_create(&context, &both), WEFT_ERROR_ARGUMENT, "devices and device are both set");
    assert_null(context);
}

static void a_name_takes_another_device_each_time(void **state) {
    weft_context *context = NULL;
    size_t count = 0;
    (void)state;
    assert_ok(weft_device_count(&count));
    if (count == 1)
        assert_fails(open_list(&context, "cpu,cpu"), WEFT_ERROR_NO_DEVICE,
            "each device that 'cpu' matches is in the list already");
    else
        print_message("skipped: there is more than one device\n");
}

static void a_device_that_fails_is_skipped_if_asked(void **state) {
    scratch_log log = {0};
    weft_context *context = NULL;
    char list[256];
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .skip_failed_devices = true,
        .log = scratch_log_line, .log_user = &log};
    (void)state;
    snprintf(list, sizeof list, "no such device,%s", position());
    assert_ok(weft_context_create(&context, &options));
    assert_int_equal(context->device_count, 1);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "device 'no such device' of the list"));
    weft_context_release(context);
    snprintf(list, sizeof list, "no such device");
    assert_fails(weft_context_create(&context, &options), WEFT_ERROR_NO_DEVICE, "no device of the list");
}

static void the_environment_may_have_a_list(void **state) {
    char before[128] = "";
    weft_context *context = NULL;
    (void)state;
    snprintf(before, sizeof before, "%s", getenv("WEFT_DEVICE") ? getenv("WEFT_DEVICE") : "");
    assert_int_equal(setenv("WEFT_DEVICE", several(2), 1), 0);
    const weft_status status = weft_context_create(&context, NULL);
    if (*before)
        setenv("WEFT_DEVICE", before, 1);
    else
        unsetenv("WEFT_DEVICE");
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(context->device_count, 2);
    weft_context_release(context);
}

/* Every allocation of a training on two devices fails once: an error, and nothing stays behind. */
static void lack_of_memory_leaves_nothing_behind(void **state) {
    const training how = {.shards = SHARDS, .epochs = 1};
    (void)state;
    for (long after = 0, step = 5;; after += step, step += 1 + after) {
        scratch_allocator memory;
        weft_context *context = NULL;
        scratch_allocator_init(&memory, after);
        const weft_context_options options = {
            WEFT_CONTEXT_OPTIONS_INIT, .devices = several(2), .allocator = &memory.hooks};
        weft_status status = weft_context_create(&context, &options);
        if (status == WEFT_OK) status = train_in(context, &how).status;
        weft_context_release(context);
        assert_int_equal(memory.live, 0);
        if (status == WEFT_OK) break;
        assert_int_equal(status, WEFT_ERROR_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(several_devices_have_the_bits_of_one),
        cmocka_unit_test(scaled_losses_too), cmocka_unit_test(queues_for_uploads_too),
        cmocka_unit_test(a_training_resumes_on_other_devices),
        cmocka_unit_test(parts_of_a_device_have_its_bits),
        cmocka_unit_test(measured_devices_have_the_bits_of_one),
        cmocka_unit_test(devices_of_two_drivers_train_together),
        cmocka_unit_test(step_callbacks_run_on_several_devices),
        cmocka_unit_test(trainings_that_cannot_be_divided_are_refused),
        cmocka_unit_test(lists_that_are_wrong_are_refused),
        cmocka_unit_test(a_name_takes_another_device_each_time),
        cmocka_unit_test(a_device_that_fails_is_skipped_if_asked),
        cmocka_unit_test(the_environment_may_have_a_list),
        cmocka_unit_test(lack_of_memory_leaves_nothing_behind)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
