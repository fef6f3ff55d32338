/* Every op against what PyTorch computed: values and gradients recorded in tests/golden/op_golden.json, built
 * and compared as `weft check` does it (workloads/recorded_ops.h). */
#include "support/fixture.h"

#include "ops/op_table.h"
#include "recorded_ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 512 };

static cJSON *read_golden(void) {
    FILE *const file = fopen(WEFT_SOURCE_DIR "/tests/golden/op_golden.json", "rb");
    assert_non_null(file);
    enum { CAPACITY = 2000000 };
    char *const text = calloc(CAPACITY, 1);
    assert_non_null(text);
    assert_true(fread(text, 1, CAPACITY - 1, file) < CAPACITY - 1);
    fclose(file);
    cJSON *const root = cJSON_Parse(text);
    free(text);
    assert_non_null(root);
    return root;
}

static void check_case(weft_plan *plan, const recorded_case *r) {
    double value, gradient;
    assert_weft_ok(recorded_compare(r, plan, &value, &gradient));
    if (!(value <= RECORDED_TOLERANCE)) fail_msg("%s: the value is off by %g", r->op, value);
    if (gradient > RECORDED_TOLERANCE) fail_msg("%s: a gradient is off by %g", r->op, gradient);
}

/* All cases in one graph and one plan. */
static void test_like_pytorch(void **state) {
    (void)state;
    static recorded_case cases[MAX_CASES];
    static weft_tensor *outputs[MAX_CASES * (1 + RECORDED_INPUTS)];
    static recorded_inputs shared;
    size_t count = 0, output_count = 0, seen = 0;
    cJSON *const root = read_golden();
    weft_graph *const graph = test_graph();
    const cJSON *c;
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(root, "cases")) {
        assert_true(count < MAX_CASES);
        if (test_reduced() && seen++ % 8) continue;
        recorded_case *const r = &cases[count++];
        assert_weft_ok(recorded_build(r, &shared, graph, c));
        outputs[output_count++] = r->output;
        for (size_t i = 0; i < r->gradient_count; i++) outputs[output_count++] = r->gradients[i];
        const cJSON *const recorded = cJSON_GetObjectItemCaseSensitive(c, "gradients");
        assert_int_equal(r->gradient_count, cJSON_GetArraySize(recorded));
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, output_count, NULL));
    for (size_t i = 0; i < count; i++) assert_weft_ok(recorded_write(&cases[i], plan));
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) check_case(plan, &cases[i]);
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(root);
}

/* Random numbers are nobody else's; every other op was recorded. */
static void test_every_op_was_recorded(void **state) {
    (void)state;
    static const char *const random[] = {"uniform", "normal", "dropout", "dropout_channels"};
    cJSON *const root = read_golden();
    for (size_t i = 0; i < wi_op_count; i++) {
        bool found = false;
        for (size_t k = 0; k < 4; k++) found |= strcmp(wi_op_names[i], random[k]) == 0;
        const cJSON *c;
        cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(root, "cases")) found |=
            strcmp(wi_op_names[i], cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(c, "op"))) == 0;
        if (!found) fail_msg("%s has no case in op_golden.json", wi_op_names[i]);
    }
    cJSON_Delete(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_pytorch),
        cmocka_unit_test(test_every_op_was_recorded),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
