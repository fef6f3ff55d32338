/* Networks of ONNX files that repeat, count and divide by sizes which only plans know. */
#include "support/fixture.h"
#include "support/onnx_bytes.h"

static onnx_bytes file;

static void concat(const char *inputs, const char *output) {
    const size_t node = onnx_begin_node(&file, "Concat", inputs, output);
    onnx_attribute_whole(&file, "axis", 0);
    onnx_end(&file, node);
}

/* Of x (batch, length): a learned row for each example, a table that is repeated `batch` times, the positions from batch to batch + length,
 * and as many zeros as a strided window of 3 has places, plus 1, and as many as the length, of which the file asks for 7 at most. */
static void write_open(void) {
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "batch length");
    onnx_floats(&file, "row", "1 2");
    onnx_floats(&file, "table", "2 2");
    onnx_floats(&file, "nine", "9");
    onnx_wholes(&file, "zeroth", "1", (const int64_t[]){0});
    onnx_wholes(&file, "ones", "1", (const int64_t[]){1});
    onnx_wholes(&file, "twos", "1", (const int64_t[]){2});
    onnx_wholes(&file, "threes", "1", (const int64_t[]){3});
    onnx_wholes(&file, "most", "1", (const int64_t[]){7});
    onnx_wholes(&file, "one", "", (const int64_t[]){1});
    onnx_node(&file, "Shape", "x", "shape");
    onnx_node(&file, "Gather", "shape zeroth", "batch");
    onnx_node(&file, "Gather", "shape ones", "length");
    concat("batch ones", "repeats");
    onnx_node(&file, "Tile", "row repeats", "rows");
    onnx_node(&file, "Tile", "table repeats", "tables");
    onnx_node(&file, "Add", "batch length", "end");
    onnx_node(&file, "Range", "batch end one", "positions");
    onnx_node(&file, "Sub", "length threes", "room");
    onnx_node(&file, "Div", "room twos", "places");
    onnx_node(&file, "Add", "places twos", "count");
    onnx_node(&file, "ConstantOfShape", "count", "zeros");
    onnx_node(&file, "Min", "length most", "short");
    onnx_node(&file, "ConstantOfShape", "short", "few");
    onnx_output(&file, "rows");
    onnx_output(&file, "tables");
    onnx_output(&file, "positions");
    onnx_output(&file, "zeros");
    onnx_node(&file, "Sub", "most length", "from");
    onnx_node(&file, "Slice", "nine from length", "part");
    onnx_output(&file, "few");
    onnx_output(&file, "part");
    onnx_end_model(&file, model);
}

enum { OUTPUTS = 6, BATCH = 3, LENGTH = 6 };

static void test_open_repeats(void **state) {
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .length = LENGTH, .inference = true};
    weft_tensor *outputs[OUTPUTS];
    weft_onnx_model *model;
    weft_graph *const graph = test_graph();
    weft_plan *plan;
    float rows[BATCH][2], tables[2 * BATCH][2], zeros[3], few[LENGTH], part[2 * LENGTH - 7];
    int32_t positions[LENGTH];
    (void)state;
    write_open();
    assert_weft_ok(weft_onnx_load_from_memory(&model, graph, file.data, file.length, NULL));
    for (size_t i = 0; i < OUTPUTS; i++) outputs[i] = weft_onnx_output(model, i);
    assert_weft_ok(weft_plan_create(&plan, outputs, OUTPUTS, &options));
    assert_weft_ok(
        weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE(outputs[0], rows), WEFT_VALUE(outputs[1], tables),
                                 WEFT_VALUE(outputs[2], positions), WEFT_VALUE(outputs[3], zeros),
                                 WEFT_VALUE(outputs[4], few), WEFT_VALUE(outputs[5], part))));
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < 2; k++) assert_true(rows[i][k] == (float)(k + 1) / 8);
    for (int i = 0; i < 2 * BATCH; i++)
        for (int k = 0; k < 2; k++) assert_true(tables[i][k] == (float)(2 * (i % 2) + k + 1) / 8);
    for (int i = 0; i < LENGTH; i++) assert_int_equal(positions[i], BATCH + i);
    for (int i = 0; i < 2 * LENGTH - 7; i++) assert_true(part[i] == (float)(7 - LENGTH + i + 1) / 8);
    weft_plan_release(plan);
    options.length = 2; /* (2 - 3) / 2 is 0 in ONNX, and -1 if it is rounded down */
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, outputs, OUTPUTS, &options), "length - 3",
        "0 or more", "is -1");
    options.length = 8;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, outputs, OUTPUTS, &options), "is -1");
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_repeats)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
