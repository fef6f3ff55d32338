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
 * The initial values depend on the seed of the context and on the order in which parameters are created. An argument
 * out of range is an error of the call that creates the parameter. weft_init_from_file in io.h reads a file. */
WEFT_API weft_initialiser weft_zeros(void);                              /* 0 */
WEFT_API weft_initialiser weft_fill(float value);                        /* a constant */
WEFT_API weft_initialiser weft_init_uniform(float low, float high);      /* U(low, high) */
WEFT_API weft_initialiser weft_init_normal(float mean, float deviation); /* N(mean, deviation) */
WEFT_API weft_initialiser weft_glorot_uniform(void); /* U(±sqrt(6 / (fan_in + fan_out))) */
WEFT_API weft_initialiser weft_glorot_normal(void);  /* N(0, sqrt(2 / (fan_in + fan_out))) */
WEFT_API weft_initialiser weft_he_uniform(void);     /* U(±sqrt(6 / fan_in)), for relu */
WEFT_API weft_initialiser weft_he_normal(void);      /* N(0, sqrt(2 / fan_in)), for relu */
WEFT_API weft_initialiser weft_lecun_uniform(void);  /* U(±sqrt(3 / fan_in)), for selu, tanh */
WEFT_API weft_initialiser weft_lecun_normal(void);   /* N(0, 1 / sqrt(fan_in)); LeCun et al. 1998 */
/* N(mean, deviation) truncated to [low, high]; as in torch.nn.init.trunc_normal_, low and high are values, not numbers
 * of deviations. */
WEFT_API weft_initialiser weft_init_truncated_normal(float mean, float deviation, float low, float high);
/* gain · Q, where Q has the parameter's shape and, as a matrix (first dimension, product of the others), orthonormal
 * rows, or orthonormal columns if it has fewer columns than rows; Saxe et al. 2014. Rank 2 or more. The host computes
 * Q, with rows · columns · min(rows, columns) operations. */
WEFT_API weft_initialiser weft_init_orthogonal(float gain);

/* ---- layers: ops that create their parameters ----
 * In C, a layer takes the fields of its options as arguments: weft_linear(x, 10, .name = "head", .no_bias = true) is
 * weft_linear_layer(x, 10, WEFT_WITH(linear, .name = "head", .no_bias = true)). This holds for weft_linear,
 * weft_bilinear, the convolutions, weft_embedding, and the norms of normalization.h.
 *
 * Write two layers in two statements, not as two arguments of one call: C and C++ do not say which argument is
 * evaluated first, and the order of creation determines the layers' numbers and initial values. */
/* x (..., in) → (..., units). Parameters "linearN.weight" (units, in) and "linearN.bias" (units), where N = 1, 2, ...
 * counts the layers of the graph; both begin as U(±1/sqrt(in)), as in PyTorch. */
WEFT_API weft_tensor *weft_linear(weft_tensor *x, int64_t units);

typedef struct weft_linear_options {
    size_t struct_size;
    const char *name;                           /* default "linearN" */
    const weft_initialiser *weight_initialiser; /* default U(±1/sqrt(in)) */
    const weft_initialiser *bias_initialiser;   /* default U(±1/sqrt(in)) */
    bool no_bias;                               /* default false */
} weft_linear_options;
#define WEFT_LINEAR_OPTIONS_INIT .struct_size = sizeof(weft_linear_options)
/* weft_linear with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_linear_layer(weft_tensor *x, int64_t units, const weft_linear_options *options);

/* x1 (..., in1), x2 (..., in2) → (..., units), as weft_bilinear_with. Parameters "bilinearN.weight" (units, in1, in2)
 * and "bilinearN.bias" (units), both U(±1/sqrt(in1)). */
WEFT_API weft_tensor *weft_bilinear(weft_tensor *x1, weft_tensor *x2, int64_t units);
/* weft_bilinear with options; the default of `name` is "bilinearN"; NULL means all defaults. */
WEFT_API weft_tensor *weft_bilinear_layer(
    weft_tensor *x1, weft_tensor *x2, int64_t units, const weft_linear_options *options);

/* Convolution of x (N, C, spatial...) with F filters (convolution.h). Parameters "convN.weight" (F, C / groups, K...)
 * and "convN.bias" (F), where N = 1, 2, ... counts the layers of the graph; both begin as U(±1/sqrt(fan_in)) with
 * fan_in = C / groups · K..., as in PyTorch. */
WEFT_API weft_tensor *weft_conv1d(weft_tensor *x, int64_t filters, int64_t size); /* stride 1, no padding */
WEFT_API weft_tensor *weft_conv2d(weft_tensor *x, int64_t filters, int64_t size); /* size × size */
WEFT_API weft_tensor *weft_conv3d(weft_tensor *x, int64_t filters, int64_t size); /* size × size × size */
/* x (N, C, H, W), windows of size × size, with this stride and padding on both spatial axes, as torch.nn.Conv2d:
 * weft_conv2d(x, filters, size, .stride = stride, .padding = padding). */
WEFT_API weft_tensor *weft_conv2d_strided(
    weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding);
/* Transposed convolution, as torch.nn.ConvTranspose2d; parameters "convtransposeN.weight" (C, F, size, size) and
 * "convtransposeN.bias" (F). weft_conv_transpose2d(x, 8, 4, 2, 1) doubles H and W. */
WEFT_API weft_tensor *weft_conv_transpose2d(
    weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding);

typedef struct weft_conv_layer_options {
    size_t struct_size;
    weft_conv_options conv; /* {WEFT_CONV_OPTIONS_INIT, ...}; its struct_size may also be 0 */
    bool transposed;        /* default false; true: weight (C, F / groups, K...), name "convtransposeN" */
    const char *name;       /* default "convN" */
    const weft_initialiser *weight_initialiser; /* default U(±1/sqrt(fan_in)) */
    const weft_initialiser *bias_initialiser;   /* default U(±1/sqrt(fan_in)) */
    bool no_bias;                               /* default false */
    bool same;                                  /* default false; true: conv.mode WEFT_PADDING_SAME */
    /* One number for all spatial axes, in place of the field of conv with the same name. 0 (the default): the field of
     * conv is used. It is an error to set both. */
    int64_t stride, padding, dilation, output_padding, groups;
    int64_t size; /* the window along each spatial axis, if the argument `size` is NULL */
} weft_conv_layer_options;
#define WEFT_CONV_LAYER_OPTIONS_INIT .struct_size = sizeof(weft_conv_layer_options)
/* size: the window along each spatial axis of x, as an array; NULL: options->size. options NULL means all defaults.
 * Errors: WEFT_ERROR_SHAPE, WEFT_ERROR_ARGUMENT. */
WEFT_API weft_tensor *weft_conv_layer(
    weft_tensor *x, int64_t filters, const int64_t *size, const weft_conv_layer_options *options);
/* weft_conv_layer for one, two or three spatial axes, with a window of `size` along each of them. In C, weft_conv1d(x,
 * filters, size, .stride = 2) calls weft_conv1d_layer. */
WEFT_API weft_tensor *weft_conv1d_layer(
    weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options);
WEFT_API weft_tensor *weft_conv2d_layer(
    weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options);
WEFT_API weft_tensor *weft_conv3d_layer(
    weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options);
/* weft_conv_transpose2d with options, whose stride and padding must be 0 or equal to these arguments. */
WEFT_API weft_tensor *weft_conv_transpose2d_layer(weft_tensor *x, int64_t filters, int64_t size,
    int64_t stride, int64_t padding, const weft_conv_layer_options *options);

/* Multi-head attention (A. Vaswani et al. 2017): query (batch, Lq, E), key (batch, Lk, Ek), value (batch, Lk, Ev) →
 * (batch, Lq, E), or all without the batch. Each head attends with E / heads columns (weft_attention). The parameters
 * have the names, shapes and initial values of torch.nn.MultiheadAttention: "attentionN.in_proj_weight" (3E, E), or,
 * if Ek or Ev is not E, "q_proj_weight" (E, E), "k_proj_weight" (E, Ek) and "v_proj_weight" (E, Ev); "in_proj_bias"
 * (3E), "out_proj.weight" (E, E), "out_proj.bias" (E). */
typedef struct weft_multi_head_options {
    size_t struct_size;
    const char *name;  /* default "attentionN" */
    weft_tensor *mask; /* default NULL; broadcasts to (batch, heads, Lq, Lk); see weft_attention */
    /* Default NULL; bool (batch, Lk), true for keys that are attended to: the negation of PyTorch's
     * key_padding_mask. */
    weft_tensor *key_mask;
    bool causal;   /* default false */
    bool no_bias;  /* default false */
    float dropout; /* of the attention weights, in training only: 0 <= dropout < 1; default 0 */
} weft_multi_head_options;
#define WEFT_MULTI_HEAD_OPTIONS_INIT .struct_size = sizeof(weft_multi_head_options)
WEFT_API weft_tensor *weft_multi_head_attention(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_options *options);

typedef struct weft_multi_head_weights {
    weft_tensor *in_proj_weight; /* (3E, E) if Ek and Ev are E; otherwise NULL, and the next three are set: */
    weft_tensor *q_proj_weight, *k_proj_weight, *v_proj_weight; /* (E, E), (E, Ek), (E, Ev) */
    weft_tensor *in_proj_bias;                                  /* (3E); NULL: none */
    weft_tensor *out_proj_weight, *out_proj_bias;               /* (E, E); (E), NULL: none */
} weft_multi_head_weights;
/* weft_multi_head_attention with the caller's parameters; name and no_bias of the options must be unset. Errors:
 * WEFT_ERROR_ARGUMENT (a required weight is NULL), WEFT_ERROR_SHAPE (the line names the weight and both shapes). */
WEFT_API weft_tensor *weft_multi_head_attention_with(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_weights *weights, const weft_multi_head_options *options);

/* tokens i32 (...) → (..., width): rows of the parameter "embeddingN.weight" (vocabulary, width), which begins as
 * N(0, 1), as in PyTorch. Weight tying: weft_linear_with(h, weight, bias) with
 * weight = weft_graph_find(g, "embedding1.weight") is an output layer that shares the parameter; the gradients of both
 * uses are added up. */
WEFT_API weft_tensor *weft_embedding(weft_tensor *tokens, int64_t vocabulary, int64_t width);

typedef struct weft_embedding_options {
    size_t struct_size;
    const char *name;                    /* default "embeddingN" */
    const weft_initialiser *initialiser; /* default N(0, 1) */
    bool padded;                         /* default false; true: `padding` is PyTorch's padding_idx */
    /* With `padded`: the token whose row gets no gradient and begins as zeros (unless the initialiser is of the kind
     * WEFT_INIT_CUSTOM); a negative number counts from the end of the table. */
    int64_t padding;
    bool sparse; /* default false; true: the table is updated by rows, as by weft_sparse_updates */
    /* Rows whose 2-norm is larger are scaled down to this norm when they are read and when they are updated; implies
     * sparse. Default 0: no limit. */
    float max_norm;
    bool by_frequency; /* default false; true: a row's gradient is divided by the row's count in tokens */
    /* Default NULL: the layer creates its table. A table of the caller is f32 (vocabulary, width); any other is
     * WEFT_ERROR_SHAPE. With a table, name and initialiser must be unset, and with sparse or max_norm the table
     * must be a parameter; anything else is WEFT_ERROR_ARGUMENT. */
    weft_tensor *table;
} weft_embedding_options;
#define WEFT_EMBEDDING_OPTIONS_INIT .struct_size = sizeof(weft_embedding_options)
/* weft_embedding with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_embedding_layer(
    weft_tensor *tokens, int64_t vocabulary, int64_t width, const weft_embedding_options *options);
/* tokens i32 (..., n) → (..., width): weft_embedding_bag_with of a table that the layer creates, as
 * weft_embedding_layer does. If the table has a padding, it is also the padding of the bags. NULL means all defaults.
 * Errors: those of weft_embedding_layer and of weft_embedding_bag_with. */
WEFT_API weft_tensor *weft_embedding_bag(weft_tensor *tokens, int64_t vocabulary, int64_t width,
    const weft_bag_options *bags, const weft_embedding_options *options);

/* Chooses whether the embedding tables of these names (a star matches any characters) are updated by rows (sparse) or
 * as a whole. By rows, a step reads and writes only the rows that the batch gathered, of the parameter and of the
 * optimizer's states, so that its cost depends on the batch and not on the size of the table. SGD without momentum and
 * Adagrad give the same result either way. The other kinds are lazy: rows that were not gathered keep their values and
 * moments; decay applies only to gathered rows; t counts all steps. clip_norm includes the gradients of the rows.
 * Takes effect in the next weft_minimize, weft_optimizer_minimize or weft_optimizer_step. That call fails with
 * WEFT_ERROR_ARGUMENT if the table has gradients that are not those of embeddings, and with WEFT_ERROR_UNSUPPORTED
 * with LAMB, accumulate or average_decay, or if more than 16 embeddings read the table. Errors of this call:
 * WEFT_ERROR_ARGUMENT (no parameter has such a name), WEFT_ERROR_SHAPE (a parameter is not an f32 table of rank 2). */
WEFT_API weft_status weft_sparse_updates(weft_graph *graph, const char *parameters, bool sparse);

/* Adaptive softmax (Grave et al. 2017) for many classes in the order of falling frequency, as
 * torch.nn.AdaptiveLogSoftmaxWithLoss. Each class below the first cutoff has a logit in the head. Tail i has the
 * classes from cutoff i to the next cutoff: the head has one logit for the whole tail, and the tail computes a logit
 * for each of its classes from x projected to width / divisor^(i + 1). Parameters, all U(±1/sqrt(in)):
 * "adaptive_softmaxN.head.weight" (cutoffs[0] + count, width), "head.bias", "tail.I.0.weight" (projected width,
 * width), "tail.I.1.weight" (classes of tail I, projected width). The layer belongs to the graph; NULL after an
 * error. */
typedef struct weft_adaptive_softmax weft_adaptive_softmax;
#define WEFT_MAX_CLUSTERS 16
typedef struct weft_adaptive_softmax_options {
    size_t struct_size;
    const char *name; /* default "adaptive_softmaxN" */
    float divisor;    /* 1 or more; default 4 */
    bool head_bias;   /* default false */
    /* For each tail, the largest fraction of all rows, in (0, 1], whose labels are in this tail. The tail is computed
     * only for that many rows; if a run has more, the next read or wait returns an error. Default NULL: 1, all
     * rows. */
    const float *capacities;
} weft_adaptive_softmax_options;
#define WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT .struct_size = sizeof(weft_adaptive_softmax_options)
/* cutoffs: `count` increasing numbers below `classes`. options NULL means all defaults. */
WEFT_API weft_adaptive_softmax *weft_adaptive_softmax_layer(weft_graph *graph, int64_t width, int64_t classes,
    const int64_t *cutoffs, size_t count, const weft_adaptive_softmax_options *options);
/* The parameters of an adaptive softmax, all f32. */
typedef struct weft_adaptive_softmax_weights {
    weft_tensor *head_weight, *head_bias; /* (cutoffs[0] + count, width); (cutoffs[0] + count), NULL: none */
    /* One per tail: (projected width, width), with any projected width; (classes of the tail, projected width). */
    weft_tensor *const *projections, *const *tail_weights;
} weft_adaptive_softmax_weights;
/* weft_adaptive_softmax_layer with the caller's parameters; name, divisor and head_bias of the options must be unset.
 * NULL after an error: WEFT_ERROR_ARGUMENT (a required weight is NULL), WEFT_ERROR_SHAPE (the line names the weight
 * and both shapes). */
WEFT_API weft_adaptive_softmax *weft_adaptive_softmax_with(int64_t classes, const int64_t *cutoffs,
    size_t count, const weft_adaptive_softmax_weights *weights, const weft_adaptive_softmax_options *options);
/* x (..., width), labels i32 (...) → the mean of -log p(label) over the labels that are not -100; 0 if all are -100.
 * For any other label that is not a class, the next read or wait returns an error. */
WEFT_API weft_tensor *weft_adaptive_softmax_loss(
    weft_adaptive_softmax *softmax, weft_tensor *x, weft_tensor *labels);
/* x (..., width) → log p of all classes, (..., classes). */
WEFT_API weft_tensor *weft_adaptive_softmax_log_prob(weft_adaptive_softmax *softmax, weft_tensor *x);

/* ---- optimizers: values that are passed to a trainer or to weft_minimize ----
 * Each kind is PyTorch's optimizer of that name; LAMB and Lion are as in their papers. p is a parameter, g its
 * gradient after clipping, t the number of the update from 1, m̂ = m / (1 - beta1^t), v̂ = v / (1 - beta2^t). States
 * begin as 0. "Coupled" decay is g ← g + weight_decay·p before everything else. */
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
                      Hinton 2012. centered: the variance v - mean(g)² replaces v; it is computed without
                      cancellation, and is at least 2^-24·mean(g)²; Graves 2013 */
    WEFT_ADAGRAD,  /* v ← v + g²; p ← p - rate / (1 + (t - 1)·rate_decay) · g / (√v + epsilon);
                      Duchi et al. 2011 */
    WEFT_ADADELTA, /* v ← rho·v + (1 - rho)·g²; d = √(u + epsilon) / √(v + epsilon) · g;
                      u ← rho·u + (1 - rho)·d²; p ← p - rate·d; Zeiler 2012 */
    WEFT_LAMB, /* s = m̂ / (√v̂ + epsilon) + weight_decay·p; p ← p - rate·|p|/|s|·s, where |p| and |s| are
                  norms over the whole parameter, and |p|/|s| is 1 if one of them is 0; You et al. 2020 */
    WEFT_LION /* p ← p - rate·(sign(beta1·m + (1 - beta1)·g) + weight_decay·p);
                  m ← beta2·m + (1 - beta2)·g; Chen et al. 2023 */
} weft_optimizer_kind;

/* Learning rate and decay of some parameters: {"head.*", 10, 0.01f}, {"*.bias", 1, 0}. */
typedef struct weft_parameter_group {
    const char *parameters; /* a name; a star matches any characters */
    float rate_factor;      /* multiplies the learning rate, scheduled or not; above 0 */
    float weight_decay;     /* replaces weight_decay of the optimizer */
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
    /* One update per window of so many runs, by the mean of their gradients (weft_accumulation_end); 0 or 1: each
     * run. */
    uint32_t accumulate;
    /* Keeps averages a ← average_decay·a + (1 - average_decay)·p, which begin as p after the first update (see
     * weft_average_swap); 0: off. */
    float average_decay;
    const weft_parameter_group *groups; /* if two groups name a parameter, the later counts; copied */
    size_t group_count;
    /* Default constant. Otherwise the rate of each update is weft_schedule_rate(&schedule, rate, t), where t is the
     * number of earlier updates of this optimizer, in all plans, including those that change nothing: skipped updates
     * in f16, and batches in which no label counts (losses.h). Checkpoints and snapshots contain t. The schedule must
     * count updates (weft_per_step), and cannot be a plateau. */
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

/* Creates the update, which reduces the loss, of all parameters that the loss reaches and that are not frozen. A loss
 * reaches a parameter if a gradient flows from the loss to the parameter; weft_stop_gradient, comparisons, indices and
 * roundings pass no gradient. All other parameters stay as they are, also with weight decay: they have no moments and
 * no average, and count in no norm. Pass the updates to weft_plan_create among the outputs; each run of the plan is
 * then a training step. The learning rate is the scalar weft_minimize_rate, which can be set between runs. updates: an
 * array of at least WEFT_MAX_UPDATES. docs/optimizers.md says how many launches an update takes. Errors:
 * WEFT_ERROR_ARGUMENT (a field that is out of range or not used by the kind, a group that names no parameter, a
 * capacity that is too small), WEFT_ERROR_STATE (the graph has no parameters, all are frozen, or the loss reaches
 * none), WEFT_ERROR_DTYPE (a parameter is not f32). After an error the graph has no state of the optimizer. */
WEFT_API weft_status weft_minimize(weft_tensor *loss, const weft_optimizer *optimizer, weft_tensor **updates,
    size_t capacity, size_t *count);
/* The scalar "learning_rate" of the optimizer that was created last in the graph: to get the rate of a weft_minimize,
 * call this before the next one. NULL if there is no optimizer. */
WEFT_API weft_tensor *weft_minimize_rate(weft_graph *graph);
/* Makes the next run of each optimizer of the graph the last run of its window of accumulation
 * (weft_optimizer.accumulate): this run updates with the mean over the runs of the window so far, including itself.
 * Call it before the run of an epoch's last batch; otherwise the gradients of an incomplete window are lost when
 * training ends. WEFT_ERROR_ARGUMENT: graph is NULL. */
WEFT_API weft_status weft_accumulation_end(weft_graph *graph);
#define WEFT_MAX_UPDATES 8

/* ---- optimizers as objects: one state for several losses, plans, and gradients of any origin ----
 * An optimizer object keeps a learning rate, and the moments, counters and averages of the parameters that its steps
 * update. A step is a tensor: an output of plans, so that each run of such a plan is one update. All steps of an
 * optimizer share its state, in all plans: several losses, batches of different lengths, networks that are trained in
 * turn. (weft_minimize is the short form: an optimizer for one loss.) Checkpoints contain the states of all optimizers
 * of a graph. The object belongs to its graph and is released with it.
 *
 * The t of the formulas is counted for each set of parameters that one step introduces to the optimizer: t is the
 * number of runs that updated any of them. Parameters that a later step introduces begin at t = 1. A plan may have
 * several steps, of one or several optimizers, if no parameter is in two of them (WEFT_ERROR_ARGUMENT of
 * weft_plan_create). clip_norm takes the norm over the gradients of one step. */
typedef struct weft_optimizer_state weft_optimizer_state;
/* Copies rule and its groups. Each group must match the name of a parameter when the first step is created. NULL after
 * an error: WEFT_ERROR_ARGUMENT (a field that is out of range or not used by the kind). */
WEFT_API weft_optimizer_state *weft_optimizer_create(weft_graph *graph, const weft_optimizer *rule);
/* The update of `count` parameters by these gradients, each of the shape of its parameter: results of weft_gradients,
 * values computed from them, or inputs that the program writes. Parameters in the list that are frozen do not change,
 * and their gradients are ignored (weft_freeze). The same holds for parameters that the loss does not reach, if their
 * gradient is the result of weft_gradients, scaled or not; any other tensor of zeros is a gradient, with which decay
 * applies. A step may have parameters that are new to the optimizer. NULL after an error: WEFT_ERROR_ARGUMENT (no
 * parameters, a parameter twice in the list or of another graph, a tensor that is not a parameter), WEFT_ERROR_SHAPE,
 * WEFT_ERROR_DTYPE (f32 only), WEFT_ERROR_STATE (all parameters of the list are frozen or not reached; more than 64
 * sets of parameters of the graph were introduced by different steps). */
WEFT_API weft_tensor *weft_optimizer_step(weft_optimizer_state *optimizer, weft_tensor *const *parameters,
    weft_tensor *const *gradients, size_t count);
/* weft_optimizer_step with the gradients of a loss, for the parameters of these names (a star matches any characters;
 * NULL: all) that the loss reaches (weft_minimize) and that are not frozen. WEFT_ERROR_STATE: there are none.
 *     weft_tensor *train = weft_optimizer_minimize(optimizer, loss, "generator.*"); */
WEFT_API weft_tensor *weft_optimizer_minimize(
    weft_optimizer_state *optimizer, weft_tensor *loss, const char *parameters);
/* weft_optimizer_create and weft_optimizer_minimize in one call, for programs that do not need the optimizer object.
 * NULL after an error of one of the two. In a context of several devices, a plan with an update gives each device an
 * equal range of the batch; results differ by rounding from those of one device, and have the same bits in each run.
 *     weft_tensor *train = weft_train_step(loss, weft_adam(1e-3f), NULL); */
WEFT_API weft_tensor *weft_train_step(weft_tensor *loss, weft_optimizer rule, const char *parameters);
/* The learning rate, a scalar that can be set between runs (weft_scalar_set, weft_schedule_rate); NULL for NULL. If
 * the optimizer has a schedule, weft_scalar_set sets the schedule's base, and weft_scalar_get returns the rate of the
 * latest update. */
WEFT_API weft_tensor *weft_optimizer_rate(weft_optimizer_state *optimizer);

/* Freezes or unfreezes the parameters of a name, in which a star matches any characters: requires_grad_(False) of
 * PyTorch. Frozen parameters get no gradient (the backward pass does not compute it), no update and no decay.
 * Optimizers create no moments and no average for them, and keep those that exist. A parameter that is unfrozen later
 * begins with moments of zero and t = 1 in an optimizer that has not updated it before. weft_optimizer_step ignores
 * the gradient of a frozen parameter, also in clip_norm, in the overflow check of loss scaling and in the mean of
 * accumulate. States of the name are frozen, too: a batch or instance norm with a frozen running_mean uses its running
 * statistics, and does not change them, in training plans that are created from then on ("backbone.*" freezes
 * parameters and statistics; "*.weight" and "*.bias" do not freeze statistics). Dropout is not affected; for eval() of
 * a part of a network use weft_scope_inference. Parameters are frozen from the next weft_minimize,
 * weft_optimizer_minimize, weft_optimizer_step or weft_trainer_create on; existing updates do not change.
 * WEFT_ERROR_ARGUMENT: no parameter has such a name. */
WEFT_API weft_status weft_freeze(weft_graph *graph, const char *parameters, bool frozen);

/* Exchanges the parameters and their averages (average_decay). If two optimizers average a parameter, the average of
 * the later optimizer is used. Predict, evaluate or save, then call this again; a training run in between is an error.
 * With weft_trainer_options.shard_optimizer, all processes call this together, while the trainer exists.
 * WEFT_ERROR_STATE: no average is kept, or there was no update yet. */
WEFT_API weft_status weft_average_swap(weft_graph *graph);

#ifdef __cplusplus
}
#else /* named arguments (graph.h) */
#define weft_linear(x, ...)           WEFT_NAMED_(weft_linear_layer, linear, 2, x, __VA_ARGS__)
#define weft_bilinear(x1, ...)        WEFT_NAMED_(weft_bilinear_layer, linear, 3, x1, __VA_ARGS__)
#define weft_conv1d(x, ...)           WEFT_NAMED_(weft_conv1d_layer, conv_layer, 3, x, __VA_ARGS__)
#define weft_conv2d(x, ...)           WEFT_NAMED_(weft_conv2d_layer, conv_layer, 3, x, __VA_ARGS__)
#define weft_conv3d(x, ...)           WEFT_NAMED_(weft_conv3d_layer, conv_layer, 3, x, __VA_ARGS__)
#define weft_conv_transpose2d(x, ...) WEFT_NAMED_(weft_conv_transpose2d_layer, conv_layer, 5, x, __VA_ARGS__)
#define weft_embedding(tokens, ...)   WEFT_NAMED_(weft_embedding_layer, embedding, 3, tokens, __VA_ARGS__)
#endif
#endif
