/* Nodes of ONNX networks that the host computes: numbers with open sizes, control flow, functions, and bad input. */
#include "onnx/onnx_fold.h"
#include "onnx/onnx_sizes.h"
#include "support/fixture.h"
#include "support/onnx_bytes.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static onnx_bytes file;

/* Reads the file with all defaults. */
static weft_status load(weft_onnx_model **model, weft_graph **graph) {
    *graph = test_graph();
    const weft_status status = weft_onnx_load_from_memory(model, *graph, file.data, file.length, NULL);
    assert_true(strlen(weft_last_error()) < 500);
    return status;
}

static weft_status try_load(void) {
    weft_onnx_model *model;
    weft_graph *graph;
    const weft_status status = load(&model, &graph);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    return status;
}

/* ---- numbers that depend on open sizes ---- */

/* A number of a file, or from HANDLES on a handle of graph/sizes.h. NAN: none. */
#define HANDLES 0x1p40
#define N       ((double)WI_BATCH_HANDLE)
#define L       ((double)WEFT_LENGTH)

typedef struct calculation {
    wi_onnx_rule rule;
    double a, b, wanted; /* wanted NAN: the result is left to the device */
} calculation;

static double number_of(weft_graph *graph, double number) {
    wi_polynomial p;
    if (!(fabs(number) >= HANDLES)) return number;
    assert_true(wi_polynomial_of(graph, (int64_t)number, false, &p));
    return wi_onnx_from_polynomial(graph, &p);
}

static void check_calculation(weft_graph *graph, size_t index, const calculation *c, bool whole) {
    const double made =
        wi_onnx_calculate_open(graph, c->rule, whole, number_of(graph, c->a), number_of(graph, c->b));
    const double wanted = number_of(graph, c->wanted);
    if (isnan(wanted) ? !isnan(made) : made != wanted)
        fail_msg("calculation %zu gives %g, not %g", index, made, wanted);
}

/* floor(of / 2) as a handle. */
static double half_of(weft_graph *graph, double of) {
    return (double)wi_counted(graph, wi_dim_divide(graph, (int64_t)of, 2));
}

static void test_open_numbers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const double NL = (double)wi_counted(graph, wi_dim_multiply(graph, WEFT_BATCH, WEFT_LENGTH)),
                 NN = (double)wi_counted(graph, wi_dim_multiply(graph, WEFT_BATCH, WEFT_BATCH)),
                 parity = (double)wi_position_add(graph, WEFT_LENGTH, 2 * (int64_t)half_of(graph, L), -1),
                 half_more = (double)wi_position_add(graph, WI_BATCH_HANDLE, (int64_t)half_of(graph, N), 1),
                 half_less = half_of(graph, L - 3), sum = (double)wi_dim_add(graph, (int64_t)NL, WEFT_LENGTH);
    const calculation calculations[] = {{WI_ONNX_ADD, 12 * N + 3, 4, 12 * N + 7},
        {WI_ONNX_SUB, 2 * L + 1, 2 * L, 1}, {WI_ONNX_SUB, 5, N, 5 - N},
        {WI_ONNX_MUL, 2 * N + 1, 3, 6 * N + 3}, {WI_ONNX_MUL, N, 0.5, NAN}, {WI_ONNX_MUL, 4 * N, 0.5, 2 * N},
        {WI_ONNX_MUL, N, N, NN}, {WI_ONNX_MUL, 2 * N, 3 * L, 6 * NL}, {WI_ONNX_MUL, N + 1, L, sum},
        {WI_ONNX_MUL, NL, 64, 64 * NL}, {WI_ONNX_MUL, NL, 0.5, NAN}, {WI_ONNX_DIV, 6 * NL, 2 * N, 3 * L},
        {WI_ONNX_DIV, 6 * NL, 3 * L, 2 * N}, {WI_ONNX_DIV, sum, L, N + 1}, {WI_ONNX_DIV, 12 * N, 4, 3 * N},
        {WI_ONNX_DIV, N, 0.5, 2 * N}, {WI_ONNX_DIV, 6 * L, 2 * L, 3}, {WI_ONNX_DIV, L, N, NAN},
        {WI_ONNX_DIV, 5, L, NAN}, {WI_ONNX_DIV, N, 0, NAN}, {WI_ONNX_MOD, 8 * N + 5, 4, 1},
        {WI_ONNX_MOD, L, 2, parity}, {WI_ONNX_EQUAL, N, -1, 0}, {WI_ONNX_EQUAL, N, 0, 0},
        {WI_ONNX_EQUAL, N, 1, NAN}, {WI_ONNX_EQUAL, N, N, 1}, {WI_ONNX_EQUAL, N, L, NAN},
        {WI_ONNX_LESS, L, 1, 0}, {WI_ONNX_LESS, L, 2, NAN}, {WI_ONNX_LESS, 0, L, 1},
        {WI_ONNX_LESS, L, L + 1, 1}, {WI_ONNX_GREATER, 2 * N, N, 1}, {WI_ONNX_GREATER, N, NL, NAN},
        {WI_ONNX_LESS_EQUAL, 1, L, 1}, {WI_ONNX_GREATER_EQUAL, L, 1, 1}, {WI_ONNX_MAX, L, 1, L},
        {WI_ONNX_MIN, L, 1, 1}, {WI_ONNX_MIN, L, 512, NAN}, {WI_ONNX_MAX, L - 5, 0, NAN},
        {WI_ONNX_ABS, -N, 0, N}, {WI_ONNX_SIGN, N, 0, 1}, {WI_ONNX_RELU, N - 1, 0, N - 1},
        {WI_ONNX_NOT, N, 0, 0}, {WI_ONNX_FLOOR, N, 0, N}, {WI_ONNX_NEG, N, 0, -N}, {WI_ONNX_SQRT, N, 0, NAN},
        {WI_ONNX_SQUARE, N, 0, NN}, {WI_ONNX_POW, N, 2, NAN}};
    /* Whole numbers are divided as sizes of strided windows are; floats only where the quotient is exact. */
    const calculation floors[] = {{WI_ONNX_DIV, 3 * N, 2, half_more}, {WI_ONNX_DIV, 2 * L + 1, 2, L},
        {WI_ONNX_DIV, L - 3, 2, half_less}, {WI_ONNX_DIV, -L, 2, NAN}, {WI_ONNX_MIN, L, 16, L},
        {WI_ONNX_MIN, 16, L, L}};
    for (size_t i = 0; i < sizeof calculations / sizeof *calculations; i++)
        check_calculation(graph, i, &calculations[i], false);
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) check_calculation(graph, i, &floors[i], true);
    check_calculation(graph, 0, &(calculation){WI_ONNX_DIV, 3 * N, 2, NAN}, false);
    weft_graph_release(graph);
}

/* (batch, 6, length) as (batch, 3, 2 length), by sizes that the file calculates, plus the positions along the length. */
static void write_open(void) {
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 6 length");
    onnx_wholes(&file, "zero", "", (const int64_t[]){0});
    onnx_wholes(&file, "one", "", (const int64_t[]){1});
    onnx_wholes(&file, "two", "", (const int64_t[]){2});
    onnx_wholes(&file, "first", "1", (const int64_t[]){0});
    onnx_wholes(&file, "three", "1", (const int64_t[]){3});
    onnx_wholes(&file, "minus", "3", (const int64_t[]){-1, -1, -1});
    onnx_node(&file, "Shape", "x", "shape");
    onnx_node(&file, "Gather", "shape two", "length");
    onnx_node(&file, "Gather", "shape zero", "batch");
    onnx_node(&file, "Mul", "length two", "twice");
    onnx_node(&file, "Unsqueeze", "twice first", "twices");
    onnx_node(&file, "Unsqueeze", "batch first", "batches");
    const size_t node = onnx_begin_node(&file, "Concat", "batches three twices", "reshaped");
    onnx_attribute_whole(&file, "axis", 0);
    onnx_end(&file, node);
    onnx_node(&file, "Equal", "reshaped minus", "unknown");
    onnx_node(&file, "Where", "unknown minus reshaped", "wanted");
    onnx_node(&file, "Reshape", "x wanted", "y");
    onnx_node(&file, "Range", "zero length one", "positions");
    onnx_node(&file, "ConstantOfShape", "twices", "zeros");
    onnx_node(&file, "Add", "y zeros", "sum");
    onnx_output(&file, "sum");
    onnx_output(&file, "positions");
    onnx_end_model(&file, model);
}

static void test_open_sizes(void **state) {
    enum { BATCH = 2, LENGTH = 4, COUNT = BATCH * 6 * LENGTH };
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .length = LENGTH, .inference = true};
    weft_onnx_model *model;
    weft_graph *graph;
    weft_plan *plan;
    float x[COUNT], y[COUNT];
    int32_t positions[LENGTH];
    (void)state;
    write_open();
    for (int i = 0; i < COUNT; i++) x[i] = (float)i;
    assert_weft_ok(load(&model, &graph));
    weft_tensor *const outputs[] = {weft_onnx_output(model, 0), weft_onnx_output(model, 1)};
    assert_int_equal(weft_tensor_dimension(outputs[0], 0), WEFT_BATCH);
    assert_int_equal(weft_tensor_dimension(outputs[0], 2), 2 * WEFT_LENGTH);
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_weft_ok(weft_plan_write(plan, weft_onnx_input(model, 0), x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], y, sizeof y));
    assert_weft_ok(weft_plan_read(plan, outputs[1], positions, sizeof positions));
    assert_memory_equal(x, y, sizeof x);
    for (int i = 0; i < LENGTH; i++) assert_int_equal(positions[i], i);
    weft_plan_release(plan);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

/* y = op of whole numbers a, b, c; the shapes of these, and what they hold from their beginning. */
static const struct {
    const char *op, *inputs, *dims[3];
    int64_t numbers[3][4];
    const char *error;
} bad[] = {{"Gather", "a b", {"3", "1"}, {{1, 2, 3}, {3}}, "index 3 is outside an axis of size 3"},
    {"Gather", "a b", {"3", "1"}, {{1, 2, 3}, {-4}}, "index -4 is outside"},
    {"GatherElements", "a b", {"3", "2"}, {{1, 2, 3}, {0, 7}}, "index 7 is outside"},
    {"GatherND", "a b", {"2 2", "1 3"}, {{1, 2, 3, 4}, {0, 0, 0}}, "indices have a shape"},
    {"ScatterND", "a b c", {"3", "1 1", "2"}, {{1, 2, 3}, {0}, {1, 2}}, "updates have a shape"},
    {"Reshape", "a b", {"3", "1"}, {{1, 2, 3}, {-5}}, "not a size"},
    {"Reshape", "a b", {"3", "2"}, {{1, 2, 3}, {-1, -1}}, "not a size"},
    {"Reshape", "a b", {"3", "2"}, {{1, 2, 3}, {2, INT64_MAX}}, "not a size"},
    {"Reshape", "a b", {"3", "1"}, {{1, 2, 3}, {4}}, "another number of elements"},
    {"Slice", "a b c", {"3", "1", "2"}, {{1, 2, 3}, {0}, {1, 2}}, "do not match its starts"},
    {"Squeeze", "a b", {"3", "1"}, {{1, 2, 3}, {0}}, "does not have the size 1"},
    {"Squeeze", "a b", {"1", "1"}, {{1}, {INT64_MIN}}, "there is no axis"},
    {"Unsqueeze", "a b", {"3", "2"}, {{1, 2, 3}, {0, 0}}, "named twice"},
    {"Expand", "a b", {"3", "1"}, {{1, 2, 3}, {4}}, "does not broadcast"},
    {"Tile", "a b", {"3", "1"}, {{1, 2, 3}, {-1}}, "negative"},
    {"Split", "a b", {"3", "1"}, {{1, 2, 3}, {4}}, "sizes are not those of the axis"},
    {"Pad", "a b", {"3", "1"}, {{1, 2, 3}, {1}}, "two numbers for each axis"},
    {"Pad", "a b", {"3", "2"}, {{1, 2, 3}, {-2, -2}}, "pads do not fit"},
    {"Add", "a b", {"3", "2"}, {{1, 2, 3}, {1, 2}}, "do not fit"},
    {"Div", "a b", {"1", "1"}, {{1}, {0}}, "do not give a whole number"},
    {"Mod", "a b", {"1", "1"}, {{1}, {0}}, "do not give a whole number"},
    {"Mul", "a b", {"1", "1"}, {{INT64_C(1) << 40}, {INT64_C(1) << 40}}, "whole number"},
    {"Add", "a b", {"1", "1"}, {{INT64_MAX}, {1}}, "whole number"},
    {"Range", "a b c", {"", "", ""}, {{0}, {5}, {0}}, "has no end"},
    {"TopK", "a b", {"3", "1"}, {{1, 2, 3}, {4}}, "not within the axis"},
    {"Concat", "a b", {"3", "2 1"}, {{1, 2, 3}, {1, 2}}, "do not fit"},
    {"SequenceAt", "a b", {"3", ""}, {{1, 2, 3}, {0}}, "not a sequence"},
    {"If", "a", {""}, {{1}}, "no graph 'then_branch'"},
    {"Loop", "a - b", {"", "3"}, {{1}, {1, 2, 3}}, "no graph 'body'"},
    {"Scan", "a", {"3"}, {{1, 2, 3}}, "it scans 0 of its 1 inputs"}};

static void test_bad_input(void **state) {
    static const char *const names[] = {"a", "b", "c"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const size_t model = onnx_begin_model(&file);
        onnx_input(&file, "x", "2 3");
        for (size_t k = 0; k < 3 && bad[i].dims[k]; k++)
            onnx_wholes(&file, names[k], bad[i].dims[k], bad[i].numbers[k]);
        const size_t node = onnx_begin_node(&file, bad[i].op, bad[i].inputs, "y");
        if (strcmp(bad[i].op, "Concat") == 0) onnx_attribute_whole(&file, "axis", 0);
        onnx_end(&file, node);
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        const weft_status status = try_load();
        if (status == WEFT_OK || !strstr(weft_last_error(), bad[i].error) ||
            !strstr(weft_last_error(), bad[i].op))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].op, weft_last_error(), bad[i].error);
    }
}

/* ---- functions ---- */

/* A call of domain "my", as a field of a graph or function. */
static void put_call(int field, const char *op, const char *input, const char *output) {
    const size_t node = onnx_begin(&file, field);
    onnx_put_text(&file, 1, input);
    onnx_put_text(&file, 2, output);
    onnx_put_text(&file, 4, op);
    if (op[0] == 'F') onnx_put_text(&file, 7, "my");
    onnx_end(&file, node);
}

/* y = first(second(x)) */
static void put_function(const char *name, const char *first, const char *second) {
    const size_t function = onnx_begin(&file, 25);
    onnx_put_text(&file, 1, name);
    onnx_put_text(&file, 4, "x");
    onnx_put_text(&file, 5, "y");
    put_call(7, second, "x", "t");
    put_call(7, first, "t", "y");
    onnx_put_text(&file, 10, "my");
    onnx_end(&file, function);
}

static void write_call(const char *name) {
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "2 3");
    put_call(1, name, "x", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
}

static void test_functions(void **state) {
    enum { CHAIN = 30 };
    char name[2][16];
    (void)state;
    write_call("F0");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(), "not supported: my.F0");
    put_function("F0", "Neg", "Relu");
    assert_weft_ok(try_load());
    write_call("F0");
    put_function("F0", "Neg", "F0");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(), "(F0)", "calls itself");
    /* Each function calls the next one twice. */
    write_call("F0");
    for (int i = 0; i < CHAIN; i++) {
        snprintf(name[0], sizeof name[0], "F%d", i);
        snprintf(name[1], sizeof name[1], "F%d", i + 1);
        put_function(name[0], name[1], name[1]);
    }
    put_function(name[1], "Neg", "Relu");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(), "too many nodes");
}

/* ---- branches and loops ---- */

static size_t begin_body(const char *name) {
    const size_t attribute = onnx_begin(&file, 5);
    onnx_put_text(&file, 1, name);
    onnx_put_whole(&file, 20, 5);
    return attribute;
}

/* An error of a graph's op in a branch names the branch's node, not only the If. */
static void test_branches(void **state) {
    (void)state;
    for (int64_t condition = 0; condition < 2; condition++) {
        const size_t model = onnx_begin_model(&file);
        onnx_input(&file, "x", "2 3");
        onnx_input(&file, "other", "4 5");
        onnx_wholes(&file, "condition", "", &condition);
        const size_t node = onnx_begin_node(&file, "If", "condition", "y");
        for (int branch = 0; branch < 2; branch++) {
            const size_t attribute = begin_body(branch == 0 ? "else_branch" : "then_branch"),
                         graph = onnx_begin(&file, 6);
            onnx_node(&file, branch == 0 ? "Add" : "MatMul", "x other", "sum");
            onnx_output(&file, "sum");
            onnx_end(&file, graph);
            onnx_end(&file, attribute);
        }
        onnx_end(&file, node);
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        assert_weft_fails(
            WEFT_ERROR_SHAPE, try_load(), condition ? "'the_MatMul' (MatMul)" : "'the_Add' (Add)");
    }
}

/* A loop of `turns`, "-" for any number, in a loop in a loop ...: the innermost adds the number of the turn to v. */
static void put_loop(int depth, const char *turns, const char *in, const char *out) {
    char inputs[64], inner[] = {(char)('a' + depth), 0}, result[] = {(char)('A' + depth), 0};
    snprintf(inputs, sizeof inputs, "%s - %s", turns, in);
    const size_t node = onnx_begin_node(&file, "Loop", inputs, out);
    const size_t attribute = begin_body("body"), graph = onnx_begin(&file, 6);
    char number[] = {'i', (char)('0' + depth), 0}, goes[] = {'c', (char)('0' + depth), 0},
         on[] = {'o', (char)('0' + depth), 0};
    onnx_input_typed(&file, number, 7, "");
    onnx_input_typed(&file, goes, 9, "");
    onnx_input_typed(&file, inner, 7, "");
    onnx_node(&file, "Identity", goes, on);
    snprintf(inputs, sizeof inputs, "%s %s", inner, number);
    if (depth > 0)
        put_loop(depth - 1, turns, inner, result);
    else
        onnx_node(&file, "Add", inputs, result);
    onnx_output(&file, on);
    onnx_output(&file, result);
    onnx_end(&file, graph);
    onnx_end(&file, attribute);
    onnx_end(&file, node);
}

static void write_loop(int depth, const char *turns, int64_t count) {
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "2 3");
    onnx_wholes(&file, "turns", "", &count);
    onnx_wholes(&file, "v", "1", (const int64_t[]){0});
    put_loop(depth, turns, "v", "sum");
    onnx_node(&file, "Reshape", "x sum", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
}

static void test_loops(void **state) {
    (void)state;
    write_loop(0, "turns", 4); /* 0 + 1 + 2 + 3 */
    assert_weft_ok(try_load());
    write_loop(0, "turns", 5);
    assert_weft_fails(WEFT_ERROR_SHAPE, try_load(), "10");
    write_loop(1, "turns", 3); /* three times 0 + 1 + 2 */
    assert_weft_fails(WEFT_ERROR_SHAPE, try_load(), "9");
    write_loop(0, "turns", 1 << 20);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(), "(Loop)", "more than 4096 iterations");
    write_loop(0, "-", 0);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(), "(Loop)", "more than 4096 iterations");
    write_loop(2, "turns", 4000);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(), "too many nodes");
}

/* A body of a loop, which has a matrix, in a body of a loop, which has another one. */
static void put_trained_loop(const char *in, const char *out, const char *matrix, bool is_outer) {
    char inputs[32], names[4][8];
    static const char *const kinds[] = {"i", "c", "v", "goes"};
    for (int k = 0; k < 4; k++) snprintf(names[k], sizeof names[k], "%s%d", kinds[k], is_outer);
    snprintf(inputs, sizeof inputs, "turns - %s", in);
    const size_t node = onnx_begin_node(&file, "Loop", inputs, out);
    const size_t attribute = begin_body("body"), body = onnx_begin(&file, 6);
    onnx_input_typed(&file, names[0], 7, "");
    onnx_input_typed(&file, names[1], 9, "");
    onnx_input(&file, names[2], "2 3");
    onnx_floats(&file, matrix, "3 3");
    onnx_node(&file, "Identity", names[1], names[3]);
    snprintf(inputs, sizeof inputs, "%s %s", names[2], matrix);
    onnx_node(&file, "MatMul", inputs, is_outer ? "first" : "second");
    if (is_outer)
        put_trained_loop("first", "last", "inner", false);
    else
        onnx_node(&file, "MatMul", "second outside", "third");
    onnx_output(&file, names[3]);
    onnx_output(&file, is_outer ? "last" : "third");
    onnx_end(&file, body);
    onnx_end(&file, attribute);
    onnx_end(&file, node);
}

/* A matrix is one parameter, however many turns the loops have. */
static void test_weights(void **state) {
    weft_onnx_model *loaded;
    weft_graph *graph;
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "2 3");
    onnx_wholes(&file, "turns", "", (const int64_t[]){3});
    onnx_floats(&file, "outside", "3 3");
    put_trained_loop("x", "y", "outer", true);
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    assert_weft_ok(load(&loaded, &graph));
    assert_int_equal(weft_graph_parameter_count(graph), 3);
    assert_non_null(weft_graph_find(graph, "inner"));
    assert_non_null(weft_graph_find(graph, "outer"));
    assert_non_null(weft_graph_find(graph, "outside"));
    weft_onnx_model_release(loaded);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_numbers), cmocka_unit_test(test_open_sizes),
        cmocka_unit_test(test_bad_input), cmocka_unit_test(test_functions), cmocka_unit_test(test_branches),
        cmocka_unit_test(test_loops), cmocka_unit_test(test_weights)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
