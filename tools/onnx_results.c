/* See onnx_results.h. */
#include "onnx_results.h"
#include "graph/dtype.h"
#include "graph/shape.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- inputs ---- */

/* SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014). */
static double draw(uint64_t *state) {
    uint64_t bits = *state += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return (double)((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
}

static weft_status draw_input(onnx_input *input, uint64_t *state) {
    const weft_dtype dtype = weft_tensor_dtype(input->tensor);
    const wi_format *const format = wi_format_of(dtype);
    weft_npy_array *const array = &input->array;
    size_t count = 1;
    *array = (weft_npy_array){.dtype = dtype, .rank = weft_tensor_rank(input->tensor)};
    for (int d = 0; d < array->rank; d++) {
        array->dims[d] = weft_tensor_dimension(input->tensor, d);
        count *= (size_t)array->dims[d];
    }
    array->bytes = count * format->size;
    array->data = wi_allocate_array(NULL, count, format->size);
    if (!array->data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const double number = draw(state);
        format->put(array->data, i, dtype == WEFT_F32 ? 2 * number - 1 : floor(2 * number));
    }
    return WEFT_OK;
}

weft_status onnx_inputs_draw(onnx_network *network) {
    uint64_t state = 0;
    for (size_t i = 0; i < network->input_count; i++)
        if (network->inputs[i].tensor && !network->inputs[i].array.data)
            WI_TRY(draw_input(&network->inputs[i], &state));
    return WEFT_OK;
}

static weft_status refuse_missing(const onnx_network *network, bool deciding, const char *what) {
    wi_text names;
    wi_text_init(&names, NULL);
    for (size_t i = 0; i < network->input_count; i++) {
        const onnx_input *const input = &network->inputs[i];
        if (!input->array.data && (deciding ? input->decides : input->tensor != NULL))
            wi_text_append(&names, "%s'%s'", names.data ? ", " : "", input->name);
    }
    const weft_status status =
        names.data ? wi_fail(WEFT_ERROR_ARGUMENT, "'%s' %s %s", network->options->path, what, names.data)
                   : WEFT_OK;
    wi_text_clear(&names);
    return status;
}

weft_status onnx_inputs_check(const onnx_network *network) {
    return refuse_missing(network, false, "needs --input NAME=FILE.npy, or --random, for its inputs");
}

weft_status onnx_inputs_check_deciding(const onnx_network *network) {
    return refuse_missing(
        network, true, "needs --input or --value for these inputs, which decide shapes or conditions:");
}

/* ---- the plan ---- */

enum { MOST_SYMBOLS = 64 };

/* The sizes of a plan, as numbers of symbols and as options take them. */
typedef struct plan_sizes {
    int64_t batch, values[MOST_SYMBOLS];
    weft_named_size named[MOST_SYMBOLS];
    size_t count, named_count;
} plan_sizes;

/* Open sizes are those of the arrays. */
static void take_sizes(plan_sizes *sizes, const onnx_input *input) {
    const weft_graph *const graph = weft_tensor_graph(input->tensor);
    for (int d = 0; d < input->array.rank; d++) {
        int64_t times, rest;
        const int64_t dim = weft_tensor_dimension(input->tensor, d);
        const int symbol = wi_dim_symbol(graph, dim, &times, &rest);
        if (symbol < 0 || symbol >= MOST_SYMBOLS || input->array.dims[d] <= rest) continue;
        const int64_t value = (input->array.dims[d] - rest) / times;
        if (symbol == WI_SYMBOL_BATCH) sizes->batch = value;
        if (symbol == WI_SYMBOL_BATCH || sizes->values[symbol]) continue;
        sizes->values[symbol] = value;
        sizes->named[sizes->named_count++] = (weft_named_size){wi_symbol_name(graph, (size_t)symbol), value};
    }
}

static plan_sizes sizes_of(const onnx_network *network) {
    plan_sizes sizes = {.batch = 1, .count = MOST_SYMBOLS};
    for (size_t i = 0; i < network->input_count; i++)
        if (network->inputs[i].tensor) take_sizes(&sizes, &network->inputs[i]);
    return sizes;
}

/* The shape of a tensor in a plan. */
static int read_shape(int64_t dims[WEFT_MAX_RANK], const weft_tensor *tensor, const plan_sizes *sizes) {
    const wi_given given = {sizes->values, sizes->count, 0, sizes->batch};
    const int rank = weft_tensor_rank(tensor);
    for (int d = 0; d < rank; d++) {
        int missing;
        const int64_t known =
            wi_dim_at(weft_tensor_graph(tensor), weft_tensor_dimension(tensor, d), &given, &missing);
        dims[d] = known < 0 ? -known * sizes->batch : known;
    }
    return rank;
}

/* Is the array's shape that of the input? */
static weft_status check_shape(const onnx_input *input, const plan_sizes *sizes) {
    char given[ONNX_SHAPE_TEXT], wanted[ONNX_SHAPE_TEXT];
    int64_t dims[WEFT_MAX_RANK];
    const int rank = read_shape(dims, input->tensor, sizes);
    if (rank == input->array.rank && memcmp(dims, input->array.dims, (size_t)rank * sizeof *dims) == 0)
        return WEFT_OK;
    WI_FAIL(WEFT_ERROR_SHAPE, "the array of '%s' has the shape %s, but the input has the shape %s",
        input->name, onnx_shape_text(given, input->array.rank, input->array.dims),
        onnx_shape_text(wanted, rank, dims));
}

static weft_status add_result(
    onnx_result *result, const char *name, weft_tensor *tensor, const plan_sizes *sizes) {
    *result = (onnx_result){.tensor = tensor, .dtype = weft_tensor_dtype(tensor), .count = 1};
    result->name = wi_copy_string(NULL, name);
    result->rank = read_shape(result->dims, tensor, sizes);
    for (int d = 0; d < result->rank; d++) {
        if (result->dims[d] < 1)
            WI_FAIL(WEFT_ERROR_SHAPE, "the output '%s' has an axis of %lld elements at these sizes", name,
                (long long)result->dims[d]);
        result->count *= (size_t)result->dims[d];
    }
    result->bytes = result->count * weft_dtype_size(result->dtype);
    result->data = wi_allocate(NULL, result->bytes + 1);
    return result->name && result->data ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status add_values(onnx_results *r, const onnx_network *network, const plan_sizes *sizes) {
    for (size_t i = 0; i < network->input_count; i++) {
        const onnx_input *const input = &network->inputs[i];
        if (!input->tensor) continue;
        WI_TRY(check_shape(input, sizes));
        r->values[r->value_count++] = weft_value_in(input->tensor, input->array.data, input->array.bytes);
    }
    for (size_t i = 0; i < r->count; i++) {
        weft_tensor *const tensor = weft_onnx_output(network->model, i);
        if (!tensor)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED, "the output '%s' is not a tensor of the graph",
                weft_onnx_output_name(network->model, i));
        WI_TRY(add_result(&r->all[i], weft_onnx_output_name(network->model, i), tensor, sizes));
        r->values[r->value_count++] = (weft_value){tensor, r->all[i].data, r->all[i].bytes};
    }
    return WEFT_OK;
}

weft_status onnx_results_open(onnx_results *r, const onnx_network *network) {
    const plan_sizes sizes = sizes_of(network);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = sizes.batch, .sizes = sizes.named,
        .size_count = sizes.named_count, .inference = true};
    *r = (onnx_results){.count = weft_onnx_output_count(network->model)};
    weft_tensor **const tensors = wi_allocate_array(NULL, r->count + 1, sizeof *tensors);
    r->all = wi_allocate_array(NULL, r->count + 1, sizeof *r->all);
    r->values = wi_allocate_array(NULL, r->count + network->input_count + 1, sizeof *r->values);
    weft_status status = tensors && r->all && r->values ? add_values(r, network, &sizes) : WEFT_ERROR_MEMORY;
    for (size_t i = 0; status == WEFT_OK && i < r->count; i++) tensors[i] = r->all[i].tensor;
    if (status == WEFT_OK) status = weft_plan_create(&r->plan, tensors, r->count, &options);
    wi_release(NULL, tensors);
    return status;
}

weft_status onnx_results_run(onnx_results *r) {
    return weft_plan_step(r->plan, r->values, r->value_count);
}

void onnx_results_clear(onnx_results *r) {
    weft_plan_release(r->plan);
    for (size_t i = 0; r->all && i < r->count; i++) {
        wi_release(NULL, r->all[i].name);
        wi_release(NULL, r->all[i].data);
    }
    wi_release(NULL, r->all);
    wi_release(NULL, r->values);
    *r = (onnx_results){0};
}

/* ---- what it computed ---- */

static void show_result(const onnx_result *result, int width) {
    char shape[ONNX_SHAPE_TEXT];
    const wi_format *const format = wi_format_of(result->dtype);
    double least = (double)INFINITY, most = -(double)INFINITY, sum = 0;
    for (size_t i = 0; i < result->count; i++) {
        const double number = format->get(result->data, i);
        least = fmin(least, number);
        most = fmax(most, number);
        sum += number;
    }
    onnx_shape_text(shape, result->rank, result->dims);
    printf("%-*s  %-4s  %-20s  %12.6g  %12.6g  %12.6g\n", width, onnx_plain(result->name),
        weft_dtype_name(result->dtype), shape, least, sum / (double)result->count, most);
}

void onnx_results_show(const onnx_results *r) {
    size_t width = 6;
    for (size_t i = 0; i < r->count; i++)
        if (strlen(r->all[i].name) > width) width = strlen(r->all[i].name);
    printf(
        "%-*s  %-4s  %-20s  %12s  %12s  %12s\n", (int)width, "output", "type", "shape", "min", "mean", "max");
    for (size_t i = 0; i < r->count; i++) show_result(&r->all[i], (int)width);
}
