/* Norms: see oracle.h. Inputs of a call: x, weight, bias, then the running mean, the running variance and the count of batches. */
#include "oracle/draw_image.h"
#include "oracle/reference_normalization.h"
#include <math.h>

enum { WEIGHT = 1, BIAS = 2, MEAN = 3, VARIANCE = 4, BATCHES = 5 };
enum { NUMBER = 0, FIXED = 1 };     /* integers: groups or axes; are running statistics left as they are? */
enum { EPSILON = 0, MOMENTUM = 1 }; /* numbers */

static f64_norm norm_of(const oracle_call *call, const f64_array *const *in) {
    return (f64_norm){in[WEIGHT], in[BIAS], call->numbers[EPSILON]};
}

static float epsilon_of(const oracle_call *call) {
    return (float)call->numbers[EPSILON];
}

/* ---- drawing ---- */

static void draw_epsilon(oracle_draw *draw, oracle_call *call) {
    static const float choices[] = {1e-5f, 1e-5f, 1e-3f, 1e-8f, 0.1f, 1e-5f, 1e-3f, 0};
    call->numbers[EPSILON] = (double)choices[draw_below(draw, 8)];
}

static bool draw_affine(oracle_draw *draw, oracle_call *call, const int64_t *dims, bool biased) {
    draw_epsilon(draw, call);
    if (draw_chance(draw, 60))
        call->inputs[WEIGHT] = draw_weights(draw, dims, draw_chance(draw, 50) ? 0.5 : -1.5, 1.5);
    if (biased && draw_chance(draw, 60)) call->inputs[BIAS] = draw_weights(draw, dims, -1, 1);
    return true;
}

static bool draw_channels(oracle_draw *draw, oracle_call *call) {
    const int64_t dims[] = {draw_dim(draw, call->inputs[0], 1), WEFT_END};
    return draw_affine(draw, call, dims, true);
}

/* The states are as training leaves them: means, positive variances, some batches. */
static void draw_running(oracle_draw *draw, oracle_call *call) {
    static const float momenta[] = {0.1f, 0.1f, 0.5f, 1, 0};
    const int64_t channels[] = {draw_dim(draw, call->inputs[0], 1), WEFT_END}, none[] = {WEFT_END};
    draw_source_options options = {
        .dtype = WEFT_F32, .dims = channels, .low = -1, .high = 1, .changed = true};
    call->inputs[MEAN] = draw_source(draw, &options);
    options.low = 0.2, options.high = 3;
    call->inputs[VARIANCE] = call->inputs[MEAN] < 0 ? -1 : draw_source(draw, &options);
    if (draw_chance(draw, 30))
        call->inputs[BATCHES] = draw_source(draw,
            &(draw_source_options){.dtype = WEFT_I32, .dims = none, .low = 0, .high = 10, .changed = true});
    call->integers[FIXED] = draw_chance(draw, 20);
    call->numbers[MOMENTUM] = (double)momenta[draw_below(draw, 5)];
}

/* One value has no variance. */
static bool draw_running_norm(oracle_draw *draw, oracle_call *call, int least_axes) {
    const int x = call->inputs[0] = draw_image(draw, least_axes, 3, -40, 40);
    if (x < 0) return false;
    int64_t values = draw_count(draw, x) / draw_dim(draw, x, 1);
    if (least_axes > 0) values /= draw_array(draw, x)->dims[0];
    if (values < 2) return false;
    if (draw_chance(draw, 50)) draw_running(draw, call);
    return draw_channels(draw, call) && (call->inputs[MEAN] < 0 || call->inputs[VARIANCE] >= 0);
}

static bool draw_row_norm(oracle_draw *draw, oracle_call *call, bool biased) {
    const int x = call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, 1, 5, -40, 40);
    if (x < 0) return false;
    const int rank = draw_rank(draw, x);
    int64_t dims[WEFT_MAX_RANK + 1];
    int most = 0; /* the last axes that do not have the batch */
    draw_dims(draw, x, dims);
    while (most < rank && dims[rank - 1 - most] > 0) most++;
    if (most == 0) return false;
    const int axes = 1 + (int)draw_small(draw, most);
    call->integers[NUMBER] = axes;
    return draw_affine(draw, call, dims + rank - axes, biased);
}

static bool uses_running(const oracle_call *call, const oracle_sizes *sizes) {
    return call->inputs[MEAN] >= 0 && (sizes->inference || call->integers[FIXED]);
}

/* ---- slopes: those of sets of two elements, of one without a mean, cancel out ---- */

static bool are_few(const f64_array *x, int64_t sets, int64_t few) {
    return (int64_t)x->count / sets <= few;
}

static bool cancels_of_rows(const oracle_call *call, const f64_array *x, int64_t few) {
    int64_t rows = 1;
    for (int i = 0; i < x->rank - (int)call->integers[NUMBER]; i++) rows *= x->dims[i];
    return are_few(x, rows, few);
}

#define CANCELS(op, answer)                                                                                  \
    static bool cancels_##op(                                                                                \
        const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes) {                    \
        (void)call, (void)sizes;                                                                             \
        return answer;                                                                                       \
    }
CANCELS(layer_norm, cancels_of_rows(call, in[0], 2))
CANCELS(rms_norm, cancels_of_rows(call, in[0], 1))
CANCELS(group_norm, are_few(in[0], in[0]->dims[0] * call->integers[NUMBER], 2))
CANCELS(batch_norm, !uses_running(call, sizes) && are_few(in[0], in[0]->dims[1], 2))
CANCELS(instance_norm, !uses_running(call, sizes) && are_few(in[0], in[0]->dims[0] * in[0]->dims[1], 2))

/* ---- running statistics ---- */

static weft_running running_of(const oracle_call *call, weft_tensor *const *in) {
    return (weft_running){.mean = in[MEAN],
        .var = in[VARIANCE],
        .batches = in[BATCHES],
        .momentum = (float)call->numbers[MOMENTUM],
        .fixed = call->integers[FIXED] != 0};
}

static f64_array *effect_of(const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes,
    int input, bool per_example) {
    if (input < MEAN || uses_running(call, sizes)) return input < MEAN ? NULL : f64_copy(in[input]);
    if (input == BATCHES) return f64_add(in[BATCHES], f64_number(1));
    const double momentum = in[BATCHES] ? 1 / (in[BATCHES]->value[0] + 1) : call->numbers[MOMENTUM];
    return f64_move_running(in[0], &(f64_running){in[input], momentum, per_example, input == VARIANCE});
}

#define RUNNING_LINE                                                                                         \
    "&(weft_running){.mean = $3, .var = $4, .batches = $5, .momentum = $n1, .fixed = $b1}, $n0) "            \
    "/* without running statistics where the mean is NULL */"

#define RUNNING_NORM(op, axes, per_example)                                                                  \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_running_norm(draw, call, axes);                                                          \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        const weft_running running = running_of(call, in);                                                   \
        return weft_##op##_with(in[0], in[WEIGHT], in[BIAS], in[MEAN] ? &running : NULL, epsilon_of(call));  \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        const f64_norm norm = norm_of(call, in);                                                             \
        return uses_running(call, sizes) ? f64_running_norm(in[0], in[MEAN], in[VARIANCE], &norm)            \
                                         : f64_##op(in[0], &norm);                                           \
    }                                                                                                        \
    ORACLE_EFFECT(op) {                                                                                      \
        return effect_of(call, in, sizes, input, per_example);                                               \
    }                                                                                                        \
    ORACLE_OP_WITH(                                                                                          \
        op, "weft_" #op "_with($0, $1, $2, " RUNNING_LINE, .cancels = cancels_##op, .effect = effect_##op)

RUNNING_NORM(batch_norm, 0, false);
RUNNING_NORM(instance_norm, 1, true);

/* ---- without them ---- */

ORACLE_DRAW(group_norm) {
    call->inputs[0] = draw_image(draw, 0, 3, -40, 40);
    if (call->inputs[0] < 0) return false;
    call->integers[NUMBER] = draw_divisor(draw, draw_dim(draw, call->inputs[0], 1));
    return draw_channels(draw, call);
}
ORACLE_BUILD(group_norm) {
    ORACLE_UNUSED;
    return weft_group_norm_with(in[0], call->integers[NUMBER], in[WEIGHT], in[BIAS], epsilon_of(call));
}
ORACLE_EVALUATE(group_norm) {
    (void)sizes;
    const f64_norm norm = norm_of(call, in);
    return f64_group_norm(in[0], call->integers[NUMBER], &norm);
}
ORACLE_OP_WITH(group_norm, "weft_group_norm_with($0, $i0, $1, $2, $n0)", .cancels = cancels_group_norm);

ORACLE_DRAW(layer_norm) {
    return draw_row_norm(draw, call, true);
}
ORACLE_BUILD(layer_norm) {
    ORACLE_UNUSED;
    return weft_layer_norm_with(in[0], (int)call->integers[NUMBER], in[WEIGHT], in[BIAS], epsilon_of(call));
}
ORACLE_EVALUATE(layer_norm) {
    (void)sizes;
    const f64_norm norm = norm_of(call, in);
    return f64_layer_norm(in[0], (int)call->integers[NUMBER], &norm);
}
ORACLE_OP_WITH(layer_norm, "weft_layer_norm_with($0, $i0, $1, $2, $n0)", .cancels = cancels_layer_norm);

ORACLE_DRAW(rms_norm) {
    return draw_row_norm(draw, call, false);
}
ORACLE_BUILD(rms_norm) {
    ORACLE_UNUSED;
    return weft_rms_norm_with(in[0], (int)call->integers[NUMBER], in[WEIGHT], epsilon_of(call));
}
ORACLE_EVALUATE(rms_norm) {
    (void)sizes;
    const f64_norm norm = norm_of(call, in);
    return f64_rms_norm(in[0], (int)call->integers[NUMBER], &norm);
}
ORACLE_OP_WITH(rms_norm, "weft_rms_norm_with($0, $i0, $1, $n0)", .cancels = cancels_rms_norm);
