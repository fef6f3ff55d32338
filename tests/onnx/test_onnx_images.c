/* Operators of ONNX on images and norms, by rows whose results follow from the definitions. */
#include "support/fixture.h"
#include "support/onnx_rows.h"
#include <math.h>

#define FOUR                                                                                                 \
    { 1, 2, 3, 4 }
#define NINE                                                                                                 \
    { 1, 2, 3, 4, 5, 6, 7, 8, 9 }
#define TWELVE                                                                                               \
    { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }
#define NONE                                                                                                 \
    {                                                                                                        \
        -1, "", {                                                                                            \
            0                                                                                                \
        }                                                                                                    \
    }

static const row blocks[] = {{"CenterCropPad", "", {{F, "2 3", SIX}, {I, "2", {3, 1}}}, 1, {3}, {2, 5, 0}},
    {"CenterCropPad", "axes=[1]", {{F, "2 3", SIX}, {I, "1", {6}}}, 1, {12},
        {0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0}},
    {"CenterCropPad", "axes=[-1]", {{F, "1 4", FOUR}, {I, "1", {1}}}, 1, {1}, {2}},
    {"Col2Im", "", {{F, "1 2 4", {1, 2, 3, 4, 5, 6, 7, 8}}, {I, "1", {5}}, {I, "1", {2}}}, 1, {5},
        {1, 7, 9, 11, 8}},
    {"Col2Im", "strides=[3]", {{F, "1 2 2", FOUR}, {I, "1", {6}}, {I, "1", {2}}}, 1, {6}, {1, 3, 0, 2, 4, 0}},
    {"Col2Im", "dilations=[2]", {{F, "1 2 2", FOUR}, {I, "1", {4}}, {I, "1", {2}}}, 1, {4}, {1, 2, 3, 4}},
    {"Col2Im", "pads=[0,1,0,0]", {{F, "1 2 6", TWELVE}, {I, "2", {2, 3}}, {I, "2", {1, 2}}}, 1, {6},
        {9, 11, 9, 15, 17, 12}},
    {"DepthToSpace", "blocksize=2", {{F, "1 4 1 1", FOUR}}, 1, {4}, FOUR},
    {"SpaceToDepth", "blocksize=2", {{F, "1 1 2 2", FOUR}}, 1, {4}, FOUR},
    {"EyeLike", "k=1", {{F, "2 3", SIX}}, 0, {6}, {0, 1, 0, 0, 0, 1}},
    {"Det", "", {{F, "2 2", {2, 3, 4, 5}}}, 1, {1}, {-2}}};

/* Draws with only one possible result. */
static const row draws[] = {
    {"RandomUniform", "shape=[2,2] low=3.5 high=3.5", {{0}}, 0, {4}, {3.5, 3.5, 3.5, 3.5}},
    {"RandomNormal", "shape=[3] mean=-2.5 scale=0.0", {{0}}, 0, {3}, {-2.5, -2.5, -2.5}},
    {"RandomUniformLike", "low=0.5 high=0.5", {{F, "1 2", {7, 8}}}, 0, {2}, {0.5, 0.5}},
    {"RandomNormalLike", "mean=4.0 scale=0.0 dtype=6", {{F, "2 1", {7, 8}}}, 0, {2}, {4, 4}},
    {"Bernoulli", "", {{F, "2 2", {0, 1, 1, 0}}}, 1, {4}, {0, 1, 1, 0}},
    {"Bernoulli", "dtype=6", {{F, "3", {1, 0, 1}}}, 1, {3}, {1, 0, 1}},
    {"Multinomial", "sample_size=3", {{F, "2 3", {-1000, 5, -1000, 2, -1000, -1000}}}, 1, {6},
        {1, 1, 1, 0, 0, 0}}};

/* Boxes 0 to 2 overlap, as do 3 and 4. */
#define BOXES                                                                                                \
    { 0, 0, 1, 1, 0, 0.1, 1, 1.1, 1, 0.9, 0, -0.1, 0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100, 1, 101 }
#define SCORES                                                                                               \
    { 0.9, 0.75, 0.6, 0.95, 0.5, 0.3 }
#define SUPPRESS(attributes, limits, most, threshold, ...)                                                   \
    {                                                                                                        \
        "NonMaxSuppression", attributes,                                                                     \
            {{F, "1 6 4", BOXES}, {F, "1 1 6", SCORES}, {I, "1", {most}}, {F, "1", {limits}},                \
                {F, "1", {threshold}}},                                                                      \
            3, __VA_ARGS__                                                                                   \
    }
static const row selections[] = {SUPPRESS("", 0.5, 3, 0, {9}, {0, 0, 3, 0, 0, 0, 0, 0, 5}),
    SUPPRESS("", 0.5, 3, 0.4, {9}, {0, 0, 3, 0, 0, 0, -1, -1, -1}),
    SUPPRESS("", 0.95, 2, 0, {6}, {0, 0, 3, 0, 0, 0}),
    {"NonMaxSuppression", "center_point_box=1",
        {{F, "1 3 4", {0.5, 0.5, 1, 1, 0.5, 0.6, 1, 1, 5, 5, 1, 1}}, {F, "1 2 3", {1, 3, 2, 3, 2, 1}},
            {I, "1", {9}}, {F, "1", {0.5}}},
        3, {18}, {0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 2, -1, -1, -1, -1, -1, -1}},
    {"MaxRoiPool", "pooled_shape=[2,1]", {{F, "1 1 3 3", NINE}, {F, "2 5", {0, 0, 0, 1, 1, 0, 1, 1, 9, 9}}},
        3, {4}, {2, 5, 9, 0}},
    {"MaxRoiPool", "pooled_shape=[1,2] spatial_scale=0.5",
        {{F, "1 1 3 3", NINE}, {F, "1 5", {0, 1, 0, 4, 4}}}, 3, {2}, {8, 9}},
    {"MelWeightMatrix", "", {{I, "", {2}}, {I, "", {16}}, {I, "", {8}}, {F, "", {0}}, {F, "", {4}}}, 0, {18},
        {0, 0, 0.5, 0, 1, 0, 0.5, 0.5, 0, 1, 0, 0.5, 0, 0, 0, 0, 0, 0}}};

static const row samples[] = {
    {"AffineGrid", "", {{F, "1 2 3", {1, 0, 0.5, 0, 2, -1}}, {I, "4", {1, 1, 2, 3}}}, 1, {12},
        {-1 / 6.0, -2, 0.5, -2, 7 / 6.0, -2, -1 / 6.0, 0, 0.5, 0, 7 / 6.0, 0}},
    {"AffineGrid", "align_corners=1", {{F, "1 2 3", {1, 0, 0.5, 0, 2, -1}}, {I, "4", {1, 1, 2, 3}}}, 1, {12},
        {-0.5, -3, 0.5, -3, 1.5, -3, -0.5, 1, 0.5, 1, 1.5, 1}},
    {"DeformConv", "", {{F, "1 1 3 3", NINE}, {F, "1 1 2 2", FOUR}, {F, "1 8 2 2", {0}}}, 5, {4},
        {37, 47, 67, 77}},
    {"DeformConv", "",
        {{F, "1 1 3 3", NINE}, {F, "1 1 2 2", FOUR}, {F, "1 8 2 2", {0}}, {F, "1", {1}},
            {F, "1 4 2 2", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}},
        21, {4}, {19.5, 24.5, 34.5, 39.5}},
    {"DeformConv", "",
        {{F, "1 1 3 3", NINE}, {F, "1 1 2 2", FOUR},
            {F, "1 8 2 2",
                {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0,
                    0}}},
        5, {4}, {67, 77, 23, 26}},
    {"DeformConv", "",
        {{F, "1 1 3 3", NINE}, {F, "1 1 2 2", FOUR},
            {F, "1 8 2 2",
                {0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0, 0.5, 0.5, 0.5,
                    0.5, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5}}},
        5, {4}, {42, 34, 72, 55}},
    {"LpPool", "kernel_shape=[1,2] strides=[1,2]", {{F, "1 1 1 4", {3, -4, 6, 8}}}, 1, {2}, {5, 10}},
    {"LpPool", "kernel_shape=[1,2] strides=[1,2] ceil_mode=1", {{F, "1 1 1 3", {3, -4, 5}}}, 1, {2}, {5, 5}},
    {"LpPool", "kernel_shape=[1,2] pads=[0,1,0,0] p=1", {{F, "1 1 1 3", {3, -4, 5}}}, 1, {3}, {3, 7, 9}},
    {"GlobalLpPool", "p=1", {{F, "1 1 2 2", {-1, 2, 3, -4}}}, 1, {1}, {10}},
    {"GlobalLpPool", "", {{F, "1 1 2 2", {3, -4, 0, 0}}}, 1, {1}, {5}},
    {"GlobalLpPool", "p=3", {{F, "1 1 1 3", {1, -2, 3}}}, 1, {1}, {3.3019272488946263}}};

static const row resizes[] = {
    {"Resize", "mode=nearest axes=[2,3] keep_aspect_ratio_policy=not_larger",
        {{F, "1 1 1 2", {5, 7}}, NONE, NONE, {I, "2", {2, 6}}}, 1, {8}, {5, 5, 7, 7, 5, 5, 7, 7}},
    {"Resize", "mode=nearest axes=[2,3] keep_aspect_ratio_policy=not_smaller",
        {{F, "1 1 1 2", {5, 7}}, NONE, NONE, {I, "2", {2, 6}}}, 1, {18},
        {5, 5, 5, 7, 7, 7, 5, 5, 5, 7, 7, 7, 5, 5, 5, 7, 7, 7}},
    {"Resize", "mode=linear coordinate_transformation_mode=half_pixel_symmetric",
        {{F, "1 1 3", {0, 3, 6}}, NONE, {F, "3", {1, 1, 1.5}}}, 1, {4}, {0, 2, 4, 6}},
    {"Resize", "mode=linear coordinate_transformation_mode=half_pixel_symmetric",
        {{F, "1 1 2", {0, 4}}, NONE, {F, "3", {1, 1, 2}}}, 1, {4}, {0, 1, 3, 4}},
    {"LpNormalization", "p=1 axis=1", {{F, "2 2", {-1, 3, 0, 0}}}, 1, {4}, {-0.25, 0.75, 0, 0}},
    {"LpNormalization", "", {{F, "2 2", {3, 4, 0, 0}}}, 1, {4}, {0.6, 0.8, 0, 0}},
    {"RMSNormalization", "", {{F, "1 2", {3, 4}}, {F, "2", {1, 2}}}, 1, {2}, {0.84852814, 2.2627417}},
    {"RMSNormalization", "", {{F, "1 2", {3, 4}}, {F, "1", {2}}}, 1, {2}, {1.6970563, 2.2627417}},
    {"LayerNormalization", "", {{F, "1 2", {1, 3}}, {F, "1", {2}}, {F, "2", {0, 1}}}, 1, {2}, {-2, 3}},
    {"InstanceNormalization", "", {{F, "1 2 1", {5, 7}}, {F, "2", {1, 2}}, {F, "2", {3, 4}}}, 1, {2}, {3, 4}},
    {"GroupNormalization", "num_groups=2", {{F, "1 2 2", {1, 3, 2, 6}}, {F, "2", {2, 1}}, {F, "2", {0, 1}}},
        1, {4}, {-2, 2, 0, 2}},
    {"MeanVarianceNormalization", "axes=[0]", {{F, "2 2", {1, 2, 3, 6}}}, 1, {4}, {-1, -1, 1, 1}}};

static const row upsamples[] = {
    {"Upsample", "scales=[1.0,1.0,2.0]", {{F, "1 1 2", {3, 5}}}, 1, {4}, {3, 3, 5, 5}}};

static void test_blocks(void **state) {
    (void)state;
    rows_check(blocks, sizeof blocks / sizeof *blocks, 18, 1e-5);
}
static void test_draws(void **state) {
    (void)state;
    rows_check(draws, sizeof draws / sizeof *draws, 15, 0);
}
static void test_selections(void **state) { /* as ONNX Runtime 1.32 computes them */
    (void)state;
    rows_check(selections, sizeof selections / sizeof *selections, 17, 1e-6);
}
static void test_samples(void **state) {
    (void)state;
    rows_check(samples, sizeof samples / sizeof *samples, 20, 1e-5);
}
static void test_resizes(void **state) {
    (void)state;
    rows_check(resizes, sizeof resizes / sizeof *resizes, 18, 2e-5);
    rows_check(upsamples, 1, 7, 0);
}

/* An axis of open size is repeated a whole number of times. */
static void test_open_resize(void **state) {
    static onnx_bytes file;
    static const double factors[] = {1, 1, 3};
    const float x[] = {4, 7, 1, 2};
    float y[12];
    weft_onnx_model *model;
    weft_plan *plan;
    weft_graph *const graph = test_graph();
    (void)state;
    const size_t begun = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 2 length");
    onnx_case_constant(&file, "factors", F, "3", factors);
    onnx_case_node(&file, "Resize", "x - factors", "y", "mode=nearest");
    onnx_output(&file, "y");
    onnx_end_model(&file, begun);
    assert_weft_ok(weft_onnx_load_from_memory(&model, graph, file.data, file.length, NULL));
    weft_tensor *const output = weft_onnx_output(model, 0);
    assert_int_equal(weft_tensor_dimension(output, 2), 3 * WEFT_LENGTH);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 1, .length = 2, .inference = true};
    assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
    assert_weft_ok(weft_plan_write(plan, weft_onnx_input(model, 0), x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, output, y, sizeof y));
    for (int i = 0; i < 12; i++) assert_float_equal(y[i], x[i / 3], 0);
    weft_plan_release(plan);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    const size_t refused = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch 2 length");
    onnx_case_constant(&file, "factors", F, "3", factors);
    onnx_case_node(&file, "Resize", "x - factors", "y", "mode=cubic");
    onnx_output(&file, "y");
    onnx_end_model(&file, refused);
    onnx_case_refused(&file, "Resize", "its mode is not supported along an axis of open size");
}

/* ---- refusals ---- */

static const refusal refused[] = {{"Pad", "mode=odd", {{F, "2", {1, 2}}, {I, "2", {1, 1}}}, "mode"},
    {"CenterCropPad", "axes=[3]", {{F, "2 3", SIX}, {I, "1", {6}}}, "there is no axis 3"},
    {"CenterCropPad", "", {{F, "2 3", SIX}, {I, "1", {6}}},
        "the number of sizes in its shape is 1, expected 2"},
    {"CenterCropPad", "", {{F, "2", {1, 2}}, {I, "1", {0}}}, "its sizes must be fixed, and 1 or more"},
    {"Col2Im", "", {{F, "1 2 4", {1}}, {I, "1", {5}}, {I, "2", {2, 1}}}, "its sizes are out of range"},
    {"Col2Im", "", {{F, "1 2 4", {1}}, {I, "1", {1}}, {I, "1", {2}}}, "its sizes are out of range"},
    {"Col2Im", "", {{F, "1 2 4", {1}}, {I, "1", {9}}, {I, "1", {2}}}, "its columns do not match the image"},
    {"DepthToSpace", "blocksize=2", {{F, "1 2 1 1", {1}}}, "its blocks do not divide the channels"},
    {"DepthToSpace", "", {{F, "1 2 1 1", {1}}}, "it needs a blocksize"},
    {"SpaceToDepth", "blocksize=2", {{F, "1 1 1 2", {1}}}, "its blocks do not divide the image"},
    {"EyeLike", "", {{F, "2", {1}}}, "it needs a matrix"},
    {"RandomUniform", "shape=[2] low=1.5 high=0.5", {{0}}, "the bounds must be finite and in order"},
    {"Multinomial", "", {{F, "2", {1}}}, "it needs a matrix and at least one sample"},
    {"Det", "", {{F, "2 3", {1}}}, "it needs square matrices"},
    {"GridSample", "", {{F, "1 1 2 2", {1}}, {F, "1 2 2 3", {1}}}, "its grid or its mode does not match"},
    {"GridSample", "", {{F, "1 1", {1}}, {F, "1 2 2 2", {1}}}, "1 to 3 spatial axes"},
    {"AffineGrid", "", {{F, "1 2 3", {1}}, {I, "5", {1, 1, 2, 3, 4}}}, "its size does not match theta"},
    {"AffineGrid", "align_corners=1", {{F, "1 2 3", {1}}, {I, "4", {1, 1, 1, 3}}},
        "this size is not supported"},
    {"MaxRoiPool", "pooled_shape=[2,2]", {{F, "1 1 2 2", {1}}, {F, "1 4", {1}}}, "it needs rois (R, 5)"},
    {"NonMaxSuppression", "", {{F, "1 2 4", {1}}, {F, "1 1 2", {1}}},
        "it selects at most 0 boxes of each class"},
    {"NonMaxSuppression", "", {{F, "1 2 4", {1}}, {F, "1 1 3", {1}}, {I, "1", {2}}},
        "it takes boxes (B, N, 4)"},
    {"Unique", "axis=0", {{F, "2 2", {1}}}, "but not for slices"},
    {"MelWeightMatrix", "", {{I, "", {2}}, {I, "", {8}}, {I, "", {8}}, {F, "", {0}}, {F, "", {9}}},
        "an edge is above half"},
    {"RoiAlign", "", {{F, "1 1 2 2", {1}}, {F, "1 4", {1}}, {I, "1", {0}}}, "it needs rois (R, 4)"},
    {"DeformConv", "", {{F, "1 1 3 3", {1}}, {F, "1 1 2 2", {1}}, {F, "1 6 2 2", {1}}},
        "its shapes do not match"},
    {"Resize", "mode=odd", {{F, "1 1 3", {1}}, NONE, {F, "3", {1, 1, 2}}}, "this mode is not supported"},
    {"Resize", "", {{F, "1 1 3", {1}}, NONE, {F, "2", {1, 2}}}, "a constant size or factor for each axis"},
    {"Resize", "axes=[5]", {{F, "1 1 3", {1}}, NONE, {F, "1", {2}}}, "there is no axis 5"},
    {"Resize", "", {{F, "1 1 3", {1}}, NONE, {F, "3", {1, 1, -2}}},
        "the size or factor of axis 2 is not supported"},
    {"Resize", "coordinate_transformation_mode=tf_crop_and_resize",
        {{F, "1 1 3", {1}}, NONE, {F, "3", {1, 1, 2}}}, "it needs a constant region of interest"},
    {"Resize", "coordinate_transformation_mode=tf_crop_and_resize",
        {{F, "3", {1}}, {F, "2", {0, 1e7}}, {F, "1", {2}}}, "its region of interest is out of range"},
    {"Resize", "mode=cubic coordinate_transformation_mode=pytorch_half_pixel",
        {{F, "3", {1}}, NONE, {F, "1", {0.34}}}, "ONNX does not define the positions"},
    {"LpNormalization", "p=3", {{F, "2", {1, 2}}}, "p is not 1 or 2"},
    {"LpPool", "p=0 kernel_shape=[2]", {{F, "1 1 3", {1}}}, "p is below 1"},
    {"GlobalLpPool", "p=0", {{F, "1 1 3", {1}}}, "p is below 1"},
    {"MaxPool", "kernel_shape=[5] pads=[1,0]", {{F, "1 1 3", {1}}}, "the window is longer than the image"},
    {"MaxUnpool", "kernel_shape=[2] strides=[2]", {{F, "1 1 2", {1}}, {I, "1 1 2", {0}}, {I, "3", {1, 1, 2}}},
        "an output_shape that is not smaller"},
    {"InstanceNormalization", "", {{F, "2 2", {1}}, {F, "2", {1}}, {F, "2", {1}}}, "its rank is below 3"},
    {"GroupNormalization", "num_groups=3", {{F, "1 2 2", {1}}, {F, "2", {2}}, {F, "2", {0}}},
        "num_groups does not divide the channels"},
    {"BatchNormalization", "spatial=0",
        {{F, "1 2 2", {1}}, {F, "2", {1}}, {F, "2", {1}}, {F, "2", {1}}, {F, "2", {1}}},
        "spatial 0 and saved statistics are not supported"}};

static void test_refusals(void **state) {
    (void)state;
    refusals_check(refused, sizeof refused / sizeof *refused, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_draws),
        cmocka_unit_test(test_selections), cmocka_unit_test(test_samples), cmocka_unit_test(test_resizes),
        cmocka_unit_test(test_open_resize), cmocka_unit_test(test_refusals)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
