/* Operators of ONNX that move, take, put and reduce numbers: rows with their results, computed by the host from constants and by the
 * device from inputs. */
#include "support/fixture.h"
#include "support/onnx_rows.h"
#include <math.h>

#define LARGE (double)INFINITY

static const row moves[] = {{"Flatten", "axis=1", {{I, "2 3", SIX}}, 1, {6}, SIX},
    {"Flatten", "axis=-1", {{F, "1 2 3", SIX}}, 1, {6}, SIX},
    {"Transpose", "", {{I, "2 3", SIX}}, 1, {6}, {1, 4, 2, 5, 3, 6}},
    {"Transpose", "perm=[2,0,1]", {{F, "1 2 3", SIX}}, 1, {6}, {1, 4, 2, 5, 3, 6}},
    {"Tile", "", {{I, "2 2", {1, 2, 3, 4}}, {I, "2", {1, 3}}}, 1, {12}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}},
    {"Tile", "", {{I, "1 2", {1, 2}}, {I, "2", {2, 1}}}, 1, {4}, {1, 2, 1, 2}},
    {"Split", "axis=1", {{I, "2 3", SIX}, {I, "2", {1, 2}}}, 1, {2, 4}, {1, 4, 2, 3, 5, 6}},
    {"Split", "axis=0", {{F, "3 2", SIX}}, 0, {4, 2}, {1, 2, 3, 4, 5, 6}},
    {"Split", "axis=0", {{I, "2 3", SIX}}, 1, {3, 3}, {1, 2, 3, 4, 5, 6}},
    {"Pad", "", {{I, "3", {1, 2, 3}}, {I, "2", {1, 2}}, {I, "", {7}}}, 1, {6}, {7, 1, 2, 3, 7, 7}},
    {"Pad", "mode=edge", {{I, "3", {1, 2, 3}}, {I, "2", {2, 1}}}, 1, {6}, {1, 1, 1, 2, 3, 3}},
    {"Pad", "mode=wrap", {{I, "3", {1, 2, 3}}, {I, "2", {2, 1}}}, 1, {6}, {2, 3, 1, 2, 3, 1}},
    {"Pad", "mode=reflect", {{I, "3", {1, 2, 3}}, {I, "2", {2, 2}}}, 1, {7}, {3, 2, 1, 2, 3, 2, 1}},
    {"Pad", "mode=reflect", {{I, "1", {4}}, {I, "2", {1, 1}}}, 0, {3}, {4, 4, 4}},
    {"Pad", "", {{F, "2 2", {1, 2, 3, 4}}, {I, "2", {-1, 1}}, {-1, "", {0}}, {I, "1", {1}}}, 1, {4},
        {2, 0, 4, 0}},
    {"Trilu", "", {{I, "2 3", SIX}, {I, "", {1}}}, 1, {6}, {0, 2, 3, 0, 0, 6}},
    {"Trilu", "upper=0", {{I, "2 3", SIX}}, 1, {6}, {1, 0, 0, 4, 5, 0}}};

static const row takes[] = {
    {"GatherElements", "axis=1", {{I, "2 3", SIX}, {I, "2 2", {2, 0, -1, 1}}}, 3, {4}, {3, 1, 6, 5}},
    {"GatherND", "", {{I, "2 3", SIX}, {I, "2 2", {1, 2, 0, -3}}}, 1, {2}, {6, 1}},
    {"GatherND", "", {{I, "2 3", SIX}, {I, "2 1", {1, 0}}}, 3, {6}, {4, 5, 6, 1, 2, 3}},
    {"GatherND", "batch_dims=1", {{I, "2 3", SIX}, {I, "2 1", {1, 2}}}, 1, {2}, {2, 6}},
    {"ScatterElements", "axis=1", {{I, "2 3", SIX}, {I, "2 1", {-1, 0}}, {I, "2 1", {8, 9}}}, 5, {6},
        {1, 2, 8, 9, 5, 6}},
    {"Scatter", "", {{I, "3", {1, 2, 3}}, {I, "2", {2, 0}}, {I, "2", {8, 9}}}, 0, {3}, {9, 2, 8}},
    {"ScatterND", "", {{I, "2 3", SIX}, {I, "1 1", {1}}, {I, "1 3", {7, 8, 9}}}, 5, {6}, {1, 2, 3, 7, 8, 9}},
    {"ScatterND", "", {{F, "2 3", SIX}, {I, "2 2", {0, 1, 1, 2}}, {F, "2", {8, 9}}}, 5, {6},
        {1, 8, 3, 4, 5, 9}},
    {"Compress", "", {{I, "2 3", SIX}, {B, "4", {0, 1, 0, 1}}}, 1, {2}, {2, 4}},
    {"Compress", "axis=1", {{I, "2 3", SIX}, {B, "3", {1, 0, 1}}}, 1, {4}, {1, 3, 4, 6}},
    {"OneHot", "", {{I, "4", {0, 2, -1, 5}}, {I, "", {3}}, {I, "2", {4, 7}}}, 1, {12},
        {7, 4, 4, 4, 4, 7, 4, 4, 7, 4, 4, 4}},
    {"OneHot", "axis=0", {{I, "2", {1, 0}}, {I, "", {3}}, {F, "2", {0, 1}}}, 1, {6}, {0, 1, 1, 0, 0, 0}},
    {"TensorScatter", "",
        {{F, "1 4 2", {1, 2, 3, 4, 5, 6, 7, 8}}, {F, "1 2 2", {10, 11, 12, 13}}, {I, "1", {1}}}, 7, {8},
        {1, 2, 10, 11, 12, 13, 7, 8}},
    {"TensorScatter", "mode=circular axis=1",
        {{F, "1 4 2", {1, 2, 3, 4, 5, 6, 7, 8}}, {F, "1 2 2", {10, 11, 12, 13}}, {I, "1", {3}}}, 7, {8},
        {12, 13, 3, 4, 5, 6, 10, 11}},
    {"Where", "", {{B, "2 1", {1, 0}}, {I, "3", {1, 2, 3}}, {I, "", {9}}}, 1, {6}, {1, 2, 3, 9, 9, 9}}};

static const row reductions[] = {{"ReduceSum", "", {{I, "2 3", SIX}, {I, "1", {1}}}, 1, {2}, {6, 15}},
    {"ReduceSum", "keepdims=0", {{I, "2 3", SIX}, {I, "1", {0}}}, 1, {3}, {5, 7, 9}},
    {"ReduceProd", "", {{I, "2 3", SIX}}, 1, {1}, {720}}, {"ReduceMax", "", {{I, "2 3", MIXED}}, 1, {1}, {9}},
    {"ReduceMin", "axes=[1]", {{I, "2 3", MIXED}}, 1, {2}, {1, 5}},
    {"ReduceMean", "axes=[0]", {{F, "2 3", SIX}}, 1, {3}, {2.5, 3.5, 4.5}},
    {"ReduceL1", "axes=[1]", {{F, "2 2", {-1, 2, 3, -4}}}, 1, {2}, {3, 7}},
    {"ReduceL2", "axes=[1]", {{F, "2 2", {-3, 4, 6, -8}}}, 1, {2}, {5, 10}},
    {"ReduceSumSquare", "axes=[1]", {{F, "2 2", {-3, 4, 6, -8}}}, 1, {2}, {25, 100}},
    {"ReduceLogSum", "axes=[0]", {{F, "2 1", {0.25, 0.75}}}, 1, {1}, {0}},
    {"ReduceMax", "axes=[0]", {{F, "0 2", {0}}}, 0, {2}, {-LARGE, -LARGE}},
    {"ReduceMin", "axes=[0]", {{F, "0 2", {0}}}, 0, {2}, {LARGE, LARGE}},
    {"ArgMax", "axis=1", {{I, "2 3", MIXED}}, 1, {2}, {0, 1}},
    {"ArgMax", "axis=1", {{F, "2 3", {3, 1, 3, 5, 9, 9}}}, 1, {2}, {0, 1}},
    {"ArgMax", "axis=1 select_last_index=1 keepdims=0", {{F, "2 3", {3, 1, 3, 5, 9, 9}}}, 1, {2}, {2, 2}},
    {"ArgMin", "axis=0", {{I, "2 3", MIXED}}, 1, {3}, {0, 0, 0}},
    {"ArgMin", "axis=-1 select_last_index=1", {{I, "2 3", {3, 1, 1, 5, 5, 9}}}, 1, {2}, {2, 1}},
    {"TopK", "", {{F, "2 3", {3, 1, 2, 5, 9, 5}}, {I, "1", {2}}}, 1, {4, 4}, {3, 2, 9, 5, 0, 2, 1, 0}},
    {"TopK", "axis=0 largest=0", {{I, "3 2", {3, 1, 2, 5, 9, 5}}, {I, "1", {1}}}, 1, {2, 2}, {2, 1, 1, 0}},
    {"CumSum", "", {{I, "2 3", SIX}, {I, "", {1}}}, 1, {6}, {1, 3, 6, 4, 9, 15}},
    {"CumSum", "exclusive=1", {{I, "3", {1, 2, 3}}, {I, "", {0}}}, 1, {3}, {0, 1, 3}},
    {"CumSum", "reverse=1", {{F, "2 3", SIX}, {I, "", {0}}}, 1, {6}, {5, 7, 9, 4, 5, 6}},
    {"CumProd", "reverse=1 exclusive=1", {{I, "4", {2, 3, 4, 5}}, {I, "", {0}}}, 0, {4}, {60, 20, 5, 1}},
    {"MatMul", "", {{I, "2 3", SIX}, {I, "3", {1, 0, -1}}}, 0, {2}, {-2, -2}},
    {"MatMul", "", {{I, "2", {1, 2}}, {I, "2 2", {1, 2, 3, 4}}}, 0, {2}, {7, 10}}};

static void test_moves(void **state) {
    (void)state;
    rows_check(moves, sizeof moves / sizeof *moves, 17, 1e-6);
}
static void test_takes(void **state) {
    (void)state;
    rows_check(takes, sizeof takes / sizeof *takes, 17, 1e-6);
}
static void test_reductions(void **state) {
    (void)state;
    rows_check(reductions, sizeof reductions / sizeof *reductions, 17, 1e-6);
}

/* ---- refusals ---- */

static const refusal refused[] = {{"Flatten", "axis=5", {{I, "2 3", SIX}}, "there is no such axis"},
    {"Transpose", "perm=[0,0]", {{I, "2 3", SIX}}, "named twice"},
    {"Transpose", "perm=[0]", {{I, "2 3", SIX}}, "perm is not a permutation"},
    {"Tile", "", {{I, "2 3", SIX}, {I, "1", {2}}}, "a number of repetitions for each axis"},
    {"Split", "", {{I, "2 3", SIX}, {I, "2", {1, 1}}}, "it needs a size for each output"},
    {"Slice", "", {{I, "6", SIX}, {I, "1", {0}}, {I, "1", {2}}, {I, "1", {3}}}, "there is no axis 3"},
    {"Slice", "", {{I, "6", SIX}, {I, "1", {0}}, {I, "1", {2}}, {I, "1", {0}}, {I, "1", {0}}}, "a step is 0"},
    {"Where", "", {{B, "2", {1, 0}}, {I, "3", SIX}, {I, "", {1}}}, "do not fit"},
    {"GatherElements", "", {{I, "2 3", SIX}, {I, "2", {0, 0}}}, "the indices have a shape"},
    {"GatherND", "", {{I, "2 3", SIX}, {I, "1 1", {2}}}, "index 2 is outside"},
    {"ScatterElements", "", {{I, "3", {1, 2, 3}}, {I, "1", {3}}, {I, "1", {1}}}, "index 3 is outside"},
    {"ScatterElements", "", {{I, "3", {1, 2, 3}}, {I, "1", {0}}, {I, "2", {1, 2}}},
        "the indices have a shape"},
    {"ScatterElements", "", {{I, "3", {1, 2, 3}}, {I, "1", {0}}, {F, "1", {1}}}, "types that do not fit"},
    {"ScatterND", "", {{I, "3", {1, 2, 3}}, {I, "1 1", {4}}, {I, "1", {1}}}, "index 4 is outside"},
    {"Compress", "", {{I, "3", {1, 2, 3}}, {B, "4", {1, 1, 1, 1}}}, "longer than the axis"},
    {"OneHot", "axis=4", {{I, "1", {1}}, {I, "", {3}}, {I, "2", {0, 1}}}, "there is no axis 4"},
    {"ReduceSum", "", {{I, "3", {1, 2, 3}}, {I, "1", {1}}}, "there is no axis 1"},
    {"ReduceProd", "", {{I, "3", {0x1p30, 0x1p30, 3}}}, "whole number"},
    {"ArgMax", "axis=2", {{I, "3", {1, 2, 3}}}, "there is no axis 2"},
    {"CumSum", "", {{I, "3", {1, 2, 3}}, {I, "", {-2}}}, "there is no axis -2"},
    {"CumSum", "", {{I, "2", {0x1p52, 0x1p53}}, {I, "", {0}}}, "whole number"},
    {"MatMul", "", {{I, "2", {0x1p40, 1}}, {I, "2", {0x1p40, 1}}}, "whole number"},
    {"Cast", "to=99", {{I, "1", {1}}}, "data type 99"}};

static void test_refusals(void **state) {
    (void)state;
    refusals_check(refused, sizeof refused / sizeof *refused, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_takes),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_refusals)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
