/* A small program that is built, run and checked (contract in small_program.h). */
#include "support/small_program.h"

#include "cl/buffer.h"
#include "cl/launch.h"

enum { COUNT = 64 };

static weft_status run_kernel(
    weft_context *context, wi_program *program, const char *name, cl_mem memory, float argument) {
    wi_launch launch = {.dimensions = 1, .global = {COUNT, 1, 1}, .local = {1, 1, 1}, .name = name};
    weft_status status = wi_program_kernel(&launch.kernel, program, name);
    if (status != WEFT_OK) return status;
    WI_TRY_DONE(wi_cl_check(clSetKernelArg(launch.kernel, 0, sizeof memory, &memory), "argument 0"));
    WI_TRY_DONE(wi_cl_check(clSetKernelArg(launch.kernel, 1, sizeof argument, &argument), "argument 1"));
    WI_TRY_DONE(wi_launch_run(&launch, wi_context_device(context)));
done:
    wi_launch_clear(&launch);
    return status;
}

weft_status small_program_run(weft_context *context, wi_program *program, bool *right) {
    float data[COUNT];
    wi_buffer buffer;
    *right = false;
    for (int i = 0; i < COUNT; i++) data[i] = (float)i;
    weft_status status = wi_buffer_create(&buffer, wi_context_device(context), sizeof data);
    if (status != WEFT_OK) return status;
    WI_TRY_DONE(wi_buffer_write(wi_context_device(context), buffer.memory, 0, data, sizeof data));
    WI_TRY_DONE(run_kernel(context, program, "scale", buffer.memory, 3.0f));
    WI_TRY_DONE(run_kernel(context, program, "shift", buffer.memory, 0.5f));
    WI_TRY_DONE(wi_buffer_read(wi_context_device(context), buffer.memory, 0, data, sizeof data));
    *right = true;
    for (int i = 0; i < COUNT; i++) *right = *right && data[i] == 3.0f * (float)i + 0.5f;
done:
    wi_buffer_release(&buffer, wi_context_device(context));
    return status;
}

weft_status small_program_use(weft_context *context, const char *options) {
    wi_program *program = NULL;
    bool right = false;
    WI_TRY(wi_program_get(&program, wi_context_device(context), "the small program", SMALL_SOURCE, options));
    WI_TRY(small_program_run(context, program, &right));
    if (!right) WI_FAIL(WEFT_ERROR_INTERNAL, "the small program gave wrong numbers");
    return WEFT_OK;
}
