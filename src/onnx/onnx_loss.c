/* Losses of ONNX, and the steps of its optimizers (domain ai.onnx.preview.training). */
#include "onnx/onnx_build.h"

/* The losses, in the shape of the labels. */
static weft_tensor *build_class_loss(wi_onnx_import *n, wi_onnx_node *node) {
    const bool takes_logits = node->op_type[0] == 'S';
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const labels = wi_onnx_get(n, node, 1);
    const WiOnnx__AttributeProto *const ignored = wi_onnx_attribute(node, "ignore_index");
    static const weft_loss_reduction reductions[] = {WEFT_LOSS_MEAN, WEFT_LOSS_SUM, WEFT_LOSS_NONE};
    const int64_t label = wi_onnx_whole(node, "ignore_index", 0);
    const int reduction =
        wi_onnx_need_choice(n, node, "reduction", (const char *const[]){"mean", "sum", "none", NULL});
    if (reduction < 0) return NULL;
    if (label < INT32_MIN || label > INT32_MAX)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its ignore_index does not fit into i32");
    const weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = reductions[reduction],
        .class_weights = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL, .ignore = ignored != NULL,
        .ignored_label = (int32_t)label};
    if (n->status != WEFT_OK) return NULL;
    if (takes_logits && node->n_output > 1 && node->output[1][0])
        wi_onnx_set(n, node, 1, weft_log_softmax(x, weft_tensor_rank(x) > 1 ? 1 : 0));
    return takes_logits ? weft_cross_entropy_loss(x, labels, &options) : weft_nll_loss(x, labels, &options);
}

/* ---- steps of optimizers ---- */

/* Inputs: the rate r, the number t of steps so far, then for each of several tensors the tensor, then their gradients, and then their
 * moments. Outputs: the new tensors, and their new moments. */
typedef struct step {
    wi_onnx_import *network;
    wi_onnx_node *node;
    size_t count, moments;
    weft_tensor *rate, *steps; /* of rank 0, in f32 */
} step;

static bool read_step(step *s, wi_onnx_import *n, wi_onnx_node *node, size_t moments) {
    *s = (step){n, node, 0, moments, wi_onnx_get(n, node, 0), wi_onnx_get(n, node, 1)};
    const size_t each = 2 + moments;
    if (n->status != WEFT_OK) return false;
    if (node->n_input < 2 + each || (node->n_input - 2) % each != 0)
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT,
                   "the number of its inputs is %zu, expected 2 and %zu for each tensor", node->n_input,
                   each),
               false;
    s->count = (node->n_input - 2) / each;
    s->rate = weft_reshape_shape(s->rate, 0, NULL);
    s->steps = weft_cast(weft_reshape_shape(s->steps, 0, NULL), WEFT_F32);
    return true;
}

/* An input of the step. kind 0: tensor i; 1: its gradient; 2 and higher: its moments. */
static weft_tensor *part(const step *s, size_t kind, size_t i) {
    return wi_onnx_get(s->network, s->node, 2 + kind * s->count + i);
}

static void put(const step *s, size_t kind, size_t i, weft_tensor *tensor) {
    wi_onnx_set(s->network, s->node, kind * s->count + i, tensor);
}

static double real_of(const step *s, const char *name, double otherwise) {
    return wi_onnx_real(s->node, name, otherwise);
}

/* The gradient of tensor i plus the gradient of the penalty norm_coefficient · x² / 2. */
static weft_tensor *penalised(const step *s, size_t i) {
    weft_tensor *const x = part(s, 0, i), *const g = part(s, 1, i);
    return x && g ? weft_add(weft_mul_number(x, real_of(s, "norm_coefficient", 0)), g) : NULL;
}

/* a · x + b · y */
static weft_tensor *mix(double a, weft_tensor *x, double b, weft_tensor *y) {
    return weft_add(weft_mul_number(x, a), weft_mul_number(y, b));
}

static weft_tensor *build_adagrad(wi_onnx_import *n, wi_onnx_node *node) {
    step s;
    if (!read_step(&s, n, node, 1)) return NULL;
    weft_tensor *const rate =
        weft_div(s.rate, weft_add_number(weft_mul_number(s.steps, real_of(&s, "decay_factor", 0)), 1));
    for (size_t i = 0; i < s.count; i++) {
        weft_tensor *const g = penalised(&s, i), *const h = part(&s, 2, i);
        if (!g || !h) return NULL;
        weft_tensor *const sum = weft_add(h, weft_square(g));
        weft_tensor *const root = weft_add_number(weft_sqrt(sum), real_of(&s, "epsilon", 1e-6));
        put(&s, 0, i, weft_sub(part(&s, 0, i), weft_div(weft_mul(rate, g), root)));
        put(&s, 1, i, sum);
    }
    return NULL;
}

/* Biases of the moments are corrected from the second step on. */
static weft_tensor *build_adam(wi_onnx_import *n, wi_onnx_node *node) {
    step s;
    if (!read_step(&s, n, node, 2)) return NULL;
    const double alpha = real_of(&s, "alpha", 0.9), beta = real_of(&s, "beta", 0.999);
    weft_tensor *const first = weft_number_sub(1, weft_number_pow(alpha, s.steps)),
                       *const second = weft_number_sub(1, weft_number_pow(beta, s.steps));
    weft_tensor *const rate = weft_where(
        weft_greater_number(s.steps, 0), weft_div(weft_mul(s.rate, weft_sqrt(second)), first), s.rate);
    for (size_t i = 0; i < s.count; i++) {
        weft_tensor *const g = penalised(&s, i), *const v = part(&s, 2, i), *const h = part(&s, 3, i);
        if (!g || !v || !h) return NULL;
        weft_tensor *const new_v = mix(alpha, v, 1 - alpha, g);
        weft_tensor *const new_h = mix(beta, h, 1 - beta, weft_square(g));
        weft_tensor *const root = weft_add_number(weft_sqrt(new_h), real_of(&s, "epsilon", 1e-6));
        weft_tensor *const x = weft_sub(part(&s, 0, i), weft_mul(rate, weft_div(new_v, root)));
        put(&s, 0, i, weft_mul_number(x, 1 - real_of(&s, "norm_coefficient_post", 0)));
        put(&s, 1, i, new_v);
        put(&s, 2, i, new_h);
    }
    return NULL;
}

static weft_tensor *build_momentum(wi_onnx_import *n, wi_onnx_node *node) {
    step s;
    if (!read_step(&s, n, node, 1)) return NULL;
    const double alpha = real_of(&s, "alpha", 0), beta = real_of(&s, "beta", 1);
    const int mode =
        wi_onnx_need_choice(n, node, "mode", (const char *const[]){"standard", "nesterov", NULL});
    if (mode < 0) return NULL;
    weft_tensor *const factor =
        weft_where(weft_greater_number(s.steps, 0), weft_number(s.steps, beta), weft_number(s.steps, 1));
    for (size_t i = 0; i < s.count; i++) {
        weft_tensor *const g = penalised(&s, i), *const v = part(&s, 2, i);
        if (!g || !v) return NULL;
        weft_tensor *const new_v = weft_add(weft_mul_number(v, alpha), weft_mul(factor, g));
        weft_tensor *const move = mode == 1 ? mix(1, g, alpha, new_v) : new_v;
        put(&s, 0, i, weft_sub(part(&s, 0, i), weft_mul(s.rate, move)));
        put(&s, 1, i, new_v);
    }
    return NULL;
}

const wi_onnx_op wi_onnx_loss_ops[] = {{"SoftmaxCrossEntropyLoss", .build = build_class_loss},
    {"NegativeLogLikelihoodLoss", .build = build_class_loss}, {0}};
const wi_onnx_op wi_onnx_training_ops[] = {{"Adagrad", .build = build_adagrad}, {"Adam", .build = build_adam},
    {"Momentum", .build = build_momentum}, {0}};
