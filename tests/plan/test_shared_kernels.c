/* Kernels of a template that do not call the epilogue, such as one that packs a matrix, are compiled once for all
 * epilogues, if the driver compiles kernels at their first launch. */
#include "cl/context.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "support/fixture.h"
#include "support/scratch.h"

#include <math.h>

enum { ROWS = 192, WIDTH = 160 };

/* Predicts activation(x * ones) and returns how many pieces this compiles. */
static size_t added(weft_context *context, weft_tensor *(*activation)(weft_tensor *x), float *y) {
    static float x[ROWS][WIDTH];
    const weft_initialiser ones = weft_fill(1.0f / WIDTH);
    const size_t before = wi_programs_stats(wi_context_device(context))->pieces_added;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < WIDTH; j++) x[i][j] = (float)((i * 7 + j * 3) % 11 - 5);
    weft_graph *graph = NULL;
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *const input = weft_input(graph, "x", WEFT_F32, WIDTH);
    weft_tensor *const output =
        activation(weft_linear(input, WIDTH, .weight_initialiser = &ones, .no_bias = true));
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = x};
    assert_weft_ok(weft_predict(output, ROWS, &column, 1, y, ROWS * WIDTH * sizeof *y));
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < WIDTH; k++) sum += x[i][k] * (1.0 / WIDTH);
        const double wanted = activation == weft_tanh ? tanh(sum) : sum > 0 ? sum : 0;
        for (int j = 0; j < WIDTH; j++) assert_true(fabs(y[i * WIDTH + j] - wanted) < 1e-5);
    }
    weft_graph_release(graph);
    return wi_programs_stats(wi_context_device(context))->pieces_added - before;
}

static void packing_is_compiled_once(void **state) {
    static float y[ROWS * WIDTH];
    weft_context *const context = scratch_context(*state, NULL);
    const wi_device *const device = wi_context_device(context);
    const bool shares = device->profile.lanes > 1 && device->caps.quirks & WI_QUIRK_BINARY_LATE;
    const size_t first = added(context, weft_relu, y), second = added(context, weft_tanh, y);
    print_message("%zu pieces, then %zu\n", first, second);
    assert_int_equal(second, 1); /* the kernel with the epilogue */
    assert_int_equal(first, shares ? 2 : 1);
    assert_int_equal(added(context, weft_tanh, y), 0);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(packing_is_compiled_once)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
