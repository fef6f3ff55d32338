/* Optimizers as nodes over the flat buffers: parameters p, gradients g and state each are one tensor (N), so
 * a few elementwise nodes update the whole network and the planner makes one launch of them.
 *
 * SGD with momentum in PyTorch's form: v ← momentum·v + g (v begins at 0, so the first v is g); p ← p −
 * rate·v. Adam: Kingma and Ba 2015, algorithm 1, with the denominator sqrt(v̂) + epsilon; v̂ and m̂ are
 * bias-corrected.
 *
 * The learning rate is one scalar a graph, shared by all updates that were made for it. */
#include "graph/nodes.h"
#include "ops/op_table.h"
#include <math.h>
#include <weft/nn.h>

weft_optimizer weft_sgd(float rate) {
    return weft_sgd_momentum(rate, 0.0f, 0.0f);
}

weft_optimizer weft_sgd_momentum(float rate, float momentum, float weight_decay) {
    return (weft_optimizer){
        .kind = WEFT_SGD, .rate = rate, .momentum = momentum, .weight_decay = weight_decay};
}

weft_optimizer weft_adam(float rate) {
    return (weft_optimizer){
        .kind = WEFT_ADAM, .rate = rate, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
}

static bool in_range(float value, float low, float end) {
    return value >= low && value < end;
}

static weft_status check_optimizer(const weft_optimizer *optimizer) {
    const struct {
        const char *name;
        float value, low, end;
        bool used;
    } fields[] = {
        {"rate", optimizer->rate, 0.0f, INFINITY, true},
        {"weight_decay", optimizer->weight_decay, 0.0f, INFINITY, true},
        {"momentum", optimizer->momentum, 0.0f, 1.0f, optimizer->kind == WEFT_SGD},
        {"beta1", optimizer->beta1, 0.0f, 1.0f, optimizer->kind == WEFT_ADAM},
        {"beta2", optimizer->beta2, 0.0f, 1.0f, optimizer->kind == WEFT_ADAM},
        {"epsilon", optimizer->epsilon, 0.0f, INFINITY, optimizer->kind == WEFT_ADAM},
    };
    if (optimizer->kind != WEFT_SGD && optimizer->kind != WEFT_ADAM)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: kind %d is neither WEFT_SGD nor WEFT_ADAM",
            (int)optimizer->kind);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].used && !in_range(fields[i].value, fields[i].low, fields[i].end))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is %g, expected at least %g and below %g",
                fields[i].name, (double)fields[i].value, (double)fields[i].low, (double)fields[i].end);
    return WEFT_OK;
}

static size_t update_count(const weft_optimizer *optimizer) {
    if (optimizer->kind == WEFT_ADAM) return 3;
    return optimizer->momentum > 0.0f ? 2 : 1;
}

weft_tensor *weft_minimize_rate(weft_graph *graph) {
    return graph ? graph->rate : NULL;
}

static weft_status prepare_rate(weft_graph *graph, float value) {
    if (graph->rate) return weft_scalar_set(graph->rate, value);
    graph->rate = weft_scalar(graph, "learning_rate", value);
    return weft_graph_status(graph);
}

/* Without a name: optimizer state is no weight, and stays out of files of weights. */
static weft_tensor *optimizer_state(weft_tensor *p) {
    return wi_flat_state(weft_tensor_graph(p), "");
}

static weft_tensor *scaled(weft_tensor *x, double factor) {
    return weft_mul(x, weft_number(x, factor));
}

/* p ← p − rate·step */
static weft_tensor *descend(weft_tensor *p, weft_tensor *step) {
    return weft_assign(p, weft_sub(p, weft_mul(weft_tensor_graph(p)->rate, step)));
}

static void sgd_updates(
    weft_tensor **updates, const weft_optimizer *optimizer, weft_tensor *p, weft_tensor *g) {
    weft_tensor *step = g;
    if (optimizer->momentum > 0.0f) {
        weft_tensor *const v = optimizer_state(p);
        step = weft_add(scaled(v, (double)optimizer->momentum), g);
        updates[1] = weft_assign(v, step);
    }
    updates[0] = descend(p, step);
}

static void adam_updates(
    weft_tensor **updates, const weft_optimizer *optimizer, weft_tensor *p, weft_tensor *g) {
    weft_graph *const graph = weft_tensor_graph(p);
    const double beta1 = (double)optimizer->beta1, beta2 = (double)optimizer->beta2;
    weft_tensor *const m = optimizer_state(p);
    weft_tensor *const v = optimizer_state(p);
    weft_tensor *const next_m = weft_add(scaled(m, beta1), scaled(g, 1.0 - beta1));
    weft_tensor *const next_v = weft_add(scaled(v, beta2), scaled(weft_square(g), 1.0 - beta2));
    weft_tensor *const m_hat = weft_mul(next_m, wi_step_scalar(graph, WI_STEP_BIAS_CORRECTION, beta1));
    weft_tensor *const v_hat = weft_mul(next_v, wi_step_scalar(graph, WI_STEP_BIAS_CORRECTION, beta2));
    weft_tensor *const root = weft_sqrt(v_hat);
    weft_tensor *const denominator = weft_add(root, weft_number(root, (double)optimizer->epsilon));
    updates[0] = descend(p, weft_div(m_hat, denominator));
    updates[1] = weft_assign(m, next_m);
    updates[2] = weft_assign(v, next_v);
}

weft_status weft_minimize(weft_tensor *loss, const weft_optimizer *optimizer, weft_tensor **updates,
    size_t capacity, size_t *count) {
    if (!loss || !optimizer || !updates || !count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_minimize: loss, optimizer, updates and count must not be NULL");
    weft_graph *const graph = weft_tensor_graph(loss);
    WI_TRY(weft_graph_status(graph));
    WI_TRY(check_optimizer(optimizer));
    const size_t needed = update_count(optimizer);
    if (capacity < needed)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_minimize: %zu updates, room for %zu", needed, capacity);
    if (weft_graph_parameter_count(graph) == 0)
        WI_FAIL(WEFT_ERROR_STATE, "weft_minimize: the graph has no parameters to train");

    WI_TRY(prepare_rate(graph, optimizer->rate));
    weft_tensor *const p = wi_flat_parameters(graph);
    weft_tensor *g = wi_flat_gradients(loss);
    if (!p || !g) return weft_graph_status(graph);
    if (optimizer->weight_decay > 0.0f) g = weft_add(g, scaled(p, (double)optimizer->weight_decay));
    if (optimizer->kind == WEFT_ADAM)
        adam_updates(updates, optimizer, p, g);
    else
        sgd_updates(updates, optimizer, p, g);
    *count = needed;
    return weft_graph_status(graph);
}
