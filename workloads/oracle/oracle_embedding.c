/* Rows of a table, selected by tokens and summed by bags: see oracle.h and reference_embedding.h. */
#include "oracle/draw.h"
#include "oracle/reference_embedding.h"
#include "oracle/reference_index.h"
#include <math.h>

/* ---- embedding: integers are whether there is a padding, and the padding ---- */

/* A table of an existing value or of weights. */
static bool draw_table(oracle_draw *draw, oracle_call *call) {
    const int64_t words = draw_size(draw, 130), width = draw_size(draw, draw_most(draw) / words);
    const int64_t dims[] = {words, width, WEFT_END};
    call->inputs[0] =
        draw_chance(draw, 40) ? draw_value(draw, DRAW_FLOAT, 2, 2) : draw_weights(draw, dims, -2, 2);
    return call->inputs[0] >= 0 && draw_is_fixed(draw, call->inputs[0], 0);
}

/* A token from either end. Tables whose rows or columns are free have tokens, too, but no padding. */
static int64_t draw_padding(oracle_draw *draw, const oracle_call *call) {
    const int64_t words = draw_dim(draw, call->inputs[0], 0);
    return draw_from_either_end(draw, draw_below(draw, words), words);
}

/* Of a row that is a padding the gradient is 0. */
ORACLE_DRAW(embedding) {
    if (!draw_table(draw, call)) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    int64_t most = draw_most(draw) / draw_array(draw, call->inputs[0])->dims[1];
    const int rank = (int)draw_below(draw, 4);
    for (int i = 0; i < rank; i++) {
        dims[i] = i < 2 ? draw_any_size(draw, most) : draw_size(draw, most);
        if (i > 0 && dims[i] == dims[i - 1] && !draw_is_number(dims[i])) dims[i] = 1;
        most /= draw_count_of(draw, (const int64_t[]){dims[i], WEFT_END});
    }
    dims[rank] = WEFT_END;
    call->no_gradient = draw_chance(draw, 25);
    call->integers[0] = call->no_gradient;
    if (call->integers[0]) call->integers[1] = draw_padding(draw, call);
    call->inputs[1] = draw_indices(draw, dims, draw_dim(draw, call->inputs[0], 0));
    return call->inputs[1] >= 0;
}
ORACLE_BUILD(embedding) {
    ORACLE_UNUSED;
    return call->integers[0] ? weft_embedding_padded_with(in[0], in[1], call->integers[1])
                             : weft_embedding_with(in[0], in[1]);
}
ORACLE_EVALUATE(embedding) {
    (void)call, (void)sizes;
    return f64_index_select(in[0], 0, in[1]);
}
ORACLE_OP(embedding, "($b0 ? weft_embedding_padded_with($0, $1, $a1) : weft_embedding_with($0, $1))");

/* ---- bags: integers are the mode, whether there is a padding, and the padding; inputs the table, the tokens, the offsets and
 * the weights ---- */

/* Tokens of one axis with offsets, or of several of which the last one is a bag. */
static bool draw_tokens(oracle_draw *draw, oracle_call *call, int64_t *dims) {
    const int64_t width = draw_array(draw, call->inputs[0])->dims[1], most = draw_most(draw) / width;
    const bool offsets = draw_chance(draw, 40);
    const int rank = offsets ? 1 : 2 + (int)draw_below(draw, 2);
    for (int i = 0; i < rank; i++) dims[i] = draw_size(draw, i == rank - 1 ? 33 : most < 5 ? 1 : 5);
    if (draw_chance(draw, 60)) dims[0] = draw_any_size(draw, most < 33 ? most : 33);
    dims[rank] = WEFT_END;
    call->inputs[1] = draw_indices(draw, dims, draw_dim(draw, call->inputs[0], 0));
    if (!offsets) return call->inputs[1] >= 0;
    const int64_t bags[] = {draw_any_size(draw, most < 33 ? most : 33), WEFT_END};
    call->inputs[2] = draw_source(
        draw, &(draw_source_options){
                  .dtype = WEFT_I32, .dims = bags, .below = dims[0], .ascending = true, .from_zero = true});
    return call->inputs[1] >= 0 && call->inputs[2] >= 0;
}

ORACLE_DRAW(embedding_bag_with) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_table(draw, call) || !draw_tokens(draw, call, dims)) return false;
    call->integers[0] = draw_below(draw, 3);
    call->integers[1] = draw_chance(draw, 35);
    if (call->integers[1]) call->integers[2] = draw_padding(draw, call);
    if (call->integers[0] != WEFT_BAG_SUM || draw_chance(draw, 50)) return true;
    return (call->inputs[3] = draw_shaped(draw, draw_format(draw), dims, -2, 2)) >= 0;
}
ORACLE_BUILD(embedding_bag_with) {
    ORACLE_UNUSED;
    const weft_bag_options options = {WEFT_BAG_OPTIONS_INIT, .mode = (weft_bag_mode)call->integers[0],
        .offsets = in[2], .weights = in[3], .padded = call->integers[1] != 0, .padding = call->integers[2]};
    return weft_embedding_bag_with(in[0], in[1], &options);
}
static double magnitude(double a, double b, double c) {
    (void)b, (void)c;
    return fabs(a);
}
/* Products with weights are stored, and so are sums before they are divided. */
static void add_stored_terms(
    f64_array *y, const f64_array *const *in, f64_bags bags, const oracle_sizes *sizes) {
    if (bags.weights) bags.weights = f64_map(magnitude, bags.weights, NULL, NULL);
    const f64_array *const terms = f64_embedding_bag(f64_map(magnitude, in[0], NULL, NULL), in[1], &bags);
    for (size_t i = 0; i < y->count; i++) y->error[i] += 2 * oracle_rounding(sizes, terms->value[i]);
}
ORACLE_EVALUATE(embedding_bag_with) {
    const int64_t padding = call->integers[2];
    const f64_bags bags = {(weft_bag_mode)call->integers[0], in[2], in[3],
        !call->integers[1] ? -1
        : padding < 0      ? padding + in[0]->dims[0]
                           : padding};
    f64_array *const y = f64_embedding_bag(in[0], in[1], &bags);
    if (oracle_rounding(sizes, 1) > 0) add_stored_terms(y, in, bags, sizes);
    return y;
}
ORACLE_OP(embedding_bag_with, "weft_embedding_bag_with($0, $1, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, "
                              ".mode = (weft_bag_mode)$i0, .offsets = $2, "
                              ".weights = $3, .padded = $b1, .padding = $a2})");
