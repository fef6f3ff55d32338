/* How shards are divided among devices: in turn if they are equal, else so that each shard goes to the device that finishes it first; and among
 * processes, by their measured speed. */
#include "support/fixture.h"
#include "train/shards.h"

static void shards_go_to_the_device_that_finishes_first(void **state) {
    wi_shard_devices devices;
    (void)state;
    wi_shard_devices_init(&devices, 2, 11, false);
    for (size_t i = 0; i < 11; i++) assert_int_equal(devices.of[i], i % 2);
    size_t steps = 1;
    while (!wi_shard_devices_measure(&devices)) steps++;
    assert_int_equal(steps, 3);
    assert_false(wi_shard_devices_measure(&devices));
    devices.seconds[0] = 9.5;
    devices.seconds[1] = 1;
    wi_shard_devices_divide(&devices);
    assert_int_equal(wi_shard_devices_next(&devices, 0, 0), 9);
    assert_int_equal(wi_shard_devices_next(&devices, 0, 10), 11);
    assert_int_equal(wi_shard_devices_next(&devices, 1, 9), 10);
    devices.seconds[0] = 100;
    wi_shard_devices_divide(&devices); /* a slow device has nothing to do */
    assert_int_equal(wi_shard_devices_next(&devices, 0, 0), 11);
    wi_shard_devices_init(&devices, 3, 5, true);
    assert_false(wi_shard_devices_measure(&devices));
    assert_int_equal(wi_shard_devices_next(&devices, 1, 2), 4);
}

static void ranks_get_shards_by_their_speed(void **state) {
    size_t counts[3];
    (void)state;
    wi_count_shards(counts, (const double[]){1, 1, 1}, 3, 12, 1);
    for (size_t r = 0; r < 3; r++) assert_int_equal(counts[r], 4);
    wi_count_shards(counts, (const double[]){1, 2, 3}, 3, 11, 1);
    assert_int_equal(counts[0], 6);
    assert_int_equal(counts[1], 3);
    assert_int_equal(counts[2], 2);
    wi_count_shards(counts, (const double[]){1, 100, 1}, 3, 8, 2); /* two devices each */
    assert_int_equal(counts[1], 2);
    assert_int_equal(counts[0] + counts[2], 6);
    wi_count_shards(counts, (const double[]){1, 100, 0}, 3, 130, 1);
    assert_int_equal(counts[2], WI_MAX_OWN_SHARDS);
    assert_int_equal(counts[0], WI_MAX_OWN_SHARDS);
    assert_int_equal(counts[1], 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shards_go_to_the_device_that_finishes_first),
        cmocka_unit_test(ranks_get_shards_by_their_speed)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
