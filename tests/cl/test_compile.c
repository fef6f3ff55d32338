/* The options that programs are compiled with where a driver must not get some of them. */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(f16_is_optimised_where_it_must_be)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
