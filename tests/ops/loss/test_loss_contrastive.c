/* Cross-entropy and nll whose classes are the rows of a batch, as in contrastive losses: at several batch sizes the value and the gradient
 * of the formula in float64. */
#include "support/fixture.h"

#include <math.h>

enum { WIDTH = 5, MOST = 33 };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *labels, *outputs[3]; /* cross-entropy, nll, the gradient of their sum */
} network;

static network make_network(void) {
    network n = {.graph = test_graph()};
    n.x = weft_input(n.graph, "x", WEFT_F32, WIDTH);
    n.labels = weft_input(n.graph, "labels", WEFT_I32);
    weft_tensor *const scores = weft_matmul(n.x, weft_transpose(n.x)); /* (batch, batch) */
    const weft_class_loss_options sum = {WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_SUM};
    n.outputs[0] = weft_cross_entropy(scores, n.labels);
    n.outputs[1] = weft_nll_loss(weft_log_softmax(scores, 1), n.labels, &sum);
    n.outputs[2] = weft_gradient(weft_add(n.outputs[0], n.outputs[1]), n.x);
    return n;
}

/* The sum of the losses, and with slope the gradient of x: d loss / d scores = softmax - [class = label]. */
static double reference(const float *x, const int32_t *labels, int batch, double slope[MOST][WIDTH]) {
    double total = 0;
    for (int i = 0; i < batch * WIDTH; i++) slope[i / WIDTH][i % WIDTH] = 0;
    for (int i = 0; i < batch; i++) {
        double scores[MOST] = {0}, sum = 0;
        for (int j = 0; j < batch; j++) {
            for (int k = 0; k < WIDTH; k++) scores[j] += (double)x[i * WIDTH + k] * (double)x[j * WIDTH + k];
            sum += exp(scores[j]);
        }
        total += log(sum) - scores[labels[i]];
        for (int j = 0; j < batch; j++) {
            const double g = exp(scores[j]) / sum - (labels[i] == j);
            for (int k = 0; k < WIDTH; k++) {
                slope[i][k] += g * (double)x[j * WIDTH + k];
                slope[j][k] += g * (double)x[i * WIDTH + k];
            }
        }
    }
    return total;
}

static void check(const network *n, int batch) {
    float x[MOST * WIDTH], mean, sum, slope[MOST * WIDTH];
    int32_t labels[MOST];
    test_random random = test_random_named("contrastive", (uint64_t)batch);
    for (int i = 0; i < batch * WIDTH; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < batch; i++) labels[i] = (int32_t)test_random_below(&random, batch);
    double slopes[MOST][WIDTH];
    const double wanted = reference(x, labels, batch, slopes);

    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    const size_t bytes = (size_t)batch * WIDTH * sizeof *x;
    assert_weft_ok(weft_plan_create(&plan, n->outputs, 3, &options));
    const weft_value values[] = {{n->x, x, bytes}, {n->labels, labels, (size_t)batch * sizeof *labels},
        {n->outputs[0], &mean, sizeof mean}, {n->outputs[1], &sum, sizeof sum},
        {n->outputs[2], slope, bytes}};
    assert_weft_ok(weft_plan_step(plan, values, 5));
    assert_true(fabs(mean - wanted / batch) <= 1e-5 * (1 + wanted / batch));
    assert_true(fabs(sum - wanted) <= 1e-5 * (1 + wanted));
    for (int i = 0; i < batch * WIDTH; i++)
        assert_true(fabs(slope[i] - slopes[i / WIDTH][i % WIDTH] * (1 + 1.0 / batch)) <= 2e-5 * batch);
    labels[0] = batch; /* no class */
    assert_weft_ok(weft_plan_write(plan, n->labels, labels, (size_t)batch * sizeof *labels));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(plan), "gather");
    weft_plan_release(plan);
}

static void formula(void **state) {
    (void)state;
    const network n = make_network();
    check(&n, 1);
    check(&n, 17);
    check(&n, MOST);
    weft_graph_release(n.graph);
}

static weft_tensor *refused(weft_tensor *scores, weft_tensor *labels, int which) {
    const weft_class_loss_options options[] = {{WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true},
        {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.1f},
        {WEFT_CLASS_LOSS_OPTIONS_INIT, .class_weights = labels}};
    if (which == 3) return weft_multi_margin(scores, labels, 1);
    return weft_cross_entropy_loss(scores, labels, &options[which]);
}

static void errors(void **state) {
    (void)state;
    static const weft_status codes[] = {
        WEFT_ERROR_ARGUMENT, WEFT_ERROR_ARGUMENT, WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE};
    for (int i = 0; i < 4; i++) {
        network n = make_network();
        weft_tensor *const scores = weft_matmul(n.x, weft_transpose(n.x));
        assert_null(refused(scores, n.labels, i));
        assert_weft_fails(codes[i], weft_graph_status(n.graph), i == 3 ? "multi_margin" : "cross_entropy");
        weft_graph_release(n.graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(formula), cmocka_unit_test(errors)};
    return test_finish(cmocka_run_group_tests_name("contrastive losses", tests, NULL, NULL));
}
