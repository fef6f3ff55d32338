/* See conv_weight_check.h. */
#include "kernels/convolution/conv_weight_check.h"
#include "cl/kernel_source.h"
#include "cl/launch.h"
#include "cl/program.h"
#include "graph/dtype.h"
#include "kernels/convolution/conv_weight.h"
#include <stdio.h>
#include <string.h>

enum { X, Y, W, ARRAYS, LAUNCHES = 2 };

typedef struct weight_run {
    wi_device *device;
    const wi_conv_weight_case *problem;
    weft_tensor *node; /* zeros before it is described */
    wi_kernel_site site;
    wi_conv conv;
    int64_t counts[ARRAYS];
    float *numbers[ARRAYS];
    wi_buffer buffers[ARRAYS], scratch;
    wi_launch launches[LAUNCHES];
    int launch_count;
} weight_run;

/* ---- the node ---- */

static void describe(weight_run *run) {
    const wi_conv_weight_case *const c = run->problem;
    int64_t x[4] = {c->images, 0, 0, c->channels}, y[4] = {c->images, 0, 0, c->filters};
    int64_t w[4] = {c->filters, c->channels / c->groups, c->taps[0], c->taps[1]};
    wi_conv_attributes *const attributes = &run->node->attributes.conv;
    *attributes = (wi_conv_attributes){
        .window = {.size = {1}, .stride = {1}, .dilation = {1}}, .groups = (int32_t)c->groups};
    for (int i = 0; i < 2; i++) {
        attributes->window.size[1 + i] = c->taps[i];
        attributes->window.stride[1 + i] = c->stride[i];
        attributes->window.dilation[1 + i] = c->dilation[i];
        attributes->window.padding[1 + i] = c->padding[i];
        x[1 + i] = c->image[i];
        y[1 + i] =
            (c->image[i] + 2 * c->padding[i] - (c->taps[i] - 1) * c->dilation[i] - 1) / c->stride[i] + 1;
    }
    wi_shape shapes[ARRAYS] = {{.rank = 4}, {.rank = 4}, {.rank = 4}};
    memcpy(shapes[X].dims, x, sizeof x);
    memcpy(shapes[Y].dims, y, sizeof y);
    memcpy(shapes[W].dims, w, sizeof w);
    run->node->op = &wi_op_conv_weight;
    run->node->shape = shapes[W];
    run->site = (wi_kernel_site){.node = run->node,
        .device = &run->device->profile,
        .inputs = {wi_extent_of(&shapes[X], 1), wi_extent_of(&shapes[Y], 1)},
        .result = wi_extent_of(&shapes[W], 1),
        .formats = {c->formats[0], c->formats[1]},
        .precision = WEFT_BF16};
    for (int i = 0; i < 2; i++) run->site.layouts[i] = wi_layout_contiguous(&run->site.inputs[i]);
    run->conv = wi_conv_weight_of(&run->site);
    for (int i = 0; i < ARRAYS; i++)
        run->counts[i] = shapes[i].dims[0] * shapes[i].dims[1] * shapes[i].dims[2] * shapes[i].dims[3];
}

/* ---- its launches ---- */

static weft_status set_pointer(cl_kernel kernel, cl_uint *next, cl_mem memory, int64_t offset) {
    const cl_long elements = offset;
    WI_CL(clSetKernelArg(kernel, (*next)++, sizeof memory, &memory), "clSetKernelArg");
    WI_CL(clSetKernelArg(kernel, (*next)++, sizeof elements, &elements), "clSetKernelArg");
    return WEFT_OK;
}

static weft_status set_arguments(const weight_run *run, cl_kernel kernel, const wi_kernel_launch *launch) {
    cl_uint next = 0;
    for (int i = 0; i < launch->argument_count; i++) {
        const wi_kernel_argument *const argument = &launch->arguments[i];
        const cl_int small = (cl_int)argument->number;
        const cl_long large = argument->number;
        if (argument->kind == WI_KERNEL_INPUT)
            WI_TRY(set_pointer(kernel, &next, run->buffers[argument->number].memory, 0));
        else if (argument->kind == WI_KERNEL_RESULT)
            WI_TRY(set_pointer(kernel, &next, run->buffers[W].memory, 0));
        else if (argument->kind == WI_KERNEL_SCRATCH)
            WI_TRY(set_pointer(kernel, &next, run->scratch.memory, argument->number));
        else if (argument->kind == WI_KERNEL_INT)
            WI_CL(clSetKernelArg(kernel, next++, sizeof small, &small), "clSetKernelArg");
        else if (argument->kind == WI_KERNEL_LONG)
            WI_CL(clSetKernelArg(kernel, next++, sizeof large, &large), "clSetKernelArg");
        else
            WI_FAIL(WEFT_ERROR_INTERNAL, "a weight's gradient takes no such argument");
    }
    return WEFT_OK;
}

static weft_status build(wi_program **program, const weight_run *run, const wi_kernel_plan *plan) {
    wi_text source;
    weft_status status;
    wi_text_init(&source, run->device->host.allocator);
    WI_TRY_DONE(wi_kernel_source_append(&source, "common.clh"));
    wi_text_append(&source, "\n#define WEFT_NAME(suffix) weight_##suffix\n");
    wi_kernel_macros_define(plan, &source);
    WI_TRY_DONE(wi_kernel_headers_append(plan, &source));
    WI_TRY_DONE(wi_kernel_source_append(&source, plan->file));
    if (source.failed) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "no memory for the source of %s", plan->file);
    status = wi_program_get(program, run->device, plan->file, source.data, NULL);
done:
    wi_text_clear(&source);
    return status;
}

static weft_status make_launch(weight_run *run, wi_program *program, const wi_kernel_launch *from) {
    wi_launch *const launch = &run->launches[run->launch_count];
    char name[64];
    snprintf(name, sizeof name, "weight_%s", from->suffix);
    *launch = (wi_launch){.dimensions = from->dimensions, .name = "conv_weight"};
    memcpy(launch->global, from->global, sizeof launch->global);
    memcpy(launch->local, from->local, sizeof launch->local);
    WI_TRY(wi_program_kernel(&launch->kernel, program, name));
    run->launch_count++;
    return set_arguments(run, launch->kernel, from);
}

static weft_status make_launches(weight_run *run, const wi_kernel_plan *plan) {
    wi_program *program = NULL;
    if (plan->count > LAUNCHES)
        WI_FAIL(WEFT_ERROR_INTERNAL, "a weight's gradient of %d launches", plan->count);
    WI_TRY(wi_buffer_create(&run->scratch, run->device, plan->scratch_bytes));
    WI_TRY(build(&program, run, plan));
    for (int i = 0; i < plan->count; i++) WI_TRY(make_launch(run, program, plan->launches[i]));
    return WEFT_OK;
}

/* ---- a run ---- */

static weft_status upload(weight_run *run, int array) {
    const wi_format *const format = wi_format_of(run->problem->formats[array]);
    const size_t bytes = (size_t)run->counts[array] * format->size;
    void *const data =
        wi_allocate_array(run->device->host.allocator, (size_t)run->counts[array], format->size);
    if (!data) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < run->counts[array]; i++)
        format->put(data, (size_t)i, (double)run->numbers[array][i]);
    weft_status status = wi_buffer_create(&run->buffers[array], run->device, bytes);
    if (status == WEFT_OK) status = wi_buffer_write(run->device, run->buffers[array].memory, 0, data, bytes);
    wi_release(run->device->host.allocator, data);
    return status;
}

static weft_status fill(weight_run *run) {
    for (int array = 0; array < ARRAYS; array++) {
        const size_t count = (size_t)run->counts[array];
        run->numbers[array] = wi_allocate_array(run->device->host.allocator, count, sizeof(float));
        if (!run->numbers[array]) return WEFT_ERROR_MEMORY;
        for (size_t i = 0; i < count; i++)
            run->numbers[array][i] = (float)(((i + 7 * (size_t)array) * 2654435761u >> 7) % 17) / 8.0f - 1.0f;
    }
    WI_TRY(upload(run, X));
    WI_TRY(upload(run, Y));
    return wi_buffer_create(&run->buffers[W], run->device, (size_t)run->counts[W] * sizeof(float));
}

static weft_status compute(
    weight_run *run, const wi_implementation *implementation, const wi_variant *variant) {
    wi_arena arena;
    wi_kernel_plan plan;
    if (!wi_implementation_accepts(implementation, variant, &run->site))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s does not take this convolution", implementation->name);
    wi_arena_init(&arena, run->device->host.allocator);
    weft_status status = wi_implementation_prepare(implementation, variant, &run->site, &arena, &plan);
    if (status == WEFT_OK) status = make_launches(run, &plan);
    wi_arena_clear(&arena);
    for (int i = 0; status == WEFT_OK && i < run->launch_count; i++)
        status = wi_launch_run(&run->launches[i], run->device);
    if (status != WEFT_OK) return status;
    return wi_buffer_read(
        run->device, run->buffers[W].memory, 0, run->numbers[W], (size_t)run->counts[W] * sizeof(float));
}

/* ---- the exact result ---- */

/* Of a filter, channel in its group, and tap: rows of the result that see the image. */
static double exact(const weight_run *run, int64_t filter, int64_t channel, const int64_t tap[2]) {
    const wi_conv *const c = &run->conv;
    const int64_t x_step = c->groups * c->channels, y_step = c->groups * c->filters;
    const int64_t plane = filter / c->filters * c->channels + channel;
    double sum = 0.0;
    for (int64_t row = 0; row < c->images * c->result[1]; row++) {
        const int64_t i1 = row % c->result[1] * c->stride[1] + tap[0] * c->dilation[1] - c->before[1];
        if (i1 < 0 || i1 >= c->image[1]) continue;
        const float *const x =
            run->numbers[X] + (row / c->result[1] * c->image[1] + i1) * c->image[2] * x_step;
        const float *const y = run->numbers[Y] + row * c->result[2] * y_step;
        for (int64_t o = 0; o < c->result[2]; o++) {
            const int64_t i2 = o * c->stride[2] + tap[1] * c->dilation[2] - c->before[2];
            if (i2 >= 0 && i2 < c->image[2])
                sum += (double)x[i2 * x_step + plane] * (double)y[o * y_step + filter];
        }
    }
    return sum;
}

static bool agrees(const weight_run *run) {
    const wi_conv *const c = &run->conv;
    const int64_t taps = c->taps[1] * c->taps[2];
    for (int64_t i = 0; i < run->counts[W]; i++) {
        const int64_t tap[2] = {i % taps / c->taps[2], i % c->taps[2]};
        if ((double)run->numbers[W][i] != exact(run, i / taps / c->channels, i / taps % c->channels, tap))
            return false;
    }
    return true;
}

weft_status wi_conv_weight_compare(bool *right, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_conv_weight_case *problem) {
    weight_run run = {.device = device, .problem = problem};
    run.node = wi_allocate_array(device->host.allocator, 1, sizeof *run.node);
    if (!run.node) return WEFT_ERROR_MEMORY;
    memset(run.node, 0, sizeof *run.node);
    describe(&run);
    weft_status status = fill(&run);
    if (status == WEFT_OK) status = compute(&run, implementation, variant);
    *right = status == WEFT_OK && agrees(&run);
    for (int i = 0; i < run.launch_count; i++) wi_launch_clear(&run.launches[i]);
    for (int i = 0; i < ARRAYS; i++) {
        wi_buffer_release(&run.buffers[i], device);
        wi_release(device->host.allocator, run.numbers[i]);
    }
    wi_buffer_release(&run.scratch, device);
    wi_release(device->host.allocator, run.node);
    return status;
}

/* ---- once for a device and driver ---- */

/* What has nothing to do with the implementation may be otherwise next time. */
static bool may_pass(weft_status status) {
    return status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_DEVICE_MEMORY ||
           status == WEFT_ERROR_MEMORY_LIMIT;
}

/* No multiples of a tile; pairs at even and odd places. */
static const wi_conv_weight_case small = {.images = 2,
    .channels = 20,
    .filters = 35,
    .groups = 1,
    .image = {7, 9},
    .taps = {3, 3},
    .stride = {1, 1},
    .dilation = {1, 1},
    .padding = {1, 1},
    .formats = {WEFT_BF16, WEFT_BF16}};

bool wi_conv_weight_is_right(
    wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    char name[128], error[2048];
    double known = 0.0;
    bool right = false;
    snprintf(name, sizeof name, "right %s/%s", implementation->name, variant->name);
    if (wi_tuning_get(device, name, &known)) return known == 1.0;
    wi_error_save(error, sizeof error);
    const weft_status status = wi_conv_weight_compare(&right, device, implementation, variant, &small);
    if (!right)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "%s is not used: %s", implementation->name,
            status == WEFT_OK ? "it computes wrong numbers" : weft_last_error());
    if (status == WEFT_OK || !may_pass(status)) wi_tuning_set(device, name, right ? 1.0 : 0.0);
    wi_error_restore(error);
    return right;
}
