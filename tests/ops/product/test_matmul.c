/* Products of matrices: sizes around the tiles of the kernels, batches, any transposition; linear. */
/* test slow gpu:optimised */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.{cpu_small,cpu_thin,cpu_block,cpu_direct,naive}.bf16 format=bf16 WEFT_GEMM={} */
/* test.{cpu_small,cpu_thin,cpu_block,cpu_direct,naive}.f16 format=f16 WEFT_GEMM={} */
/* test.cpu_block WEFT_GEMM=cpu_block slow */
/* test.six WEFT_GEMM=cpu_amx_parts WEFT_MATRIX_ENGINES=model reduced slow */
/* test.six.gpu WEFT_GEMM=gpu_mma_parts WEFT_MATRIX_ENGINES=model reduced optimised keep_freed */
/* test.{least,processor} device={} reduced short_launches */
#include "oracle/reference_product.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"

static weft_tensor *build_matmul(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_matmul(inputs[0], inputs[1]);
}
static f64_array *reference_matmul(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_matmul(inputs[0], inputs[1]);
}

#define A(...)   F32(-2, 2, __VA_ARGS__)
#define A_T(...) F32_VIEW(OP_TRANSPOSED, -2, 2, __VA_ARGS__)
#define A_S(...) F32_VIEW(OP_SLICED, -2, 2, __VA_ARGS__)
#define A_R(...) F32_VIEW(OP_REVERSED, -2, 2, __VA_ARGS__)

static const op_case matmul_cases[] = {
    CASE("1·1·1", matmul, INPUTS(A(1, 1), A(1, 1))),
    CASE("3·5·4", matmul, INPUTS(A(3, 5), A(5, 4))),
    CASE("1·17·33", matmul, INPUTS(A(1, 17), A(17, 33))),
    CASE("33·17·1", matmul, INPUTS(A(33, 17), A(17, 1))),
    CASE("16·1·16", matmul, INPUTS(A(16, 1), A(1, 16))),
    CASE("12·16·32", matmul, INPUTS(A(12, 16), A(16, 32))),
    CASE("13·15·33", matmul, INPUTS(A(13, 15), A(15, 33))),
    CASE("65·31·63", matmul, INPUTS(A(65, 31), A(31, 63))),
    CASE("7·1000·5", matmul, INPUTS(A(7, 1000), A(1000, 5))),
    CASE("129·130·67", matmul, INPUTS(A(129, 130), A(130, 67))),
    CASE("few rows, many columns", matmul, INPUTS(A(40, 70), A(70, 1056))),
    CASE("batch rows", matmul, INPUTS(A(WEFT_BATCH, 17), A(17, 10))),
    CASE("inner batch", matmul, INPUTS(A_T(5, WEFT_BATCH), A(WEFT_BATCH, 6))),
    CASE("left transposed", matmul, INPUTS(A_T(13, 15), A(15, 33))),
    CASE("right transposed", matmul, INPUTS(A(13, 15), A_T(15, 33))),
    CASE("both transposed", matmul, INPUTS(A_T(13, 15), A_T(15, 33))),
    CASE("sliced", matmul, INPUTS(A_S(6, 9), A_S(9, 17))),
    CASE("a vector's outer product", matmul, INPUTS(A_T(4, 1), A_T(1, 4))),
    CASE("batched", matmul, INPUTS(A(3, 4, 5), A(3, 5, 6))),
    CASE("batched over the batch", matmul, INPUTS(A(WEFT_BATCH, 4, 5), A(WEFT_BATCH, 5, 3))),
    CASE("batched, one right", matmul, INPUTS(A(WEFT_BATCH, 4, 5), A(5, 3))),
    CASE("leading axes, one right", matmul, INPUTS(A(2, WEFT_BATCH, 3, 17), A(17, 33))),
    CASE("leading axes, transposed, one right", matmul, INPUTS(A_T(WEFT_BATCH, 3, 17), A_T(17, 5))),
    CASE("few rows transposed, many columns", matmul, INPUTS(A_T(WEFT_BATCH, 2, 33), A(33, 40))),
    CASE("sliced, one right", matmul, INPUTS(A_S(WEFT_BATCH, 3, 4, 6), A(1, 6, 5))),
    CASE("batched, one left", matmul, INPUTS(A(4, 5), A(3, 5, 6))),
    CASE("both broadcast", matmul, INPUTS(A(2, 1, 4, 5), A(3, 5, 6))),
    CASE("batched, transposed", matmul, INPUTS(A_T(3, 4, 5), A_T(3, 5, 6))),
    CASE("reversed", matmul, INPUTS(A_R(3, 4, 5), A_R(3, 5, 6))),
    CASE("rank 5", matmul, INPUTS(A(2, 1, 2, 3, 4), A(1, 3, 2, 4, 5))),
    CASE("both broadcast, crosswise", matmul, INPUTS(A(3, 1, 2, 4, 5), A(1, 4, 1, 5, 6))),
    CASE("left broadcast, transposed", matmul, INPUTS(A_T(1, 3, 17), A_T(WEFT_BATCH, 17, 5))),
    CASE("batch in the middle", matmul, INPUTS(A(2, WEFT_BATCH, 3, 4), A(WEFT_BATCH, 4, 5))),
    CASE("broadcast column", matmul, INPUTS(A(3, 4, 1), A(1, 5))),
    CASE("reversed, broadcast", matmul, INPUTS(A_R(2, 3, 4, 5), A(3, 5, 6))),
    CASE("rank 8", matmul, INPUTS(A(2, 1, 1, 2, 1, 1, 3, 4), A(1, 2, 1, 1, 2, 1, 4, 2))),
};

/* ---- linear: x·weightᵀ + bias ---- */

static weft_tensor *build_linear(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_linear_with(inputs[0], inputs[1], inputs[2]);
}
static f64_array *reference_linear(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_linear(inputs[0], inputs[1], inputs[2]);
}

#define PARAMETER(...) F32_PARAMETER(-1, 1, __VA_ARGS__)
static const op_case linear_cases[] = {
    CASE("3·5·4", linear, INPUTS(A(3, 5), A(4, 5), A(4))),
    CASE("without bias", linear, INPUTS(A(3, 5), A(4, 5))),
    CASE("batch, parameters", linear, INPUTS(A(WEFT_BATCH, 33), PARAMETER(10, 33), PARAMETER(10))),
    CASE("rank 3", linear, INPUTS(A(WEFT_BATCH, 3, 17), PARAMETER(9, 17), PARAMETER(9))),
    CASE("few rows, many units", linear, INPUTS(A(20, 270), PARAMETER(560, 270), PARAMETER(560))),
    CASE("one unit", linear, INPUTS(A(WEFT_BATCH, 5), PARAMETER(1, 5), PARAMETER(1))),
    CASE("strided input", linear, INPUTS(A_S(6, 16), PARAMETER(33, 16), PARAMETER(33))),
};

/* ---- vectors ---- */

static weft_tensor *build_outer(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_outer(inputs[0], inputs[1]);
}
static f64_array *reference_outer(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_outer(inputs[0], inputs[1]);
}
static const op_case outer_cases[] = {
    CASE("1·1", outer, INPUTS(A(1), A(1))),
    CASE("5·17", outer, INPUTS(A(5), A(17))),
    CASE("batch", outer, INPUTS(A(WEFT_BATCH), A(3))),
    CASE("i32", outer, INPUTS(I32(-9, 9, 3), I32(-9, 9, 20)), .no_gradient = true),
};

static weft_tensor *build_dot(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_dot(inputs[0], inputs[1]);
}
static f64_array *reference_dot(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_dot(inputs[0], inputs[1]);
}
static const op_case dot_cases[] = {
    CASE("1", dot, INPUTS(A(1), A(1))),
    CASE("33", dot, INPUTS(A(33), A(33))),
    CASE("batch", dot, INPUTS(A(WEFT_BATCH), A(WEFT_BATCH))),
};

static weft_tensor *build_mv(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_mv(inputs[0], inputs[1]);
}
static f64_array *reference_mv(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_mv(inputs[0], inputs[1]);
}
static const op_case mv_cases[] = {
    CASE("5·17", mv, INPUTS(A(5, 17), A(17))),
    CASE("transposed", mv, INPUTS(A_T(5, 17), A(17))),
    CASE("1·1", mv, INPUTS(A(1, 1), A(1))),
    CASE("batched", mv, INPUTS(A(WEFT_BATCH, 3, 4), A(4))),
};

/* ---- bilinear ---- */

static weft_tensor *build_bilinear(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_bilinear_with(inputs[0], inputs[1], inputs[2], inputs[3]);
}
static f64_array *reference_bilinear(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_bilinear(inputs[0], inputs[1], inputs[2], inputs[3]);
}
static const op_case bilinear_cases[] = {
    CASE("batch, parameters", bilinear,
        INPUTS(A(WEFT_BATCH, 5), A(WEFT_BATCH, 7), PARAMETER(3, 5, 7), PARAMETER(3)), .roundings = 4),
    CASE("without bias", bilinear, INPUTS(A(4, 3), A(4, 6), A(9, 3, 6)), .roundings = 4),
    CASE("one unit, one input", bilinear, INPUTS(A(4, 1), A(4, 1), A(1, 1, 1), A(1)), .roundings = 4),
    CASE("vectors", bilinear, INPUTS(A(3), A(6), A(9, 3, 6), A(9)), .roundings = 4),
    CASE("rank 3, strided", bilinear, INPUTS(A_T(WEFT_BATCH, 2, 5), A_S(WEFT_BATCH, 2, 3), A(4, 5, 3), A(4)),
        .roundings = 4),
};

int main(void) {
    static const op_cases ops[] = {MATMUL_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("matmul", ops, sizeof ops / sizeof ops[0]));
}
