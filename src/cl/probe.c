/* See probe.h. */
#include "cl/probe.h"
#include "cl/buffer.h"
#include "cl/kernel_source.h"
#include "cl/program_cache.h"

static weft_status run(
    const wi_probe *probe, wi_device *device, wi_program *program, cl_mem inputs, cl_mem results) {
    wi_launch launch = {
        .dimensions = 1, .global = {probe->items, 1, 1}, .local = {probe->group, 1, 1}, .name = "the probe"};
    weft_status status = wi_program_kernel(&launch.kernel, program, probe->kernel);
    if (status != WEFT_OK) return status;
    WI_TRY_DONE(
        wi_cl_check(clSetKernelArg(launch.kernel, 0, sizeof inputs, &inputs), "setting the probe's input"));
    WI_TRY_DONE(wi_cl_check(
        clSetKernelArg(launch.kernel, 1, sizeof results, &results), "setting the probe's output"));
    WI_TRY_DONE(wi_buffer_write(device, inputs, 0, probe->inputs, probe->input_bytes));
    WI_TRY_DONE(wi_launch_run(&launch, device));
    WI_TRY_DONE(wi_buffer_read(device, results, 0, probe->results, probe->result_bytes));
done:
    wi_launch_clear(&launch);
    return status;
}

weft_status wi_probe_program(
    wi_program **program, wi_device *device, const char *name, const char *file, const char *text) {
    wi_text source;
    wi_text_init(&source, device->host.allocator);
    weft_status status = wi_kernel_source_append(&source, "common.clh");
    if (status == WEFT_OK && file) status = wi_kernel_source_append(&source, file);
    wi_text_append(&source, "%s", text);
    if (status == WEFT_OK && source.failed) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = wi_program_get(program, device, name, source.data, NULL);
    wi_text_clear(&source);
    return status;
}

weft_status wi_probe_run(const wi_probe *probe, wi_device *device, wi_program *program) {
    cl_int error = CL_SUCCESS;
    cl_mem results = NULL;
    weft_status status = WEFT_OK;
    cl_mem inputs = clCreateBuffer(device->cl, CL_MEM_READ_ONLY, probe->input_bytes, NULL, &error);
    WI_TRY_DONE(wi_cl_check(error, "making the probe's input"));
    results = clCreateBuffer(device->cl, CL_MEM_READ_WRITE, probe->result_bytes, NULL, &error);
    WI_TRY_DONE(wi_cl_check(error, "making the probe's output"));
    status = run(probe, device, program, inputs, results);
done:
    if (inputs) clReleaseMemObject(inputs);
    if (results) clReleaseMemObject(results);
    return status;
}
