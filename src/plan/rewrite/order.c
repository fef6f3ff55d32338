/* Rewrites the nodes of the outputs and orders them, inputs before their users. A plan for training also gets the assignments that
 * composites do (running statistics of a norm). The order depends only on the graph, so that all plans of a graph have the same
 * structure. */
#include "plan/rewrite/order.h"
#include "base/integers.h"
#include "cl/opened_device.h"
#include "graph/weft_graph.h"
#include "kernels/registry.h"
#include "ops/movement/memory_order.h"
#include "ops/op_descriptors.h"
#include <string.h>

/* ---- rewriting ---- */

static weft_status take_counts(wi_node_order *order, const wi_rewrite *rewrite) {
    if (rewrite->count_count == 0) return WEFT_OK;
    order->rewrites = wi_arena_take(order->request->arena, rewrite->count_count * sizeof *order->rewrites);
    if (!order->rewrites) return WEFT_ERROR_MEMORY;
    memcpy(order->rewrites, rewrite->counts, rewrite->count_count * sizeof *order->rewrites);
    order->rewrite_count = rewrite->count_count;
    return WEFT_OK;
}

static weft_status take_inputs(wi_node_order *order, const wi_rewrite *rewrite) {
    if (rewrite->input_count == 0) return WEFT_OK;
    order->inputs = wi_arena_take(order->request->arena, rewrite->input_count * sizeof *order->inputs);
    if (!order->inputs) return WEFT_ERROR_MEMORY;
    memcpy(order->inputs, rewrite->inputs, rewrite->input_count * sizeof *order->inputs);
    order->input_count = rewrite->input_count;
    return WEFT_OK;
}

static weft_status take_roots(wi_node_order *order, const wi_rewrite *rewrite) {
    order->root_count = rewrite->root_count;
    order->roots = wi_arena_take(order->request->arena, order->root_count * sizeof *order->roots);
    if (!order->roots) return WEFT_ERROR_MEMORY;
    memcpy(order->roots, rewrite->roots, order->root_count * sizeof *order->roots);
    WI_TRY(take_inputs(order, rewrite));
    return take_counts(order, rewrite);
}

static weft_tensor *replace_kernel(void *asker, weft_tensor *node) {
    const wi_wishes *wishes = asker;
    const wi_request *request = wishes->request;
    const int wished = wi_wished(wishes, node->id);
    const wi_device *device = request->devices.of[wished < 0 ? 0 : wished];
    return wi_kernel_rewrite(node, &device->profile, request->batch, request->inference);
}

static void pass_wish_on(void *asker, const weft_tensor *node, const weft_tensor *image) {
    wi_wishes *wishes = asker;
    const int wished = wi_wished(wishes, node->id);
    if (wished >= 0 && wi_wished(wishes, image->id) < 0) wi_wish(wishes, image->id, wished);
}

static weft_status rewrite_graph(wi_node_order *order, wi_wishes *wishes) {
    const wi_request *request = order->request;
    wi_rewrite rewrite = {.graph = request->graph,
        .inference = request->inference,
        .batch = request->batch,
        .given = request->given,
        .replace_kernel = replace_kernel,
        .replaced = pass_wish_on,
        .asker = wishes};
    weft_status status = wi_rewrite_begin(&rewrite, request->outputs, request->output_count);
    if (status == WEFT_OK) status = wi_rewrite_run(&rewrite);
    if (status == WEFT_OK) status = take_roots(order, &rewrite);
    order->in_training = rewrite.in_training;
    order->names_it = rewrite.names_it;
    wi_rewrite_end(&rewrite);
    return status == WEFT_OK && wishes->failed ? WEFT_ERROR_MEMORY : status;
}

/* ---- order ---- */

typedef struct visit {
    weft_tensor *node;
    int next; /* the input that is visited next */
} visit;

typedef struct walk {
    wi_node_order *order;
    const weft_allocator *allocator;
    visit *stack;
    size_t stack_capacity;
} walk;

static weft_status append(walk *w, weft_tensor *node) {
    wi_node_order *order = w->order;
    WI_TRY(wi_grow(
        w->allocator, (void **)&order->nodes, &order->capacity, order->count + 1, sizeof *order->nodes));
    order->nodes[order->count++] = node;
    *wi_noted_place(order, node) = (uint32_t)order->count;
    return WEFT_OK;
}

/* Pushes the node on the stack unless it was pushed before. */
static weft_status enter(walk *w, weft_tensor *node, size_t *depth) {
    enum { MET = 1 }; /* the node was pushed, and is not in the order yet */
    uint32_t **const chunk = &w->order->places[node->id / WI_PLACE_CHUNK];
    if (!*chunk) *chunk = wi_arena_take(w->order->request->arena, WI_PLACE_CHUNK * sizeof **chunk);
    if (!*chunk) return WEFT_ERROR_MEMORY;
    uint32_t *const place = wi_noted_place(w->order, node);
    if (*place) return WEFT_OK;
    *place = MET;
    WI_TRY(wi_grow(w->allocator, (void **)&w->stack, &w->stack_capacity, *depth + 1, sizeof *w->stack));
    w->stack[(*depth)++] = (visit){.node = node};
    return WEFT_OK;
}

/* Depth first without recursion: a graph may be deeper than a thread's stack allows. Gradients that are a plan's output begin with the last
 * parameters, whose gradients the backward pass computes first, so that they can be read while it goes on. */
static weft_status visit_from(walk *w, weft_tensor *root) {
    const bool from_last = root->op == &wi_op_flat_gradients;
    size_t depth = 0;
    WI_TRY(enter(w, root, &depth));
    while (depth > 0) {
        visit *top = &w->stack[depth - 1];
        if (top->next < top->node->input_count) {
            const int next = top->next++, last = top->node->input_count - 1;
            WI_TRY(enter(w, top->node->inputs[from_last && depth == 1 ? last - next : next], &depth));
        } else {
            WI_TRY(append(w, top->node));
            depth--;
        }
    }
    return WEFT_OK;
}

static weft_status visit_all(wi_node_order *order) {
    walk w = {.order = order, .allocator = order->request->allocator};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < order->root_count && status == WEFT_OK; i++)
        status = visit_from(&w, order->roots[i]);
    wi_release(w.allocator, w.stack);
    return status;
}

static void count_readers(wi_node_order *order) {
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *node = order->nodes[i];
        for (int k = 0; k < node->input_count; k++) order->readers[wi_place_of(order, node->inputs[k])]++;
    }
    for (size_t i = 0; i < order->output_count; i++) order->readers[wi_place_of(order, order->roots[i])]++;
}

int64_t wi_priced_count(const wi_shape *shape) {
    enum { PRICED_BATCH = 64 };
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= shape->dims[i] < 0 ? -shape->dims[i] * PRICED_BATCH : shape->dims[i];
    return count;
}

/* Walks backwards, so that users come before their inputs. */
static void find_widest(wi_node_order *order) {
    for (size_t i = order->count; i-- > 0;) {
        const weft_tensor *node = order->nodes[i];
        int64_t *own = &order->widest[i];
        *own = wi_max64(*own, wi_priced_count(&node->shape));
        for (int k = 0; k < node->input_count && node->op->kind == WI_MAP; k++) {
            int64_t *of_input = &order->widest[wi_place_of(order, node->inputs[k])];
            *of_input = wi_max64(*of_input, *own);
        }
    }
}

/* Copies of inputs, parameters and views of them. */
static bool is_copy_of_source(const weft_tensor *node, const bool *copies, const wi_node_order *order) {
    if (node->op->kind == WI_SOURCE) return true;
    if (node->op->kind != WI_VIEW && node->op != &wi_op_transfer) return false;
    for (int i = 0; i < node->input_count; i++)
        if (!copies[wi_place_of(order, node->inputs[i])]) return false;
    return true;
}

/* Moves copies of sources to the beginning: a copy to another device waits for what its device has enqueued before, and the devices are to
 * compute their examples at the same time. */
static weft_status begin_with_copies(wi_node_order *order) {
    bool *const copies = wi_arena_take(order->request->arena, order->count * sizeof *copies);
    weft_tensor **const nodes = wi_arena_take(order->request->arena, order->count * sizeof *nodes);
    size_t count = 0;
    if (!copies || !nodes) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) copies[i] = is_copy_of_source(order->nodes[i], copies, order);
    for (int later = 0; later < 2; later++)
        for (size_t i = 0; i < order->count; i++)
            if (copies[i] != later) nodes[count++] = order->nodes[i];
    memcpy(order->nodes, nodes, count * sizeof *nodes);
    for (size_t i = 0; i < count; i++) *wi_noted_place(order, nodes[i]) = (uint32_t)i + 1;
    return WEFT_OK;
}

static weft_status make_order(wi_node_order *order) {
    const wi_request *request = order->request;
    order->id_count = request->graph->node_count;
    order->count = 0;
    order->places =
        wi_arena_take(request->arena, (order->id_count / WI_PLACE_CHUNK + 1) * sizeof *order->places);
    if (!order->places) return WEFT_ERROR_MEMORY;
    WI_TRY(visit_all(order));
    if (request->devices.share_batch) WI_TRY(begin_with_copies(order));
    order->readers = wi_arena_take(request->arena, order->count * sizeof *order->readers);
    order->widest = wi_arena_take(request->arena, order->count * sizeof *order->widest);
    if (!order->readers || !order->widest) return WEFT_ERROR_MEMORY;
    count_readers(order);
    find_widest(order);
    return WEFT_OK;
}

static weft_status make_order_on_devices(wi_node_order *order, wi_wishes *wishes) {
    const wi_request *request = order->request;
    WI_TRY(rewrite_graph(order, wishes));
    WI_TRY(make_order(order));
    if (request->micro_batches > 1) {
        WI_TRY(wi_order_micro_batches(order, wishes));
        WI_TRY(make_order(order));
    }
    bool any_in_pieces;
    WI_TRY(wi_order_pieces(order, &any_in_pieces));
    if (any_in_pieces) WI_TRY(make_order(order));
    if (request->devices.count == 1) return WEFT_OK;
    WI_TRY(wi_order_devices(order, wishes));
    return make_order(order);
}

weft_dtype wi_stored_format(const wi_node_order *order, const weft_tensor *node) {
    return wi_is_ordered(order, node) ? order->formats[wi_place_of(order, node)] : node->dtype;
}

weft_dtype wi_multiplied_format(const wi_node_order *order, const weft_tensor *node) {
    const wi_request *const request = order->request;
    if (order->kept && wi_is_ordered(order, node) && order->kept[wi_place_of(order, node)]) return WEFT_F32;
    const bool medium = request->matmul_precision == WEFT_MATMUL_PRECISION_MEDIUM;
    return medium && request->precision == WEFT_F32 ? WEFT_BF16 : request->precision;
}

weft_status wi_plan_order(const wi_request *request, wi_node_order *order) {
    wi_wishes wishes;
    *order = (wi_node_order){
        .request = request, .outputs = request->outputs, .output_count = request->output_count};
    weft_status status = wi_wishes_make(&wishes, request);
    if (status == WEFT_OK) status = make_order_on_devices(order, &wishes);
    wi_wishes_clear(&wishes);
    return status == WEFT_OK ? wi_order_formats(order) : status;
}

void wi_node_order_clear(wi_node_order *order) {
    if (order->request) wi_release(order->request->allocator, order->nodes);
}
