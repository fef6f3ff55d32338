/* What random programs judge, by programs that are made by hand. What norms leave in their running statistics is compared; slopes that cancel
 * out, terms that hide them, and numbers that are equal within their errors are no failures. */
/* test slow */
#include "oracle/reference_convolution.h"
#include "oracle/reference_normalization.h"
#include "oracle/reference_sort.h"
#include "random/random_program.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>

extern const oracle_op oracle_op_batch_norm, oracle_op_instance_norm, oracle_op_layer_norm, oracle_op_exp,
    oracle_op_mul, oracle_op_tanh, oracle_op_less, oracle_op_logical_and, oracle_op_var, oracle_op_add;

enum { X, MEAN, VARIANCE, BATCHES, NORM, VALUES };

static program_value source_of(program_source_kind kind, weft_dtype dtype, int64_t first, int64_t second) {
    program_value value = {
        .source = {.kind = kind, .dtype = dtype, .low = 0.5, .high = 3, .dims = {first, second, WEFT_END}}};
    if (second == WEFT_END) value.source.dims[1] = WEFT_END;
    value.source.changed = kind == PROGRAM_STATE;
    return value;
}

/* The norm of (5, 3), by momentum or by a count of batches. */
static program norm_program(const oracle_op *op, bool cumulative) {
    program p = {.seed = 1, .format = WEFT_F32, .batch = 1, .length = 1, .count = VALUES};
    const bool spatial = strcmp(op->name, "instance_norm") == 0;
    p.values[X] = source_of(PROGRAM_INPUT, WEFT_F32, 5, 3);
    p.values[X].source.dims[2] = spatial ? 4 : WEFT_END;
    p.values[X].source.dims[3] = WEFT_END;
    p.values[MEAN] = source_of(PROGRAM_STATE, WEFT_F32, 3, WEFT_END);
    p.values[VARIANCE] = source_of(PROGRAM_STATE, WEFT_F32, 3, WEFT_END);
    p.values[BATCHES] = source_of(PROGRAM_STATE, WEFT_I32, WEFT_END, WEFT_END);
    p.values[NORM] = (program_value){.is_call = true, .shown = true};
    p.values[NORM].source.dtype = WEFT_F32;
    p.values[NORM].call = (oracle_call){.op = op,
        .inputs = {X, -1, -1, MEAN, VARIANCE, cumulative ? BATCHES : -1},
        .input_count = 6,
        .numbers = {1e-3, 0.25},
        .dims = {WEFT_END}};
    return p;
}

static f64_array *effect_of_nothing(
    const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes, int input) {
    (void)call, (void)sizes;
    return input < 3 ? NULL : f64_copy(in[input]);
}

static program_result run_by(const oracle_op *op, bool cumulative, bool inference) {
    program p = norm_program(op, cumulative);
    program_result result;
    const f64_mark mark = f64_pool_mark();
    p.inference = inference;
    program_run(&p, test_context(), &result);
    f64_pool_release(mark);
    return result;
}

static void test_effects(void **state) {
    (void)state;
    const oracle_op *const ops[] = {&oracle_op_batch_norm, &oracle_op_instance_norm};
    for (int i = 0; i < 2; i++) {
        const oracle_op *const right = ops[i];
        oracle_op wrong = *right;
        wrong.effect = effect_of_nothing;
        for (int cumulative = 0; cumulative < 2; cumulative++) {
            program_result result = run_by(right, cumulative, false);
            if (result.verdict != PROGRAM_RIGHT) fail_msg("%s: %s", right->name, result.line);
            result = run_by(&wrong, cumulative, false);
            assert_int_equal(result.verdict, PROGRAM_WRONG);
            assert_non_null(strstr(result.line, "state v1 after run 1"));
            /* A plan for inference changes nothing. */
            assert_int_equal(run_by(right, cumulative, true).verdict, PROGRAM_RIGHT);
            assert_int_equal(run_by(&wrong, cumulative, true).verdict, PROGRAM_RIGHT);
        }
    }
}

/* A norm of two elements, which is ±1 whatever they are: float32 leaves something of a slope of zero. */
static void test_cancelled_slopes(void **state) {
    (void)state;
    for (uint64_t number = 0; number < 8; number++) {
        program p = {.seed = 1, .number = number, .format = WEFT_F32, .batch = 1, .length = 1, .count = 3};
        program_result result;
        p.values[0] = source_of(PROGRAM_INPUT, WEFT_F32, 14, 2);
        p.values[1] = (program_value){.is_call = true, .source = {.dtype = WEFT_F32}};
        p.values[1].call = (oracle_call){.op = &oracle_op_layer_norm,
            .inputs = {0, -1, -1},
            .input_count = 3,
            .integers = {1},
            .dims = {WEFT_END}};
        p.values[2] = (program_value){.is_call = true, .source = {.dtype = WEFT_F32}};
        p.values[2].call =
            (oracle_call){.op = &oracle_op_exp, .inputs = {1}, .input_count = 1, .dims = {WEFT_END}};
        p.loss[0] = 2;
        p.loss_count = 1;
        const f64_mark mark = f64_pool_mark();
        program_run(&p, test_context(), &result);
        f64_pool_release(mark);
        if (result.verdict != PROGRAM_RIGHT) fail_msg("program %d: %s", (int)number, result.line);
    }
}

/* A norm does not depend on a factor of what it takes: two ops whose slopes cancel out together. */
static void test_cancelled_factor(void **state) {
    (void)state;
    for (uint64_t number = 0; number < 8; number++) {
        program p = {.seed = 1, .number = number, .format = WEFT_F32, .batch = 1, .length = 1, .count = 4};
        program_result result;
        p.values[0] = source_of(PROGRAM_INPUT, WEFT_F32, 14, 6);
        p.values[1] = source_of(PROGRAM_INPUT, WEFT_F32, 6, WEFT_END);
        p.values[1].source.dims[0] = 1;
        p.values[2] = (program_value){.is_call = true, .source = {.dtype = WEFT_F32}};
        p.values[2].call =
            (oracle_call){.op = &oracle_op_mul, .inputs = {0, 1}, .input_count = 2, .dims = {WEFT_END}};
        p.values[3] = (program_value){.is_call = true, .source = {.dtype = WEFT_F32}};
        p.values[3].call = (oracle_call){.op = &oracle_op_layer_norm,
            .inputs = {2, -1, -1},
            .input_count = 3,
            .integers = {1},
            .dims = {WEFT_END}};
        p.loss[0] = 3;
        p.loss_count = 1;
        const f64_mark mark = f64_pool_mark();
        program_run(&p, test_context(), &result);
        f64_pool_release(mark);
        if (result.verdict != PROGRAM_RIGHT) fail_msg("program %d: %s", (int)number, result.line);
    }
}

/* A term of 10^10 that does not depend on the source hides its slope in float64. */
static void test_other_terms(void **state) {
    (void)state;
    program p = {
        .seed = 1, .format = WEFT_F32, .batch = 1, .length = 1, .count = 4, .loss = {2, 3}, .loss_count = 2};
    program_result result;
    p.values[0] = source_of(PROGRAM_INPUT, WEFT_F32, 14, 6);
    p.values[1] = source_of(PROGRAM_INPUT, WEFT_F32, 14, 6);
    p.values[1].source.low = 20;
    p.values[1].source.high = 24;
    p.values[2] = (program_value){.is_call = true, .source = {.dtype = WEFT_F32}};
    p.values[2].call =
        (oracle_call){.op = &oracle_op_exp, .inputs = {1}, .input_count = 1, .dims = {WEFT_END}};
    p.values[3] = (program_value){.is_call = true, .source = {.dtype = WEFT_F32}};
    p.values[3].call = (oracle_call){.op = &oracle_op_layer_norm,
        .inputs = {0, -1, -1},
        .input_count = 3,
        .integers = {1},
        .dims = {WEFT_END}};
    for (p.number = 0; p.number < 40; p.number++) {
        const f64_mark mark = f64_pool_mark();
        program_run(&p, test_context(), &result);
        f64_pool_release(mark);
        if (result.verdict != PROGRAM_RIGHT) fail_msg("program %d: %s", (int)p.number, result.line);
    }
}

static program_value call_of(const oracle_op *op, int a, int b) {
    program_value value = {.is_call = true, .source = {.dtype = WEFT_F32}};
    value.call = (oracle_call){.op = op, .inputs = {a, b}, .input_count = 1 + (b >= 0), .dims = {WEFT_END}};
    return value;
}

/* Two numbers have an infinite variance with the correction 2. What is added to it has a gradient, as has what is added to the terms beside it;
 * of an infinite loss no difference tells this. The terms beside it are judged. */
static void test_infinite_terms(void **state) {
    (void)state;
    program p = {.seed = 1, .format = WEFT_F32, .batch = 1, .length = 1, .count = 5};
    p.values[0] = source_of(PROGRAM_INPUT, WEFT_F32, 2, WEFT_END);
    p.values[1] = source_of(PROGRAM_INPUT, WEFT_F32, 3, WEFT_END);
    p.values[2] = call_of(&oracle_op_var, 0, -1);
    p.values[2].call.integers[2] = 2;
    p.values[3] = call_of(&oracle_op_add, 2, 1);
    p.values[4] = call_of(&oracle_op_exp, 1, -1);
    p.loss[0] = 3, p.loss[1] = 4;
    p.loss_count = 2;
    oracle_op wrong = oracle_op_exp;
    wrong.evaluate = oracle_op_tanh.evaluate;
    for (p.number = 0; p.number < 12; p.number++) {
        program_result result;
        const f64_mark mark = f64_pool_mark();
        p.values[4].call.op = &oracle_op_exp;
        program_run(&p, test_context(), &result);
        if (result.verdict != PROGRAM_RIGHT) fail_msg("program %d: %s", (int)p.number, result.line);
        p.values[4].call.op = &wrong;
        program_run(&p, test_context(), &result);
        assert_int_equal(result.verdict, PROGRAM_WRONG);
        f64_pool_release(mark);
    }
}

static f64_array *two_numbers(double first, double second) {
    f64_array *const x = f64_zeros(1, (const int64_t[]){2});
    x->value[0] = first;
    x->value[1] = second;
    return x;
}

/* A row of the same size, whose squares add up to more than float32 has. */
static void test_norms_beyond_the_range(void **state) {
    (void)state;
    const f64_norm norm = {.epsilon = 1e-5};
    const f64_mark mark = f64_pool_mark();
    for (int beyond = 0; beyond < 2; beyond++) {
        f64_array *const x = two_numbers(beyond ? 1.7e19 : 2, beyond ? -1.7e19 : -2);
        const double errors[] = {f64_layer_norm(x, 1, &norm)->error[0], f64_rms_norm(x, 1, &norm)->error[1]};
        for (int i = 0; i < 2; i++) assert_true(beyond ? !(errors[i] < 1e6) : errors[i] < 1e-4);
        x->value[0] = x->value[1] = beyond ? 2.9e38 : 2;
        assert_true(isinf(f64_layer_norm(x, 1, &norm)->error[0]) == beyond);
    }
    f64_pool_release(mark);
}

/* The variance of 84 numbers of about 10^19 is in the range of f32, the sum of their squares is not; nor is exp(90), which an input of
 * about 10^-4 makes small again. */
static void test_beyond_the_range(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        program p = {.seed = 1, .format = WEFT_F32, .batch = 1, .length = 1, .count = 4};
        p.values[0] = source_of(PROGRAM_INPUT, WEFT_F32, 14, 6);
        p.values[1] = source_of(PROGRAM_INPUT, WEFT_F32, 14, 6);
        p.values[1].source.low = 1e-4, p.values[1].source.high = 2e-4;
        p.values[2] = call_of(&oracle_op_exp, 0, -1);
        p.values[3] = way == 0 ? call_of(&oracle_op_var, 2, -1) : call_of(&oracle_op_mul, 2, 1);
        p.values[3].shown = true;
        for (int beyond = 0; beyond < 2; beyond++) {
            program_result result;
            p.values[0].source.low = way == 0 ? 42 + 2 * beyond : 85 + 5 * beyond;
            p.values[0].source.high = p.values[0].source.low + 0.4;
            const f64_mark mark = f64_pool_mark();
            program_run(&p, test_context(), &result);
            f64_pool_release(mark);
            if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
            assert_true(result.tally.judged + result.tally.unjudged > 0);
            assert_true(beyond ? result.tally.judged == 0 : result.tally.unjudged == 0);
        }
    }
}

/* In 16 bits, of one op of (14, 6) elements in low .. high, whose value is not judged: only its slope. */
static program_result run_slope(const oracle_op *op, const char *precision, double low, double high) {
    program_options options = {.seed = 1};
    assert_true(program_precision_of(precision, &options));
    const weft_dtype format = options.format;
    program p = {.seed = 1, .format = format, .batch = 1, .length = 1, .count = 2, .loss_count = 1};
    program_result all = {0};
    p.precision = options.precision;
    p.values[0] = source_of(PROGRAM_INPUT, format, 14, 6);
    p.values[0].source.low = low;
    p.values[0].source.high = high;
    p.values[1] = (program_value){.is_call = true, .source = {.dtype = format}};
    p.values[1].call = (oracle_call){.op = op, .inputs = {0}, .input_count = 1, .dims = {WEFT_END}};
    p.loss[0] = 1;
    for (p.number = 0; p.number < 12; p.number++) {
        program_result result;
        const f64_mark mark = f64_pool_mark();
        program_run(&p, test_context(), &result);
        f64_pool_release(mark);
        all.tally.slopes += result.tally.slopes;
        all.tally.unjudged_slopes += result.tally.unjudged_slopes;
        if (all.verdict == PROGRAM_RIGHT) all.verdict = result.verdict, memcpy(all.line, result.line, 512);
    }
    return all;
}

static f64_array *evaluate_itself(
    const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes) {
    (void)call, (void)sizes;
    return f64_copy(in[0]);
}

/* The slope 1 - y² of a tanh that is almost 1 is what rounding leaves of it: it is not judged, nor is one of 0 where y is 1. Elsewhere
 * a slope that is wrong by a fifth is found, in 16 bits as in f32. */
static void test_rounded_slopes(void **state) {
    (void)state;
    oracle_op wrong = oracle_op_tanh;
    wrong.evaluate = evaluate_itself;
    static const char *const formats[] = {"bf16", "f16", "mixed", "mixed_f16"};
    static const double ends[] = {3, 5, 3, 5}; /* where the format has few numbers left below 1, or none */
    for (int i = 0; i < 4; i++) {
        const program_result steep = run_slope(&oracle_op_tanh, formats[i], ends[i] - 1, ends[i]);
        if (steep.verdict != PROGRAM_RIGHT) fail_msg("%s", steep.line);
        if (i < 2)
            assert_true(
                steep.tally.unjudged_slopes > 0); /* one op alone has its result in f32 in mixed precision */
        const program_result flat = run_slope(&oracle_op_tanh, formats[i], 6, 9);
        if (flat.verdict != PROGRAM_RIGHT) fail_msg("%s", flat.line);
        const program_result found = run_slope(&wrong, formats[i], 0.4, 0.6);
        assert_int_equal(found.verdict, PROGRAM_WRONG);
        assert_non_null(strstr(found.line, "gradient of v0"));
        const program_result near = run_slope(&oracle_op_tanh, formats[i], 0.4, 0.6);
        assert_int_equal(near.verdict, PROGRAM_RIGHT);
        assert_int_equal(near.tally.unjudged_slopes, 0);
    }
}

/* Whether 0.3 is less than tanh(0.3095), which is 0.29999, is uncertain, and so is what is made of the answer. */
static void test_uncertain_answers(void **state) {
    (void)state;
    program p = {.seed = 1, .format = WEFT_BF16, .batch = 1, .length = 1, .count = 5};
    const oracle_sizes sizes = {.batch = 1, .length = 1, .format = WEFT_BF16};
    static const oracle_op *const ops[] = {&oracle_op_tanh, &oracle_op_less, &oracle_op_logical_and};
    const f64_mark mark = f64_pool_mark();
    f64_array *values[PROGRAM_VALUES] = {f64_number(0.3095), f64_number(0.3)};
    for (int i = 0; i < 3; i++) {
        p.values[2 + i] =
            (program_value){.is_call = true, .source = {.dtype = i == 0 ? WEFT_BF16 : WEFT_BOOL}};
        p.values[2 + i].call = (oracle_call){.op = ops[i],
            .inputs = {i == 1   ? 2
                       : i == 0 ? 0
                                : 3,
                i == 1 ? 1 : 3},
            .input_count = 1 + (i > 0)};
    }
    program_evaluate(&p, &sizes, values, 0, 0);
    assert_true(values[3]->error[0] == 1 && values[4]->error[0] == 1);
    values[0] = f64_number(0.5);
    program_evaluate(&p, &sizes, values, 0, 0);
    assert_true(values[3]->error[0] == 0 && values[4]->error[0] == 0);
    f64_pool_release(mark);
}

static double acos_of(double a, double b, double c) {
    (void)b, (void)c;
    return acos(a);
}

/* Nothing is known of an acos of about -1, whether it is a number or NaN, nor of what is sorted with it; of one of 0 it is. */
static void test_edges_of_domains(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    for (int side = -1; side <= 1; side += 2) {
        f64_array *const x = two_numbers(-1 + side * 1e-4, 0);
        assert_true(f64_map(acos_of, x, NULL, NULL)->error[0] < 0.1);
        x->error[0] = 1e-3;
        f64_array *const y = f64_map(acos_of, x, NULL, NULL);
        assert_true(isinf(y->error[0]) && y->error[1] < 0.1);
        const f64_order order = {.axis = 0};
        assert_true(isinf(f64_sorted(y, order)->error[1]));
        assert_true(f64_sorted_places(y, order)->error[1] > 1);
        assert_true(isinf(f64_max(y, NULL, false)->error[0]));
    }
    f64_pool_release(mark);
}

/* In 16 bits the sum is stored before the difference is made of it. */
static void test_rounded_on_the_way(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    f64_store_with(7);
    const f64_array *const stored = f64_sub(f64_add(f64_number(100), f64_number(1)), f64_number(100));
    const f64_array *const product =
        f64_matmul(f64_zeros(2, (const int64_t[]){1, 1}), f64_zeros(2, (const int64_t[]){1, 1}));
    f64_store_with(0);
    const f64_array *const wide = f64_sub(f64_add(f64_number(100), f64_number(1)), f64_number(100));
    assert_true(stored->error[0] > 101 / 256.0 && stored->error[0] < 0.5);
    assert_true(wide->error[0] < 1e-3 && product->error[0] < 1e-30);
    f64_pool_release(mark);
}

static double are_equal(double a, double b, double c) {
    (void)c;
    return a == b;
}

/* Such numbers may be equal in float32, which neither end of an error shows. */
static void test_equal_within_errors(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    f64_array *const a = f64_number(1), *const b = f64_number(1 + 1e-7);
    assert_true(f64_map(are_equal, a, b, NULL)->error[0] < 0.5);
    a->error[0] = 3e-7;
    assert_true(f64_map(are_equal, a, b, NULL)->error[0] >= 1);
    f64_pool_release(mark);
}

/* A free length may leave no room for a result. */
static void test_empty_results(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    const f64_array *const x = f64_zeros(3, (const int64_t[]){2, 1, 3}), *const w = f64_zeros(
                                                                             3, (const int64_t[]){1, 1, 3});
    const weft_conv_options padded = {WEFT_CONV_OPTIONS_INIT, .paddings = {4}},
                            wide = {WEFT_CONV_OPTIONS_INIT, .dilations = {3}};
    assert_int_equal(f64_conv_transpose(x, w, NULL, &padded)->count, 0);
    assert_int_equal(f64_conv(x, w, NULL, &wide)->count, 0);
    f64_pool_release(mark);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_effects),
        cmocka_unit_test(test_cancelled_slopes), cmocka_unit_test(test_cancelled_factor),
        cmocka_unit_test(test_other_terms), cmocka_unit_test(test_infinite_terms),
        cmocka_unit_test(test_beyond_the_range), cmocka_unit_test(test_norms_beyond_the_range),
        cmocka_unit_test(test_rounded_slopes), cmocka_unit_test(test_uncertain_answers),
        cmocka_unit_test(test_edges_of_domains), cmocka_unit_test(test_rounded_on_the_way),
        cmocka_unit_test(test_equal_within_errors), cmocka_unit_test(test_empty_results)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
