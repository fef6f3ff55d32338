/* What depends on a batch axis that is cut or lengthened: plans that do not share over batches and those that do, what
 * weft_predict and a trainer make of it, and the lines of what a graph, or a batch, cannot do. Values: test_batch_axis. */
/* test once */
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include "support/fixture.h"
#include <math.h>

enum { WIDTH = 3, ENOUGH = 12 };

static weft_tensor *rows(weft_tensor *x, int64_t start, int64_t end) {
    return weft_slice(x, 0, start, end);
}

static weft_tensor *changes(weft_tensor *x) {
    return weft_sub(rows(x, 1, WEFT_END), rows(x, 0, -1));
}

static void plan_at(weft_tensor *output, int64_t batch) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
    weft_plan_release(plan);
}

/* A plan makes nodes of its own where an output needs the cut, at each batch once; others share theirs. */
static void only_what_is_cut_is_made_again(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const h = weft_tanh(weft_linear(weft_input(graph, "x", WEFT_F32, WIDTH), 4));
    weft_tensor *const sum = weft_sum(weft_square(changes(h))), *const mean = weft_mean(h);
    assert_true(sum->is_symbolic && !mean->is_symbolic && !h->is_symbolic);
    plan_at(mean, 3);
    const uint32_t before = graph->node_count;
    plan_at(mean, 5);
    assert_int_equal(graph->node_count, before);
    plan_at(sum, 3);
    const uint32_t first = graph->node_count;
    assert_true(first > before);
    plan_at(sum, 3);
    assert_int_equal(graph->node_count, first);
    plan_at(sum, 5);
    assert_true(graph->node_count > first);
    assert_int_equal(weft_tensor_dimension(h, 0), WEFT_BATCH);
    weft_graph_release(graph);
}

/* As many rows as the batch again have its dimension, whichever way they came together. */
static void as_many_as_the_batch_are_the_batch(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH), *const tail = rows(x, 1, WEFT_END);
    const int64_t one[] = {1, 0}, none[] = {0, 0};
    weft_tensor *const padded = weft_pad(tail, one, none, WEFT_PAD_CONSTANT, 0),
                       *const joined = weft_concat((weft_tensor *[]){tail, rows(x, 0, 1)}, 2, 0),
                       *const twice = weft_concat((weft_tensor *[]){tail, x, rows(x, 0, 1)}, 3, 0);
    assert_int_equal(weft_tensor_dimension(weft_add(padded, joined), 0), WEFT_BATCH);
    assert_int_equal(weft_tensor_dimension(twice, 0), 2 * WEFT_BATCH);
    assert_ptr_equal(rows(x, 0, WEFT_END), x);
    plan_at(weft_sum(weft_reshape(twice, WEFT_BATCH, 2, WIDTH)), 5);
    weft_graph_release(graph);
}

/* Dropout of what is cut draws as many numbers as there are. */
static void random_numbers_of_a_cut(void **state) {
    enum { BATCH = 40 };
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH);
    weft_tensor *dropped = weft_dropout(rows(x, 1, WEFT_END), 0.5f);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    float in[BATCH * WIDTH], out[(BATCH - 1) * WIDTH];
    int kept = 0;
    weft_plan *plan = NULL;
    for (int i = 0; i < BATCH * WIDTH; i++) in[i] = (float)(i + 1);
    assert_weft_ok(weft_plan_create(&plan, &dropped, 1, &options));
    assert_weft_ok(weft_plan_step(plan, (weft_value[]){{x, in, sizeof in}, {dropped, out, sizeof out}}, 2));
    for (int i = 0; i < (BATCH - 1) * WIDTH; i++) {
        assert_true(out[i] == 0 || fabsf(out[i] - 2 * in[i + WIDTH]) < 1e-3f);
        kept += out[i] > 0;
    }
    assert_in_range(kept, 30, 87);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- data ---- */

static void predictions_of_changes(void **state) {
    static const float data[] = {1, 4, 9, 16, 25, 36};
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const change = changes(weft_input(graph, "x", WEFT_F32));
    for (size_t batch = 6; batch >= 2; batch -= 2) {
        float got[5];
        const weft_column column = {.name = "x", .dtype = WEFT_F32, .data = data};
        assert_weft_ok(weft_predict(change, batch, &column, 1, got, (batch - 1) * sizeof *got));
        for (size_t i = 0; i + 1 < batch; i++) assert_true(got[i] == data[i + 1] - data[i]);
    }
    weft_graph_release(graph);
}

/* y[i] = 3 x[i], seen only in what changes from one example to the next. */
static void a_trainer_of_changes(void **state) {
    float x[8], y[8], value = 0;
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const in = weft_input(graph, "x", WEFT_F32), *const out = weft_input(graph, "y", WEFT_F32);
    weft_tensor *const w = weft_parameter(graph, "w", weft_zeros());
    weft_tensor *const change = changes(weft_mul(in, w)), *const loss = weft_mse(change, changes(out));
    for (int i = 0; i < 8; i++) y[i] = 3 * (x[i] = (float)(i * i % 5) - 2);
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .data = x}, {.name = "y", .dtype = WEFT_F32, .data = y}};
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0.05f), .epochs = 20, .batch = 3};
    assert_weft_ok(weft_dataset_from_memory(&dataset, test_context(), 8, columns, 2));
    assert_weft_ok(weft_trainer_create(&trainer, loss, &options));
    assert_weft_ok(weft_trainer_run(trainer, dataset));
    assert_weft_ok(weft_tensor_read(w, &value, sizeof value));
    assert_true(fabsf(value - 3) < 0.01f);
    weft_trainer_release(trainer);
    weft_metric metric = weft_metric_mean_absolute_error();
    metric.output = change;
    metric.target = "y";
    options.metrics = &metric;
    options.metric_count = 1;
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_trainer_create(&trainer, loss, &options),
        "the output of the metric 'mean_absolute_error' has the shape (batch - 1)");
    weft_dataset_release(dataset);
    weft_graph_release(graph);
}

/* An input may have the shape of what is cut; no column can fill it. */
static void inputs_of_a_cut(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const change = changes(weft_input(graph, "x", WEFT_F32));
    const int64_t dims[] = {weft_tensor_dimension(change, 0)};
    weft_tensor *sum = weft_sum(weft_mul(change, weft_input_shape(graph, "weights", WEFT_F32, 1, dims)));
    const float x[] = {1, 2, 4, 8};
    float got = 0;
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .data = x};
    plan_at(sum, 4);
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_predict(sum, 4, &column, 1, &got, sizeof got),
        "input 'weights' of shape (batch - 1) cannot be fed with examples");
    weft_graph_release(graph);
}

/* ---- what cannot be ---- */

static void batches_that_do_not_fit(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH);
    const int64_t three[] = {3, 0}, none[] = {0, 0};
    weft_tensor *const outputs[] = {rows(x, 1, WEFT_END), rows(x, 0, 5), rows(x, -4, -1), rows(x, 4, -4),
        weft_pad(x, three, none, WEFT_PAD_REFLECT, 0), weft_topk(rows(x, 1, WEFT_END), 3, 0, true)};
    static const struct {
        int output;
        int64_t batch;
        const char *line;
    } cases[] = {{0, 1, "at batch 1, slice of shape (batch - 1, 3): slice: dimension 0 of (0, 3) is zero"},
        {1, 3, "at batch 3, slice of shape (5, 3): slice: 0..5 of axis 0 is outside 'x' (3, 3)"},
        {2, 3, "at batch 3, slice of shape (3, 3): slice: -1..2 of axis 0 is outside 'x' (3, 3)"},
        {3, 5, "at batch 5, slice of shape (batch - 8, 3): slice: dimension 0 of (0, 3) is zero"},
        {4, 3,
            "at batch 3, pad of shape (batch + 3, 3): pad: the padding (3, 0) of axis 0, which has 3 "
            "elements, is negative or more than 2"},
        {5, 3, "k = 3 is not in 1..2"}};
    assert_weft_ok(weft_graph_status(graph));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_plan *plan = NULL;
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = cases[i].batch};
        weft_tensor *const output = outputs[cases[i].output];
        const weft_status wanted = cases[i].output == 5 ? WEFT_ERROR_ARGUMENT : WEFT_ERROR_SHAPE;
        assert_weft_fails(wanted, weft_plan_create(&plan, &output, 1, &options), cases[i].line);
        plan_at(output, ENOUGH); /* the graph has no error */
    }
    weft_graph_release(graph);
}

typedef weft_tensor *refused(weft_tensor *x); /* (batch, WIDTH) */

static weft_tensor *reversed(weft_tensor *x) {
    return rows(x, 3, 2);
}
static weft_tensor *reversed_from_the_end(weft_tensor *x) {
    return rows(x, -1, -2);
}
static weft_tensor *halved(weft_tensor *x) {
    weft_tensor *parts[2];
    return weft_split(rows(x, 1, WEFT_END), 0, 2, parts) == WEFT_OK ? parts[0] : NULL;
}
static weft_tensor *split(weft_tensor *x) {
    weft_tensor *parts[2];
    const int64_t sizes[] = {1, WEFT_BATCH};
    return weft_split_sizes(x, 0, sizes, 2, parts) == WEFT_OK ? parts[0] : NULL;
}
static weft_tensor *other_sizes(weft_tensor *x) {
    return weft_add(x, rows(x, 1, WEFT_END));
}
static weft_tensor *parameter(weft_tensor *x) {
    return weft_linear(weft_transpose(rows(x, 1, WEFT_END)), 2);
}
static weft_tensor *channels(weft_tensor *x) {
    weft_tensor *const cut = weft_unsqueeze(rows(x, 1, WEFT_END), 0);
    return weft_group_norm_with(cut, 1, NULL, NULL, 1e-5f);
}

static void what_is_refused_says_so(void **state) {
    static const struct {
        refused *build;
        const char *line;
    } cases[] = {{reversed, "slice: 3..2 of axis 0 is empty or outside (batch, 3)"},
        {reversed_from_the_end, "slice: -1..-2 of axis 0 is empty or outside (batch, 3)"},
        {halved, "split: axis 0 of (batch - 1, 3) cannot be split into 2 equal parts"},
        {split, "split: the 2 sizes do not add up to axis 0 of (batch, 3)"},
        {other_sizes, "(batch, 3) and (batch - 1, 3) do not broadcast"},
        {parameter, "its shape (2, batch - 1) cannot depend on a size that plans choose"},
        {channels, "group_norm: x is (1, batch - 1, 3)"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_graph *const graph = test_graph();
        assert_null(cases[i].build(weft_input(graph, "x", WEFT_F32, WIDTH)));
        const weft_status status = weft_graph_status(graph);
        assert_int_not_equal(status, WEFT_OK);
        assert_weft_fails(status, weft_graph_status(graph), cases[i].line);
        weft_graph_release(graph);
    }
}

/* ---- how sizes are written ---- */

static void shapes_name_the_batch(void **state) {
    const int64_t B = WI_BATCH_HANDLE;
    const struct {
        int64_t dim;
        const char *text;
    } cases[] = {{B - 1, "(batch - 1)"}, {2 * B + 3, "(2*batch + 3)"},
        {4096 * B - 4096, "(4096*batch - 4096)"}, {4096 * WEFT_LENGTH - 4096, "(4096*length - 4096)"},
        {1 - B, "((batch - 1)*batch)"}};
    char text[WI_SHAPE_TEXT];
    (void)state;
    weft_graph *const graph = test_graph();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wi_shape shape = {.rank = 1, .dims = {cases[i].dim}};
        assert_string_equal(wi_shape_print(graph, &shape, text), cases[i].text);
    }
    const wi_given five = {.examples = 5, .batch = 5};
    int missing;
    assert_int_equal(wi_dim_at(graph, 3 * B - 2, &five, &missing), 13);
    assert_int_equal(wi_dim_at(graph, -3, &five, &missing), 15);
    assert_int_equal(wi_dim_at(graph, 1 - B, &five, &missing), 20);
    assert_int_equal(wi_dim_at(graph, B - 7, &five, &missing), -2);
    assert_int_equal(wi_dim_at(graph, -3, &(wi_given){.batch = 5}, &missing), -3);
    assert_int_equal(wi_dim_canonical(graph, 3 * B), -3);
    assert_int_equal(wi_dim_canonical(graph, 3 * B + 1), 3 * B + 1);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_is_cut_is_made_again),
        cmocka_unit_test(as_many_as_the_batch_are_the_batch), cmocka_unit_test(random_numbers_of_a_cut),
        cmocka_unit_test(predictions_of_changes), cmocka_unit_test(a_trainer_of_changes),
        cmocka_unit_test(inputs_of_a_cut), cmocka_unit_test(batches_that_do_not_fit),
        cmocka_unit_test(what_is_refused_says_so), cmocka_unit_test(shapes_name_the_batch)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
