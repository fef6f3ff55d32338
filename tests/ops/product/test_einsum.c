/* einsum against the sum that its letters say, over all values of all letters. */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>
#include <string.h>

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

/* Where the letters' values lie in an array whose axes they name. */
static size_t offset_of(const f64_array *a, const char *letters, const int64_t values[128]) {
    size_t at = 0;
    for (int axis = 0; axis < a->rank; axis++) {
        const int64_t value = a->dims[axis] == 1 ? 0 : values[(unsigned char)letters[axis]];
        at = at * (size_t)a->dims[axis] + (size_t)value;
    }
    return at;
}

static f64_array *reference_einsum(const op_case *c, const f64_array *const *inputs) {
    const char *const text = ((const equation *)c->row)->spelled, *const arrow = strstr(text, "->");
    const char *const comma = strchr(text, ',');
    const char *const letters[2] = {text, comma ? comma + 1 : NULL}, *const out = arrow + 2;
    int64_t sizes[128] = {0}, values[128] = {0}, dims[WEFT_MAX_RANK], total = 1;
    for (int i = 0; i < (comma ? 2 : 1); i++)
        for (int axis = 0; axis < inputs[i]->rank; axis++) {
            int64_t *const size = &sizes[(unsigned char)letters[i][axis]];
            *size = *size > inputs[i]->dims[axis] ? *size : inputs[i]->dims[axis];
        }
    for (int i = 0; out[i]; i++) dims[i] = sizes[(unsigned char)out[i]];
    f64_array *const y = f64_zeros((int)strlen(out), dims);
    for (int letter = 0; letter < 128; letter++) total *= sizes[letter] ? sizes[letter] : 1;
    const double terms = (double)total / (double)y->count, allowed = 1e-6 * (1 + log2(terms));
    for (int64_t n = 0; n < total; n++) {
        int64_t rest = n;
        for (int letter = 0; letter < 128; letter++) {
            if (!sizes[letter]) continue;
            values[letter] = rest % sizes[letter];
            rest /= sizes[letter];
        }
        double product = inputs[0]->value[offset_of(inputs[0], letters[0], values)];
        if (comma) product *= inputs[1]->value[offset_of(inputs[1], letters[1], values)];
        const size_t at = offset_of(y, out, values);
        y->value[at] += product;
        y->error[at] += allowed * fabs(product);
    }
    for (size_t i = 0; i < y->count; i++) y->error[i] += f64_ulp(y->value[i]);
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
    CASE("contracted 1 broadcast", einsum, INPUTS(X(3, 1), X(5, 4)), SAME("ij,jk->ik")),
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
