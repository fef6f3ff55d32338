/* Saved graphs compute what Weft computes: the file of every op with PyTorch's numbers is loaded again and compared with them, and so are
 * networks with layers and open sizes. With a folder as its argument, the program only writes files and numbers there, for
 * check_onnx_save.sh. WEFT_ONNX_CASES: a pattern of the ops and networks that are tried. */
/* test slow */
#include "base/memory.h"
#include "base/platform.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include "onnx/onnx_save_networks.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include "support/fixture.h"
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/onnx.h>

enum {
    PATH = 1024,
    TOGETHER = 32,
    BATCH = 3,
    LENGTH = 5,
    MOST_INPUTS = 4,
    OPSET = 21,
    FEWEST_CASES = 390,
    FEWEST_NETWORKS = 60
};

static weft_onnx_save_options options_of(int opset) {
    return (weft_onnx_save_options){
        WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = opset, .weights_beside = opset == OPSET};
}

static bool is_wanted(const char *name) {
    const char *const pattern = wi_environment("WEFT_ONNX_CASES");
    return !pattern || fnmatch(pattern, name, 0) == 0;
}

/* ---- recorded cases ---- */

/* The case in a graph of its own; inputs are named x0, x1, ... */
static weft_status build_case(recorded_case *r, weft_graph *graph, const cJSON *json) {
    recorded_inputs shared = {0};
    WI_TRY(recorded_build(r, &shared, graph, json));
    for (size_t i = 0; i < r->input_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "x%zu", i);
        wi_name_node(r->inputs[i], name);
    }
    return weft_graph_status(graph);
}

static weft_status save_case(const cJSON *json, const char *path, int opset) {
    recorded_case r;
    weft_graph *const graph = test_graph();
    const weft_onnx_save_options options = options_of(opset);
    weft_status status = build_case(&r, graph, json);
    if (status == WEFT_OK) status = weft_onnx_save(path, &r.output, 1, &options);
    weft_graph_release(graph);
    return status;
}

/* ---- networks ---- */

/* The shape at the plan's sizes. */
static size_t count_elements(const weft_tensor *x, int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < x->shape.rank; i++) {
        const wi_given given = {(const int64_t[]){0, LENGTH}, 2, 0, BATCH};
        int missing;
        const int64_t dim = wi_dim_at(x->graph, x->shape.dims[i], &given, &missing);
        dims[i] = dim < 0 ? -dim * BATCH : dim;
        count *= (size_t)dims[i];
    }
    return count;
}

static void *random_numbers(test_random *random, const weft_tensor *x, double low, double high) {
    int64_t dims[WEFT_MAX_RANK];
    const size_t count = count_elements(x, dims);
    void *const data = calloc(count, weft_dtype_size(x->dtype));
    for (size_t i = 0; i < count; i++)
        wi_format_of(x->dtype)->put(data, i,
            x->dtype == WEFT_F32 ? test_random_between(random, low, high)
                                 : (double)test_random_below(random, LENGTH));
    return data;
}

/* Biases and running statistics that differ from 0 and 1. */
static void fill_vectors(const char *name, weft_graph *graph) {
    test_random random = test_random_named(name, 1);
    for (size_t i = 0; i < graph->variable_count; i++) {
        weft_tensor *const x = graph->variables[i]->tensor;
        const bool state = !graph->variables[i]->trainable;
        if (!x->name || x->shape.rank > 1 || x->dtype != WEFT_F32) continue;
        void *const data = random_numbers(&random, x, state ? 0.5 : -0.5, state ? 1.5 : 0.5);
        assert_weft_ok(weft_tensor_write(x, data, graph->variables[i]->bytes));
        free(data);
    }
}

static weft_tensor *input_of(const weft_graph *graph, int index) {
    static const char *const names[] = {"x0", "x1", "x2", "x3"};
    return index < MOST_INPUTS ? weft_graph_find_input(graph, names[index]) : NULL;
}

/* The output for inputs that depend only on the name and on shapes. The caller frees it. */
static void *run_network(const char *name, const weft_graph *graph, weft_tensor *output) {
    test_random random = test_random_named(name, 0);
    int64_t dims[WEFT_MAX_RANK];
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .inference = true, .batch = BATCH, .length = LENGTH};
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
    for (int i = 0; input_of(graph, i); i++) {
        weft_tensor *const x = input_of(graph, i);
        void *const data = random_numbers(&random, x, -1, 1);
        assert_weft_ok(weft_plan_write(plan, x, data, count_elements(x, dims) * weft_dtype_size(x->dtype)));
        free(data);
    }
    const size_t bytes = count_elements(output, dims) * weft_dtype_size(output->dtype);
    void *const result = calloc(1, bytes);
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, output, result, bytes));
    weft_plan_release(plan);
    return result;
}

/* ---- files for other programs ---- */

static cJSON *array_of(const weft_tensor *x, const void *data) {
    int64_t dims[WEFT_MAX_RANK];
    const size_t count = count_elements(x, dims);
    cJSON *const array = cJSON_CreateObject(), *const sizes = cJSON_AddArrayToObject(array, "dims");
    cJSON_AddStringToObject(array, "dtype", weft_dtype_name(x->dtype));
    for (int i = 0; i < x->shape.rank; i++) cJSON_AddItemToArray(sizes, cJSON_CreateNumber((double)dims[i]));
    cJSON *const numbers = cJSON_AddArrayToObject(array, "data");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(numbers, cJSON_CreateNumber(wi_format_of(x->dtype)->get(data, i)));
    return array;
}

static void write_json(const char *path, const cJSON *json) {
    char *const text = cJSON_PrintUnformatted(json);
    assert_weft_ok(wi_file_write_atomic(path, text, strlen(text)));
    free(text);
}

static void write_cases(const char *folder, int opset) {
    cJSON *const all = recorded_cases();
    const cJSON *json;
    int number = 0;
    cJSON_ArrayForEach(json, all) {
        const char *const op = cJSON_GetStringValue(member(json, "op"));
        char path[PATH];
        snprintf(path, sizeof path, "%s/%04d.%s.onnx", folder, number, op);
        const weft_status status = save_case(json, path, opset);
        snprintf(path, sizeof path, "%s/%04d.%s.json", folder, number++, op);
        if (status == WEFT_OK)
            write_json(path, json);
        else
            printf("%s\n", weft_last_error());
    }
    cJSON_Delete(all);
}

static void write_network(const char *folder, int opset, const save_network *network) {
    char path[PATH];
    weft_graph *const graph = test_graph();
    weft_tensor *const output = network->build(graph);
    const weft_onnx_save_options options = options_of(opset);
    test_random random = test_random_named(network->name, 0);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, network->name);
    assert_weft_ok(weft_graph_status(graph));
    fill_vectors(network->name, graph);
    assert_weft_ok(weft_onnx_save(path, &output, 1, &options));
    void *const result = run_network(network->name, graph, output);
    cJSON *const json = cJSON_CreateObject(), *const inputs = cJSON_AddArrayToObject(json, "inputs");
    for (int i = 0; input_of(graph, i); i++) {
        void *const data = random_numbers(&random, input_of(graph, i), -1, 1);
        cJSON_AddItemToArray(inputs, array_of(input_of(graph, i), data));
        free(data);
    }
    cJSON_AddItemToObject(json, "output", array_of(output, result));
    cJSON_AddNumberToObject(json, "near", network->near > 0 ? network->near : 1e-5);
    snprintf(path, sizeof path, "%s/%s.json", folder, network->name);
    write_json(path, json);
    cJSON_Delete(json);
    free(result);
    weft_graph_release(graph);
}

/* ---- saving and loading ---- */

static struct {
    weft_graph *graph;
    recorded_case cases[TOGETHER];
    weft_onnx_model *models[TOGETHER];
    size_t count;
} group;

/* Cases are parts of one plan, as PoCL takes longer to begin a program than to compile a kernel. */
static int run_group(void) {
    static weft_tensor *outputs[TOGETHER];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    weft_plan *plan;
    int wrong = 0;
    if (group.count == 0) return 0;
    for (size_t i = 0; i < group.count; i++) outputs[i] = group.cases[i].output;
    assert_weft_ok(weft_plan_create(&plan, outputs, group.count, &options));
    for (size_t i = 0; i < group.count; i++) assert_weft_ok(recorded_write(&group.cases[i], plan));
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < group.count; i++) {
        double error, gradient_error;
        assert_weft_ok(recorded_compare(&group.cases[i], plan, &error, &gradient_error));
        if (!(error <= 2 * RECORDED_TOLERANCE)) {
            print_error("%s %s: error %g\n", group.cases[i].op, group.cases[i].name, error);
            wrong++;
        }
        weft_onnx_model_release(group.models[i]);
    }
    weft_plan_release(plan);
    weft_graph_release(group.graph);
    group.graph = NULL;
    group.count = 0;
    return wrong;
}

static weft_status load(weft_onnx_model **model, weft_graph *graph, const char *path, size_t number) {
    char scope[32];
    snprintf(scope, sizeof scope, "case%zu", number);
    return weft_onnx_load(model, graph, path, &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .scope = scope});
}

/* Which op the loaded network lacks is printed; first in a graph that nothing else needs, because it keeps the error. */
static bool try_case(const cJSON *json) {
    char name[32], input[64];
    const char *const op = cJSON_GetStringValue(member(json, "op"));
    recorded_case *const r = &group.cases[group.count];
    snprintf(name, sizeof name, "case%zu.onnx", group.count);
    const char *const path = test_path(name);
    weft_onnx_model *model = NULL;
    weft_graph *const graph = test_graph();
    weft_status status = save_case(json, path, OPSET);
    if (status == WEFT_OK) status = load(&model, graph, path, 0);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    if (status != WEFT_OK) print_message("%s: %s\n", op, weft_last_error());
    if (status != WEFT_OK) return false;
    if (!group.graph) group.graph = test_graph();
    assert_weft_ok(load(&model, group.graph, path, group.count));
    *r = (recorded_case){
        .op = op, .name = cJSON_GetStringValue(member(json, "name")), .json = json, .batch = 1};
    r->output = weft_onnx_output(model, 0);
    for (; r->input_count < RECORDED_INPUTS; r->input_count++) {
        snprintf(input, sizeof input, "x%zu", r->input_count);
        r->inputs[r->input_count] = weft_onnx_tensor(model, input);
    }
    group.models[group.count++] = model;
    return true;
}

static void test_ops(void **state) {
    cJSON *const all = recorded_cases();
    const cJSON *json;
    int tried = 0, wrong = 0;
    (void)state;
    cJSON_ArrayForEach(json, all) {
        if (!is_wanted(cJSON_GetStringValue(member(json, "op")))) continue;
        tried += try_case(json);
        if (group.count == TOGETHER) wrong += run_group();
    }
    wrong += run_group();
    print_message("%d cases, %d wrong\n", tried, wrong);
    assert_int_equal(wrong, 0);
    if (!wi_environment("WEFT_ONNX_CASES")) assert_true(tried >= FEWEST_CASES);
    cJSON_Delete(all);
}

/* The largest difference as a share of the largest number. */
static double difference_of(const weft_tensor *x, const void *got, const void *wanted) {
    int64_t dims[WEFT_MAX_RANK];
    const wi_format *const format = wi_format_of(x->dtype);
    double largest = 0, difference = 0;
    for (size_t i = 0; i < count_elements(x, dims); i++) {
        largest = fmax(largest, fabs(format->get(wanted, i)));
        difference = fmax(difference, fabs(format->get(got, i) - format->get(wanted, i)));
    }
    return difference / largest;
}

/* Returns whether the file could be loaded. */
static bool try_network(const save_network *network, int *wrong) {
    const char *const path = test_path("network.onnx");
    weft_graph *const graph = test_graph(), *const again = test_graph();
    weft_tensor *const output = network->build(graph);
    const weft_onnx_save_options options = options_of(OPSET);
    weft_onnx_model *model = NULL;
    fill_vectors(network->name, graph);
    assert_weft_ok(weft_onnx_save(path, &output, 1, &options));
    /* Only of the first axis of an input is it known that an open size is the batch. */
    const weft_onnx_size batch = {"batch", WEFT_BATCH};
    const weft_onnx_options loading = {
        WEFT_ONNX_OPTIONS_INIT, .sizes = &batch, .size_count = network->batch_is_second};
    const bool loaded = weft_onnx_load(&model, again, path, &loading) == WEFT_OK;
    if (loaded) {
        void *const wanted = run_network(network->name, graph, output);
        void *const got = run_network(network->name, again, weft_onnx_output(model, 0));
        const double difference = difference_of(output, got, wanted);
        if (!(difference <= 1e-4)) {
            print_error("%s: difference %g\n", network->name, difference);
            ++*wrong;
        }
        free(wanted);
        free(got);
    } else {
        print_message("%s: %s\n", network->name, weft_last_error());
    }
    weft_onnx_model_release(model);
    weft_graph_release(again);
    weft_graph_release(graph);
    return loaded;
}

static void test_networks(void **state) {
    int tried = 0, wrong = 0;
    (void)state;
    for (const save_network *network = save_networks; network->name; network++)
        if (is_wanted(network->name)) tried += try_network(network, &wrong);
    print_message("%d networks, %d wrong\n", tried, wrong);
    assert_int_equal(wrong, 0);
    if (!wi_environment("WEFT_ONNX_CASES")) assert_true(tried >= FEWEST_NETWORKS);
}

/* ---- errors and options ---- */

static void test_errors(void **state) {
    weft_graph *const graph = test_graph(), *const other = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4), *const y = weft_relu(x);
    weft_tensor *const random = weft_uniform(graph, 0, 1, 1, (const int64_t[]){4});
    weft_tensor *const scan = weft_linear_scan(x, x, 1, false), *const sum =
                                                                    weft_add(weft_add(y, random), scan);
    const char *const missing[] = {NULL}, *const twice[] = {"a", "a"}, *const taken[] = {"x"};
    weft_onnx_save_options o = {WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = 24};
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_save(NULL, &y, 1, NULL), "path is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_save(test_path("a.onnx"), &y, 0, NULL), "no outputs");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_onnx_save(test_path("a.onnx"), &(weft_tensor *){NULL}, 1, NULL), "is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_onnx_save(
            test_path("a.onnx"), (weft_tensor *const[]){y, weft_input(other, "x", WEFT_F32, 4)}, 2, NULL),
        "different graphs");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_save(test_path("a.onnx"), &y, 1, &o),
        "opset is 24, expected 17 to 23");
    o = (weft_onnx_save_options){WEFT_ONNX_SAVE_OPTIONS_INIT, .output_names = missing};
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_onnx_save(test_path("a.onnx"), &y, 1, &o), "output_names[0] is NULL");
    o.output_names = twice;
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_onnx_save(test_path("a.onnx"), (weft_tensor *const[]){y, y}, 2, &o), "'a' of output 1");
    o.output_names = taken;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_onnx_save(test_path("a.onnx"), &y, 1, &o), "'x' of output 0");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, weft_onnx_save(test_path("a.onnx"), &sum, 1, NULL),
        "uniform (4)", "linear_scan (batch, 4)");
    assert_weft_fails(
        WEFT_ERROR_FILE, weft_onnx_save(test_path("nowhere/a.onnx"), &y, 1, NULL), "nowhere/a.onnx");
    assert_false(wi_file_exists(test_path("a.onnx")));
    assert_weft_ok(weft_graph_status(graph));
    assert_weft_ok(weft_onnx_save(test_path("a.onnx"), &y, 1, NULL));
    weft_graph_release(other);
    weft_graph_release(graph);
}

/* Names of inputs, outputs, parameters and sizes are in the file, also where an output is an input or given twice. */
static void test_names(void **state) {
    weft_graph *const graph = test_graph(), *const again = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4), *const y = weft_linear(x, 3);
    const char *const names[] = {"scores", "same", "copy"};
    const weft_onnx_save_options o = {WEFT_ONNX_SAVE_OPTIONS_INIT, .output_names = names, .batch_name = "n"};
    const weft_onnx_size size = {"n", 7};
    weft_onnx_model *model;
    (void)state;
    assert_weft_ok(weft_onnx_save(test_path("names.onnx"), (weft_tensor *const[]){y, y, x}, 3, &o));
    assert_weft_ok(weft_onnx_load(&model, again, test_path("names.onnx"),
        &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .sizes = &size, .size_count = 1}));
    assert_string_equal(weft_onnx_input_name(model, 0), "x");
    for (size_t i = 0; i < 3; i++) assert_string_equal(weft_onnx_output_name(model, i), names[i]);
    assert_int_equal(weft_tensor_dimension(weft_onnx_input(model, 0), 0), 7);
    assert_non_null(weft_graph_find(again, "linear1.weight"));
    assert_string_equal(weft_onnx_metadata(model, "producer_name"), "weft");
    assert_int_equal(weft_onnx_opset(model, ""), 17);
    weft_onnx_model_release(model);
    weft_graph_release(again);
    weft_graph_release(graph);
}

/* A loaded network that is saved again has the names, the metadata and the weights of its file. */
static void test_again(void **state) {
    weft_graph *const graph = test_graph(), *const other = test_graph();
    weft_onnx_model *model;
    weft_onnx_save_options o = {WEFT_ONNX_SAVE_OPTIONS_INIT, .weights_beside = true};
    weft_tensor *const mixed = weft_linear(weft_input(graph, "pixel values", WEFT_F32, 4), 3);
    (void)state;
    assert_weft_ok(weft_onnx_save(test_path("first.onnx"), &mixed, 1,
        &(weft_onnx_save_options){
            WEFT_ONNX_SAVE_OPTIONS_INIT, .output_names = (const char *const[]){"class scores"}}));
    assert_weft_ok(weft_onnx_load(&model, other, test_path("first.onnx"),
        &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .scope = "net"}));
    weft_tensor *const scores = weft_onnx_output(model, 0), *const chances = weft_softmax(scores, 1);
    o.from = model;
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_onnx_save(test_path("a.onnx"), &mixed, 1, &o), "another graph");
    assert_weft_ok(weft_onnx_save(test_path("second.onnx"), (weft_tensor *const[]){scores, chances}, 2, &o));
    assert_true(wi_file_exists(test_path("second.onnx.data")));
    weft_onnx_model_release(model);
    assert_weft_ok(weft_onnx_load(&model, graph, test_path("second.onnx"),
        &(weft_onnx_options){WEFT_ONNX_OPTIONS_INIT, .scope = "again"}));
    assert_string_equal(weft_onnx_input_name(model, 0), "pixel values");
    assert_string_equal(weft_onnx_output_name(model, 0), "class scores");
    assert_string_equal(weft_onnx_output_name(model, 1), "output1");
    float wanted[12], got[12];
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "linear1.weight"), wanted, sizeof wanted));
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "again.linear1.weight"), got, sizeof got));
    assert_memory_equal(got, wanted, sizeof got);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    weft_graph_release(other);
}

int main(int count, char **arguments) {
    if (count == 3) {
        const int opset = atoi(arguments[2]);
        write_cases(arguments[1], opset);
        for (const save_network *network = save_networks; network->name; network++)
            if (network->opset <= opset) write_network(arguments[1], opset, network);
        return test_finish(0);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_names),
        cmocka_unit_test(test_again), cmocka_unit_test(test_ops), cmocka_unit_test(test_networks)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
