/* What a context keeps of released plans: never more than half of the larger of its largest plan and the largest of the last
 * four that were released, so that series of plans of other sizes do not pile up; and the next plan uses what is kept. */
#include "support/fixture.h"

#include "support/small_net.h"

enum { REMEMBERED = 4, LIVING = 6, SERIES = 40, RANDOM_STEPS = 200 };

/* Plans of one network, and what the context held before the first of them, which are the parameters. */
typedef struct plans {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *y;
    size_t before;
    weft_plan *living[LIVING];
    size_t released[REMEMBERED], count;
} plans;

static size_t held(const plans *p) {
    size_t bytes = 0;
    weft_context_memory(p->context, &bytes, NULL);
    return bytes;
}

static size_t size_of(const weft_plan *plan) {
    weft_plan_info info = {0};
    if (plan) assert_weft_ok(weft_plan_get_info(plan, &info));
    return info.total_bytes;
}

static plans begin(void) {
    plans p = {.context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT})};
    const small_net n = small_net_in(p.context);
    size_t freed = 0;
    p.graph = n.graph;
    p.y = n.y;
    weft_plan_release(small_net_plan(n.y, 1));
    assert_weft_ok(weft_context_trim(p.context, &freed));
    p.before = held(&p);
    return p;
}

static void end(plans *p) {
    for (int i = 0; i < LIVING; i++) weft_plan_release(p->living[i]);
    weft_graph_release(p->graph);
    assert_weft_ok(weft_context_trim(p->context, NULL));
    assert_int_equal(held(p), 0);
    weft_context_release(p->context);
}

static size_t of_living(const plans *p) {
    size_t bytes = 0;
    for (int i = 0; i < LIVING; i++) bytes += size_of(p->living[i]);
    return bytes;
}

static void check_bound(const plans *p) {
    size_t largest = 0;
    for (int i = 0; i < LIVING; i++)
        if (size_of(p->living[i]) > largest) largest = size_of(p->living[i]);
    for (int i = 0; i < REMEMBERED; i++)
        if (p->released[i] > largest) largest = p->released[i];
    assert_in_range(held(p) - p->before - of_living(p), 0, largest / 2);
}

static void create(plans *p, int slot, int64_t batch) {
    p->living[slot] = small_net_plan(p->y, batch);
}

static void release(plans *p, int slot) {
    p->released[p->count++ % REMEMBERED] = size_of(p->living[slot]);
    weft_plan_release(p->living[slot]);
    p->living[slot] = NULL;
}

/* ---- the bound ---- */

static void test_series(void **state) {
    (void)state;
    for (int falling = 0; falling < 2; falling++) {
        plans p = begin();
        for (int i = 1; i <= SERIES; i++) {
            create(&p, 0, 100 * (falling ? SERIES + 1 - i : i));
            check_bound(&p);
            release(&p, 0);
            check_bound(&p);
        }
        end(&p);
    }
}

/* Plans that live beside one another, too, in any order. */
static void test_any_order(void **state) {
    (void)state;
    plans p = begin();
    test_random random = test_random_named("kept memory", 0);
    for (int i = 0; i < RANDOM_STEPS; i++) {
        const int slot = (int)test_random_below(&random, LIVING);
        const int64_t large = test_random_below(&random, 8) ? 1 : 20;
        if (p.living[slot])
            release(&p, slot);
        else
            create(&p, slot, large * (100 + test_random_below(&random, 40)));
        check_bound(&p);
    }
    end(&p);
}

/* ---- what is used again ---- */

/* Plans of one size beside a larger one that lives, as those that evaluate between epochs: the first has all their memory. */
static void test_plans_of_one_size(void **state) {
    (void)state;
    plans p = begin();
    create(&p, 0, 1000);
    create(&p, 1, 300);
    const size_t with_both = held(&p);
    for (int epoch = 0; epoch < 8; epoch++) {
        release(&p, 1);
        assert_int_equal(held(&p), with_both);
        create(&p, 1, 300);
        assert_int_equal(held(&p), with_both);
    }
    end(&p);
}

/* A somewhat smaller plan takes what a larger one had, and a much smaller one does not. */
static void test_plans_of_other_sizes(void **state) {
    (void)state;
    plans p = begin();
    create(&p, 0, 1000);
    create(&p, 1, 300);
    const size_t with_both = held(&p);
    release(&p, 1);
    create(&p, 1, 290);
    assert_int_equal(held(&p), with_both);
    release(&p, 1);
    create(&p, 1, 100);
    assert_true(held(&p) > with_both);
    end(&p);
}

/* ---- weft_context_trim ---- */

static void test_trim(void **state) {
    (void)state;
    plans p = begin();
    size_t freed = 1;
    create(&p, 0, 1000);
    create(&p, 1, 300);
    release(&p, 1);
    const size_t kept = held(&p) - p.before - of_living(&p);
    assert_true(kept > 0);
    assert_weft_ok(weft_context_trim(p.context, &freed));
    assert_int_equal(freed, kept);
    assert_int_equal(held(&p), p.before + of_living(&p));
    assert_weft_ok(weft_context_trim(p.context, &freed));
    assert_int_equal(freed, 0);
    freed = 1;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_context_trim(NULL, &freed), "weft_context_trim", "NULL");
    assert_int_equal(freed, 0);
    create(&p, 1, 300);
    float x[300 * SMALL_NET_IN], y[300 * SMALL_NET_OUT];
    small_net_fill(x, sizeof x / sizeof *x, 3);
    assert_weft_ok(weft_plan_write(p.living[1], weft_graph_find_input(p.graph, "x"), x, sizeof x));
    assert_weft_ok(weft_plan_run(p.living[1]));
    assert_weft_ok(weft_context_trim(p.context, NULL)); /* beside a run: what is in use stays */
    assert_weft_ok(weft_plan_read(p.living[1], p.y, y, sizeof y));
    assert_true(y[0] + y[1] + y[2] > 0.999f && y[0] + y[1] + y[2] < 1.001f);
    end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_plans_of_one_size),
        cmocka_unit_test(test_plans_of_other_sizes),
        cmocka_unit_test(test_trim),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
