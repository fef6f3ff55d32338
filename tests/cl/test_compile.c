/* The options that programs are compiled with where a driver must not get some of them, and what stands around them. */
#include "cl/build_log.h"
#include "cl/compile.h"
#include "cl/context.h"
#include "cl/quirks.h"
#include "support/checks.h"

#include <string.h>

#define PLAIN "__kernel void k(__global float *x) { x[0] = 1.0f; }\n"
#define HALF  "__kernel void k(__global float *x, __global const half *y) { x[0] = vload_half(1, y); }\n"

/* What the driver says that it compiled with. */
static void compile_with(char *options, size_t capacity, wi_device *device, const char *source) {
    wi_compiled made;
    assert_ok(wi_compile(&made, device, "a program", source, "-w " WI_OPTION_UNOPTIMISED " -D AFTER"));
    assert_int_equal(made.error, CL_SUCCESS);
    assert_int_equal(
        clGetProgramBuildInfo(made.program, device->id, CL_PROGRAM_BUILD_OPTIONS, capacity, options, NULL),
        CL_SUCCESS);
    clReleaseProgram(made.program);
}

static void assert_compiled(wi_device *device, unsigned quirks, const char *source, bool optimised) {
    const unsigned own = device->caps.quirks;
    char options[512] = "";
    device->caps.quirks = (own & ~(unsigned)WI_QUIRK_UNOPTIMISED_HALF) | quirks;
    compile_with(options, sizeof options, device, source);
    device->caps.quirks = own;
    assert_int_equal(strstr(options, WI_OPTION_UNOPTIMISED) == NULL, optimised);
    assert_non_null(strstr(options, "-w "));
    assert_non_null(strstr(options, "-D AFTER"));
}

static void f16_is_optimised_where_it_must_be(void **state) {
    (void)state;
    weft_context *context = NULL;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    wi_device *const device = wi_context_device(context);
    assert_compiled(device, 0, PLAIN, false);
    assert_compiled(device, 0, HALF, false);
    assert_compiled(device, WI_QUIRK_UNOPTIMISED_HALF, PLAIN, false);
    assert_compiled(device, WI_QUIRK_UNOPTIMISED_HALF, HALF, true);
    weft_context_release(context);
}

static cl_int outcome_of(wi_device *device, const char *source, const char *options) {
    wi_compiled made;
    assert_ok(wi_compile(&made, device, "a program", source, options));
    clReleaseProgram(made.program);
    return made.error;
}

/* What a program with vectors of 16 floats is told on processors with AVX-512, and no other. */
#define ONLY_WIDENED                                                                                         \
    "#if defined(__clang__) && defined(__AVX512F__) && !defined(WEFT_WIDENED)\n"                             \
    "#error \"vectors may be cut\"\n"                                                                        \
    "#endif\n" PLAIN
#define NOT_WIDENED                                                                                          \
    "#ifdef WEFT_WIDENED\n"                                                                                  \
    "#error \"there are no vectors of 16 floats\"\n"                                                         \
    "#endif\n" PLAIN
#define WRONG_LINE "\n\n__kernel void k(__global float *x) { x[0] = undeclared; }\n"

static void vectors_of_processors_stay_whole(void **state) {
    (void)state;
    weft_context *context = NULL;
    wi_compiled made;
    char *log = NULL;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    wi_device *const device = wi_context_device(context);
    assert_int_equal(outcome_of(device, ONLY_WIDENED, "-w -D WEFT_LANES=16"), CL_SUCCESS);
    assert_int_equal(outcome_of(device, NOT_WIDENED, "-w -D WEFT_LANES=1"), CL_SUCCESS);
    assert_int_equal(outcome_of(device, PLAIN, "-w"), CL_SUCCESS);
    assert_ok(wi_compile(&made, device, "a program", WRONG_LINE, "-w -D WEFT_LANES=16"));
    assert_int_equal(made.error, CL_BUILD_PROGRAM_FAILURE);
    assert_ok(wi_build_log_read(&log, device, made.program, made.error));
    assert_non_null(strstr(log, ":3:"));
    wi_release(device->host.allocator, log);
    clReleaseProgram(made.program);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(f16_is_optimised_where_it_must_be),
        cmocka_unit_test(vectors_of_processors_stay_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
