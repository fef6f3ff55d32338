/* The second gradients of all ops beside PyTorch's, which are recorded in float64 (tests/golden/ops): of sum(g * v) over the gradients g of a
 * recorded case, for fixed random v. An op with gradients has such a case or is one of `first_only`, which say so in an error. */
/* test once slow */
#include "support/fixture.h"
#include "support/golden_file.h"

#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include <math.h>
#include <string.h>

enum { MAX_CASES = 512 };
#define TOLERANCE 2e-5 /* of the largest number of an array */

static const char *const first_only[] = {"ctc"};
/* Drawn anew in each run: not recorded, and tested by hand (test_random). */
static const char *const drawn[] = {"uniform", "normal", "dropout", "dropout_channels"};

typedef struct second_case {
    recorded_case first;
    const cJSON *json;
    weft_tensor *directions[RECORDED_INPUTS], *seconds[RECORDED_INPUTS];
} second_case;

static struct {
    cJSON *cases; /* those of ops/ */
    size_t count;
    second_case list[MAX_CASES];
    recorded_inputs shared;
    weft_graph *graph;
} all;

static const char *text(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(member(object, name));
}

static bool is_one_of(const char *const *ops, size_t count, const char *op) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(op, ops[i]) == 0) return true;
    return false;
}

static bool is_first_only(const char *op) {
    return is_one_of(first_only, sizeof first_only / sizeof *first_only, op);
}

/* ---- the recorded numbers ---- */

static void read_array(const cJSON *array, float *numbers, size_t count) {
    const cJSON *item;
    size_t i = 0;
    cJSON_ArrayForEach(item, member(array, "data")) {
        assert_true(i < count);
        numbers[i++] = (float)item->valuedouble;
    }
    assert_int_equal(i, count);
}

/* ---- building ---- */

static weft_tensor *like(const cJSON *array) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = whole_list(member(array, "dims"), dims);
    return weft_input_shape(all.graph, "direction", WEFT_F32, rank, dims);
}

static void build_second(second_case *s) {
    weft_tensor *sum = NULL, *wrt[RECORDED_INPUTS];
    size_t count = 0;
    for (size_t i = 0; i < s->first.input_count; i++)
        if (weft_tensor_dtype(s->first.inputs[i]) == WEFT_F32) wrt[count++] = s->first.inputs[i];
    assert_int_equal(count, s->first.gradient_count);
    for (size_t i = 0; i < count; i++) {
        s->directions[i] = like(cJSON_GetArrayItem(member(s->json, "directions"), (int)i));
        weft_tensor *const term = weft_sum(weft_mul(s->first.gradients[i], s->directions[i]));
        sum = sum ? weft_add(sum, term) : term;
    }
    const weft_status status = weft_gradients(sum, wrt, count, s->seconds);
    if (status != WEFT_OK) fail_msg("%s (%s): %s", s->first.op, s->first.name, weft_last_error());
}

static int setup(void **state) {
    (void)state;
    size_t seen = 0;
    const cJSON *c;
    all.cases = recorded_cases();
    assert_non_null(all.cases);
    all.graph = test_graph();
    cJSON_ArrayForEach(c, all.cases) {
        if (!member(c, "seconds") || (test_reduced() && seen++ % 8)) continue;
        assert_true(all.count < MAX_CASES);
        second_case *const s = &all.list[all.count++];
        s->json = c;
        assert_weft_ok(recorded_build(&s->first, &all.shared, all.graph, c));
        build_second(s);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    weft_graph_release(all.graph);
    cJSON_Delete(all.cases);
    return 0;
}

/* ---- running ---- */

static void write_directions(weft_plan *plan, const second_case *s) {
    static float numbers[RECORDED_ELEMENTS];
    for (size_t i = 0; i < s->first.gradient_count; i++) {
        if (!wi_value_of_node(&plan->partition, s->directions[i])) continue; /* the second gradient is zero */
        const cJSON *const array = cJSON_GetArrayItem(member(s->json, "directions"), (int)i);
        read_array(array, numbers, count_of(array));
        assert_weft_ok(weft_plan_write(plan, s->directions[i], numbers, count_of(array) * sizeof *numbers));
    }
}

/* The first number that is off, if one is. */
static bool is_close(weft_plan *plan, const second_case *s, size_t which) {
    static float got[RECORDED_ELEMENTS], wanted[RECORDED_ELEMENTS];
    const cJSON *const array = cJSON_GetArrayItem(member(s->json, "seconds"), (int)which);
    const size_t count = count_of(array);
    float largest = 1e-3f;
    read_array(array, wanted, count);
    assert_weft_ok(weft_plan_read(plan, s->seconds[which], got, count * sizeof *got));
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(wanted[i]));
    for (size_t i = 0; i < count; i++) {
        if (fabsf(got[i] - wanted[i]) <= (float)TOLERANCE * largest) continue;
        print_error("%s (%s): second gradient %zu[%zu] is %g, PyTorch's %g\n", s->first.op, s->first.name,
            which, i, (double)got[i], (double)wanted[i]);
        return false;
    }
    return true;
}

static void test_like_pytorch(void **state) {
    (void)state;
    static weft_tensor *outputs[MAX_CASES * RECORDED_INPUTS];
    size_t count = 0, wrong = 0;
    for (size_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < all.list[i].first.gradient_count; k++)
            outputs[count++] = all.list[i].seconds[k];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, count, NULL));
    for (size_t i = 0; i < all.count; i++) {
        assert_weft_ok(recorded_write(&all.list[i].first, plan));
        write_directions(plan, &all.list[i]);
    }
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < all.list[i].first.gradient_count; k++)
            wrong += !is_close(plan, &all.list[i], k);
    assert_int_equal(wrong, 0);
    weft_plan_release(plan);
}

/* ---- is the table complete? ---- */

/* Is there a recorded case of the op, one with gradients, and one with second gradients? */
static void look_up(const char *op, bool *recorded, bool *has_gradients, bool *has_seconds) {
    const cJSON *c;
    *recorded = *has_gradients = *has_seconds = false;
    cJSON_ArrayForEach(c, all.cases) {
        if (strcmp(text(c, "op"), op) != 0) continue;
        *recorded = true;
        *has_gradients |= member(c, "gradients") != NULL;
        *has_seconds |= member(c, "seconds") != NULL;
    }
}

static void test_every_op_is_swept(void **state) {
    (void)state;
    for (size_t i = 0; i < wi_op_count; i++) {
        const char *const op = wi_op_names[i];
        bool recorded, has_gradients, has_seconds;
        if (is_first_only(op)) continue;
        look_up(op, &recorded, &has_gradients, &has_seconds);
        if (!recorded && !is_one_of(drawn, sizeof drawn / sizeof *drawn, op))
            fail_msg("%s has no recorded case, which would say whether it has a gradient", op);
        if (has_gradients && !has_seconds)
            fail_msg("%s has a gradient, and no second gradients in tests/golden/ops", op);
    }
}

static void test_first_only_is_an_error(void **state) {
    (void)state;
    const cJSON *c;
    size_t found = 0;
    cJSON_ArrayForEach(c, all.cases) {
        if (!is_first_only(text(c, "op"))) continue;
        recorded_case r;
        recorded_inputs shared = {.count = 0};
        weft_graph *const graph = test_graph();
        assert_weft_ok(recorded_build(&r, &shared, graph, c));
        weft_tensor *second;
        assert_weft_fails(WEFT_ERROR_UNSUPPORTED,
            weft_gradients(weft_sum(weft_square(r.gradients[0])), r.inputs, 1, &second), r.op,
            "has no gradient");
        weft_graph_release(graph);
        found++;
    }
    assert_true(found >= sizeof first_only / sizeof *first_only);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_pytorch),
        cmocka_unit_test(test_every_op_is_swept),
        cmocka_unit_test(test_first_only_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, setup, teardown));
}
