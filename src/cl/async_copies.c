/* See async_copies.h. The kernel is cl_kernels/product/async_probe.cl. */
#include "cl/async_copies.h"
#include "cl/probe.h"
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

static weft_status try_copies(bool *right, wi_device *device) {
    float in[NUMBERS], out[NUMBERS];
    wi_program *program = NULL;
    for (int i = 0; i < NUMBERS; i++) in[i] = (float)(i + 1);
    WI_TRY(wi_probe_program(&program, device, "the trial of asynchronous copies", "async_probe.cl", ""));
    const wi_probe numbers = {.kernel = "weft_async_probe",
        .inputs = in,
        .input_bytes = sizeof in,
        .results = out,
        .result_bytes = sizeof out,
        .items = ITEMS,
        .group = ITEMS};
    const weft_status status = wi_probe_run(&numbers, device, program);
    wi_program_forget(device, program);
    *right = status == WEFT_OK;
    for (int e = 0; e < NUMBERS && *right; e++) *right = out[e] == wanted(in, e);
    return status;
}

/* What has nothing to do with the instructions may be otherwise next time. */
static bool may_pass(weft_status status) {
    return status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_DEVICE_MEMORY;
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
