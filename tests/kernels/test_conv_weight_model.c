/* The index arithmetic of weights' gradients by a matrix engine: the engine's instructions are replaced by a model in plain
 * OpenCL C (cl_kernels/product/amx_model.clh), so that the kernel runs on any device of class cpu, and under interpreters that
 * see every access; and by the engine itself where there is one. Of class gpu: which sizes the tiles take. */
/* test slow */
#include "cl/buffer.h"
#include "cl/context.h"
#include "cl/kernel_source.h"
#include "cl/launch.h"
#include "cl/program.h"
#include "graph/dtype.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/registry.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

/* Of two spatial axes. The numbers are eighths up to 1, so that all sums are exact in f32. */
typedef struct weight_case {
    int64_t images, channels, filters, groups; /* of all groups */
    int64_t image[2];
    int32_t taps[2], stride[2], dilation[2], padding[2];
    weft_dtype formats[2]; /* of image and result */
} weight_case;

enum { X, Y, W, ARRAYS, LAUNCHES = 2 };

typedef struct weight_run {
    wi_device *device;
    const weight_case *problem;
    weft_tensor *node; /* zeros before it is described */
    wi_attributes attributes;
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
    const weight_case *const c = run->problem;
    int64_t x[4] = {c->images, 0, 0, c->channels}, y[4] = {c->images, 0, 0, c->filters};
    int64_t w[4] = {c->filters, c->channels / c->groups, c->taps[0], c->taps[1]};
    wi_conv_attributes *const attributes = &run->attributes.conv;
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
    run->node->input_count = 2;
    run->node->attributes = &run->attributes;
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
    WI_TRY_DONE(wi_kernel_headers_include(plan, &source));
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

/* *right: every element is exact. */
static weft_status compare(bool *right, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const weight_case *problem) {
    weight_run run = {.device = device, .problem = problem};
    run.node = wi_allocate(device->host.allocator, sizeof *run.node + 2 * sizeof(weft_tensor *));
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

/* ---- cases ---- */

typedef struct test_case {
    const char *what;
    weight_case problem;
} test_case;

#define FORMATS(x, y)                                                                                        \
    { WEFT_##x, WEFT_##y }

/* images, channels, filters, groups; image, taps, stride, dilation, padding; formats. The first ones are for the model, and for interpreters. */
static const test_case cases[] = {
    {"3 x 3, a tile of filters", {2, 16, 9, 1, {5, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, F32)}},
    {"lines of 3 channels, stride 2",
        {1, 3, 17, 1, {9, 11}, {3, 5}, {2, 2}, {1, 1}, {1, 2}, FORMATS(F32, BF16)}},
    {"1 x 1, stride 2", {2, 33, 18, 1, {5, 7}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, FORMATS(BF16, BF16)}},
    {"no padding, odd everything",
        {3, 37, 50, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, FORMATS(BF16, BF16)}},
    {"5 x 5 with less padding than it has room for",
        {2, 20, 32, 1, {8, 6}, {5, 5}, {1, 1}, {1, 1}, {1, 2}, FORMATS(F32, BF16)}},
    {"strides and dilations that differ",
        {2, 32, 40, 1, {13, 17}, {3, 2}, {2, 3}, {2, 1}, {2, 1}, FORMATS(BF16, F32)}},
    {"dilated by its stride", {1, 16, 16, 1, {12, 12}, {3, 3}, {2, 2}, {2, 2}, {2, 2}, FORMATS(BF16, BF16)}},
    {"groups", {2, 60, 42, 3, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
    {"an even window", {2, 32, 32, 1, {7, 7}, {2, 4}, {1, 2}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
    {"more padding than image", {2, 16, 32, 1, {2, 1}, {5, 5}, {1, 1}, {1, 1}, {4, 4}, FORMATS(BF16, BF16)}},
    {"11 x 11 lines, stride 4",
        {1, 3, 96, 1, {51, 47}, {11, 11}, {4, 4}, {1, 1}, {2, 2}, FORMATS(F32, BF16)}},
    {"7 x 7 of one channel", {2, 1, 20, 1, {15, 16}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, FORMATS(BF16, BF16)}},
    {"rows alone", {3, 48, 32, 1, {1, 40}, {1, 5}, {1, 1}, {1, 1}, {0, 2}, FORMATS(BF16, BF16)}},
    {"columns alone", {3, 24, 32, 1, {40, 1}, {5, 1}, {1, 1}, {1, 1}, {2, 0}, FORMATS(BF16, BF16)}},
    {"1 x 1, many", {4, 130, 260, 1, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, FORMATS(BF16, BF16)}},
    {"blocks of positions", {4, 64, 48, 1, {57, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
    {"many filters, few positions",
        {1, 160, 520, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
};
enum { CASES = sizeof cases / sizeof *cases, FEW_CASES = 3, MODEL_CASES = 10 };

static const wi_implementation *named(const char *name) {
    for (int i = 0; wi_convolution_weight_family[i]; i++) {
        if (strcmp(wi_convolution_weight_family[i]->name, name) == 0) return wi_convolution_weight_family[i];
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static const wi_implementation *the_kernel(void) {
    return named("amx_weight");
}

static void check(const wi_implementation *implementation, size_t count) {
    wi_device *const device = wi_context_device(test_context());
    for (size_t i = 0; i < count; i++) {
        bool right = false;
        assert_ok(compare(
            &right, device, implementation, wi_implementation_variant(implementation, 0), &cases[i].problem));
        if (!right) fail_msg("%s: the weight's gradient is wrong", cases[i].what);
    }
}

static void skip_without_vectors(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) return;
    print_message("skipped: the kernel is one of class cpu\n");
    skip();
}

static void the_model_is_exact(void **state) {
    static const char *const headers[] = {"amx_model.clh", NULL};
    wi_implementation model = *the_kernel();
    (void)state;
    skip_without_vectors();
    model.headers = headers;
    model.needs.engines = 0;
    check(&model, test_reduced() ? FEW_CASES : MODEL_CASES);
}

static void the_engine_is_exact(void **state) {
    (void)state;
    skip_without_vectors();
    if (!wi_context_device(test_context())->caps.engines) {
        print_message("skipped: no matrix engine here\n");
        skip();
    }
    check(the_kernel(), CASES);
}

/* Of this many channels, or filters, at 2^28 positions of contiguous images. */
static bool tiles_accept(int64_t channels, int64_t filters) {
    const weight_case problem = {
        1 << 20, channels, filters, 1, {16, 16}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, FORMATS(F32, F32)};
    wi_device device = {.profile = *wi_device_kind_named("gpu")};
    weight_run run = {.device = &device, .problem = &problem};
    device.profile.units = 1;
    device.profile.max_group = 1024;
    device.profile.local_bytes = 64 << 10;
    for (int i = 0; i < 3; i++) device.profile.max_items[i] = 1024;
    run.node = wi_allocate(NULL, sizeof *run.node + 2 * sizeof(weft_tensor *));
    assert_non_null(run.node);
    memset(run.node, 0, sizeof *run.node);
    describe(&run);
    run.site.result_format = WEFT_F32;
    run.site.precision = WEFT_F32;
    const wi_implementation *const tiles = named("conv_gpu_weight");
    const bool accepted = wi_implementation_accepts(tiles, wi_implementation_variant(tiles, 0), &run.site);
    wi_release(NULL, run.node);
    return accepted;
}

/* Quads of images and of slopes have numbers below 2^32. */
static void quads_over_an_int_are_left(void **state) {
    (void)state;
    assert_true(tiles_accept(48, 48));
    assert_false(tiles_accept(72, 48));
    assert_false(tiles_accept(48, 72));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_exact),
        cmocka_unit_test(the_engine_is_exact),
        cmocka_unit_test(quads_over_an_int_are_left),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
