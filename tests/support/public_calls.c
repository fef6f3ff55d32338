/* The rows: see public_calls.h. */
#include "support/public_calls.h"
#include "support/public_call_arguments.h"
#include "support/public_call_forms.h"
#include "support/public_call_rows.h"

/* ---- calls with several results, or with structs of tensors ---- */

static weft_tensor *first(weft_status status, weft_tensor **outputs, size_t made) {
    weft_tensor *result = NULL;
    for (size_t i = 0; i < made && status == WEFT_OK; i++) result = outputs[i];
    return result;
}

static weft_tensor *split(call_source *s) {
    weft_tensor *outputs[8] = {NULL};
    weft_tensor *const x = ROWS;
    const int axis = small(s, 1);
    const size_t made = count(s, 2, 8);
    return first(weft_split(x, axis, made, outputs), outputs, made);
}

static weft_tensor *split_sizes(call_source *s) {
    weft_tensor *outputs[8] = {NULL};
    weft_tensor *const x = ROWS;
    const int axis = small(s, 1);
    const int64_t sizes[] = {whole(s, 1), whole(s, 3)};
    return first(weft_split_sizes(x, axis, sizes, 2, outputs), outputs, 2);
}

static weft_tensor *joined(call_source *s, bool stacked) {
    weft_tensor *const xs[] = {ROWS, ROWS, ROWS};
    const size_t number_of = count(s, 3, 3);
    return stacked ? weft_stack(xs, number_of, small(s, 1)) : weft_concat(xs, number_of, small(s, 1));
}

static weft_tensor *adaptive(call_source *s) {
    const int64_t width = whole(s, 4), classes = whole(s, 9), cutoffs[] = {whole(s, 3), whole(s, 5)};
    const weft_adaptive_softmax_options o = {
        WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, .divisor = single(s, 2), .head_bias = flag(s, true)};
    weft_adaptive_softmax *const softmax =
        weft_adaptive_softmax_layer(G, width, classes, cutoffs, count(s, 2, 2), &o);
    return softmax ? weft_adaptive_softmax_loss(softmax, ROWS, NAMES) : NULL;
}

static weft_tensor *sampled(call_source *s, bool is_loss) {
    const int64_t width = whole(s, 4), classes = whole(s, 9);
    const weft_sampled_softmax_options o = {WEFT_SAMPLED_SOFTMAX_OPTIONS_INIT, .bias = flag(s, true)};
    weft_sampled_softmax *const softmax = weft_sampled_softmax_layer(G, width, classes, whole(s, 3), &o);
    if (!softmax) return NULL;
    return is_loss ? weft_sampled_softmax_loss(softmax, ROWS, NAMES)
                   : weft_sampled_softmax_logits(softmax, ROWS);
}

static weft_tensor *hashed(call_source *s, bool is_loss) {
    const int64_t width = whole(s, 4), classes = whole(s, 9), groups = whole(s, 2);
    const weft_mach_options o = {WEFT_MACH_OPTIONS_INIT, .no_bias = flag(s, true)};
    weft_mach *const mach = weft_mach_layer(G, width, classes, groups, whole(s, 3), &o);
    if (!mach) return NULL;
    return is_loss ? weft_mach_loss(mach, ROWS, NAMES) : weft_mach_probabilities(mach, ROWS);
}

static weft_tensor *lstm_cell(call_source *s) {
    const weft_recurrent_weights w = {
        .weight_ih = tensor(s, WEFT_F32, 2, 12, 4, 0, 0), .weight_hh = tensor(s, WEFT_F32, 2, 12, 3, 0, 0)};
    weft_tensor *const h = tensor(s, WEFT_F32, 2, 2, 3, 0, 0);
    return weft_lstm_cell(ROWS, h, h, &w).h;
}

static weft_tensor *sequence(call_source *s, int gates) {
    const weft_recurrent_weights w = {.weight_ih = tensor(s, WEFT_F32, 2, 3 * gates, 6, 0, 0),
        .weight_hh = tensor(s, WEFT_F32, 2, 3 * gates, 3, 0, 0)};
    const weft_sequence_options o = {WEFT_SEQUENCE_OPTIONS_INIT, .reverse = flag(s, false)};
    if (gates == 4) return weft_lstm_with(CUBE, &w, &o).y;
    return gates == 3 ? weft_gru_with(CUBE, &w, &o).y : weft_rnn_with(CUBE, &w, &o).y;
}

static weft_tensor *ctc(call_source *s) {
    const weft_ctc_loss_options o = {WEFT_CTC_LOSS_OPTIONS_INIT, .blank = small(s, 0)};
    weft_tensor *const lengths = tensor(s, WEFT_I32, 1, 4, 0, 0, 0);
    return weft_ctc_loss(CUBE, tensor(s, WEFT_I32, 2, 4, 1, 0, 0), lengths, lengths, &o);
}

static weft_tensor *gradient(call_source *s) {
    weft_tensor *const x = LINE;
    return weft_gradient(weft_sum_axes(weft_square(x), NULL, false), x);
}

static weft_tensor *assigned(call_source *s) {
    const int64_t dims[] = {whole(s, 4)};
    weft_tensor *const state = weft_state_shape(G, name(s), WEFT_F32, weft_zeros(), 1, dims);
    return weft_assign(state, weft_add_number(state, 1));
}

/* A step of an optimizer, with a parameter and a gradient of any shape, or with a loss. */
static weft_tensor *stepped(call_source *s) {
    weft_optimizer rule = {
        .kind = (weft_optimizer_kind)number_in(s, WEFT_ADAM, 0, 10), .rate = single(s, 0.1)};
    rule.beta1 = rule.beta2 = rule.kind == WEFT_ADAM ? single(s, 0.5) : 0;
    weft_tensor *const parameter = weft_parameter(G, name(s), weft_zeros(), 4);
    weft_tensor *const gradient = LINE, *const given[] = {flag(s, true) ? parameter : gradient, parameter};
    weft_optimizer_state *const optimizer = weft_optimizer_create(G, &rule);
    weft_tensor *const gradients[] = {gradient, gradient};
    if (flag(s, true)) return weft_optimizer_step(optimizer, given, gradients, count(s, 1, 2));
    return weft_optimizer_minimize(
        optimizer, weft_sum(weft_mul(parameter, gradient)), flag(s, false) ? "*" : NULL);
}

/* Two layers, perhaps with the same names and perhaps in a scope that shares; their sizes may differ. */
static weft_tensor *shared(call_source *s) {
    weft_tensor *y = NULL;
    const bool share = flag(s, true);
    for (int i = 0; i < 2; i++) {
        (void)weft_scope_begin(G, flag(s, true) ? "twice" : NULL, share);
        y = weft_linear(ROWS, host_size(s, 4));
        if (flag(s, true)) (void)weft_scope_end(G);
    }
    return y;
}

static weft_tensor *attended_with(call_source *s) {
    weft_tensor *const rows = CUBE;
    const weft_multi_head_weights weights = {.in_proj_weight = tensor(s, WEFT_F32, 2, 18, 6, 0, 0),
        .in_proj_bias = tensor(s, WEFT_F32, 1, 18, 0, 0, 0),
        .out_proj_weight = tensor(s, WEFT_F32, 2, 6, 6, 0, 0)};
    return weft_multi_head_attention_with(rows, rows, rows, whole(s, 2), &weights, NULL);
}

static weft_tensor *array(call_source *s) {
    static const char numbers[1024];
    const int64_t dims[] = {host_size(s, 4), host_size(s, 2)};
    return weft_array(G, WEFT_F32, numbers, 2, dims);
}

static weft_tensor *padded(call_source *s) {
    const int64_t before[] = {whole(s, 0), whole(s, 1), 0, 0, 0, 0, 0, 0};
    const int64_t after[] = {whole(s, 0), whole(s, 1), 0, 0, 0, 0, 0, 0};
    return weft_pad(ROWS, before, after, (weft_pad_mode)number_in(s, WEFT_PAD_CONSTANT, 0, 4), number(s, 0));
}

static weft_tensor *adaptive_pool(call_source *s, bool maximum) {
    const int64_t sizes[] = {whole(s, 2), whole(s, 3), 1};
    return maximum ? weft_adaptive_max_pool(IMAGE, sizes) : weft_adaptive_avg_pool(IMAGE, sizes);
}

static weft_tensor *conv(call_source *s, bool transposed) {
    const weft_conv_options o = window_of(s, transposed);
    weft_tensor *const weight = tensor(s, WEFT_F32, 4, 4, 4, 3, 3);
    return transposed ? weft_conv_transpose_with(IMAGE, weight, NULL, &o)
                      : weft_conv_with(IMAGE, weight, NULL, &o);
}

static weft_tensor *conv_layer(call_source *s, bool transposed) {
    const weft_conv_layer_options o = {WEFT_CONV_LAYER_OPTIONS_INIT, .conv = window_of(s, transposed),
        .transposed = transposed, .no_bias = flag(s, false)};
    const int64_t size[] = {whole(s, 3), whole(s, 3), 1};
    return weft_conv_layer(IMAGE, whole(s, 4), size, &o);
}

static weft_tensor *recurrent(call_source *s, int kind) {
    const weft_recurrent_options o = recurrent_of(s);
    const int64_t hidden = whole(s, 3);
    if (kind == 0) return weft_lstm(CUBE, hidden, &o).y;
    return kind == 1 ? weft_gru(CUBE, hidden, &o).y : weft_rnn(CUBE, hidden, &o).y;
}

static weft_tensor *multi_head(call_source *s) {
    const weft_multi_head_options o = {WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = flag(s, true)};
    weft_tensor *const x = CUBE;
    return weft_multi_head_attention(x, x, x, whole(s, 2), &o);
}

static weft_tensor *attention(call_source *s) {
    const weft_attention_options o = {WEFT_ATTENTION_OPTIONS_INIT, .causal = flag(s, false),
        .scale = single(s, 0), .dropout = single(s, 0)};
    return weft_attention(CUBE, CUBE, CUBE, &o);
}

static weft_tensor *embedding_layer(call_source *s) {
    const weft_embedding_options o = {
        WEFT_EMBEDDING_OPTIONS_INIT, .padded = flag(s, true), .padding = whole(s, 1)};
    return weft_embedding_layer(INDEX, whole(s, 5), whole(s, 3), &o);
}

static weft_tensor *norm(call_source *s, int kind) {
    const weft_norm_options o = {
        WEFT_NORM_OPTIONS_INIT, .axes = small(s, kind ? 2 : 0), .epsilon = single(s, 0)};
    if (kind == 0) return weft_group_norm_layer(IMAGE, whole(s, 2), &o);
    return kind == 1 ? weft_layer_norm_layer(IMAGE, &o) : weft_rms_norm_layer(IMAGE, &o);
}

static weft_tensor *batch_norm(call_source *s, bool of_batch) {
    const float momentum = single(s, 0.5), epsilon = single(s, 0);
    const weft_batch_norm_options b = {
        WEFT_BATCH_NORM_OPTIONS_INIT, .momentum = momentum, .epsilon = epsilon};
    const weft_instance_norm_options i = {
        WEFT_INSTANCE_NORM_OPTIONS_INIT, .momentum = momentum, .epsilon = epsilon, .running = flag(s, true)};
    return of_batch ? weft_batch_norm_layer(IMAGE, &b) : weft_instance_norm_layer(IMAGE, &i);
}

static weft_tensor *class_loss(call_source *s, int kind) {
    const weft_class_loss_options o = classes_of(s);
    if (kind == 0) return weft_cross_entropy_loss(ROWS, NAMES, &o);
    return kind == 1 ? weft_nll_loss(ROWS, NAMES, &o)
                     : weft_sequence_cross_entropy_loss(CUBE, INDEX, NULL, &o);
}

static weft_tensor *pool(call_source *s, int kind) {
    const weft_pool_options o = pool_of(s, kind == 1);
    if (kind == 0) return weft_max_pool(IMAGE, &o);
    return kind == 1 ? weft_avg_pool(IMAGE, &o) : weft_lp_pool(IMAGE, number(s, 2), &o);
}

static weft_tensor *resampled(call_source *s) {
    const weft_resample_options o = resample_of(s);
    return weft_resample(IMAGE, &o);
}

static weft_tensor *model(call_source *s) {
    static const char *const models[] = {"lenet5", "alexnet_r", "resnet20", "mobilenet_v2"};
    const char *const which = models[count(s, 0, 3)];
    return weft_model(weft_input(G, name(s), WEFT_F32, 1, 32, 32), which, whole(s, 10), NULL);
}

static weft_tensor *bert(call_source *s) {
    const weft_bert_options o = {WEFT_BERT_OPTIONS_INIT, .prefix = name(s), .layers = whole(s, 1),
        .width = whole(s, 8), .heads = whole(s, 2), .intermediate = whole(s, 4), .vocabulary = whole(s, 9),
        .positions = whole(s, 5), .types = whole(s, 2)};
    weft_tensor *pooled;
    return weft_bert(tensor(s, WEFT_I32, 2, 2, 3, 0, 0), &o, &pooled);
}

static weft_tensor *carried_state(call_source *s) {
    const int64_t dims[WEFT_MAX_RANK] = {host_size(s, 2), host_size(s, 4), 1, 1, 1, 1, 1, 1};
    return weft_carried_state(G, small(s, 2), dims);
}

static weft_tensor *carried(call_source *s) {
    weft_tensor *const state = carried_state(s);
    return weft_carry_start(state, tensor(s, WEFT_F32, 1, 2, 0, 0, 0), small(s, 0));
}

static weft_tensor *einsum(call_source *s) {
    static const char *const equations[] = {
        "ij,kj->ik", "ij,ij->", "...j,kj->...k", "ij", "", "->", "i.j,", "iij->j", "ij,jk,kl", "ab->ba"};
    weft_tensor *const a = ROWS, *const b = ROWS;
    return weft_einsum(equations[count(s, 0, 9)], a, b);
}

/* ---- calls of public_call_forms.h ---- */

static weft_tensor *tensor5(call_source *s) {
    return s->tensor(s, WEFT_F32, 5, (const int64_t[]){2, 4, 6, 6, 6});
}

static weft_tensor *state(call_source *s, const char *name, int64_t size) {
    return weft_state_shape(G, name, WEFT_F32, weft_zeros(), 1, (const int64_t[]){host_size(s, size)});
}

static weft_tensor *scope_copied(call_source *s) {
    (void)state(s, "from.w", 4);
    (void)state(s, "to.w", 4);
    return weft_scope_copy(G, "from", "to", single(s, 0.5));
}

static weft_tensor *assigned_after(call_source *s) {
    weft_tensor *const kept = state(s, "kept", 4);
    return weft_assign_after(kept, weft_square(kept));
}

static weft_tensor *loss_of_parameter(call_source *s) {
    weft_tensor *const parameter = weft_parameter(G, "p", weft_zeros(), 4);
    return weft_sum(weft_mul(parameter, LINE));
}

static weft_tensor *gradient_vector(call_source *s) {
    return weft_gradient_vector(loss_of_parameter(s), flag(s, true) ? "p*" : "other");
}

static weft_tensor *minimized(call_source *s) {
    const weft_optimizer rule = weft_sgd(single(s, 0.1));
    weft_optimizer_state *const optimizer = weft_optimizer_create(G, &rule);
    return weft_optimizer_minimize(optimizer, loss_of_parameter(s), flag(s, true) ? "p" : "other");
}

static weft_tensor *trained(call_source *s) {
    return weft_train_step(loss_of_parameter(s), weft_sgd(single(s, 0.1)), flag(s, true) ? NULL : "other");
}

static weft_tensor *adaptive_log_prob(call_source *s) {
    const int64_t cutoffs[] = {3, 5};
    const weft_adaptive_softmax_options o = {WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, .divisor = 2};
    weft_adaptive_softmax *const softmax = weft_adaptive_softmax_layer(G, 4, 9, cutoffs, 2, &o);
    return softmax ? weft_adaptive_softmax_log_prob(softmax, ROWS) : NULL;
}

static weft_tensor *running_norm(call_source *s, bool of_batch) {
    const weft_running running = {
        .mean = state(s, "mean", 4), .var = state(s, "var", 4), .momentum = single(s, 0.5)};
    const float epsilon = single(s, 1e-5);
    return of_batch ? weft_batch_norm_with(IMAGE, LINE, LINE, &running, epsilon)
                    : weft_instance_norm_with(IMAGE, LINE, LINE, &running, epsilon);
}

static weft_tensor *attended_from_cache(call_source *s) {
    const int64_t dims[] = {2, 8, 6};
    weft_tensor *const keys = weft_state_shape(G, "keys", WEFT_F32, weft_zeros(), 3, dims);
    weft_tensor *const values = weft_state_shape(G, "values", WEFT_F32, weft_zeros(), 3, dims);
    weft_tensor *const position = weft_input_shape(G, "position", WEFT_I32, 0, NULL), *update = NULL;
    return weft_attention_cached(CUBE, CUBE, CUBE, keys, values, position, &update);
}

static weft_tensor *cell(call_source *s, int gates) {
    const weft_recurrent_weights w = {.weight_ih = tensor(s, WEFT_F32, 2, 3 * gates, 4, 0, 0),
        .weight_hh = tensor(s, WEFT_F32, 2, 3 * gates, 3, 0, 0)};
    weft_tensor *const h = tensor(s, WEFT_F32, 2, 2, 3, 0, 0);
    return gates == 3 ? weft_gru_cell(ROWS, h, &w, flag(s, false)).h
                      : weft_rnn_cell(ROWS, h, &w, flag(s, true)).h;
}

static weft_tensor *cell_layer(call_source *s, int gates) {
    const weft_cell_options o = {WEFT_CELL_OPTIONS_INIT, .no_bias = flag(s, true)};
    weft_tensor *const h = tensor(s, WEFT_F32, 2, 2, 3, 0, 0);
    const int64_t hidden = whole(s, 3);
    if (gates == 4) return weft_lstm_cell_layer(ROWS, hidden, h, h, &o).h;
    return gates == 3 ? weft_gru_cell_layer(ROWS, hidden, h, &o).h
                      : weft_rnn_cell_layer(ROWS, hidden, h, &o).h;
}

/* ---- the table ---- */

#define DEFINE_WITH_NUMBER(op)                                                                               \
    static weft_tensor *call_##op##_number(call_source *s) {                                                 \
        return weft_##op##_number(ROWS, number(s, 2));                                                       \
    }
#define DEFINE_NUMBER_FIRST(op)                                                                              \
    static weft_tensor *call_number_##op(call_source *s) {                                                   \
        return weft_number_##op(number(s, 2), ROWS);                                                         \
    }

#define DEFINE_UNARY(op)                                                                                     \
    static weft_tensor *call_##op(call_source *s) {                                                          \
        return weft_##op(ROWS);                                                                              \
    }
#define DEFINE_BINARY(op)                                                                                    \
    static weft_tensor *call_##op(call_source *s) {                                                          \
        return weft_##op(ROWS, ROWS);                                                                        \
    }
#define DEFINE_REDUCTION(op)                                                                                 \
    static weft_tensor *call_##op(call_source *s) {                                                          \
        return weft_##op##_axes(CUBE, AXES(1, END, END, END), flag(s, false));                               \
    }
#define DEFINE_OTHER(op, ...)                                                                                \
    static weft_tensor *call_##op(call_source *s) {                                                          \
        return __VA_ARGS__;                                                                                  \
    }
UNARY(DEFINE_UNARY)
BINARY(DEFINE_BINARY)
REDUCTIONS(DEFINE_REDUCTION)
OTHERS(DEFINE_OTHER)
FORMS(DEFINE_OTHER)
WITH_NUMBER(DEFINE_WITH_NUMBER)
NUMBER_FIRST(DEFINE_NUMBER_FIRST)

#define ENTRY(op)              {#op, call_##op},
#define ENTRY_OF(op, ...)      {#op, call_##op},
#define ENTRY_WITH_NUMBER(op)  {#op "_number", call_##op##_number},
#define ENTRY_NUMBER_FIRST(op) {"number_" #op, call_number_##op},
const public_call public_calls[] = {UNARY(ENTRY) BINARY(ENTRY) REDUCTIONS(ENTRY) OTHERS(ENTRY_OF)
        FORMS(ENTRY_OF) WITH_NUMBER(ENTRY_WITH_NUMBER) NUMBER_FIRST(ENTRY_NUMBER_FIRST)};
const size_t public_call_count = sizeof public_calls / sizeof *public_calls;
