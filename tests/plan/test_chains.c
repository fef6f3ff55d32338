/* Reductions one after the other over the same elements: a step takes a few of them, since each is code that makes
 * anew what the ones before did, and compilers take a time that grows faster than the code. */
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include <math.h>

enum { CHAIN = 30, WIDTH = 4 };

static void softmax(double *x) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += exp(x[i]);
    for (int i = 0; i < WIDTH; i++) x[i] = exp(x[i]) / sum;
}

static int longest_chain(const wi_partition *p) {
    int longest = 0;
    for (size_t i = 0; i < p->value_count; i++)
        if (p->values[i].state == WI_VALUE_MEMBER && p->values[i].member.chain > longest)
            longest = p->values[i].member.chain;
    return longest;
}

static void thirty_softmaxes(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH);
    weft_tensor *y = x;
    const float numbers[WIDTH] = {1, -2, 3, 0.5f};
    double wanted[WIDTH];
    float got[WIDTH];
    weft_plan *plan = NULL;
    (void)state;
    for (int i = 0; i < WIDTH; i++) wanted[i] = (double)numbers[i];
    for (int i = 0; i < CHAIN; i++) {
        y = weft_softmax(y, 1);
        softmax(wanted);
    }
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    assert_int_equal(longest_chain(&plan->partition), WI_MAX_CHAIN);
    assert_int_equal(plan->partition.step_count, 2 * CHAIN / WI_MAX_CHAIN);
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
    for (int i = 0; i < WIDTH; i++) assert_true(fabs((double)got[i] - wanted[i]) < 1e-6);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(thirty_softmaxes)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
