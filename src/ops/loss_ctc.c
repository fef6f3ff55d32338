/* Connectionist temporal classification (Graves et al. 2006). Kernels: ctc.cl.
 *
 * The node ctc is the losses of the examples. A plan for inference replaces it by their kernel alone; another
 * one by a slice of the examples' tables, which the gradient reads, too. Attributes: start, the blank; axis,
 * zero_infinity. */
#include "ops/loss.h"

enum { HEAD = 16, LEAD = 2, LOCAL_WIDTH = 1024, GROUP = 64 }; /* as in ctc.cl and common.clh */
enum { LOG_PROBS, TARGETS, INPUT_LENGTHS, TARGET_LENGTHS, INPUTS };

/* Elements of a row of states, whole vectors. */
static int64_t row_width(int64_t labels) {
    return (2 * labels + 1 + 15) / 16 * 16;
}

static int64_t table_size(int64_t steps, int64_t labels) {
    return HEAD + 2 * steps * row_width(labels);
}

/* ---- the losses ---- */

static void add_ints(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}

/* Scratch: each group's codes, then each group's two rows. */
static weft_status walk(const wi_kernel_site *site, wi_kernel_plan *plan, bool table) {
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    const wi_extent *x = &site->inputs[LOG_PROBS];
    const int64_t batch = x->dims[1].actual, labels = site->inputs[TARGETS].dims[1].actual;
    const int64_t width = row_width(labels), groups = table ? 2 * batch : batch;
    plan->file = "ctc.cl";
    plan->scratch_bytes = (size_t)(groups * (width + 2 * (LEAD + width))) * sizeof(float);
    plan->flops = 16.0 * (double)(groups * x->dims[0].actual) * (double)(2 * labels + 1);
    wi_kernel_macro_int(plan, "WEFT_TABLE", table);
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", !cpu && width <= LOCAL_WIDTH);
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(plan, "walk", cpu ? groups : groups * GROUP, cpu ? 1 : GROUP);
    for (int i = 0; i < INPUTS; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, groups * width);
    wi_kernel_faults(launch);
    const int64_t sizes[] = {x->dims[0].actual, x->dims[2].actual, labels, width};
    add_ints(launch, sizes, sizeof sizes / sizeof *sizes);
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, site->layouts[LOG_PROBS].strides[i].actual);
    wi_kernel_int(launch, site->node->attributes.start);
    wi_kernel_int(launch, site->node->attributes.axis);
    return WEFT_OK;
}

static weft_status table_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return walk(site, plan, true);
}
static weft_status alone_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return walk(site, plan, false);
}

#define WALK_OP(walk_kernel)                                                                                 \
    {                                                                                                        \
        .name = "ctc", .kind = WI_KERNEL, .kernel = walk_kernel,                                             \
        .contiguous = 1u << TARGETS | 1u << INPUT_LENGTHS | 1u << TARGET_LENGTHS,                            \
        .fault = "a length or a label is out of range", .fault_place = "of the batch"                        \
    }
static const wi_op ctc_table = WALK_OP(table_kernel), ctc_alone = WALK_OP(alone_kernel);

static weft_tensor *table_of(const weft_tensor *y) {
    const wi_shape shape = {.rank = 2,
        .dims = {y->shape.dims[0],
            table_size(y->inputs[LOG_PROBS]->shape.dims[0], y->inputs[TARGETS]->shape.dims[1])}};
    return wi_node(y->graph, &ctc_table, y->inputs, INPUTS, WEFT_F32, &shape, &y->attributes);
}

static weft_tensor *ctc_lower(weft_tensor *y, bool inference) {
    if (inference)
        return wi_node(y->graph, &ctc_alone, y->inputs, INPUTS, WEFT_F32, &y->shape, &y->attributes);
    return weft_reshape_shape(weft_slice(table_of(y), 1, 0, 1), 1, y->shape.dims);
}

/* ---- the gradient ---- */

enum { SPREAD_TARGETS, SPREAD_INPUT_LENGTHS, SPREAD_TARGET_LENGTHS, SPREAD_TABLE, SPREAD_G, SPREAD_INPUTS };

static int64_t rows_an_item(const wi_kernel_site *site, int64_t rows) {
    const int64_t items = (int64_t)site->compute_units * 4;
    return (rows + items - 1) / items;
}

static void add_chain(wi_kernel_plan *plan, int64_t items, int64_t labels, int64_t size) {
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "chain", items, GROUP);
    wi_kernel_input(launch, SPREAD_TARGETS);
    wi_kernel_input(launch, SPREAD_TARGET_LENGTHS);
    wi_kernel_input(launch, SPREAD_TABLE);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, items);
    wi_kernel_int(launch, labels);
    wi_kernel_long(launch, size);
}

static weft_status spread_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    const wi_extent *y = &site->result;
    const int64_t steps = y->dims[0].actual, batch = y->dims[1].actual, rows = steps * batch;
    const int64_t labels = site->inputs[SPREAD_TARGETS].dims[1].actual;
    const int64_t an_item = cpu ? rows_an_item(site, rows) : 1, items = (rows + an_item - 1) / an_item;
    plan->file = "ctc.cl";
    plan->flops = 8.0 * (double)rows * (double)(2 * labels + 1);
    plan->scratch_bytes = (size_t)(batch * labels) * sizeof(int32_t);
    wi_kernel_macro_int(plan, "WEFT_TABLE", 1);
    /* as the walk has it, so that both are one inclusion of the file */
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", !cpu && row_width(labels) <= LOCAL_WIDTH);
    if (!cpu) add_chain(plan, batch * labels, labels, table_size(steps, labels));
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(plan, "spread", cpu ? items : items * GROUP, cpu ? 1 : GROUP);
    for (int i = 0; i < SPREAD_INPUTS; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, rows);
    wi_kernel_long(launch, an_item);
    wi_kernel_long(launch, batch);
    const int64_t sizes[] = {
        steps, y->dims[2].actual, labels, row_width(labels), site->node->attributes.start};
    add_ints(launch, sizes, sizeof sizes / sizeof *sizes);
    return WEFT_OK;
}

static const wi_op ctc_gradient = {.name = "ctc_gradient",
    .kind = WI_KERNEL,
    .kernel = spread_kernel,
    .contiguous = (1u << SPREAD_INPUTS) - 1};

static void ctc_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inputs[SPREAD_INPUTS] = {
        y->inputs[TARGETS], y->inputs[INPUT_LENGTHS], y->inputs[TARGET_LENGTHS], table_of(y), g};
    if (!inputs[SPREAD_TABLE] || !g) return;
    const wi_attributes attributes = {.start = y->attributes.start};
    gradients[LOG_PROBS] = wi_node(
        y->graph, &ctc_gradient, inputs, SPREAD_INPUTS, WEFT_F32, &y->inputs[LOG_PROBS]->shape, &attributes);
}

const wi_op wi_op_ctc = {.name = "ctc", .kind = WI_COMPOSITE, .lower = ctc_lower, .backward = ctc_backward};

/* ---- checks ---- */

static bool dtypes_good(weft_tensor *const *inputs) {
    static const char *const names[INPUTS] = {"log_probs", "targets", "input_lengths", "target_lengths"};
    for (int i = 0; i < INPUTS; i++) {
        const weft_dtype wanted = i == LOG_PROBS ? WEFT_F32 : WEFT_I32;
        if (inputs[i]->dtype == wanted) continue;
        wi_graph_fail(inputs[i]->graph, WEFT_ERROR_DTYPE, "ctc: %s is %s, not %s; weft_cast converts",
            names[i], weft_dtype_name(inputs[i]->dtype), weft_dtype_name(wanted));
        return false;
    }
    return true;
}

static bool shapes_good(weft_tensor *const *inputs) {
    const wi_shape *x = &inputs[LOG_PROBS]->shape, *targets = &inputs[TARGETS]->shape;
    const wi_shape lengths = {.rank = 1, .dims = {x->dims[1]}};
    if (x->rank == 3 && x->dims[0] > 0 && x->dims[2] > 0 && targets->rank == 2 &&
        targets->dims[0] == x->dims[1] && targets->dims[1] > 0 &&
        wi_shape_equal(&inputs[INPUT_LENGTHS]->shape, &lengths) &&
        wi_shape_equal(&inputs[TARGET_LENGTHS]->shape, &lengths))
        return true;
    char text[INPUTS][WI_SHAPE_TEXT];
    for (int i = 0; i < INPUTS; i++) (void)wi_shape_print(&inputs[i]->shape, text[i]);
    wi_graph_fail(inputs[0]->graph, WEFT_ERROR_SHAPE,
        "ctc: log_probs %s, targets %s, input_lengths %s, target_lengths %s are not (T, N, C), (N, S), (N), "
        "(N) "
        "with fixed T, C and S",
        text[0], text[1], text[2], text[3]);
    return false;
}

/* Each log-probability costs rows of 2 S + 1 states. */
static bool table_fits(weft_tensor *const *inputs) {
    const int64_t steps = inputs[LOG_PROBS]->shape.dims[0], labels = inputs[TARGETS]->shape.dims[1];
    const int64_t most = INT64_C(1) << 28;
    const bool countable = steps <= most && labels <= most && inputs[LOG_PROBS]->shape.dims[2] <= INT32_MAX;
    const wi_shape shape = {.rank = 2,
        .dims = {inputs[LOG_PROBS]->shape.dims[1], countable ? table_size(steps, labels) : INT64_MAX}};
    if (wi_shape_check(&shape, "ctc: the table of states") == WEFT_OK) return true;
    wi_graph_fail_recorded(inputs[0]->graph, WEFT_ERROR_SHAPE);
    return false;
}

static bool options_good(weft_tensor *const *inputs, const weft_ctc_loss_options *options) {
    weft_graph *graph = inputs[0]->graph;
    if (options->struct_size != sizeof *options) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "ctc: options of %zu bytes, expected %zu (use WEFT_CTC_LOSS_OPTIONS_INIT)", options->struct_size,
            sizeof *options);
        return false;
    }
    const int64_t classes = inputs[LOG_PROBS]->shape.dims[2];
    if (options->blank < 0 || options->blank >= classes) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "ctc: blank = %d is none of the %lld classes",
            (int)options->blank, (long long)classes);
        return false;
    }
    return wi_loss_reduction_good(graph, "ctc", options->reduction);
}

/* ---- the functions ---- */

weft_tensor *weft_ctc_loss(weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths,
    weft_tensor *target_lengths, const weft_ctc_loss_options *options) {
    weft_tensor *inputs[INPUTS] = {log_probs, targets, input_lengths, target_lengths};
    const weft_ctc_loss_options defaults = {WEFT_CTC_LOSS_OPTIONS_INIT};
    if (!options) options = &defaults;
    if (!wi_inputs_graph("ctc", inputs, INPUTS) || !dtypes_good(inputs) || !shapes_good(inputs) ||
        !options_good(inputs, options) || !table_fits(inputs))
        return NULL;
    const wi_attributes attributes = {.start = options->blank, .axis = options->zero_infinity};
    const wi_shape shape = input_lengths->shape;
    weft_tensor *losses =
        wi_node(log_probs->graph, &wi_op_ctc, inputs, INPUTS, WEFT_F32, &shape, &attributes);
    if (options->reduction == WEFT_LOSS_MEAN) {
        weft_tensor *lengths = weft_maximum(target_lengths, weft_number(target_lengths, 1));
        losses = weft_div(losses, weft_cast(lengths, WEFT_F32));
    }
    return wi_loss_reduce(losses, -1, options->reduction, NULL);
}

weft_tensor *weft_ctc(
    weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths, weft_tensor *target_lengths) {
    return weft_ctc_loss(log_probs, targets, input_lengths, target_lengths, NULL);
}
