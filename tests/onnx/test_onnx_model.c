/* Loading networks by weft/onnx.h: what a model has, which constants train, open sizes, and values of inputs. */
#ifdef __linux__
#define _GNU_SOURCE /* memmem */
#endif
#include "support/fixture.h"
#include "support/onnx_bytes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static onnx_bytes file;

static weft_status load(weft_onnx_model **model, weft_graph **graph, const weft_onnx_options *options) {
    *graph = test_graph();
    const weft_status status = weft_onnx_load_from_memory(model, *graph, file.data, file.length, options);
    assert_true(strlen(weft_last_error()) < 500);
    return status;
}

/* The status of a load of which only the error is of interest. */
static weft_status try_load(const weft_onnx_options *options) {
    weft_onnx_model *model;
    weft_graph *graph;
    const weft_status status = load(&model, &graph, options);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    return status;
}

/* The names of the parameters of the file's network, in the order of the graph. */
static void assert_parameters(const char *const *names, const weft_onnx_options *options) {
    weft_onnx_model *model;
    weft_graph *graph;
    size_t count = 0;
    assert_weft_ok(load(&model, &graph, options));
    while (names[count]) count++;
    assert_int_equal(weft_graph_parameter_count(graph), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), names[i]);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}
#define PARAMETERS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* y = relu(x · w + b) · 0.5, with w as the first initializer. */
static void write_layer(const char *dims) {
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", dims);
    onnx_floats(&file, "w", "4 3");
    onnx_floats(&file, "b", "3");
    onnx_floats(&file, "half", "");
    onnx_node(&file, "MatMul", "x w", "product");
    onnx_node(&file, "Add", "product b", "sum");
    onnx_node(&file, "Relu", "sum", "hidden");
    onnx_node(&file, "Mul", "hidden half", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
}

/* ---- what a model has ---- */

static void test_model(void **state) {
    weft_onnx_model *model;
    weft_graph *graph;
    weft_plan *plan;
    const float x[] = {1, 0, 0, 0, 0, 2, 0, 0};
    float y[6];
    (void)state;
    write_layer("batch 4");
    assert_weft_ok(load(&model, &graph, NULL));
    assert_int_equal(weft_onnx_input_count(model), 1);
    assert_string_equal(weft_onnx_input_name(model, 0), "x");
    assert_null(weft_onnx_input_name(model, 1));
    assert_null(weft_onnx_input(model, 1));
    assert_int_equal(weft_tensor_dimension(weft_onnx_input(model, 0), 0), WEFT_BATCH);
    assert_int_equal(weft_onnx_output_count(model), 1);
    assert_string_equal(weft_onnx_output_name(model, 0), "y");
    assert_null(weft_onnx_output(model, 1));
    assert_ptr_equal(weft_onnx_tensor(model, "y"), weft_onnx_output(model, 0));
    assert_int_equal(weft_tensor_rank(weft_onnx_tensor(model, "hidden")), 2);
    assert_null(weft_onnx_tensor(model, "nothing"));
    assert_string_equal(weft_onnx_metadata(model, "author"), "nobody");
    assert_string_equal(weft_onnx_metadata(model, "producer_name"), "a test");
    assert_null(weft_onnx_metadata(model, "doc_string"));
    assert_int_equal(weft_onnx_opset(model, ""), 17);
    assert_int_equal(weft_onnx_opset(model, "com.microsoft"), 0);
    weft_tensor *const input = weft_onnx_input(model, 0), *const output = weft_onnx_output(model, 0);
    weft_onnx_model_release(model); /* the graph keeps the weights */
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2, .inference = true};
    assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
    assert_weft_ok(weft_plan_write(plan, input, x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, output, y, sizeof y));
    const float wanted[] = {2 / 64.0f, 4 / 64.0f, 6 / 64.0f, 9 / 64.0f, 12 / 64.0f, 15 / 64.0f};
    for (int i = 0; i < 6; i++) assert_float_equal(y[i], wanted[i], 1e-6);
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_onnx_model_release(NULL);
}

/* Two networks in one graph need scopes; names of parameters and inputs then begin with them. */
static void test_scopes(void **state) {
    weft_onnx_model *first, *second;
    weft_graph *const graph = test_graph();
    weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .scope = "a"};
    (void)state;
    write_layer("batch 4");
    assert_weft_ok(weft_onnx_load_from_memory(&first, graph, file.data, file.length, &options));
    options.scope = "b";
    assert_weft_ok(weft_onnx_load_from_memory(&second, graph, file.data, file.length, &options));
    assert_non_null(weft_graph_find(graph, "a.w"));
    assert_non_null(weft_graph_find(graph, "b.b"));
    assert_non_null(weft_graph_find_input(graph, "b.x"));
    weft_onnx_model_release(first);
    weft_onnx_model_release(second);
    weft_onnx_model *third;
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_onnx_load_from_memory(&third, graph, file.data, file.length, &options), "b.w");
    weft_graph_release(graph);
}

/* ---- weights ---- */

static void test_options_for_weights(void **state) {
    (void)state;
    write_layer("batch 4");
    assert_parameters(PARAMETERS("w", "b"), NULL);
    assert_parameters(PARAMETERS(NULL), &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .frozen = true});
    assert_parameters(
        PARAMETERS("b"), &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .train = PARAMETERS("b*")});
    assert_parameters(
        PARAMETERS("w"), &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .freeze = PARAMETERS("b")});
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        try_load(&(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .freeze = PARAMETERS("bias")}), "freeze",
        "'bias'");
}

/* Constants whose places do not say that they train: a mask, a product of constants, a matrix that is added. */
static void test_places(void **state) {
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 4");
    onnx_input_typed(&file, "index", 7, "batch");
    onnx_floats(&file, "matrix", "4 4");
    onnx_floats(&file, "other", "4 4");
    onnx_floats(&file, "square", "4 4");
    onnx_floats(&file, "scale", "1 4");
    onnx_floats(&file, "table", "5 4");
    onnx_floats(&file, "positions", "4 4");
    onnx_floats(&file, "one", "1");
    onnx_wholes(&file, "where", "1", (const int64_t[]){2});
    onnx_node(&file, "MatMul", "matrix other", "constant"); /* no activation */
    onnx_node(&file, "Transpose", "square", "turned");
    onnx_node(&file, "MatMul", "x turned", "a");
    onnx_node(&file, "Mul", "a scale", "c");
    onnx_node(&file, "Gather", "table index", "rows");
    onnx_node(&file, "Gather", "positions where", "row");
    onnx_node(&file, "Add", "c rows", "d");
    onnx_node(&file, "Add", "d row", "e");
    onnx_node(&file, "Add", "e one", "f");
    onnx_node(&file, "Gemm", "f constant", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    assert_parameters(PARAMETERS("square", "scale", "table"), NULL);
    assert_parameters(
        PARAMETERS("positions"), &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .train = PARAMETERS("pos*")});
}

static void put_vector(const char *name, const float *values, size_t count) {
    const size_t tensor = onnx_begin(&file, 5);
    onnx_put_whole(&file, 1, (int64_t)count);
    onnx_put_whole(&file, 2, 1);
    onnx_put_text(&file, 8, name);
    onnx_put_bytes(&file, 9, values, count * sizeof *values);
    onnx_end(&file, tensor);
}

/* Vectors that do not train: what normalises the input, a mask, and the scales and biases of a norm that has none. */
static void test_vectors(void **state) {
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 4 3");
    onnx_floats(&file, "mean", "4 1");
    onnx_floats(&file, "gain", "3");
    onnx_floats(&file, "w", "3 3");
    onnx_floats(&file, "bias", "3");
    put_vector("mask", (const float[]){1, 0, 1}, 3);
    put_vector("ones", (const float[]){1, 1, 1, 1}, 4);
    put_vector("zeros", (const float[]){0, 0, 0, 0}, 4);
    put_vector("zero", (const float[]){0, 0, 0}, 3);
    onnx_floats(&file, "scale", "4");
    onnx_node(&file, "Sub", "x mean", "a");
    onnx_node(&file, "ReduceMean", "a", "average");
    onnx_node(&file, "Sub", "a average", "centred");
    onnx_node(&file, "Mul", "centred gain", "normed");
    onnx_node(&file, "MatMul", "normed w", "b");
    onnx_node(&file, "Add", "b bias", "c");
    onnx_node(&file, "Add", "c zero", "d");
    onnx_node(&file, "Mul", "d mask", "e");
    onnx_node(&file, "InstanceNormalization", "e ones zeros", "f");
    onnx_node(&file, "InstanceNormalization", "f scale zeros", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    assert_parameters(PARAMETERS("gain", "w", "bias", "zero", "zeros", "scale"), NULL);
}

/* A constant of two names is two vectors, or with `tied` one; a matrix stays one. */
static void test_merged(void **state) {
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 4");
    onnx_floats(&file, "w1", "4 4");
    onnx_floats(&file, "b1", "4");
    onnx_node(&file, "Identity", "w1", "w2");
    onnx_node(&file, "Identity", "b1", "b2");
    onnx_node(&file, "Gemm", "x w1 b1", "h");
    onnx_node(&file, "Gemm", "h w2 b2", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    assert_parameters(PARAMETERS("w1", "b1", "b2"), NULL);
    assert_parameters(PARAMETERS("w1", "b1"), &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .tied = true});
}

/* Norms that share a constant have running statistics of their own, and weights that are equal to them another tensor. */
static void test_statistics(void **state) {
    weft_onnx_model *model;
    weft_graph *graph;
    weft_plan *plan;
    size_t count;
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1];
    (void)state;
    const size_t begun = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 4 2 2");
    onnx_floats(&file, "ones", "4");
    onnx_node(&file, "BatchNormalization", "x ones ones ones ones", "h");
    onnx_node(&file, "BatchNormalization", "h ones ones ones ones", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, begun);
    assert_parameters(PARAMETERS("ones"), NULL);
    assert_weft_ok(load(&model, &graph, NULL));
    weft_tensor *const loss = weft_mean(weft_square(weft_onnx_output(model, 0)));
    const weft_optimizer optimizer = weft_sgd(0.1f);
    outputs[0] = loss;
    assert_weft_ok(weft_minimize(loss, &optimizer, outputs + 1, WEFT_MAX_UPDATES, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 3};
    assert_weft_ok(weft_plan_create(&plan, outputs, count + 1, &options));
    const float x[3 * 4 * 2 * 2] = {1, 2, 3};
    assert_weft_ok(weft_plan_write(plan, weft_onnx_input(model, 0), x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    weft_plan_release(plan);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

/* ---- sizes and values ---- */

static void test_sizes(void **state) {
    weft_onnx_model *model;
    weft_graph *graph;
    (void)state;
    const size_t begun = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch height width ?");
    onnx_input(&file, "z", "batch 7");
    onnx_node(&file, "Relu", "x", "y");
    onnx_node(&file, "Relu", "z", "w");
    onnx_output(&file, "y");
    onnx_output(&file, "w");
    onnx_end_model(&file, begun);
    assert_weft_ok(load(&model, &graph, NULL));
    assert_int_equal(weft_tensor_dimension(weft_onnx_output(model, 0), 1), weft_symbol(graph, "height"));
    assert_int_equal(weft_tensor_dimension(weft_onnx_output(model, 0), 2), weft_symbol(graph, "width"));
    assert_int_equal(weft_tensor_dimension(weft_onnx_output(model, 0), 3), weft_symbol(graph, "x:3"));
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    weft_onnx_size sizes[] = {{"height", WEFT_LENGTH}, {"x:2", 8}, {"x:3", 5}, {"z:1", 7}};
    weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .sizes = sizes, .size_count = 4};
    assert_weft_ok(load(&model, &graph, &options));
    weft_tensor *const y = weft_onnx_output(model, 0);
    assert_int_equal(weft_tensor_dimension(y, 0), WEFT_BATCH);
    assert_int_equal(weft_tensor_dimension(y, 1), WEFT_LENGTH);
    assert_int_equal(weft_tensor_dimension(y, 2), 8);
    assert_int_equal(weft_tensor_dimension(y, 3), 5);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    sizes[3].size = 8;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "'z:1' to 7");
    sizes[3].name = "depth";
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "no input has an open dimension 'depth'");
    sizes[3] = (weft_onnx_size){"x:3", 0};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "the size 0 of 'x:3'");
}

/* Sizes that a network computes of its inputs' sizes: (batch, length, 4) becomes (batch, length, 2, 2), and back. */
static void test_computed_sizes(void **state) {
    weft_onnx_model *model;
    weft_graph *graph;
    (void)state;
    const size_t begun = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch length 4");
    onnx_wholes(&file, "two", "1", (const int64_t[]){2});
    onnx_wholes(&file, "four", "1", (const int64_t[]){4});
    size_t node = onnx_begin_node(&file, "Shape", "x", "sizes");
    onnx_attribute_whole(&file, "end", 2);
    onnx_end(&file, node);
    node = onnx_begin_node(&file, "Concat", "sizes two two", "shape");
    onnx_attribute_whole(&file, "axis", 0);
    onnx_end(&file, node);
    onnx_node(&file, "Reshape", "x shape", "y");
    node = onnx_begin_node(&file, "Concat", "sizes four", "back");
    onnx_attribute_whole(&file, "axis", 0);
    onnx_end(&file, node);
    onnx_node(&file, "Reshape", "y back", "z");
    onnx_output(&file, "y");
    onnx_output(&file, "z");
    onnx_output(&file, "sizes");
    onnx_end_model(&file, begun);
    assert_weft_ok(load(&model, &graph, NULL));
    weft_tensor *outputs[] = {
        weft_onnx_output(model, 0), weft_onnx_output(model, 1), weft_onnx_output(model, 2)};
    assert_int_equal(weft_tensor_dimension(outputs[0], 0), WEFT_BATCH);
    assert_int_equal(weft_tensor_dimension(outputs[0], 1), WEFT_LENGTH);
    assert_int_equal(weft_tensor_rank(outputs[1]), 3);
    weft_plan *plan;
    int32_t sizes[2];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 3, .length = 5, .inference = true};
    assert_weft_ok(weft_plan_create(&plan, outputs, 3, &options));
    const float x[3 * 5 * 4] = {0};
    assert_weft_ok(weft_plan_write(plan, weft_onnx_input(model, 0), x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[2], sizes, sizeof sizes));
    assert_int_equal(sizes[0], 3);
    assert_int_equal(sizes[1], 5);
    weft_plan_release(plan);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

static void test_values(void **state) {
    weft_onnx_model *model;
    weft_graph *graph;
    (void)state;
    const size_t begun = onnx_begin_model(&file);
    onnx_input(&file, "x", "6");
    onnx_input_typed(&file, "shape", 7, "2");
    onnx_node(&file, "Reshape", "x shape", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, begun);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), "(Reshape)", "the shape must not depend on");
    weft_onnx_value value = {"shape", WEFT_I64, 1, (const int64_t[]){2}, (const int64_t[]){2, 3}};
    weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .values = &value, .value_count = 1};
    assert_weft_ok(load(&model, &graph, &options));
    assert_int_equal(weft_onnx_input_count(model), 2);
    assert_null(weft_onnx_input(model, 1));
    assert_string_equal(weft_onnx_input_name(model, 1), "shape");
    assert_int_equal(weft_tensor_dimension(weft_onnx_output(model, 0), 1), 3);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    value.dims = (const int64_t[]){3};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "'shape' has another shape");
    value.rank = 3;
    value.dims = (const int64_t[]){1 << 20, 1 << 20, 1 << 20};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "'shape'");
    value.name = "size";
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "no input 'size'");
}

/* A network that is saved with `from` keeps the document and the metadata of its file. */
static void test_kept_metadata(void **state) {
    char path[512];
    weft_onnx_model *model;
    weft_graph *graph;
    (void)state;
    write_layer("batch 4");
    onnx_put_text(&file, 6, "one layer");
    const size_t pair = onnx_begin(&file, 14);
    onnx_put_text(&file, 1, "licence");
    onnx_put_text(&file, 2, "none");
    onnx_end(&file, pair);
    assert_weft_ok(load(&model, &graph, NULL));
    weft_tensor *const y = weft_onnx_output(model, 0);
    snprintf(path, sizeof path, "%s", test_path("kept.onnx"));
    assert_weft_ok(
        weft_onnx_save(path, &y, 1, &(weft_onnx_save_options){WEFT_ONNX_SAVE_OPTIONS_INIT, .from = model}));
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    graph = test_graph();
    assert_weft_ok(weft_onnx_load(&model, graph, path, NULL));
    assert_string_equal(weft_onnx_metadata(model, "doc_string"), "one layer");
    assert_string_equal(weft_onnx_metadata(model, "author"), "nobody");
    assert_string_equal(weft_onnx_metadata(model, "licence"), "none");
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

/* Numbers that depend on the batch decide no size of another axis, and a part without elements is no tensor. */
static void test_open_numbers(void **state) {
    static const char *const errors[] = {"depends on an open size of the network's inputs",
        "an empty part of a tensor needs fixed sizes along its other axes", "dimension 1 of (3, 0) is zero"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const size_t begun = onnx_begin_model(&file);
        onnx_input(&file, "x", i == 2 ? "3 4" : "batch 4");
        onnx_wholes(&file, "parts", "2", (const int64_t[]){0, 4});
        if (i == 0) {
            onnx_node(&file, "Shape", "x", "sizes");
            onnx_node(&file, "Tile", "x sizes", "empty");
        } else {
            const size_t node = onnx_begin_node(&file, "Split", "x parts", "empty y");
            onnx_attribute_whole(&file, "axis", 1);
            onnx_end(&file, node);
        }
        onnx_output(&file, "empty");
        onnx_end_model(&file, begun);
        assert_weft_fails(i == 2 ? WEFT_ERROR_SHAPE : WEFT_ERROR_UNSUPPORTED, try_load(NULL), errors[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model), cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_options_for_weights), cmocka_unit_test(test_places),
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_merged), cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_computed_sizes), cmocka_unit_test(test_values),
        cmocka_unit_test(test_kept_metadata), cmocka_unit_test(test_open_numbers)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
