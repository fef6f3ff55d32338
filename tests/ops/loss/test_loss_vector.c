/* Losses of scores against 1 and -1, and of vectors. */
/* test slow */
/* test.{formats} format={} reduced */
#include "ops/loss/loss_reference.h"

#include "ops/covered_ops.h"
#include <math.h>

/* The targets of 1 and -1 are i32 here: as f32 inputs the suite would want their gradients across the jump.
 */
#define SIGNS(x) weft_cast(x, WEFT_F32)
LOSS(hinge, weft_hinge_loss(a, b, options), weft_hinge(a, b), f64_hinge(a, b))
LOSS(soft_margin, weft_soft_margin_loss(a, b, options), weft_soft_margin(a, b), f64_soft_margin(a, b))
LOSS(hinge_embedding, weft_hinge_embedding_loss(a, SIGNS(b), n, options),
    weft_hinge_embedding(a, SIGNS(b), n), f64_hinge_embedding(a, b, n))
LOSS(margin_ranking, weft_margin_ranking_loss(a, b, d, n, options), weft_margin_ranking(a, b, d, n),
    f64_margin_ranking(a, b, d, n))
LOSS(cosine_similarity, weft_cosine_similarity(a, b, c->axis, n),
    weft_cosine_similarity(a, b, c->axis, 1e-8f), f64_cosine_similarity(a, b, c->axis, setup->number))
LOSS(cosine_embedding, weft_cosine_embedding_loss(a, b, SIGNS(d), n, options),
    weft_cosine_embedding(a, b, SIGNS(d), n), f64_cosine_embedding(a, b, d, n))
LOSS(triplet_margin, weft_triplet_margin_loss(a, b, d, n, setup->p, setup->flag, options),
    weft_triplet_margin(a, b, d, n), f64_triplet_margin(a, b, d, n, setup->p, setup->flag))

static const loss_setup plain = {.reduction = WEFT_LOSS_MEAN}, none = {.reduction = WEFT_LOSS_NONE},
                        weighted = {.weighted = true}, margin = {.number = 1.5},
                        margin_none = {.number = 0.3, .reduction = WEFT_LOSS_NONE},
                        margin_weighted = {.number = 0.25, .reduction = WEFT_LOSS_SUM, .weighted = true},
                        norm_2 = {.number = 1, .p = 2}, norm_1 = {.number = 0.5, .p = 1},
                        swapped = {.number = 1,
                            .p = 2,
                            .flag = true,
                            .reduction = WEFT_LOSS_NONE,
                            .weighted = true},
                        bounds = {.reduction = WEFT_LOSS_NONE, .number = 2};

static const op_case hinge_cases[] = {
    CASE("mean", hinge, INPUTS(F32(-2, 2, WEFT_BATCH, 7), F32(-1, 1, WEFT_BATCH, 7)), SIMPLE),
    CASE("none", hinge, INPUTS(F32(-2, 2, 5, 7), F32_TIES(-1, 1, 5, 7)), .row = &none),
};
static const op_case soft_margin_cases[] = {
    CASE("mean", soft_margin, INPUTS(F32(-8, 8, WEFT_BATCH, 7), F32(-1, 1, WEFT_BATCH, 7)), SIMPLE),
    CASE("weighted", soft_margin, INPUTS(F32(-90, 90, 5, 7), F32_TIES(-1, 1, 5, 7), F32(0, 1, 5, 1)),
        .row = &weighted),
};
static const op_case hinge_embedding_cases[] = {
    CASE("mean", hinge_embedding, INPUTS(F32(0, 3, WEFT_BATCH, 7), I32(-1, 1, WEFT_BATCH, 7)), SIMPLE,
        .row = &margin),
    CASE("none", hinge_embedding, INPUTS(F32(0, 1, 17), I32(-1, 1, 17)), .row = &margin_none),
};
static const op_case margin_ranking_cases[] = {
    CASE("mean", margin_ranking,
        INPUTS(F32(-2, 2, WEFT_BATCH), F32(-2, 2, WEFT_BATCH), F32_TIES(-1, 1, WEFT_BATCH)), SIMPLE,
        .row = &margin),
    CASE("none", margin_ranking, INPUTS(F32(-2, 2, 5, 7), F32(-2, 2, 5, 7), F32_TIES(-1, 1, 5, 7)),
        .row = &margin_none),
};
static const op_case cosine_similarity_cases[] = {
    CASE("rows", cosine_similarity, INPUTS(F32(-2, 2, WEFT_BATCH, 17), F32(-2, 2, WEFT_BATCH, 17)), SIMPLE,
        .axis = -1, .row = &none),
    CASE("channels, broadcast", cosine_similarity,
        INPUTS(F32(-2, 2, WEFT_BATCH, 3, 5), F32_VIEW(OP_TRANSPOSED, -2, 2, 3, 5)), SIMPLE, .axis = 1,
        .row = &none),
    CASE("one vector", cosine_similarity, INPUTS(F32(-2, 2, 9), F32(-2, 2, 9)), SIMPLE, .axis = 0,
        .row = &none),
    CASE("length 1", cosine_similarity, INPUTS(F32(1, 2, 4, 1), F32(-2, -1, 4, 1)), SIMPLE, .axis = 1,
        .row = &none, .no_gradient = true /* it is 0, the difference of equal numbers */),
    CASE("bounded norms", cosine_similarity, INPUTS(F32(-0.1, 0.1, 6, 5), F32(-2, 2, 6, 5)), .axis = 1,
        .row = &bounds, .no_gradient = true /* a bounded norm is differentiated as if it were not */),
};
static const op_case cosine_embedding_cases[] = {
    CASE("mean", cosine_embedding,
        INPUTS(F32(-2, 2, WEFT_BATCH, 5), F32(-2, 2, WEFT_BATCH, 5), I32(-1, 1, WEFT_BATCH)), SIMPLE,
        .row = &plain),
    CASE("margin, none", cosine_embedding,
        INPUTS(F32(-1, 2, 17, 3), F32_VIEW(OP_TRANSPOSED, -1, 2, 17, 3), I32(-1, 1, 17)),
        .row = &margin_none),
    CASE("one pair", cosine_embedding,
        INPUTS(F32(-1, 2, 3), F32(-1, 2, 3), {WEFT_I32, OP_RANDOM, 1, 1, {WEFT_END}, OP_WHOLE}),
        .row = &margin_none),
    CASE("images, weighted, sum", cosine_embedding,
        INPUTS(F32(-1, 2, WEFT_BATCH, 4, 3), F32(-1, 2, WEFT_BATCH, 4, 3), I32(-1, 1, WEFT_BATCH, 4),
            F32(0, 1, 4)),
        .row = &margin_weighted),
};
static const op_case triplet_margin_cases[] = {
    CASE("mean", triplet_margin,
        INPUTS(F32(-1, 1, WEFT_BATCH, 5), F32(-1, 1, WEFT_BATCH, 5), F32(-1, 1, WEFT_BATCH, 5)), SIMPLE,
        .row = &norm_2),
    /* Apart from each other: in 16 bits some would be equal, where an absolute value has no slope. */
    CASE("1-norm", triplet_margin,
        INPUTS(F32(-1, 1, WEFT_BATCH, 5), F32(2, 3, WEFT_BATCH, 5), F32(-3, -2, WEFT_BATCH, 5)),
        .row = &norm_1),
    CASE("swap, weighted, none", triplet_margin,
        INPUTS(F32(-1, 1, 9, 4), F32(-1, 1, 9, 4), F32(-1, 1, 9, 4), F32(-1, 1, 9)), .row = &swapped),
    CASE("one triplet", triplet_margin, INPUTS(F32(-1, 1, 3), F32(-1, 1, 3), F32(-1, 1, 3)), .row = &norm_2),
};

/* ---- corners ---- */

static void test_corners(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const weft_loss_options each = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE};
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){4});
    weft_tensor *const t = weft_input_shape(graph, "t", WEFT_F32, 1, (const int64_t[]){4});
    weft_tensor *const a = weft_input_shape(graph, "a", WEFT_F32, 2, (const int64_t[]){2, 3});
    weft_tensor *const b = weft_input_shape(graph, "b", WEFT_F32, 2, (const int64_t[]){2, 3});
    weft_tensor *const zeros = weft_expand(weft_number(x, 0), 1, (const int64_t[]){4});
    weft_tensor *const far = weft_expand(weft_number(x, 1), 2, (const int64_t[]){2, 3});
    weft_tensor *const values[] = {weft_soft_margin_loss(x, t, &each),
        weft_margin_ranking_loss(x, zeros, t, 1, &each), weft_cosine_similarity(a, b, 1, 1e-8f),
        weft_triplet_margin_loss(a, a, far, 1e-6f, 2, false, &each)};
    weft_tensor *const outputs[] = {values[0], weft_gradient(weft_sum(values[0]), x), values[1],
        weft_gradient(weft_sum(values[1]), x), values[2], weft_gradient(weft_sum(values[2]), a), values[3],
        weft_gradient(weft_sum(values[3]), a)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 8, NULL));
    assert_weft_ok(weft_plan_write(plan, x, (const float[]){1e4f, 1e4f, -1, 1}, 4 * sizeof(float)));
    assert_weft_ok(weft_plan_write(plan, t, (const float[]){-1, 1, -1, 1}, 4 * sizeof(float)));
    assert_weft_ok(weft_plan_write(plan, a, (const float[]){0, 0, 0, 1e-9f, 0, 0}, 6 * sizeof(float)));
    assert_weft_ok(weft_plan_write(plan, b, (const float[]){1, 1, 1, 1, 1, 1}, 6 * sizeof(float)));
    assert_weft_ok(weft_plan_run(plan));
    /* PyTorch 2.15's, but for the soft margins of large scores, where its own overflow; 1 is where hinges bend. */
    static const float wanted[8][6] = {{1e4f, 0, 0.313261688f, 0.313261688f},
        {1, 0, 0.268941421f, -0.268941421f}, {10001, 0, 0, 0}, {1, 0, 0, 0}, {0, 0.0577350269f},
        {57735028, 57735028, 57735028, 51961524, 57735028, 57735028}, {0, 0}, {0, 0, 0, 0, 0, 0}};
    static const size_t counts[8] = {4, 4, 4, 4, 2, 6, 2, 6};
    for (size_t i = 0; i < 8; i++) {
        float got[6];
        assert_weft_ok(weft_plan_read(plan, outputs[i], got, counts[i] * sizeof(float)));
        for (size_t k = 0; k < counts[i]; k++)
            if (!(fabsf(got[k] - wanted[i][k]) <= 1e-6f * fabsf(wanted[i][k])))
                fail_msg("output %zu, element %zu: %.9g instead of %.9g", i, k, (double)got[k],
                    (double)wanted[i][k]);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {LOSS_VECTOR_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corners)};
    return test_finish(op_suite_run("losses of vectors", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("losses of vectors, corners", tests, NULL, NULL));
}
