/* See tune_work.h. Convolutions read and make images that lie channels-last, as between the layers of a network. */
#include "tune_work.h"
#include "base/status.h"
#include "bench_measure.h"
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* "NT": B lies transposed. */
static bool parse_layout(tune_work *work, const char *text) {
    if (work->count != 3 || strlen(text) != 2 || strspn(text, "NT") != 2) return false;
    for (int i = 0; i < 2; i++) work->transposed[i] = text[i] == 'T';
    return true;
}

static bool parse_numbers(tune_work *work, const char *text) {
    const char *at = text;
    for (;; at++) {
        char *end;
        if (work->count == TUNE_NUMBERS || *at < '1' || *at > '9') return false;
        work->numbers[work->count] = strtoll(at, &end, 10);
        if (work->numbers[work->count++] > 1 << 20) return false;
        at = end;
        if (*at != 'x') break;
    }
    return *at == ':' ? parse_layout(work, at + 1) : *at == '\0';
}

static bool is_convolution(const tune_work *work) {
    const int64_t *const n = work->numbers, groups = n[6];
    return work->count >= 5 && n[2] % groups == 0 && n[3] % groups == 0 && n[4] <= n[1];
}

bool tune_work_parse(tune_work *work, const char *text) {
    *work = (tune_work){.text = text, .network = bench_network_find(text)};
    if (work->network) return true;
    work->numbers[5] = work->numbers[6] = 1;
    return parse_numbers(work, text) && (work->count == 3 || is_convolution(work));
}

/* ---- plans ---- */

enum { INPUTS = 3, OUTPUTS = 3 };

/* A graph of shapes. */
typedef struct tune_graph {
    weft_tensor *inputs[INPUTS], *outputs[OUTPUTS];
    size_t elements[INPUTS];
    int input_count, output_count;
} tune_graph;

static weft_tensor *add_input(tune_graph *g, weft_tensor *input, int64_t elements) {
    g->elements[g->input_count] = (size_t)elements;
    return g->inputs[g->input_count++] = input;
}

static weft_tensor *matrix(
    tune_graph *g, weft_graph *graph, const char *name, int64_t rows, int64_t columns, bool turned) {
    const int64_t dims[] = {turned ? columns : rows, turned ? rows : columns};
    weft_tensor *const input = add_input(g, weft_input_shape(graph, name, WEFT_F32, 2, dims), rows * columns);
    return turned ? weft_transpose(input) : input;
}

static weft_status build_product(tune_graph *g, weft_graph *graph, const tune_work *work) {
    const int64_t m = work->numbers[0], n = work->numbers[1], k = work->numbers[2];
    weft_tensor *const a = matrix(g, graph, "a", m, k, work->transposed[0]);
    g->outputs[0] = weft_matmul(a, matrix(g, graph, "b", k, n, work->transposed[1]));
    g->output_count = 1;
    return weft_graph_status(graph);
}

static weft_status build_convolution(tune_graph *g, weft_graph *graph, const tune_work *work) {
    const int64_t *const n = work->numbers, size = n[1], channels = n[2], filters = n[3], window = n[4];
    const int64_t made = (size + window / 2 * 2 - window) / n[5] + 1, taps = window * window;
    const int64_t dims[] = {filters, channels / n[6], window, window};
    const weft_conv_options options = {
        WEFT_CONV_OPTIONS_INIT, .stride = n[5], .padding = window / 2, .groups = n[6]};
    weft_tensor *const x =
        add_input(g, weft_input(graph, "x", WEFT_F32, size, size, channels), n[0] * size * size * channels);
    weft_tensor *const weight =
        add_input(g, weft_input_shape(graph, "weight", WEFT_F32, 4, dims), filters * channels / n[6] * taps);
    weft_tensor *const slope =
        add_input(g, weft_input(graph, "slope", WEFT_F32, made, made, filters), n[0] * made * made * filters);
    g->outputs[0] = weft_conv_with(weft_channels_first(x), weight, NULL, &options);
    weft_tensor *const loss = weft_sum(weft_mul(g->outputs[0], weft_channels_first(slope)));
    g->output_count = OUTPUTS;
    return weft_gradients(loss, (weft_tensor *[]){x, weight}, 2, g->outputs + 1);
}

static weft_status plan_shapes(tune_model *model, weft_context *context, const tune_work *work) {
    tune_graph g = {.input_count = 0};
    const bool product = work->count == 3;
    WI_TRY(weft_graph_create(&model->graph, context));
    WI_TRY(weft_graph_set_precision(model->graph, work->precision));
    WI_TRY((product ? build_product : build_convolution)(&g, model->graph, work));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = product ? 1 : work->numbers[0]};
    WI_TRY(weft_plan_create(&model->plan, g.outputs, (size_t)g.output_count, &options));
    for (int i = 0; i < g.input_count; i++) WI_TRY(bench_fill(model->plan, g.inputs[i], g.elements[i]));
    return WEFT_OK;
}

weft_status tune_model_create(tune_model *model, weft_context *context, const tune_work *work) {
    const bench_setting setting = {.batch = work->batch, .precision = work->precision};
    *model = (tune_model){0};
    if (!work->network) return plan_shapes(model, context, work);
    const weft_status status = bench_model_create(&model->model, context, work->network, &setting);
    model->plan = model->model.plan;
    return status;
}

void tune_model_clear(tune_model *model) {
    if (model->graph) weft_plan_release(model->plan);
    weft_graph_release(model->graph);
    bench_model_clear(&model->model);
    *model = (tune_model){0};
}
