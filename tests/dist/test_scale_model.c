/* The cost model of exchanges: known links are found from their messages, and times of exchanges and steps follow the formula. */
#include "dist/sum.h"
#include "scale_model.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>

/* test once */

static void assert_near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g, expected %.12g", value, expected);
}

static void a_link_is_found_from_its_messages(void **state) {
    (void)state;
    scale_message messages[4];
    double latency, bandwidth;
    for (int i = 0; i < 4; i++) {
        messages[i].bytes = pow(64, i + 1);
        messages[i].seconds = 3e-6 + messages[i].bytes / 2e9;
    }
    scale_link_fit(&latency, &bandwidth, messages, 4);
    assert_near(latency, 3e-6);
    assert_near(bandwidth, 2e9);
    scale_link_fit(&latency, &bandwidth, messages + 1, 2);
    assert_near(latency, 3e-6);
    assert_near(bandwidth, 2e9);
}

/* Where noise makes the latency negative, or long messages quick, both stay numbers that times can be computed from. */
static void noise_gives_no_negative_numbers(void **state) {
    (void)state;
    const scale_message late[] = {{1000, 1e-6}, {2000, 3e-6}}, flat[] = {{1000, 5e-6}, {4000, 2e-6}};
    double latency, bandwidth;
    scale_link_fit(&latency, &bandwidth, late, 2);
    assert_near(latency, 0);
    assert_true(bandwidth > 2000 / 3e-6 && bandwidth < 1000 / 1e-6);
    scale_link_fit(&latency, &bandwidth, flat, 2);
    assert_true(latency >= 0 && bandwidth > 0 && isfinite(bandwidth));
}

static const scale_link network = {.latency = 1e-5, .bandwidth = 1e9, .adding = 4e9};

static void an_exchange_has_a_round_for_each_shard_and_one_for_the_sums(void **state) {
    (void)state;
    assert_near(1 + scale_exchange(&network, 8e6, 1, 1), 1);
    /* Two rounds of a message of 4 MB, and 1.5 times 8 MB to add up. */
    assert_near(scale_exchange(&network, 8e6, 2, 1), 2 * (7 * 1e-5 + 4e-3) + 1.5 * 2e-3);
    assert_near(scale_exchange(&network, 8e6, 4, 3), 4 * 3 * (7 * 1e-5 + 2e-3) + 3.25 * 2e-3);
    /* Short gradients on many ranks cost the latency of each message. */
    assert_near(scale_exchange(&network, 0, 256, 1), 2 * 255 * 1e-5);
}

/* The model knows into how many buckets the library divides gradients. */
static void buckets_are_those_of_the_exchange(void **state) {
    (void)state;
    const size_t floats[] = {1, 1 << 18, (1 << 19) - 1, 1 << 19, 8000000};
    weft_distributed pair = {.size = 2};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        const wi_sum_options options = {.shards = 2, .floats = floats[i]};
        wi_sum sum;
        assert_int_equal(wi_sum_init(&sum, &pair, NULL, &options), WEFT_OK);
        assert_int_equal(scale_buckets((double)floats[i] * sizeof(float)), sum.bucket_count);
        wi_sum_clear(&sum);
    }
}

static scale_step measured_with(double exposed) {
    const scale_step step = {.ranks = 2,
        .shards = 1,
        .bytes = 8e6,
        .step = 0.1 + exposed,
        .exchange = scale_exchange(&network, 8e6, 2, 1),
        .exposed = exposed,
        .link = network};
    return step;
}

static void a_step_adds_what_the_backward_pass_does_not_hide(void **state) {
    (void)state;
    const double two = scale_exchange(&network, 8e6, 2, 1), four = scale_exchange(&network, 8e6, 4, 1);
    const scale_step all = measured_with(two), quarter = measured_with(two / 4),
                     late = measured_with(2 * two);
    assert_near(scale_expect(&all, 2, 1).step, all.step);
    /* Two ranks more make each of five small exchanges longer. */
    const double others = 5 * 2 * 1e-5;
    assert_near(scale_expect(&all, 4, 1).step, 0.1 + others + four);
    assert_near(scale_expect(&all, 4, 2).step, 2 * (0.1 + four) + others);
    assert_near(scale_expect(&quarter, 4, 1).hidden, 0.75 * four);
    assert_near(scale_expect(&quarter, 4, 1).step, 0.1 + others + 0.25 * four);
    /* A rank that waits for a slower one longer than the exchange takes hides nothing. */
    assert_near(1 + scale_hidden(&late), 1);
    assert_near(scale_expect(&late, 4, 1).step, 0.1 + others + four);
}

static void what_is_hidden_is_no_longer_than_the_backward_pass(void **state) {
    (void)state;
    scale_step step = measured_with(0);
    step.link.bandwidth = 1e6;
    const scale_expectation e = scale_expect(&step, 4, 1);
    assert_true(e.exchange > 1);
    assert_near(e.hidden, 0.1 * 2 / 3);
    assert_near(e.step, 0.1 + 5 * 2 * 1e-5 + e.exchange - e.hidden);
}

static void the_host_holds_the_gradients_of_all_shards(void **state) {
    (void)state;
    assert_near(1 + scale_host_bytes(8e6, 1, 4), 1);
    assert_near(scale_host_bytes(8e6, 2, 1), 24e6);
    assert_near(scale_host_bytes(8e6, 16, 4), 72e6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_link_is_found_from_its_messages),
        cmocka_unit_test(noise_gives_no_negative_numbers),
        cmocka_unit_test(an_exchange_has_a_round_for_each_shard_and_one_for_the_sums),
        cmocka_unit_test(buckets_are_those_of_the_exchange),
        cmocka_unit_test(a_step_adds_what_the_backward_pass_does_not_hide),
        cmocka_unit_test(what_is_hidden_is_no_longer_than_the_backward_pass),
        cmocka_unit_test(the_host_holds_the_gradients_of_all_shards)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
