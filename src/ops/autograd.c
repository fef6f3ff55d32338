/* Automatic differentiation: visits the nodes between the loss and the given tensors, the newest first, and calls each op's backward
 * rule, which creates ordinary nodes for the gradients of the inputs. */
#include "cl/context.h"
#include "graph/attempt.h"
#include "ops/loss_scale.h"
#include "ops/op_table.h"
#include <string.h>

typedef struct walk {
    weft_graph *graph;
    uint32_t count;          /* the ids of all visited nodes are below this */
    weft_tensor **leaves;    /* nodes at which the walk ends, and NULLs; or NULL: no such nodes */
    weft_tensor *const *wrt; /* the tensors whose gradients the caller wants; NULL: those of the leaves */
    size_t wrt_count;
    bool *wanted;            /* by id: the gradient of this node is needed */
    weft_tensor **nodes;     /* by id: the node if the loss depends on it */
    uint32_t *readers;       /* by id: how often these nodes have it as an input */
    weft_tensor **gradients; /* by id: the sum so far */
    weft_tensor *scale;      /* of the loss; NULL: 1 */
} walk;

static void walk_end(walk *w) {
    const weft_allocator *allocator = w->graph->context->allocator;
    wi_release(allocator, w->wanted);
    wi_release(allocator, w->nodes);
    wi_release(allocator, w->readers);
    wi_release(allocator, w->gradients);
}

static weft_status walk_begin(walk *w, weft_tensor *loss) {
    const weft_allocator *allocator = loss->graph->context->allocator;
    *w = (walk){.graph = loss->graph, .count = loss->id + 1};
    w->wanted = wi_allocate_array(allocator, w->count, sizeof *w->wanted);
    w->nodes = wi_allocate_array(allocator, w->count, sizeof *w->nodes);
    w->readers = wi_allocate_array(allocator, w->count, sizeof *w->readers);
    w->gradients = wi_allocate_array(allocator, w->count, sizeof *w->gradients);
    return w->wanted && w->nodes && w->readers && w->gradients ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static bool is_leaf(const walk *w, const weft_tensor *node) {
    bool found = false;
    for (int i = 0; w->leaves && i < WI_COMPOSED_LEAVES; i++) found |= w->leaves[i] == node;
    return found;
}

/* Inputs have smaller ids than their readers. A pass by falling ids therefore finds all nodes that the loss depends on, and a pass by
 * rising ids all nodes that depend on a wanted one. */
static void mark(walk *w, weft_tensor *loss) {
    w->nodes[loss->id] = loss;
    for (uint32_t id = w->count; id-- > 0;) {
        const weft_tensor *node = w->nodes[id];
        if (!node || is_leaf(w, node)) continue;
        for (int i = 0; i < node->input_count; i++) {
            w->nodes[node->inputs[i]->id] = node->inputs[i];
            w->readers[node->inputs[i]->id]++;
        }
    }
    for (uint32_t id = 0; id < w->count; id++) {
        const weft_tensor *node = w->nodes[id];
        if (!node || node->op->zero_gradient || !wi_dtype_is_float(node->dtype) || is_leaf(w, node)) continue;
        for (int i = 0; i < node->input_count; i++) w->wanted[id] |= w->wanted[node->inputs[i]->id];
    }
}

static weft_status fail_without(const weft_tensor *node) {
    const char *const way_out = node->op->no_gradient;
    if (!way_out)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "weft_gradients: op %s has no gradient rule", node->op->name);
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "weft_gradients: the loss depends on %s, which has no gradient: %s, or wrap it in "
        "weft_stop_gradient, which makes its gradient zero",
        node->op->name, way_out);
}

static void add_gradient(walk *w, const weft_tensor *node, weft_tensor *contribution) {
    weft_tensor **sum = &w->gradients[node->id];
    *sum = *sum ? weft_add(*sum, contribution) : contribution;
}

static weft_status pass_back(walk *w, weft_tensor *node, const wi_op_rules *rules) {
    weft_tensor *few[4] = {0};
    weft_tensor **contributions = few;
    if (node->input_count > 4) {
        contributions = wi_arena_take(&w->graph->arena, (size_t)node->input_count * sizeof *contributions);
        if (!contributions) return WEFT_ERROR_MEMORY;
    }
    rules->backward(node, w->gradients[node->id], contributions);
    for (int i = 0; i < node->input_count; i++) {
        const weft_tensor *input = node->inputs[i];
        if (!contributions[i] || !w->wanted[input->id]) continue;
        add_gradient(w, input, wi_sum_to(contributions[i], &input->shape));
    }
    return weft_graph_status(w->graph);
}

static bool is_wanted(const walk *w, const weft_tensor *node) {
    return node && node->id < w->count && w->wanted[node->id];
}

/* The program wrote an op by parts, of which this node is the last one. Is the gradient computed by the rule of the whole op? Not if the
 * gradient of one of the other parts is needed, too. */
static bool passes_through(const walk *w, weft_tensor *node, wi_recognised *found) {
    if (w->graph->plain || !wi_recognise(node, found)) return false;
    for (int i = 0; i < WI_COMPOSED_LEAVES; i++)
        if (is_wanted(w, found->constants[i])) return false;
    for (int i = 0; i < found->part_count; i++) {
        const weft_tensor *const part = found->parts[i];
        if (is_leaf(w, part) || wi_reads_of_part(node, found, part) < w->readers[part->id]) return false;
        for (size_t k = 0; k < w->wrt_count; k++)
            if (w->wrt[k] == part) return false;
    }
    return true;
}

static weft_status pass_through(walk *w, weft_tensor *node, weft_tensor *composed, weft_tensor **leaves);

/* Adds the node's contribution to the gradients of its inputs, or, if the node is composed of other nodes, of their leaves. */
static weft_status pass(walk *w, weft_tensor *node) {
    const wi_op_rules *const rules = wi_rules_of(w->graph, node->op);
    weft_tensor *leaves[WI_COMPOSED_LEAVES] = {NULL};
    wi_recognised found;
    if (passes_through(w, node, &found)) return pass_through(w, node, found.node, found.leaves);
    WI_TRY(weft_graph_status(w->graph));
    if (rules->backward) return pass_back(w, node, rules);
    if (node->op->composed) {
        weft_tensor *const composed = node->op->composed(node, leaves);
        return pass_through(w, node, composed, leaves);
    }
    return node->op->zero_gradient ? WEFT_OK : fail_without(node);
}

static weft_status walk_back(walk *w, weft_tensor *loss, weft_tensor *g) {
    w->gradients[loss->id] = g;
    for (uint32_t id = w->count; id-- > 0;) {
        weft_tensor *node = w->nodes[id];
        if (!node || !w->wanted[id] || !w->gradients[id] || node->input_count == 0 || is_leaf(w, node))
            continue;
        const uint32_t before = wi_origin_enter(w->graph, node->origin);
        const weft_status status = pass(w, node);
        wi_origin_leave(w->graph, before);
        WI_TRY(status);
    }
    return weft_graph_status(w->graph);
}

/* Passes the gradient of the node through the nodes that it is composed of, to the leaves. */
static weft_status pass_through(walk *outer, weft_tensor *node, weft_tensor *composed, weft_tensor **leaves) {
    WI_TRY(weft_graph_status(outer->graph));
    walk w;
    weft_status status = walk_begin(&w, composed);
    if (status != WEFT_OK) goto done;
    w.leaves = leaves;
    for (int i = 0; i < WI_COMPOSED_LEAVES; i++)
        if (leaves[i] && leaves[i]->id < w.count) w.wanted[leaves[i]->id] = outer->wanted[leaves[i]->id];
    mark(&w, composed);
    WI_TRY_DONE(walk_back(&w, composed, outer->gradients[node->id]));
    for (int i = 0; i < WI_COMPOSED_LEAVES; i++) {
        if (!leaves[i] || leaves[i]->id >= w.count || !w.gradients[leaves[i]->id]) continue;
        add_gradient(outer, leaves[i], w.gradients[leaves[i]->id]);
        w.gradients[leaves[i]->id] = NULL; /* a leaf may be listed twice */
    }
    status = weft_graph_status(outer->graph);
done:
    walk_end(&w);
    return status;
}

static weft_status check(weft_tensor *loss, weft_tensor *const *wrt, size_t count, weft_tensor **gradients) {
    if (!loss || !wrt || !gradients) {
        if (loss) WI_TRY(weft_graph_status(loss->graph));
        for (size_t i = 0; wrt && !loss && i < count; i++) {
            if (wrt[i]) WI_TRY(weft_graph_status(wrt[i]->graph));
        }
        return wi_fail_null("weft_gradients", !loss ? "loss" : !wrt ? "wrt" : "gradients");
    }
    WI_TRY(weft_graph_status(loss->graph));
    char text[WI_SHAPE_TEXT];
    for (int i = 0; i < loss->shape.rank; i++) {
        if (loss->shape.dims[i] != 1)
            WI_FAIL(WEFT_ERROR_SHAPE,
                "weft_gradients: the loss has shape %s, expected a single element; take its mean or sum "
                "first",
                wi_shape_print(loss->graph, &loss->shape, text));
    }
    if (!wi_dtype_is_float(loss->dtype))
        WI_FAIL(WEFT_ERROR_DTYPE, "weft_gradients: the loss is %s, not %s", weft_dtype_name(loss->dtype),
            wi_dtypes_text(WI_TAKES_FLOATS));
    for (size_t i = 0; i < count; i++) {
        if (!wrt[i]) return wi_fail_null("weft_gradients", "one of the tensors");
        if (wrt[i]->graph != loss->graph)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_gradients: tensor %zu belongs to another graph", i);
        if (!wi_dtype_is_float(wrt[i]->dtype))
            WI_FAIL(WEFT_ERROR_DTYPE, "weft_gradients: tensor %zu is %s and has no gradient", i,
                weft_dtype_name(wrt[i]->dtype));
    }
    return WEFT_OK;
}

static weft_tensor *found_gradient(const walk *w, weft_tensor *wrt) {
    weft_tensor *found = wrt->id < w->count && w->nodes[wrt->id] ? w->gradients[wrt->id] : NULL;
    if (found && w->scale)
        found = weft_mul(found, weft_cast(weft_reciprocal(w->scale), weft_tensor_dtype(wi_wide(found))));
    return found ? found : wi_unreached_gradient(wrt);
}

/* The gradient of the loss: 1, or the scale. */
static weft_tensor *first_gradient(walk *w, weft_tensor *loss) {
    if (wi_loss_scales(loss->graph)) w->scale = wi_loss_scale(loss->graph);
    weft_tensor *const one =
        w->scale ? weft_cast(w->scale, loss->dtype) : weft_constant(loss->graph, loss->dtype, 1);
    return weft_expand(one, loss->shape.rank, loss->shape.dims);
}

static weft_status find_gradients(
    weft_tensor *loss, weft_tensor *const *wrt, size_t count, weft_tensor **gradients) {
    walk w;
    weft_status status = walk_begin(&w, loss);
    if (status != WEFT_OK) goto done;
    w.wrt = wrt, w.wrt_count = count;
    for (size_t i = 0; i < count; i++) {
        if (wrt[i]->id < w.count) w.wanted[wrt[i]->id] = true;
    }
    mark(&w, loss);
    WI_TRY_DONE(walk_back(&w, loss, first_gradient(&w, loss)));
    for (size_t i = 0; i < count; i++) gradients[i] = found_gradient(&w, wrt[i]);
    status = weft_graph_status(loss->graph);
done:
    walk_end(&w);
    return status;
}

static void forget(weft_tensor **gradients, size_t count) {
    for (size_t i = 0; gradients && i < count; i++) gradients[i] = NULL;
}

static weft_status gradients_of(
    weft_tensor *loss, weft_tensor *const *wrt, size_t count, weft_tensor **gradients) {
    forget(gradients, count);
    WI_TRY(check(loss, wrt, count, gradients));
    const wi_attempt attempt = wi_attempt_begin(loss->graph);
    const weft_status status = wi_attempt_end(&attempt, find_gradients(loss, wrt, count, gradients));
    if (status != WEFT_OK) forget(gradients, count);
    return status;
}

weft_status weft_gradients(
    weft_tensor *loss, weft_tensor *const *wrt, size_t count, weft_tensor **gradients) {
    return WI_STATUS_CALL(
        weft_tensor_graph(loss), "weft_gradients", gradients_of(loss, wrt, count, gradients));
}

static weft_tensor *build_gradient(weft_tensor *loss, weft_tensor *wrt) {
    weft_tensor *gradient = NULL;
    const weft_status status = weft_gradients(loss, &wrt, 1, &gradient);
    if (status != WEFT_OK && (loss || wrt)) wi_graph_fail_recorded((loss ? loss : wrt)->graph, status);
    return gradient;
}

weft_tensor *weft_gradient(weft_tensor *loss, weft_tensor *wrt) {
    return WI_CALL(loss, "weft_gradient", build_gradient(loss, wrt));
}
