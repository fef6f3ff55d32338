/* See conv_net.h. */
#include "kernels/candidates.h"
#include "support/fixture.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/site_name.h"
#include "ops/convolution/conv.h"
#include "ops/op_table.h"
#include "support/conv_net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static weft_tensor *result_of(const conv_case *c, weft_tensor *const *in, int extras) {
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .stride = c->stride, .dilation = c->dilation,
        .padding = c->padding, .groups = c->groups};
    weft_tensor *const y = weft_conv_with(wi_channels_first(in[0]), in[1], in[3], &options);
    return wi_channels_last(extras & CONV_RELU ? weft_relu(y) : y);
}

static void add_case(weft_graph *graph, const conv_case *c, weft_tensor **in, weft_tensor **out, int extras) {
    const int flat = extras & CONV_3D ? 0 : 1, rank = 5 - flat;
    int64_t x[] = {c->images, CONV_DEPTH, c->height, c->width, c->channels};
    int64_t w[] = {c->filters, c->channels / c->groups, c->taps, c->taps, c->taps};
    if (flat) x[1] = c->images;
    in[0] = weft_input_shape(graph, "x", WEFT_F32, rank, x + flat);
    in[1] = weft_input_shape(graph, "w", WEFT_F32, rank, w);
    in[3] = extras & CONV_BIAS ? weft_input_shape(graph, "bias", WEFT_F32, 1, &c->filters) : NULL;
    out[0] = result_of(c, in, extras);
    assert_weft_ok(weft_graph_status(graph));
    int64_t size[5];
    for (int d = 0; d < rank; d++) size[d] = weft_tensor_dimension(out[0], d);
    in[2] = weft_input_shape(graph, "slope", WEFT_F32, rank, size);
    weft_tensor **const of = &in[extras & CONV_OF_WEIGHT ? 1 : 0];
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(out[0], in[2])), of, 1, &out[1]));
}

conv_net conv_net_in(weft_graph *graph, const conv_case *cases, size_t count, int extras) {
    conv_net net = {.cases = cases, .count = count, .output_count = count * CONV_PASSES};
    assert_in_range(count, 1, CONV_MOST_CASES);
    for (size_t i = 0; i < count; i++)
        add_case(graph, &cases[i], net.inputs[i], &net.outputs[i * CONV_PASSES], extras);
    return net;
}

static size_t count_of(const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count;
}

size_t conv_net_size(const conv_net *net) {
    size_t size = 0;
    for (size_t i = 0; i < net->output_count; i++) size += count_of(net->outputs[i]);
    return size;
}

weft_plan *conv_net_plan(const conv_net *net, const char *forced) {
    weft_plan *plan = NULL;
    if (forced) assert_int_equal(setenv("WEFT_CONV", forced, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, net->outputs, net->output_count, NULL));
    if (forced) unsetenv("WEFT_CONV");
    return plan;
}

static void write_input(weft_plan *plan, weft_tensor *input, uint64_t number) {
    const size_t count = count_of(input);
    float *const values = malloc(count * sizeof *values);
    test_random random = test_random_named("convolutions", number);
    assert_non_null(values);
    for (size_t e = 0; e < count; e++) values[e] = (float)(test_random_below(&random, 17) - 8) / 8.0f;
    assert_weft_ok(weft_plan_write(plan, input, values, count * sizeof *values));
    free(values);
}

float *conv_net_run(const conv_net *net, weft_plan *plan) {
    float *const values = malloc(conv_net_size(net) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < net->count; i++)
        for (size_t k = 0; k < CONV_INPUTS; k++)
            if (net->inputs[i][k]) write_input(plan, net->inputs[i][k], i * CONV_INPUTS + k);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0, at = 0; i < net->output_count; at += count_of(net->outputs[i]), i++)
        assert_weft_ok(
            weft_plan_read(plan, net->outputs[i], values + at, count_of(net->outputs[i]) * sizeof *values));
    return values;
}

static bool is_winograd(const char *name, const conv_case *c) {
    (void)c;
    return strncmp(name, "winograd", strlen("winograd")) == 0;
}

void conv_net_compare(const conv_net *net, const char *name, const float *got, const float *wanted,
    bool (*rounds)(const char *name, const conv_case *c)) {
    for (size_t i = 0, count; i < net->output_count; i++, got += count, wanted += count) {
        const conv_case *const c = &net->cases[i / CONV_PASSES];
        double squares = 0.0;
        count = count_of(net->outputs[i]);
        for (size_t e = 0; e < count; e++) squares += (double)wanted[e] * (double)wanted[e];
        const double allowed =
            (rounds ? rounds : is_winograd)(name, c) ? 2e-5 * sqrt(squares / (double)count) : 0.0;
        for (size_t e = 0; e < count; e++) {
            if (fabs((double)got[e] - (double)wanted[e]) <= allowed) continue;
            fail_msg("%s, %s: element %zu of the %s is %g instead of %g", name, c->what, e,
                i % CONV_PASSES ? "gradient" : "result", (double)got[e], (double)wanted[e]);
        }
    }
}

static bool is_convolution(const weft_plan *plan, const wi_step *step) {
    (void)plan;
    return step->kind == WI_STEP_PRODUCT && step->gemm.convolution;
}

static bool is_of_weight(const weft_plan *plan, const wi_step *step) {
    return step->kind == WI_STEP_KERNEL &&
           plan->partition.values[step->members[0]].node->op == &wi_op_conv_weight;
}

static size_t steps_that(
    bool (*are)(const weft_plan *plan, const wi_step *step), const weft_plan *plan, const wi_step **steps) {
    size_t count = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        if (!are(plan, plan->partition.steps[i])) continue;
        assert_in_range(count, 0, CONV_MOST_CASES * CONV_PASSES - 1);
        steps[count++] = plan->partition.steps[i];
    }
    return count;
}

void conv_net_choose(wi_device *device, const char *kernel, const char *variant, const weft_plan *plan,
    const wi_step *const *steps, size_t count) {
    char site_name[WI_SITE_NAME], name[WI_KERNEL_NAME];
    snprintf(name, sizeof name, "%s/%s", kernel, variant);
    for (size_t i = 0; i < count; i++) {
        const wi_kernel_site site = wi_step_site(&plan->partition, steps[i]);
        wi_site_name(site_name, site.node->op, &site);
        assert_weft_ok(wi_choices_set(
            device, &(wi_choice){.site = site_name, .kernel = name, .seconds = 1, .usual = 1}));
    }
}

size_t conv_net_steps(const weft_plan *plan, const wi_step **steps) {
    return steps_that(is_convolution, plan, steps);
}

size_t conv_net_weight_steps(const weft_plan *plan, const wi_step **steps) {
    return steps_that(is_of_weight, plan, steps);
}

int conv_net_splits(const weft_plan *plan, const wi_step *step) {
    const wi_kernel_site site = wi_step_site(&plan->partition, step);
    wi_arena arena;
    wi_kernel_plan launches;
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(wi_implementation_prepare(
        step->selection->chosen, step->selection->variant, &site, &arena, &launches));
    const wi_kernel_launch *const tiles = launches.launches[launches.count - 2];
    assert_string_equal(tiles->suffix, "tiles");
    assert_false(tiles->has_epilogue);
    assert_string_equal(launches.launches[launches.count - 1]->suffix, "finish");
    const int splits = (int)tiles->global[2] / (int)step->gemm.convolution->groups;
    wi_arena_clear(&arena);
    return splits;
}

wi_conv_geometry conv_geometry_of(
    int64_t images, int64_t channels, int64_t filters, int64_t side, int64_t taps) {
    return (wi_conv_geometry){.images = images,
        .groups = 1,
        .channels = channels,
        .filters = filters,
        .read = {1, side, side},
        .made = {1, side, side},
        .taps = {1, taps, taps},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .before = {0, taps / 2, taps / 2}};
}

wi_conv_geometry conv_geometry_in_memory(
    int64_t images, int64_t channels, int64_t filters, int64_t side, int64_t taps) {
    wi_conv_geometry w = conv_geometry_of(images, channels, filters, side, taps);
    w.image = side * side * channels;
    w.step[1] = side * channels;
    w.step[2] = channels;
    return w;
}
