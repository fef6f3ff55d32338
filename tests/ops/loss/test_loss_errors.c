/* Every wrong use of a loss is the graph's first error, in one line that names the loss and what is wrong. */
#include "support/fixture.h"

#include <math.h>

/* The tensors that the bad uses below are made of. */
typedef struct things {
    weft_graph *graph;
    weft_tensor *x;      /* f32 (batch, 3) */
    weft_tensor *row;    /* f32 (5) */
    weft_tensor *three;  /* f32 (3) */
    weft_tensor *number; /* f32 () */
    weft_tensor *labels; /* i32 (batch) */
    weft_tensor *whole;  /* i32 (batch, 3) */
} things;

static weft_tensor *input(weft_graph *graph, weft_dtype dtype, int rank, int64_t first, int64_t second) {
    return weft_input_shape(graph, "input", dtype, rank, (const int64_t[]){first, second});
}

static things make_things(void) {
    weft_graph *const g = test_graph();
    const things t = {g, input(g, WEFT_F32, 2, WEFT_BATCH, 3), input(g, WEFT_F32, 1, 5, 0),
        input(g, WEFT_F32, 1, 3, 0), input(g, WEFT_F32, 0, 0, 0), input(g, WEFT_I32, 1, WEFT_BATCH, 0),
        input(g, WEFT_I32, 2, WEFT_BATCH, 3)};
    assert_weft_ok(weft_graph_status(g));
    return t;
}

#define OPTIONS(...)                                                                                         \
    &(const weft_loss_options) {                                                                             \
        WEFT_LOSS_OPTIONS_INIT, __VA_ARGS__                                                                  \
    }
#define CLASSES(...)                                                                                         \
    &(const weft_class_loss_options) {                                                                       \
        WEFT_CLASS_LOSS_OPTIONS_INIT, __VA_ARGS__                                                            \
    }
#define SMALL                                                                                                \
    &(const weft_loss_options) {                                                                             \
        .struct_size = 1                                                                                     \
    }
#define SMALL_CLASS                                                                                          \
    &(const weft_class_loss_options) {                                                                       \
        .struct_size = 1                                                                                     \
    }
#define ODD (weft_loss_reduction)4

/* ROW(name, expression over t, status, texts of the line...): each is a test. */
#define SHAPES(ROW)                                                                                          \
    ROW(mse, weft_mse(t.x, t.row), SHAPE, "mse", "(batch, 3)", "(5)")                                        \
    ROW(l1, weft_l1(t.x, t.row), SHAPE, "l1", "(batch, 3)", "(5)")                                           \
    ROW(huber, weft_huber(t.x, t.row, 1), SHAPE, "huber", "(batch, 3)", "(5)")                               \
    ROW(smooth_l1, weft_smooth_l1(t.x, t.row, 1), SHAPE, "smooth_l1", "(batch, 3)", "(5)")                   \
    ROW(poisson, weft_poisson_nll(t.x, t.row), SHAPE, "poisson_nll", "(batch, 3)", "(5)")                    \
    ROW(gauss_target, weft_gaussian_nll(t.x, t.three, t.x), SHAPE, "gaussian_nll", "(batch, 3)", "(3)")      \
    ROW(gauss_variance, weft_gaussian_nll(t.x, t.x, t.three), SHAPE, "gaussian_nll", "(3)", "(batch, 3)")    \
    ROW(gauss_number, weft_gaussian_nll(t.x, t.x, t.number), SHAPE, "gaussian_nll", "()", "(batch, 3)")      \
    ROW(bce, weft_bce(t.x, t.three), SHAPE, "bce", "(batch, 3)", "(3)")                                      \
    ROW(logits, weft_bce_with_logits(t.x, t.three), SHAPE, "bce_with_logits", "(batch, 3)", "(3)")           \
    ROW(logits_weight, weft_bce_with_logits_loss(t.x, t.x, t.row, NULL), SHAPE, "bce_with_logits", "(5)")    \
    ROW(logits_wider, weft_bce_with_logits_loss(t.three, t.three, t.x, NULL), SHAPE, "positive weight",      \
        "(batch, 3)", "(3)")                                                                                 \
    ROW(kl_div, weft_kl_div(t.x, t.row), SHAPE, "kl_div", "(batch, 3)", "(5)")                               \
    ROW(cross_entropy, weft_cross_entropy(t.row, t.labels), SHAPE, "cross_entropy", "(5)", "(batch)")        \
    ROW(cross_entropy_whole, weft_cross_entropy(t.x, t.whole), SHAPE, "cross_entropy", "(batch, 3)")         \
    ROW(cross_entropy_number, weft_cross_entropy(t.number, t.labels), SHAPE, "cross_entropy", "()")          \
    ROW(cross_entropy_dense, weft_cross_entropy(t.x, t.three), SHAPE, "cross_entropy", "(batch, 3)", "(3)")  \
    ROW(cross_entropy_batch, weft_cross_entropy(input(t.graph, WEFT_F32, 1, WEFT_BATCH, 0), t.labels),       \
        SHAPE, "cross_entropy", "classes", "(batch)")                                                        \
    ROW(class_weights, weft_cross_entropy_loss(t.x, t.labels, CLASSES(.class_weights = t.row)), SHAPE,       \
        "cross_entropy", "class weights are (5)", "(3)")                                                     \
    ROW(nll, weft_nll(t.x, t.whole), SHAPE, "nll", "(batch, 3)")                                             \
    ROW(nll_weights, weft_nll_loss(t.x, t.labels, CLASSES(.class_weights = t.x)), SHAPE, "nll", "(3)")       \
    ROW(multi_margin, weft_multi_margin(t.x, t.whole, 1), SHAPE, "multi_margin", "(batch, 3)")               \
    ROW(hinge, weft_hinge(t.x, t.row), SHAPE, "hinge", "(batch, 3)", "(5)")                                  \
    ROW(soft_margin, weft_soft_margin(t.x, t.row), SHAPE, "soft_margin", "(batch, 3)", "(5)")                \
    ROW(hinge_embedding, weft_hinge_embedding(t.x, t.row, 1), SHAPE, "hinge_embedding", "(5)")               \
    ROW(margin_ranking, weft_margin_ranking(t.x, t.x, t.row, 1), SHAPE, "margin_ranking", "(5)")             \
    ROW(cosine, weft_cosine_similarity(t.x, t.row, 1, 0), SHAPE, "cosine_similarity", "(5)")                 \
    ROW(cosine_axis, weft_cosine_similarity(t.x, t.x, 2, 0), SHAPE, "cosine_similarity", "2", "(batch, 3)")  \
    ROW(cosine_number, weft_cosine_similarity(t.number, t.number, 0, 0), SHAPE, "cosine_similarity", "()")   \
    ROW(embedding, weft_cosine_embedding(t.x, t.three, t.number, 0), SHAPE, "cosine_embedding", "(3)")       \
    ROW(embedding_number, weft_cosine_embedding(t.number, t.number, t.number, 0), SHAPE, "cosine_embedding") \
    ROW(embedding_targets, weft_cosine_embedding(t.x, t.x, t.x, 0), SHAPE, "cosine_embedding", "targets",    \
        "(batch, 3)", "(batch)")                                                                             \
    ROW(triplet, weft_triplet_margin(t.x, t.x, t.row, 1), SHAPE, "triplet_margin", "(5)")                    \
    ROW(triplet_number, weft_triplet_margin(t.number, t.number, t.number, 1), SHAPE, "triplet_margin", "()") \
    ROW(weights, weft_l1_loss(t.x, t.x, OPTIONS(.weights = t.row)), SHAPE, "l1", "weights (5)",              \
        "(batch, 3)")                                                                                        \
    ROW(weights_wider, weft_l1_loss(t.three, t.three, OPTIONS(.weights = t.x)), SHAPE, "l1", "(3)")          \
    ROW(weights_kept, weft_triplet_margin_loss(t.x, t.x, t.x, 1, 2, false, OPTIONS(.weights = t.x)), SHAPE,  \
        "triplet_margin", "weights (batch, 3)", "(batch)")

#define DTYPES(ROW)                                                                                          \
    ROW(mse_dtype, weft_mse(t.x, t.whole), DTYPE, "mse", "input 1 is i32")                                   \
    ROW(bce_dtype, weft_bce(t.whole, t.x), DTYPE, "bce", "input 0 is i32")                                   \
    ROW(logits_dtype, weft_bce_with_logits_loss(t.x, t.x, t.whole, NULL), DTYPE, "input 2 is i32")           \
    ROW(nll_dtype, weft_nll(t.x, t.x), DTYPE, "nll", "(f32, f32)")                                           \
    ROW(margin_dtype, weft_multi_margin(t.x, t.x, 1), DTYPE, "multi_margin", "(f32, f32)")                   \
    ROW(entropy_dtype, weft_cross_entropy(t.whole, t.labels), DTYPE, "cross_entropy", "(i32, i32)")          \
    ROW(class_weights_dtype, weft_nll_loss(t.x, t.labels, CLASSES(.class_weights = t.labels)), DTYPE, "nll", \
        "i32")                                                                                               \
    ROW(weights_dtype, weft_l1_loss(t.x, t.x, OPTIONS(.weights = t.whole)), DTYPE, "l1", "weights", "i32")   \
    ROW(hinge_dtype, weft_hinge(t.x, t.whole), DTYPE, "hinge", "i32")                                        \
    ROW(cosine_dtype, weft_cosine_similarity(t.whole, t.x, 1, 0), DTYPE, "cosine_similarity", "i32")         \
    ROW(triplet_dtype, weft_triplet_margin(t.x, t.x, t.whole, 1), DTYPE, "triplet_margin", "input 2")

#define ARGUMENTS(ROW)                                                                                       \
    ROW(delta_zero, weft_huber(t.x, t.x, 0), ARGUMENT, "huber", "delta = 0")                                 \
    ROW(delta_negative, weft_huber(t.x, t.x, -1), ARGUMENT, "huber", "delta = -1")                           \
    ROW(delta_nan, weft_huber(t.x, t.x, NAN), ARGUMENT, "huber", "delta")                                    \
    ROW(delta_infinite, weft_huber(t.x, t.x, INFINITY), ARGUMENT, "huber", "inf")                            \
    ROW(beta_negative, weft_smooth_l1(t.x, t.x, -1), ARGUMENT, "smooth_l1", "beta = -1")                     \
    ROW(beta_nan, weft_smooth_l1(t.x, t.x, NAN), ARGUMENT, "smooth_l1", "beta")                              \
    ROW(smoothing_low, weft_cross_entropy_loss(t.x, t.labels, CLASSES(.label_smoothing = -0.1f)), ARGUMENT,  \
        "cross_entropy", "label_smoothing", "[0, 1]")                                                        \
    ROW(smoothing_high, weft_cross_entropy_loss(t.x, t.labels, CLASSES(.label_smoothing = 1.1f)), ARGUMENT,  \
        "cross_entropy", "1.1")                                                                              \
    ROW(smoothing_nan, weft_cross_entropy_loss(t.x, t.labels, CLASSES(.label_smoothing = NAN)), ARGUMENT,    \
        "label_smoothing")                                                                                   \
    ROW(dense_ignore, weft_cross_entropy_loss(t.x, t.x, CLASSES(.ignore = true)), ARGUMENT, "cross_entropy", \
        "ignored label")                                                                                     \
    ROW(nll_smoothing, weft_nll_loss(t.x, t.labels, CLASSES(.label_smoothing = 0.1f)), ARGUMENT, "nll",      \
        "label_smoothing")                                                                                   \
    ROW(margin_smoothing, weft_multi_margin_loss(t.x, t.labels, 1, 1, CLASSES(.label_smoothing = 0.1f)),     \
        ARGUMENT, "multi_margin", "label_smoothing")                                                         \
    ROW(margin_ignore, weft_multi_margin_loss(t.x, t.labels, 1, 1, CLASSES(.ignore = true)), ARGUMENT,       \
        "multi_margin", "ignored label")                                                                     \
    ROW(margin_p, weft_multi_margin_loss(t.x, t.labels, 1, 3, NULL), ARGUMENT, "multi_margin", "p = 3")      \
    ROW(margin_nan, weft_multi_margin(t.x, t.labels, NAN), ARGUMENT, "multi_margin", "margin")               \
    ROW(ranking_nan, weft_margin_ranking(t.x, t.x, t.x, NAN), ARGUMENT, "margin_ranking", "margin")          \
    ROW(hinge_infinite, weft_hinge_embedding(t.x, t.x, INFINITY), ARGUMENT, "hinge_embedding", "inf")        \
    ROW(embedding_nan, weft_cosine_embedding(t.three, t.three, t.number, NAN), ARGUMENT, "margin")           \
    ROW(triplet_p, weft_triplet_margin_loss(t.x, t.x, t.x, 1, 0, false, NULL), ARGUMENT, "triplet_margin",   \
        "p = 0")                                                                                             \
    ROW(triplet_margin, weft_triplet_margin(t.x, t.x, t.x, NAN), ARGUMENT, "triplet_margin", "margin")       \
    ROW(epsilon_negative, weft_cosine_similarity(t.x, t.x, 1, -1), ARGUMENT, "cosine_similarity", "epsilon") \
    ROW(reduction, weft_l1_loss(t.x, t.x, OPTIONS(.reduction = ODD)), ARGUMENT, "l1", "4")                   \
    ROW(class_reduction, weft_nll_loss(t.x, t.labels, CLASSES(.reduction = ODD)), ARGUMENT, "nll", "4")      \
    ROW(size, weft_l1_loss(t.x, t.x, SMALL), ARGUMENT, "l1", "WEFT_LOSS_OPTIONS_INIT")                       \
    ROW(class_size, weft_nll_loss(t.x, t.labels, SMALL_CLASS), ARGUMENT, "nll", "WEFT_CLASS_LOSS_OPTIONS")   \
    ROW(mse_null, weft_mse(t.x, NULL), ARGUMENT, "mse", "NULL")                                              \
    ROW(entropy_null, weft_cross_entropy(NULL, t.labels), ARGUMENT, "cross_entropy", "NULL")                 \
    ROW(triplet_null, weft_triplet_margin(t.x, NULL, t.x, 1), ARGUMENT, "triplet_margin", "input 1")

#define TEST(name, expression, status, ...)                                                                  \
    static void test_##name(void **state) {                                                                  \
        (void)state;                                                                                         \
        const things t = make_things();                                                                      \
        assert_null(expression);                                                                             \
        assert_weft_fails(WEFT_ERROR_##status, weft_graph_status(t.graph), __VA_ARGS__);                     \
        weft_graph_release(t.graph);                                                                         \
    }
SHAPES(TEST)
DTYPES(TEST)
ARGUMENTS(TEST)

static void test_all_null(void **state) {
    (void)state;
    assert_null(weft_mse(NULL, NULL));
    assert_null(weft_cross_entropy(NULL, NULL));
    assert_null(weft_cosine_similarity(NULL, NULL, 0, 0));
    assert_null(weft_triplet_margin(NULL, NULL, NULL, 1));
}

/* Weights of another graph do not meet the losses. */
static void test_two_graphs(void **state) {
    (void)state;
    const things a = make_things(), b = make_things();
    assert_null(weft_l1_loss(a.x, a.x, OPTIONS(.weights = b.x)));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(a.graph), "l1", "graph");
    const things c = make_things();
    assert_null(weft_nll_loss(c.x, c.labels, CLASSES(.class_weights = b.three)));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(c.graph), "nll", "graph");
    assert_weft_ok(weft_graph_status(b.graph));
    weft_graph_release(a.graph);
    weft_graph_release(b.graph);
    weft_graph_release(c.graph);
}

/* ---- a loss behind a layer: how many launches loss and gradient add to the layer's one ---- */

static size_t launches(weft_tensor *loss, weft_tensor *x) {
    weft_tensor *const outputs[] = {loss, weft_gradient(loss, x)};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 64};
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    return info.launches - 1;
}

static void test_launches(void **state) {
    (void)state;
    const things t = make_things();
    weft_tensor *const x = weft_linear(t.x, 10), *const target = weft_input(t.graph, "target", WEFT_F32, 10);
    weft_tensor *const weights =
        weft_array(t.graph, WEFT_F32, (const float[10]){1}, 1, (const int64_t[]){10});
    const weft_class_loss_options *const everything =
        CLASSES(.class_weights = weights, .ignore = true, .ignored_label = -100, .label_smoothing = 0.1f);
    assert_int_equal(launches(weft_cross_entropy(x, t.labels), x), 2);
    assert_int_equal(launches(weft_cross_entropy_loss(x, t.labels, everything), x), 3);
    assert_int_equal(
        launches(weft_bce_with_logits(x, target), x), 1); /* the sum; the rest is the layer's end */
    assert_int_equal(launches(weft_huber(x, target, 1), x), 1);
    weft_graph_release(t.graph);
}

#define ENTRY(name, ...) cmocka_unit_test(test_##name),
int main(void) {
    const struct CMUnitTest tests[] = {SHAPES(ENTRY) DTYPES(ENTRY) ARGUMENTS(ENTRY)
                                           cmocka_unit_test(test_all_null),
        cmocka_unit_test(test_two_graphs), cmocka_unit_test(test_launches)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
