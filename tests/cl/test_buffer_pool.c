/* Device memory: the pool, the limit and its figures, copies. */
#include "cl/buffer.h"
#include "cl/context.h"
#include "support/checks.h"

#include <stdio.h>

static weft_context *open_limited(size_t limit) {
    weft_context *context = NULL;
    assert_ok(weft_context_create(
        &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = limit}));
    return context;
}

static void assert_held(const weft_context *context, size_t held, size_t peak) {
    size_t got_held = 0, got_peak = 0;
    weft_context_memory(context, &got_held, &got_peak);
    assert_int_equal(got_held, held);
    assert_int_equal(got_peak, peak);
}

static void released_buffers_are_used_again(void **state) {
    weft_context *const context = open_limited(0);
    wi_device *const device = wi_context_device(context);
    wi_plan_share plan;
    wi_buffer first, second, third;
    (void)state;
    wi_plan_share_begin(&plan, device);
    plan.bytes = 4000;
    assert_held(context, 0, 0);
    assert_ok(wi_buffer_create(&first, device, 1000));
    cl_mem const memory = first.memory;
    assert_held(context, 1000, 1000);
    wi_buffer_release(&first, device);
    wi_buffer_release(&first, device); /* a zeroed buffer is fine */
    assert_held(context, 1000, 1000);
    assert_ok(wi_buffer_create(&third, device, 900)); /* what is no plan's wastes nothing */
    assert_ptr_not_equal(third.memory, memory);
    assert_ok(wi_buffer_create_for_plan(&second, device, 900, &plan));
    assert_ptr_equal(second.memory, memory);
    assert_int_equal(second.bytes, 900);
    assert_int_equal(second.capacity, 1000);
    assert_int_equal(plan.bytes, 4900);
    wi_buffer_release(&second, device);
    assert_ok(wi_buffer_create_for_plan(&first, device, 500, &plan)); /* half of it would be wasted */
    assert_ptr_not_equal(first.memory, memory);
    assert_ok(wi_buffer_create_for_plan(&second, device, 1001, &plan)); /* too small */
    assert_ptr_not_equal(second.memory, memory);
    assert_held(context, 3401, 3401);
    wi_buffer_release(&first, device);
    wi_buffer_release(&second, device);
    wi_buffer_release(&third, device);
    wi_plan_share_end(&plan, device, false);
    assert_held(context, 0, 3401); /* no plan is left */
    weft_context_memory(context, NULL, NULL);
    weft_context_release(context);
}

static void the_best_fit_is_taken(void **state) {
    weft_context *const context = open_limited(0);
    wi_device *const device = wi_context_device(context);
    wi_plan_share plan;
    wi_buffer buffers[3], again;
    (void)state;
    wi_plan_share_begin(&plan, device);
    for (size_t i = 0; i < 3; i++)
        assert_ok(wi_buffer_create_for_plan(&buffers[i], device, 1200 - 100 * i, &plan));
    plan.bytes = 8000;
    cl_mem const smallest = buffers[2].memory;
    for (size_t i = 0; i < 3; i++) wi_buffer_release(&buffers[i], device);
    assert_ok(wi_buffer_create_for_plan(&again, device, 980, &plan));
    assert_ptr_equal(again.memory, smallest);
    wi_buffer_release(&again, device);
    wi_plan_share_end(&plan, device, true);
    assert_held(context, 3300, 3300);
    weft_context_release(context);
}

static void the_pool_does_not_grow_without_end(void **state) {
    weft_context *const context = open_limited(0);
    wi_device *const device = wi_context_device(context);
    wi_plan_share plan;
    wi_buffer buffers[200];
    size_t held = 0, peak = 0;
    (void)state;
    wi_plan_share_begin(&plan, device);
    for (size_t i = 0; i < 200; i++) assert_ok(wi_buffer_create_for_plan(&buffers[i], device, 64, &plan));
    for (size_t i = 0; i < 200; i++) wi_buffer_release(&buffers[i], device);
    weft_context_memory(context, &held, &peak);
    assert_int_equal(peak, 200 * 64);
    assert_in_range(held, 64, 100 * 64);
    wi_plan_share_end(&plan, device, true);
    weft_context_release(context);
}

/* Half of the largest plan that lives, or was one of the last four; the oldest buffers go first, and one that is larger than
 * that goes itself. */
static void what_is_unused_has_a_bound(void **state) {
    weft_context *const context = open_limited(0);
    wi_device *const device = wi_context_device(context);
    wi_plan_share plans[5];
    wi_buffer buffers[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) assert_ok(wi_buffer_create(&buffers[i], device, 300 + i));
    wi_plan_share_begin(&plans[0], device);
    plans[0].bytes = 1205;
    wi_buffer_release(&buffers[0], device);
    wi_buffer_release(&buffers[1], device);
    assert_held(context, 903, 903);
    wi_plan_share_end(&plans[0], device, true); /* as large as while it lived */
    assert_held(context, 903, 903);
    wi_buffer_release(&buffers[2], device); /* the first goes; of 602 there would be 603 */
    assert_held(context, 302, 903);
    for (size_t i = 1; i < 5; i++) {
        assert_held(context, 302, 903);
        wi_plan_share_begin(&plans[i], device);
        plans[i].bytes = 10;
        wi_plan_share_end(&plans[i], device, true);
    }
    assert_held(context, 0, 903); /* four others came after it */
    assert_ok(wi_buffer_create(&buffers[0], device, 5));
    assert_ok(wi_buffer_create(&buffers[1], device, 6));
    wi_buffer_release(&buffers[0], device);
    wi_buffer_release(&buffers[1], device);
    assert_held(context, 5, 903);
    weft_context_release(context);
}

/* Several plans of which each has what was of a larger one: together they waste no more than half of the latest. */
static void what_is_wasted_has_a_bound(void **state) {
    enum { PLANS = 8 };
    weft_context *const context = open_limited(0);
    wi_device *const device = wi_context_device(context);
    wi_plan_share large, plans[PLANS];
    wi_buffer buffers[PLANS];
    size_t waste = 0;
    (void)state;
    wi_plan_share_begin(&large, device);
    large.bytes = 100000;
    for (size_t i = 0; i < PLANS; i++) assert_ok(wi_buffer_create(&buffers[i], device, 1200));
    for (size_t i = 0; i < PLANS; i++) wi_buffer_release(&buffers[i], device);
    for (size_t i = 0; i < PLANS; i++) {
        wi_plan_share_begin(&plans[i], device);
        assert_ok(wi_buffer_create_for_plan(&buffers[i], device, 1000, &plans[i]));
        waste += buffers[i].capacity - buffers[i].bytes;
    }
    assert_in_range(waste, 200, 500);
    wi_plan_share_end(&large, device, false);
    size_t held = 0;
    weft_context_memory(context, &held, NULL);
    assert_in_range(held - PLANS * 1000, 0, 500);
    for (size_t i = 0; i < PLANS; i++) {
        wi_buffer_release(&buffers[i], device);
        wi_plan_share_end(&plans[i], device, false);
    }
    assert_held(context, 0, 9600 + 6 * 1000);
    weft_context_release(context);
}

static void the_limit_is_kept_with_exact_figures(void **state) {
    weft_context *const context = open_limited(10000);
    wi_buffer first, second;
    (void)state;
    assert_ok(wi_buffer_create(&first, wi_context_device(context), 6000));
    assert_fails(wi_buffer_create(&second, wi_context_device(context), 4001), WEFT_ERROR_MEMORY_LIMIT,
        "4001 bytes of device memory; 6000 are in use and the limit is 10000");
    assert_null(second.memory);
    assert_held(context, 6000, 6000);
    assert_status(wi_buffer_create(&second, wi_context_device(context), SIZE_MAX), WEFT_ERROR_MEMORY_LIMIT);
    assert_ok(wi_buffer_check_limit(wi_context_device(context), 4000, "the plan"));
    assert_fails(wi_buffer_check_limit(wi_context_device(context), 4001, "the plan"), WEFT_ERROR_MEMORY_LIMIT,
        "the plan needs 4001");
    assert_ok(wi_buffer_create(&second, wi_context_device(context), 4000));
    assert_held(context, 10000, 10000);
    wi_buffer_release(&first, wi_context_device(context));
    /* 6000 bytes lie in the pool; they make way */
    assert_ok(wi_buffer_check_limit(wi_context_device(context), 6000, "the plan"));
    assert_ok(wi_buffer_create(&first, wi_context_device(context), 4500));
    assert_held(context, 8500, 10000);
    wi_buffer_release(&first, wi_context_device(context));
    wi_buffer_release(&second, wi_context_device(context));
    weft_context_release(context);
}

static void impossible_sizes_are_refused(void **state) {
    weft_context *const context = open_limited(0);
    wi_buffer buffer;
    (void)state;
    assert_fails(wi_buffer_create(&buffer, wi_context_device(context), 0), WEFT_ERROR_ARGUMENT, "0 bytes");
    assert_fails(wi_buffer_create(&buffer, wi_context_device(context), SIZE_MAX / 2),
        WEFT_ERROR_DEVICE_MEMORY, "9223372036854775807");
    assert_null(buffer.memory);
    assert_held(context, 0, 0);
    weft_context_release(context);
}

static void copies_keep_to_their_bytes(void **state) {
    weft_context *const context = open_limited(0);
    unsigned char data[100], back[100];
    wi_buffer buffer;
    (void)state;
    for (int i = 0; i < 100; i++) data[i] = (unsigned char)(i + 1);
    assert_ok(wi_buffer_create(&buffer, wi_context_device(context), 100));
    assert_ok(wi_buffer_write(wi_context_device(context), buffer.memory, 0, data, 100));
    assert_ok(wi_buffer_fill_zero(wi_context_device(context), buffer.memory, 5, 6)); /* no multiple of four */
    assert_ok(wi_buffer_fill_zero(wi_context_device(context), buffer.memory, 40, 20));
    assert_ok(wi_buffer_fill_zero(wi_context_device(context), buffer.memory, 70, 0));
    assert_ok(wi_buffer_write(wi_context_device(context), buffer.memory, 90, data, 3));
    assert_ok(wi_buffer_write(wi_context_device(context), buffer.memory, 0, NULL, 0));
    assert_ok(wi_buffer_read(wi_context_device(context), buffer.memory, 0, back, 100));
    for (int i = 0; i < 100; i++) {
        const bool cleared = (i >= 5 && i < 11) || (i >= 40 && i < 60);
        assert_int_equal(back[i], cleared ? 0 : i >= 90 && i < 93 ? i - 89 : i + 1);
    }
    assert_fails(wi_buffer_read(wi_context_device(context), buffer.memory, 60, back, 50), WEFT_ERROR_OPENCL,
        "reading 50 bytes at offset 60 of a buffer: CL_INVALID_VALUE");
    assert_status(
        wi_buffer_write(wi_context_device(context), buffer.memory, 101, back, 1), WEFT_ERROR_OPENCL);
    wi_buffer_release(&buffer, wi_context_device(context));
    weft_context_release(context);
}

static size_t mapped_pages(void) {
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages;
}

/* Odd sizes from below what lies in large pages to some of them: first and last bytes are the buffer's own. */
static void use_large_buffers(void) {
    weft_context *const context = open_limited(0);
    wi_device *const device = wi_context_device(context);
    for (size_t bytes = (4 << 20) - 1; bytes < 40 << 20; bytes = bytes * 2 + 3) {
        const unsigned char ends[] = {7, 9};
        unsigned char back[] = {0, 0};
        wi_buffer buffer;
        assert_ok(wi_buffer_create(&buffer, device, bytes));
        assert_ok(wi_buffer_fill_zero(device, buffer.memory, 0, bytes));
        assert_ok(wi_buffer_write(device, buffer.memory, 0, &ends[0], 1));
        assert_ok(wi_buffer_write(device, buffer.memory, bytes - 1, &ends[1], 1));
        assert_ok(wi_buffer_read(device, buffer.memory, 0, &back[0], 1));
        assert_ok(wi_buffer_read(device, buffer.memory, bytes - 1, &back[1], 1));
        assert_memory_equal(back, ends, 2);
        wi_buffer_release(&buffer, device);
    }
    weft_context_release(context);
}

static void memory_of_large_buffers_is_given_back(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) use_large_buffers();
    const size_t before = mapped_pages();
    for (int i = 0; i < 5; i++) use_large_buffers();
    /* Of 300 MB. The address sanitizer keeps for a while what drivers free. */
    assert_true(mapped_pages() < before + (100 << 20) / 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_large_buffers_is_given_back),
        cmocka_unit_test(released_buffers_are_used_again),
        cmocka_unit_test(the_best_fit_is_taken),
        cmocka_unit_test(the_pool_does_not_grow_without_end),
        cmocka_unit_test(what_is_unused_has_a_bound),
        cmocka_unit_test(what_is_wasted_has_a_bound),
        cmocka_unit_test(the_limit_is_kept_with_exact_figures),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(copies_keep_to_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
