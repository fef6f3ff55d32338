/* The use of a graph (contract in fault_use.h). */
#include "fault_use.h"
#include <stdio.h>
#include <unistd.h>

enum { FIRST_OUTPUT = 2, MOST_OUTPUTS = FAULT_NUMBERS - FIRST_OUTPUT };

static weft_status load_weights(const fault_world *world, const fault_use *use) {
    const char *const path = fault_path(world->data, "used.safetensors");
    if (access(path, F_OK) != 0) {
        const weft_status status = weft_weights_save(use->graph, path);
        if (status != WEFT_OK) return status;
    }
    return weft_weights_load(use->graph, path, NULL);
}

static size_t bytes_of(const fault_use *use, const weft_column *column) {
    size_t bytes = use->batch * weft_dtype_size(column->dtype);
    for (int i = 0; i < column->rank; i++) bytes *= (size_t)column->dims[i];
    return bytes;
}

static weft_status run_plan(const fault_use *use, float *loss) {
    weft_tensor *const output = use->loss;
    weft_plan *plan = NULL;
    weft_status status = weft_plan_create(&plan, &output, 1,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)use->batch, .inference = true});
    for (size_t i = 0; i < use->column_count && status == WEFT_OK; i++)
        status = weft_plan_write(plan, weft_graph_find_input(use->graph, use->columns[i].name),
            use->columns[i].data, bytes_of(use, &use->columns[i]));
    if (status == WEFT_OK) status = weft_plan_run(plan);
    if (status == WEFT_OK) status = weft_plan_read(plan, output, loss, sizeof *loss);
    weft_plan_release(plan);
    return status;
}

/* A number that any changed byte changes; -1: it cannot be read. */
static double sum_of_file(const char *path) {
    FILE *const file = fopen(path, "rb");
    double sum = 0;
    if (!file) return -1;
    for (int byte, weight = 1; (byte = fgetc(file)) != EOF; weight = weight % 8191 + 1) sum += byte * weight;
    fclose(file);
    return sum;
}

static size_t count_of(const fault_use *use) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(use->output); i++) {
        const int64_t dim = weft_tensor_dimension(use->output, i);
        count *= dim < 0 ? use->batch : (size_t)dim;
    }
    return count;
}

weft_status fault_use_graph(const fault_world *world, const fault_use *use, double numbers[FAULT_NUMBERS]) {
    float loss = 0, output[MOST_OUTPUTS] = {0};
    const size_t count = count_of(use);
    const char *const file = fault_path(world->folder, "used.safetensors");
    weft_status status = weft_graph_status(use->graph);
    if (count > MOST_OUTPUTS) return WEFT_ERROR_INTERNAL;
    if (status == WEFT_OK) status = load_weights(world, use);
    if (status == WEFT_OK) status = run_plan(use, &loss);
    if (status == WEFT_OK)
        status = weft_predict(
            use->output, use->batch, use->columns, use->output_columns, output, count * sizeof *output);
    if (status == WEFT_OK) status = weft_weights_save(use->graph, file);
    numbers[0] = (double)loss;
    numbers[1] = sum_of_file(file);
    for (size_t i = 0; i < count; i++) numbers[FIRST_OUTPUT + i] = (double)output[i];
    return status;
}
