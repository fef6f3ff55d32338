/* A run hands to the device what it has enqueued: a driver may begin with nothing before that, and the device would rest until
 * something waits for it. The layer of faults counts the calls. */
/* test once */
#include "support/fixture.h"

#include "support/lost_launches.h"
#include "support/small_net.h"
#include <string.h>

enum { BATCH = 4, RUNS = 4 };

/* Its number among the functions of the layer. */
static size_t number_of(const char *name) {
    const fault_function *functions;
    const size_t count = fault_layer_functions(&functions);
    size_t number = 0;
    while (number < count && strcmp(functions[number].name, name) != 0) number++;
    assert_true(number < count);
    return number;
}

static void a_run_is_flushed(void **state) {
    float x[BATCH * SMALL_NET_IN];
    (void)state;
    const size_t flush = number_of("clFlush");
    const small_net n = small_net_in(test_context());
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    small_net_fill(x, BATCH * SMALL_NET_IN, 1);
    assert_weft_ok(weft_plan_write(plan, n.x, x, sizeof x));
    for (int run = 0; run < RUNS; run++) {
        lost_launches_lose(0); /* counts from now on */
        assert_weft_ok(weft_plan_run(plan));
        assert_true(fault_layer_calls(flush) > 0);
    }
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_is_flushed)};
    (void)argc;
    lost_launches_open(argv);
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
