/* Sizes that plans choose: their only form, what ops calculate with them, and plans of several of them. */
/* test once */
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include "support/fixture.h"
#include <string.h>

static void assert_printed(weft_graph *graph, int64_t dim, const char *text) {
    char printed[WI_SHAPE_TEXT];
    const wi_shape shape = {.rank = 1, .dims = {dim}};
    assert_string_equal(wi_shape_print(graph, &shape, printed), text);
}

static void sums_and_products(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t h = weft_symbol(graph, "height"), w = weft_symbol(graph, "width");
    assert_int_equal(weft_symbol(graph, "height"), h);
    assert_int_equal(weft_symbol(graph, "batch"), WEFT_BATCH);
    assert_int_equal(weft_symbol(graph, "length"), WEFT_LENGTH);
    const int64_t area = wi_dim_multiply(graph, h, w), both = wi_dim_add(graph, h, w);
    assert_printed(graph, area, "(height*width)");
    assert_printed(graph, both, "(height + width)");
    assert_int_equal(wi_dim_multiply(graph, w, h), area);
    assert_printed(
        graph, wi_dim_multiply(graph, 2 * h + 1, w - 3), "(2*height*width - 6*height + width - 3)");
    assert_int_equal(wi_dim_add(graph, 3 * h, wi_position_add(graph, w, 2 * h, -1)), both);
    assert_printed(graph, wi_dim_multiply(graph, -2, h), "(2*height*batch)");
    assert_int_equal(wi_dim_multiply(graph, h, WEFT_BATCH), -h);
    assert_printed(graph, wi_dim_add(graph, WEFT_BATCH, 3), "(batch + 3)");
    assert_printed(graph, wi_dim_multiply(graph, h, INT64_C(1) << 21), "(2097152*height)");
    int64_t quotient;
    assert_true(wi_dim_divides(graph, wi_dim_multiply(graph, area, 6), 2 * w, &quotient));
    assert_int_equal(quotient, 3 * h);
    assert_false(wi_dim_divides(graph, both, h, &quotient));
    assert_int_equal(wi_dim_least(graph, 2 * h - 1), 1);
    weft_graph_release(graph);
}

/* Windows with steps: the same sizes by whatever way they come about. */
static void quotients(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t n = weft_symbol(graph, "n");
    const int64_t half = wi_dim_divide(graph, n - 1, 2);
    assert_printed(graph, half + 1, "(floor((n + 1)/2))");
    assert_int_equal(wi_dim_canonical(graph, half + 1), wi_dim_divide(graph, n + 1, 2));
    assert_int_equal(wi_dim_divide(graph, 6 * n + 4, 2), 3 * n + 2);
    assert_int_equal(wi_dim_divide(graph, 7 * n, 2), wi_dim_add(graph, 3 * n, wi_dim_divide(graph, n, 2)));
    assert_int_equal(wi_dim_divide(graph, wi_dim_divide(graph, n, 2), 3), wi_dim_divide(graph, n, 6));
    assert_int_equal(wi_dim_divide(graph, wi_dim_divide(graph, n, 2) + 1, 2), wi_dim_divide(graph, n + 2, 4));
    assert_int_equal(wi_dim_divide(graph, 4 * n + 3, 6), wi_dim_divide(graph, 2 * n + 1, 3));
    static const int64_t values[] = {0, 0, 9};
    const wi_given given = {values, 3, 0, 1};
    int missing;
    assert_int_equal(wi_dim_at(graph, wi_dim_divide(graph, 5 * n - 8, 4), &given, &missing), 9);
    assert_int_equal(missing, -1);
    assert_int_equal(wi_dim_at(graph, wi_dim_add(graph, n, WEFT_LENGTH), &given, &missing), 9);
    assert_int_equal(missing, WI_SYMBOL_LENGTH);
    weft_graph_release(graph);
}

/* ---- plans ---- */

static float *random_numbers(size_t count) {
    float *const numbers = malloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)((int)(i * 7919 % 201) - 100) / 50;
    return numbers;
}

typedef struct network {
    weft_tensor *x, *loss, *gradient;
} network;

/* A classifier of images of any size, whose features are also read as a sequence. */
static network build_network(weft_graph *graph, int64_t batch, int64_t height, int64_t width) {
    const int64_t dims[] = {batch, 3, height, width};
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 4, dims);
    weft_tensor *y = weft_relu(weft_conv2d(x, 4, 3, .stride = 2, .padding = 1));
    weft_tensor *const pooled = weft_max_pool2d(y, 2);
    y = weft_concat(
        (weft_tensor *[]){weft_upsample_nearest(pooled, 2), weft_upsample_linear(pooled, 2, false)}, 2, 1);
    weft_tensor *const tokens = weft_permute(weft_flatten_axes(y, 2, 3), 0, 2, 1);
    weft_tensor *const mixed = weft_multi_head_attention(tokens, tokens, tokens, 2, NULL);
    weft_tensor *const loss = weft_mean(weft_square(weft_linear(weft_layer_norm(mixed), 5)));
    weft_tensor *gradient = weft_gradient(loss, weft_graph_parameter(graph, 0));
    return (network){x, loss, gradient};
}

static void run_network(const network *n, const weft_plan_options *options, const float *x, size_t numbers,
    float *loss, float gradient[4 * 3 * 3 * 3]) {
    weft_plan *plan;
    weft_tensor *const outputs[] = {n->loss, n->gradient};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, options));
    const weft_value values[] = {weft_value_in(n->x, x, numbers * sizeof *x), {n->loss, loss, sizeof *loss},
        {n->gradient, gradient, 4 * 3 * 3 * 3 * sizeof *gradient}};
    assert_weft_ok(weft_plan_step(plan, values, 3));
    weft_plan_release(plan);
}

static void images_of_any_size(void **state) {
    static const int64_t sizes[][3] = {{2, 8, 12}, {1, 13, 7}, {3, 17, 33}, {2, 8, 8}};
    (void)state;
    weft_graph *const graph = test_graph();
    const network free_sizes =
        build_network(graph, WEFT_BATCH, weft_symbol(graph, "height"), weft_symbol(graph, "width"));
    assert_weft_ok(weft_graph_status(graph));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *const s = sizes[i];
        const size_t count = (size_t)(s[0] * 3 * s[1] * s[2]);
        float *const x = random_numbers(count);
        float loss[2], gradients[2][4 * 3 * 3 * 3];
        const weft_named_size named[] = {{"width", s[2]}, {"height", s[1]}};
        run_network(&free_sizes,
            &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = s[0], .sizes = named, .size_count = 2}, x,
            count, &loss[0], gradients[0]);
        weft_graph *const numbers = test_graph();
        const network fixed = build_network(numbers, WEFT_BATCH, s[1], s[2]);
        run_network(&fixed, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = s[0]}, x, count, &loss[1],
            gradients[1]);
        assert_float_equal(loss[0], loss[1], 1e-5);
        for (size_t k = 0; k < sizeof gradients[0] / sizeof *gradients[0]; k++)
            assert_float_equal(gradients[0][k], gradients[1][k], 1e-5);
        weft_graph_release(numbers);
        free(x);
    }
    weft_graph_release(graph);
}

/* A batch axis that is cut beside a length, and a size whose product with it is flattened. */
static void a_cut_batch_beside_a_length(void **state) {
    enum { BATCH = 4, LENGTH = 5, WIDTH = 2 };
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH, WIDTH);
    weft_tensor *const change = weft_sub(weft_slice(x, 0, 1, WEFT_END), weft_slice(x, 0, 0, -1));
    weft_tensor *const sum = weft_cumsum(weft_flatten_axes(change, 0, 1), 0);
    char text[WI_SHAPE_TEXT];
    assert_string_equal(wi_shape_print(graph, &sum->shape, text), "(batch*length - length, 2)");
    weft_plan *plan;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .length = LENGTH};
    weft_tensor *const outputs[] = {sum};
    assert_weft_ok(weft_plan_create(&plan, outputs, 1, &options));
    float in[BATCH * LENGTH * WIDTH], out[(BATCH - 1) * LENGTH * WIDTH];
    for (int i = 0; i < BATCH * LENGTH * WIDTH; i++) in[i] = (float)(i * i % 23);
    const weft_value values[] = {{x, in, sizeof in}, {sum, out, sizeof out}};
    assert_weft_ok(weft_plan_step(plan, values, 2));
    for (int k = 0; k < WIDTH; k++) {
        float total = 0;
        for (int i = 0; i < (BATCH - 1) * LENGTH; i++) {
            total += in[(i + LENGTH) * WIDTH + k] - in[i * WIDTH + k];
            assert_float_equal(out[i * WIDTH + k], total, 1e-4);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Trainers and predictions take sizes from their data. One input has a size that is calculated from those of another. */
static void trainers_and_predictions(void **state) {
    enum { EXAMPLES = 6, MOST = 5 * 9 * EXAMPLES };
    static const int64_t sizes[][2] = {{4, 6}, {5, 9}, {4, 6}};
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t h = weft_symbol(graph, "height"), w = weft_symbol(graph, "width");
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 1, h, w),
                       *const mask = weft_input(graph, "mask", WEFT_F32, wi_dim_multiply(graph, h, w)),
                       *const scale = weft_parameter(graph, "scale", weft_zeros());
    weft_tensor *const masked = weft_mul(weft_flatten(x), mask);
    weft_tensor *const mean = weft_mean(weft_mul(masked, scale), 1);
    weft_tensor *const loss = weft_mse(mean, weft_mul_number(weft_mean(masked, 1), 3));
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(0.1f), .epochs = 150, .batch = 4};
    weft_trainer *trainer = NULL;
    assert_weft_ok(weft_trainer_create(&trainer, loss, &options));
    float *const numbers = random_numbers(MOST), ones[MOST], got[EXAMPLES], value;
    for (int i = 0; i < MOST; i++) ones[i] = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *const s = sizes[i], area = s[0] * s[1];
        weft_column columns[] = {{.name = "mask", .dtype = WEFT_F32, .rank = 1, .dims = {area}, .data = ones},
            {.name = "x", .dtype = WEFT_F32, .rank = 3, .dims = {1, s[0], s[1]}, .data = numbers}};
        if (i == 0) {
            weft_dataset *dataset = NULL;
            assert_weft_ok(weft_dataset_from_memory(&dataset, test_context(), EXAMPLES, columns, 2));
            assert_weft_ok(weft_trainer_run(trainer, dataset));
            assert_weft_ok(weft_tensor_read(scale, &value, sizeof value));
            assert_float_equal(value, 3, 0.1);
            weft_dataset_release(dataset);
        }
        assert_weft_ok(weft_predict(mean, EXAMPLES, columns, 2, got, sizeof got));
        for (int64_t example = 0; example < EXAMPLES; example++) {
            double sum = 0;
            for (int64_t k = 0; k < area; k++) sum += (double)numbers[example * area + k];
            assert_float_equal(got[example], (float)((double)value * sum / (double)area), 1e-4);
        }
        columns[0].dims[0] = area - 1;
        assert_weft_fails(WEFT_ERROR_SHAPE, weft_predict(mean, EXAMPLES, columns, 2, got, sizeof got),
            "input 'mask' is (batch, ", "but its column is");
    }
    free(numbers);
    weft_trainer_release(trainer);
    weft_graph_release(graph);
}

/* ---- errors ---- */

static void what_plans_refuse(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {weft_symbol(graph, "rows"), 4};
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, dims);
    weft_tensor *const y = weft_max_pool(
        weft_unsqueeze(weft_transpose(x), 0), &(weft_pool_options){WEFT_POOL_OPTIONS_INIT, .windows = {3}});
    weft_plan *plan = NULL;
    weft_tensor *const outputs[] = {y};
    static const struct {
        weft_named_size sizes[2];
        size_t count;
        weft_status status;
        const char *line;
    } cases[] = {{{{NULL, 0}}, 0, WEFT_ERROR_ARGUMENT,
                     "depends on the size 'rows', so set sizes in weft_plan_options to {\"rows\", ...}"},
        {{{"lines", 3}}, 1, WEFT_ERROR_ARGUMENT, "sizes[0] is 'lines', which is not a size of weft_symbol"},
        {{{"batch", 3}}, 1, WEFT_ERROR_ARGUMENT, "sizes[0] is 'batch', which is the option batch"},
        {{{"rows", 0}}, 1, WEFT_ERROR_ARGUMENT, "the size 'rows' is 0, expected 1 to 2^31 - 1"},
        {{{"rows", 5}, {"rows", 6}}, 2, WEFT_ERROR_ARGUMENT, "the size 'rows' is set to 5 and to 6"},
        {{{"rows", 2}}, 1, WEFT_ERROR_SHAPE, "at rows 2, max_pool of shape"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const weft_plan_options options = {
            WEFT_PLAN_OPTIONS_INIT, .sizes = cases[i].sizes, .size_count = cases[i].count};
        assert_weft_fails(cases[i].status, weft_plan_create(&plan, outputs, 1, &options), cases[i].line);
        assert_null(plan);
    }
    const weft_plan_options good = {
        WEFT_PLAN_OPTIONS_INIT, .sizes = (weft_named_size[]){{"rows", 7}}, .size_count = 1};
    assert_weft_ok(weft_plan_create(&plan, outputs, 1, &good));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void names_that_are_refused(void **state) {
    static const char *const names[] = {
        NULL, "", "a name that is longer than the sixty-three bytes that a symbol may have"};
    static const char *const lines[] = {
        "symbol: the name is NULL", "symbol: the name is empty", "symbol: the name is too long"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        weft_graph *const graph = test_graph();
        assert_int_equal(weft_symbol(graph, names[i]), 0);
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), lines[i]);
        weft_graph_release(graph);
    }
    assert_int_equal(weft_symbol(NULL, "height"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_and_products), cmocka_unit_test(quotients),
        cmocka_unit_test(images_of_any_size), cmocka_unit_test(a_cut_batch_beside_a_length),
        cmocka_unit_test(trainers_and_predictions), cmocka_unit_test(what_plans_refuse),
        cmocka_unit_test(names_that_are_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
