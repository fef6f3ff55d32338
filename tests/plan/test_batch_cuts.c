/* Networks that cut or lengthen their batch axis, trained at several batches from one graph. Each learns the same as one that
 * is built with numbers for each batch, and further batches compile nothing. */
/* test slow once */
#include "cl/context.h"
#include "cl/program.h"
#include "support/fixture.h"
#include <math.h>

enum { WIDTH = 8, HIDDEN = 12, CLASSES = 5, MOST = 33, ROUNDS = 20 };

/* f32 (batch, WIDTH), i32 (batch) → the loss; the batch is WEFT_BATCH or a number. */
typedef weft_tensor *build_loss(weft_tensor *x, weft_tensor *labels);

static weft_tensor *features(weft_tensor *x) {
    return weft_tanh(weft_linear(x, HIDDEN));
}

/* What changes from each example to the next one. */
static weft_tensor *changes(weft_tensor *x, weft_tensor *labels) {
    weft_tensor *const f = features(x);
    weft_tensor *const change = weft_sub(weft_slice(f, 0, 1, WEFT_END), weft_slice(f, 0, 0, -1));
    return weft_cross_entropy(weft_linear(change, CLASSES), weft_slice(labels, 0, 1, WEFT_END));
}

/* Each beside the mean of itself and its two neighbours, of which the first and the last have one. */
static weft_tensor *neighbours(weft_tensor *x, weft_tensor *labels) {
    const int64_t one[] = {1, 0};
    weft_tensor *const f = features(x), *const wide = weft_pad(f, one, one, WEFT_PAD_EDGE, 0);
    weft_tensor *const sum = weft_add(
        weft_add(weft_slice(wide, 0, 0, -2), weft_slice(wide, 0, 1, -1)), weft_slice(wide, 0, 2, WEFT_END));
    weft_tensor *const both = weft_concat((weft_tensor *[]){f, weft_mul_number(sum, 1.0 / 3)}, 2, 1);
    return weft_cross_entropy(weft_linear(both, CLASSES), labels);
}

/* Scores (batch - 1, batch + 2) of examples and a memory of two rows; and what tells an example from the first one. */
static weft_tensor *contrast(weft_tensor *x, weft_tensor *labels) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const memory = weft_parameter(graph, "memory", weft_init_normal(0, 0.5f), 2, HIDDEN);
    weft_tensor *const f = features(x), *const all = weft_concat((weft_tensor *[]){f, memory}, 2, 0);
    weft_tensor *const scores = weft_matmul(weft_slice(f, 0, 0, -1), weft_transpose(all));
    weft_tensor *const first =
        weft_sub(weft_linear(f, CLASSES), weft_linear(weft_slice(f, 0, 0, 1), CLASSES));
    return weft_add(weft_mean(weft_logsumexp(scores, 1)), weft_cross_entropy(first, labels));
}

typedef struct trained {
    weft_tensor *x, *labels, *outputs[2];
} trained;

static trained make(weft_graph *graph, weft_optimizer_state *adam, build_loss *build, int64_t batch) {
    trained t = {.x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){batch, WIDTH}),
        .labels = weft_input_shape(graph, "labels", WEFT_I32, 1, (const int64_t[]){batch})};
    assert_weft_ok(weft_scope_begin(graph, "net", true));
    t.outputs[0] = build(t.x, t.labels);
    assert_weft_ok(weft_scope_end(graph));
    t.outputs[1] = weft_optimizer_minimize(adam, t.outputs[0], NULL);
    assert_weft_ok(weft_graph_status(graph));
    return t;
}

static weft_plan *plan(const trained *t, int64_t batch) {
    weft_plan *made = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_weft_ok(weft_plan_create(&made, t->outputs, 2, &options));
    return made;
}

static float train(const trained *t, weft_plan *p, int batch, int round) {
    float x[MOST * WIDTH], loss = 0;
    int32_t labels[MOST];
    for (int i = 0; i < batch * WIDTH; i++) x[i] = (float)((i * i + 3 * i + round % 2) % 17 - 8) * 0.125f;
    for (int i = 0; i < batch; i++) labels[i] = (i * i + i) % CLASSES;
    assert_weft_ok(weft_plan_write(p, t->x, x, (size_t)(batch * WIDTH) * sizeof *x));
    assert_weft_ok(weft_plan_write(p, t->labels, labels, (size_t)batch * sizeof *labels));
    assert_weft_ok(weft_plan_run(p));
    assert_weft_ok(weft_plan_read(p, t->outputs[0], &loss, sizeof loss));
    return loss;
}

static size_t compiled(void) {
    return wi_programs_stats(wi_context_device(test_context()))->pieces_added;
}

/* Kernels are written for as many elements as a multiple of 16, or for any number, and for a single row that is left: the
 * first batches have them all. Gradients are added up in the order of their nodes, which is another one where the network that
 * is built again shares some with the one before: bits: they are added up alike. */
static void assert_batches(build_loss *build, bool bits) {
    static const int batches[] = {7, MOST, 2, 24, 5, 12, 31, 3};
    enum { COUNT = sizeof batches / sizeof *batches, SEEN = 4 };
    const weft_optimizer rule = weft_adam(0.02f);
    weft_graph *const graph = test_graph(), *const other = test_graph();
    weft_optimizer_state *const adam = weft_optimizer_create(graph, &rule), *const other_adam =
                                                                                weft_optimizer_create(
                                                                                    other, &rule);
    const trained free_net = make(graph, adam, build, WEFT_BATCH);
    trained nets[COUNT];
    weft_plan *of[COUNT], *rebuilt[COUNT];
    float first[COUNT], last[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const size_t before = compiled();
        of[i] = plan(&free_net, batches[i]);
        assert_true(i < SEEN || compiled() == before);
        nets[i] = make(other, other_adam, build, batches[i]);
        rebuilt[i] = plan(&nets[i], batches[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < COUNT; i++) {
            const float loss = train(&free_net, of[i], batches[i], round),
                        wanted = train(&nets[i], rebuilt[i], batches[i], round);
            assert_true(fabsf(loss - wanted) <= (bits ? 0 : 1e-5f * wanted));
            last[i] = loss;
            if (round == 0) first[i] = loss;
        }
    for (int i = 0; i < COUNT; i++) assert_true(last[i] < 0.9f * first[i]);
    for (int i = 0; i < COUNT; i++) weft_plan_release(of[i]);
    for (int i = 0; i < COUNT; i++) weft_plan_release(rebuilt[i]);
    weft_graph_release(graph);
    weft_graph_release(other);
}

static void changes_from_example_to_example(void **state) {
    (void)state;
    assert_batches(changes, true);
}

static void neighbours_of_examples(void **state) {
    (void)state;
    assert_batches(neighbours, true);
}

static void examples_beside_others(void **state) {
    (void)state;
    assert_batches(contrast, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes_from_example_to_example),
        cmocka_unit_test(neighbours_of_examples), cmocka_unit_test(examples_beside_others)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
