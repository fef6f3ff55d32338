/* What the first start of a network compiles, which is most of its time: programs, and the kernels that are launched, as
 * drivers compile kernels where they are launched first, once for each size of groups.
 *
 * The test stands between the library and OpenCL. Whoever makes a network compile more finds the numbers here. */
/* test slow */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE
#include "support/fixture.h"

#include "bench_networks.h"
#include "cl/context.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is compiled ---- */

enum { MOST_KERNELS = 256, NAME = 64 };

typedef struct compiled_kernel {
    cl_program program;
    char name[NAME];
    size_t local[3];
} compiled_kernel;

static compiled_kernel kernels[MOST_KERNELS];
static int kernel_count, program_count;

static void *next_of(const char *name) {
    void *const found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

cl_program clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error) {
    static cl_program (*next)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    void *const found = next_of("clCreateProgramWithSource");
    memcpy(&next, &found, sizeof next);
    program_count++;
    return next(context, count, strings, lengths, error);
}

static void note_kernel(cl_kernel kernel, cl_uint dimensions, const size_t *local) {
    compiled_kernel noted;
    memset(&noted, 0, sizeof noted);
    assert_int_equal(
        clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof noted.program, &noted.program, NULL), CL_SUCCESS);
    assert_int_equal(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, NAME, noted.name, NULL), CL_SUCCESS);
    for (cl_uint i = 0; local && i < dimensions; i++) noted.local[i] = local[i];
    for (int i = 0; i < kernel_count; i++)
        if (kernels[i].program == noted.program && strcmp(kernels[i].name, noted.name) == 0 &&
            memcmp(kernels[i].local, noted.local, sizeof noted.local) == 0)
            return;
    assert_true(kernel_count < MOST_KERNELS);
    kernels[kernel_count++] = noted;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait,
    cl_event *event) {
    static cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
        const size_t *, cl_uint, const cl_event *, cl_event *);
    void *const found = next_of("clEnqueueNDRangeKernel");
    memcpy(&next, &found, sizeof next);
    note_kernel(kernel, dimensions, local);
    return next(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}

/* ---- the first training step of AlexNet-R, with nothing cached, on a device whose kernels are tested ---- */

/* Of those there are 6, 32, 7 and 41 on a processor with AVX-512; another may take other kernels. */
enum { PROGRAMS_GPU = 7, KERNELS_GPU = 34, PROGRAMS_CPU = 8, KERNELS_CPU = 43 };

static void assert_few(const wi_device *device) {
    const bool gpu = device->caps.device_class == WEFT_CLASS_GPU;
    print_message("class %s: %d programs and %d kernels\n", gpu ? "gpu" : "cpu", program_count, kernel_count);
    assert_in_range(program_count, 2, gpu ? PROGRAMS_GPU : PROGRAMS_CPU);
    assert_in_range(kernel_count, 10, gpu ? KERNELS_GPU : KERNELS_CPU);
}

static void first_step_compiles_few_kernels(void **state) {
    (void)state;
    bench_model model;
    if (test_reduced()) {
        print_message("skipped: WEFT_TEST_REDUCED asks for small shapes, and this is a whole network\n");
        skip();
    }
    assert_int_equal(setenv("WEFT_SELF_TEST", "1", 1), 0);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""});
    assert_weft_ok(
        bench_model_create(&model, context, bench_network_find("AlexNet-R"), &(bench_setting){.batch = 16}));
    assert_weft_ok(weft_plan_run(model.plan));
    assert_weft_ok(weft_plan_wait(model.plan));
    assert_few(wi_context_device(context));
    bench_model_clear(&model);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_step_compiles_few_kernels)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
