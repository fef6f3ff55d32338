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
    wi_buffer first, second, third;
    (void)state;
    assert_held(context, 0, 0);
    assert_ok(wi_buffer_create(&first, wi_context_device(context), 1000));
    cl_mem const memory = first.memory;
    assert_held(context, 1000, 1000);
    wi_buffer_release(&first, wi_context_device(context));
    wi_buffer_release(&first, wi_context_device(context)); /* a zeroed buffer is fine */
    assert_held(context, 1000, 1000);
    assert_ok(wi_buffer_create(&second, wi_context_device(context), 900));
    assert_ptr_equal(second.memory, memory);
    assert_int_equal(second.bytes, 900);
    assert_int_equal(second.capacity, 1000);
    wi_buffer_release(&second, wi_context_device(context));
    assert_ok(wi_buffer_create(&third, wi_context_device(context), 500)); /* half of it would be wasted */
    assert_ptr_not_equal(third.memory, memory);
    assert_ok(wi_buffer_create(&second, wi_context_device(context), 1001)); /* too small */
    assert_ptr_not_equal(second.memory, memory);
    assert_held(context, 2501, 2501);
    wi_buffer_release(&second, wi_context_device(context));
    wi_buffer_release(&third, wi_context_device(context));
    weft_context_memory(context, NULL, NULL);
    weft_context_release(context);
}

static void the_best_fit_is_taken(void **state) {
    weft_context *const context = open_limited(0);
    wi_buffer buffers[3], again;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_ok(wi_buffer_create(&buffers[i], wi_context_device(context), 1200 - 100 * i));
    cl_mem const smallest = buffers[2].memory;
    for (size_t i = 0; i < 3; i++) wi_buffer_release(&buffers[i], wi_context_device(context));
    assert_ok(wi_buffer_create(&again, wi_context_device(context), 980));
    assert_ptr_equal(again.memory, smallest);
    wi_buffer_release(&again, wi_context_device(context));
    weft_context_release(context);
}

static void the_pool_does_not_grow_without_end(void **state) {
    weft_context *const context = open_limited(0);
    wi_buffer buffers[200];
    size_t held = 0, peak = 0;
    (void)state;
    for (size_t i = 0; i < 200; i++) assert_ok(wi_buffer_create(&buffers[i], wi_context_device(context), 64));
    for (size_t i = 0; i < 200; i++) wi_buffer_release(&buffers[i], wi_context_device(context));
    weft_context_memory(context, &held, &peak);
    assert_int_equal(peak, 200 * 64);
    assert_in_range(held, 64, 100 * 64);
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
        cmocka_unit_test(the_limit_is_kept_with_exact_figures),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(copies_keep_to_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
