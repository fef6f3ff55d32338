/* Chooses the format in which the values of each node are stored (order.h).
 *
 * In mixed precision, activations and their gradients are stored in 16 bits: values that depend on the batch and come from a
 * contraction. A plan whose sizes are all numbers has no axis of the batch (a network of fixed sizes, a sliced batch, micro-batches).
 * There, values are activations if they come from a contraction, depend on an input of the plan, and only maps are between them and
 * a contraction or kernel that reads them; gradients of parameters are read by updates, and stay in f32.
 *
 * Activations are rounded when they are stored; arithmetic in registers is f32. All other values stay in f32: parameters, their
 * gradients, states and optimizers (which do not depend on the batch), inputs and outputs of the plan, results of reductions (statistics
 * of norms, row sums of a softmax), and values between an exponential or a logarithm and the next contraction (probabilities and losses,
 * whose differences from 1 matter). Operands of kernels that only accept f32 (wi_kernels_accept_format) and results of weft_keep_f32 also
 * stay in f32; contractions and kernel ops that read the latter multiply in f32.
 *
 * Logits (values that an exponential or a logarithm reads) also stay in f32
 * - in f16: a mask of -1e9 exceeds the range of f16, and a row of infinities has no softmax;
 * - if no matrix engine of the device multiplies the 16-bit format: their gradient is f32 and is computed in place, and a 16-bit copy would
 *   need more memory;
 * - in plans without an axis of the batch: a mask of -FLT_MAX would become infinite in bf16, as it does in other plans if there is an
 *   engine.
 *
 * Nodes that may share memory have one format: views, inputs of joins, transfers, assignments. */
#include "cl/context.h"
#include "kernels/registry.h"
#include "ops/op_table.h"
#include "plan/rewrite/order.h"

typedef struct format_search {
    wi_node_order *order;
    /* Union-find by place of nodes that may share memory: another node of the set; a representative has itself. */
    size_t *group;
    bool *flows;   /* by place: depends on a contraction */
    bool *precise; /* by place: depends on an exponential or a logarithm, without a contraction between */
    bool *kept;    /* by place: a result of weft_keep_f32, or a view of one */
    /* By place: only maps are between the node and an exponential or a logarithm, and no kernel reads the value. */
    bool *logits;
    bool *wide; /* by representative: keeps the node's dtype */
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

static void trace(format_search *s, const weft_tensor *node) {
    const bool is_contraction = node->op->kind == WI_PRODUCT;
    bool flows = is_contraction, precise = node->op->precise, reads_kept = false;
    for (int i = 0; i < node->input_count; i++) {
        flows = flows || s->flows[at(s, node->inputs[i])];
        precise = precise || s->precise[at(s, node->inputs[i])];
        reads_kept = reads_kept || s->kept[at(s, node->inputs[i])];
    }
    s->flows[at(s, node)] = flows;
    s->precise[at(s, node)] = precise && !is_contraction;
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
           !s->precise[at(s, node)] &&
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

/* Walks backwards, so that readers come before their inputs. */
static void find_logits(format_search *s) {
    const wi_node_order *const order = s->order;
    for (size_t i = order->count; i-- > 0;) {
        const weft_tensor *const reader = order->nodes[i];
        const bool leads = is_map(reader) && (reader->op->precise || s->logits[i]);
        for (int k = 0; leads && k < reader->input_count; k++) {
            const size_t place = at(s, reader->inputs[k]);
            s->logits[place] = s->flows[place] && !s->precise[place];
        }
    }
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *const reader = order->nodes[i];
        for (int k = 0; has_kernels(reader->op) && k < reader->input_count; k++)
            s->logits[at(s, reader->inputs[k])] = false;
    }
}

static void keep_what_must_be(format_search *s) {
    const wi_node_order *order = s->order;
    const weft_dtype format = order->request->precision;
    if (format == WEFT_F16 || s->fixed ||
        !wi_engines_multiply(&order->request->devices.of[0]->profile, format))
        find_logits(s);
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *const node = order->nodes[i];
        if (!may_be_narrow(s, node) || s->logits[i]) keep(s, node);
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
    s->precise = wi_arena_take(arena, order->count * sizeof *s->precise);
    s->kept = wi_arena_take(arena, order->count * sizeof *s->kept);
    s->wide = wi_arena_take(arena, order->count * sizeof *s->wide);
    s->logits = wi_arena_take(arena, order->count * sizeof *s->logits);
    order->kept = wi_arena_take(arena, order->count * sizeof *order->kept);
    if (!s->group || !s->flows || !s->precise || !s->kept || !s->wide || !s->logits || !order->kept)
        return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) s->group[i] = i;
    for (size_t i = 0; i < order->count; i++) {
        trace(s, order->nodes[i]);
        join_memory(s, order->nodes[i]);
    }
    if (!has_batch(order)) WI_TRY(find_fixed_activations(s));
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
