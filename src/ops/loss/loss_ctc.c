/* Connectionist temporal classification (Graves et al. 2006). Kernels: ctc.cl.
 *
 * The node ctc is the losses of the examples. A plan for inference replaces it by a kernel that computes only the losses, and a plan
 * for training by a slice of the tables of the examples, which the gradient also reads. */
#include "ops/loss/ctc.h"
#include "ops/loss/loss.h"
#include "ops/prediction_form.h"

/* ---- the losses ---- */

static const char first_gradient_only[] =
    "weft_ctc can be differentiated only once, so leave it out of second gradients";

#define WALK_OP                                                                                              \
    {                                                                                                        \
        .name = "ctc", .kind = WI_KERNEL, .takes_any_axis = true,                                            \
        .attribute_bytes = sizeof(wi_ctc_attributes), .no_gradient = first_gradient_only,                    \
        .contiguous = 1u << WI_CTC_TARGETS | 1u << WI_CTC_INPUT_LENGTHS | 1u << WI_CTC_TARGET_LENGTHS,       \
        .fault = "a length or a label is out of range", .fault_index = "of the batch"                        \
    }
const wi_op wi_op_ctc_table = WALK_OP, wi_op_ctc_alone = WALK_OP;

static weft_tensor *table_of(const weft_tensor *y) {
    const wi_shape shape = {.rank = 2,
        .dims = {y->shape.dims[0], wi_ctc_table_size(y->inputs[WI_CTC_LOG_PROBS]->shape.dims[0],
                                       y->inputs[WI_CTC_TARGETS]->shape.dims[1])}};
    return wi_node(y->graph, &wi_op_ctc_table, y->inputs, WI_CTC_INPUTS, WEFT_F32, &shape, y->attributes);
}

static weft_tensor *ctc_lower(weft_tensor *y, bool inference) {
    if (inference)
        return wi_node(
            y->graph, &wi_op_ctc_alone, y->inputs, WI_CTC_INPUTS, WEFT_F32, &y->shape, y->attributes);
    return weft_reshape_shape(weft_slice(table_of(y), 1, 0, 1), 1, y->shape.dims);
}

/* ---- the gradient ---- */

const wi_op wi_op_ctc_gradient = {.name = "ctc_gradient",
    .kind = WI_KERNEL,
    .takes_any_axis = true,
    .attribute_bytes = sizeof(wi_ctc_attributes),
    .no_gradient = first_gradient_only,
    .contiguous = (1u << WI_CTC_SPREAD_INPUTS) - 1};

static void ctc_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inputs[WI_CTC_SPREAD_INPUTS] = {y->inputs[WI_CTC_TARGETS], y->inputs[WI_CTC_INPUT_LENGTHS],
        y->inputs[WI_CTC_TARGET_LENGTHS], table_of(y), g};
    if (!inputs[WI_CTC_SPREAD_TABLE] || !g) return;
    const wi_attributes attributes = {.ctc = {.blank = y->attributes->ctc.blank}};
    gradients[WI_CTC_LOG_PROBS] = wi_node(y->graph, &wi_op_ctc_gradient, inputs, WI_CTC_SPREAD_INPUTS,
        WEFT_F32, &y->inputs[WI_CTC_LOG_PROBS]->shape, &attributes);
}

const wi_op wi_op_ctc = {
    .name = "ctc", .kind = WI_COMPOSITE, .attribute_bytes = sizeof(wi_ctc_attributes), .lower = ctc_lower};

/* ---- checks ---- */

static bool dtypes_good(weft_tensor *const *inputs) {
    static const char *const names[WI_CTC_INPUTS] = {
        "log_probs", "targets", "input_lengths", "target_lengths"};
    for (int i = 0; i < WI_CTC_INPUTS; i++) {
        const weft_dtype wanted = i == WI_CTC_LOG_PROBS ? WEFT_F32 : WEFT_I32;
        if (inputs[i]->dtype == wanted) continue;
        wi_graph_fail(inputs[i]->graph, WEFT_ERROR_DTYPE, "ctc: %s is %s, not %s; weft_cast converts",
            names[i], weft_dtype_name(inputs[i]->dtype), weft_dtype_name(wanted));
        return false;
    }
    return true;
}

static bool shapes_good(weft_tensor *const *inputs) {
    const wi_shape *x = &inputs[WI_CTC_LOG_PROBS]->shape, *targets = &inputs[WI_CTC_TARGETS]->shape;
    const wi_shape lengths = {.rank = 1, .dims = {x->dims[1]}};
    if (x->rank == 3 && x->dims[0] > 0 && x->dims[2] > 0 && !wi_is_symbolic(x->dims[2]) &&
        targets->rank == 2 && targets->dims[0] == x->dims[1] && targets->dims[1] > 0 &&
        wi_shape_equal(&inputs[WI_CTC_INPUT_LENGTHS]->shape, &lengths) &&
        wi_shape_equal(&inputs[WI_CTC_TARGET_LENGTHS]->shape, &lengths))
        return true;
    char text[WI_CTC_INPUTS][WI_SHAPE_TEXT];
    for (int i = 0; i < WI_CTC_INPUTS; i++)
        (void)wi_shape_print(inputs[i]->graph, &inputs[i]->shape, text[i]);
    wi_graph_fail(inputs[0]->graph, WEFT_ERROR_SHAPE,
        "ctc: log_probs %s, targets %s, input_lengths %s, target_lengths %s: expected (T, N, C), (N, S), "
        "(N), (N) with fixed C and S, and any T",
        text[0], text[1], text[2], text[3]);
    return false;
}

/* A table has 2 S + 1 states for each step. */
static bool table_fits(weft_tensor *const *inputs) {
    const int64_t steps = inputs[WI_CTC_LOG_PROBS]->shape.dims[0],
                  labels = inputs[WI_CTC_TARGETS]->shape.dims[1];
    const int64_t most = INT64_C(1) << 28;
    char text[WI_SHAPE_TEXT];
    if (wi_axis_is_symbolic(inputs[WI_CTC_TARGETS], 1)) {
        wi_graph_fail(inputs[0]->graph, WEFT_ERROR_UNSUPPORTED,
            "ctc: targets are %s: pad them to a fixed number of labels and give their lengths in "
            "target_lengths",
            wi_shape_print(inputs[0]->graph, &inputs[WI_CTC_TARGETS]->shape, text));
        return false;
    }
    if (wi_axis_is_symbolic(inputs[WI_CTC_LOG_PROBS], 0)) return true; /* plans check the size */
    const bool countable =
        steps <= most && labels <= most && inputs[WI_CTC_LOG_PROBS]->shape.dims[2] <= INT32_MAX;
    const wi_shape shape = {.rank = 2,
        .dims = {inputs[WI_CTC_LOG_PROBS]->shape.dims[1],
            countable ? wi_ctc_table_size(steps, labels) : INT64_MAX}};
    if (wi_shape_check(inputs[0]->graph, &shape, "ctc: the table of states") == WEFT_OK) return true;
    wi_graph_fail_recorded(inputs[0]->graph, WEFT_ERROR_SHAPE);
    return false;
}

static bool read_options(
    weft_tensor *const *inputs, weft_ctc_loss_options *options, const weft_ctc_loss_options *given) {
    weft_graph *graph = inputs[0]->graph;
    if (!WI_GRAPH_OPTIONS(graph, options, given, "ctc", WEFT_CTC_LOSS_OPTIONS_INIT)) return false;
    const int64_t classes = inputs[WI_CTC_LOG_PROBS]->shape.dims[2];
    if (options->blank < 0 || options->blank >= classes) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "ctc: blank = %d is not one of the %lld classes",
            (int)options->blank, (long long)classes);
        return false;
    }
    return wi_loss_reduction_good(graph, "ctc", options->reduction);
}

/* ---- the functions ---- */

static weft_tensor *build_ctc_loss(weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths,
    weft_tensor *target_lengths, const weft_ctc_loss_options *given) {
    weft_tensor *inputs[WI_CTC_INPUTS] = {log_probs, targets, input_lengths, target_lengths};
    weft_ctc_loss_options options;
    if (!wi_inputs_graph("ctc", inputs, WI_CTC_INPUTS) || !dtypes_good(inputs) || !shapes_good(inputs) ||
        !read_options(inputs, &options, given) || !table_fits(inputs) ||
        !wi_takes_log_probabilities("ctc", log_probs))
        return NULL;
    const wi_attributes attributes = {
        .ctc = {.blank = options.blank, .zero_infinity = options.zero_infinity}};
    const wi_shape shape = input_lengths->shape;
    weft_tensor *losses =
        wi_node(log_probs->graph, &wi_op_ctc, inputs, WI_CTC_INPUTS, WEFT_F32, &shape, &attributes);
    if (options.reduction == WEFT_LOSS_MEAN) {
        weft_tensor *lengths = weft_maximum(target_lengths, weft_number(target_lengths, 1));
        losses = weft_div(losses, weft_cast(lengths, WEFT_F32));
    }
    return wi_loss_reduce(losses, -1, options.reduction, NULL);
}

weft_tensor *weft_ctc_loss(weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths,
    weft_tensor *target_lengths, const weft_ctc_loss_options *given) {
    return WI_CALL(
        log_probs, "weft_ctc_loss", build_ctc_loss(log_probs, targets, input_lengths, target_lengths, given));
}

weft_tensor *weft_ctc(
    weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths, weft_tensor *target_lengths) {
    return WI_CALL(
        log_probs, "weft_ctc", weft_ctc_loss(log_probs, targets, input_lengths, target_lengths, NULL));
}

const wi_op_rules wi_loss_ctc_rules[] = {{.op = &wi_op_ctc, .backward = ctc_backward}, {0}};
