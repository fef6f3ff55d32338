/* Numbers in bf16 are rounded to nearest even. A process that is slow for long is found. Sums of one process are those in the order of the shards, with and without rounding, and late
 * numbers are never rounded. A run reads parts of its outputs while it goes on: the same bits as after it. */
/* test once */
#include "dist/speeds.h"
#include "dist/sum.h"
#include "nn/update_rules.h"
#include "plan/run/early_reads.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>
#include <weft/nn.h>

static uint16_t packed(uint32_t bits) {
    float number;
    uint16_t half;
    memcpy(&number, &bits, sizeof number);
    wi_bf16_pack(&half, &number, 1);
    return half;
}

static void numbers_are_rounded_to_nearest_even(void **state) {
    (void)state;
    assert_int_equal(packed(0x3f800000), 0x3f80); /* 1 */
    assert_int_equal(packed(0x3f808000), 0x3f80); /* halfway: the even one */
    assert_int_equal(packed(0x3f818000), 0x3f82);
    assert_int_equal(packed(0x3f808001), 0x3f81);
    assert_int_equal(packed(0x3f807fff), 0x3f80);
    assert_int_equal(packed(0x80000000), 0x8000);
    assert_int_equal(packed(0x7f7fffff), 0x7f80); /* the largest float becomes infinite */
    assert_int_equal(packed(0xff800000), 0xff80);
    assert_int_equal(packed(0x7f800001), 0x7fc0); /* NaN does not become infinite */
}

/* In place, over several portions. */
static void conversions_work_in_place(void **state) {
    enum { COUNT = 1300 };
    static float numbers[COUNT], expected[COUNT];
    (void)state;
    for (size_t i = 0; i < COUNT; i++) numbers[i] = expected[i] = (float)(i % 256) - 128.0f;
    wi_bf16_pack(numbers, numbers, COUNT);
    memmove((unsigned char *)numbers + 2 * COUNT, numbers, 2 * (size_t)COUNT);
    wi_bf16_unpack(numbers, (unsigned char *)numbers + 2 * COUNT, COUNT);
    assert_memory_equal(numbers, expected, sizeof numbers);
}

static float rounded(float x) {
    uint16_t half;
    wi_bf16_pack(&half, &x, 1);
    wi_bf16_unpack(&x, &half, 1);
    return x;
}

static void check_sum(bool rounds) {
    enum { SHARDS = 3, FLOATS = 11, LATE = 2 };
    wi_sum sum;
    const float *result = NULL;
    assert_ok(wi_sum_init(&sum, NULL, test_context()->allocator,
        &(wi_sum_options){.shards = SHARDS, .floats = FLOATS, .late = LATE, .rounds = rounds}));
    for (size_t times = 0; times < 2; times++) {
        for (size_t s = 0; s < SHARDS; s++) {
            for (size_t i = 0; i < FLOATS; i++) wi_sum_slot(&sum, s)[i] = 1.0f / (float)(1 + s * FLOATS + i);
            assert_ok(wi_sum_begin(&sum, s));
        }
        assert_ok(wi_sum_finish(&sum, &result));
        for (size_t i = 0; i < FLOATS; i++) {
            const bool is_rounded = rounds && i < FLOATS - LATE;
            float expected = 0;
            for (size_t s = 0; s < SHARDS; s++) {
                const float one = 1.0f / (float)(1 + s * FLOATS + i);
                expected += is_rounded ? rounded(one) : one;
            }
            assert_true(result[i] == (is_rounded ? rounded(expected) : expected));
        }
    }
    wi_sum_clear(&sum);
}

static void sums_are_in_the_order_of_shards(void **state) {
    (void)state;
    check_sum(false);
    check_sum(true);
}

/* ---- slow processes ---- */

/* The factor that a comparison returns, in which one rank takes so many times as long as the others. */
static double compared(wi_speeds *speeds, size_t rank, double factor) {
    double found = 0;
    for (size_t step = 0; step < WI_SPEED_STEPS; step++) {
        for (size_t r = 0; r < speeds->ranks; r++) speeds->sums[r] += r == rank ? factor * 0.01 : 0.01;
        const wi_slow_rank slow = wi_speeds_step(speeds);
        if (slow.factor > 0) assert_int_equal(slow.rank, rank);
        if (slow.factor > 0) assert_true(fabs(slow.seconds - factor * 0.01) < 1e-9);
        if (slow.factor > 0) found = slow.factor;
    }
    return found;
}

static void a_slow_process_is_found_once(void **state) {
    wi_speeds speeds;
    (void)state;
    for (size_t ranks = 2; ranks <= 4; ranks++) {
        assert_ok(wi_speeds_init(&speeds, test_context()->allocator, ranks));
        assert_true(compared(&speeds, 1, 1.4) == 0);
        assert_true(compared(&speeds, 1, 3) == 0); /* not for long yet */
        assert_true(compared(&speeds, 0, 3) == 0);
        assert_true(fabs(compared(&speeds, 0, 2) - 2) < 1e-9);
        assert_true(compared(&speeds, 0, 2) == 0); /* reported already */
        assert_true(compared(&speeds, 0, 1) == 0);
        assert_true(compared(&speeds, 0, 2) == 0);
        assert_true(compared(&speeds, 0, 2) > 0);
        wi_speeds_clear(&speeds);
    }
}

/* ---- reads during a run ---- */

enum { BATCH = 8, WIDTH = 48, LAYERS = 4 };

static weft_tensor *make_loss(weft_tensor *x) {
    for (int i = 0; i < LAYERS; i++) x = weft_tanh(weft_linear(x, WIDTH));
    return weft_mean(weft_square(x));
}

static void check_reads(const wi_divided_update *divided, weft_plan *plan) {
    enum { PARTS = 6, MOST = 16384 };
    static float early[MOST], whole[MOST];
    wi_early_read list[PARTS] = {{0}};
    wi_early_reads reads = {.of = list, .count = PARTS};
    const size_t floats = divided->bytes[0] / sizeof(float);
    assert_true(floats <= MOST);
    for (size_t i = 0; i < PARTS; i++) { /* from the last numbers to the first */
        const wi_shard_range part = wi_shards_of(floats, PARTS - 1 - i, PARTS);
        list[i] = (wi_early_read){.output = divided->gradients[0],
            .first = part.first * sizeof(float),
            .bytes = part.count * sizeof(float),
            .at = part.first * sizeof(float)};
    }
    wi_early_reads_find(plan, &reads);
    assert_true(list[0].after <
                list[PARTS - 1].after); /* the last layer's gradients are there before the first one's */
    assert_ok(wi_plan_run_reading(plan, &reads, early));
    for (size_t i = 0; i < PARTS; i++) {
        bool done = false;
        assert_ok(wi_early_read_wait(plan, &list[i]));
        assert_ok(wi_early_read_test(&list[i], &done));
        assert_true(done);
    }
    assert_ok(weft_plan_read(plan, divided->gradients[0], whole, divided->bytes[0]));
    assert_memory_equal(early, whole, divided->bytes[0]);
    wi_early_reads_clear(&reads);
}

static void parts_of_outputs_are_read_during_a_run(void **state) {
    static float x[BATCH * WIDTH];
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    wi_divided_update divided = {0};
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < BATCH * WIDTH; i++) x[i] = (float)(i % 37) / 37;
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const input = weft_input(graph, "x", WEFT_F32, WIDTH);
    const weft_optimizer rule = weft_sgd(0.1f);
    assert_ok(wi_minimize_divided(
        &(wi_divided_loss){make_loss(input), false, &divided, updates, WEFT_MAX_UPDATES, &count}, &rule));
    assert_int_equal(divided.count, 1);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_ok(weft_plan_create(&plan, divided.gradients, divided.count, &options));
    assert_ok(weft_plan_write(plan, input, x, sizeof x));
    check_reads(&divided, plan);
    check_reads(&divided, plan);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_rounded_to_nearest_even),
        cmocka_unit_test(conversions_work_in_place), cmocka_unit_test(sums_are_in_the_order_of_shards),
        cmocka_unit_test(a_slow_process_is_found_once),
        cmocka_unit_test(parts_of_outputs_are_read_during_a_run)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
