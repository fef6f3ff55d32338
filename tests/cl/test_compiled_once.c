/* Kernels are compiled once where the driver would compile them three times, and optimised once where it would optimise the
 * program before. */
#include "cl/compile.h"
#include "cl/compiled_once.h"
#include "cl/context.h"
#include "cl/quirks.h"
#include "support/checks.h"

#include <string.h>
#include <unistd.h>

/* ---- the text ---- */

#define CALL " if (get_local_size(0) == 0) weft_once();"

static void assert_text(const char *source, const char *expected) {
    wi_text text;
    wi_text_init(&text, NULL);
    wi_compiled_once_append(&text, source);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    wi_text_clear(&text);
}

static void each_kernel_begins_with_the_call(void **state) {
    (void)state;
    assert_text("float f(float x) { return x; }\n", "float f(float x) { return x; }\n");
    assert_text("__kernel void k(__global int *x) { if (x) { x[0] = 1; } }\n",
        "__kernel void k(__global int *x) {" CALL " if (x) { x[0] = 1; } }\n");
    assert_text("__kernel void a(int x)\n{\n}\nint f() {}\n__kernel __attribute__((x)) void b() {}",
        "__kernel void a(int x)\n{" CALL "\n}\nint f() {}\n__kernel __attribute__((x)) void b() {" CALL "}");
    assert_text("#define K(n) \\\n    __kernel void n(void) { \\\n    }\nK(a)\n",
        "#define K(n) \\\n    __kernel void n(void) {" CALL " \\\n    }\nK(a)\n");
}

static void other_words_are_no_kernels(void **state) {
    (void)state;
    assert_text("int my__kernel() {}", "int my__kernel() {}");
    assert_text("int __kernels() {}", "int __kernels() {}");
    assert_text("/* a __kernel */", "/* a __kernel */");
    assert_text(
        "int my__kernel() {}\n__kernel void k() {}", "int my__kernel() {}\n__kernel void k() {" CALL "}");
    assert_text("", "");
}

/* ---- what the driver makes of it ---- */

enum { LINES = 1500 };

/* So long that its machine code is most of a program's binary, and of this process alone: what PoCL finds in its cache has other
 * bytes besides than what it compiles. */
static char *long_source(void) {
    wi_text text;
    wi_text_init(&text, NULL);
    wi_text_append(&text,
        "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(__global float *x) {\n"
        "    float y = x[get_global_id(0)];\n");
    for (int i = 0; i < LINES; i++) wi_text_append(&text, "    y = y * y - %d.25f;\n", i + (int)getpid());
    wi_text_append(&text, "    x[get_global_id(0)] = y;\n}\n");
    assert_false(text.failed);
    return text.data;
}

static size_t binary_bytes(wi_device *device, const char *source, unsigned quirks) {
    const unsigned own = device->caps.quirks;
    wi_compiled made;
    size_t bytes = 0;
    device->caps.quirks = quirks;
    assert_ok(wi_compile(&made, device, "a program", source, "-w"));
    device->caps.quirks = own;
    assert_int_equal(made.error, CL_SUCCESS);
    assert_int_equal(
        clGetProgramInfo(made.program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), CL_SUCCESS);
    clReleaseProgram(made.program);
    return bytes;
}

/* The binary has machine code and, in both cases, the program before it is made. */
static void a_kernel_is_compiled_once(void **state) {
    (void)state;
    weft_context *context = NULL;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    wi_device *const device = wi_context_device(context);
    /* the optimised program is short beside the machine code */
    const unsigned quirks = device->caps.quirks & ~(unsigned)WI_QUIRK_TWO_OPTIMISERS;
    const bool copies = quirks & WI_QUIRK_KERNEL_COPIES;
    if (copies) {
        char *const source = long_source();
        const size_t once = binary_bytes(device, source, quirks);
        const size_t thrice = binary_bytes(device, source, quirks & ~(unsigned)WI_QUIRK_KERNEL_COPIES);
        print_message("%zu bytes, and %zu with copies\n", once, thrice);
        wi_release(NULL, source);
        assert_true(3 * once < 2 * thrice); /* a third of the machine code, which is the greater part */
    } else {
        print_message("[  NOTE  ] this driver compiles kernels once by itself\n");
    }
    weft_context_release(context);
    if (!copies) skip();
}

/* A binary has the program before its kernels are optimised. In this one the optimiser replaces each line by its value. */
static void a_program_is_not_optimised(void **state) {
    weft_context *context = NULL;
    wi_text text;
    (void)state;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    wi_device *const device = wi_context_device(context);
    const unsigned quirks = device->caps.quirks;
    const bool twice = quirks & WI_QUIRK_TWO_OPTIMISERS;
    wi_text_init(&text, NULL);
    wi_text_append(&text,
        "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k(__global int *x) {\n"
        "    int y = 1;\n");
    for (int i = 0; i < LINES; i++) wi_text_append(&text, "    y = 3 * y + %d;\n", i);
    wi_text_append(&text, "    x[0] = y;\n}\n");
    assert_false(text.failed);
    if (twice) {
        const size_t parsed = binary_bytes(device, text.data, quirks);
        const size_t optimised = binary_bytes(device, text.data, quirks & ~(unsigned)WI_QUIRK_TWO_OPTIMISERS);
        print_message("%zu bytes, and %zu optimised\n", parsed, optimised);
        assert_true(2 * parsed > 3 * optimised);
    } else {
        print_message("[  NOTE  ] this driver does not optimise programs before their kernels\n");
    }
    wi_text_clear(&text);
    weft_context_release(context);
    if (!twice) skip();
}

/* An option that the driver's compiler does not know is an error as before, and not of the option that Weft adds. */
static void wrong_options_are_errors(void **state) {
    static const char option[] = "-cl-unknown-option";
    const char *source = "__kernel void k(void) {}\n";
    weft_context *context = NULL;
    wi_compiled made;
    (void)state;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    const wi_device *const device = wi_context_device(context);
    cl_program program = clCreateProgramWithSource(device->cl, 1, &source, NULL, NULL);
    assert_non_null(program);
    /* Drivers return CL_INVALID_BUILD_OPTIONS, or CL_BUILD_PROGRAM_FAILURE with the message of their compiler. */
    const cl_int expected = clBuildProgram(program, 1, &device->id, option, NULL, NULL);
    clReleaseProgram(program);
    assert_int_not_equal(expected, CL_SUCCESS);
    assert_ok(wi_compile(&made, device, "a program", source, option));
    assert_int_equal(made.error, expected);
    clReleaseProgram(made.program);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_is_not_optimised),
        cmocka_unit_test(wrong_options_are_errors), cmocka_unit_test(each_kernel_begins_with_the_call),
        cmocka_unit_test(other_words_are_no_kernels), cmocka_unit_test(a_kernel_is_compiled_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
