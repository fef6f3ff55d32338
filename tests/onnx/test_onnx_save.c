/* Saved graphs compute what Weft computes: the file of every op with PyTorch's numbers is loaded again and compared with them. With a folder
 * as its argument, the program only writes the files there, for check_onnx_save.sh. */
/* test slow */
#include "base/memory.h"
#include "graph/node.h"
#include "graph/weft_graph.h"
#include "onnx/onnx_save_networks.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include "support/fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <weft/onnx.h>

enum { PATH = 1024 };

/* The case in a graph of its own; inputs are named x0, x1, ... */
static weft_status build_case(recorded_case *r, weft_graph *graph, const cJSON *json) {
    recorded_inputs shared = {0};
    WI_TRY(recorded_build(r, &shared, graph, json));
    for (size_t i = 0; i < r->input_count; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", i);
        wi_name_node(r->inputs[i], name);
    }
    return weft_graph_status(graph);
}

/* ---- files for other programs ---- */

static void write_text(const char *path, const cJSON *json) {
    char *const text = cJSON_PrintUnformatted(json);
    FILE *const file = fopen(path, "w");
    if (file && text) fputs(text, file);
    if (file) fclose(file);
    free(text);
}

static int write_cases(const char *folder, int opset) {
    cJSON *const all = recorded_cases();
    const cJSON *json;
    int number = 0, missing = 0;
    cJSON_ArrayForEach(json, all) {
        recorded_case r;
        char path[PATH];
        weft_graph *const graph = test_graph();
        const weft_onnx_save_options options = {WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = opset};
        weft_status status = build_case(&r, graph, json);
        snprintf(path, sizeof path, "%s/%04d.%s.onnx", folder, number, r.op);
        if (status == WEFT_OK) status = weft_onnx_save(path, &r.output, 1, &options);
        if (status != WEFT_OK) {
            printf("%s %s: %s\n", r.op, r.name, weft_last_error());
            missing++;
        } else {
            snprintf(path, sizeof path, "%s/%04d.%s.json", folder, number, r.op);
            write_text(path, json);
        }
        number++;
        weft_graph_release(graph);
    }
    printf("%d cases written, %d not\n", number - missing, missing);
    cJSON_Delete(all);
    return 0;
}

/* ---- networks ---- */

enum { BATCH = 3, LENGTH = 5, MOST_INPUTS = 4 };

/* The shape at the plan's sizes. */
static size_t count_elements(const weft_tensor *x, int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < x->shape.rank; i++) {
        const int64_t symbol = x->graph->length_symbol;
        const int64_t dim =
            wi_at_length(x->shape.dims[i], symbol, symbol == WI_BATCH_SYMBOL ? BATCH : LENGTH);
        dims[i] = dim < 0 ? -dim * BATCH : dim;
        count *= (size_t)dims[i];
    }
    return count;
}

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

static void *random_numbers(test_random *random, const weft_tensor *x, double low, double high) {
    int64_t dims[WEFT_MAX_RANK];
    const size_t count = count_elements(x, dims);
    void *const data = calloc(count, weft_dtype_size(x->dtype));
    for (size_t i = 0; i < count; i++)
        wi_format_of(x->dtype)->put(data, i,
            x->dtype == WEFT_F32 ? test_random_between(random, low, high)
                                 : (double)test_random_below(random, 5));
    return data;
}

static void fill_variables(test_random *random, weft_graph *graph) {
    for (size_t i = 0; i < graph->variable_count; i++) {
        weft_tensor *const x = graph->variables[i]->tensor;
        const bool state = !graph->variables[i]->trainable;
        if (!x->name || (state && x->dtype != WEFT_F32)) continue;
        const double reach = x->shape.rank > 1 ? 1 : 0.5;
        void *const data = random_numbers(random, x, state ? 0.5 : -reach, state ? 1.5 : reach);
        if (x->shape.rank < 2) assert_weft_ok(weft_tensor_write(x, data, graph->variables[i]->bytes));
        free(data);
    }
}

/* Runs the network, and writes its inputs and its output beside the file. */
static void write_numbers(
    const char *path, const save_network *network, weft_graph *graph, weft_tensor *output) {
    test_random random = test_random_named(network->name, 0);
    int64_t dims[WEFT_MAX_RANK];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true, .batch = BATCH,
        .length = graph->length_symbol == WEFT_LENGTH ? LENGTH : 0};
    weft_plan *plan;
    cJSON *const json = cJSON_CreateObject(), *const inputs = cJSON_AddArrayToObject(json, "inputs");
    assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
    for (int i = 0; i < MOST_INPUTS; i++) {
        weft_tensor *const x = weft_graph_find_input(graph, (const char *const[]){"x0", "x1", "x2", "x3"}[i]);
        if (!x) break;
        void *const data = random_numbers(&random, x, -1, 1);
        assert_weft_ok(weft_plan_write(plan, x, data, count_elements(x, dims) * weft_dtype_size(x->dtype)));
        cJSON_AddItemToArray(inputs, array_of(x, data));
        free(data);
    }
    void *const data = random_numbers(&random, output, 0, 0);
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(
        weft_plan_read(plan, output, data, count_elements(output, dims) * weft_dtype_size(output->dtype)));
    cJSON_AddItemToObject(json, "output", array_of(output, data));
    cJSON_AddNumberToObject(json, "near", network->near > 0 ? network->near : 1e-5);
    write_text(path, json);
    free(data);
    cJSON_Delete(json);
    weft_plan_release(plan);
}

static void write_networks(const char *folder, int opset, const char *only) {
    for (const save_network *network = save_networks; network->name; network++) {
        if (only && !strstr(network->name, only)) continue;
        char path[PATH];
        weft_graph *const graph = test_graph();
        test_random random = test_random_named(network->name, 1);
        weft_tensor *output = network->build(graph);
        const weft_onnx_save_options options = {
            WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = opset, .weights_beside = opset == 21};
        snprintf(path, sizeof path, "%s/%s.onnx", folder, network->name);
        assert_weft_ok(weft_graph_status(graph));
        fill_variables(&random, graph);
        if (weft_onnx_save(path, &output, 1, &options) != WEFT_OK) {
            printf("%s: %s\n", network->name, weft_last_error());
        } else {
            snprintf(path, sizeof path, "%s/%s.json", folder, network->name);
            write_numbers(path, network, graph, output);
        }
        weft_graph_release(graph);
    }
}

int main(int count, char **arguments) {
    if (count > 1) {
        const int opset = count > 2 ? atoi(arguments[2]) : 17;
        if (count <= 3) write_cases(arguments[1], opset);
        write_networks(arguments[1], opset, count > 3 ? arguments[3] : NULL);
        return test_finish(0);
    }
    return test_finish(0);
}
