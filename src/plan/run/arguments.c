/* Sets kernel arguments, and records those that change from run to run or when an input is bound to other memory. */
#include "cl/compile_processes.h"
#include "cl/context.h"
#include "cl/driver.h"
#include "kernels/kernel_plan.h"
#include "plan/run/launches.h"

static const wi_partition *partition_of(const wi_binder *b) {
    return b->launches->memory->placement->partition;
}

static void set(wi_binder *b, size_t bytes, const void *value) {
    if (b->status == WEFT_OK)
        b->status =
            wi_cl_check(clSetKernelArg(b->launch->launch.kernel, b->next, bytes, value), "clSetKernelArg");
    b->next++;
}

static void set_argument(wi_binder *b, size_t bytes, const void *value) {
    wi_compile_request_scalar(b->launches->request, bytes, value);
    set(b, bytes, value);
}

static void set_buffer(wi_binder *b, cl_mem memory) {
    wi_compile_request_memory(b->launches->request, memory);
    set(b, sizeof memory, &memory);
}

static void set_int(wi_binder *b, int64_t number) {
    const cl_int value = (cl_int)number;
    set_argument(b, sizeof value, &value);
}

static void set_long(wi_binder *b, int64_t number) {
    const cl_long value = number;
    set_argument(b, sizeof value, &value);
}

static void note(wi_binder *b, bool bound, wi_bound_argument argument) {
    argument.index = (int)b->next;
    if (bound)
        b->launch->bound[b->launch->bound_count++] = argument;
    else
        b->launch->changing[b->launch->changing_count++] = argument;
}

static void set_memory(wi_binder *b, int value) {
    const wi_location at = wi_locate_value(b->launches->memory, b->run, value);
    if (at.input >= 0) note(b, true, (wi_bound_argument){.kind = WI_ARGUMENT_BUFFER, .which = at.input});
    set_buffer(b, at.memory);
}

static void set_offset(wi_binder *b, int value, int64_t elements) {
    const wi_location at = wi_locate_value(b->launches->memory, b->run, value);
    const size_t size = weft_dtype_size(partition_of(b)->values[value].format);
    if (at.input >= 0)
        note(b, true,
            (wi_bound_argument){
                .kind = WI_ARGUMENT_OFFSET, .which = at.input, .elements = elements, .size = size});
    /* Signed: a load of only the last bytes of a value begins after the value's first element, so that the offset is negative. */
    set_long(b, elements + (int64_t)at.offset / (int64_t)size);
}

/* Sets an argument to the address at `elements`, an offset in the step's scratch memory. The scratch memory consists of two places: first
 * the one that fixed launches fill for all runs, then the one for a single run. If the second place does
 * not exist, `elements` may be the end of the first place, for an operand without bytes. */
static void set_scratch(wi_binder *b, int64_t elements, size_t size) {
    const wi_placement *placement = b->launches->memory->placement;
    const size_t bytes = (size_t)elements * size,
                 fixed_bytes = b->launches->code->schedule->of[b->run->step->index].fixed_bytes;
    const bool is_fixed = bytes < fixed_bytes || placement->scratch[b->run->index] < 0;
    const wi_location at = wi_locate_place(
        b->launches->memory, (is_fixed ? placement->fixed : placement->scratch)[b->run->index]);
    set_buffer(b, at.memory);
    set_long(b, (int64_t)((at.offset + bytes - (is_fixed ? 0 : fixed_bytes)) / size));
}

static void set_cells(wi_binder *b) {
    const wi_placement *const placement = b->launches->memory->placement;
    const wi_location at = wi_locate_place(b->launches->memory, placement->cells[b->run->step->device]);
    set_buffer(b, at.memory);
    set_long(b, (int64_t)(at.offset / sizeof(cl_int)));
}

static void set_fault(wi_binder *b, int slot) {
    const wi_location at =
        wi_locate_place(b->launches->memory, partition_of(b)->faults[b->run->step->device]);
    set_buffer(b, at.memory);
    set_long(b, (int64_t)(at.offset / sizeof(cl_int)) + slot);
}

static void set_seed(wi_binder *b) {
    const uint64_t seed = partition_of(b)->request->context->seed;
    set_int(b, (int32_t)(uint32_t)seed);
    set_int(b, (int32_t)(uint32_t)(seed >> 32));
}

static void set_changing(wi_binder *b, const wi_argument *argument) {
    const cl_uint zero = 0;
    note(b, false, (wi_bound_argument){.kind = argument->kind, .which = argument->a});
    set_argument(b, sizeof zero, &zero);
}

static void set_padding(wi_binder *b, const wi_padding *padding) {
    set_int(b, padding->before.actual);
    set_int(b, padding->size.actual);
    set_int(b, padding->step);
}

static void set_pick(wi_binder *b, const wi_pick *pick) {
    const wi_value *const values = partition_of(b)->values;
    set_int(b, values[pick->table].extent->dims[0].actual);
    set_int(b, wi_extent_count(values[pick->index].extent).actual);
    set_int(b, pick->width.actual);
    set_int(b, pick->skipped);
}

/* Is the field `a` of an argument of this kind the number of an operand? */
static bool of_operand(wi_argument_kind kind) {
    return kind == WI_ARGUMENT_BUFFER || kind == WI_ARGUMENT_OFFSET || kind == WI_ARGUMENT_STRIDE ||
           kind == WI_ARGUMENT_PADDING || kind == WI_ARGUMENT_PICK;
}

void wi_bind_described(wi_binder *b, const wi_argument *argument) {
    const wi_loop *loop = &b->launches->code->loops->of[b->run->step->index];
    const int *const work = b->launches->code->schedule->of[b->run->step->index].work;
    const wi_operand *operand = of_operand(argument->kind) ? &loop->operands[argument->a] : NULL;
    const float single = (float)argument->number;
    switch (argument->kind) {
    case WI_ARGUMENT_BUFFER: set_memory(b, operand->value); break;
    case WI_ARGUMENT_OFFSET: set_offset(b, operand->value, operand->layout.offset.actual); break;
    case WI_ARGUMENT_STRIDE: set_long(b, operand->layout.strides[argument->b].actual); break;
    case WI_ARGUMENT_PADDING: set_padding(b, &operand->padding[argument->b]); break;
    case WI_ARGUMENT_PICK: set_pick(b, operand->pick); break;
    case WI_ARGUMENT_DIM: set_int(b, loop->space.dims[argument->a].actual); break;
    case WI_ARGUMENT_WORK: set_int(b, work[argument->a]); break;
    case WI_ARGUMENT_FLOAT: set_argument(b, sizeof single, &single); break;
    case WI_ARGUMENT_DOUBLE: set_argument(b, sizeof argument->number, &argument->number); break;
    case WI_ARGUMENT_WHOLE: set_int(b, (int64_t)argument->number); break;
    case WI_ARGUMENT_SCALAR:
    case WI_ARGUMENT_DRAWS:
    case WI_ARGUMENT_ITERATION: set_changing(b, argument); break;
    case WI_ARGUMENT_SEED: set_seed(b); break;
    case WI_ARGUMENT_FAULT: set_fault(b, argument->a); break;
    case WI_ARGUMENT_SCRATCH: /* the partial results of one reduction follow those of another */
        set_scratch(b,
            (int64_t)argument->a * (int64_t)argument->number * work[WI_WORK_RESULTS] * work[WI_WORK_SPLITS],
            (size_t)argument->b);
        break;
    case WI_ARGUMENT_CELLS: set_cells(b); break;
    }
}

static void set_value(wi_binder *b, int value) {
    set_memory(b, value);
    set_offset(b, value, partition_of(b)->values[value].layout->offset.actual);
}

void wi_bind_kernel(wi_binder *b, const wi_kernel_argument *argument) {
    switch (argument->kind) {
    case WI_KERNEL_INPUT: set_value(b, b->run->step->sources[argument->number]); break;
    case WI_KERNEL_RESULT: set_value(b, b->run->step->members[0]); break;
    case WI_KERNEL_SCRATCH: set_scratch(b, argument->number, sizeof(float)); break;
    case WI_KERNEL_INT: set_int(b, argument->number); break;
    case WI_KERNEL_LONG: set_long(b, argument->number); break;
    case WI_KERNEL_FLOAT: set_argument(b, sizeof argument->real, &argument->real); break;
    case WI_KERNEL_FAULTS: set_fault(b, partition_of(b)->values[b->run->step->members[0]].fault); break;
    case WI_KERNEL_RANDOM:
        set_seed(b);
        set_changing(b, &(wi_argument){.kind = WI_ARGUMENT_DRAWS});
        break;
    case WI_KERNEL_ITERATION: set_changing(b, &(wi_argument){.kind = WI_ARGUMENT_ITERATION}); break;
    }
}
