/* Small cases of kernel ops (contract in kernel_op_case.h). */
#include "kernels/kernel_op_case.h"
#include "cl/opened_device.h"
#include "kernels/kernel_run.h"
#include <math.h>
#include <stdio.h>

/* The error that is allowed in a 16-bit format, as a multiple of the rounding error of this format: twice the largest error that
 * was measured. */
enum { ROUNDINGS = 16 };

/* Copies the properties of the site on which the code of kernels depends: op, attributes and the precision of products.
 * small->site points into the case, so the case must not be moved. */
static weft_status begin_case(wi_kernel_op_case *small, const wi_kernel_site *site, wi_arena *arena) {
    const size_t bytes = sizeof(weft_tensor) + WI_KERNEL_INPUTS * sizeof(weft_tensor *);
    *small =
        (wi_kernel_op_case){.arena = arena, .node = wi_arena_take(arena, bytes), .seed = 0x9e3779b97f4a7c15};
    if (!small->node) return WEFT_ERROR_MEMORY;
    small->profile = *site->device;
    small->attributes = wi_attributes_of(site->node);
    small->node->op = site->node->op;
    small->node->attributes = &small->attributes;
    small->site = (wi_kernel_site){.node = small->node,
        .device = &small->profile,
        .inference = site->inference,
        .precision = site->precision,
        .products = site->products};
    return WEFT_OK;
}

double *wi_kernel_op_case_input(wi_kernel_op_case *small, wi_shape shape, double unit) {
    wi_kernel_site *const site = &small->site;
    const int i = small->node->input_count++;
    weft_tensor *const input = wi_arena_take(small->arena, sizeof *input);
    site->inputs[i] = wi_extent_of(&shape, 1);
    site->layouts[i] = wi_layout_contiguous(&site->inputs[i]);
    small->counts[i] = wi_extent_count(&site->inputs[i]).actual;
    small->inputs[i] = wi_arena_take(small->arena, (size_t)small->counts[i] * sizeof(double));
    if (!input || !small->inputs[i]) return NULL;
    input->shape = shape; /* its dtype, and the format in the site, are 0, which is f32 */
    small->node->inputs[i] = input;
    for (int64_t k = 0; k < small->counts[i]; k++) {
        const uint32_t mixed = (uint32_t)(k + 7919 * i) * 2654435761u;
        const double number = (double)((mixed ^ mixed >> 15) * 2246822519u >> 11) / 2097152.0 * 17.0;
        small->inputs[i][k] = (floor(number) / 8.0 - 1.0) * unit;
    }
    return small->inputs[i];
}

weft_status wi_kernel_op_case_result(wi_kernel_op_case *small, int64_t count) {
    small->count = count;
    small->expected = wi_arena_take(small->arena, (size_t)count * sizeof(double));
    small->magnitude = wi_arena_take(small->arena, (size_t)count * sizeof(double));
    if (!small->expected || !small->magnitude) return WEFT_ERROR_MEMORY;
    small->node->shape = (wi_shape){.rank = 1, .dims = {count}};
    small->site.result = wi_extent_of(&small->node->shape, 1);
    for (int64_t i = 0; i < count; i++) {
        small->expected[i] = NAN;
        small->magnitude[i] = 1.0;
    }
    return WEFT_OK;
}

/* ---- on the device ---- */

typedef struct trial {
    wi_device *device;
    const wi_kernel_op_case *small;
    wi_buffer inputs[WI_KERNEL_INPUTS], result;
    float *made; /* the result of the kernel */
} trial;

static weft_status upload(trial *t, wi_buffer *buffer, const double *numbers, int64_t count) {
    const weft_allocator *const allocator = t->device->host.allocator;
    float *const data = wi_allocate_array(allocator, (size_t)count, sizeof *data);
    if (!data) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) data[i] = numbers ? (float)numbers[i] : NAN;
    weft_status status = wi_buffer_create(buffer, t->device, (size_t)count * sizeof *data);
    if (status == WEFT_OK)
        status = wi_buffer_write(t->device, buffer->memory, 0, data, (size_t)count * sizeof *data);
    wi_release(allocator, data);
    return status;
}

/* The result begins as NaN, so that elements which the kernel does not write are found. */
static weft_status compute(trial *t, const wi_implementation *implementation, const wi_variant *variant) {
    const wi_kernel_op_case *const small = t->small;
    const size_t bytes = (size_t)small->count * sizeof *t->made;
    wi_kernel_operands operands = {.seed = small->seed};
    t->made = wi_allocate(t->device->host.allocator, bytes);
    if (!t->made) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < small->node->input_count; i++) {
        WI_TRY(upload(t, &t->inputs[i], small->inputs[i], small->counts[i]));
        operands.inputs[i].memory = t->inputs[i].memory;
    }
    WI_TRY(upload(t, &t->result, NULL, small->count));
    operands.result.memory = t->result.memory;
    WI_TRY(wi_kernel_op_run(t->device, implementation, variant, &small->site, &operands));
    return wi_buffer_read(t->device, t->result.memory, 0, t->made, bytes);
}

static void clear(trial *t) {
    for (int i = 0; i < WI_KERNEL_INPUTS; i++) wi_buffer_release(&t->inputs[i], t->device);
    wi_buffer_release(&t->result, t->device);
    wi_release(t->device->host.allocator, t->made);
}

/* ---- the comparison ---- */

/* The relative error that is allowed. Kernels whose record has `formats` may round the factors to `precision`. */
static double allowed(const wi_implementation *implementation, weft_dtype precision) {
    const weft_dtype format = implementation->formats ? precision : WEFT_F32;
    return format == WEFT_BF16 ? 0x1p-9 * ROUNDINGS : format == WEFT_F16 ? 0x1p-12 * ROUNDINGS : 1e-4;
}

static void compare(const trial *t, double most, char *fault, size_t fault_bytes) {
    const wi_kernel_op_case *const small = t->small;
    for (int64_t i = 0; i < small->count; i++) {
        const double made = (double)t->made[i], expected = small->expected[i];
        if (isnan(expected) || fabs(made - expected) <= most * small->magnitude[i]) continue;
        snprintf(fault, fault_bytes,
            "it computes wrong numbers: element %lld of a small case is %g, and must be %g", (long long)i,
            made, expected);
        return;
    }
}

static weft_status try_way(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_kernel_op_case *small, char *fault, size_t fault_bytes) {
    trial t = {.device = device, .small = small};
    const weft_status status = compute(&t, implementation, variant);
    if (status == WEFT_OK) compare(&t, allowed(implementation, small->site.precision), fault, fault_bytes);
    clear(&t);
    return status;
}

weft_status wi_kernel_op_case_try(wi_kernel_op_case_maker *make, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site,
    char *fault, size_t fault_bytes) {
    weft_status status = WEFT_OK;
    bool more = true;
    *fault = '\0';
    for (int way = 0; more && status == WEFT_OK && !*fault; way++) {
        wi_arena arena;
        wi_kernel_op_case small;
        wi_arena_init(&arena, device->host.allocator);
        status = begin_case(&small, site, &arena);
        if (status == WEFT_OK) status = make(&small, site, way, &more);
        if (status == WEFT_OK && wi_implementation_accepts(implementation, variant, &small.site))
            status = try_way(device, implementation, variant, &small, fault, fault_bytes);
        wi_arena_clear(&arena);
    }
    return status;
}
