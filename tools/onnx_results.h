/* Runs of a network of an ONNX file: a plan of its outputs, and their numbers on the host. */
#ifndef ONNX_RESULTS_H
#define ONNX_RESULTS_H

#include "onnx_network.h"
#include <weft/plan.h>

typedef struct onnx_result {
    char *name;
    weft_tensor *tensor;
    weft_dtype dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t count, bytes;
    void *data; /* row-major */
} onnx_result;

typedef struct onnx_results {
    weft_plan *plan;
    onnx_result *all;
    size_t count;
    weft_value *values; /* inputs of the plan, then its outputs */
    size_t value_count;
} onnx_results;

/* Gives each input that a plan needs and that has no array numbers that are drawn at random: f32 in -1..1, whole numbers and
 * bools 0 or 1. The arrays stay, so that another build of the network gets the same. Inputs that decide shapes are not drawn. */
weft_status onnx_inputs_draw(onnx_network *network);
/* WEFT_ERROR_ARGUMENT: lists the inputs of the built network that have no array. */
weft_status onnx_inputs_check(const onnx_network *network);
/* WEFT_ERROR_ARGUMENT: lists the inputs whose values decide shapes, and that have no array; for before the network is built. */
weft_status onnx_inputs_check_deciding(const onnx_network *network);

/* A plan for inference at the sizes of the arrays; onnx_results_clear also after an error. Names and numbers of the
 * results outlive the network. */
weft_status onnx_results_open(onnx_results *results, const onnx_network *network);
/* Writes the inputs, runs the plan once, and reads the outputs. */
weft_status onnx_results_run(onnx_results *results);
/* Prints a line for each output: name, dtype, shape, least, mean and largest number. */
void onnx_results_show(const onnx_results *results);
void onnx_results_clear(onnx_results *results);

#endif
