/* Optimizers side by side: what each has of its own (rate, counter, moments), whatever losses, plans and gradients
 * it is given. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <weft/weft.h>

enum { SIZE = 5 };

typedef struct pair {
    weft_graph *graph;
    weft_tensor *a, *b, *loss; /* the sum of all numbers of both, so that each gradient is 1 */
} pair;

static pair make_pair(void) {
    pair p;
    assert_ok(weft_graph_create(&p.graph, test_context()));
    p.a = weft_parameter(p.graph, "a", weft_zeros(), SIZE);
    p.b = weft_parameter(p.graph, "b", weft_zeros(), SIZE + 16);
    p.loss = weft_add(weft_sum(p.a), weft_sum(p.b));
    return p;
}

static void expect_each(weft_tensor *parameter, double wanted) {
    float values[SIZE + 16];
    const size_t count = (size_t)weft_tensor_dimension(parameter, 0);
    assert_ok(weft_tensor_read(parameter, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)values[i] - wanted) > 1e-6)
            fail_msg(
                "%s[%zu] is %g instead of %g", weft_tensor_name(parameter), i, (double)values[i], wanted);
    }
}

/* ---- weft_minimize ---- */

static weft_plan *minimize_all_but(const pair *p, const char *frozen, float rate) {
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    const weft_optimizer sgd = weft_sgd(rate);
    assert_ok(weft_freeze(p->graph, frozen, true));
    assert_ok(weft_minimize(p->loss, &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_freeze(p->graph, frozen, false));
    assert_ok(weft_plan_create(&plan, updates, count, NULL));
    return plan;
}

/* A generator and a discriminator: the second optimizer changes nothing about the first. */
static void two_optimizers_have_two_rates(void **state) {
    (void)state;
    const pair p = make_pair();
    weft_plan *const of_a = minimize_all_but(&p, "b", 0.5f);
    weft_tensor *const rate_of_a = weft_minimize_rate(p.graph);
    weft_plan *const of_b = minimize_all_but(&p, "a", 0.01f);
    assert_ok(weft_plan_run(of_a));
    assert_ok(weft_plan_run(of_b));
    expect_each(p.a, -0.5);
    expect_each(p.b, -0.01);
    assert_ok(weft_scalar_set(weft_minimize_rate(p.graph), 0.25f));
    assert_ok(weft_plan_run(of_a));
    assert_ok(weft_plan_run(of_b));
    expect_each(p.a, -1);
    expect_each(p.b, -0.26);
    assert_ok(weft_scalar_set(rate_of_a, 0.125f));
    assert_ok(weft_plan_run(of_a));
    expect_each(p.a, -1.125);
    weft_plan_release(of_a);
    weft_plan_release(of_b);
    weft_graph_release(p.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_optimizers_have_two_rates),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
