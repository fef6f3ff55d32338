/* Every op against what PyTorch computed: values and gradients recorded in tests/golden/ops, built and
 * compared as `weft check` does it (workloads/recorded_ops.h). */
/* test slow */
/* test.first quick WEFT_TEST_FIRST_CASES=1 */
/* test.first.gpu quick WEFT_TEST_FIRST_CASES=1 */
#include "support/fixture.h"
#include "support/own_program.h"

#include "ops/op_table.h"
#include "recorded_ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 512 };

static void check_case(weft_plan *plan, const recorded_case *r) {
    double value, gradient;
    assert_weft_ok(recorded_compare(r, plan, &value, &gradient));
    if (!(value <= RECORDED_TOLERANCE)) fail_msg("%s (%s): the value is off by %g", r->op, r->name, value);
    if (gradient > RECORDED_TOLERANCE) fail_msg("%s (%s): a gradient is off by %g", r->op, r->name, gradient);
}

/* NaNs as files and computations leave them: of both signs, with all bits of the payload or a few of them, and signalling ones. */
static const uint32_t nan_bits[] = {
    0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00001, 0xFFD55555, 0x7F800001, 0xFFBFFFFF};

typedef struct nan_places {
    bool list[RECORDED_RESULTS];
    size_t count;
} nan_places;

static void run_with_nans(weft_plan *plan, const recorded_case *cases, size_t count, uint32_t bits) {
    for (size_t i = 0; i < count; i++) assert_weft_ok(recorded_write_nans(&cases[i], plan, bits));
    assert_weft_ok(weft_plan_run(plan));
}

/* Kernels that compute with the bits of a number give NaN for every NaN: where the first of nan_bits has led to NaN, all do. */
static void check_nans(weft_plan *plan, const recorded_case *cases, size_t count) {
    nan_places *const usual = calloc(count, sizeof *usual), got;
    size_t wrong = 0;
    assert_non_null(usual);
    for (size_t k = 0; k < sizeof nan_bits / sizeof *nan_bits; k++) {
        run_with_nans(plan, cases, count, nan_bits[k]);
        for (size_t i = 0; i < count; i++) {
            nan_places *const places = k == 0 ? &usual[i] : &got;
            assert_weft_ok(recorded_find_nans(&cases[i], plan, places->list, &places->count));
            if (memcmp(places->list, usual[i].list, places->count * sizeof(bool)) == 0) continue;
            print_error("%s (%s) takes NaN 0x%08X for a number\n", cases[i].op, cases[i].name, nan_bits[k]);
            wrong++;
        }
    }
    free(usual);
    if (wrong) fail_msg("NaNs are taken for numbers %zu times", wrong);
}

static const char *text(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* WEFT_TEST_OP names the only op whose cases are compared: who added one need not wait for all others. WEFT_TEST_FIRST_CASES leaves the
 * first case of each op; cJSON's array is a list whose first element has the last one before it. */
static bool is_left_out(const cJSON *c, size_t *seen) {
    const char *const only = getenv("WEFT_TEST_OP");
    if (only) return strcmp(only, text(c, "op")) != 0;
    if (getenv("WEFT_TEST_FIRST_CASES"))
        return c->prev && c->prev->next && strcmp(text(c->prev, "op"), text(c, "op")) == 0;
    return test_reduced() && (*seen)++ % 8;
}

/* All cases in one graph and one plan. */
static void test_like_pytorch(void **state) {
    (void)state;
    static recorded_case cases[MAX_CASES];
    static weft_tensor *outputs[MAX_CASES * (1 + RECORDED_INPUTS)];
    static recorded_inputs shared;
    size_t count = 0, output_count = 0, seen = 0;
    cJSON *const json = recorded_cases();
    assert_non_null(json);
    weft_graph *const graph = test_graph();
    const cJSON *c;
    cJSON_ArrayForEach(c, json) {
        assert_true(count < MAX_CASES);
        if (is_left_out(c, &seen)) continue;
        recorded_case *const r = &cases[count++];
        assert_weft_ok(recorded_build(r, &shared, graph, c));
        outputs[output_count++] = r->output;
        for (size_t i = 0; i < r->gradient_count; i++) outputs[output_count++] = r->gradients[i];
        const cJSON *const recorded = cJSON_GetObjectItemCaseSensitive(c, "gradients");
        assert_int_equal(r->gradient_count, cJSON_GetArraySize(recorded));
    }
    weft_plan *plan = NULL;
    assert_true(count > 0);
    assert_weft_ok(weft_plan_create(&plan, outputs, output_count, NULL));
    for (size_t i = 0; i < count; i++) assert_weft_ok(recorded_write(&cases[i], plan));
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) check_case(plan, &cases[i]);
    check_nans(plan, cases, count);
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(json);
}

/* Random numbers are nobody else's; every other op was recorded, here or in a program of its own. */
static void test_every_op_was_recorded(void **state) {
    (void)state;
    static const char *const elsewhere[] = {"uniform", "normal", "dropout", "dropout_channels"};
    const size_t others = sizeof elsewhere / sizeof *elsewhere;
    cJSON *const cases = recorded_cases();
    assert_non_null(cases);
    for (size_t i = 0; i < wi_op_count; i++) {
        bool found = own_program_holds(wi_op_names[i], " from_pytorch[");
        for (size_t k = 0; k < others; k++) found |= strcmp(wi_op_names[i], elsewhere[k]) == 0;
        const cJSON *c;
        cJSON_ArrayForEach(c, cases) found |= strcmp(wi_op_names[i], text(c, "op")) == 0;
        if (!found) fail_msg("%s has no case in tests/golden/ops", wi_op_names[i]);
    }
    cJSON_Delete(cases);
}

/* The rows of elementwise ops, of which the golden cases take their ranges. */
typedef struct declared_range {
    const char *op, *kind;
    double low, high;
} declared_range;

static const declared_range ranges[] = {
#define ROW(op, kind, formula, low, high) {#op, #kind, low, high},
#include "oracle/elementwise_rows.h"
};

/* The random inputs are those of 3 x 5 numbers. Has it some, and do they cover the range? */
static bool covers(const declared_range *range, const cJSON *array) {
    const cJSON *const data = cJSON_GetObjectItemCaseSensitive(array, "data"), *item;
    if (strcmp(text(array, "dtype"), "f32") != 0 || cJSON_GetArraySize(data) != 15) return false;
    double low = range->high, high = range->low;
    cJSON_ArrayForEach(item, data) {
        low = fmin(low, item->valuedouble);
        high = fmax(high, item->valuedouble);
    }
    const double rim = (range->high - range->low) / 15;
    if (low < range->low || low > range->low + rim || high > range->high || high < range->high - rim)
        fail_msg("%s was recorded over %g .. %g; elementwise_rows.h says %g .. %g: run make_op_golden.py",
            range->op, low, high, range->low, range->high);
    return true;
}

static void test_ranges_are_those_declared(void **state) {
    (void)state;
    cJSON *const cases = recorded_cases();
    assert_non_null(cases);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const declared_range *const range = &ranges[i];
        bool found = strncmp(range->kind, "LOGIC", 5) == 0 || strncmp(range->kind, "TEST", 4) == 0;
        const cJSON *c, *input;
        cJSON_ArrayForEach(c, cases) {
            if (strcmp(range->op, text(c, "op")) != 0) continue;
            cJSON_ArrayForEach(input, cJSON_GetObjectItemCaseSensitive(c, "inputs")) found |=
                covers(range, input);
        }
        if (!found) fail_msg("%s has no case of random inputs in tests/golden/ops", range->op);
    }
    cJSON_Delete(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_pytorch),
        cmocka_unit_test(test_every_op_was_recorded),
        cmocka_unit_test(test_ranges_are_those_declared),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
