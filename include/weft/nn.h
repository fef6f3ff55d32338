/* weft/nn.h: initialisers, layers, optimizers. */
#ifndef WEFT_NN_H
#define WEFT_NN_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- initialisers ---- */
WEFT_API weft_initialiser weft_zeros(void);
WEFT_API weft_initialiser weft_fill(float value);
WEFT_API weft_initialiser weft_init_uniform(float low, float high);
WEFT_API weft_initialiser weft_init_normal(float mean, float deviation);
WEFT_API weft_initialiser weft_glorot_uniform(void); /* gain 1 */
WEFT_API weft_initialiser weft_glorot_normal(void);
WEFT_API weft_initialiser weft_he_uniform(void); /* gain sqrt(2), for relu */
WEFT_API weft_initialiser weft_he_normal(void);

/* ---- layers: ops that make their own parameters ---- */
/* x (..., in) → (..., units). Parameters "linearN.weight" (units, in) and "linearN.bias" (units), N = 1, 2,
 * ... in the graph; both begin as U(±1/sqrt(in)), as PyTorch's do. */
WEFT_API weft_tensor *weft_linear(weft_tensor *x, int64_t units);

typedef struct weft_linear_options {
    size_t struct_size;
    const char *name;                           /* default "linearN" */
    const weft_initialiser *weight_initialiser; /* default U(±1/sqrt(in)) */
    const weft_initialiser *bias_initialiser;   /* default U(±1/sqrt(in)) */
    bool no_bias;                               /* default false */
} weft_linear_options;
#define WEFT_LINEAR_OPTIONS_INIT .struct_size = sizeof(weft_linear_options)
WEFT_API weft_tensor *weft_linear_layer(weft_tensor *x, int64_t units, const weft_linear_options *options);

/* Multi-head attention (A. Vaswani et al. 2017): query (batch, Lq, E), key (batch, Lk, Ek), value (batch, Lk,
 * Ev) → (batch, Lq, E), or all without the batch. Each head attends with E / heads columns (weft_attention).
 * The parameters have the names and shapes of torch.nn.MultiheadAttention: "attentionN.in_proj_weight" (3E,
 * E), or where Ek or Ev is not E "q_proj_weight" (E, E), "k_proj_weight" (E, Ek), "v_proj_weight" (E, Ev);
 * "in_proj_bias" (3E), "out_proj.weight" (E, E), "out_proj.bias" (E); they begin as PyTorch's do. */
typedef struct weft_multi_head_options {
    size_t struct_size;
    const char *name;  /* default "attentionN" */
    weft_tensor *mask; /* default NULL; broadcasts to (batch, heads, Lq, Lk): as in weft_attention */
    weft_tensor
        *key_mask; /* default NULL; bool (batch, Lk): true takes part (PyTorch's padding mask negated) */
    bool causal;   /* default false */
    bool no_bias;  /* default false */
} weft_multi_head_options;
#define WEFT_MULTI_HEAD_OPTIONS_INIT .struct_size = sizeof(weft_multi_head_options)
WEFT_API weft_tensor *weft_multi_head_attention(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_options *options);

/* ---- optimizers: values, to be given to a trainer or to weft_minimize ---- */
typedef enum weft_optimizer_kind { WEFT_SGD = 1, WEFT_ADAM } weft_optimizer_kind;

typedef struct weft_optimizer {
    weft_optimizer_kind kind;
    float rate;
    float momentum;     /* SGD; PyTorch's form: v ← momentum·v + g; p ← p − rate·v */
    float weight_decay; /* g ← g + weight_decay·p */
    float beta1, beta2; /* Adam; Kingma and Ba 2015 */
    float epsilon;
} weft_optimizer;

WEFT_API weft_optimizer weft_sgd(float rate);
WEFT_API weft_optimizer weft_sgd_momentum(float rate, float momentum, float weight_decay);
WEFT_API weft_optimizer weft_adam(float rate); /* betas 0.9, 0.999; epsilon 1e-8 */

/* The update of all the graph's parameters towards a smaller loss: give it to weft_plan_create among the
 * outputs and each run is a training step, updating all parameters in one launch. The learning rate is the
 * scalar "learning_rate" (weft_minimize_rate), which may be set between runs. updates: room for
 * WEFT_MAX_UPDATES; errors: WEFT_ERROR_ARGUMENT (a field out of range, too little room), WEFT_ERROR_STATE (no
 * parameters). */
WEFT_API weft_status weft_minimize(weft_tensor *loss, const weft_optimizer *optimizer, weft_tensor **updates,
    size_t capacity, size_t *count);
WEFT_API weft_tensor *weft_minimize_rate(weft_graph *graph); /* NULL before weft_minimize */
#define WEFT_MAX_UPDATES 8

#ifdef __cplusplus
}
#endif
#endif
