/* The recorded cases, their inputs' values and the comparison with a plan's results (contract in
 * recorded_ops.h). */
#include "graph/dtype.h"
#include "plan/compiled_plan.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include <math.h>
#include <string.h>

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

/* Inputs that nothing reads (the gradient of a step is zero) are no inputs of the plan. `nan`, unless NULL: the bits of a NaN that
 * replaces every other element of an f32 input. */
static weft_status write_array(
    weft_plan *plan, weft_tensor *tensor, const cJSON *array, weft_dtype rounded, const uint32_t *nan) {
    if (!tensor || !wi_value_of_node(&plan->partition, tensor)) return WEFT_OK;
    double memory[RECORDED_ELEMENTS]; /* the widest dtype */
    const weft_dtype dtype = weft_tensor_dtype(tensor);
    const bool rounds = wi_dtype_is_float(dtype) && rounded != WEFT_F32;
    size_t count = 0;
    const cJSON *item;
    if (count_of(array) > RECORDED_ELEMENTS) WI_FAIL(WEFT_ERROR_FORMAT, "a recorded array is too long");
    cJSON_ArrayForEach(item, member(array, "data")) {
        const double number = wi_dtype_is_float(dtype) ? (double)(float)item->valuedouble : item->valuedouble;
        wi_format_of(dtype)->put(memory, count++, rounds ? wi_dtype_nearest(rounded, number) : number);
    }
    for (size_t i = 0; nan && dtype == WEFT_F32 && i < count; i += 2) memcpy((char *)memory + 4 * i, nan, 4);
    return weft_plan_write(plan, tensor, memory, count * weft_dtype_size(dtype));
}

static weft_status write_case(const recorded_case *r, weft_plan *plan, const uint32_t *nan) {
    const cJSON *const inputs = member(r->json, "inputs");
    for (size_t i = 0; i < r->input_count; i++)
        WI_TRY(write_array(plan, r->inputs[i], cJSON_GetArrayItem(inputs, (int)i), r->format.rounded, nan));
    return write_array(plan, r->weights, member(r->json, "weights"), r->format.rounded, NULL);
}

weft_status recorded_write(const recorded_case *r, weft_plan *plan) {
    return write_case(r, plan, NULL);
}

weft_status recorded_write_nans(const recorded_case *r, weft_plan *plan, uint32_t bits) {
    return write_case(r, plan, &bits);
}

/* Dimensions, where that of the batch is as it was recorded, and the dtype; floats may be of the case's format. */
static bool same_shape(const weft_tensor *tensor, const cJSON *array, const recorded_format *format) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const weft_dtype dtype = weft_tensor_dtype(tensor), recorded = dtype_of(array);
    const int rank = whole_list(member(array, "dims"), dims);
    bool same = rank == weft_tensor_rank(tensor) &&
                (dtype == recorded || (recorded == WEFT_F32 && dtype == format->dtype));
    for (int i = 0; same && i < rank; i++) {
        const int64_t dimension = weft_tensor_dimension(tensor, i);
        same = dimension == dims[i] || (format->batched && dimension == WEFT_BATCH);
    }
    return same && count_of(array) <= RECORDED_ELEMENTS;
}

static weft_status read_numbers(weft_plan *plan, weft_tensor *tensor, size_t count, double *numbers) {
    double memory[RECORDED_ELEMENTS];
    const weft_dtype dtype = weft_tensor_dtype(tensor);
    WI_TRY(weft_plan_read(plan, tensor, memory, count * weft_dtype_size(dtype)));
    for (size_t i = 0; i < count; i++) numbers[i] = wi_format_of(dtype)->get(memory, i);
    return WEFT_OK;
}

static weft_status find_nans(
    weft_plan *plan, weft_tensor *tensor, const cJSON *array, bool *nans, size_t *count) {
    double numbers[RECORDED_ELEMENTS];
    const size_t elements = count_of(array);
    WI_TRY(read_numbers(plan, tensor, elements, numbers));
    for (size_t i = 0; i < elements; i++) nans[(*count)++] = isnan(numbers[i]);
    return WEFT_OK;
}

weft_status recorded_find_nans(const recorded_case *r, weft_plan *plan, bool *nans, size_t *count) {
    const cJSON *const gradients = member(r->json, "gradients");
    *count = 0;
    WI_TRY(find_nans(plan, r->output, member(r->json, "output"), nans, count));
    for (size_t i = 0; i < r->gradient_count; i++)
        WI_TRY(find_nans(plan, r->gradients[i], cJSON_GetArrayItem(gradients, (int)i), nans, count));
    return WEFT_OK;
}

/* The largest difference, as a share of the array's largest number; integers and bools: of any difference 1. What is wanted
 * and too large for the format is infinite in it. */
static double share_of(const double *got, const double *wanted, size_t count, weft_dtype dtype) {
    double largest = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        if (wi_dtype_is_float(dtype) && wi_dtype_nearest(dtype, wanted[i]) == got[i]) continue;
        if (!(fabs(got[i] - wanted[i]) <= difference))
            difference = isnan(got[i]) ? (double)INFINITY : fabs(got[i] - wanted[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (isfinite(wanted[i])) largest = fmax(largest, fabs(wanted[i]));
    if (difference > 0 && !wi_dtype_is_float(dtype)) difference = largest = 1;
    return difference == 0 ? 0 : difference / largest; /* all zeros wanted: infinite */
}

/* The array's numbers in JSON, or those of another plan's tensor. */
static weft_status wanted_numbers(const cJSON *array, weft_plan *plan, weft_tensor *tensor, double *numbers) {
    if (plan) return read_numbers(plan, tensor, count_of(array), numbers);
    const cJSON *item;
    cJSON_ArrayForEach(item, member(array, "data")) *numbers++ = item->valuedouble;
    return WEFT_OK;
}

typedef struct comparison {
    const recorded_case *recorded, *wanted;
    weft_plan *plan, *wanted_plan; /* NULL: PyTorch's numbers are wanted */
} comparison;

static weft_status compare(
    const comparison *c, weft_tensor *tensor, weft_tensor *wanted, const cJSON *array, double *error) {
    double got[RECORDED_ELEMENTS], numbers[RECORDED_ELEMENTS];
    *error = (double)INFINITY;
    if (!same_shape(tensor, array, &c->recorded->format)) return WEFT_OK;
    WI_TRY(read_numbers(c->plan, tensor, count_of(array), got));
    WI_TRY(wanted_numbers(array, c->wanted_plan, wanted, numbers));
    *error = share_of(got, numbers, count_of(array), weft_tensor_dtype(tensor));
    return WEFT_OK;
}

static weft_status compare_all(const comparison *c, double *value_error, double *gradient_error) {
    const recorded_case *const r = c->recorded, *const w = c->wanted;
    const cJSON *const gradients = member(r->json, "gradients");
    *gradient_error = (double)NAN;
    WI_TRY(compare(c, r->output, w ? w->output : NULL, member(r->json, "output"), value_error));
    for (size_t i = 0; i < r->gradient_count; i++) {
        double error;
        const cJSON *const array = cJSON_GetArrayItem(gradients, (int)i);
        WI_TRY(compare(c, r->gradients[i], w ? w->gradients[i] : NULL, array, &error));
        *gradient_error = fmax(*gradient_error, error);
    }
    return WEFT_OK;
}

weft_status recorded_compare(
    const recorded_case *r, weft_plan *plan, double *value_error, double *gradient_error) {
    const comparison c = {.recorded = r, .plan = plan};
    return compare_all(&c, value_error, gradient_error);
}

weft_status recorded_compare_with(const recorded_case *r, weft_plan *plan, const recorded_case *wanted,
    weft_plan *wanted_plan, double *value_error, double *gradient_error) {
    const comparison c = {.recorded = r, .wanted = wanted, .plan = plan, .wanted_plan = wanted_plan};
    return compare_all(&c, value_error, gradient_error);
}
