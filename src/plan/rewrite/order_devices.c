/* Assigns each node to a device and adds the necessary transfers.
 *
 * The home of a node is the device that was requested, or else the device that computes most bytes of the node's inputs. If nodes on
 * another device read it, a node `transfer` is created, once for each device, so that every node reads only values of its device.
 * Generators and views have no home: they are created on every device that reads them, so that the memory behind a view is transferred
 * and not the view. */
#include "cl/max_devices.h"
#include "graph/weft_graph.h"
#include "ops/op_descriptors.h"
#include "plan/rewrite/order.h"

const wi_op wi_op_transfer = {.name = "transfer",
    .kind = WI_TRANSFER,
    .attribute_bytes = sizeof(wi_transfer_attributes),
    .no_gradient = "only plans create it"};

/* ---- requested devices ---- */

weft_status wi_wishes_make(wi_wishes *wishes, const wi_request *request) {
    *wishes = (wi_wishes){.request = request};
    if (request->devices.count == 1) return WEFT_OK;
    const wi_plan_devices *asked = &request->devices;
    for (size_t i = 0; i < asked->wanted_count && asked->wanted; i++) {
        if (asked->wanted[i] >= asked->count)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "plan: node %zu is assigned to device %d, but the plan has %d devices", i, asked->wanted[i],
                asked->count);
        if (asked->wanted[i] >= 0) wi_wish(wishes, i, asked->wanted[i]);
    }
    return wishes->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

int wi_wished(const wi_wishes *wishes, size_t node) {
    return node < wishes->capacity ? wishes->device[node] - 1 : -1;
}

void wi_wish(wi_wishes *wishes, size_t node, int device) {
    const size_t before = wishes->capacity;
    if (wi_grow(wishes->request->allocator, (void **)&wishes->device, &wishes->capacity, node + 1,
            sizeof *wishes->device) != WEFT_OK) {
        wishes->failed = true;
        return;
    }
    for (size_t i = before; i < wishes->capacity; i++) wishes->device[i] = 0;
    wishes->device[node] = device + 1;
}

void wi_wishes_clear(wi_wishes *wishes) {
    wi_release(wishes->request->allocator, wishes->device);
}

/* ---- homes ---- */

typedef struct spread {
    wi_node_order *order;
    const wi_request *request;
    const wi_wishes *wishes;
    weft_tensor **images; /* by node id and device: the node's replacement on that device; NULL: none yet */
    int *home;            /* by node id: device index */
    bool *uniform;        /* by node id: all elements are equal */
} spread;

static bool is_view(const weft_tensor *node) {
    return node->op->kind == WI_VIEW && node->op != &wi_op_in_memory;
}

static bool is_uniform(const spread *s, const weft_tensor *node) {
    if (node->op == &wi_op_constant || node->op == &wi_op_scalar) return true;
    if (!is_view(node) && node->op->kind != WI_MAP) return false;
    for (int i = 0; i < node->input_count; i++) {
        if (!s->uniform[node->inputs[i]->id]) return false;
    }
    return true;
}

static bool is_everywhere(const spread *s, const weft_tensor *node) {
    return s->uniform[node->id] || node->op->kind == WI_GENERATOR;
}

/* Is the view created on every device? Not a view of a generator with different elements, because that view is stored. */
static bool is_cloned(const spread *s, const weft_tensor *node) {
    return is_view(node) && (s->uniform[node->inputs[0]->id] || node->inputs[0]->op->kind != WI_GENERATOR);
}

/* Uses general sizes, so that the steps do not depend on the batch size. */
static double bytes_of(const weft_tensor *node) {
    const wi_extent extent = wi_extent_of(&node->shape, 1);
    return (double)wi_extent_count(&extent).general * (double)weft_dtype_size(node->dtype);
}

static bool is_source(const weft_tensor *node) {
    while (node->op->kind == WI_VIEW) node = node->inputs[0];
    return node->op->kind == WI_SOURCE;
}

static int home_of(const spread *s, const weft_tensor *node) {
    double bytes[WI_MAX_DEVICES] = {0};
    const int wished = wi_wished(s->wishes, node->id);
    int home = 0;
    if (node->op->kind == WI_SOURCE || node->op->kind == WI_ASSIGN) return 0;
    if (is_view(node)) return s->home[node->inputs[0]->id];
    if (wished >= 0) return wished;
    if (s->request->devices.share_batch) return 0;
    for (int i = 0; i < node->input_count; i++) {
        const weft_tensor *input = node->inputs[i];
        if (!is_everywhere(s, input) && !is_source(input)) bytes[s->home[input->id]] += bytes_of(input);
    }
    for (int d = 1; d < s->request->devices.count; d++) home = bytes[d] > bytes[home] ? d : home;
    return home;
}

/* ---- replacements ---- */

static weft_tensor **image_at(const spread *s, const weft_tensor *node, int device) {
    return &s->images[(size_t)node->id * (size_t)s->request->devices.count + (size_t)device];
}

/* Returns the replacement, on `device`, of a node that has been visited: if there is none yet, a transfer from the node's home. */
static weft_tensor *image_on(const spread *s, weft_tensor *node, int device) {
    weft_tensor **image = image_at(s, node, device);
    const wi_attributes attributes = {.transfer = {.device = device}};
    if (!*image)
        *image = wi_node(node->graph, &wi_op_transfer, image_at(s, node, s->home[node->id]), 1, node->dtype,
            &node->shape, &attributes);
    return *image;
}

static weft_status make_image(const spread *s, weft_tensor *node, int device) {
    weft_tensor **inputs = wi_arena_take(s->request->arena, ((size_t)node->input_count + 1) * sizeof *inputs);
    bool changed = false;
    if (!inputs) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = image_on(s, node->inputs[i], device);
        if (!inputs[i]) return weft_graph_status(node->graph);
        changed = changed || inputs[i] != node->inputs[i];
    }
    weft_tensor *image = changed ? wi_node_over(node, inputs, &node->shape) : node;
    *image_at(s, node, device) = image;
    return weft_graph_status(node->graph);
}

static weft_status spread_node(spread *s, weft_tensor *node) {
    s->uniform[node->id] = is_uniform(s, node);
    s->home[node->id] = home_of(s, node);
    const bool all = is_everywhere(s, node) || is_cloned(s, node);
    for (int d = 0; d < s->request->devices.count; d++) {
        if (all || d == s->home[node->id]) WI_TRY(make_image(s, node, d));
    }
    return WEFT_OK;
}

static weft_status fill_devices(const spread *s) {
    wi_node_order *order = s->order;
    order->device = wi_arena_take(s->request->arena, s->request->graph->node_count * sizeof *order->device);
    if (!order->device) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) {
        for (int d = 0; d < s->request->devices.count; d++) {
            const weft_tensor *image = *image_at(s, order->nodes[i], d);
            if (image) order->device[image->id] = d;
        }
    }
    return WEFT_OK;
}

weft_status wi_order_devices(wi_node_order *order, const wi_wishes *wishes) {
    const wi_request *request = order->request;
    const size_t count = order->id_count, images = count * (size_t)request->devices.count;
    spread s = {.order = order, .request = request, .wishes = wishes};
    s.images = wi_arena_take(request->arena, images * sizeof *s.images);
    s.home = wi_arena_take(request->arena, count * sizeof *s.home);
    s.uniform = wi_arena_take(request->arena, count * sizeof *s.uniform);
    if (!s.images || !s.home || !s.uniform) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) WI_TRY(spread_node(&s, order->nodes[i]));
    for (size_t i = 0; i < order->root_count; i++)
        order->roots[i] = *image_at(&s, order->roots[i], s.home[order->roots[i]->id]);
    return fill_devices(&s);
}
