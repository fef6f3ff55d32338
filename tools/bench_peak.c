/* See bench_peak.h. */
#include "bench_peak.h"
#include "base/platform.h"
#include "cl/context.h"
#include "cl/kernel_source.h"
#include "cl/matrix_engine.h"
#include "cl/program.h"

static weft_status set_arguments(const bench_peak *peak, cl_int rounds) {
    const cl_kernel kernel = peak->launch.kernel;
    const cl_mem memory = peak->result.memory;
    const cl_float numbers[] = {0.999f, 0.001f};
    WI_CL(clSetKernelArg(kernel, 0, sizeof memory, &memory), "clSetKernelArg");
    WI_CL(clSetKernelArg(kernel, 1, sizeof rounds, &rounds), "clSetKernelArg");
    for (cl_uint i = 0; i < 2; i++)
        WI_CL(clSetKernelArg(kernel, 2 + i, sizeof(cl_float), &numbers[i]), "clSetKernelArg");
    return WEFT_OK;
}

/* Four products of tiles of 16 x 32 and 32 x 16 a round. */
static weft_status create_engine(bench_peak *peak, wi_device *device) {
    const size_t items = (size_t)device->caps.compute_units;
    const cl_int rounds = 20000;
    wi_program *program = NULL;
    wi_text source;
    weft_status status;
    wi_text_init(&source, NULL);
    WI_TRY_DONE(wi_kernel_source_append(&source, "common.clh"));
    WI_TRY_DONE(wi_kernel_source_append(&source, "peak_amx.cl"));
    WI_TRY_DONE(wi_program_get(&program, device, "peak_amx.cl", source.data, NULL));
    peak->launch =
        (wi_launch){.dimensions = 1, .global = {items, 1, 1}, .local = {1, 1, 1}, .name = "peak_amx"};
    WI_TRY_DONE(wi_program_kernel(&peak->launch.kernel, program, "peak_amx"));
    WI_TRY_DONE(wi_buffer_create(&peak->result, device, items * sizeof(float)));
    WI_TRY_DONE(wi_cl_check(
        clSetKernelArg(peak->launch.kernel, 0, sizeof(cl_mem), &peak->result.memory), "clSetKernelArg"));
    WI_TRY_DONE(
        wi_cl_check(clSetKernelArg(peak->launch.kernel, 1, sizeof rounds, &rounds), "clSetKernelArg"));
    peak->flops = 4.0 * 2.0 * 16.0 * 16.0 * 32.0 * (double)items * (double)rounds;
done:
    wi_text_clear(&source);
    return status;
}

weft_status bench_peak_create(bench_peak *peak, weft_context *context, bool engine) {
    if (engine && wi_context_device(context)->profile.engines & WI_ENGINE_AMX_BF16)
        return create_engine(peak, wi_context_device(context));
    const bool is_cpu = wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU;
    const size_t lanes = is_cpu ? 16 : 1, chains = is_cpu ? 20 : 16;
    const size_t items = (size_t)wi_context_device(context)->caps.compute_units * (is_cpu ? 64 : 4096);
    const cl_int rounds = is_cpu ? 7200 : 2000; /* 7200: of any number of chains */
    wi_program *program = NULL;
    wi_text source;
    weft_status status;
    wi_text_init(&source, NULL);
    WI_TRY_DONE(wi_kernel_source_append(&source, "peak.cl"));
    WI_TRY_DONE(wi_program_get(&program, wi_context_device(context), "peak.cl", source.data,
        is_cpu ? "-DWEFT_LANES=16" : "-DWEFT_LANES=1"));
    peak->launch = (wi_launch){
        .dimensions = 1, .global = {items, 1, 1}, .local = {is_cpu ? 1 : 64, 1, 1}, .name = "peak"};
    WI_TRY_DONE(wi_program_kernel(&peak->launch.kernel, program, "peak"));
    WI_TRY_DONE(wi_buffer_create(&peak->result, wi_context_device(context), items * lanes * sizeof(float)));
    status = set_arguments(peak, rounds);
    peak->flops = 2.0 * (double)items * (double)lanes * (double)chains * (double)rounds;
done:
    wi_text_clear(&source);
    return status;
}

void bench_peak_clear(bench_peak *peak, weft_context *context) {
    wi_launch_clear(&peak->launch);
    wi_buffer_release(&peak->result, wi_context_device(context));
}

weft_status bench_peak_time(double *seconds, const bench_peak *peak, weft_context *context) {
    const double begin = wi_clock_seconds();
    WI_TRY(wi_launch_run(&peak->launch, wi_context_device(context)));
    WI_TRY(wi_queue_finish(wi_context_device(context)));
    *seconds = wi_clock_seconds() - begin;
    return WEFT_OK;
}
