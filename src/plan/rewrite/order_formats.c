/* Chooses the format in which the values of each node are stored (order.h).
 *
 * In mixed precision, activations and their gradients are stored in 16 bits: values that depend on the batch and come from a
 * contraction. A plan whose sizes are all numbers has no axis of the batch (a network of fixed sizes, a sliced batch, micro-batches).
 * There, values are activations if they come from a contraction, depend on an input of the plan, and only maps are between them and
 * a contraction or kernel that reads them; gradients of parameters are read by updates, and stay in f32.
 *
 * Activations are rounded when they are stored; arithmetic in registers is f32. All other values stay in f32: parameters, their
 * gradients, states and optimizers (which do not depend on the batch), inputs and outputs of the plan, results of reductions (statistics
 * of norms, row sums of a softmax). Operands of kernels that only accept f32 (wi_kernels_accept_format) and results of weft_keep_f32 also
 * stay in f32; contractions and kernel ops that read the latter multiply in f32.
 *
 * As in PyTorch's autocast, a value that is computed from an f32 operand stays in f32, up to the next contraction: a sum with an input (a mask
 * of -FLT_MAX, a target), with random numbers, or with a number that the format could not hold. The results of exponentials and
 * logarithms (probabilities and losses, whose differences from 1 matter) are such operands, too; parameters, such as a bias, are not. A
 * value that only contractions read, and sums for the gradient of a bias, is stored in 16 bits in any case: contractions read it so.
 *
 * Nodes that may share memory have one format: views, inputs of joins, transfers, assignments. */
#include "cl/context.h"
#include "kernels/registry.h"
#include "ops/op_table.h"
#include "plan/rewrite/order.h"
#include <math.h>

enum { READ_BY_CONTRACTION = 1, READ_BY_OTHERS = 2 };

typedef struct format_search {
    wi_node_order *order;
    /* Union-find by place of nodes that may share memory: another node of the set; a representative has itself. */
    size_t *group;
    bool *flows;    /* by place: depends on a contraction */
    bool *promoted; /* by place: is computed from an f32 operand, without a contraction between */
    bool *kept;     /* by place: a result of weft_keep_f32, or a view of one */
    uint8_t *read;  /* by place: READ_BY_CONTRACTION, READ_BY_OTHERS */
    bool *wide;     /* by representative: keeps the node's dtype */
    /* By place: an activation in a plan without an axis of the batch; NULL: shapes have this axis. */
    bool *fixed;
} format_search;

static size_t at(const format_search *s, const weft_tensor *node) {
    return wi_place_of(s->order, node);
}

static size_t representative(const format_search *s, const weft_tensor *node) {
    size_t place = at(s, node);
    while (s->group[place] != place) place = s->group[place] = s->group[s->group[place]];
    return place;
}

static void unite(format_search *s, const weft_tensor *a, const weft_tensor *b) {
    s->group[representative(s, a)] = representative(s, b);
}

/* Does the shape have more than one element for each example of a batch? */
static bool has_numbers_of_examples(weft_graph *graph, const wi_shape *shape) {
    int64_t coefficient;
    int power;
    wi_shape_count(graph, shape, &coefficient, &power);
    return power > 0 && coefficient > 1;
}

static bool has_batch(const wi_node_order *order) {
    int64_t coefficient;
    int power = 0;
    for (size_t i = 0; i < order->count && power == 0; i++)
        wi_shape_count(order->nodes[i]->graph, &order->nodes[i]->shape, &coefficient, &power);
    return power > 0 && order->request->micro_batches <= 1;
}

static bool has_kernels(const wi_op *op) {
    return op->kind == WI_KERNEL || op->kind == WI_PRODUCT;
}

/* A contraction, attention or a recurrent layer: autocast would round its operands. */
static bool multiplies(const format_search *s, const wi_op *op) {
    return op->kind == WI_PRODUCT ||
           (op->kind == WI_KERNEL && wi_kernels_multiply(op, s->order->request->precision));
}

/* Is the node an f32 operand by itself? As in PyTorch, one of rank 0 is none. A number is if a sum of two like it would be infinite. */
static bool promotes(const format_search *s, const weft_tensor *node) {
    if (node->op == &wi_op_constant) {
        const double sum = 2 * node->attributes->constant.value;
        return isfinite(sum) && !isfinite(wi_dtype_nearest(s->order->request->precision, sum));
    }
    const bool is_data = node->op == &wi_op_input || node->op->kind == WI_GENERATOR;
    return node->op->precise || (is_data && node->shape.rank > 0);
}

/* An index of a gather, or the condition of a where, is no operand in this sense. */
static bool is_promoted_by(const format_search *s, const weft_tensor *node, const weft_tensor *input) {
    const bool is_number =
        input->dtype == node->dtype || (node->op->kind == WI_MAP && input->dtype != WEFT_BOOL);
    return is_number && s->promoted[at(s, input)];
}

static void trace(format_search *s, const weft_tensor *node) {
    const bool is_contraction = node->op->kind == WI_PRODUCT;
    bool flows = is_contraction, promoted = promotes(s, node), reads_kept = false;
    for (int i = 0; i < node->input_count; i++) {
        flows = flows || s->flows[at(s, node->inputs[i])];
        promoted = promoted || is_promoted_by(s, node, node->inputs[i]);
        reads_kept = reads_kept || s->kept[at(s, node->inputs[i])];
    }
    s->flows[at(s, node)] = flows;
    s->promoted[at(s, node)] = promoted && !multiplies(s, node->op);
    s->kept[at(s, node)] = node->op == &wi_op_keep_f32 || (node->op->kind == WI_VIEW && reads_kept);
    s->order->kept[at(s, node)] = reads_kept && has_kernels(node->op);
}

static void join_memory(format_search *s, const weft_tensor *node) {
    const wi_op_kind kind = node->op->kind;
    if (kind != WI_VIEW && kind != WI_JOIN && kind != WI_TRANSFER && kind != WI_ASSIGN) return;
    for (int i = 0; i < node->input_count; i++) unite(s, node, node->inputs[i]);
}

static bool takes_narrow(const format_search *s, const wi_op *op) {
    return !has_kernels(op) || wi_kernels_accept_format(op, s->order->request->precision);
}

/* The format of a view or join is decided by the other nodes of its memory. */
static bool may_be_narrow(const format_search *s, const weft_tensor *node) {
    const wi_op_kind kind = node->op->kind;
    if (node->op == &wi_op_keep_f32) return false;
    if (kind == WI_VIEW || kind == WI_JOIN || kind == WI_TRANSFER) return node->dtype == WEFT_F32;
    return node->dtype == WEFT_F32 && (kind == WI_MAP || has_kernels(node->op)) &&
           (kind != WI_KERNEL || takes_narrow(s, node->op)) && s->flows[at(s, node)] &&
           (!s->promoted[at(s, node)] || s->read[at(s, node)] == READ_BY_CONTRACTION) &&
           (s->fixed ? s->fixed[at(s, node)] : has_numbers_of_examples(node->graph, &node->shape));
}

static void keep(format_search *s, const weft_tensor *node) {
    s->wide[representative(s, node)] = true;
}

/* The input that depends on a contraction; NULL if there is none or more than one. */
static const weft_tensor *only_flow(const format_search *s, const weft_tensor *node) {
    const weft_tensor *found = NULL;
    int count = 0;
    for (int i = 0; i < node->input_count; i++) {
        if (!s->flows[at(s, node->inputs[i])]) continue;
        found = node->inputs[i];
        count++;
    }
    return count == 1 ? found : NULL;
}

/* Keeps the f32 format from a result of weft_keep_f32 back through activation and bias to the contraction. */
static void keep_back(format_search *s, const weft_tensor *node) {
    while (node && (node->op->kind == WI_MAP || node->op->kind == WI_VIEW)) {
        keep(s, node);
        node = only_flow(s, node);
    }
    if (node) keep(s, node);
}

static bool is_map(const weft_tensor *node) {
    return node->op->kind == WI_MAP || node->op->kind == WI_VIEW;
}

/* Fills `fixed`: first with what depends on an input, then, readers before their inputs, with what leads to a contraction, too. */
static weft_status find_fixed_activations(format_search *s) {
    const wi_node_order *const order = s->order;
    bool *const leads = wi_arena_take(order->request->arena, order->count * sizeof *leads);
    s->fixed = wi_arena_take(order->request->arena, order->count * sizeof *s->fixed);
    if (!leads || !s->fixed) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *const node = order->nodes[i];
        s->fixed[i] = node->op == &wi_op_input;
        for (int k = 0; k < node->input_count; k++)
            s->fixed[i] = s->fixed[i] || s->fixed[at(s, node->inputs[k])];
    }
    for (size_t i = order->count; i-- > 0;) {
        const weft_tensor *const reader = order->nodes[i];
        const bool passes = is_map(reader) || reader->op->kind == WI_JOIN || reader->op->kind == WI_TRANSFER;
        for (int k = 0; k < reader->input_count; k++)
            if (has_kernels(reader->op) || (passes && leads[i])) leads[at(s, reader->inputs[k])] = true;
        s->fixed[i] = s->fixed[i] && leads[i];
    }
    return WEFT_OK;
}

/* Fills `read`. Walks backwards, so that readers come before their inputs. */
static void find_readers(format_search *s) {
    const wi_node_order *const order = s->order;
    for (size_t i = order->count; i-- > 0;) {
        const weft_tensor *const reader = order->nodes[i];
        const wi_op_kind kind = reader->op->kind;
        const uint8_t read = kind == WI_PRODUCT  ? READ_BY_CONTRACTION
                             : kind == WI_VIEW   ? s->read[i]
                             : kind == WI_REDUCE ? 0
                                                 : READ_BY_OTHERS;
        for (int k = 0; k < reader->input_count; k++) s->read[at(s, reader->inputs[k])] |= read;
    }
}

static void keep_what_must_be(format_search *s) {
    const wi_node_order *order = s->order;
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *const node = order->nodes[i];
        if (!may_be_narrow(s, node)) keep(s, node);
        if (node->op == &wi_op_keep_f32) keep_back(s, node);
        if (takes_narrow(s, node->op)) continue;
        for (int k = 0; k < node->input_count; k++) keep(s, node->inputs[k]);
    }
    for (size_t i = 0; i < order->root_count; i++) keep(s, order->roots[i]);
}

static weft_status find_formats(format_search *s) {
    wi_node_order *const order = s->order;
    wi_arena *const arena = order->request->arena;
    s->group = wi_arena_take(arena, order->count * sizeof *s->group);
    s->flows = wi_arena_take(arena, order->count * sizeof *s->flows);
    s->promoted = wi_arena_take(arena, order->count * sizeof *s->promoted);
    s->kept = wi_arena_take(arena, order->count * sizeof *s->kept);
    s->wide = wi_arena_take(arena, order->count * sizeof *s->wide);
    s->read = wi_arena_take(arena, order->count * sizeof *s->read);
    order->kept = wi_arena_take(arena, order->count * sizeof *order->kept);
    if (!s->group || !s->flows || !s->promoted || !s->kept || !s->wide || !s->read || !order->kept)
        return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) s->group[i] = i;
    for (size_t i = 0; i < order->count; i++) {
        trace(s, order->nodes[i]);
        join_memory(s, order->nodes[i]);
    }
    if (!has_batch(order)) WI_TRY(find_fixed_activations(s));
    find_readers(s);
    keep_what_must_be(s);
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *const node = order->nodes[i];
        if (!s->wide[representative(s, node)]) order->formats[i] = order->request->precision;
    }
    return WEFT_OK;
}

/* Logs the message once for each context and format. */
static void log_emulation(const wi_request *request) {
    weft_context *const context = request->context;
    const weft_dtype format = request->precision;
    const unsigned bit = 1u << format;
    const wi_device *const device = request->devices.of[0];
    if (!wi_dtype_rounds(format) || context->told & bit || wi_engines_multiply(&device->profile, format))
        return;
    context->told |= bit;
    wi_log_line(&context->log, WEFT_LOG_INFO,
        "Weft has no kernels for a matrix engine of this device for %s: values are stored in 16 bits and "
        "computed in f32",
        weft_dtype_name(format));
}

weft_status wi_order_formats(wi_node_order *order) {
    format_search search = {.order = order};
    log_emulation(order->request);
    order->formats = wi_arena_take(order->request->arena, order->count * sizeof *order->formats);
    if (!order->formats) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) order->formats[i] = order->nodes[i]->dtype;
    return wi_dtype_rounds(order->request->precision) ? find_formats(&search) : WEFT_OK;
}
