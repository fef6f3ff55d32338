/* A weft_predict that fails leaves nothing on the device's queue that still reads the caller's buffers.
 *
 * The test stands between the library and OpenCL: it makes launches fail, and knows which copies from memory of
 * the host may still be under way. */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE
#include "support/fixture.h"

#include "cl/context.h"
#include <CL/cl.h>
#include <dlfcn.h>
#include <string.h>

static bool launches_fail;
static int copies; /* from memory of the host, begun and not waited for */

static void *next_of(const char *name) {
    void *const found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint count, const cl_event *before,
    cl_event *event) {
    cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
        cl_uint, const cl_event *, cl_event *);
    void *const found = next_of("clEnqueueNDRangeKernel");
    memcpy(&next, &found, sizeof next);
    if (launches_fail) return CL_OUT_OF_RESOURCES;
    return next(queue, kernel, dimensions, offset, global, local, count, before, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool wait, size_t offset, size_t bytes,
    const void *data, cl_uint count, const cl_event *before, cl_event *event) {
    cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *,
        cl_event *);
    void *const found = next_of("clEnqueueWriteBuffer");
    memcpy(&next, &found, sizeof next);
    copies = wait ? 0 : copies + 1; /* queues are in order */
    return next(queue, memory, wait, offset, bytes, data, count, before, event);
}

cl_int clFinish(cl_command_queue queue) {
    cl_int (*next)(cl_command_queue);
    void *const found = next_of("clFinish");
    memcpy(&next, &found, sizeof next);
    copies = 0;
    return next(queue);
}

enum { BATCH = 64, WIDTH = 1024 };

static weft_status predict(weft_tensor *y, float *result, size_t bytes) {
    static float numbers[BATCH][WIDTH];
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < WIDTH; k++) numbers[i][k] = (float)(i % 7);
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = numbers};
    return weft_predict(y, BATCH, &column, 1, result, bytes);
}

static void a_failed_launch_is_waited_for(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const y = weft_sum(weft_input(graph, "x", WEFT_F32, WIDTH), 1);
    float result[BATCH] = {0};
    (void)state;
    for (int i = 0; i < 3; i++) assert_weft_ok(predict(y, result, sizeof result)); /* a second run waits */
    launches_fail = true;
    assert_weft_fails(WEFT_ERROR_OPENCL, predict(y, result, sizeof result), "CL_OUT_OF_RESOURCES");
    launches_fail = false;
    assert_int_equal(copies, 0);
    assert_weft_ok(predict(y, result, sizeof result));
    for (int i = 0; i < BATCH; i++) assert_true(result[i] == (float)(i % 7 * WIDTH));
    weft_graph_release(graph);
}

static void a_refused_read_is_waited_for(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const y = weft_sum(weft_input(graph, "x", WEFT_F32, WIDTH), 1);
    float result[BATCH] = {0};
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, predict(y, result, sizeof result - 4), "252");
    assert_int_equal(copies, 0);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_launch_is_waited_for),
        cmocka_unit_test(a_refused_read_is_waited_for),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
