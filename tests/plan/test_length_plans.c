/* Plans of one network at several lengths and batches: values beside float64 ones, what weft_predict and a trainer make of
 * the length of their data, and the lines of what no length or not this one can do. */
/* test once */
#include "cl/context.h"
#include "cl/program.h"
#include "graph/sizes.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 4, LONGEST = 33, MOST_BATCH = 3, ROWS = 12 };

/* ---- values ---- */

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *lengths, *outputs[4];
} network;

/* The mean over the length; x[:, 1:] - x[:, :-1] behind a row of zeros; running sums; the mean of what a row has. */
static network make_network(void) {
    network n = {.graph = test_graph()};
    n.x = weft_input(n.graph, "x", WEFT_F32, WEFT_LENGTH, WIDTH);
    n.lengths = weft_input(n.graph, "lengths", WEFT_I32);
    const int64_t one[] = {0, 1, 0}, none[] = {0, 0, 0};
    weft_tensor *const longer = weft_pad(n.x, one, none, WEFT_PAD_CONSTANT, 0);
    weft_tensor *const change = weft_sub(weft_slice(longer, 1, 1, WEFT_END), weft_slice(longer, 1, 0, -1));
    weft_tensor *const place = weft_arange(n.graph, WEFT_I32, 0, (double)WEFT_LENGTH, 1);
    weft_tensor *const there = weft_unsqueeze(weft_less(place, weft_unsqueeze(n.lengths, 1)), 2);
    weft_tensor *const kept = weft_where(there, n.x, weft_number(n.x, 0));
    weft_tensor *const count = weft_cast(weft_unsqueeze(n.lengths, 1), WEFT_F32);
    n.outputs[0] = weft_mean(n.x, 1);
    n.outputs[1] = change;
    n.outputs[2] = weft_cumsum(n.x, 1);
    n.outputs[3] = weft_div(weft_sum(kept, 1), count);
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static void assert_near(float got, double wanted) {
    if (fabs((double)got - wanted) <= 2e-6 * LONGEST) return;
    print_error("%g instead of %g\n", (double)got, wanted);
    fail();
}

/* One column of an example. */
static void check_column(const float *x, int length, int own, const float *mean, const float *change,
    const float *sums, const float *part) {
    double sum = 0, before = 0, own_sum = 0;
    for (int t = 0; t < length; t++) {
        const double value = (double)x[t * WIDTH];
        assert_near(change[t * WIDTH], value - before);
        sum += before = value;
        if (t < own) own_sum += value;
        assert_near(sums[t * WIDTH], sum);
    }
    assert_near(*mean, sum / length);
    assert_near(*part, own_sum / own);
}

static void check_plan(const network *n, int batch, int length) {
    static float x[MOST_BATCH * LONGEST * WIDTH], change[MOST_BATCH * LONGEST * WIDTH],
        sums[MOST_BATCH * LONGEST * WIDTH];
    float mean[MOST_BATCH * WIDTH], part[MOST_BATCH * WIDTH];
    int32_t lengths[MOST_BATCH];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .length = length};
    const size_t whole = (size_t)(batch * length * WIDTH) * sizeof *x,
                 row = (size_t)batch * WIDTH * sizeof *mean;
    test_random random = test_random_named("lengths", (uint64_t)(batch * 100 + length));
    for (int i = 0; i < batch * length * WIDTH; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < batch; i++) lengths[i] = 1 + (int32_t)test_random_below(&random, length);
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_weft_ok(weft_plan_create(&plan, n->outputs, 4, &options));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_true(info.length == length && info.batch == batch);
    assert_weft_ok(weft_plan_step(plan,
        (weft_value[]){{n->x, x, whole}, {n->lengths, lengths, (size_t)batch * sizeof *lengths},
            {n->outputs[0], mean, row}, {n->outputs[1], change, whole}, {n->outputs[2], sums, whole},
            {n->outputs[3], part, row}},
        6));
    for (int i = 0; i < batch * WIDTH; i++) {
        const int at = i / WIDTH * length * WIDTH + i % WIDTH;
        check_column(x + at, length, lengths[i / WIDTH], mean + i, change + at, sums + at, part + i);
    }
    weft_plan_release(plan);
}

static void values_at_several_lengths_and_batches(void **state) {
    static const int lengths[] = {1, 2, 7, 16, LONGEST};
    (void)state;
    const network n = make_network();
    for (int batch = 1; batch <= MOST_BATCH; batch += 2)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) check_plan(&n, batch, lengths[i]);
    weft_graph_release(n.graph);
}

static void random_numbers_are_as_many(void **state) {
    enum { LENGTH = 40 };
    const int64_t line[] = {WEFT_LENGTH};
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const uniform = weft_uniform(graph, 2, 3, 1, line), *const normal = weft_normal(
                                                                         graph, 5, 0.01f, 1, line);
    weft_tensor *const x = weft_add(uniform, normal);
    weft_tensor *const dropped = weft_div(weft_dropout(x, 0.5f), x);
    weft_tensor *outputs[] = {uniform, normal, dropped};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = LENGTH};
    float u[LENGTH], n[LENGTH], d[LENGTH];
    int kept = 0;
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 3, &options));
    assert_weft_ok(weft_plan_step(
        plan, (weft_value[]){{uniform, u, sizeof u}, {normal, n, sizeof n}, {dropped, d, sizeof d}}, 3));
    for (int i = 0; i < LENGTH; i++) {
        assert_true(
            u[i] >= 2 && u[i] < 3 && fabsf(n[i] - 5) < 0.1f && (d[i] == 0 || fabsf(d[i] - 2) < 1e-5f));
        assert_true(i == 0 || (u[i] != u[0] && n[i] != n[0]));
        kept += d[i] > 0;
    }
    assert_in_range(kept, 8, 32);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The count of a mean is an argument of its kernel: lengths that are alike in all else share it. */
static void means_compile_once(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *mean = weft_mean(weft_tanh(weft_input(graph, "x", WEFT_F32, WEFT_LENGTH, WIDTH)), 1);
    const wi_program_stats *const stats = wi_programs_stats(wi_context_device(test_context()));
    for (int64_t length = 5; length <= 7; length++) {
        const size_t before = stats->pieces_added;
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 3, .length = length};
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(&plan, &mean, 1, &options));
        assert_true(length == 5 ? stats->pieces_added > before : stats->pieces_added == before);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* ---- a plan's data ---- */

/* An output of one plan is the input of another, and memory is bound, by the names that the graph has for them. */
static void plans_feed_each_other(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH);
    weft_tensor *twice = weft_mul_number(x, 2);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = 3};
    float values[3] = {1, 2, 3};
    weft_plan *plan = NULL;
    assert_ptr_equal(weft_graph_find_input(graph, "x"), x);
    assert_weft_ok(weft_plan_create(&plan, &twice, 1, &options));
    assert_ptr_equal(weft_graph_find_input(graph, "x"), x);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_write(plan, x, values, 4), "'x' has 12 bytes");
    assert_weft_fails(WEFT_ERROR_STATE, weft_plan_run(plan), "'x' was never written");
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_feed(plan, x, plan, twice));
    assert_weft_ok(weft_plan_bind(plan, x, NULL, 0));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, twice, values, sizeof values));
    assert_true(values[0] == 4 && values[1] == 8 && values[2] == 12);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void predictions_take_the_length_of_their_data(void **state) {
    static const float data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH),
                       *const mean =
                           weft_mean(weft_add(x, weft_input(graph, "next", WEFT_F32, WEFT_LENGTH)), 1);
    for (int64_t length = 6; length >= 2; length -= 2) {
        float got[2];
        weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {length}, .data = data},
            {.name = "next", .dtype = WEFT_F32, .rank = 1, .dims = {length}, .data = data}};
        assert_weft_ok(weft_predict(mean, 2, columns, 2, got, sizeof got));
        assert_near(got[0], (double)length + 1);
        assert_near(got[1], 3 * (double)length + 1);
        columns[1].dims[0] = length - 1;
        assert_weft_fails(WEFT_ERROR_SHAPE, weft_predict(mean, 2, columns, 2, got, sizeof got), "its column");
    }
    weft_graph_release(graph);
}

static weft_dataset *ones(int64_t length) {
    static float values[8 * 6];
    weft_dataset *dataset = NULL;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = 1;
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {length}, .data = values};
    assert_weft_ok(weft_dataset_from_memory(&dataset, test_context(), 8, &column, 1));
    return dataset;
}

static void a_trainer_takes_the_length_of_its_data(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH), *const w = weft_parameter(
                                                                              graph, "w", weft_fill(3));
    weft_tensor *const loss = weft_mean(weft_square(weft_sub(weft_mul(x, w), x)));
    weft_dataset *const four = ones(4), *const six = ones(6);
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0.1f), .epochs = 12, .batch = 3, .validation = six};
    weft_trainer *trainer = NULL;
    float value = 0;
    assert_weft_ok(weft_trainer_create(&trainer, loss, &options));
    assert_weft_ok(weft_trainer_run(trainer, four));
    assert_weft_ok(weft_tensor_read(w, &value, sizeof value));
    assert_true(fabsf(value - 1) < 0.01f);
    weft_trainer_release(trainer);
    weft_dataset_release(four);
    weft_dataset_release(six);
    weft_graph_release(graph);
}

/* x[1:] - x[:-1] of the examples. */
static void examples_may_be_it(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){WEFT_LENGTH, WIDTH});
    weft_tensor *change = weft_sub(weft_slice(x, 0, 1, WEFT_END), weft_slice(x, 0, 0, -1));
    for (int64_t examples = 2; examples <= 5; examples += 3) {
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = examples};
        float in[5 * WIDTH], out[4 * WIDTH];
        const size_t row = WIDTH * sizeof *in;
        weft_plan *plan = NULL;
        for (int i = 0; i < 5 * WIDTH; i++) in[i] = (float)(i * i);
        assert_weft_ok(weft_plan_create(&plan, &change, 1, &options));
        assert_weft_ok(weft_plan_step(plan,
            (weft_value[]){{x, in, (size_t)examples * row}, {change, out, (size_t)(examples - 1) * row}}, 2));
        for (int i = 0; i < (int)(examples - 1) * WIDTH; i++)
            assert_near(out[i], (double)((i + WIDTH) * (i + WIDTH) - i * i));
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* ---- what cannot be ---- */

static void lengths_that_do_not_fit(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH, WIDTH);
    weft_tensor *const table = weft_parameter(graph, "places", weft_zeros(), ROWS, WIDTH);
    const int64_t three[] = {0, 3, 0}, none[] = {0, 0, 0};
    weft_tensor *const outputs[] = {weft_add(x, weft_slice(table, 0, 0, WEFT_LENGTH)),
        weft_slice(x, 1, 2, WEFT_END), weft_slice(x, 1, -3, -1),
        weft_pad(x, three, none, WEFT_PAD_REFLECT, 0), weft_topk(x, 3, 1, true)};
    static const struct {
        int output;
        int64_t length;
        const char *line;
    } cases[] = {{0, 0, "depends on WEFT_LENGTH, so set length in weft_plan_options"},
        {0, -1, "length is -1"},
        {0, ROWS + 1,
            "at length 13, slice of shape (length, 4): slice: 0..13 of axis 0 is outside 'places' (12, 4)"},
        {1, 2, "at length 2, slice of shape (batch, length - 2, 4)"}, {2, 2, "slice: -1..1 of axis 1"},
        {3, 3, "pad: the padding (3, 0) of axis 1, which has 3 elements, is negative or more than 2"},
        {4, 2, "k = 3 is not in 1..2"}};
    assert_weft_ok(weft_graph_status(graph));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_plan *plan = NULL;
        weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = cases[i].length};
        weft_tensor *const output = outputs[cases[i].output];
        const weft_status wanted =
            cases[i].length <= 0 || cases[i].output == 4 ? WEFT_ERROR_ARGUMENT : WEFT_ERROR_SHAPE;
        assert_weft_fails(wanted, weft_plan_create(&plan, &output, 1, &options), cases[i].line);
        options.length = ROWS; /* the graph has no error */
        assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

typedef weft_tensor *refused(weft_tensor *x); /* (batch, length, WIDTH) */

static weft_tensor *parameter(weft_tensor *x) {
    return weft_parameter(weft_tensor_graph(x), "w", weft_zeros(), WEFT_LENGTH, 2);
}
static weft_tensor *wide(weft_tensor *x) {
    return weft_linear(weft_transpose(x), 2);
}
static weft_tensor *strided(weft_tensor *x) {
    const weft_conv_options two = {WEFT_CONV_OPTIONS_INIT, .strides = {2}, .mode = WEFT_PADDING_SAME};
    return weft_conv_with(
        weft_transpose(x), weft_parameter(weft_tensor_graph(x), "k", weft_zeros(), 2, WIDTH, 3), NULL, &two);
}
static weft_tensor *pooled(weft_tensor *x) {
    return weft_max_pool(weft_transpose(x),
        &(weft_pool_options){WEFT_POOL_OPTIONS_INIT, .windows = {2}, .strides = {3}, .ceil_mode = true});
}
static weft_tensor *resampled(weft_tensor *x) {
    return weft_resample(
        weft_transpose(x), &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .factors = {0.3}});
}
static weft_tensor *paired(weft_tensor *x) {
    return weft_reshape(weft_sum(x, 2), WEFT_BATCH, WEFT_LENGTH / 2, 2);
}
static weft_tensor *other_length(weft_tensor *x) {
    return weft_add(x, weft_full(weft_tensor_graph(x), WEFT_F32, 1, 2, (const int64_t[]){5, WIDTH}));
}
static weft_tensor *channels(weft_tensor *x) {
    return weft_group_norm_with(x, 1, NULL, NULL, 1e-5f);
}
static weft_tensor *scaled_by_width(weft_tensor *x) {
    weft_tensor *const t = weft_transpose(x);
    return weft_attention(t, t, t, NULL);
}
static weft_tensor *smoothed(weft_tensor *x) {
    const weft_class_loss_options smooth = {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.1f};
    return weft_cross_entropy_loss(weft_sum(x, 2), weft_argmax(weft_sum(x, 2), 1), &smooth);
}
static weft_tensor *second_gradient(weft_tensor *x) {
    weft_tensor *const first = weft_gradient(weft_sum(weft_lstm(x, 2, NULL).y), x);
    return weft_gradient(weft_sum(weft_square(first)), x);
}
static weft_tensor *tails(weft_tensor *x) {
    const weft_adaptive_softmax_options half = {
        WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, .capacities = (const float[]){0.5f}};
    weft_adaptive_softmax *const softmax =
        weft_adaptive_softmax_layer(weft_tensor_graph(x), WIDTH, 9, (const int64_t[]){4}, 1, &half);
    return weft_adaptive_softmax_loss(softmax, x, weft_argmax(x, 2));
}
static weft_tensor *divided(weft_tensor *x) {
    return weft_expand(
        weft_slice(x, 2, 0, 1), 3, (const int64_t[]){WEFT_BATCH, WEFT_LENGTH, WEFT_LENGTH / 2 * 3});
}

static void ops_that_take_none_say_so(void **state) {
    static const struct {
        refused *build;
        const char *line;
    } cases[] = {
        {parameter, "parameter 'w': its shape (length, 2) cannot depend on a size that plans choose"},
        {wide, "cannot depend on a size that plans choose"},
        {strided, "with mode WEFT_PADDING_SAME and a stride above 1 the sizes of the image must be numbers"},
        {pooled, "max_pool: with ceil_mode, axis 2 of (batch, 4, length) must be a number"},
        {resampled, "resample: factors[0] = 0.3 along axis 2 of (batch, 4, length), which plans choose"},
        {paired, "has more than 2^40 elements"},
        {other_length, "shapes (batch, length, 4) and (5, 4) do not broadcast"},
        {channels, "group_norm: x is (batch, length, 4)"},
        {scaled_by_width, "the option scale must be set if the width depends on the batch or on another size "
                          "that plans choose"},
        {smoothed, "label_smoothing"}, {second_gradient, "a second gradient needs a fixed number of steps"},
        {tails, "a capacity is 0.5, expected 1 because plans choose the number of rows of (length*batch, 4)"},
        {divided, "has a size that is too large, or that is not a sum, product or quotient of sizes"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH, WIDTH);
        assert_null(cases[i].build(x));
        const weft_status status = weft_graph_status(graph);
        assert_int_not_equal(status, WEFT_OK);
        assert_weft_fails(status, weft_graph_status(graph), cases[i].line);
        weft_graph_release(graph);
    }
}

/* ---- how sizes are written ---- */

static void shapes_name_the_length(void **state) {
    static const struct {
        int64_t dim;
        const char *text;
    } cases[] = {{WEFT_LENGTH, "(length)"}, {2 * WEFT_LENGTH + 3, "(2*length + 3)"},
        {-WEFT_LENGTH, "(length*batch)"}, {-(3 * WEFT_LENGTH - 1), "((3*length - 1)*batch)"}, {5, "(5)"},
        {-2, "(2*batch)"}, {INT64_C(1) << 27, "(134217728)"}};
    static const int64_t values[] = {0, 5};
    const wi_given five = {values, 2, 0, 1};
    int missing;
    char text[WI_SHAPE_TEXT];
    (void)state;
    weft_graph *const graph = test_graph();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wi_shape shape = {.rank = 1, .dims = {cases[i].dim}};
        assert_string_equal(wi_shape_print(graph, &shape, text), cases[i].text);
    }
    assert_int_equal(wi_dim_at(graph, 2 * WEFT_LENGTH + 3, &five, &missing), 13);
    assert_int_equal(wi_dim_at(graph, -(WEFT_LENGTH - 1), &five, &missing), -4);
    assert_int_equal(wi_dim_at(graph, -(WEFT_LENGTH - 5), &five, &missing), 0);
    assert_int_equal(wi_dim_at(graph, WEFT_LENGTH - 7, &five, &missing), -2);
    assert_int_equal(wi_dim_at(graph, 768, &five, &missing), 768);
    assert_int_equal(missing, -1);
    weft_graph_release(graph);
}

/* A graph that nobody told a length takes numbers as they are. */
static void numbers_stay_numbers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, INT64_C(1) << 27);
    weft_tensor *const y = weft_mean(weft_reshape(x, WEFT_BATCH, 2, 1 << 26), 2);
    assert_weft_ok(weft_graph_status(graph));
    assert_false(x->is_symbolic || y->is_symbolic);
    weft_graph_release(graph);
}

/* The last `length` elements of an axis that has a fixed size. */
static void ends_of_fixed_axes(void **state) {
    weft_graph *const graph = test_graph();
    const float data[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    float end[6];
    weft_plan *plan;
    (void)state;
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, (int64_t[]){9}),
                       *y = weft_slice(x, 0, -WEFT_LENGTH, WEFT_END);
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = 6};
    assert_weft_ok(weft_plan_create(&plan, &y, 1, &options));
    assert_weft_ok(weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE_IN(x, data), WEFT_VALUE(y, end))));
    assert_memory_equal(end, data + 3, sizeof end);
    weft_plan_release(plan);
    options.length = 10;
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_plan_create(&plan, &y, 1, &options), "is outside 'x'");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_at_several_lengths_and_batches),
        cmocka_unit_test(random_numbers_are_as_many), cmocka_unit_test(means_compile_once),
        cmocka_unit_test(plans_feed_each_other), cmocka_unit_test(predictions_take_the_length_of_their_data),
        cmocka_unit_test(a_trainer_takes_the_length_of_its_data), cmocka_unit_test(examples_may_be_it),
        cmocka_unit_test(lengths_that_do_not_fit), cmocka_unit_test(ops_that_take_none_say_so),
        cmocka_unit_test(shapes_name_the_length), cmocka_unit_test(numbers_stay_numbers),
        cmocka_unit_test(ends_of_fixed_axes)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
