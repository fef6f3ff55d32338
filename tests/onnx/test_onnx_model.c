/* Loading networks by weft/onnx.h: what a model has, which constants train, open sizes, values of inputs, data in other
 * files, and errors. */
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
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), "'height', 'width', 'x:3'", "give sizes");
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
    value.name = "size";
    assert_weft_fails(WEFT_ERROR_ARGUMENT, try_load(&options), "no input 'size'");
}

/* ---- data in other files ---- */

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *const opened = fopen(path, "wb");
    assert_non_null(opened);
    assert_int_equal(fwrite(data, 1, bytes, opened), bytes);
    assert_int_equal(fclose(opened), 0);
}

static void write_beside(const char *location, const char *offset, const char *length) {
    const char *const entries[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    const size_t model = onnx_begin_model(&file), tensor = onnx_begin(&file, 5);
    onnx_put_whole(&file, 1, 2);
    onnx_put_whole(&file, 2, 1);
    onnx_put_text(&file, 8, "b");
    onnx_put_whole(&file, 14, 1);
    for (int i = 0; i < 3; i++) {
        const size_t entry = onnx_begin(&file, 13);
        onnx_put_text(&file, 1, entries[i][0]);
        onnx_put_text(&file, 2, entries[i][1]);
        onnx_end(&file, entry);
    }
    onnx_end(&file, tensor);
    onnx_input(&file, "x", "batch 2");
    onnx_node(&file, "Add", "x b", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
}

static weft_status try_folder(const char *folder, bool any_folder) {
    return try_load(&(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .folder = folder, .any_folder = any_folder});
}

static void test_beside(void **state) {
    static const float numbers[] = {1, 2, 3, 4};
    char folder[512], outside[600], link[600];
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_path("model"));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(outside, sizeof outside, "%s", test_path("outside.data"));
    write_file(outside, numbers, sizeof numbers);
    snprintf(link, sizeof link, "%s/inside.data", folder);
    write_file(link, numbers, sizeof numbers);
    write_beside("inside.data", "8", "8");
    assert_weft_ok(try_folder(folder, false));
    assert_weft_fails(WEFT_ERROR_FILE, try_folder(NULL, false), "'b'", "no folder is given");
    write_beside("inside.data", "12", "8");
    assert_weft_fails(WEFT_ERROR_FORMAT, try_folder(folder, false), "beyond the 16 bytes");
    write_beside("inside.data", "-8", "8");
    assert_weft_fails(WEFT_ERROR_FORMAT, try_folder(folder, false), "no number");
    write_beside("nothing.data", "0", "8");
    assert_weft_fails(WEFT_ERROR_FILE, try_folder(folder, false), "nothing.data");
    write_beside("../outside.data", "0", "8");
    assert_weft_fails(WEFT_ERROR_FILE, try_folder(folder, false), "outside the folder", "any_folder");
    assert_weft_ok(try_folder(folder, true));
    snprintf(link, sizeof link, "%s/link.data", folder);
    assert_int_equal(symlink(outside, link), 0);
    write_beside("link.data", "0", "8");
    assert_weft_fails(WEFT_ERROR_FILE, try_folder(folder, false), "outside the folder");
    write_beside(outside, "0", "8");
    assert_weft_fails(WEFT_ERROR_FILE, try_folder(folder, false), "outside the folder");
    /* A file looks in its own folder. */
    write_beside("inside.data", "0", "8");
    snprintf(link, sizeof link, "%s/model.onnx", folder);
    write_file(link, file.data, file.length);
    weft_onnx_model *model;
    weft_graph *const graph = test_graph();
    assert_weft_ok(weft_onnx_load(&model, graph, link, NULL));
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

/* ---- errors ---- */

/* A network of one input "x" of (batch, 4), some nodes, and the output "y". */
static size_t begin_network(void) {
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 4");
    onnx_output(&file, "y");
    return model;
}

static void test_operators(void **state) {
    (void)state;
    size_t model = begin_network();
    onnx_node(&file, "Strange", "x", "a");
    onnx_node(&file, "Strange", "a", "b");
    const size_t node = onnx_begin_node(&file, "Bar", "b", "y");
    onnx_put_text(&file, 7, "Foo");
    onnx_end(&file, node);
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), "not supported: Strange (2 nodes), Foo.Bar");
    model = begin_network();
    onnx_node(&file, "Relu", "h", "y"); /* out of order */
    onnx_node(&file, "Abs", "x", "h");
    onnx_end_model(&file, model);
    assert_weft_ok(try_load(NULL));
    model = begin_network();
    onnx_node(&file, "Add", "x b", "a");
    onnx_node(&file, "Relu", "a", "b");
    onnx_node(&file, "Relu", "b", "y");
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "depends on its own result");
    model = begin_network();
    onnx_node(&file, "Add", "x nothing", "y");
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "'the_Add' (Add)", "no node computes 'nothing'");
    model = begin_network();
    onnx_node(&file, "Add", "x", "y");
    onnx_node(&file, "Relu", "x", "y");
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "'y' is given twice");
    model = begin_network();
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "no node computes the output 'y'");
}

static void test_attributes(void **state) {
    (void)state;
    const size_t model = begin_network(), node = onnx_begin_node(&file, "Softmax", "x", "y");
    const size_t attribute = onnx_begin(&file, 5);
    onnx_put_text(&file, 1, "axis");
    onnx_put_text(&file, 4, "first");
    onnx_put_whole(&file, 20, 3);
    onnx_end(&file, attribute);
    onnx_end(&file, node);
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "(Softmax)", "'axis' has the wrong type");
}

static void test_names(void **state) {
    static char name[3000];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    size_t model = begin_network();
    onnx_floats(&file, "weft.b", "4");
    onnx_floats(&file, "a\x1b[31m\xff", "4");
    onnx_floats(&file, name, "4");
    onnx_node(&file, "Add", "x weft.b", "h");
    onnx_node(&file, "Add", "h a\x1b[31m\xff", "i");
    const size_t node = onnx_begin(&file, 1);
    onnx_put_text(&file, 1, "i");
    onnx_put_text(&file, 1, name);
    onnx_put_text(&file, 2, "y");
    onnx_put_text(&file, 4, "Add");
    onnx_end(&file, node);
    onnx_end_model(&file, model);
    weft_onnx_model *loaded;
    weft_graph *graph;
    assert_weft_ok(load(&loaded, &graph, NULL));
    assert_int_equal(weft_graph_parameter_count(graph), 3);
    for (size_t i = 0; i < 3; i++) {
        const char *const own = weft_tensor_name(weft_graph_parameter(graph, i));
        assert_true(strlen(own) < 256 && !strchr(own, '\x1b') && strncmp(own, "weft.", 5) != 0);
    }
    weft_onnx_model_release(loaded);
    weft_graph_release(graph);
    model = begin_network();
    onnx_node(&file, "Add", "x a\x1b[31m\xff", "y");
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "'a?[31m?'");
}

static void test_versions(void **state) {
    (void)state;
    write_layer("batch 4");
    file.data[1] = 14;
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), "format version 14");
    file.data[1] = 2;
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), "format version 2");
    file.data[1] = 8;
    char *const set = memchr(file.data, 17, 32);
    assert_non_null(set);
    *set = 29;
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), "operator set 29", "any_opset");
    assert_weft_ok(try_load(&(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .any_opset = true}));
}

/* Bytes that make a careless reader allocate, recurse or read beyond the end. */
static void test_hostile(void **state) {
    (void)state;
    file.length = 0;
    onnx_put_bytes(&file, 7, NULL, 0);
    file.data[1] = (char)0xff;
    memcpy(file.data + 2, "\xff\xff\xff\x7f", 4);
    file.length = 6;
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "not an ONNX file", "longer than what contains it");
    size_t begun[100];
    file.length = 0;
    begun[0] = onnx_begin(&file, 7);
    for (int i = 1; i + 2 < 100; i += 3) { /* a graph in an attribute of a node of a graph ... */
        begun[i] = onnx_begin(&file, 1);
        begun[i + 1] = onnx_begin(&file, 5);
        begun[i + 2] = onnx_begin(&file, 6);
    }
    for (int i = 99; i >= 0; i--) onnx_end(&file, begun[i]);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "nested too deeply");
    assert_weft_fails(
        WEFT_ERROR_FORMAT, try_load(&(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT}), "a model in memory");
    file.length = 0;
    onnx_put_text(&file, 2, "no graph");
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "it has no graph");
    write_layer("batch 4");
    char *const data = memmem(file.data, file.length, "\x4a\x30", 2); /* the 48 bytes of w */
    assert_non_null(data);
    data[1] = 0x2c;
    assert_int_not_equal(try_load(NULL), WEFT_OK);
    write_layer("batch 0");
    assert_int_not_equal(try_load(NULL), WEFT_OK);
}

/* Millions of empty messages take more memory than their bytes justify. */
static void test_many_messages(void **state) {
    enum { BYTES = 8 << 20 };
    weft_onnx_model *model;
    (void)state;
    char *const bytes = malloc(BYTES + 6);
    assert_non_null(bytes);
    memcpy(bytes, "\x3a\x80\x80\x80\x84\x00", 6); /* a graph of BYTES bytes */
    for (size_t i = 0; i < BYTES; i += 2) memcpy(bytes + 6 + i, "\x0a\x00", 2);
    weft_graph *const graph = test_graph();
    assert_weft_fails(WEFT_ERROR_FORMAT, weft_onnx_load_from_memory(&model, graph, bytes, BYTES + 6, NULL),
        "far more fields than its size justifies");
    weft_graph_release(graph);
    free(bytes);
}

static void test_arguments(void **state) {
    weft_onnx_model *model;
    weft_graph *const graph = test_graph();
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_load(NULL, graph, "x", NULL), "model is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_load(&model, NULL, "x", NULL), "graph is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_load(&model, graph, NULL, NULL), "path is NULL");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_onnx_load_from_memory(&model, graph, NULL, 0, NULL), "data is NULL");
    assert_weft_fails(WEFT_ERROR_FILE, weft_onnx_load(&model, graph, test_folder(), NULL), "cannot read");
    const weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .size_count = 1};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_load(&model, graph, "x", &options), "sizes");
    assert_int_equal(weft_onnx_input_count(NULL), 0);
    assert_null(weft_onnx_metadata(NULL, "author"));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model), cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_options_for_weights), cmocka_unit_test(test_places),
        cmocka_unit_test(test_merged), cmocka_unit_test(test_statistics), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_computed_sizes), cmocka_unit_test(test_values), cmocka_unit_test(test_beside),
        cmocka_unit_test(test_operators), cmocka_unit_test(test_attributes), cmocka_unit_test(test_names),
        cmocka_unit_test(test_versions), cmocka_unit_test(test_hostile), cmocka_unit_test(test_many_messages),
        cmocka_unit_test(test_arguments)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
