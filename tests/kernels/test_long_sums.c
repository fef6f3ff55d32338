/* Products and weight gradients that add up 100,000 numbers, on class cpu: kernels add up blocks of the numbers, so that rounding errors
 * hardly grow with their count. All numbers are equal, because then all rounding errors of a sum have the same sign. */
#include "cl/context.h"
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100352, IMAGES = 32, SIDE = 56 }; /* COUNT = IMAGES·SIDE·SIDE */
static const float number = 0.7f;
/* A single sum in f32 has an error of 9e-4. */
static const double most = 3e-5;

static bool on_class_cpu(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) return true;
    printf("  skipped: the kernels of other classes divide long sums only if the device has work-groups to "
           "spare\n");
    return false;
}

static weft_tensor *filled(weft_graph *graph, int rank, const int64_t *dims) {
    size_t elements = 1;
    for (int i = 0; i < rank; i++) elements *= (size_t)dims[i];
    float *const values = malloc(elements * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < elements; i++) values[i] = number;
    weft_tensor *const x = weft_array(graph, WEFT_F32, values, rank, dims);
    free(values);
    return x;
}

static void assert_all_are(weft_tensor *y, double expected) {
    size_t elements = 1;
    for (int i = 0; i < weft_tensor_rank(y); i++) elements *= (size_t)weft_tensor_dimension(y, i);
    float *const values = malloc(elements * sizeof *values);
    assert_non_null(values);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    assert_weft_ok(weft_plan_step(plan, &(const weft_value){y, values, elements * sizeof *values}, 1));
    for (size_t i = 0; i < elements; i++)
        if (!(fabs(values[i] - expected) <= most * expected))
            fail_msg("element %zu is %.9g, expected %.9g", i, (double)values[i], expected);
    weft_plan_release(plan);
    free(values);
}

static void products(void **state) {
    (void)state;
    if (!on_class_cpu()) skip();
    static const struct {
        int64_t rows, columns;
        bool transposed;
    } shapes[] = {
        {1, 17, false}, {3, 5, true}, {3, 5, false}, {3, 257, false}, {257, 1, false}, {17, 64, true}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        weft_graph *const graph = test_graph();
        const int64_t rows = shapes[i].rows, columns = shapes[i].columns;
        weft_tensor *a = shapes[i].transposed
                             ? weft_transpose(filled(graph, 2, (const int64_t[]){COUNT, rows}))
                             : filled(graph, 2, (const int64_t[]){rows, COUNT});
        weft_tensor *const b = filled(graph, 2, (const int64_t[]){COUNT, columns});
        assert_all_are(weft_matmul(a, b), (double)COUNT * (double)number * (double)number);
        weft_graph_release(graph);
    }
}

/* The gradient of a window's middle tap, which no padding reaches. */
static void convolution_weights(void **state) {
    (void)state;
    if (!on_class_cpu()) skip();
    weft_graph *const graph = test_graph();
    weft_tensor *const x = filled(graph, 4, (const int64_t[]){IMAGES, 4, SIDE, SIDE}),
                       *const g = filled(graph, 4, (const int64_t[]){IMAGES, 5, SIDE, SIDE}),
                       *const w = weft_parameter(graph, "w", weft_fill(1), 5, 4, 3, 3);
    const weft_conv_options same = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_SAME};
    weft_tensor *const slope = weft_gradient(weft_sum(weft_mul(weft_conv_with(x, w, NULL, &same), g)), w);
    assert_all_are(
        weft_slice(weft_slice(slope, 2, 1, 2), 3, 1, 2), (double)COUNT * (double)number * (double)number);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(convolution_weights)};
    return test_finish(cmocka_run_group_tests_name("long sums", tests, NULL, NULL));
}
