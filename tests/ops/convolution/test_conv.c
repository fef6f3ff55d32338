/* Convolutions and transposed ones over one to three axes: windows, strides, dilations, paddings and groups
 * around the tiles of the kernels. Their gradients, which are convolutions themselves, come with every case.
 */
/* test slow gpu:optimised */
/* test.indices64.gpu WEFT_TEST_INDICES=64 WEFT_CONV=conv_naive reduced */
/* test.winograd WEFT_CONV=winograd slow */
/* test.winograd.gpu WEFT_CONV=winograd optimised */
/* test.{least,processor} device={} reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_convolution.h"
#include <stdlib.h>

static int64_t or_one(int64_t number) {
    return number ? number : 1;
}

static weft_tensor *build_conv(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_conv_with(inputs[0], inputs[1], inputs[2], c->row);
}
static f64_array *reference_conv(const op_case *c, const f64_array *const *inputs) {
    return f64_conv(inputs[0], inputs[1], inputs[2], c->row);
}
static weft_tensor *build_conv_transpose(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_conv_transpose_with(inputs[0], inputs[1], inputs[2], c->row);
}
static f64_array *reference_conv_transpose(const op_case *c, const f64_array *const *inputs) {
    return f64_conv_transpose(inputs[0], inputs[1], inputs[2], c->row);
}

/* ---- cases ---- */

#define A(...) F32(-1, 1, __VA_ARGS__)
#define OPTIONS(...)                                                                                         \
    .row = &(const weft_conv_options) {                                                                      \
        WEFT_CONV_OPTIONS_INIT, __VA_ARGS__                                                                  \
    }

static const op_case conv_cases[] = {
    CASE("1 of everything", conv, INPUTS(A(1, 1, 1, 1), A(1, 1, 1, 1), A(1))),
    CASE("kernels for each example", conv,
        INPUTS(A(WEFT_BATCH, 3, 5, 7), A(WEFT_BATCH, 4, 3, 3, 2), A(WEFT_BATCH, 4)),
        OPTIONS(.paddings = {1, 0}, .strides = {2, 1})),
    CASE("kernels for each example, groups", conv, INPUTS(A(WEFT_BATCH, 4, 9), A(WEFT_BATCH, 6, 2, 3), A(6)),
        OPTIONS(.groups = 2, .dilations = {2})),
    CASE("3 by 3", conv, INPUTS(A(WEFT_BATCH, 3, 5, 7), A(4, 3, 3, 3), A(4))),
    CASE(
        "padded", conv, INPUTS(A(WEFT_BATCH, 17, 6, 5), A(33, 17, 3, 3), A(33)), OPTIONS(.paddings = {1, 1})),
    CASE("16 channels", conv, INPUTS(A(2, 16, 7, 9), A(64, 16, 3, 3)), OPTIONS(.paddings = {1, 1})),
    CASE("64 channels", conv, INPUTS(A(WEFT_BATCH, 64, 4, 5), A(17, 64, 3, 3), A(17)),
        OPTIONS(.paddings = {1, 1})),
    CASE("stride 2", conv, INPUTS(A(WEFT_BATCH, 5, 8, 9), A(6, 5, 3, 3)),
        OPTIONS(.strides = {2, 2}, .paddings = {1, 1})),
    CASE("first layer", conv, INPUTS(A(2, 3, 19, 17), A(16, 3, 7, 7)),
        OPTIONS(.strides = {2, 2}, .paddings = {3, 3})),
    CASE("stride 4 of 11", conv, INPUTS(A(1, 3, 27, 23), A(20, 3, 11, 11)), OPTIONS(.strides = {4, 4})),
    CASE("stride over the window", conv, INPUTS(A(2, 3, 11, 10), A(5, 3, 2, 1)), OPTIONS(.strides = {3, 4})),
    CASE("1 by 1", conv, INPUTS(A(WEFT_BATCH, 17, 3, 4), A(9, 17, 1, 1), A(9))),
    CASE("1 by 1, stride 2", conv, INPUTS(A(WEFT_BATCH, 16, 5, 4), A(33, 16, 1, 1)),
        OPTIONS(.strides = {2, 2})),
    CASE("1 by 1, zeros at the end of rows alone", conv, INPUTS(A(WEFT_BATCH, 8, 3, 4), A(9, 8, 1, 1), A(9)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings_after = {0, 1})),
    CASE("1 by 1, zeros at the end of columns alone", conv, INPUTS(A(2, 34, 3, 4), A(18, 17, 1, 1)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings_after = {2, 0}, .groups = 2)),
    CASE("1 tap, zeros at the end alone", conv, INPUTS(A(WEFT_BATCH, 32, 7), A(64, 8, 1)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings_after = {1}, .groups = 4)),
    CASE("1 by 1 by 1, zeros at the end alone", conv, INPUTS(A(2, 16, 2, 3, 2), A(5, 16, 1, 1, 1)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings_after = {1, 0, 2})),
    CASE("1 by 1, zeros at the start alone", conv, INPUTS(A(2, 16, 3, 4), A(9, 16, 1, 1)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings = {0, 1})),
    CASE("dilation 2", conv, INPUTS(A(2, 5, 9, 8), A(3, 5, 3, 2), A(3)),
        OPTIONS(.dilations = {2, 2}, .paddings = {2, 1})),
    CASE("dilation 2, stride 3", conv, INPUTS(A(2, 3, 13, 12), A(3, 3, 3, 3)),
        OPTIONS(.dilations = {2, 2}, .strides = {3, 3}, .paddings = {2, 2})),
    CASE("dilation 2, stride 2", conv, INPUTS(A(2, 3, 9, 10), A(3, 3, 3, 3)),
        OPTIONS(.dilations = {2, 2}, .strides = {2, 2}, .paddings = {1, 2})),
    CASE("uneven padding", conv, INPUTS(A(2, 3, 4, 5), A(3, 3, 3, 3)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings = {0, 2}, .paddings_after = {1, 0})),
    CASE("same", conv, INPUTS(A(2, 3, 7, 6), A(4, 3, 4, 3)),
        OPTIONS(.mode = WEFT_PADDING_SAME, .strides = {1, 2})),
    CASE("window larger than the image", conv, INPUTS(A(2, 3, 2, 1), A(4, 3, 5, 3)),
        OPTIONS(.paddings = {2, 1})),
    CASE("padding over the image", conv, INPUTS(A(1, 2, 1, 1), A(4, 2, 1, 1)), OPTIONS(.paddings = {2, 1})),
    CASE("groups of uneven size", conv, INPUTS(A(2, 6, 5, 4), A(15, 2, 3, 3), A(15)),
        OPTIONS(.groups = 3, .paddings = {1, 1})),
    CASE("groups of 17 and 33", conv, INPUTS(A(1, 34, 4, 4), A(66, 17, 3, 3)),
        OPTIONS(.groups = 2, .paddings = {1, 1})),
    CASE("3 by 3 of a pixel", conv, INPUTS(A(WEFT_BATCH, 16, 1, 1), A(16, 16, 3, 3)),
        OPTIONS(.paddings = {1, 1})),
    CASE("padding over the window", conv, INPUTS(A(1, 17, 6, 4), A(16, 17, 3, 3)),
        OPTIONS(.paddings = {3, 4})),
    CASE(
        "5 by 5", conv, INPUTS(A(WEFT_BATCH, 17, 6, 9), A(33, 17, 5, 5), A(33)), OPTIONS(.paddings = {2, 2})),
    CASE("5 by 5, no padding", conv, INPUTS(A(3, 3, 11, 8), A(16, 3, 5, 5))),
    CASE("5 by 5, uneven padding", conv, INPUTS(A(2, 16, 3, 5), A(18, 16, 5, 5)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings = {4, 1}, .paddings_after = {0, 3})),
    CASE("5 by 5, groups", conv, INPUTS(A(1, 34, 7, 5), A(40, 17, 5, 5)),
        OPTIONS(.groups = 2, .paddings = {2, 2})),
    CASE("3 by 5 of wide images", conv, INPUTS(A(1, 2, 6, 150), A(70, 2, 3, 5)), OPTIONS(.paddings = {1, 2})),
    CASE("1 by 5", conv, INPUTS(A(2, 20, 4, 13), A(8, 20, 1, 5)), OPTIONS(.paddings = {0, 2})),
    CASE("5 by 5 of a pixel", conv, INPUTS(A(WEFT_BATCH, 16, 1, 1), A(16, 16, 5, 5)),
        OPTIONS(.paddings = {2, 2})),
    CASE("depthwise", conv, INPUTS(A(WEFT_BATCH, 7, 5, 6), A(7, 1, 3, 3), A(7)),
        OPTIONS(.groups = 7, .paddings = {1, 1})),
    CASE("groups of 4 filters, 16 in all", conv, INPUTS(A(1, 8, 4, 5), A(16, 2, 3, 3), A(16)),
        OPTIONS(.groups = 4, .paddings = {1, 1})),
    CASE("one channel", conv, INPUTS(A(2, 1, 6, 16), A(1, 1, 3, 3)), OPTIONS(.paddings = {1, 1})),
    CASE("depthwise of 16", conv, INPUTS(A(1, 16, 5, 9), A(16, 1, 3, 3), A(16)),
        OPTIONS(.groups = 16, .paddings = {1, 1})),
    CASE("depthwise of 33, stride 2", conv, INPUTS(A(WEFT_BATCH, 33, 6, 17), A(33, 1, 3, 3)),
        OPTIONS(.groups = 33, .strides = {2, 2}, .paddings = {1, 1})),
    CASE("depthwise of 17, dilation 2", conv, INPUTS(A(1, 17, 7, 12), A(17, 1, 3, 3)),
        OPTIONS(.groups = 17, .dilations = {2, 2}, .paddings = {2, 2})),
    CASE("depthwise of 17, seven taps", conv, INPUTS(A(WEFT_BATCH, 17, 9, 10), A(17, 1, 7, 7)),
        OPTIONS(.groups = 17, .paddings = {3, 3})),
    CASE("depthwise of 16, five taps, stride 2", conv, INPUTS(A(2, 16, 8, 19), A(16, 1, 5, 5)),
        OPTIONS(.groups = 16, .strides = {2, 2}, .paddings = {2, 2})),
    CASE("depthwise of 18, four taps, unlike borders", conv, INPUTS(A(1, 18, 5, 13), A(18, 1, 2, 4)),
        OPTIONS(.groups = 18, .mode = WEFT_PADDING_EACH, .strides = {2, 1}, .paddings = {1, 0},
            .paddings_after = {0, 3})),
    CASE("depthwise of 17, nine taps, dilation 2", conv, INPUTS(A(1, 17, 3, 20), A(17, 1, 1, 9)),
        OPTIONS(.groups = 17, .dilations = {1, 2}, .paddings = {0, 8})),
    CASE("groups of 2", conv, INPUTS(A(WEFT_BATCH, 18, 5, 9), A(18, 2, 3, 3), A(18)),
        OPTIONS(.groups = 9, .paddings = {1, 1})),
    CASE("groups of 4, stride 2", conv, INPUTS(A(2, 20, 6, 17), A(20, 4, 3, 3)),
        OPTIONS(.groups = 5, .strides = {2, 2}, .paddings = {1, 1})),
    CASE("groups of 8, dilation 2", conv, INPUTS(A(1, 24, 7, 12), A(24, 8, 3, 3)),
        OPTIONS(.groups = 3, .dilations = {2, 2}, .paddings = {2, 2})),
    CASE("groups of 16, five taps", conv, INPUTS(A(1, 32, 5, 8), A(32, 16, 1, 5)),
        OPTIONS(.groups = 2, .paddings = {0, 2})),
    CASE("groups of 4, three axes", conv, INPUTS(A(1, 8, 3, 4, 5), A(8, 4, 2, 3, 2)),
        OPTIONS(.groups = 2, .strides = {1, 2, 3}, .paddings = {1, 1, 1})),
    CASE("depthwise of 5, three axes", conv, INPUTS(A(1, 5, 3, 4, 5), A(5, 1, 2, 3, 2)),
        OPTIONS(.groups = 5, .strides = {1, 2, 3}, .paddings = {1, 1, 1})),
    CASE("depthwise, two a channel", conv, INPUTS(A(2, 5, 5, 6), A(10, 1, 3, 3)),
        OPTIONS(.groups = 5, .strides = {2, 1})),
    CASE("many positions", conv, INPUTS(A(3, 4, 31, 29), A(5, 4, 3, 3)), OPTIONS(.paddings = {1, 1})),
    CASE("many steps", conv, INPUTS(A(1, 67, 5, 6), A(40, 67, 3, 3)), OPTIONS(.paddings = {1, 1})),
    CASE("one axis", conv, INPUTS(A(WEFT_BATCH, 5, 11), A(3, 5, 4), A(3)),
        OPTIONS(.strides = {2}, .paddings = {2})),
    CASE("three axes", conv, INPUTS(A(WEFT_BATCH, 3, 4, 5, 3), A(4, 3, 2, 3, 3), A(4)),
        OPTIONS(.strides = {1, 2, 1}, .paddings = {1, 1, 1})),
    CASE("strided image", conv,
        INPUTS(F32_VIEW(OP_SLICED, -1, 1, 2, 3, 4, 5), F32_VIEW(OP_REVERSED, -1, 1, 4, 3, 3, 2))),
};

static const op_case conv_transpose_cases[] = {
    CASE("1 of everything", conv_transpose, INPUTS(A(1, 1, 1, 1), A(1, 1, 1, 1), A(1))),
    CASE("stride 2, output padding", conv_transpose, INPUTS(A(WEFT_BATCH, 5, 4, 3), A(5, 17, 3, 3), A(17)),
        OPTIONS(.strides = {2, 2}, .paddings = {1, 1}, .output_paddings = {1, 0})),
    CASE("stride over the window", conv_transpose, INPUTS(A(2, 3, 4, 3), A(3, 4, 2, 1), A(4)),
        OPTIONS(.strides = {3, 2})),
    CASE("3 by 3", conv_transpose, INPUTS(A(2, 17, 5, 6), A(17, 16, 3, 3), A(16)),
        OPTIONS(.paddings = {1, 0})),
    CASE("5 by 5", conv_transpose, INPUTS(A(2, 17, 4, 6), A(17, 33, 5, 5), A(33)),
        OPTIONS(.paddings = {2, 1})),
    CASE("groups, dilation", conv_transpose, INPUTS(A(2, 6, 4, 4), A(6, 2, 3, 2), A(4)),
        OPTIONS(.groups = 2, .dilations = {2, 1}, .paddings = {1, 0})),
    CASE("padding each side", conv_transpose, INPUTS(A(2, 3, 4, 4), A(3, 2, 3, 3)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings = {0, 2}, .paddings_after = {1, 1}, .strides = {2, 1})),
    CASE("1 by 1, cut at the end alone", conv_transpose, INPUTS(A(WEFT_BATCH, 9, 3, 4), A(9, 16, 1, 1)),
        OPTIONS(.mode = WEFT_PADDING_EACH, .paddings_after = {0, 1})),
    CASE("1 by 1, output padding", conv_transpose, INPUTS(A(2, 9, 3, 4), A(9, 16, 1, 1)),
        OPTIONS(.dilations = {2, 2}, .output_paddings = {1, 0})),
    CASE("one axis", conv_transpose, INPUTS(A(WEFT_BATCH, 16, 5), A(16, 8, 4)),
        OPTIONS(.strides = {2}, .paddings = {1})),
    CASE("three axes", conv_transpose, INPUTS(A(1, 2, 3, 2, 3), A(2, 3, 2, 2, 3)),
        OPTIONS(.strides = {1, 2, 2})),
};

/* With one implementation forced (WEFT_CONV): the cases of stride 1 and windows of 3 and 5 alone, which
 * those are for. */
static bool is_for_forced(const op_case *c) {
    const weft_conv_options *const o = c->row;
    const int64_t *const dims = c->inputs[1].dims; /* of the weight */
    int rank = 0;
    while (dims[rank] != WEFT_END) rank++;
    if (dims[rank - 1] != 3 && dims[rank - 1] != 5) return false;
    for (int i = 0; o && i < rank - 2; i++)
        if (or_one(o->strides[i]) != 1 || or_one(o->dilations[i]) != 1) return false;
    return true;
}

int main(void) {
    static op_case chosen[2][64];
    _Static_assert(sizeof conv_cases / sizeof *conv_cases <= 64, "all cases have room");
    op_cases ops[] = {CONV_OPS(COVERED_CASES)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops && getenv("WEFT_CONV"); i++) {
        size_t count = 0;
        for (size_t k = 0; k < ops[i].count; k++)
            if (is_for_forced(&ops[i].cases[k])) chosen[i][count++] = ops[i].cases[k];
        ops[i].cases = chosen[i];
        ops[i].count = count;
    }
    return test_finish(op_suite_run("conv", ops, sizeof ops / sizeof ops[0]));
}
