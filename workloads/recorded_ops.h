/* Every op with what PyTorch computed for it: the files of tests/golden/ops, one an op (make_op_golden.py
 * writes them), which are part of the program. `weft check` and the suite's test_op_golden.c compare a device
 * with them.
 *
 * A case has an op, a name, inputs, parameters, the output, and the gradients of sum(output · weights) with
 * regard to the f32 inputs. */
#ifndef RECORDED_OPS_H
#define RECORDED_OPS_H

#include <cjson/cJSON.h>
#include <weft/weft.h>

enum {
    RECORDED_INPUTS = 7,
    RECORDED_ELEMENTS = 512,
    RECORDED_SHARED = 1024,
    RECORDED_RESULTS = RECORDED_ELEMENTS * (1 + RECORDED_INPUTS)
};

/* How inputs that were recorded in f32 become inputs of a graph; zeroed: as they were recorded. */
typedef struct recorded_format {
    weft_dtype dtype;   /* of the inputs */
    weft_dtype rounded; /* their numbers are rounded to it */
    /* The first inputs of convolutions, poolings and other ops of images have the plan's batch and come through a
     * contraction, as inside a network: mixed precision stores them in 16 bits. */
    bool batched;
} recorded_format;

/* Equal arrays are one input: ops of the same input share a kernel. One for each graph, zeroed but for the format. */
typedef struct recorded_inputs {
    recorded_format format;
    const cJSON *arrays[RECORDED_SHARED];
    weft_tensor *tensors[RECORDED_SHARED];
    size_t count;
} recorded_inputs;

typedef struct recorded_case {
    const char *op, *name;
    const cJSON *json;
    recorded_format format;
    int64_t batch; /* the plan's; 1 if no input has it */
    size_t input_count, gradient_count;
    weft_tensor *inputs[RECORDED_INPUTS], *weights, *output, *gradients[RECORDED_INPUTS];
} recorded_case;

/* PyTorch's numbers are float32, too: errors up to this share of an array's largest number are its rounding.
 */
#define RECORDED_TOLERANCE 1e-5

/* All cases: an array, op by op, that the caller deletes. NULL: out of memory. */
cJSON *recorded_cases(void);
/* The nodes of a case; borrows the JSON. */
weft_status recorded_build(
    recorded_case *recorded, recorded_inputs *shared, weft_graph *graph, const cJSON *json);
/* Fills the inputs of a plan that has the output and the gradients among its outputs. */
weft_status recorded_write(const recorded_case *recorded, weft_plan *plan);
/* The same with the NaN of these bits in place of every other element of the f32 inputs. */
weft_status recorded_write_nans(const recorded_case *recorded, weft_plan *plan, uint32_t bits);
/* After a run: which elements of the output, then of the gradients, are NaN. `nans` has room for RECORDED_RESULTS of them. */
weft_status recorded_find_nans(const recorded_case *recorded, weft_plan *plan, bool *nans, size_t *count);
/* After a run: the largest errors as shares of the largest number of their array; another shape or dtype and
 * NaN are infinite. gradient_error is NaN when the case has no gradients. */
weft_status recorded_compare(
    const recorded_case *recorded, weft_plan *plan, double *value_error, double *gradient_error);
/* The same beside what another plan computed for the case, in f32. */
weft_status recorded_compare_with(const recorded_case *recorded, weft_plan *plan, const recorded_case *wanted,
    weft_plan *wanted_plan, double *value_error, double *gradient_error);

#endif
