/* Random programs over the whole op table, judged by the oracle (workloads/random/random_program.h): some of a fixed seed. CI draws others every
 * day, and `weft check --random SECONDS` as many as one likes. $WEFT_TEST_PROGRAMS: how many. */
/* test slow */
/* test.{bf16,f16} format={} WEFT_TEST_PROGRAMS=6 */
/* test.mixed format=mixed WEFT_TEST_PROGRAMS=6 optimised */
/* test.mixed_f16 format=mixed_f16 WEFT_TEST_PROGRAMS=6 */
/* test.mixed.model format=mixed WEFT_MATRIX_ENGINES=model WEFT_TEST_PROGRAMS=6 */
/* test.mixed.{engines} gpu format=mixed WEFT_MATRIX_ENGINES=model-{} WEFT_TEST_PROGRAMS=4 */
/* test.buffers128 device=buffers128 reduced short_launches */
#include "random/random_program.h"
#include "support/fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROGRAMS = 20, FIRST_OF_GPU = 10, SEED = 20261129, TRIES = 200 };

static void show(program *p, program_result *result) {
    print_error("program %llu: %s\n", (unsigned long long)p->number, result->line);
    program_reduce(p, test_context(), result, TRIES);
    char *const text = program_text(p, &result->sizes);
    print_error("a smaller program that fails: %s\n%s", result->line, text ? text : "");
    free(text);
}

/* Elements and slopes that are not judged are few: otherwise the programs prove nothing. `share`: the sum over programs of the share of slopes,
 * as one program may have a tenth of all slopes. */
static void check_judged(const program_tally *tally, double share, uint64_t programs) {
    print_message("%llu elements, %llu not judged; %llu slopes, %llu not judged\n",
        (unsigned long long)tally->judged, (unsigned long long)tally->unjudged,
        (unsigned long long)tally->slopes, (unsigned long long)tally->unjudged_slopes);
    assert_true(tally->judged > 100 * programs);
    assert_true(programs < 20 || 20 * tally->unjudged <= tally->judged);
    assert_true(programs < 20 || 20 * share <= (double)programs);
}

/* With a matrix engine, or a model of it, programs have what it computes. */
static const char *const multiplied[] = {"matmul", "conv_with", "attention", "linear_with"};

static void test_random_programs(void **state) {
    (void)state;
    program_options options = {.seed = SEED, .format = WEFT_F32};
    const char *const precision = getenv("WEFT_TEST_FORMAT");
    if (precision) assert_true(program_precision_of(precision, &options));
    const char *const asked = getenv("WEFT_TEST_PROGRAMS");
    const uint64_t count = asked ? strtoull(asked, NULL, 10) : test_reduced() ? 5 : PROGRAMS;
    /* Of 30 programs class cpu has the first 20, and class gpu the last 20. */
    const bool is_gpu = weft_context_device(test_context())->device_class == WEFT_CLASS_GPU;
    const uint64_t first = is_gpu && count == PROGRAMS ? FIRST_OF_GPU : 0;
    program_tally tally = {0};
    double share = 0;
    static program p;
    size_t failed = 0;
    for (uint64_t i = 0; i < count; i++) {
        program_result result;
        const f64_mark mark = f64_pool_mark();
        if (getenv("WEFT_MATRIX_ENGINES")) options.only = multiplied[i % 4];
        assert_true(program_draw(&p, test_context(), &options, first + i));
        program_run(&p, test_context(), &result);
        tally.judged += result.tally.judged;
        tally.unjudged += result.tally.unjudged;
        tally.slopes += result.tally.slopes;
        tally.unjudged_slopes += result.tally.unjudged_slopes;
        if (result.tally.slopes) share += (double)result.tally.unjudged_slopes / (double)result.tally.slopes;
        if (result.verdict == PROGRAM_WRONG || result.verdict == PROGRAM_INTERNAL)
            failed++, show(&p, &result);
        f64_pool_release(mark);
    }
    assert_int_equal(failed, 0);
    check_judged(&tally, share, count);
}

/* Every row of the op table has its line in the oracle: those of the table, once each. */
static void test_all_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < oracle_op_count(); i++)
        assert_ptr_equal(oracle_find(oracle_op_at(i)->name), oracle_op_at(i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs), cmocka_unit_test(test_all_rows)};
    return test_finish(cmocka_run_group_tests_name("random programs", tests, NULL, NULL));
}
