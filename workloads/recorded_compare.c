/* The recorded cases, their inputs' values and the comparison with a plan's results (contract in
 * recorded_ops.h). */
#include "plan/compiled_plan.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include <math.h>

extern const char weft_recorded_files[];

cJSON *recorded_cases(void) {
    cJSON *const files = cJSON_Parse(weft_recorded_files), *const cases = cJSON_CreateArray();
    cJSON *file, *c;
    cJSON_ArrayForEach(file, files) {
        while (cases && (c = cJSON_DetachItemFromArray(file, 0))) cJSON_AddItemToArray(cases, c);
    }
    if (!files) cJSON_Delete(cases);
    cJSON_Delete(files);
    return files ? cases : NULL;
}

/* Inputs that nothing reads (the gradient of a step is zero) are no inputs of the plan. */
static weft_status write_array(weft_plan *plan, weft_tensor *tensor, const cJSON *array) {
    if (!tensor || !wi_value_of_node(&plan->partition, tensor)) return WEFT_OK;
    union {
        float floats[RECORDED_ELEMENTS];
        int32_t ints[RECORDED_ELEMENTS];
        uint8_t bytes[RECORDED_ELEMENTS];
    } memory;
    const weft_dtype dtype = dtype_of(array);
    size_t count = 0;
    const cJSON *item;
    if (count_of(array) > RECORDED_ELEMENTS) WI_FAIL(WEFT_ERROR_FORMAT, "a recorded array is too long");
    cJSON_ArrayForEach(item, member(array, "data")) {
        if (dtype == WEFT_F32)
            memory.floats[count++] = (float)item->valuedouble;
        else if (dtype == WEFT_I32)
            memory.ints[count++] = (int32_t)item->valuedouble;
        else
            memory.bytes[count++] = item->valuedouble != 0;
    }
    return weft_plan_write(plan, tensor, &memory, count * weft_dtype_size(dtype));
}

weft_status recorded_write(const recorded_case *r, weft_plan *plan) {
    const cJSON *const inputs = member(r->json, "inputs");
    for (size_t i = 0; i < r->input_count; i++)
        WI_TRY(write_array(plan, r->inputs[i], cJSON_GetArrayItem(inputs, (int)i)));
    return write_array(plan, r->weights, member(r->json, "weights"));
}

static bool same_shape(const weft_tensor *tensor, const cJSON *array) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = whole_list(member(array, "dims"), dims);
    bool same = rank == weft_tensor_rank(tensor) && weft_tensor_dtype(tensor) == dtype_of(array);
    for (int i = 0; same && i < rank; i++) same = weft_tensor_dimension(tensor, i) == dims[i];
    return same;
}

/* The largest difference, as a share of the array's largest number; integers and bools: of any difference 1.
 */
static weft_status compare(weft_plan *plan, weft_tensor *tensor, const cJSON *array, double *error) {
    union {
        float floats[RECORDED_ELEMENTS];
        int32_t ints[RECORDED_ELEMENTS];
        uint8_t bytes[RECORDED_ELEMENTS];
    } memory;
    const weft_dtype dtype = dtype_of(array);
    double largest = 0, difference = 0;
    size_t i = 0;
    const cJSON *item;
    if (!same_shape(tensor, array) || count_of(array) > RECORDED_ELEMENTS) {
        *error = (double)INFINITY;
        return WEFT_OK;
    }
    WI_TRY(weft_plan_read(plan, tensor, &memory, count_of(array) * weft_dtype_size(dtype)));
    cJSON_ArrayForEach(item, member(array, "data")) {
        const double wanted = item->valuedouble;
        const double got = dtype == WEFT_F32   ? (double)memory.floats[i]
                           : dtype == WEFT_I32 ? memory.ints[i]
                                               : memory.bytes[i];
        i++;
        largest = fmax(largest, fabs(wanted));
        if (!(fabs(got - wanted) <= difference))
            difference = isnan(got) ? (double)INFINITY : fabs(got - wanted);
    }
    if (difference > 0 && dtype != WEFT_F32) difference = largest = 1;
    *error = difference == 0 ? 0 : difference / largest; /* all zeros wanted: infinite */
    return WEFT_OK;
}

weft_status recorded_compare(
    const recorded_case *r, weft_plan *plan, double *value_error, double *gradient_error) {
    const cJSON *const gradients = member(r->json, "gradients");
    *gradient_error = (double)NAN;
    WI_TRY(compare(plan, r->output, member(r->json, "output"), value_error));
    for (size_t i = 0; i < r->gradient_count; i++) {
        double error;
        WI_TRY(compare(plan, r->gradients[i], cJSON_GetArrayItem(gradients, (int)i), &error));
        *gradient_error = fmax(*gradient_error, error);
    }
    return WEFT_OK;
}
