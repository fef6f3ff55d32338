/* Which implementation adds up by index: by the class of the device, the axis, the width of a row and the length
 * of the index; and that sums over one index share its order. */
#include "cl/context.h"
#include "kernels/candidates.h"
#include "support/fixture.h"

#include "ops/op_table.h"
#include "ops/sort/sort.h"
#include "plan/compiled_plan.h"
#include <string.h>

enum { ROWS = 40 };

typedef struct test_case {
    int64_t count; /* of the index; negative: a multiple of the batch */
    int64_t width; /* of a row */
    int axis;
    const char *walking, *neighbours; /* the names where items walk, and where they are neighbours */
} test_case;

static const test_case cases[] = {
    {3, 16, 0, "index_lists_cpu", "index_scatter"},
    {3, 15, 0, "index_scatter", "index_scatter"},
    {256, 16, 0, "index_lists_cpu", "index_scatter"},
    {257, 16, 0, "index_lists_cpu", "index_segments_gpu"},
    {257, 3, 0, "index_scatter", "index_segments_gpu"},
    {-1, 16, 0, "index_lists_cpu", "index_segments_gpu"},
    {257, 16, 1, "index_scatter", "index_scatter"},
};

static weft_tensor *index_of(weft_graph *graph, const test_case *c, const char *name) {
    return weft_input_shape(graph, name, WEFT_I32, 1, &c->count);
}

static weft_tensor *sum(const test_case *c, const char *source, weft_tensor *index) {
    const int64_t dims[] = {c->axis ? 5 : c->count, c->axis ? c->count : c->width};
    weft_tensor *const x = weft_input_shape(weft_tensor_graph(index), source, WEFT_F32, 2, dims);
    return weft_index_sum(x, c->axis, index, ROWS);
}

static weft_plan *make_plan(weft_tensor *const *outputs, size_t count) {
    weft_plan *plan = NULL;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    return plan;
}

static size_t count_orders(const weft_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->order.count; i++) count += plan->order.nodes[i]->op == &wi_op_argsort;
    return count;
}

static const char *chosen_for(const weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->selection && plan->partition.values[step->members[0]].node->op == &wi_op_index_sum)
            return step->selection->chosen->name;
    }
    return "none";
}

static void the_choice_is_by_class_and_sizes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_graph *const graph = test_graph();
        const bool walks = wi_context_device(test_context())->profile.item_walks;
        const char *const wanted = walks ? cases[i].walking : cases[i].neighbours;
        weft_tensor *const y = sum(&cases[i], "source", index_of(graph, &cases[i], "index"));
        weft_plan *const plan = make_plan(&y, 1);
        assert_string_equal(chosen_for(plan), wanted);
        assert_int_equal(count_orders(plan), strcmp(wanted, "index_segments_gpu") == 0);
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

static void sums_over_one_index_share_its_order(void **state) {
    (void)state;
    const test_case c = {.count = 1000, .width = 4};
    weft_graph *const graph = test_graph();
    const bool walks = wi_context_device(test_context())->profile.item_walks;
    weft_tensor *const index = index_of(graph, &c, "index"), *const other = index_of(graph, &c, "other");
    weft_tensor *const outputs[] = {sum(&c, "a", index), sum(&c, "b", index), sum(&c, "c", other)};
    weft_plan *plan = make_plan(outputs, 2);
    assert_int_equal(count_orders(plan), walks ? 0 : 1);
    weft_plan_release(plan);
    plan = make_plan(outputs, 3);
    assert_int_equal(count_orders(plan), walks ? 0 : 2);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_by_class_and_sizes),
        cmocka_unit_test(sums_over_one_index_share_its_order),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
