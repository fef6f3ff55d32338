/* Layers of ONNX by rows whose results follow from the definitions: quantised products, recurrences with uncommon activations,
 * windows of signals; and what builders refuse of inputs. */
#include "support/fixture.h"
#include "support/onnx_rows.h"
#include <math.h>

static onnx_bytes file;

enum { U8 = CASE_UINT8, S8 = CASE_INT8, I32 = CASE_INT32, E4M3 = 17 };
#define NINE                                                                                                 \
    { 1, 2, 3, 4, 5, 6, 7, 8, 9 }
#define ONES                                                                                                 \
    { 1, 1, 1, 1, 1, 1, 1, 1, 1 }
#define NONE                                                                                                 \
    {                                                                                                        \
        -1, "", {                                                                                            \
            0                                                                                                \
        }                                                                                                    \
    }

/* ---- whole numbers ---- */

static const row quantised[] = {{"DequantizeLinear", "axis=1 block_size=2",
                                    {{S8, "2 4", {1, 2, 3, 4, 5, -6, 7, 8}}, {F, "2 2", {1, 2, 3, 4}}}, 1,
                                    {8}, {1, 2, 6, 8, 15, -18, 28, 32}},
    {"DequantizeLinear", "axis=1 block_size=2", {{S8, "1 3", {1, 2, 3}}, {F, "1 2", {1, 2}}}, 1, {3},
        {1, 2, 6}},
    {"QuantizeLinear", "", {{F, "2", {1.1, -500}}, {F, "", {1}}, {E4M3, "", {0}}}, 1, {2}, {1.125, -448}},
    {"QuantizeLinear", "axis=1", {{F, "1 2", {7, 300}}, {F, "2", {2, 1}}, {U8, "2", {1, 0}}}, 1, {2},
        {5, 255}},
    {"QLinearConv", "",
        {{U8, "1 1 2 2", {1, 2, 3, 4}}, {F, "", {1}}, {U8, "", {0}}, {U8, "1 1 1 1", {3}}, {F, "", {1}},
            {U8, "", {0}}, {F, "", {1}}, {U8, "", {0}}, {I32, "1", {5}}},
        1, {4}, {8, 11, 14, 17}},
    {"ConvInteger", "", {{U8, "1 1 3 3", NINE}, {U8, "1 1 3 3", ONES}}, 1, {1}, {45}},
    {"Swish", "alpha=0.5", {{F, "2", {0, 2}}}, 1, {2}, {0, 1.4621171573}},
    {"Swish", "", {{F, "2", {0, 1}}}, 1, {2}, {0, 0.7310585786}},
    {"Clip", "", {{F, "3", {-1, 0.5, 4}}, {F, "", {0}}, {F, "", {2}}}, 7, {3}, {0, 0.5, 2}},
    {"Clip", "", {{F, "3", {-1, 0.5, 4}}, {F, "", {0}}, {F, "", {2}}}, 3, {3}, {0, 0.5, 2}},
    {"Clip", "", {{F, "3", {-1, 0.5, 4}}, {F, "", {0}}, {F, "", {2}}}, 5, {3}, {0, 0.5, 2}},
    {"Where", "", {{B, "3", {1, 0, 1}}, {B, "3", {1, 1, 0}}, {B, "3", {0, 0, 1}}}, 7, {3}, {1, 0, 0}},
    {"Constant", "value_ints=[3,4]", {{0}}, 0, {2}, {3, 4}},
    {"Constant", "value_floats=[0.5,-4.0]", {{0}}, 0, {2}, {0.5, -4}},
    {"HannWindow", "", {{I, "", {4}}}, 0, {4}, {0, 0.5, 1, 0.5}},
    {"HannWindow", "periodic=0", {{I, "", {3}}}, 0, {3}, {0, 1, 0}},
    {"BlackmanWindow", "", {{I, "", {4}}}, 0, {4}, {0, 0.34, 1, 0.34}}};

static void test_quantised(void **state) {
    (void)state;
    rows_check(quantised, sizeof quantised / sizeof *quantised, 21, 1e-6);
}

/* Up to operator set 6 the second operand has the axes of the first from `axis` on. */
static void test_axis_of_second(void **state) {
    static const row rows[] = {{"Add", "axis=0 broadcast=1", {{F, "2 3", SIX}, {F, "2", {10, 20}}}, 3, {6},
                                   {11, 12, 13, 24, 25, 26}},
        {"Mul", "axis=1 broadcast=1", {{F, "1 2 1", {1, 2}}, {F, "2", {3, 4}}}, 3, {2}, {3, 8}},
        {"Sub", "broadcast=1", {{F, "2 3", SIX}, {F, "3", {1, 2, 3}}}, 3, {6}, {0, 0, 0, 3, 3, 3}}};
    (void)state;
    rows_check(rows, sizeof rows / sizeof *rows, 6, 1e-6);
}

/* A sum of products that f32 cannot hold exactly. */
static void test_long_product(void **state) {
    enum { ROWS = 2, DEPTH = 600 };
    static double a[ROWS][DEPTH], b[DEPTH][ROWS], wanted[ROWS][ROWS];
    static onnx_case_result result;
    (void)state;
    for (int k = 0; k < DEPTH; k++)
        for (int r = 0; r < ROWS; r++) a[r][k] = 255 - (k * 7 + r) % 5, b[k][r] = 255 - (k * 3 + r) % 4;
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < ROWS; q++)
            for (int k = 0; k < DEPTH; k++) wanted[r][q] += a[r][k] * b[k][q];
    const size_t model = onnx_begin_model(&file);
    onnx_input_typed(&file, "a", U8, "2 600");
    onnx_input_typed(&file, "b", U8, "600 2");
    onnx_node(&file, "MatMulInteger", "a b", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    const onnx_case_input inputs[] = {{&a[0][0], ROWS * DEPTH}, {&b[0][0], ROWS * DEPTH}};
    onnx_case_run(&file, inputs, &result);
    onnx_case_compare("MatMulInteger", &result, &wanted[0][0], ROWS * ROWS, 0);
}

/* ---- recurrences ---- */

/* CELL: input weight 2, recurrent weight 1. GRU: both gates are 1/2. The LSTM's three gates are 1/2, so that with g = tanh(x) its
 * cells are g1 / 2 and g1 / 4 + g2 / 2, and its results tanh(cell) / 2. */
#define CELL                                                                                                 \
    {F, "2 1 1", {1, -2}}, {F, "1 1 1", {2}}, {                                                              \
        F, "1 1 1", {                                                                                        \
            1                                                                                                \
        }                                                                                                    \
    }
#define GRU                                                                                                  \
    {F, "2 1 1", {1, 3}}, {F, "1 3 1", {0, 0, 1}}, {                                                         \
        F, "1 3 1", {                                                                                        \
            0, 0, 1                                                                                          \
        }                                                                                                    \
    }

static const row recurrences[] = {
    {"RNN", "hidden_size=1 activations=[Relu] clip=9.0", {CELL}, 1, {2}, {2, 0}},
    {"RNN", "hidden_size=1 activations=[Affine] activation_alpha=[0.5] activation_beta=[0.25]", {CELL}, 1,
        {2}, {1.25, -1.125}},
    {"RNN", "hidden_size=1 activations=[LeakyRelu] activation_alpha=[0.1]", {CELL}, 1, {2}, {2, -0.2}},
    {"RNN", "hidden_size=1 activations=[ThresholdedRelu] activation_alpha=[1.5]", {CELL}, 1, {2}, {2, 0}},
    {"RNN", "hidden_size=1 activations=[HardSigmoid] activation_alpha=[0.2] activation_beta=[0.5]", {CELL}, 1,
        {2}, {0.9, 0}},
    {"RNN", "hidden_size=1 activations=[Elu] activation_alpha=[1.0]", {CELL}, 1, {2}, {2, -0.86466472}},
    {"RNN", "hidden_size=1 clip=3.0", {CELL}, 1, {2}, {0.96402758, -0.99505475}},
    {"GRU", "hidden_size=1 activations=[Sigmoid,Relu]", {GRU}, 1, {2}, {0.5, 1.875}},
    {"GRU", "hidden_size=1 activations=[Sigmoid,Relu]", {GRU, {F, "1 6", {0, 0, 0, 0, 0, 1}}}, 1, {2},
        {1, 2.75}},
    {"GRU", "hidden_size=1 activations=[Sigmoid,Relu] linear_before_reset=1",
        {GRU, {F, "1 6", {0, 0, 0, 0, 0, 1}}}, 1, {2}, {0.75, 2.3125}},
    {"LSTM", "hidden_size=1 input_forget=1",
        {{F, "2 1 1", {1, 3}}, {F, "1 4 1", {0, 0, 0, 1}}, {F, "1 4 1", {0}}}, 1, {2},
        {0.181699742, 0.298323960}}};

static void test_recurrences(void **state) {
    (void)state;
    rows_check(recurrences, sizeof recurrences / sizeof *recurrences, 17, 1e-5);
}

/* Statistics that the host has computed are states, as those of the file are. */
static void test_computed_statistics(void **state) {
    static const double x[] = {1, 2, 3, 4}, three[] = {3, 3};
    static onnx_case_result result;
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "1 2 2");
    onnx_floats(&file, "w", "2"); /* 1/8, 2/8 */
    onnx_case_constant(&file, "one", CASE_FLOAT, "2", (const double[]){1, 1});
    onnx_case_constant(&file, "unit", CASE_FLOAT, "2", (const double[]){1, 1});
    onnx_case_constant(&file, "three", CASE_FLOAT, "2", three);
    onnx_node(&file, "Sub", "three unit", "mean");     /* 2 */
    onnx_node(&file, "Add", "three unit", "variance"); /* 4 */
    onnx_case_node(&file, "BatchNormalization", "x w one mean variance", "y", "epsilon=0.0");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    onnx_case_run(&file, &(onnx_case_input){x, 4}, &result);
    double wanted[4];
    for (int i = 0; i < 4; i++) wanted[i] = (x[i] - 2) / 2 * (i < 2 ? 0.125 : 0.25) + 1;
    onnx_case_compare("BatchNormalization", &result, wanted, 4, 1e-5);
}

/* ---- refusals ---- */

/* The first operand is an input. */
static const refusal refused[] = {
    {"Gather", "axis=1", {{F, "2 3", {0}}, {I, "1", {3}}}, "the index 3 is outside an axis of size 3"},
    {"Compress", "axis=1", {{F, "2 3", {0}}, {B, "4", {0, 0, 0, 1}}},
        "its condition selects no element, or one beyond"},
    {"OneHot", "", {{I, "2", {0}}, {I, "", {0}}, {F, "2", {0, 1}}}, "its depth or its axis is out of range"},
    {"ReverseSequence", "time_axis=2", {{F, "2 3", {0}}, {I, "3", {1, 1, 1}}}, "its axes must be 0 and 1"},
    {"GatherND", "batch_dims=2", {{F, "2 3", {0}}, {I, "1 1", {0}}}, "do not match"},
    {"TensorScatter", "axis=0", {{F, "1 4 2", {0}}, {F, "1 2 2", {0}}},
        "its update or its axis does not match"},
    {"TensorScatter", "mode=odd", {{F, "1 4 2", {0}}, {F, "1 2 2", {0}}}, "mode"},
    {"ScatterND", "", {{F, "3", {0}}, {I, "1 1", {0}}, {F, "2", {0}}}, "expected an index of one axis"},
    {"ScatterElements", "", {{F, "3", {0}}, {I, "1", {0}}, {F, "1 1", {0}}},
        "its indices and updates must have rank 1"},
    {"Gather", "axis=4", {{F, "2 3", {0}}, {I, "1", {0}}}, "there is no axis 4"},
    {"ReduceSum", "", {{F, "2", {0}}, {I, "9", ONES}}, "the number of axes is 9, expected at most 8"},
    {"TopK", "", {{F, "2", {0}}, {I, "1", {0}}}, "it needs a constant number k of 1 or more"},
    {"CumSum", "", {{F, "2", {0}}, {I, "", {5}}}, "axis 5 is not an axis"},
    {"RNN", "hidden_size=1 activations=[Odd]", {CELL}, "its activation 0 is not known"},
    {"RNN", "hidden_size=1 activations=[Affine]", {CELL}, "its activation 0 needs an alpha or a beta"},
    {"RNN", "hidden_size=1 activations=[Tanh,Tanh,Tanh]", {CELL}, "it has 3 activations"},
    {"RNN", "hidden_size=1", {{F, "2 1", {0}}, {F, "1 1", {0}}, {F, "1 1", {0}}},
        "x, W and R are not of rank 3"},
    {"BitShift", "direction=LEFT", {{F, "2", {0}}, {F, "2", {1, 1}}}, "it takes whole numbers"},
    {"Reshape", "", {{F, "2 3", {0}}, {I, "9", ONES}}, "the shape has 9 dimensions"},
    {"Reshape", "", {{F, "2 3", {0}}, {I, "2", {-1, -1}}}, "the shape has -1 as dimension 1"},
    {"Reshape", "", {{F, "2 3", {0}}, {I, "2", {4, -1}}},
        "no size of axis 1 makes (4, ?) have the number of elements of (2, 3)"},
    {"Unsqueeze", "", {{F, "2 3", {0}}, {I, "1", {5}}}, "there is no axis 5"},
    {"Transpose", "perm=[0]", {{F, "2 3", {0}}}, "the number of axes in perm is 1, expected 2"},
    {"Expand", "", {{F, "2 3", {0}}, {I, "9", ONES}}, "the shape has 9 dimensions"},
    {"Split", "axis=1", {{F, "2 3", {0}}, {I, "1", {2}}}, "the sizes of its parts do not add up to axis 1"},
    {"Slice", "", {{F, "2 3", {0}}, {I, "1", {0}}, {I, "1", {1}}, {I, "1", {7}}},
        "its axes, ends or steps do not match"},
    {"Slice", "", {{F, "2 3", {0}}, {I, "1", {0}}, {I, "1", {1}}, {I, "1", {0}}, {I, "1", {0}}},
        "do not match its starts"},
    {"Pad", "", {{F, "2 3", {0}}, {I, "1", {1}}}, "it needs two numbers for each axis"},
    {"Pad", "", {{F, "2", {0}}, {I, "2", {-0x1p63, 0}}}, "its pads are out of range"},
    {"Pad", "", {{F, "2 3", {0}}, {I, "2", {1, 1}}, NONE, {I, "1", {4}}}, "there is no axis 4"},
    {"DFT", "axis=2", {{F, "1 4 1", {0}}}, "its axis or its length is out of range"},
    {"DFT", "onesided=1 inverse=1", {{F, "1 4 1", {0}}}, "onesided is supported only for real numbers"},
    {"DFT", "", {{F, "1 4 3", {0}}}, "real or complex numbers"},
    {"STFT", "", {{F, "1 8 1", {0}}, {I, "", {2}}, {F, "3", {1, 1, 1}}, {I, "", {4}}},
        "its window is not as long as a frame"},
    {"STFT", "", {{F, "1 8 1", {0}}, {I, "", {2}}, NONE, {I, "", {9}}},
        "it needs a signal of a fixed length"},
    {"Conv", "kernel_shape=[2]", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}},
        "kernel_shape is not that of the weight"},
    {"Conv", "", {{F, "1 1 4", {0}}, {F, "1 1 3 3", {1}}}, "the ranks of image and weight differ"},
    {"Conv", "", {{F, "1 4", {0}}, {F, "1 1", {1}}}, "images have 1 to 3 spatial axes, not 0"},
    {"Conv", "strides=[0]", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}},
        "strides is not a list of 1 numbers of at least 1"},
    {"Conv", "auto_pad=ODD", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}}, "this auto_pad is not supported"},
    {"ConvTranspose", "output_shape=[1,2]", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}},
        "output_shape has 2 numbers"},
    {"ConvTranspose", "output_shape=[0]", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}}, "numbers of at least 1"},
    {"ConvTranspose", "output_padding=[-1]", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}},
        "output_padding is out of range"},
    {"MatMulInteger", "", {{F, "2 2", {0}}, {F, "2 2", {0}}}, "it needs factors of 8 bits"},
    {"MatMulInteger", "", {{U8, "2", {0}}, {U8, "2 2", {0}}}, "it needs matrices"},
    {"DequantizeLinear", "axis=5", {{S8, "2 4", {0}}, {F, "2", {1, 1}}}, "input 1 does not match axis 5"},
    {"QuantizeLinear", "", {{F, "2", {0}}, {F, "", {1}}, {I32, "", {0}}},
        "it does not quantise to this type"},
    {"QuantizeLinear", "precision=10", {{F, "2", {0}}, {F, "", {1}}}, "only precision float is supported"},
    {"AveragePool", "kernel_shape=[1] pads=[2,0]", {{F, "1 1 3", {0}}}, "a window lies in the padding"},
    {"MeanVarianceNormalization", "axes=[0,1,2,3,4,5,6,7,8]", {{F, "2", {0}}},
        "the number of axes is 9, expected at most 8"},
    {"CumSum", "", {{F, "2", {0}}, {I, "", {99}}}, "there is no axis 99"},
    {"SoftmaxCrossEntropyLoss", "ignore_index=4294967296", {{F, "2 3", {0}}, {I, "2", {0, 1}}},
        "its ignore_index does not fit into i32"},
    {"QLinearMatMul", "",
        {{U8, "1 2", {0}}, {F, "", {1}}, {U8, "", {0}}, {U8, "2 1", {1, 1}}, {F, "", {1}}, {U8, "", {0}},
            {F, "", {1}}, {I32, "", {0}}},
        "it does not quantise to this type"},
    {"RNN", "hidden_size=1 clip=1.0", {{F, "steps 1 1", {0}}, {F, "1 1 1", {2}}, {F, "1 1 1", {1}}},
        "need a fixed number of at most"},
    {"ConvTranspose", "output_shape=[4] pads=[0,2]", {{F, "1 1 4", {0}}, {F, "1 1 3", {1}}},
        "versions of ONNX disagree"},
    {"Resize", "keep_aspect_ratio_policy=not_smaller", {{F, "1 100", {0}}, NONE, NONE, {I, "2", {1e7, 100}}},
        "with its aspect ratio a side would be of open size, or too long"},
    {"Resize", "mode=cubic", {{F, "4000", {0}}, NONE, {F, "1", {2}}}, "it is too large"},
    {"AveragePool", "kernel_shape=[2] pads=[1,0]", {{F, "1 1 size", {0}}}, "it needs an image of fixed size"},
    {"Split", "axis=0", {{F, "size 2", {0}}, {I, "1", {1}}},
        "an axis of open size can only be split into equal parts"},
    {"ConstantOfShape", "", {{I, "1", {0}}}, "only if its values are constants"}};

/* All operands are inputs. */
static const refusal all_refused[] = {{"MatMulInteger", "", {{U8, "2 40000", {0}}, {U8, "40000 2", {0}}},
                                          "sums of 40000 products may overflow"},
    {"Compress", "", {{F, "2", {0}}, {B, "2", {0}}}, "its condition must be constant"},
    {"Range", "", {{I, "", {0}}, {I, "", {0}}, {I, "", {0}}}, "only if its values are constants"},
    {"ScatterND", "reduction=mul", {{F, "5000", {0}}, {I, "5000 1", {0}}, {F, "5000", {0}}},
        "its reduction mul is too large"},
    {"ScatterND", "", {{F, "3", {0}}, {I, "2 1", {0}}, {F, "2 1", {0}}},
        "its updates do not match its indices"}};

static void test_refusals(void **state) {
    (void)state;
    refusals_check(all_refused, sizeof all_refused / sizeof *all_refused, 7);
    refusals_check(refused, sizeof refused / sizeof *refused, 1);
}

/* Of nodes without inputs. */
static const refusal sources[] = {
    {"Constant", "value_string=text", {{0}}, "a constant of 'value_string' is not supported"},
    {"ConstantOfShape", "", {{I, "1", {-1}}}, "a size of its result is negative or not a whole number"},
    {"ConstantOfShape", "value=1", {{I, "1", {2}}}, "its value is not a single number"},
    {"HannWindow", "", {{I, "", {0}}}, "the window has 0 elements"}};

static void test_sources(void **state) {
    (void)state;
    refusals_check(sources, sizeof sources / sizeof *sources, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantised),
        cmocka_unit_test(test_axis_of_second), cmocka_unit_test(test_long_product),
        cmocka_unit_test(test_recurrences), cmocka_unit_test(test_computed_statistics),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_sources)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
