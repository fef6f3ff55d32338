/* How shards are divided among devices: in turn if they are equal, else so that each shard goes to the device that finishes it first. */
#include "support/fixture.h"
#include "train/shard_devices.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shards_go_to_the_device_that_finishes_first)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
