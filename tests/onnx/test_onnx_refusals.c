/* Errors of loading networks by weft/onnx.h: data in other files, damaged and hostile files, names, versions. */
#ifdef __linux__
#define _GNU_SOURCE /* memmem */
#endif
#include "support/fixture.h"
#include "support/onnx_case.h"
#include "support/scratch.h"
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
    assert_weft_fails(WEFT_ERROR_FORMAT, try_folder(folder, false), "not a number");
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

/* Nodes whose second output is not supported. */
static void test_second_outputs(void **state) {
    static const struct {
        const char *op, *inputs, *attributes, *error;
    } nodes[] = {{"Dropout", "x half yes", "", "the mask of a dropout in training is not supported"},
        {"MaxPool", "image", "kernel_shape=[17,17]", "windows of at most 256 elements"}};
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        const size_t model = begin_network();
        onnx_input(&file, "image", "1 1 32 32");
        onnx_case_constant(&file, "half", CASE_FLOAT, "", (const double[]){0.5});
        onnx_case_constant(&file, "yes", CASE_BOOL, "", (const double[]){1});
        onnx_case_node(&file, nodes[i].op, nodes[i].inputs, "y second", nodes[i].attributes);
        onnx_end_model(&file, model);
        assert_weft_fails(WEFT_ERROR_UNSUPPORTED, try_load(NULL), nodes[i].error);
    }
}

static void test_names(void **state) {
    static char name[3000];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    size_t model = begin_network();
    onnx_floats(&file, "w", "4 4");
    onnx_floats(&file, "weft.b", "4");
    onnx_floats(&file, "a\x1b[31m\xff", "4");
    onnx_floats(&file, name, "4");
    onnx_node(&file, "MatMul", "x w", "product");
    onnx_node(&file, "Add", "product weft.b", "h");
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
    assert_int_equal(weft_graph_parameter_count(graph), 4);
    for (size_t i = 0; i < 4; i++) {
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
    *set = 0;
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "there is no operator set 0");
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

/* Fields that only Weft writes say where data lies; those of a file are dropped. */
static void test_private_fields(void **state) {
    enum { ADDRESS = 1001, LENGTH, KIND };
    (void)state;
    const size_t model = begin_network(), tensor = onnx_begin(&file, 5);
    onnx_put_whole(&file, 1, 4);
    onnx_put_whole(&file, 2, 1);
    onnx_put_text(&file, 8, "b");
    onnx_put_whole(&file, ADDRESS, 64);
    onnx_put_whole(&file, LENGTH, 16);
    onnx_put_whole(&file, KIND, 9);
    onnx_end(&file, tensor);
    onnx_node(&file, "Add", "x b", "y");
    onnx_end_model(&file, model);
    assert_weft_fails(WEFT_ERROR_FORMAT, try_load(NULL), "'b' has 0 bytes of data, but its shape needs 16");
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

/* Each allocation of a load may fail: the load is then an error, and nothing leaks. */
static void test_memory(void **state) {
    scratch_allocator allocator;
    weft_onnx_model *model = NULL;
    weft_graph *graph;
    weft_status loaded = WEFT_ERROR_MEMORY;
    (void)state;
    write_layer("batch 4");
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    for (long k = 0; loaded != WEFT_OK; k++) {
        assert_weft_ok(weft_graph_create(&graph, context));
        const long live = allocator.live;
        allocator.fail_after = allocator.made + k;
        loaded = weft_onnx_load_from_memory(&model, graph, file.data, file.length, NULL);
        allocator.fail_after = -1;
        if (loaded != WEFT_OK) {
            assert_int_equal(loaded, WEFT_ERROR_MEMORY);
            assert_null(model);
            assert_true(k < 1000 && allocator.live >= live);
        }
        weft_onnx_model_release(model);
        weft_graph_release(graph);
    }
    weft_context_release(context);
    assert_int_equal(allocator.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside), cmocka_unit_test(test_operators),
        cmocka_unit_test(test_attributes), cmocka_unit_test(test_second_outputs),
        cmocka_unit_test(test_names), cmocka_unit_test(test_versions), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_private_fields), cmocka_unit_test(test_many_messages),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_memory)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
