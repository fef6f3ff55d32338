/* Programs that were once computed wrongly, each made as small as it still failed: most were found by random programs (`weft check
 * --random`). The batch is free in all of them but those that say otherwise. */
#include "support/op_case.h"

#define X(...) F32(-2, 2, __VA_ARGS__)

static const int64_t last[] = {-1, WEFT_END};

/* ---- short rows of views, whose loops are exchanged with those over many kept rows ---- */

static f64_array *rolled(const f64_array *x, int64_t shift) {
    const int64_t size = x->dims[x->rank - 1];
    return f64_concat(
        (const f64_array *const[]){f64_slice(x, -1, size - shift, size), f64_slice(x, -1, 0, size - shift)},
        2, -1);
}

static weft_tensor *build_sum_of_roll(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_sum(weft_roll(inputs[0], -1, 1), -1);
}
static f64_array *reference_sum_of_roll(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_sum(rolled(inputs[0], 1), last, false);
}

static weft_tensor *build_sum_of_pad(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_sum(weft_square(weft_pad(inputs[0], (const int64_t[]){0, 0, 2}, (const int64_t[]){0, 0, 1},
                        WEFT_PAD_CONSTANT, 1.5)),
        -1);
}
static f64_array *reference_sum_of_pad(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_add(f64_sum(f64_square(inputs[0]), last, false), f64_number(3 * 1.5 * 1.5));
}

static weft_tensor *build_sum_of_tile(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_max(weft_mul(weft_tile(inputs[0], 3, (const int64_t[]){1, 1, 3}), inputs[1]), -1);
}
static f64_array *reference_sum_of_tile(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    const f64_array *const x = inputs[0];
    return f64_max(f64_mul(f64_concat((const f64_array *const[]){x, x, x}, 3, -1), inputs[1]), last, false);
}

/* A view centred by its own mean. */
static weft_tensor *build_centred_roll(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    weft_tensor *const x = weft_roll(inputs[0], -1, 2);
    return weft_sub(x, weft_mean_axes(x, last, true));
}
static f64_array *reference_centred_roll(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    const f64_array *const x = rolled(inputs[0], 2);
    return f64_sub(x, f64_mean(x, last, true));
}

static const op_case short_rows[] = {
    CASE("17 rows of 3", sum_of_roll, INPUTS(X(WEFT_BATCH, 17, 3))),
    CASE("16 rows of 31", sum_of_roll, INPUTS(X(WEFT_BATCH, 16, 31))),
    CASE("many rows, fixed", sum_of_roll, INPUTS(X(4099, 5))),
    CASE("padded rows", sum_of_pad, INPUTS(X(WEFT_BATCH, 33, 7))),
    CASE("tiled rows", sum_of_tile, INPUTS(X(WEFT_BATCH, 16, 2), X(WEFT_BATCH, 16, 6))),
    CASE("centred", centred_roll, INPUTS(X(WEFT_BATCH, 17, 5))),
};

/* ---- a layer norm whose result is sliced along its rows: a gated linear unit ---- */

static weft_tensor *build_gated_norm(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    const int64_t half = weft_tensor_dimension(inputs[0], -1) / 2;
    weft_tensor *const y = weft_mul(weft_sub(inputs[0], weft_mean_axes(inputs[0], last, true)),
        weft_rsqrt(weft_add_number(weft_var_with(inputs[0], 0, last, true), 1e-5)));
    return weft_mul(weft_slice(y, -1, 0, half), weft_sigmoid(weft_slice(y, -1, half, WEFT_END)));
}
static f64_array *reference_gated_norm(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    const f64_array *const x = f64_sub(inputs[0], f64_mean(inputs[0], last, true));
    const f64_array *const y =
        f64_div(x, f64_sqrt(f64_add(f64_mean(f64_square(x), last, true), f64_number(1e-5))));
    const int64_t size = x->dims[x->rank - 1];
    return f64_mul(f64_slice(y, -1, 0, size / 2), f64_sigmoid(f64_slice(y, -1, size / 2, size)));
}

static const op_case gated_norms[] = {
    CASE("16 rows of 8", gated_norm, INPUTS(X(WEFT_BATCH, 16, 8))),
    CASE("31 rows of 30", gated_norm, INPUTS(X(WEFT_BATCH, 31, 30))),
};

int main(void) {
    static const op_cases ops[] = {{NULL, short_rows, sizeof short_rows / sizeof *short_rows},
        {NULL, gated_norms, sizeof gated_norms / sizeof *gated_norms}};
    return op_suite_run("found programs", ops, sizeof ops / sizeof *ops);
}
