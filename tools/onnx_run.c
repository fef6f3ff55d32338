/* weft onnx run: computes the outputs of a network from arrays of NumPy. */
#include "base/platform.h"
#include "onnx_command.h"
#include "onnx_results.h"
#include "show_warning.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* "DIR/name.npy"; what file systems or shells may refuse becomes '_'. NULL: no memory. */
static char *path_of(const char *folder, const char *name) {
    wi_text path;
    wi_text_init(&path, NULL);
    wi_text_append(&path, "%s/", folder);
    const size_t first = path.length;
    wi_text_append(&path, "%s", name);
    for (size_t i = first; path.data && i < path.length; i++)
        if (!isalnum((unsigned char)path.data[i]) && !strchr("._-", path.data[i])) path.data[i] = '_';
    wi_text_append(&path, ".npy");
    return path.data;
}

static weft_status save(const onnx_results *results, const char *folder) {
    WI_TRY(wi_directory_create(folder, false));
    for (size_t i = 0; i < results->count; i++) {
        const onnx_result *const result = &results->all[i];
        char *const path = path_of(folder, result->name);
        const weft_status status =
            path ? weft_save_npy(path, result->dtype, result->data, result->rank, result->dims)
                 : WEFT_ERROR_MEMORY;
        wi_release(NULL, path);
        WI_TRY(status);
    }
    return WEFT_OK;
}

/* The mean of the runs, without the first, which packed weights. */
static weft_status measure(const onnx_results *results, int64_t runs) {
    WI_TRY(weft_plan_wait(results->plan));
    const double begin = wi_clock_seconds();
    for (int64_t i = 0; i < runs; i++) WI_TRY(weft_plan_run(results->plan));
    WI_TRY(weft_plan_wait(results->plan));
    printf("%.3f ms per run, mean of %lld\n", 1e3 * (wi_clock_seconds() - begin) / (double)runs,
        (long long)runs);
    return WEFT_OK;
}

static weft_status run(onnx_network *network, weft_context *context, const onnx_options *options) {
    const weft_onnx_options loading = {WEFT_ONNX_OPTIONS_INIT, .frozen = true};
    onnx_results results = {0};
    WI_TRY(onnx_network_build(network, context, &loading));
    if (options->random) WI_TRY(onnx_inputs_draw(network));
    WI_TRY(onnx_inputs_check(network));
    weft_status status = onnx_results_open(&results, network);
    if (status == WEFT_OK) status = onnx_results_run(&results);
    if (status == WEFT_OK) onnx_results_show(&results);
    if (status == WEFT_OK && options->repeat > 0) status = measure(&results, options->repeat);
    if (status == WEFT_OK && options->output) status = save(&results, options->output);
    onnx_results_clear(&results);
    return status;
}

weft_status onnx_run(const onnx_options *options) {
    const weft_context_options device = {TOOL_CONTEXT_OPTIONS_INIT, .device = options->device};
    weft_context *context = NULL;
    onnx_network network;
    weft_status status = onnx_network_open(&network, options, options->open ? ONNX_OPEN : ONNX_CLOSED);
    if (status == WEFT_OK) status = onnx_inputs_check_deciding(&network);
    if (status == WEFT_OK && options->random) status = onnx_network_close_sizes(&network);
    if (status == WEFT_OK) status = weft_context_create(&context, &device);
    if (status == WEFT_OK) status = run(&network, context, options);
    onnx_network_clear(&network);
    weft_context_release(context);
    return status;
}
