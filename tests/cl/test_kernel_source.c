/* The embedded kernel files and the folder that replaces them. */
#include "base/platform.h"
#include "cl/kernel_source.h"
#include "support/checks.h"
#include "support/scratch.h"

static void embedded_files_are_appended(void **state) {
    wi_text source;
    size_t count = 0;
    (void)state;
    unsetenv("WEFT_KERNEL_DIR");
    for (const wi_kernel_file *file = wi_kernel_files; file->name; file++, count++) {
        char *text;
        wi_text_init(&source, NULL);
        wi_text_append(&source, "#define BEFORE\n");
        assert_ok(wi_kernel_source_append(&source, file->name));
        assert_ok(wi_kernel_file_text(&text, file, NULL));
        assert_int_equal(strlen(text), file->text.bytes);
        if (!strstr(text, "\n#include")) assert_string_equal(source.data + 15, text);
        wi_release(NULL, text);
        assert_null(strstr(source.data, "\n#include"));
        wi_text_clear(&source);
    }
    assert_true(count > 0);
}

static void an_unknown_file_is_named(void **state) {
    wi_text source;
    (void)state;
    wi_text_init(&source, NULL);
    assert_fails(wi_kernel_source_append(&source, "weave.cl"), WEFT_ERROR_INTERNAL, "'weave.cl'");
    wi_text_clear(&source);
}

static void a_folder_replaces_file_by_file(void **state) {
    char *const folder = scratch_make();
    wi_text source;
    (void)state;
    assert_ok(wi_file_write_atomic(scratch_path(folder, "weave.cl"), "from the folder", 15));
    setenv("WEFT_KERNEL_DIR", folder, 1);
    wi_text_init(&source, NULL);
    assert_ok(wi_kernel_source_append(&source, "weave.cl"));
    assert_string_equal(source.data, "from the folder");
    assert_ok(wi_kernel_source_append(&source, "common.clh"));
    assert_non_null(strstr(source.data, "WEFT_LANES"));
    wi_text_clear(&source);
    unsetenv("WEFT_KERNEL_DIR");
    scratch_remove(folder);
}

static void a_folder_without_kernels_is_told_of(void **state) {
    char *const folder = scratch_make();
    scratch_log log = {0};
    const wi_log to = {.function = scratch_log_line, .user = &log};
    (void)state;
    assert_ok(wi_file_write_atomic(scratch_path(folder, "weave.cl"), "of no kernel", 12));
    setenv("WEFT_KERNEL_DIR", folder, 1);
    wi_kernel_source_check(&to);
    assert_non_null(strstr(log.text, "has no kernel file; the library's own files are used"));
    log = (scratch_log){0};
    assert_ok(wi_file_write_atomic(scratch_path(folder, "common.clh"), "of all kernels", 14));
    wi_kernel_source_check(&to);
    assert_int_equal(log.warnings, 0);
    unsetenv("WEFT_KERNEL_DIR");
    scratch_remove(folder);
}

static void an_inclusion_becomes_the_file(void **state) {
    static const char text[] = "first\n#include \"copy.cl\"\n  #include \"copy.cl\"\nlast";
    wi_text copy, source;
    (void)state;
    wi_text_init(&copy, NULL);
    wi_text_init(&source, NULL);
    assert_ok(wi_kernel_source_append(&copy, "copy.cl"));
    assert_ok(wi_kernel_source_expand(&source, text, sizeof text - 1));
    assert_memory_equal(source.data, "first\n", 6);
    assert_memory_equal(source.data + 6, copy.data, copy.length);
    assert_string_equal(source.data + 6 + copy.length, "  #include \"copy.cl\"\nlast");
    assert_fails(
        wi_kernel_source_expand(&source, "#include \"weave.clh\"\n", 21), WEFT_ERROR_INTERNAL, "'weave.clh'");
    wi_text_clear(&copy);
    wi_text_clear(&source);
}

static void endless_inclusion_is_an_error(void **state) {
    char *const folder = scratch_make();
    wi_text source;
    (void)state;
    assert_ok(wi_file_write_atomic(scratch_path(folder, "one.clh"), "#include \"two.clh\"", 18));
    assert_ok(wi_file_write_atomic(scratch_path(folder, "two.clh"), "#include \"one.clh\"", 18));
    setenv("WEFT_KERNEL_DIR", folder, 1);
    wi_text_init(&source, NULL);
    assert_fails(wi_kernel_source_append(&source, "one.clh"), WEFT_ERROR_INTERNAL, "include each other");
    wi_text_clear(&source);
    unsetenv("WEFT_KERNEL_DIR");
    scratch_remove(folder);
}

static void lack_of_memory_is_an_error(void **state) {
    scratch_allocator allocator;
    wi_text source;
    (void)state;
    scratch_allocator_init(&allocator, 0);
    wi_text_init(&source, &allocator.hooks);
    assert_status(wi_kernel_source_append(&source, "common.clh"), WEFT_ERROR_MEMORY);
    wi_text_clear(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedded_files_are_appended),
        cmocka_unit_test(an_unknown_file_is_named),
        cmocka_unit_test(a_folder_replaces_file_by_file),
        cmocka_unit_test(a_folder_without_kernels_is_told_of),
        cmocka_unit_test(an_inclusion_becomes_the_file),
        cmocka_unit_test(endless_inclusion_is_an_error),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
