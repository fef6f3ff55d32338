/* Work that is cut for a fixed number of compute units: a training has the same bits in processes whose device has one
 * unit and two. Children open the devices: PoCL reads its number of threads when it starts. */
/* test slow */
#include "cl/context.h"
#include "support/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

enum { BATCH = 6, SIZE = 24, CHANNELS = 8, FILTERS = 24, HIDDEN = 40, STEPS = 3, MOST = 1 << 20 };

typedef struct outcome {
    int64_t units;                /* that work was cut for */
    uint32_t compute_units, bits; /* of the device; of all parameters */
} outcome;

static weft_tensor *loss_of(weft_tensor *x) {
    weft_tensor *const image = weft_relu(weft_conv2d(weft_permute(x, 0, 3, 1, 2), FILTERS, 3));
    const int64_t rows = weft_tensor_dimension(image, 2), columns = weft_tensor_dimension(image, 3);
    weft_tensor *const lines =
        weft_reshape(weft_permute(image, 0, 2, 3, 1), WEFT_BATCH, rows, columns * FILTERS);
    weft_tensor *const h = weft_lstm(lines, HIDDEN, NULL).y;
    return weft_mean(weft_square(weft_linear(weft_flatten(h), 5)));
}

/* FNV-1a. */
static weft_status add_bits(uint32_t *bits, weft_graph *graph) {
    static unsigned char bytes[MOST];
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        weft_tensor *const p = weft_graph_parameter(graph, i);
        size_t count = sizeof(float);
        for (int d = 0; d < weft_tensor_rank(p); d++) count *= (size_t)weft_tensor_dimension(p, d);
        if (count > MOST) return WEFT_ERROR_INTERNAL;
        WI_TRY(weft_tensor_read(p, bytes, count));
        for (size_t k = 0; k < count; k++) *bits = (*bits ^ bytes[k]) * 16777619u;
    }
    return WEFT_OK;
}

static weft_status train(weft_context *context, uint32_t *bits) {
    static float x[BATCH * SIZE * SIZE * CHANNELS];
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_graph *const graph = weft_context_graph(context);
    const weft_optimizer sgd = weft_sgd(0.1f);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    weft_tensor *const input = weft_input(graph, "x", WEFT_F32, SIZE, SIZE, CHANNELS);
    outputs[0] = loss_of(input);
    weft_status status = weft_minimize(outputs[0], &sgd, outputs + 1, WEFT_MAX_UPDATES, &count);
    if (status == WEFT_OK) status = weft_plan_create(&plan, outputs, 1 + count, &options);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(i * 2654435761u % 1000u) / 500.0f - 1.0f;
    if (status == WEFT_OK) status = weft_plan_write(plan, input, x, sizeof x);
    for (int i = 0; i < STEPS && status == WEFT_OK; i++) status = weft_plan_run(plan);
    if (status == WEFT_OK) status = add_bits(bits, graph);
    weft_plan_release(plan);
    return status;
}

static int be_child(int pipe, const char *threads, size_t units) {
    weft_context *context = NULL;
    outcome o = {.bits = 2166136261u};
    setenv("POCL_MAX_PTHREAD_COUNT", threads, 1);
    weft_status status = weft_context_create(
        &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 5, .work_units = units});
    if (status == WEFT_OK) status = train(context, &o.bits);
    if (status == WEFT_OK) {
        o.units = wi_context_device(context)->profile.units;
        o.compute_units = weft_context_device(context)->compute_units;
        if (write(pipe, &o, sizeof o) != (ssize_t)sizeof o) return 2;
    } else {
        fprintf(stderr, "%s\n", weft_last_error());
    }
    weft_context_release(context);
    return status != WEFT_OK;
}

static outcome train_in_child(const char *threads, size_t units) {
    outcome o = {0};
    int pipes[2], status = -1;
    assert_int_equal(pipe(pipes), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(be_child(pipes[1], threads, units));
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &o, sizeof o), sizeof o);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return o;
}

/* The bits of a training that is cut for so many units. */
static uint32_t assert_same_bits(size_t units) {
    const outcome one = train_in_child("1", units), two = train_in_child("2", units);
    assert_int_equal(one.units, (int64_t)units);
    assert_int_equal(two.units, (int64_t)units);
    if (one.bits != two.bits)
        fail_msg("cut for %zu units: %x with %u, %x with %u", units, one.bits, one.compute_units, two.bits,
            two.compute_units);
    return one.bits;
}

/* Other bits by another cut: else the comparison would show nothing. */
static void a_fixed_cut_gives_the_same_bits(void **state) {
    (void)state;
    const uint32_t one = assert_same_bits(1), five = assert_same_bits(5);
    if (one == five) fail_msg("cut for 1 unit or for 5: %x", one);
}

static void bad_numbers_are_errors(void **state) {
    weft_context *context = NULL;
    static const char *const texts[] = {"0", "-1", "4097", "2x", "many"};
    (void)state;
    assert_fails(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = 4097}),
        WEFT_ERROR_ARGUMENT, "work_units is 4097");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        setenv("WEFT_WORK_UNITS", texts[i], 1);
        assert_fails(weft_context_create(&context, NULL), WEFT_ERROR_ARGUMENT, "WEFT_WORK_UNITS");
    }
    setenv("WEFT_WORK_UNITS", "3", 1);
    assert_ok(weft_context_create(&context, NULL));
    assert_int_equal(wi_context_device(context)->profile.units, 3);
    weft_context_release(context);
    unsetenv("WEFT_WORK_UNITS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_cut_gives_the_same_bits), /* forks, before this process opens a device */
        cmocka_unit_test(bad_numbers_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
