/* weft_bert beside Hugging Face's BertModel (tests/golden/bert_golden.json): states and pooled output to 1e-5 of the
 * largest, norms of gradients to 1e-4; lengths, names, first values, and bad input. */
/* test slow */
#include "nn/model_values.h"
#include "support/fixture.h"
#include "support/golden_file.h"

enum { MOST = 4096 };

static cJSON *golden;

/* The small encoder of the goldens; without dropout. */
static weft_bert_options small_options(void) {
    const cJSON *const sizes = golden_member(golden, "sizes");
    return (weft_bert_options){WEFT_BERT_OPTIONS_INIT, .layers = (int64_t)golden_number(sizes, "layers", 0),
        .width = (int64_t)golden_number(sizes, "width", 0),
        .heads = (int64_t)golden_number(sizes, "heads", 0),
        .intermediate = (int64_t)golden_number(sizes, "intermediate", 0),
        .vocabulary = (int64_t)golden_number(sizes, "vocabulary", 0),
        .positions = (int64_t)golden_number(sizes, "positions", 0),
        .types = (int64_t)golden_number(sizes, "types", 0), .no_dropout = true};
}

typedef struct text {
    const cJSON *item;
    int64_t length, width;
    weft_graph *graph;
    weft_tensor *tokens, *types, *mask, *states, *pooled;
} text;

/* The network of a case. any: the batch and the length are those of the plan, not of the network. */
static text build(const cJSON *item, bool any) {
    weft_bert_options options = small_options();
    text t = {.item = item,
        .length = (int64_t)golden_number(golden, "length", 0),
        .width = options.width,
        .graph = test_graph()};
    const int64_t dims[] = {any ? WEFT_BATCH : 2, any ? WEFT_LENGTH : t.length};
    t.tokens = weft_input_shape(t.graph, "tokens", WEFT_I32, 2, dims);
    if (golden_member(item, "types")) t.types = weft_input_shape(t.graph, "types", WEFT_I32, 2, dims);
    if (golden_member(item, "mask")) t.mask = weft_input_shape(t.graph, "mask", WEFT_I32, 2, dims);
    options.token_types = t.types;
    options.mask = t.mask ? weft_cast(t.mask, WEFT_BOOL) : NULL;
    t.states = weft_bert(t.tokens, &options, &t.pooled);
    assert_weft_ok(weft_graph_status(t.graph));
    for (size_t i = 0; i < weft_graph_parameter_count(t.graph); i++) {
        static float values[MOST];
        weft_tensor *const p = weft_graph_parameter(t.graph, i);
        assert_true(model_count(p) <= MOST);
        model_values(p, weft_tensor_name(p), (float)golden_number(golden, "shift", 0), values);
        assert_weft_ok(weft_tensor_write(p, values, model_count(p) * sizeof *values));
    }
    return t;
}

static void feed(weft_plan *plan, const text *t, weft_tensor *input, const char *name) {
    float numbers[64];
    int32_t values[64];
    if (!input) return;
    const size_t count = golden_numbers(golden_member(t->item, name), numbers, 64);
    assert_int_equal(count, 2 * t->length);
    for (size_t i = 0; i < count; i++) values[i] = (int32_t)numbers[i];
    assert_weft_ok(weft_plan_write(plan, input, values, count * sizeof *values));
}

static weft_plan *plan_of(
    const text *t, weft_tensor **outputs, size_t count, const weft_plan_options *options) {
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, count, options));
    feed(plan, t, t->tokens, "tokens"), feed(plan, t, t->types, "types"), feed(plan, t, t->mask, "mask");
    assert_weft_ok(weft_plan_run(plan));
    return plan;
}

static void compare(weft_plan *plan, const text *t, weft_tensor *output, const char *name) {
    float values[1024], wanted[1024];
    double largest = 0;
    const size_t count = golden_numbers(golden_member(t->item, name), wanted, 1024);
    assert_weft_ok(weft_plan_read(plan, output, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)values[i] - (double)wanted[i]) <= 1e-5 * largest))
            fail_msg("%s[%zu] is %g, PyTorch has %g", name, i, (double)values[i], (double)wanted[i]);
}

static void outputs_are_as_pytorch_has_them(void **state) {
    (void)state;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_member(golden, "cases")) {
        for (int any = 0; any < 2; any++) {
            const text t = build(item, any);
            const weft_plan_options options = {
                WEFT_PLAN_OPTIONS_INIT, .batch = 2, .length = any ? t.length : 0, .inference = true};
            weft_plan *const plan = plan_of(&t, (weft_tensor *[]){t.states, t.pooled}, 2, &options);
            compare(plan, &t, t.states, "states");
            compare(plan, &t, t.pooled, "pooled");
            weft_plan_release(plan);
            weft_graph_release(t.graph);
        }
    }
}

/* ---- gradients ---- */

/* The sum of x times the weights that the formula gives for the name. */
static weft_tensor *weighted(const text *t, weft_tensor *x, const char *name, int rank, const int64_t *dims) {
    static float values[1024];
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    assert_true(count <= 1024);
    for (size_t i = 0; i < count; i++) values[i] = model_hashed(model_seed(name), (uint32_t)i);
    weft_tensor *const weights = weft_state_shape(t->graph, name, WEFT_F32, weft_zeros(), rank, dims);
    assert_weft_ok(weft_tensor_write(weights, values, count * sizeof *values));
    return weft_sum(weft_mul(x, weights));
}

static double norm_of(weft_plan *plan, weft_tensor *gradient) {
    static float values[MOST];
    const size_t count = model_count(gradient);
    double sum = 0;
    assert_true(count <= MOST);
    assert_weft_ok(weft_plan_read(plan, gradient, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* A gradient whose true norm is nearly 0 (the keys' biases) is compared with 1e-5 of the largest norm. */
static void gradients_are_as_pytorch_has_them(void **state) {
    (void)state;
    const cJSON *item, *norm;
    cJSON_ArrayForEach(item, golden_member(golden, "cases")) {
        weft_tensor *parameters[64], *gradients[64];
        double largest = 0;
        const text t = build(item, false);
        const cJSON *const norms = golden_member(item, "norms");
        const size_t count = weft_graph_parameter_count(t.graph);
        cJSON_ArrayForEach(norm, norms) largest = fmax(largest, norm->valuedouble);
        assert_int_equal(count, cJSON_GetArraySize(norms));
        for (size_t i = 0; i < count; i++) parameters[i] = weft_graph_parameter(t.graph, i);
        weft_tensor *const loss =
            weft_add(weighted(&t, t.states, "states", 3, (const int64_t[]){2, t.length, t.width}),
                weighted(&t, t.pooled, "pooled", 2, (const int64_t[]){2, t.width}));
        assert_weft_ok(weft_gradients(loss, parameters, count, gradients));
        weft_plan *const plan =
            plan_of(&t, gradients, count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2});
        for (size_t i = 0; i < count; i++) {
            const char *const name = weft_tensor_name(parameters[i]);
            const cJSON *const wanted = golden_member(norms, name);
            if (!wanted) fail_msg("BertModel has no parameter %s", name);
            const double got = norm_of(plan, gradients[i]), floor = 0.1 * largest;
            if (!(fabs(got - wanted->valuedouble) <= 1e-4 * fmax(wanted->valuedouble, floor)))
                fail_msg("%s: %g, PyTorch has %g", name, got, wanted->valuedouble);
        }
        weft_plan_release(plan);
        weft_graph_release(t.graph);
    }
}

/* ---- names, first values, forms ---- */

static double deviation_of(weft_graph *graph, const char *name, size_t skipped) {
    static float values[MOST];
    weft_tensor *const tensor = weft_graph_find(graph, name);
    if (!tensor) fail_msg("the graph has no %s", name);
    const size_t count = model_count(tensor);
    double sum = 0;
    assert_true(count <= MOST);
    assert_weft_ok(weft_tensor_read(tensor, values, count * sizeof *values));
    for (size_t i = 0; i < skipped; i++) assert_true(values[i] == 0);
    for (size_t i = skipped; i < count; i++) sum += (double)values[i] * (double)values[i];
    return sqrt(sum / (double)(count - skipped));
}

static void first_values_are_those_of_bert(void **state) {
    (void)state;
    weft_bert_options options = small_options();
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 5);
    options.prefix = "text.";
    const size_t width = (size_t)options.width;
    assert_non_null(weft_bert(tokens, &options, NULL));
    assert_null(weft_graph_find(graph, "text.pooler.dense.weight"));
    /* The row of token 0 is zero. */
    const double words = deviation_of(graph, "text.embeddings.word_embeddings.weight", width);
    assert_true(fabs(words - 0.02) < 0.002);
    const double inner = deviation_of(graph, "text.encoder.layer.1.intermediate.dense.weight", 0);
    assert_true(fabs(inner - 0.02) < 0.002);
    (void)deviation_of(graph, "text.encoder.layer.0.attention.self.query.bias", width - 1);
    assert_true(deviation_of(graph, "text.embeddings.LayerNorm.weight", 0) == 1);
    weft_graph_release(graph);
}

/* All sizes 0 are those of BERT-Base, of which Hugging Face counts 199 parameters. */
static void without_options_it_is_bert_base(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 5);
    weft_tensor *pooled = NULL;
    weft_tensor *const states = weft_bert(tokens, NULL, &pooled);
    assert_weft_ok(weft_graph_status(graph));
    assert_int_equal(weft_tensor_dimension(states, 2), 768);
    assert_int_equal(weft_tensor_dimension(pooled, 1), 768);
    assert_int_equal(weft_graph_parameter_count(graph), 199);
    size_t elements = 0;
    for (size_t i = 0; i < 199; i++) elements += model_count(weft_graph_parameter(graph, i));
    assert_int_equal(elements, 109482240);
    weft_graph_release(graph);
}

static weft_tensor *states_of(weft_tensor *tokens, bool no_dropout) {
    weft_bert_options options = small_options();
    options.no_dropout = no_dropout;
    return weft_bert(tokens, &options, NULL);
}

/* Of two networks that share their parameters, only that with dropout differs between training and inference. */
static void dropout_is_of_training_only(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 5);
    weft_tensor *outputs[2];
    assert_weft_ok(weft_scope_begin(graph, "net", true));
    for (int i = 0; i < 2; i++) outputs[i] = states_of(tokens, i == 0);
    assert_weft_ok(weft_scope_end(graph));
    for (int inference = 0; inference < 2; inference++) {
        static const int32_t words[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        float values[2][1024];
        weft_plan *plan = NULL;
        const size_t bytes = 10 * (size_t)small_options().width * sizeof(float);
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2, .inference = inference};
        assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
        assert_weft_ok(weft_plan_write(plan, tokens, words, sizeof words));
        assert_weft_ok(weft_plan_run(plan));
        for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_read(plan, outputs[i], values[i], bytes));
        assert_int_equal(memcmp(values[0], values[1], bytes) == 0, inference);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* ---- bad input ---- */

#define assert_refused(status, change, ...)                                                                  \
    do {                                                                                                     \
        weft_graph *const graph = test_graph();                                                              \
        weft_tensor *tokens = weft_input(graph, "tokens", WEFT_I32, 5), *pooled = tokens;                    \
        weft_bert_options options = small_options();                                                         \
        change;                                                                                              \
        assert_null(weft_bert(tokens, &options, &pooled));                                                   \
        assert_null(pooled);                                                                                 \
        assert_weft_fails(status, weft_graph_status(graph), "weft_bert", __VA_ARGS__);                       \
        weft_graph_release(graph);                                                                           \
    } while (0)

static void bad_input_is_an_error(void **state) {
    (void)state;
    char prefix[200] = "";
    memset(prefix, 'a', sizeof prefix - 1);
    assert_refused(WEFT_ERROR_DTYPE, tokens = weft_cast(tokens, WEFT_F32), "expected i32 (N, length)");
    assert_refused(WEFT_ERROR_SHAPE, tokens = weft_flatten_axes(tokens, 0, 1), "expected i32 (N, length)");
    assert_refused(WEFT_ERROR_SHAPE, tokens = weft_input(graph, "t", WEFT_I32, 13), "positions is 12");
    assert_refused(WEFT_ERROR_ARGUMENT, options.layers = -1, "layers is -1");
    assert_refused(WEFT_ERROR_ARGUMENT, options.width = INT64_MAX, "the option width");
    assert_refused(WEFT_ERROR_ARGUMENT, options.heads = 5, "5 heads", "32");
    assert_refused(WEFT_ERROR_ARGUMENT, options.prefix = prefix, "199 characters");
    assert_refused(WEFT_ERROR_DTYPE, options.mask = tokens, "mask is i32", "expected bool");
    assert_refused(
        WEFT_ERROR_SHAPE, options.token_types = weft_input(graph, "t", WEFT_I32, 4), "token_types");
    assert_refused(WEFT_ERROR_ARGUMENT, (void)weft_bert(tokens, &options, NULL), "already has a parameter");
    assert_null(weft_bert(NULL, NULL, NULL));
}

/* Token 40 of a vocabulary of 40, and type 3 of 3. */
static void a_token_out_of_range_fails_the_read(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        const int32_t numbers[2][5] = {{1, 2, 3, k == 0 ? 40 : 4, 5}, {0, 1, 2, 0, k == 1 ? 3 : 0}};
        float values[160];
        weft_graph *const graph = test_graph();
        weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 5);
        weft_bert_options options = small_options();
        options.token_types = weft_input(graph, "types", WEFT_I32, 5);
        weft_tensor *states = weft_bert(tokens, &options, NULL);
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(
            &plan, &states, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 1, .inference = true}));
        assert_weft_ok(weft_plan_write(plan, tokens, numbers[0], sizeof numbers[0]));
        assert_weft_ok(weft_plan_write(plan, options.token_types, numbers[1], sizeof numbers[1]));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_fails(
            WEFT_ERROR_ARGUMENT, weft_plan_read(plan, states, values, sizeof values), "embedding");
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

static int set_up(void **state) {
    (void)state;
    golden = golden_file("bert_golden.json");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    cJSON_Delete(golden);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_are_as_pytorch_has_them),
        cmocka_unit_test(gradients_are_as_pytorch_has_them), cmocka_unit_test(first_values_are_those_of_bert),
        cmocka_unit_test(without_options_it_is_bert_base), cmocka_unit_test(dropout_is_of_training_only),
        cmocka_unit_test(a_token_out_of_range_fails_the_read), cmocka_unit_test(bad_input_is_an_error)};
    return test_finish(cmocka_run_group_tests(tests, set_up, tear_down));
}
