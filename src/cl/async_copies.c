/* The trial of asynchronous copies (contract in async_copies.h). The kernel is in cl_kernels/product/async_probe.cl. */
#include "cl/async_copies.h"
#include "cl/probe.h"
#include "cl/program_cache.h"

/* As in the kernel: each block has one quad for each item, and the last item's quad is replaced by zeros. */
enum { ITEMS = 64, BLOCKS = 9, QUADS = BLOCKS * ITEMS, NUMBERS = 4 * QUADS };

static const char probe_file[] = "async_probe.cl";

/* The value of element e of the result. In every other block the kernel copies single numbers: number i of each quad
 * goes to line i of the block. */
static float wanted(const float *in, int e) {
    const int block = e / 4 / ITEMS, at = e % (4 * ITEMS);
    const int quad = block % 2 ? at % ITEMS : at / 4, part = block % 2 ? at / ITEMS : at % 4;
    return quad == ITEMS - 1 ? 0.0f : in[4 * (block * ITEMS + quad) + part];
}

static weft_status try_copies(bool *right, wi_device *device, const void *user) {
    float in[NUMBERS], out[NUMBERS];
    wi_program *program = NULL;
    (void)user;
    for (int i = 0; i < NUMBERS; i++) in[i] = (float)(i + 1);
    WI_TRY(wi_probe_program(&program, device, "the trial of asynchronous copies", probe_file, NULL));
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

#define QUESTION(what)                                                                                       \
    {                                                                                                        \
        .name = (what), .unused = what " are not used", .fault = "they write wrong numbers",                 \
        .file = probe_file, .answer = try_copies                                                             \
    }

bool wi_async_copies_are_right(wi_device *device) {
    static const wi_question questions[] = {[WI_COPIES_OF_DEVICE] = QUESTION("asynchronous copies"),
        [WI_COPIES_AT_ONCE] = QUESTION("asynchronous copies by a model"),
        [WI_COPIES_LATE] = QUESTION("asynchronous copies by a late model")};
    return wi_probe_passes(device, &questions[device->caps.copy_model]);
}
