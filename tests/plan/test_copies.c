/* Copies within a device: contiguous ones are transfers, which compile nothing. */
#include "support/fixture.h"

#include "plan/compiled_plan.h"

/* Two inputs side by side: no kernel is compiled. Bound to where it is copied to, the first is there already. */
static void test_same_device(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const parts[] = {weft_input(graph, "a", WEFT_F32, 6), weft_input(graph, "b", WEFT_F32, 6)};
    weft_tensor *const joined = weft_concat(parts, 2, 0);
    weft_plan *plan = NULL;
    float a[18], b[18], got[36];
    for (int i = 0; i < 18; i++) {
        a[i] = (float)i;
        b[i] = (float)-i;
    }
    assert_weft_ok(
        weft_plan_create(&plan, &joined, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 3}));
    assert_int_equal(plan->info.steps, 2);
    assert_int_equal(plan->info.kernels, 0);
    assert_int_equal(plan->partition.steps[0]->kind, WI_STEP_TRANSFER);
    assert_string_equal(wi_step_kind_name(plan, plan->partition.steps[0]), "transfer");
    assert_weft_ok(weft_plan_write(plan, parts[0], a, sizeof a));
    assert_weft_ok(weft_plan_write(plan, parts[1], b, sizeof b));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, joined, got, sizeof got));
    assert_memory_equal(got, a, sizeof a);
    assert_memory_equal(got + 18, b, sizeof b);
    struct _cl_mem *memory = NULL;
    size_t offset = 0;
    assert_weft_ok(weft_plan_memory(plan, joined, &memory, &offset));
    assert_weft_ok(weft_plan_bind(plan, parts[0], memory, offset));
    assert_weft_ok(weft_plan_write(plan, parts[0], b, sizeof b));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, joined, got, sizeof got));
    assert_memory_equal(got, b, sizeof b);
    assert_memory_equal(got + 18, b, sizeof b);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Variables that get one another's values, and one that gets its own: no copy comes before what it overwrites is
 * read. */
static void test_assignments(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    static const char *const names[] = {"a", "b", "c"};
    weft_tensor *variables[3], *assigned[3];
    for (int i = 0; i < 3; i++)
        variables[i] = weft_state_shape(graph, names[i], WEFT_F32,
            (weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = (float)i}, 1, (const int64_t[]){5});
    assigned[0] = weft_assign(variables[0], variables[1]);
    assigned[1] = weft_assign(variables[1], variables[0]);
    assigned[2] = weft_assign(variables[2], variables[2]);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_status(graph));
    assert_weft_ok(weft_plan_create(&plan, assigned, 3, NULL));
    for (int run = 1; run < 4; run++) {
        assert_weft_ok(weft_plan_run(plan));
        const float wanted[] = {(float)(run % 2), (float)(1 - run % 2), 2};
        for (int i = 0; i < 3; i++) {
            float got[5];
            assert_weft_ok(weft_tensor_read(variables[i], got, sizeof got));
            for (int k = 0; k < 5; k++) assert_true(got[k] == wanted[i]);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_device), cmocka_unit_test(test_assignments)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
