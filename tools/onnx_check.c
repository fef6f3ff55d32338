/* weft onnx check: a network computes the same by Weft's usual kernels, which are chosen for the device and its sizes, as by the portable
 * ones, which are a few lines each. */
#include "console.h"
#include "graph/dtype.h"
#include "onnx_command.h"
#include "onnx_results.h"
#include "show_warning.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double allowed = 1e-3; /* of an output's largest number; rounding differs in each layer */

/* The variables that force portable kernels; docs/internals.md lists them. */
static const char *const portable[][2] = {{"WEFT_CONV", "conv_naive"}, {"WEFT_GEMM", "naive"},
    {"WEFT_ATTENTION", "naive"}, {"WEFT_MATRIX_ENGINES", "0"}};

static weft_status compute(
    onnx_results *results, onnx_network *network, weft_context **context, const onnx_options *options) {
    const weft_context_options device = {TOOL_CONTEXT_OPTIONS_INIT, .device = options->device};
    const weft_onnx_options loading = {WEFT_ONNX_OPTIONS_INIT, .frozen = true};
    WI_TRY(weft_context_create(context, &device));
    WI_TRY(onnx_network_build(network, *context, &loading));
    WI_TRY(onnx_inputs_draw(network));
    WI_TRY(onnx_results_open(results, network));
    return onnx_results_run(results);
}

/* The largest difference, as a share of the largest number; infinite if only one of two numbers is finite. */
static double difference(const onnx_result *one, const onnx_result *other) {
    const wi_format *const format = wi_format_of(one->dtype);
    double largest = 0, error = 0;
    if (one->bytes != other->bytes) return (double)INFINITY;
    for (size_t i = 0; i < one->count; i++) {
        const double a = format->get(one->data, i), b = format->get(other->data, i);
        if (isfinite(a) != isfinite(b)) return (double)INFINITY;
        if (!isfinite(a)) continue;
        largest = fmax(largest, fabs(b));
        error = fmax(error, fabs(a - b));
    }
    return error > 0 ? error / largest : 0;
}

static weft_status compare(const onnx_results *usual, const onnx_results *naive) {
    double worst = 0;
    onnx_results_show(usual);
    for (size_t i = 0; i < usual->count; i++) {
        const double share = difference(&usual->all[i], &naive->all[i]);
        printf("%s: differs by %.2g of its largest number\n", onnx_plain(usual->all[i].name), share);
        worst = fmax(worst, share);
    }
    if (worst <= allowed) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_INTERNAL,
        "the usual kernels and the portable ones differ by %.2g; weft check tests the device", worst);
}

weft_status onnx_check(const onnx_options *options) {
    weft_context *contexts[2] = {NULL};
    onnx_results results[2] = {{0}};
    onnx_network network;
    weft_status status = onnx_network_open(&network, options, ONNX_CLOSED);
    if (status == WEFT_OK) status = onnx_inputs_check_deciding(&network);
    if (status == WEFT_OK) status = onnx_network_close_sizes(&network);
    if (status == WEFT_OK) status = compute(&results[0], &network, &contexts[0], options);
    /* The next build replaces the graph of this plan. */
    weft_plan_release(results[0].plan);
    results[0].plan = NULL;
    for (size_t i = 0; i < sizeof portable / sizeof *portable; i++)
        console_set_variable(portable[i][0], portable[i][1]);
    if (status == WEFT_OK) status = compute(&results[1], &network, &contexts[1], options);
    for (size_t i = 0; i < sizeof portable / sizeof *portable; i++)
        console_set_variable(portable[i][0], NULL);
    if (status == WEFT_OK) status = compare(&results[0], &results[1]);
    for (int i = 0; i < 2; i++) onnx_results_clear(&results[i]);
    onnx_network_clear(&network);
    for (int i = 0; i < 2; i++) weft_context_release(contexts[i]);
    return status;
}
