/* Allocator hooks, arena, growing string and growing array, with and without memory. */
#include "base/key_map.h"
#include "base/memory.h"
#include "support/checks.h"
#include "support/scratch.h"
#include <limits.h>

static void hooks_serve_everything(void **state) {
    scratch_allocator allocator;
    (void)state;
    scratch_allocator_init(&allocator, -1);
    unsigned char *block = wi_allocate(&allocator.hooks, 100);
    for (int i = 0; i < 100; i++) assert_int_equal(block[i], 0);
    block = wi_reallocate(&allocator.hooks, block, 200);
    char *const copy = wi_copy_string(&allocator.hooks, "warp");
    assert_string_equal(copy, "warp");
    assert_int_equal(atomic_load(&allocator.live), 2);
    wi_release(&allocator.hooks, block);
    wi_release(&allocator.hooks, copy);
    wi_release(&allocator.hooks, NULL);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void a_failing_hook_is_an_error(void **state) {
    scratch_allocator allocator;
    (void)state;
    scratch_allocator_init(&allocator, 0);
    assert_null(wi_allocate(&allocator.hooks, 4321));
    assert_non_null(strstr(weft_last_error(), "4321"));
    assert_null(wi_copy_string(&allocator.hooks, "warp"));
    assert_null(wi_reallocate(&allocator.hooks, NULL, 1234));
    assert_non_null(strstr(weft_last_error(), "1234"));
}

static void an_overflowing_array_is_refused(void **state) {
    scratch_allocator allocator;
    (void)state;
    scratch_allocator_init(&allocator, -1);
    assert_null(wi_allocate_array(&allocator.hooks, SIZE_MAX / 4, 8));
    assert_int_equal(atomic_load(&allocator.made), 0);
    void *const none = wi_allocate_array(&allocator.hooks, 0, 8);
    assert_non_null(none); /* NULL means failure only */
    wi_release(&allocator.hooks, none);
}

static void an_arena_hands_out_zeroed_aligned_memory(void **state) {
    scratch_allocator allocator;
    wi_arena arena;
    unsigned char *taken[200];
    (void)state;
    scratch_allocator_init(&allocator, -1);
    wi_arena_init(&arena, &allocator.hooks);
    for (size_t i = 0; i < 200; i++) {
        taken[i] = wi_arena_take(&arena, i * 7);
        assert_int_equal((uintptr_t)taken[i] % 16, 0);
        for (size_t j = 0; j < i * 7; j++) assert_int_equal(taken[i][j], 0);
        memset(taken[i], (int)i, i * 7);
    }
    for (size_t i = 0; i < 200; i++) {
        for (size_t j = 0; j < i * 7; j++) assert_int_equal(taken[i][j], i);
    }
    assert_non_null(wi_arena_take(&arena, 1 << 20));
    assert_string_equal(wi_arena_string(&arena, "weft"), "weft");
    assert_true(arena.bytes >= (1 << 20) + 7 * 199 * 100);
    assert_null(wi_arena_take(&arena, SIZE_MAX - 8));
    wi_arena_clear(&arena);
    assert_int_equal(atomic_load(&allocator.live), 0);
    assert_int_equal(arena.bytes, 0);
    assert_non_null(wi_arena_take(&arena, 1));
    wi_arena_clear(&arena);
}

/* Pieces of several megabytes, and one that is larger than a block. */
static void a_large_arena_is_like_any(void **state) {
    enum { COUNT = 100, PART = 65521 };
    unsigned char *taken[COUNT];
    wi_arena arena;
    (void)state;
    wi_arena_init(&arena, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        taken[i] = wi_arena_take(&arena, PART);
        assert_int_equal((uintptr_t)taken[i] % 16, 0);
        for (size_t j = 0; j < PART; j++) assert_true(taken[i][j] == 0);
        memset(taken[i], (int)i, PART);
    }
    assert_non_null(wi_arena_take(&arena, 5 << 20)); /* more than a block */
    for (size_t i = 0; i < COUNT; i++) assert_true(taken[i][0] == i && taken[i][PART - 1] == i);
    wi_arena_clear(&arena);
    assert_int_equal(arena.bytes, 0);
}

static void an_arena_without_memory_fails(void **state) {
    scratch_allocator allocator;
    wi_arena arena;
    (void)state;
    scratch_allocator_init(&allocator, 1);
    wi_arena_init(&arena, &allocator.hooks);
    int taken = 0;
    while (taken < 100000 && wi_arena_take(&arena, 64)) taken++;
    assert_in_range(taken, 1, 99999);
    assert_null(wi_arena_string(&arena, "a text that is longer than nothing"));
    wi_arena_clear(&arena);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void a_text_grows(void **state) {
    scratch_allocator allocator;
    wi_text text;
    (void)state;
    scratch_allocator_init(&allocator, -1);
    wi_text_init(&text, &allocator.hooks);
    assert_null(text.data);
    for (int i = 0; i < 1000; i++) wi_text_append(&text, "%03d,", i);
    wi_text_append_bytes(&text, "tail", 4);
    assert_false(text.failed);
    assert_int_equal(text.length, 4004);
    assert_int_equal(strlen(text.data), 4004);
    assert_memory_equal(text.data + 4 * 567, "567,", 4);
    assert_string_equal(text.data + 4000, "tail");
    wi_text_clear(&text);
    assert_null(text.data);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void a_text_formats(void **state) {
    wi_text text;
    (void)state;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "%s%d%c", "", 0, 'x');
    wi_text_append(&text, " %d %d %d%%", INT_MIN, INT_MAX, -7);
    wi_text_append(&text, " %s:%c", "word", '%');
    wi_text_append(
        &text, " %s %d %5.2f %d", "then", 12, 1.5, 345); /* the third is left to the formatter of C */
    assert_string_equal(text.data, "0x -2147483648 2147483647 -7% word:% then 12  1.50 345");
    assert_int_equal(text.length, strlen(text.data));
    wi_text_clear(&text);
}

static void a_text_keeps_its_failure(void **state) {
    scratch_allocator allocator;
    wi_text text;
    (void)state;
    scratch_allocator_init(&allocator, 1);
    wi_text_init(&text, &allocator.hooks);
    for (int i = 0; i < 100; i++) wi_text_append(&text, "%0100d", i);
    assert_true(text.failed);
    atomic_store(&allocator.fail_after, -1);
    const size_t length = text.length;
    wi_text_append(&text, "x");
    assert_true(text.failed); /* a gap in the middle must not go unnoticed */
    assert_int_equal(text.length, length);
    wi_text_clear(&text);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void a_text_has_at_most_half_the_address_space(void **state) {
    wi_text text;
    (void)state;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "kept");
    wi_text_append_bytes(&text, "", SIZE_MAX / 2 - 1);
    assert_true(text.failed);
    assert_int_equal(text.length, 4);
    assert_non_null(strstr(weft_last_error(), "out of host memory"));
    wi_text_clear(&text);
}

static void an_array_grows_by_doubling(void **state) {
    scratch_allocator allocator;
    void *items = NULL;
    size_t capacity = 0;
    (void)state;
    scratch_allocator_init(&allocator, -1);
    for (size_t count = 1; count <= 1000; count++) {
        assert_ok(wi_grow(&allocator.hooks, &items, &capacity, count, sizeof(int)));
        ((int *)items)[count - 1] = (int)count;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(((int *)items)[i], i + 1);
    assert_in_range(atomic_load(&allocator.made), 2, 12);
    const size_t before = capacity;
    assert_status(wi_grow(&allocator.hooks, &items, &capacity, SIZE_MAX / 2, sizeof(int)), WEFT_ERROR_MEMORY);
    assert_status(wi_grow(&allocator.hooks, &items, &capacity, SIZE_MAX, 1), WEFT_ERROR_MEMORY);
    atomic_store(&allocator.fail_after, 0);
    assert_status(wi_grow(&allocator.hooks, &items, &capacity, before + 1, sizeof(int)), WEFT_ERROR_MEMORY);
    assert_int_equal(capacity, before);
    assert_int_equal(((int *)items)[999], 1000);
    wi_release(&allocator.hooks, items);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

/* Keys that differ in a word, in their length or in bytes of the last word are others. */
static void a_map_knows_its_keys(void **state) {
    enum { COUNT = 2000 };
    static int numbers[COUNT];
    wi_arena arena;
    (void)state;
    wi_arena_init(&arena, NULL);
    wi_key_map *const map = wi_key_map_new(&arena);
    assert_non_null(map);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            wi_key_begin(map);
            for (int word = 0; word < i % 7; word++) wi_key_add(map, 0);
            wi_key_add_bytes(map, &i, sizeof i);
            void **const value = wi_key_end(map);
            assert_non_null(value);
            assert_ptr_equal(*value, round ? &numbers[i] : NULL);
            *value = &numbers[i];
        }
    }
    assert_int_equal(map->count, COUNT);
    wi_arena_clear(&arena);
}

static void a_map_without_memory_fails(void **state) {
    scratch_allocator allocator;
    wi_arena arena;
    (void)state;
    scratch_allocator_init(&allocator, 0);
    wi_arena_init(&arena, &allocator.hooks);
    assert_null(wi_key_map_new(&arena));
    wi_key_map map = {.arena = &arena};
    wi_key_begin(&map);
    wi_key_add(&map, 1);
    assert_true(map.failed);
    assert_null(wi_key_end(&map));
    wi_arena_clear(&arena);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_serve_everything),
        cmocka_unit_test(a_failing_hook_is_an_error),
        cmocka_unit_test(an_overflowing_array_is_refused),
        cmocka_unit_test(an_arena_hands_out_zeroed_aligned_memory),
        cmocka_unit_test(a_large_arena_is_like_any),
        cmocka_unit_test(an_arena_without_memory_fails),
        cmocka_unit_test(a_text_grows),
        cmocka_unit_test(a_text_formats),
        cmocka_unit_test(a_text_keeps_its_failure),
        cmocka_unit_test(a_text_has_at_most_half_the_address_space),
        cmocka_unit_test(an_array_grows_by_doubling),
        cmocka_unit_test(a_map_knows_its_keys),
        cmocka_unit_test(a_map_without_memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
