/* What a program may expect of a device that others use, too: waiting takes no processor time, and a device that is lost
 * in the middle of a step is an error that the process survives. */
#include "pretended.h"
#include <sys/resource.h>
#include <time.h>

enum { BATCH = 4, WIDTH = 8, STEPS = 3 };

typedef struct training {
    weft_context *context;
    weft_tensor *input, *outputs[1 + WEFT_MAX_UPDATES];
    weft_plan *plan;
} training;

static const float numbers[BATCH * WIDTH] = {1, 2, 3};

static training begin(const char *device) {
    training t = {.context = pretended_open(device)};
    const weft_optimizer adam = weft_adam(0.01f);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    size_t count = 0;
    t.input = weft_input(weft_context_graph(t.context), "x", WEFT_F32, WIDTH);
    t.outputs[0] = weft_mean(weft_square(weft_linear(weft_tanh(weft_linear(t.input, WIDTH)), 1)));
    assert_ok(weft_minimize(t.outputs[0], &adam, t.outputs + 1, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&t.plan, t.outputs, 1 + count, &options));
    assert_ok(weft_plan_write(t.plan, t.input, numbers, sizeof numbers));
    return t;
}

static void end(training *t) {
    weft_plan_release(t->plan);
    weft_context_release(t->context);
}

static float steps(training *t) {
    float loss = 0;
    for (int i = 0; i < STEPS; i++) {
        assert_ok(weft_plan_write_async(t->plan, t->input, numbers, sizeof numbers));
        assert_ok(weft_plan_run(t->plan));
    }
    assert_ok(weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss));
    return loss;
}

static double seconds_of(const struct timeval *time) {
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

static double clock_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The driver says when it is done: there is one call that waits, and nothing turns round meanwhile. */
static void waiting_takes_no_processor_time(void **state) {
    training t = begin("groups64");
    float loss = 0;
    (void)state;
    (void)steps(&t);
    for (int reads = 0; reads < 2; reads++) {
        assert_ok(weft_plan_run(t.plan));
        assert_ok(weft_plan_wait(t.plan)); /* what is left of the run is not what is measured */
        pretend_layer_begin();
        const double processor = processor_seconds(), clock = clock_seconds();
        pretend_layer_delay(0.4);
        assert_ok(reads ? weft_plan_read(t.plan, t.outputs[0], &loss, sizeof loss) : weft_plan_wait(t.plan));
        pretend_layer_delay(0);
        assert_true(clock_seconds() - clock >= 0.4);
        assert_true(processor_seconds() - processor < 0.1);
        assert_int_equal(pretend_layer_record().waits + pretend_layer_record().reads, 1);
    }
    end(&t);
}

/* ---- drivers that turn round ---- */

enum { WAIT, READ, WRITE, WAYS_TO_WAIT };

static weft_status wait_by(training *t, int way) {
    float loss = 0;
    if (way == WAIT) return weft_plan_wait(t->plan);
    if (way == READ) return weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss);
    return weft_plan_write(t->plan, t->input, numbers, sizeof numbers);
}

/* How often the driver turns round while a program waits for a device that is at work. */
static long turns_of(training *t, int way) {
    assert_ok(weft_plan_run(t->plan));
    pretend_layer_begin();
    const double processor = processor_seconds(), clock = clock_seconds(); /* before the device has work */
    pretend_layer_turn(0.1);
    assert_ok(wait_by(t, way));
    const double passed = clock_seconds() - clock, taken = processor_seconds() - processor;
    pretend_layer_turn(0);
    const long turns = pretend_layer_record().turns;
    assert_true(passed >= 0.1);
    if (turns == 0) assert_true(taken < 0.05);
    return turns;
}

static void where_drivers_turn_round_the_thread_sleeps(void **state) {
    const char *const devices[] = {"groups64", "card", "flagged"};
    (void)state;
    for (int d = 0; d < 3; d++) {
        assert_int_equal(setenv("WEFT_WAIT", "sleep", 1), 0);
        training sleeping = begin(devices[d]);
        assert_int_equal(setenv("WEFT_WAIT", "driver", 1), 0);
        training turning = begin(devices[d]);
        assert_int_equal(unsetenv("WEFT_WAIT"), 0);
        training usual = begin(devices[d]);
        const bool sleeps =
            strcmp(devices[d], "flagged") == 0; /* has the name of a driver that is known for it */
        assert_true(steps(&sleeping) == steps(&turning));
        (void)steps(&usual);
        for (int way = 0; way < WAYS_TO_WAIT; way++) {
            assert_int_equal(turns_of(&sleeping, way), 0);
            assert_true(turns_of(&turning, way) > 0);
            assert_true((turns_of(&usual, way) == 0) == sleeps);
        }
        end(&sleeping);
        end(&turning);
        end(&usual);
    }
}

static void the_variable_has_two_values(void **state) {
    weft_context *context = NULL;
    (void)state;
    assert_int_equal(setenv("WEFT_WAIT", "spin", 1), 0);
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT};
    assert_fails(
        weft_context_create(&context, &options), WEFT_ERROR_ARGUMENT, "WEFT_WAIT is 'spin'; it must be");
    assert_int_equal(unsetenv("WEFT_WAIT"), 0);
}

/* Every launch of a step in turn is the last one that the device does. */
static void lose_at_each_launch(const char *device) {
    float loss = 0;
    weft_plan_info info;
    training whole = begin(device);
    assert_ok(weft_plan_get_info(whole.plan, &info));
    const float wanted = steps(&whole);
    end(&whole);
    for (long at = 0; at < (long)info.launches; at++) {
        training t = begin(device);
        (void)steps(&t);
        pretend_layer_lose(at);
        assert_fails(weft_plan_run(t.plan), WEFT_ERROR_OPENCL, "CL_OUT_OF_RESOURCES");
        assert_fails(weft_plan_run(t.plan), WEFT_ERROR_OPENCL, "CL_OUT_OF_RESOURCES");
        assert_fails(weft_plan_write(t.plan, t.input, numbers, sizeof numbers), WEFT_ERROR_OPENCL,
            "CL_OUT_OF_RESOURCES");
        assert_fails(weft_plan_wait(t.plan), WEFT_ERROR_OPENCL, "CL_OUT_OF_RESOURCES");
        assert_fails(weft_plan_read(t.plan, t.outputs[0], &loss, sizeof loss), WEFT_ERROR_OPENCL,
            "CL_OUT_OF_RESOURCES");
        end(&t);
        pretend_layer_lose(-1); /* it is there again, for who opens it anew */
        t = begin(device);
        assert_true(steps(&t) == wanted);
        end(&t);
    }
}

static void a_lost_device_is_an_error(void **state) {
    (void)state;
    lose_at_each_launch("groups64");
    lose_at_each_launch("card"); /* with a queue for uploads */
}

/* ---- transfers beside kernels ---- */

enum { EXAMPLES = 48, EPOCHS = 3 };

typedef struct trained {
    float weights[WIDTH * WIDTH];
    pretend_record record;
} trained;

static weft_status open_examples(weft_dataset **dataset, weft_context *context) {
    static float x[EXAMPLES * WIDTH], y[EXAMPLES];
    for (int i = 0; i < EXAMPLES * WIDTH; i++) x[i] = (float)(i * 7 % 11 - 5) * 0.2f;
    for (int i = 0; i < EXAMPLES; i++) y[i] = x[i * WIDTH] - x[i * WIDTH + 1];
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = x},
        {.name = "y", .dtype = WEFT_F32, .data = y}};
    return weft_dataset_from_memory(dataset, context, EXAMPLES, columns, 2);
}

/* By the trainer, whose loader makes the batches. */
static trained train_on(const char *device) {
    trained t;
    weft_trainer *trainer = NULL;
    weft_dataset *dataset = NULL;
    weft_context *const context = pretended_open(device);
    weft_graph *const graph = weft_context_graph(context);
    weft_tensor *const h = weft_tanh(weft_linear(weft_input(graph, "x", WEFT_F32, WIDTH), WIDTH));
    weft_tensor *const out = weft_reshape(weft_linear(h, 1), WEFT_BATCH);
    weft_tensor *const loss =
        weft_mse(out, weft_input_shape(graph, "y", WEFT_F32, 1, (int64_t[]){WEFT_BATCH}));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = EPOCHS, .batch = BATCH};
    assert_ok(open_examples(&dataset, context));
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_ok(weft_trainer_run(trainer, dataset));
    t.record = pretend_layer_record();
    assert_ok(weft_tensor_read(weft_graph_parameter(graph, 0), t.weights, sizeof t.weights));
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_context_release(context);
    return t;
}

/* Both inputs of the next step are enqueued on another queue before anything waits for the last one, from pinned memory; only
 * the first step of an interval has none before it. What is computed has the same bits. */
static void the_next_batch_is_copied_beside_the_kernels(void **state) {
    enum { TRAINED_STEPS = EPOCHS * EXAMPLES / BATCH };
    (void)state;
    const trained shared = train_on("groups64"), apart = train_on("card");
    assert_int_equal(shared.record.ahead + shared.record.pinned, 0);
    assert_int_equal(apart.record.pinned, 1);
    assert_true(apart.record.ahead >= 2 * TRAINED_STEPS * 3 / 4);
    assert_true(apart.record.ahead <= 2 * TRAINED_STEPS);
    assert_int_equal(apart.record.launches, shared.record.launches);
    assert_memory_equal(apart.weights, shared.weights, sizeof apart.weights);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_takes_no_processor_time),
        cmocka_unit_test(where_drivers_turn_round_the_thread_sleeps),
        cmocka_unit_test(the_variable_has_two_values),
        cmocka_unit_test(a_lost_device_is_an_error),
        cmocka_unit_test(the_next_batch_is_copied_beside_the_kernels),
    };
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
