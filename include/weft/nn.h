/* weft/nn.h: initialisers, layers, optimizers. */
#ifndef WEFT_NN_H
#define WEFT_NN_H

#include <weft/convolution.h>
#include <weft/ops.h>
#include <weft/schedules.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- initialisers ----
 * The numbers depend on the seed of the context and on the order of creation. A value out of range is an
 * error of the parameter. weft_init_from_file in io.h reads a file. */
WEFT_API weft_initialiser weft_zeros(void);                              /* 0 */
WEFT_API weft_initialiser weft_fill(float value);                        /* a constant */
WEFT_API weft_initialiser weft_init_uniform(float low, float high);      /* U(low, high) */
WEFT_API weft_initialiser weft_init_normal(float mean, float deviation); /* N(mean, deviation) */
WEFT_API weft_initialiser weft_glorot_uniform(void); /* U(±sqrt(6 / (fan_in + fan_out))) */
WEFT_API weft_initialiser weft_glorot_normal(void);  /* N(0, sqrt(2 / (fan_in + fan_out))) */
WEFT_API weft_initialiser weft_he_uniform(void);     /* U(±sqrt(6 / fan_in)), for relu */
WEFT_API weft_initialiser weft_he_normal(void);      /* N(0, sqrt(2 / fan_in)), for relu */
WEFT_API weft_initialiser weft_lecun_uniform(
    void); /* U(±sqrt(3 / fan_in)); LeCun et al. 1998, for selu, tanh */
WEFT_API weft_initialiser weft_lecun_normal(void); /* N(0, 1 / sqrt(fan_in)) */
/* N(mean, deviation) truncated to [low, high], which are absolute, as in torch.nn.init.trunc_normal_. */
WEFT_API weft_initialiser weft_init_truncated_normal(float mean, float deviation, float low, float high);
/* gain · Q. The parameter is seen as a matrix (first dimension, all others); its rows, or its columns if
 * there are fewer of them, are orthonormal; Saxe et al. 2014. Rank 2 or more. Costs rows · columns ·
 * min(rows, columns) on the host. */
WEFT_API weft_initialiser weft_init_orthogonal(float gain);

/* ---- layers: ops that create their parameters ----
 * In C the fields of the options stand in the call: weft_linear(x, 10, .name = "head", .no_bias = true) is
 * weft_linear_layer(x, 10, WEFT_WITH(linear, .name = "head", .no_bias = true)); so do weft_bilinear, the convolutions,
 * weft_embedding and the norms of normalization.h. */
/* x (..., in) → (..., units). Parameters "linearN.weight" (units, in) and "linearN.bias" (units), where N =
 * 1, 2, ... counts the layers of the graph; both begin as U(±1/sqrt(in)), as in PyTorch. */
WEFT_API weft_tensor *weft_linear(weft_tensor *x, int64_t units);

typedef struct weft_linear_options {
    size_t struct_size;
    const char *name;                           /* default "linearN" */
    const weft_initialiser *weight_initialiser; /* default U(±1/sqrt(in)) */
    const weft_initialiser *bias_initialiser;   /* default U(±1/sqrt(in)) */
    bool no_bias;                               /* default false */
} weft_linear_options;
#define WEFT_LINEAR_OPTIONS_INIT .struct_size = sizeof(weft_linear_options)
/* The same with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_linear_layer(weft_tensor *x, int64_t units, const weft_linear_options *options);

/* x1 (..., in1), x2 (..., in2) → (..., units), as weft_bilinear_with. Parameters "bilinearN.weight" (units,
 * in1, in2) and "bilinearN.bias" (units), both U(±1/sqrt(in1)). */
WEFT_API weft_tensor *weft_bilinear(weft_tensor *x1, weft_tensor *x2, int64_t units);
/* The same with options, of which name is "bilinearN" by default; NULL means all defaults. */
WEFT_API weft_tensor *weft_bilinear_layer(
    weft_tensor *x1, weft_tensor *x2, int64_t units, const weft_linear_options *options);

/* Convolution (convolution.h). Parameters "convN.weight" (F, C / groups, K...) and "convN.bias" (F), where N
 * = 1, 2, ... counts the layers of the graph; both begin as U(±1/sqrt(fan_in)) with fan_in = C / groups ·
 * K..., as in PyTorch. */
WEFT_API weft_tensor *weft_conv1d(weft_tensor *x, int64_t filters, int64_t size); /* stride 1, no padding */
WEFT_API weft_tensor *weft_conv2d(weft_tensor *x, int64_t filters, int64_t size); /* size × size */
WEFT_API weft_tensor *weft_conv3d(weft_tensor *x, int64_t filters, int64_t size); /* size × size × size */
/* x (N, C, H, W), windows of size × size, with this stride and padding on both spatial axes, as torch.nn.Conv2d:
 * weft_conv2d(x, filters, size, .stride = stride, .padding = padding). */
WEFT_API weft_tensor *weft_conv2d_strided(
    weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding);
/* The same transposed, as torch.nn.ConvTranspose2d: "convtransposeN". (x, 8, 4, 2, 1) doubles H and W. */
WEFT_API weft_tensor *weft_conv_transpose2d(
    weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding);

typedef struct weft_conv_layer_options {
    size_t struct_size;
    weft_conv_options conv; /* set its struct_size, too: .conv = {WEFT_CONV_OPTIONS_INIT, ...}; 0 means
                               the same */
    bool transposed;        /* default false; true: weight (C, F / groups, K...), "convtransposeN" */
    const char *name;       /* default "convN" */
    const weft_initialiser *weight_initialiser; /* default U(±1/sqrt(fan_in)) */
    const weft_initialiser *bias_initialiser;   /* default U(±1/sqrt(fan_in)) */
    bool no_bias;                               /* default false */
    bool same;                                  /* default false; true: conv.mode WEFT_PADDING_SAME */
    /* The fields of conv of these names, for all spatial axes. 0 (the default): those of conv count; both: an error. */
    int64_t stride, padding, dilation, output_padding, groups;
    int64_t size; /* the window along each spatial axis, where the argument `size` is NULL */
} weft_conv_layer_options;
#define WEFT_CONV_LAYER_OPTIONS_INIT .struct_size = sizeof(weft_conv_layer_options)
/* size: the window along each spatial axis of x. options NULL means all defaults. Errors: WEFT_ERROR_SHAPE,
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_tensor *weft_conv_layer(
    weft_tensor *x, int64_t filters, const int64_t *size, const weft_conv_layer_options *options);
/* The same of one, two or three spatial axes, with a window of `size` along each of them: what weft_conv1d(x, filters, size,
 * .stride = 2) stands for in C. */
WEFT_API weft_tensor *weft_conv1d_layer(
    weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options);
WEFT_API weft_tensor *weft_conv2d_layer(
    weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options);
WEFT_API weft_tensor *weft_conv3d_layer(
    weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options);
/* Transposed; stride and padding stand in the options, too: 0 there, or the same. */
WEFT_API weft_tensor *weft_conv_transpose2d_layer(weft_tensor *x, int64_t filters, int64_t size,
    int64_t stride, int64_t padding, const weft_conv_layer_options *options);

/* Multi-head attention (A. Vaswani et al. 2017): query (batch, Lq, E), key (batch, Lk, Ek), value (batch, Lk,
 * Ev) → (batch, Lq, E), or all without the batch. Each head attends with E / heads columns (weft_attention).
 * The parameters have the names and shapes of torch.nn.MultiheadAttention: "attentionN.in_proj_weight" (3E,
 * E), or if Ek or Ev is not E "q_proj_weight" (E, E), "k_proj_weight" (E, Ek) and "v_proj_weight" (E, Ev);
 * "in_proj_bias" (3E), "out_proj.weight" (E, E), "out_proj.bias" (E). Their initial values are PyTorch's. */
typedef struct weft_multi_head_options {
    size_t struct_size;
    const char *name;  /* default "attentionN" */
    weft_tensor *mask; /* default NULL; broadcasts to (batch, heads, Lq, Lk); see weft_attention */
    weft_tensor
        *key_mask; /* default NULL; bool (batch, Lk): true for keys that are attended to (the negation of
                      PyTorch's padding mask) */
    bool causal;   /* default false */
    bool no_bias;  /* default false */
    float dropout; /* default 0; of the attention weights, in training only: 0 <= dropout < 1 */
} weft_multi_head_options;
#define WEFT_MULTI_HEAD_OPTIONS_INIT .struct_size = sizeof(weft_multi_head_options)
WEFT_API weft_tensor *weft_multi_head_attention(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_options *options);

typedef struct weft_multi_head_weights {
    weft_tensor *in_proj_weight; /* (3E, E), where Ek and Ev are E; else NULL, and the next three instead: */
    weft_tensor *q_proj_weight, *k_proj_weight, *v_proj_weight; /* (E, E), (E, Ek), (E, Ev) */
    weft_tensor *in_proj_bias;                                  /* (3E); NULL: none */
    weft_tensor *out_proj_weight, *out_proj_bias;               /* (E, E); (E), NULL: none */
} weft_multi_head_weights;
/* The same with the caller's parameters; name and no_bias of the options stay unset. Errors: WEFT_ERROR_ARGUMENT (a weight
 * that is needed is NULL), WEFT_ERROR_SHAPE (the line names the weight and both shapes). */
WEFT_API weft_tensor *weft_multi_head_attention_with(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_weights *weights, const weft_multi_head_options *options);

/* tokens i32 (...) → (..., width): rows of the parameter "embeddingN.weight" (vocabulary, width), which
 * begins as N(0, 1), as in PyTorch. The parameter can be shared: weft_linear_with(h, weight, bias) with
 * weight = weft_graph_find(g, "embedding1.weight") ties the output layer to it, and the gradients are
 * added. */
WEFT_API weft_tensor *weft_embedding(weft_tensor *tokens, int64_t vocabulary, int64_t width);

typedef struct weft_embedding_options {
    size_t struct_size;
    const char *name;                    /* default "embeddingN" */
    const weft_initialiser *initialiser; /* default N(0, 1) */
    bool padded;                         /* default false */
    int64_t padding; /* with `padded`: the row of this token begins as zeros (unless a custom initialiser sets
                        it) and gets no gradient; a negative number counts from the end */
    bool sparse;     /* default false; true: the table is updated by rows, as by weft_sparse_updates */
    /* Default 0: none. Rows of a larger second norm are shortened to it where they are read and updated; implies
     * sparse. */
    float max_norm;
    bool by_frequency; /* default false; true: a row's gradient is divided by how often it stands in tokens */
    /* Default NULL: the layer makes its table. Else this one, f32 (vocabulary, width), or it is WEFT_ERROR_SHAPE. Name and
     * initialiser stay unset then, and with sparse or max_norm it must be a parameter, or it is WEFT_ERROR_ARGUMENT. */
    weft_tensor *table;
} weft_embedding_options;
#define WEFT_EMBEDDING_OPTIONS_INIT .struct_size = sizeof(weft_embedding_options)
/* The same with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_embedding_layer(
    weft_tensor *tokens, int64_t vocabulary, int64_t width, const weft_embedding_options *options);
/* weft_embedding_bag_with of a table (vocabulary, width) that the layer makes, named as by weft_embedding; the padding of
 * the table is that of the bags, too. tokens i32 (..., n) → (..., width). NULL means all defaults. Errors: those of
 * weft_embedding_layer and of weft_embedding_bag_with. */
WEFT_API weft_tensor *weft_embedding_bag(weft_tensor *tokens, int64_t vocabulary, int64_t width,
    const weft_bag_options *bags, const weft_embedding_options *options);

/* Tables of these names (a star matches any characters) are updated by rows, or as a whole again: a step reads and writes only the
 * rows of the parameter and of the optimizer's states that were picked, each once, so that its cost grows with the batch and not
 * with the table. For SGD without momentum and Adagrad the result is the same. Momentum, Adam and the other kinds are lazy: rows
 * that were not picked keep their moments, and do not move; decay applies to the rows that were picked; t counts all steps.
 * clip_norm counts the rows' gradients. In the next weft_minimize, weft_optimizer_minimize or weft_optimizer_step; its error is
 * WEFT_ERROR_ARGUMENT where the table has other gradients than those of embeddings, and WEFT_ERROR_UNSUPPORTED with LAMB, accumulate
 * or average_decay, or where more than 16 embeddings read the table. Errors here: WEFT_ERROR_ARGUMENT (there is no such parameter),
 * WEFT_ERROR_SHAPE (it is not an f32 table of rank 2). */
WEFT_API weft_status weft_sparse_updates(weft_graph *graph, const char *parameters, bool sparse);

/* Adaptive softmax (Grave et al. 2017) for many classes in order of falling frequency, as torch.nn.AdaptiveLogSoftmaxWithLoss.
 * Classes below the first cutoff have their own logits in the head. The classes of tail i, from cutoff i to the next, share one
 * logit of the head, and the tail distinguishes them, from x projected to width / divisor^(i + 1). Parameters, all U(±1/sqrt(in)):
 * "adaptive_softmaxN.head.weight" (cutoffs[0] + count, width), "head.bias", "tail.I.0.weight" (projected width, width),
 * "tail.I.1.weight" (classes of tail I, projected width). The layer belongs to the graph; NULL after an error. */
typedef struct weft_adaptive_softmax weft_adaptive_softmax;
#define WEFT_MAX_CLUSTERS 16
typedef struct weft_adaptive_softmax_options {
    size_t struct_size;
    const char *name; /* default "adaptive_softmaxN" */
    float divisor;    /* 1 or more; default 4 */
    bool head_bias;   /* default false */
    /* For each tail, the fraction of all rows, in (0, 1], whose labels may be in it: the tail is computed
     * for that many rows only, and more of them are an error of the next read or wait. Default NULL: 1,
     * all rows. */
    const float *capacities;
} weft_adaptive_softmax_options;
#define WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT .struct_size = sizeof(weft_adaptive_softmax_options)
/* cutoffs: `count` increasing numbers below `classes`. options NULL means all defaults. */
WEFT_API weft_adaptive_softmax *weft_adaptive_softmax_layer(weft_graph *graph, int64_t width, int64_t classes,
    const int64_t *cutoffs, size_t count, const weft_adaptive_softmax_options *options);
/* All f32. */
typedef struct weft_adaptive_softmax_weights {
    weft_tensor *head_weight, *head_bias; /* (cutoffs[0] + count, width); (cutoffs[0] + count), NULL: none */
    /* For each tail: (projected width, width), with any projected width, and (classes of the tail, projected width). */
    weft_tensor *const *projections, *const *tail_weights;
} weft_adaptive_softmax_weights;
/* The same with the caller's parameters; name, divisor and head_bias of the options stay unset. NULL after an error:
 * WEFT_ERROR_ARGUMENT (a weight that is needed is NULL), WEFT_ERROR_SHAPE (the line names the weight and both shapes). */
WEFT_API weft_adaptive_softmax *weft_adaptive_softmax_with(int64_t classes, const int64_t *cutoffs,
    size_t count, const weft_adaptive_softmax_weights *weights, const weft_adaptive_softmax_options *options);
/* x (..., width), labels i32 (...) → the mean of -log p(label) over the labels that are not -100, 0 if there are none. Any other
 * label that is not a class is an error of the next read or wait. */
WEFT_API weft_tensor *weft_adaptive_softmax_loss(
    weft_adaptive_softmax *softmax, weft_tensor *x, weft_tensor *labels);
/* x (..., width) → log p of all classes, (..., classes). */
WEFT_API weft_tensor *weft_adaptive_softmax_log_prob(weft_adaptive_softmax *softmax, weft_tensor *x);

/* ---- optimizers: values that are passed to a trainer or to weft_minimize ----
 * Each is PyTorch's optimizer of that name; LAMB and Lion are those of their papers. p is a parameter, g its
 * gradient after clipping, t the number of the update from 1, m̂ = m / (1 - beta1^t), v̂ = v / (1 - beta2^t).
 * States begin as 0. "Coupled" decay is g ← g + weight_decay·p before everything else. */
typedef enum weft_optimizer_kind {
    WEFT_SGD = 1, /* v ← momentum·v + (1 - dampening)·g (first: v ← g); p ← p - rate·v
                      (nesterov: g + momentum·v instead of v) */
    WEFT_ADAM,    /* m ← beta1·m + (1 - beta1)·g; v ← beta2·v + (1 - beta2)·g²;
                      p ← p - rate·m̂ / (√v̂ + epsilon); amsgrad: v̂ from the largest v so far;
                      Kingma and Ba 2015, Reddi et al. 2018 */
    WEFT_ADAMW,   /* p ← p·(1 - rate·weight_decay), then as Adam; Loshchilov and Hutter 2019 */
    WEFT_NADAM,   /* β_t = beta1·(1 - 0.96^(t·momentum_decay) / 2), Π their product up to t;
                      p ← p - rate·(g·(1 - β_t) / (1 - Π) + m·β_{t+1} / (1 - Π·β_{t+1})) / (√v̂ + epsilon);
                      Dozat 2016 */
    WEFT_RMSPROP, /* v ← rho·v + (1 - rho)·g²; s ← g / (√v + epsilon); b ← momentum·b + s; p ← p - rate·b;
                      Hinton 2012. centered: with the variance v - mean(g)² instead of v, kept in a form that does
                      not cancel, and not below 2^-24·mean(g)²; Graves 2013 */
    WEFT_ADAGRAD,  /* v ← v + g²; p ← p - rate / (1 + (t - 1)·rate_decay) · g / (√v + epsilon);
                      Duchi et al. 2011 */
    WEFT_ADADELTA, /* v ← rho·v + (1 - rho)·g²; d = √(u + epsilon) / √(v + epsilon) · g;
                      u ← rho·u + (1 - rho)·d²; p ← p - rate·d; Zeiler 2012 */
    WEFT_LAMB, /* s = m̂ / (√v̂ + epsilon) + weight_decay·p; p ← p - rate·|p|/|s|·s with the norms of
                  each parameter as a whole, and 1 instead of |p|/|s| if one is 0; You et al. 2020 */
    WEFT_LION  /* p ← p - rate·(sign(beta1·m + (1 - beta1)·g) + weight_decay·p);
                  m ← beta2·m + (1 - beta2)·g; Chen et al. 2023 */
} weft_optimizer_kind;

/* A rate and a decay for some of the parameters: {"head.*", 10, 0.01f}, {"*.bias", 1, 0}. */
typedef struct weft_parameter_group {
    const char *parameters; /* a name; a star matches any characters */
    float rate_factor;      /* multiplies the learning rate, scheduled or not; above 0 */
    float weight_decay;     /* replaces that of the optimizer */
} weft_parameter_group;

/* Fields that the kind does not use must be 0. */
typedef struct weft_optimizer {
    weft_optimizer_kind kind;
    float rate;           /* 0 or more */
    float momentum;       /* SGD, RMSprop: 0 <= momentum < 1 */
    float weight_decay;   /* 0 or more; coupled, except for AdamW, LAMB and Lion */
    float beta1, beta2;   /* Adam, AdamW, NAdam, LAMB, Lion: 0 <= beta < 1 */
    float epsilon;        /* all except SGD and Lion: 0 or more; LAMB, Adadelta: above 0 */
    float rho;            /* RMSprop (PyTorch's alpha), Adadelta: 0 <= rho < 1 */
    float dampening;      /* SGD: 0 <= dampening <= 1; 0 with nesterov */
    float rate_decay;     /* Adagrad: 0 or more */
    float first_sum;      /* Adagrad: initial value of v; 0 or more */
    float momentum_decay; /* NAdam: 0 or more */
    bool nesterov;        /* SGD with momentum */
    bool centered;        /* RMSprop */
    bool amsgrad;         /* Adam, AdamW */
    /* All kinds: */
    float clip_value; /* clips each element of the gradient to [-clip_value, clip_value]; 0: off */
    float clip_norm;  /* then g ← g·min(1, clip_norm / (|g| + 1e-6)) with |g| over all parameters of
                        the update; 0: off */
    uint32_t
        accumulate; /* runs per update, a window (weft_accumulation_end), with the mean of their gradients; 0, 1: each */
    float average_decay; /* keeps a ← average_decay·a + (1 - average_decay)·p, where the first a is the first
                            updated p (see weft_average_swap); 0: off */
    const weft_parameter_group *groups; /* of two that name a parameter, the later counts; copied */
    size_t group_count;
    /* Default constant. Else each update has the rate of weft_schedule_rate(&schedule, rate, t), where t counts the updates
     * of this optimizer before it, in whatever plans; in f16 it counts those that are skipped, too. t is part of
     * checkpoints and snapshots. per_step must be set (weft_per_step), and the kind be no plateau. */
    weft_schedule schedule;
} weft_optimizer;

WEFT_API weft_optimizer weft_sgd(float rate); /* no momentum, no decay */
WEFT_API weft_optimizer weft_sgd_momentum(float rate, float momentum, float weight_decay); /* no dampening */
WEFT_API weft_optimizer weft_adam(float rate);                      /* betas 0.9, 0.999; epsilon 1e-8 */
WEFT_API weft_optimizer weft_adamw(float rate, float weight_decay); /* as Adam; PyTorch's decay is 0.01 */
WEFT_API weft_optimizer weft_nadam(float rate);   /* as Adam; momentum_decay 0.004; PyTorch's rate is 0.002 */
WEFT_API weft_optimizer weft_rmsprop(float rate); /* rho 0.99, epsilon 1e-8 */
WEFT_API weft_optimizer weft_adagrad(float rate); /* epsilon 1e-10 */
WEFT_API weft_optimizer weft_adadelta(float rate); /* rho 0.9, epsilon 1e-6; PyTorch's rate is 1 */
WEFT_API weft_optimizer weft_lamb(float rate, float weight_decay); /* betas 0.9, 0.999; epsilon 1e-6 */
WEFT_API weft_optimizer weft_lion(float rate, float weight_decay); /* betas 0.9, 0.99 */

/* Creates the update, which reduces the loss, of all parameters that the loss reaches and that are not frozen. A loss reaches a
 * parameter if its gradient flows there: not through weft_stop_gradient, comparisons, indices and roundings alone. Other parameters
 * do not change, by no decay either, and nothing is kept of them: no moments, no average, no part in a norm. Pass the updates to
 * weft_plan_create among the outputs; then each run is a training step. The update is one launch after the gradients for each run of
 * parameters that were created one after the other, with groups, accumulation and averages included; clip_norm adds the
 * reduction of the norm, and LAMB takes four launches (a reduction over many elements is two launches). Matrices of 2^20 elements or
 * more are updated in the epilogue of the products that compute their gradients, unless something needs all gradients first. The
 * learning rate is the scalar "learning_rate" (weft_minimize_rate) of this call, which can be set between runs. updates: an array
 * of at least WEFT_MAX_UPDATES. Errors: WEFT_ERROR_ARGUMENT (a field that is out of range or not of that kind, a group that names no
 * parameter, a capacity that is too small), WEFT_ERROR_STATE (no parameters, all are frozen, the loss reaches none), WEFT_ERROR_DTYPE
 * (one of them is not f32). After an error the graph has no state of the optimizer. */
WEFT_API weft_status weft_minimize(weft_tensor *loss, const weft_optimizer *optimizer, weft_tensor **updates,
    size_t capacity, size_t *count);
/* The rate of the graph's latest optimizer: call it after the weft_minimize that it is asked for. NULL before any. */
WEFT_API weft_tensor *weft_minimize_rate(weft_graph *graph);
/* Ends the windows of accumulation (weft_optimizer.accumulate) of all optimizers of the graph with their next run, which then
 * updates with the mean over the runs that the window holds, itself included. To be called before the run of an epoch's last batch:
 * gradients that are still held when training ends are never used. WEFT_ERROR_ARGUMENT: graph is NULL. */
WEFT_API weft_status weft_accumulation_end(weft_graph *graph);
#define WEFT_MAX_UPDATES 8

/* ---- optimizers as objects: one state for several losses, plans and gradients of any origin ----
 * An optimizer object keeps the moments, counters and averages of the parameters that it has stepped, and a learning
 * rate of its own. Each step is a tensor, an output of plans: a run of such a plan is one update. All steps of an
 * optimizer, in whatever plans, share its state: several losses, batches of other lengths, networks that are trained in
 * turn (weft_minimize is the short form, with an optimizer for its one loss). Checkpoints keep the states of all
 * optimizers of a graph. The object belongs to its graph, and is released with it.
 *
 * t of the formulas counts, for the parameters that came to the optimizer in the same step, the runs that update any of them:
 * parameters that come later, or in a step of their own, begin at t = 1. A step is one launch for each run of parameters that were
 * created one after the other. A plan may hold several steps, of one optimizer or of more, as long as no parameter is in two of
 * them (WEFT_ERROR_ARGUMENT of weft_plan_create). clip_norm takes the norm over what a step changes. */
typedef struct weft_optimizer_state weft_optimizer_state;
/* rule is copied, and so are its groups, each of which must name a parameter by the first step. NULL after an error:
 * WEFT_ERROR_ARGUMENT (a field that is out of range or not of that kind). */
WEFT_API weft_optimizer_state *weft_optimizer_create(weft_graph *graph, const weft_optimizer *rule);
/* The update of `count` parameters by these gradients, each of the shape of its parameter: results of weft_gradients, sums or
 * projections of them, inputs that the program writes. Other parameters do not change; frozen ones in the list do not either, and
 * their gradients are ignored (weft_freeze); nor do those whose gradient is what weft_gradients gives where the loss does not reach
 * them (zeros), as it is or scaled: zeros of another origin are a gradient, with which decay applies. Parameters that the optimizer
 * does not know yet are welcome in any step. NULL after an error: WEFT_ERROR_ARGUMENT (no parameters, one that is twice in the list,
 * one of another graph, a tensor that is no parameter), WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE (f32 only), WEFT_ERROR_STATE (more than 64
 * sets of parameters in one graph that began in different steps; all parameters of the list are frozen or unreached). */
WEFT_API weft_tensor *weft_optimizer_step(weft_optimizer_state *optimizer, weft_tensor *const *parameters,
    weft_tensor *const *gradients, size_t count);
/* The same with the gradients of a loss: of the parameters of these names (a star matches any characters; NULL: all) that it reaches
 * (weft_minimize) and that are not frozen. WEFT_ERROR_STATE: there are none.
 *     weft_tensor *train = weft_optimizer_minimize(optimizer, loss, "generator.*"); */
WEFT_API weft_tensor *weft_optimizer_minimize(
    weft_optimizer_state *optimizer, weft_tensor *loss, const char *parameters);
/* An optimizer of this rule and its weft_optimizer_minimize in one call, for a program that asks the optimizer for nothing else.
 * NULL after an error, which is one of these two.
 *     weft_tensor *train = weft_train_step(loss, weft_adam(1e-3f), NULL); */
WEFT_API weft_tensor *weft_train_step(weft_tensor *loss, weft_optimizer rule, const char *parameters);
/* The learning rate, a scalar that can be set between runs (weft_scalar_set, weft_schedule_rate); NULL for NULL. Of an
 * optimizer with a schedule weft_scalar_set sets the base, and weft_scalar_get gives the rate of the latest update. */
WEFT_API weft_tensor *weft_optimizer_rate(weft_optimizer_state *optimizer);

/* Freezes parameters, or unfreezes them: a name in which a star matches any characters. Frozen parameters get no gradient (the
 * backward pass does not compute it), no update and no decay. An optimizer makes no moments and no average for them; those that it
 * has from before stay as they are, and what is unfrozen later begins with moments of zero and t = 1 in the next step of an
 * optimizer that does not know it. A gradient that weft_optimizer_step is given for a frozen parameter is ignored: it counts into no
 * norm of clip_norm, no overflow check of loss scaling and no mean of accumulate. States of these names are frozen, too: a batch or
 * instance norm whose running_mean is frozen is in its inference form in plans for training that are made from then on, and its
 * statistics do not move ("backbone.*" freezes both; "*.weight" and "*.bias" leave the statistics alone). Dropout stays at work:
 * freezing is PyTorch's requires_grad_(False), and eval() for a part of a network is weft_scope_inference. For parameters it takes
 * effect in the next weft_minimize, weft_optimizer_minimize, weft_optimizer_step or weft_trainer_create; what exists already does
 * not change. WEFT_ERROR_ARGUMENT: there is no such parameter. */
WEFT_API weft_status weft_freeze(weft_graph *graph, const char *parameters, bool frozen);

/* Exchanges the parameters and their averages (average_decay); of two optimizers that average a parameter, the later one's counts.
 * Predict, evaluate or save, then exchange them again; a training run before that is an error. WEFT_ERROR_STATE: no average is kept,
 * or there was no update yet. */
WEFT_API weft_status weft_average_swap(weft_graph *graph);

#ifdef __cplusplus
}
#else /* arguments with names (graph.h) */
#define weft_linear(x, ...)           WEFT_NAMED_(weft_linear_layer, linear, 2, x, __VA_ARGS__)
#define weft_bilinear(x1, ...)        WEFT_NAMED_(weft_bilinear_layer, linear, 3, x1, __VA_ARGS__)
#define weft_conv1d(x, ...)           WEFT_NAMED_(weft_conv1d_layer, conv_layer, 3, x, __VA_ARGS__)
#define weft_conv2d(x, ...)           WEFT_NAMED_(weft_conv2d_layer, conv_layer, 3, x, __VA_ARGS__)
#define weft_conv3d(x, ...)           WEFT_NAMED_(weft_conv3d_layer, conv_layer, 3, x, __VA_ARGS__)
#define weft_conv_transpose2d(x, ...) WEFT_NAMED_(weft_conv_transpose2d_layer, conv_layer, 5, x, __VA_ARGS__)
#define weft_embedding(tokens, ...)   WEFT_NAMED_(weft_embedding_layer, embedding, 3, tokens, __VA_ARGS__)
#endif
#endif
