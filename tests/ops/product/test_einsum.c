/* einsum against the sum that its letters say, over all values of all letters. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
#include "oracle/reference_einsum.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

#define X(...)   F32(-2, 2, __VA_ARGS__)
#define X_T(...) F32_VIEW(OP_TRANSPOSED, -2, 2, __VA_ARGS__)

/* What a case computes: as the library is asked, and written out with letters alone. */
typedef struct equation {
    const char *asked, *spelled;
} equation;
#define EQUATION(asked, spelled)                                                                             \
    .row = &(const equation) {                                                                               \
        asked, spelled                                                                                       \
    }
#define SAME(asked) EQUATION(asked, asked)

static weft_tensor *build_einsum(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_einsum(((const equation *)c->row)->asked, inputs[0], inputs[1]);
}

/* The reference reads what was asked as what is spelled. */
static f64_array *reference_einsum(const op_case *c, const f64_array *const *inputs) {
    const equation *const e = c->row;
    f64_array *const y = f64_einsum(e->spelled, inputs[0], inputs[1]);
    const f64_array *const asked = f64_einsum(e->asked, inputs[0], inputs[1]);
    assert_int_equal(asked->rank, y->rank);
    assert_memory_equal(asked->dims, y->dims, (size_t)y->rank * sizeof *y->dims);
    for (size_t i = 0; i < y->count; i++)
        assert_true(fabs(asked->value[i] - y->value[i]) <= 1e-12 + 1e-9 * y->error[i]);
    return y;
}

static const op_case einsum_cases[] = {
    CASE("product", einsum, INPUTS(X(3, 5), X(5, 4)), SAME("ij,jk->ik")),
    CASE("product, implicit", einsum, INPUTS(X(3, 5), X(5, 4)), EQUATION("ij,jk", "ij,jk->ik")),
    CASE("implicit, sorted", einsum, INPUTS(X(3, 5), X(5, 4)), EQUATION("zj,ja", "zj,ja->az")),
    CASE("implicit, capitals first", einsum, INPUTS(X(3, 5), X(5, 4)), EQUATION("bj,jB", "bj,jB->Bb")),
    CASE("product, transposed", einsum, INPUTS(X(3, 17), X(17, 20)), SAME("ij,jk->ki")),
    CASE("both transposed", einsum, INPUTS(X(5, 3), X(4, 5)), SAME("ji,kj->ik")),
    CASE("spaces", einsum, INPUTS(X(3, 5), X(5, 4)), EQUATION(" i j , jk -> ki ", "ij,jk->ki")),
    CASE("batches of products", einsum, INPUTS(X(WEFT_BATCH, 3, 5), X(WEFT_BATCH, 5, 4)),
        SAME("bij,bjk->bik")),
    CASE("heads", einsum, INPUTS(X(WEFT_BATCH, 4, 2, 5), X(WEFT_BATCH, 6, 2, 5)), SAME("bqhd,bkhd->bhqk")),
    CASE("heads, back", einsum, INPUTS(X(WEFT_BATCH, 2, 4, 6), X(WEFT_BATCH, 6, 2, 5)),
        SAME("bhqk,bkhd->bqhd")),
    CASE("linear", einsum, INPUTS(X(WEFT_BATCH, 3, 5), X(4, 5)), SAME("bti,oi->bto")),
    CASE("two contracted", einsum, INPUTS(X(3, 4, 5), X(5, 4, 2)), SAME("abc,cbd->da")),
    CASE("outer", einsum, INPUTS(X(3), X(17)), SAME("i,j->ij")),
    CASE("outer, turned", einsum, INPUTS(X(3, 2), X(4)), SAME("ia,j->jai")),
    CASE("dot", einsum, INPUTS(X(17), X(17)), SAME("i,i->")),
    CASE("dots of rows", einsum, INPUTS(X(WEFT_BATCH, 7), X(WEFT_BATCH, 7)), SAME("bi,bi->b")),
    CASE("matrix and vector", einsum, INPUTS(X(3, 5), X(5)), SAME("ij,j->i")),
    CASE("elementwise", einsum, INPUTS(X(3, 5), X_T(3, 5)), SAME("ij,ij->ij")),
    CASE("elementwise, transposed", einsum, INPUTS(X(3, 5), X(5, 3)), SAME("ij,ji->ji")),
    CASE("all summed", einsum, INPUTS(X(3, 5), X(4)), SAME("ij,k->")),
    CASE("summed in the first", einsum, INPUTS(X(3, 5, 2), X(5, 4)), SAME("ijs,jk->ik"), .roundings = 4),
    CASE("summed in the second", einsum, INPUTS(X(3, 5), X(5, 4, 2)), SAME("ij,jks->ik"), .roundings = 4),
    CASE("scalar", einsum, INPUTS(F32_NUMBER(-2, 2), X(3, 5)), SAME(",ij->ji")),
    CASE("sizes of 1", einsum, INPUTS(X(1, 5), X(5, 4)), SAME("ij,jk->ik")),
    CASE("contracted 1 broadcast", einsum, INPUTS(X(3, 1), X(5, 4)), SAME("ij,jk->ik"), .roundings = 4),
    CASE("batch 1 broadcast", einsum, INPUTS(X(1, 3, 5), X(2, 5, 4)), SAME("bij,bjk->bik")),
    CASE("ellipsis", einsum, INPUTS(X(2, 1, 3, 5), X(4, 5, 6)),
        EQUATION("...ij,...jk->...ik", "xyij,yjk->xyik")),
    CASE("ellipsis, implicit", einsum, INPUTS(X(2, 3, 5), X(5, 6)), EQUATION("...ij,jk", "xij,jk->xik")),
    CASE("ellipsis last", einsum, INPUTS(X(3, 2, 4), X(5, 3)), EQUATION("i...,ki->k...", "ixy,ki->kxy")),
    CASE("ellipsis summed", einsum, INPUTS(X(2, 3, 5), X(5, 6)), EQUATION("...ij,jk->ik", "xij,jk->ik"),
        .roundings = 4),
    CASE(
        "ellipsis of nothing", einsum, INPUTS(X(3, 5), X(5, 6)), EQUATION("...ij,...jk->...ik", "ij,jk->ik")),
    CASE("ellipsis of the batch", einsum, INPUTS(X(WEFT_BATCH, 3, 5), X(5, 6)),
        EQUATION("...i,ij", "xyi,ij->xyj")),
    CASE("diagonal in a product", einsum, INPUTS(X(5, 5), X(5, 4)), SAME("ii,ij->ij")),
    CASE("trace of a product", einsum, INPUTS(X(3, 5), X(5, 3)), SAME("ij,ji->")),
    CASE("one: transposed", einsum, INPUTS(X(3, 5)), SAME("ij->ji")),
    CASE("one: sum", einsum, INPUTS(X(WEFT_BATCH, 5, 4)), SAME("bij->bj")),
    CASE("one: all", einsum, INPUTS(X(3, 5)), SAME("ij->")),
    CASE("one: trace", einsum, INPUTS(X(5, 5)), EQUATION("ii", "ii->")),
    CASE("one: diagonal", einsum, INPUTS(X(WEFT_BATCH, 5, 5)), SAME("bii->ib")),
    CASE("one: a cube's diagonal", einsum, INPUTS(X(4, 2, 4, 4)), SAME("iaii->ai")),
    CASE("one: two diagonals", einsum, INPUTS(X(4, 3, 4, 3)), SAME("ijij->ji")),
    CASE("one: ellipsis", einsum, INPUTS(X(2, 3, 5)), EQUATION("...ij->...ji", "xij->xji")),
};

int main(void) {
    static const op_cases ops[] = {EINSUM_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("einsum", ops, sizeof ops / sizeof ops[0]));
}
