/* Every op with inputs of every dtype: it takes them, and a plan can be made, or the line that makes the node reports
 * an error that names the op, the dtype and what the op takes. The ops and their other arguments are those that were
 * recorded from PyTorch (workloads/recorded_ops.h). */
#include "support/fixture.h"

#include "cl/context.h"
#include "graph/dtype.h"
#include "ops/op_table.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include <ctype.h>
#include <string.h>

/* One recorded case with the dtype of one input, or of all inputs of f32, replaced. */
typedef struct trial {
    const cJSON *json;
    const char *op;
    int input; /* -1: all of f32 */
    weft_dtype dtype, recorded;
} trial;

static cJSON *case_of(const trial *t) {
    cJSON *const json = cJSON_Duplicate(t->json, true);
    assert_non_null(json);
    cJSON_DeleteItemFromObjectCaseSensitive(json, "weights"); /* without gradients */
    cJSON *const inputs = cJSON_GetObjectItemCaseSensitive(json, "inputs"), *input;
    cJSON *const numbers = cJSON_GetObjectItemCaseSensitive(json, "numbers"), *number;
    if (cJSON_GetArraySize(numbers) == 1)
        cJSON_ArrayForEach(number, numbers) cJSON_SetNumberValue(number, 1); /* an i32, too */
    int index = 0;
    cJSON_ArrayForEach(input, inputs) {
        const bool replaced = t->input < 0 ? dtype_of(input) == WEFT_F32 : index == t->input;
        index++;
        if (!replaced) continue;
        cJSON *const name = cJSON_CreateString(weft_dtype_name(t->dtype));
        cJSON_ReplaceItemInObjectCaseSensitive(input, "dtype", name);
    }
    return json;
}

/* ---- errors ---- */

/* The length of the name before the first colon, if it is that of the op (conv of conv_with) or, as some functions are
 * made of several ops, one of the table. */
static size_t name_length(const char *error, const char *op) {
    const size_t length = strcspn(error, ":");
    if (strncmp(error, op, length) == 0) return length;
    for (size_t i = 0; i < wi_op_count; i++)
        if (strlen(wi_op_names[i]) == length && strncmp(error, wi_op_names[i], length) == 0) return length;
    return 0;
}

/* A word of the text; "a float" stands for each of them. */
static bool names(const char *text, weft_dtype dtype) {
    const char *const name = weft_dtype_name(dtype);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        if (!isalnum((unsigned char)at[-1]) && !isalnum((unsigned char)at[strlen(name)])) return true;
    }
    return wi_dtype_is_float(dtype) && strstr(text, "a float");
}

/* Labels of a float are classes' probabilities, and lengths of bool a mask: another shape. */
static bool is_about_shape(const trial *t) {
    return (strcmp(t->op, "cross_entropy") == 0 && t->input == 1 && wi_dtype_is_float(t->dtype)) ||
           (strcmp(t->op, "sequence_cross_entropy") == 0 && t->input == 2 && t->dtype == WEFT_BOOL);
}

/* It names an op, the dtype that it was given, and one that it takes there: that of the recorded case. */
static void check_error(const trial *t, weft_status status) {
    const char *const error = weft_last_error(), *const rest = error + name_length(error, t->op);
    const bool good = is_about_shape(t) ? status == WEFT_ERROR_SHAPE
                                        : status == WEFT_ERROR_DTYPE && rest > error &&
                                              names(rest, t->dtype) && names(rest, t->recorded);
    if (!good)
        fail_msg("%s with input %d of %s, not %s: %s", t->op, t->input, weft_dtype_name(t->dtype),
            weft_dtype_name(t->recorded), error);
}

static void check_plan(const trial *t, weft_tensor *output) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .compile_late = true};
    if (weft_plan_create(&plan, &output, 1, &options) != WEFT_OK)
        fail_msg(
            "%s took %s as input %d, but: %s", t->op, weft_dtype_name(t->dtype), t->input, weft_last_error());
    weft_plan_release(plan);
}

/* Returns whether the op took it. */
static bool try_dtype(const trial *t) {
    static recorded_inputs shared;
    recorded_case recorded;
    cJSON *const json = case_of(t);
    weft_graph *const graph = test_graph();
    shared.count = 0;
    const weft_status status = recorded_build(&recorded, &shared, graph, json);
    if (status == WEFT_OK)
        check_plan(t, recorded.output);
    else
        check_error(t, status);
    weft_graph_release(graph);
    cJSON_Delete(json);
    return status == WEFT_OK;
}

/* Counts what was taken and what was refused. */
static void try_op(const cJSON *json, size_t counts[2]) {
    trial t = {.json = json, .op = cJSON_GetStringValue(member(json, "op"))};
    const int inputs = cJSON_GetArraySize(member(json, "inputs"));
    for (int dtype = 0; weft_dtype_size((weft_dtype)dtype) > 0; dtype++) {
        t.dtype = (weft_dtype)dtype;
        if (t.dtype == WEFT_F64 && !wi_context_device(test_context())->caps.fp64) continue;
        for (t.input = -1; t.input < inputs; t.input++) {
            const cJSON *const input = cJSON_GetArrayItem(member(json, "inputs"), t.input);
            t.recorded = t.input < 0 ? WEFT_F32 : dtype_of(input);
            counts[try_dtype(&t)]++;
        }
    }
}

static void test_every_dtype(void **state) {
    (void)state;
    cJSON *const cases = recorded_cases();
    assert_non_null(cases);
    const char *last = "";
    size_t counts[2] = {0, 0};
    const cJSON *json;
    cJSON_ArrayForEach(json, cases) {
        const char *const op = cJSON_GetStringValue(member(json, "op"));
        if (strcmp(op, last) != 0) try_op(json, counts);
        last = op;
    }
    print_message("%zu dtypes were taken, %zu refused\n", counts[1], counts[0]);
    assert_true(counts[0] > wi_op_count && counts[1] > wi_op_count);
    cJSON_Delete(cases);
}

/* Those with random numbers are not recorded. */
static void test_dropout(void **state) {
    (void)state;
    for (int dtype = 0; weft_dtype_size((weft_dtype)dtype) > 0; dtype++) {
        if (wi_dtype_is_float((weft_dtype)dtype)) continue;
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", (weft_dtype)dtype, 3, 4, 4);
        assert_null(dtype % 2 ? weft_dropout(x, 0.5f) : weft_dropout_channels(x, 0.5f));
        assert_weft_fails(WEFT_ERROR_DTYPE, weft_graph_status(graph), "dropout", "takes f32, f16, ",
            weft_dtype_name((weft_dtype)dtype));
        weft_graph_release(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_dtype), cmocka_unit_test(test_dropout)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
