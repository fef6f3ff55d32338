/* See async_copies.h. The kernel is cl_kernels/product/async_probe.cl. */
#include "cl/async_copies.h"
#include "cl/buffer.h"
#include "cl/kernel_source.h"
#include "cl/launch.h"
#include "cl/program.h"
#include "cl/program_cache.h"
#include "cl/tuning.h"

/* As in the kernel: blocks of so many quads, a quad an item; the last item of each reads nothing. */
enum { ITEMS = 64, BLOCKS = 9, QUADS = BLOCKS * ITEMS, NUMBERS = 4 * QUADS };

/* Every other block is copied number by number, as the columns of four lines. */
static float wanted(const float *in, int e) {
    const int block = e / 4 / ITEMS, at = e % (4 * ITEMS);
    const int quad = block % 2 ? at % ITEMS : at / 4, part = block % 2 ? at / ITEMS : at % 4;
    return quad == ITEMS - 1 ? 0.0f : in[4 * (block * ITEMS + quad) + part];
}

static weft_status run_kernel(wi_device *device, wi_program *program, cl_mem in, cl_mem out) {
    wi_launch launch = {.dimensions = 1,
        .global = {ITEMS, 1, 1},
        .local = {ITEMS, 1, 1},
        .name = "the trial of asynchronous copies"};
    weft_status status = wi_program_kernel(&launch.kernel, program, "weft_async_probe");
    if (status != WEFT_OK) return status;
    WI_TRY_DONE(wi_cl_check(clSetKernelArg(launch.kernel, 0, sizeof in, &in), "setting the trial's input"));
    WI_TRY_DONE(
        wi_cl_check(clSetKernelArg(launch.kernel, 1, sizeof out, &out), "setting the trial's output"));
    status = wi_launch_run(&launch, device);
done:
    wi_launch_clear(&launch);
    return status;
}

static weft_status run(wi_device *device, wi_program *program, const float *in, float *out) {
    wi_buffer buffers[2] = {0};
    weft_status status;
    for (int i = 0; i < 2; i++) WI_TRY_DONE(wi_buffer_create(&buffers[i], device, NUMBERS * sizeof *in));
    WI_TRY_DONE(wi_buffer_write(device, buffers[0].memory, 0, in, NUMBERS * sizeof *in));
    WI_TRY_DONE(run_kernel(device, program, buffers[0].memory, buffers[1].memory));
    status = wi_buffer_read(device, buffers[1].memory, 0, out, NUMBERS * sizeof *out);
done:
    for (int i = 0; i < 2; i++) wi_buffer_release(&buffers[i], device);
    return status;
}

static weft_status build(wi_program **program, wi_device *device) {
    wi_text source;
    wi_text_init(&source, device->host.allocator);
    weft_status status = wi_kernel_source_append(&source, "common.clh");
    if (status == WEFT_OK) status = wi_kernel_source_append(&source, "async_probe.cl");
    if (status == WEFT_OK && source.failed) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK)
        status = wi_program_get(program, device, "the trial of asynchronous copies", source.data, NULL);
    wi_text_clear(&source);
    return status;
}

static weft_status try_copies(bool *right, wi_device *device) {
    float in[NUMBERS], out[NUMBERS];
    wi_program *program = NULL;
    for (int i = 0; i < NUMBERS; i++) in[i] = (float)(i + 1);
    WI_TRY(build(&program, device));
    const weft_status status = run(device, program, in, out);
    wi_program_forget(device, program);
    *right = status == WEFT_OK;
    for (int e = 0; e < NUMBERS && *right; e++) *right = out[e] == wanted(in, e);
    return status;
}

/* What has nothing to do with the instructions may be otherwise next time. */
static bool may_pass(weft_status status) {
    return status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_DEVICE_MEMORY ||
           status == WEFT_ERROR_MEMORY_LIMIT;
}

bool wi_async_copies_are_right(wi_device *device) {
    static const char *const names[] = {[WI_COPIES_OF_DEVICE] = "asynchronous copies",
        [WI_COPIES_AT_ONCE] = "asynchronous copies by a model",
        [WI_COPIES_LATE] = "asynchronous copies by a late model"};
    const char *const name = names[device->caps.copy_model];
    char error[2048];
    double known = 0.0;
    bool right = false;
    if (wi_tuning_get(device, name, &known)) return known == 1.0;
    wi_error_save(error, sizeof error);
    const weft_status status = try_copies(&right, device);
    if (!right)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "%s are not used: %s", name,
            status == WEFT_OK ? "they write wrong numbers" : weft_last_error());
    if (status == WEFT_OK || !may_pass(status)) wi_tuning_set(device, name, right ? 1.0 : 0.0);
    wi_error_restore(error);
    return right;
}
