/* Slopes of random programs: those that differences of the oracle's loss cannot tell are not reported, others are. */
#include "support/fixture.h"

#include "random/random_program.h"
#include <math.h>

extern const oracle_op oracle_op_relu, oracle_op_neg, oracle_op_add;

enum { SEED = 7, PLACES = 60 };

static void add_source(program *p) {
    p->values[p->count++] =
        (program_value){.source = {.kind = PROGRAM_INPUT, .dtype = WEFT_F32, .dims = {WEFT_END}}};
}

static void add_call(program *p, const oracle_op *op, int input) {
    p->loss[p->loss_count++] = p->count;
    p->values[p->count++] = (program_value){.is_call = true,
        .source = {.dtype = WEFT_F32},
        .call = {.op = op, .inputs = {input}, .input_count = 1, .dims = {WEFT_END}}};
}

static program begin(void) {
    program p = {.seed = SEED, .format = WEFT_F32, .batch = 1, .length = 1};
    add_source(&p);
    add_source(&p);
    return p;
}

/* Is `slope` accepted as the gradient for the first source, where the sources are these numbers? */
static bool accepted(const program *p, double first, double second, double slope, bool of_gradient) {
    const oracle_sizes sizes = {.batch = 1, .length = 1};
    program_result result = {0};
    const f64_mark mark = f64_pool_mark();
    f64_array *sources[PROGRAM_VALUES] = {f64_number(first), f64_number(second)};
    program_evaluate(p, &sizes, sources, 0, 0);
    const bool right = program_judge_gradient(p, NULL, &sizes, sources, 0, &slope, of_gradient, &result);
    f64_pool_release(mark);
    return right;
}

static double loss_weight(const program *p, int term) {
    const f64_mark mark = f64_pool_mark();
    const double weight = program_loss_weights(p, term, f64_number(0))->value[0];
    f64_pool_release(mark);
    return weight;
}

/* relu has a corner at 0. Wherever it lies within the steps of second differences, the second slope, which is 0, is not
 * reported as wrong. */
static void test_corners(void **state) {
    (void)state;
    program p = begin();
    add_call(&p, &oracle_op_relu, 0);
    for (int i = 0; i < PLACES; i++) assert_true(accepted(&p, -4e-4 * i / PLACES, 0, 0, true));
    assert_false(accepted(&p, 1, 0, loss_weight(&p, 0) + 1, true));
}

/* A loss of 1e10 has float64 roundings of 1e-6, as much as the step for a slope. */
static void test_large_losses(void **state) {
    (void)state;
    program p = begin();
    add_call(&p, &oracle_op_neg, 0);
    add_call(&p, &oracle_op_neg, 1);
    const double slope = -loss_weight(&p, 0);
    for (int i = 0; i < PLACES; i++) assert_true(accepted(&p, 3 + i / 7.0, 1e10 * (1 + i), slope, false));
    assert_true(accepted(&p, 3, 1, slope, false));
    assert_false(accepted(&p, 3, 1, 1.01 * slope, false));
}

/* A slope that should be 0 may be a rounding of what the loss's terms have that depend on the source; of small ones there is none. */
static void test_cancelled_slopes(void **state) {
    (void)state;
    program p = begin();
    add_call(&p, &oracle_op_relu, 0);
    p.loss_count = 0;
    add_call(&p, &oracle_op_add, 2);
    p.values[3].call.inputs[p.values[3].call.input_count++] = 1;
    const double large = 30 / loss_weight(&p, 0);
    assert_true(accepted(&p, -4, large, 1e-6, false));
    assert_false(accepted(&p, -4, 0, 1e-6, false));
    assert_false(accepted(&p, -4, large, 1e-4, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corners), cmocka_unit_test(test_large_losses),
        cmocka_unit_test(test_cancelled_slopes)};
    return test_finish(cmocka_run_group_tests_name("slopes of random programs", tests, NULL, NULL));
}
