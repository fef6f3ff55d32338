/* See bench_copy.h. */
#include "bench_copy.h"
#include "base/platform.h"
#include "cl/context.h"
#include "cl/kernel_source.h"
#include "cl/program.h"

/* Memory that was never written is one page of zeros many times over on a CPU: a copy would read its cache. To write it for the first
 * time may take a second, which whoever times something else next must not wait for. */
static weft_status touch(weft_context *context, const wi_buffer *buffer) {
    const cl_float one = 1.0f;
    return wi_cl_check(clEnqueueFillBuffer(wi_context_device(context)->queue, buffer->memory, &one,
                           sizeof one, 0, buffer->bytes, 0, NULL, NULL),
        "clEnqueueFillBuffer");
}

static weft_status create(
    bench_copy *copy, weft_context *context, const char *kernel, size_t from, size_t to) {
    wi_program *program = NULL;
    wi_text source;
    weft_status status;
    wi_text_init(&source, NULL);
    copy->launch.name = kernel;
    WI_TRY_DONE(wi_kernel_source_append(&source, "common.clh"));
    WI_TRY_DONE(wi_kernel_source_append(&source, "copy.cl"));
    WI_TRY_DONE(wi_program_get(&program, wi_context_device(context), "copy.cl", source.data, NULL));
    WI_TRY_DONE(wi_program_kernel(&copy->launch.kernel, program, kernel));
    WI_TRY_DONE(wi_buffer_create(&copy->from, wi_context_device(context), from));
    WI_TRY_DONE(wi_buffer_create(&copy->to, wi_context_device(context), to));
    WI_TRY_DONE(touch(context, &copy->from));
    WI_TRY_DONE(touch(context, &copy->to));
    WI_TRY_DONE(wi_queue_finish(wi_context_device(context)));
    const cl_mem memory[] = {copy->from.memory, copy->to.memory};
    for (cl_uint i = 0; i < 2; i++)
        WI_TRY_DONE(wi_cl_check(
            clSetKernelArg(copy->launch.kernel, i, sizeof memory[i], &memory[i]), "clSetKernelArg"));
done:
    wi_text_clear(&source);
    return status;
}

weft_status bench_copy_create(bench_copy *copy, weft_context *context, size_t bytes) {
    return create(copy, context, "copy", bytes, bytes);
}

/* A work-item writes one vector, of at least two that it reads. */
weft_status bench_read_create(bench_copy *copy, weft_context *context, size_t bytes) {
    return create(copy, context, "read", 2 * bytes, bytes);
}

void bench_copy_clear(bench_copy *copy, weft_context *context) {
    wi_launch_clear(&copy->launch);
    wi_buffer_release(&copy->from, wi_context_device(context));
    wi_buffer_release(&copy->to, wi_context_device(context));
}

weft_status bench_copy_size(bench_copy *copy, weft_context *context, double wanted, double *bytes) {
    const bool cpu = wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU;
    const double values = wanted / (cpu ? 128 : 8);
    const size_t most = cpu ? (size_t)wi_context_device(context)->caps.compute_units * 8 : 1 << 16,
                 group = cpu ? 1 : 64;
    size_t items = values / 64 < (double)most ? (size_t)(values / 64) : most;
    items = items < group ? group : items / group * group;
    const cl_int share = (cl_int)(values / (double)items) > 1 ? (cl_int)(values / (double)items) : 1;
    const cl_int count = (cl_int)items;
    *bytes = (double)items * (double)share * (cpu ? 128 : 8);
    copy->launch.dimensions = 1;
    for (int i = 0; i < 3; i++) copy->launch.global[i] = copy->launch.local[i] = 1;
    copy->launch.global[0] = items;
    copy->launch.local[0] = group;
    const cl_kernel kernel = copy->launch.kernel;
    WI_TRY(wi_cl_check(clSetKernelArg(kernel, 2, sizeof share, &share), "clSetKernelArg"));
    return wi_cl_check(clSetKernelArg(kernel, 3, sizeof count, &count), "clSetKernelArg");
}

weft_status bench_copy_time(double *seconds, const bench_copy *copy, weft_context *context) {
    const double begin = wi_clock_seconds();
    WI_TRY(wi_launch_run(&copy->launch, wi_context_device(context)));
    WI_TRY(wi_queue_finish(wi_context_device(context)));
    *seconds = wi_clock_seconds() - begin;
    return WEFT_OK;
}
