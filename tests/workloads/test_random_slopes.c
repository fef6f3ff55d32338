/* Slopes of random programs: those that differences of the oracle's loss cannot tell are not reported, others are. */
#include "support/fixture.h"

#include "random/random_program.h"
#include <math.h>

extern const oracle_op oracle_op_relu, oracle_op_neg, oracle_op_add, oracle_op_exp, oracle_op_trunc,
    oracle_op_tanh, oracle_op_mul, oracle_op_remainder, oracle_op_softplus, oracle_op_log, oracle_op_norm;

enum { SEED = 7, PLACES = 60 };
#define FACTOR 1e4 /* the third source, where a program has one */

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
static bool accepted_on(
    weft_context *context, const program *p, double first, double second, double slope, bool of_gradient) {
    const oracle_sizes sizes = {.batch = 1, .length = 1};
    program_result result = {0};
    const f64_mark mark = f64_pool_mark();
    f64_array *sources[PROGRAM_VALUES] = {f64_number(first), f64_number(second), f64_number(FACTOR)};
    program_evaluate(p, &sizes, sources, 0, 0);
    const bool right = program_judge_gradient(p, context, &sizes, sources, 0, &slope, of_gradient, &result);
    f64_pool_release(mark);
    return right;
}

static bool accepted(const program *p, double first, double second, double slope, bool of_gradient) {
    return accepted_on(NULL, p, first, second, slope, of_gradient);
}

/* A program of one input and these ops, one after the other. */
static program chain(const oracle_op *first, const oracle_op *second) {
    program p = begin();
    add_call(&p, first, 0);
    p.loss_count = 0;
    add_call(&p, second, 2);
    return p;
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

/* The whole part of a number that grows by 5e8 a unit: its gradient is 0, and steps of 1e-6 meet hundreds of its jumps. */
static void test_stairs(void **state) {
    (void)state;
    const program p = chain(&oracle_op_exp, &oracle_op_trunc);
    assert_true(accepted(&p, 20, 0, 0, false));
    const program smooth = chain(&oracle_op_exp, &oracle_op_exp);
    assert_false(accepted(&smooth, 1, 0, 0, false));
}

/* The remainder of equal numbers jumps from one end of its range to the other, and what it is multiplied with has a slope on both sides. */
static void test_jumps_of_second_slopes(void **state) {
    (void)state;
    program p = begin();
    add_call(&p, &oracle_op_remainder, 0);
    p.values[2].call.inputs[1] = 1;
    p.values[2].call.input_count = 2;
    assert_true(accepted(&p, 1.5, 1.5, -0.02, true));
    assert_false(accepted(&p, 1.25, 1.5, -0.02, true));
}

static double direction_of(const program *p, int source) {
    const f64_mark mark = f64_pool_mark();
    const double along = program_direction(p, source, f64_number(0))->value[0];
    f64_pool_release(mark);
    return along;
}

/* The second slope of log is -1/x²: near 0, differences have not converged at steps of 1e-4, and some of the steps that would show it leave
 * the domain. Whichever of them do, the right slope is not reported. */
static void test_ends_of_domains(void **state) {
    (void)state;
    program p = begin();
    add_call(&p, &oracle_op_log, 0);
    for (p.number = 0; p.number < PLACES; p.number++) {
        const double factor = -loss_weight(&p, 0) * direction_of(&p, 0);
        for (int i = 1; i <= PLACES; i++) {
            const double x = 1e-3 * i / PLACES;
            assert_true(accepted(&p, x, 0, factor / (x * x), true));
        }
        assert_true(accepted(&p, 1, 0, factor, true));
        assert_false(accepted(&p, 1, 0, 1.1 * factor + 1e-3, true));
    }
}

/* tanh(FACTOR (x - 1)): f32 has 1 for tanh(9.2), and so 0 for its slope of 4e-8. */
static void test_saturated(void **state) {
    (void)state;
    program p = begin();
    add_source(&p);
    add_call(&p, &oracle_op_add, 0);
    add_call(&p, &oracle_op_mul, 3);
    p.values[3].call.inputs[1] = 1, p.values[4].call.inputs[1] = 2;
    p.values[3].call.input_count = p.values[4].call.input_count = 2;
    p.loss_count = 0;
    add_call(&p, &oracle_op_tanh, 4);
    assert_true(accepted_on(test_context(), &p, 1 + 9.2 / FACTOR, -1, 0, false));
    assert_false(accepted(
        &p, 1 + 9.2 / FACTOR, -1, 0, false)); /* without a context nothing tells of rounded results */
    assert_false(accepted_on(test_context(), &p, 1 + 1 / FACTOR, -1, 0, false));
}

/* The norm of exp(60) is in the range of f32 and its square is not: the gradient is 0 or NaN there, which is not reported. */
static void test_beyond_the_range(void **state) {
    (void)state;
    program p = chain(&oracle_op_exp, &oracle_op_norm);
    p.values[3].call.numbers[0] = 2;
    assert_true(accepted(&p, 60, 0, 0, false));
    assert_false(accepted(&p, 20, 0, 0, false));
}

/* relu of elements that are all `x`: is a gradient of `slope` times the loss's weights accepted for them? */
static bool accepts_elements(uint64_t number, double x, double slope) {
    enum { ELEMENTS = 16 };
    program p = {.seed = SEED, .number = number, .format = WEFT_F32, .batch = 1, .length = 1};
    const oracle_sizes sizes = {.batch = 1, .length = 1};
    program_result result = {0};
    double gradient[ELEMENTS];
    add_source(&p);
    add_call(&p, &oracle_op_relu, 0);
    const f64_mark mark = f64_pool_mark();
    f64_array *sources[PROGRAM_VALUES] = {f64_zeros(1, (const int64_t[]){ELEMENTS})};
    for (int i = 0; i < ELEMENTS; i++) sources[0]->value[i] = x;
    program_evaluate(&p, &sizes, sources, 0, 0);
    const f64_array *const weights = program_loss_weights(&p, 0, sources[1]);
    for (int i = 0; i < ELEMENTS; i++) gradient[i] = slope * weights->value[i];
    const bool right = program_judge_gradient(&p, NULL, &sizes, sources, 0, gradient, false, &result);
    f64_pool_release(mark);
    return right;
}

/* Corners of several elements at once may cancel out of the differences in a direction: whatever the direction, slopes there are not
 * judged, and those beside a corner are. */
static void test_corners_that_cancel(void **state) {
    (void)state;
    for (uint64_t number = 0; number < PLACES; number++) {
        assert_true(accepts_elements(number, 0, 0));
        assert_true(accepts_elements(number, 0, 1));
        assert_true(accepts_elements(number, 1, 1));
        assert_false(accepts_elements(number, 1, 0.5));
        assert_false(accepts_elements(number, 1e-4, 0));
    }
}

/* An op of the product of the first source, which is 0, and a factor. With a large one the op bends within less than any step, and its slope
 * there is larger than every difference. */
static void test_narrow_bends(void **state) {
    (void)state;
    program p = chain(&oracle_op_mul, &oracle_op_tanh);
    p.values[2].call.inputs[1] = 1;
    p.values[2].call.input_count = 2;
    const double weight = loss_weight(&p, 0);
    assert_true(accepted(&p, 0, 1e16, 1e16 * weight, false));
    assert_true(accepted(&p, 0, 100, 100 * weight, false));
    assert_false(accepted(&p, 0, 100, 150 * weight, false));
    p.values[3].call.op = &oracle_op_softplus;
    const double curve = weight * direction_of(&p, 0) / 4;
    assert_true(accepted(&p, 0, 1e12, 1e24 * curve, true));
    assert_true(accepted(&p, 0, 10, 100 * curve, true));
    assert_false(accepted(&p, 0, 10, 150 * curve, true));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corners), cmocka_unit_test(test_large_losses),
        cmocka_unit_test(test_cancelled_slopes), cmocka_unit_test(test_stairs),
        cmocka_unit_test(test_jumps_of_second_slopes), cmocka_unit_test(test_ends_of_domains),
        cmocka_unit_test(test_saturated), cmocka_unit_test(test_beyond_the_range),
        cmocka_unit_test(test_corners_that_cancel), cmocka_unit_test(test_narrow_bends)};
    return test_finish(cmocka_run_group_tests_name("slopes of random programs", tests, NULL, NULL));
}
