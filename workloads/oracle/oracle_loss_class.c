/* Losses of class labels: see oracle_loss.h. */
#include "oracle/oracle_loss.h"
#include <math.h>

/* ---- options: integers 0 is the reduction, 1 says that labels are ignored, 2 which; number 0 is the smoothing; input 2 is the
 * class weights, in halves ---- */

/* No gradient flows to class weights, so they are whole numbers. */
#define CLASS_WEIGHTS_LINE "$i3 ? weft_mul_number(weft_cast($2, WEFT_F32), 0.5) : NULL"
#define CLASS_OPTIONS_LINE                                                                                   \
    "&(const weft_class_loss_options){WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = (weft_loss_reduction)$i0, " \
    ".class_weights = " CLASS_WEIGHTS_LINE ", .ignore = $b1, .ignored_label = $i2, .label_smoothing = $n0}"
enum { REDUCTION, IGNORES, IGNORED, WEIGHTED, FORM };

static weft_class_loss_options class_options(const oracle_call *call, weft_tensor *const *in) {
    return (weft_class_loss_options){WEFT_CLASS_LOSS_OPTIONS_INIT,
        .reduction = (weft_loss_reduction)call->integers[REDUCTION],
        .class_weights = in[2] ? weft_mul_number(weft_cast(in[2], WEFT_F32), 0.5) : NULL,
        .ignore = call->integers[IGNORES] != 0, .ignored_label = (int32_t)call->integers[IGNORED],
        .label_smoothing = (float)call->numbers[0]};
}

static f64_class_options class_numbers(const oracle_call *call, const f64_array *const *in) {
    return (f64_class_options){.reduction = (weft_loss_reduction)call->integers[REDUCTION],
        .weights = in[2] ? f64_mul(in[2], f64_number(0.5)) : NULL,
        .ignore = call->integers[IGNORES] != 0,
        .ignored = (double)call->integers[IGNORED],
        .smoothing = call->numbers[0]};
}

/* Labels of x in range, and the ignored one among them where one is ignored. */
static int draw_labels(oracle_draw *draw, oracle_call *call, const int64_t *dims, int64_t classes) {
    const bool fixed = classes > 0 && classes < 1000000;
    call->integers[IGNORED] = call->integers[IGNORES] ? draw_below(draw, 3) - 1 : 0;
    if (call->integers[IGNORES] && call->integers[IGNORED] < 0 && draw_chance(draw, 50))
        call->integers[IGNORED] = -100;
    if (fixed && draw_chance(draw, 25)) return draw_shaped(draw, WEFT_I32, dims, 0, (double)classes - 1);
    draw_source_options options = {.dtype = WEFT_I32, .dims = dims, .below = classes};
    if (call->integers[IGNORED] == -1 && fixed)
        options =
            (draw_source_options){.dtype = WEFT_I32, .dims = dims, .low = -1, .high = (double)classes - 1};
    return draw_source(draw, &options);
}

/* Scores of classes, often more than one example of them. */
static int draw_class_scores(oracle_draw *draw, double low, double high) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (draw_chance(draw, 75))
        return draw_value_within(draw, DRAW_FLOAT, draw_chance(draw, 90) ? 2 : 1, 5, low, high);
    draw_shape(draw, 2 + (int)draw_below(draw, 2), dims);
    return draw_source(
        draw, &(draw_source_options){
                  .dtype = draw_format(draw), .dims = dims, .low = fmax(low, -5), .high = fmin(high, 5)});
}

/* The shape of x without its class axis. */
static void label_dims(const oracle_draw *draw, int x, int64_t *dims) {
    const int rank = draw_rank(draw, x);
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (i != (rank > 1)) dims[count++] = draw_dim(draw, x, i);
    dims[count] = WEFT_END;
}

typedef enum label_kind {
    EACH_COUNTS,
    SOME_IGNORED, /* often */
    DENSE         /* probabilities */
} label_kind;

static int draw_targets(oracle_draw *draw, oracle_call *call, label_kind kind, int64_t classes) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (kind == DENSE) {
        draw_dims(draw, call->inputs[0], dims);
        return draw_shaped(draw, draw_format(draw), dims, -1, 2);
    }
    label_dims(draw, call->inputs[0], dims);
    call->integers[IGNORES] = kind == SOME_IGNORED && draw_chance(draw, 40);
    return draw_labels(draw, call, dims, classes);
}

static bool draw_class_loss(oracle_draw *draw, oracle_call *call, label_kind kind, double low, double high) {
    const int x = call->inputs[0] = draw_class_scores(draw, low, high);
    if (x < 0 || !draw_is_no_probability(draw, x)) return false;
    const int64_t classes[] = {draw_dim(draw, x, draw_rank(draw, x) > 1), WEFT_END};
    /* Losses of one class are 0, or rounding. */
    if (classes[0] < 1 || (classes[0] == 1 && draw_chance(draw, 85))) return false;
    call->integers[REDUCTION] = draw_reduction_kind(draw);
    call->inputs[1] = draw_targets(draw, call, kind, classes[0]);
    call->integers[WEIGHTED] = draw_chance(draw, 40);
    if (call->integers[WEIGHTED])
        call->inputs[2] = draw_source(
            draw, &(draw_source_options){.dtype = WEFT_I32, .dims = classes, .low = 0, .high = 6});
    return call->inputs[1] >= 0 && (!call->integers[WEIGHTED] || call->inputs[2] >= 0);
}

/* ---- the rows ---- */

ORACLE_DRAW(cross_entropy) {
    call->integers[FORM] = draw_chance(draw, 30);
    if (draw_chance(draw, 50))
        call->numbers[0] = draw_exact(draw_chance(draw, 20) ? 1 : draw_between(draw, 0.01, 0.9));
    return draw_class_loss(draw, call, call->integers[FORM] ? DENSE : SOME_IGNORED, -40, 40);
}
ORACLE_BUILD(cross_entropy) {
    ORACLE_UNUSED;
    const weft_class_loss_options options = class_options(call, in);
    return weft_cross_entropy_loss(in[0], in[1], &options);
}
ORACLE_EVALUATE(cross_entropy) {
    (void)sizes;
    const f64_class_options options = class_numbers(call, in);
    return call->integers[FORM] ? f64_dense_cross_entropy(in[0], in[1], &options)
                                : f64_cross_entropy(in[0], in[1], &options);
}
ORACLE_OP(cross_entropy, "weft_cross_entropy_loss($0, $1, " CLASS_OPTIONS_LINE ")");

ORACLE_DRAW(nll) {
    return draw_class_loss(draw, call, SOME_IGNORED, -40, 40);
}
ORACLE_BUILD(nll) {
    ORACLE_UNUSED;
    const weft_class_loss_options options = class_options(call, in);
    return weft_nll_loss(in[0], in[1], &options);
}
ORACLE_EVALUATE(nll) {
    (void)sizes;
    const f64_class_options options = class_numbers(call, in);
    return f64_nll(in[0], in[1], &options);
}
ORACLE_OP(nll, "weft_nll_loss($0, $1, " CLASS_OPTIONS_LINE ")");

ORACLE_DRAW(multi_margin) {
    call->numbers[1] = draw_exact(draw_chance(draw, 30) ? 1 : draw_between(draw, -1, 3));
    call->integers[FORM] = 1 + draw_below(draw, 2);
    return draw_class_loss(draw, call, EACH_COUNTS, -20, 20);
}
ORACLE_BUILD(multi_margin) {
    ORACLE_UNUSED;
    const weft_class_loss_options options = class_options(call, in);
    return weft_multi_margin_loss(in[0], in[1], (float)call->numbers[1], (int)call->integers[FORM], &options);
}
ORACLE_EVALUATE(multi_margin) {
    (void)sizes;
    const f64_class_options options = class_numbers(call, in);
    return f64_multi_margin(in[0], in[1], call->numbers[1], (int)call->integers[FORM], &options);
}
ORACLE_OP(multi_margin, "weft_multi_margin_loss($0, $1, $n1, $i4, " CLASS_OPTIONS_LINE ")");

/* ---- sequences: input 3 is the mask, bool or i32 lengths ---- */

static bool draw_mask(oracle_draw *draw, oracle_call *call, const int64_t *dims) {
    const bool lengths = f64_list_length(dims) == 2 && draw_is_number(dims[1]) && draw_chance(draw, 50);
    const int64_t rows[] = {dims[0], WEFT_END};
    if (draw_chance(draw, 30)) return true;
    call->integers[FORM] = lengths;
    call->inputs[3] =
        lengths ? draw_source(
                      draw, &(draw_source_options){.dtype = WEFT_I32, .dims = rows, .high = (double)dims[1]})
                : draw_narrow_of(draw, WEFT_BOOL, dims, 0, 1);
    return call->inputs[3] >= 0;
}

/* Labels follow one another in one list: one dimension alone may be free. */
static bool has_one_free(const int64_t *dims) {
    int count = 0;
    for (int i = 0; dims[i] != WEFT_END; i++) count += !draw_is_number(dims[i]);
    return count <= 1;
}

ORACLE_DRAW(sequence_cross_entropy) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int x = call->inputs[0] =
        draw_value_within(draw, DRAW_FLOAT, draw_chance(draw, 90) ? 2 : 1, 4, -40, 40);
    if (x < 0 || !draw_is_no_probability(draw, x)) return false;
    draw_dims(draw, x, dims);
    const int rank = draw_rank(draw, x);
    const int64_t classes[] = {dims[rank - 1], WEFT_END};
    if (classes[0] < 1 || (classes[0] == 1 && draw_chance(draw, 85)) || !has_one_free(dims)) return false;
    dims[rank - 1] = WEFT_END;
    call->integers[REDUCTION] = draw_reduction_kind(draw);
    call->integers[IGNORES] = draw_chance(draw, 40);
    if (draw_chance(draw, 40)) call->numbers[0] = draw_exact(draw_between(draw, 0.01, 0.9));
    call->inputs[1] = draw_labels(draw, call, dims, classes[0]);
    call->integers[WEIGHTED] = draw_chance(draw, 30);
    if (call->integers[WEIGHTED])
        call->inputs[2] = draw_source(
            draw, &(draw_source_options){.dtype = WEFT_I32, .dims = classes, .low = 0, .high = 6});
    return call->inputs[1] >= 0 && (!call->integers[WEIGHTED] || call->inputs[2] >= 0) &&
           draw_mask(draw, call, dims);
}
ORACLE_BUILD(sequence_cross_entropy) {
    ORACLE_UNUSED;
    const weft_class_loss_options options = class_options(call, in);
    return weft_sequence_cross_entropy_loss(in[0], in[1], in[3], &options);
}
ORACLE_EVALUATE(sequence_cross_entropy) {
    (void)sizes;
    const f64_class_options options = class_numbers(call, in);
    return f64_sequence_cross_entropy(in[0], in[1], in[3], call->integers[FORM] != 0, &options);
}
ORACLE_OP(sequence_cross_entropy, "weft_sequence_cross_entropy_loss($0, $1, $3, " CLASS_OPTIONS_LINE ")");
