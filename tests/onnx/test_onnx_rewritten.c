/* Operations that a saved file of an older operator set expresses by others: the file, loaded again, computes what they are. */
#include "support/fixture.h"
#include "support/onnx_case.h"
#include <math.h>

enum {
    ROWS = 2,
    COLUMNS = 3,
    COUNT = ROWS * COLUMNS,
    CHANNELS = 4,
    AREA = 3,
    IMAGE = ROWS * CHANNELS * AREA,
    OUTPUTS = 13
};

static const double x[COUNT] = {-2.5, -0.5, 0, 0.75, 1.5, 3}, whole[COUNT] = {-7, 0, 2, 5, -1, 3};
static double picture[IMAGE];
static const float weight[CHANNELS] = {1, 2, 3, 4}, bias[CHANNELS] = {0, 1, 0, -1};

static void build(weft_graph *g, weft_tensor **y) {
    const int64_t dims[] = {ROWS, COLUMNS}, image[] = {ROWS, CHANNELS, AREA, 1}, four[] = {CHANNELS},
                  column[] = {COUNT, 1};
    weft_tensor *const a = weft_input_shape(g, "a", WEFT_F32, 2, dims),
                       *const i = weft_input_shape(g, "i", WEFT_I32, 2, dims),
                       *const p = weft_input_shape(g, "p", WEFT_F32, 4, image);
    y[0] = weft_gelu(a);
    y[1] = weft_gelu_tanh(a);
    y[2] = weft_mish(a);
    y[3] = weft_floor(i);
    y[4] = weft_where(weft_isnan(i), a, weft_neg(a));
    y[5] = weft_argmax_axes(a, (const int64_t[]){0, 1, WEFT_END}, false);
    y[6] = weft_argmin_axes(p, (const int64_t[]){1, 2, WEFT_END}, true);
    y[7] = weft_mul(a, weft_scalar(g, "factor", 1.5f));
    y[8] = weft_group_norm_with(
        p, 2, weft_array(g, WEFT_F32, weight, 1, four), weft_array(g, WEFT_F32, bias, 1, four), 1e-5f);
    y[9] = weft_pad(a, (const int64_t[]){1, 0}, (const int64_t[]){0, 2}, WEFT_PAD_WRAP, 0);
    y[10] = weft_cumprod_with(weft_reshape_shape(a, 2, column), 1, true, false);
    y[11] = weft_group_norm(p, 4);
    y[12] = weft_where(weft_isinf(i), a, weft_neg(a));
}

/* ---- what they are ---- */

static int place_of(const double *numbers, int count, int sign) {
    int best = 0;
    for (int k = 1; k < count; k++)
        if (sign * numbers[k] > sign * numbers[best]) best = k;
    return best;
}

static void normalise(const double *p, int groups, const float *w, const float *b, double *y) {
    const int size = CHANNELS * AREA / groups;
    for (int g = 0; g < ROWS * groups; g++) {
        double mean = 0, variance = 0;
        for (int k = 0; k < size; k++) mean += p[g * size + k] / size;
        for (int k = 0; k < size; k++) variance += pow(p[g * size + k] - mean, 2) / size;
        for (int k = 0; k < size; k++) {
            const int channel = (g * size + k) / AREA % CHANNELS;
            y[g * size + k] =
                (p[g * size + k] - mean) / sqrt(variance + 1e-5) * (double)w[channel] + (double)b[channel];
        }
    }
}

static void compare_floats(const onnx_case_result *results) {
    double wanted[6][COUNT];
    for (int k = 0; k < COUNT; k++) {
        const double tangent = tanh(sqrt(2 / acos(-1)) * (x[k] + 0.044715 * pow(x[k], 3)));
        wanted[0][k] = x[k] * (1 + erf(x[k] / sqrt(2))) / 2;
        wanted[1][k] = x[k] * (1 + tangent) / 2;
        wanted[2][k] = x[k] * tanh(log1p(exp(x[k])));
        wanted[3][k] = -x[k];
        wanted[4][k] = 1.5 * x[k];
        wanted[5][k] = 1;
    }
    onnx_case_compare("gelu", &results[0], wanted[0], COUNT, 2e-6);
    onnx_case_compare("gelu by tanh", &results[1], wanted[1], COUNT, 2e-6);
    onnx_case_compare("mish", &results[2], wanted[2], COUNT, 2e-6);
    onnx_case_compare("floor of whole numbers", &results[3], whole, COUNT, 0);
    onnx_case_compare("isnan of whole numbers", &results[4], wanted[3], COUNT, 0);
    onnx_case_compare("a scalar", &results[7], wanted[4], COUNT, 1e-6);
    onnx_case_compare("an exclusive product of one", &results[10], wanted[5], COUNT, 0);
    onnx_case_compare("isinf of whole numbers", &results[12], wanted[3], COUNT, 0);
}

static void compare_others(const onnx_case_result *results) {
    static const float ones[CHANNELS] = {1, 1, 1, 1}, zeros[CHANNELS] = {0};
    double wanted[IMAGE], places[ROWS * 1];
    wanted[0] = place_of(x, COUNT, 1);
    onnx_case_compare("argmax", &results[5], wanted, 1, 0);
    for (int n = 0; n < ROWS; n++) places[n] = place_of(picture + n * CHANNELS * AREA, CHANNELS * AREA, -1);
    onnx_case_compare("argmin", &results[6], places, ROWS, 0);
    normalise(picture, 2, weight, bias, wanted);
    onnx_case_compare("group norm", &results[8], wanted, IMAGE, 1e-5);
    normalise(picture, 4, ones, zeros, wanted);
    onnx_case_compare("group norm of parameters", &results[11], wanted, IMAGE, 1e-5);
    for (int r = 0; r < ROWS + 1; r++)
        for (int c = 0; c < COLUMNS + 2; c++)
            wanted[r * (COLUMNS + 2) + c] = x[(r + ROWS - 1) % ROWS * COLUMNS + c % COLUMNS];
    onnx_case_compare("wrapped padding", &results[9], wanted, (ROWS + 1) * (COLUMNS + 2), 0);
}

static void test_rewritten(void **state) {
    static onnx_case_result results[OUTPUTS];
    static const int opsets[] = {17, 21};
    test_random random = test_random_named("picture", 0);
    (void)state;
    for (int k = 0; k < IMAGE; k++) picture[k] = (double)(float)test_random_between(&random, -3, 5);
    for (size_t k = 0; k < sizeof opsets / sizeof *opsets; k++) {
        const weft_onnx_save_options options = {WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = opsets[k]};
        weft_graph *const graph = test_graph();
        weft_tensor *y[OUTPUTS];
        build(graph, y);
        assert_weft_ok(weft_graph_status(graph));
        assert_weft_ok(weft_onnx_save(test_path("rewritten.onnx"), y, OUTPUTS, &options));
        weft_graph_release(graph);
        const onnx_case_input inputs[] = {{x, COUNT}, {whole, COUNT}, {picture, IMAGE}};
        onnx_case_run_path(test_path("rewritten.onnx"), inputs, results);
        compare_floats(results);
        compare_others(results);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rewritten)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
