/* Which programs are drawn: the same one for a number, whatever was drawn before it; and more pairs of attribute and size than calls that
 * are taken as they come would have. */
#include "support/fixture.h"

#include "random/random_program.h"
#include <stdlib.h>
#include <string.h>

enum { SEED = 11, ROUNDS = 32 };

static char *text_of(uint64_t number, program_pairs *pairs) {
    static program p;
    const program_options options = {.seed = SEED, .format = WEFT_F32, .pairs = pairs};
    const f64_mark mark = f64_pool_mark();
    assert_true(program_draw(&p, test_context(), &options, number));
    const oracle_sizes sizes = program_sizes(&p, test_context());
    char *const text = program_text(&p, &sizes);
    f64_pool_release(mark);
    return text;
}

static void test_drawn_alone(void **state) {
    (void)state;
    enum { COUNT = 12, FIRST = 5000 }; /* ops in later rounds, which depend on earlier ones */
    char *in_order[COUNT];
    program_pairs *const pairs = program_pairs_create();
    for (uint64_t i = 0; i < COUNT; i++) in_order[i] = text_of(FIRST + i, pairs);
    for (uint64_t i = COUNT; i-- > 0;) {
        char *const alone = text_of(FIRST + i, NULL);
        assert_string_equal(alone, in_order[i]);
        free(alone);
        free(in_order[i]);
    }
    program_pairs_release(pairs);
}

/* Of an op's programs, where so many calls are drawn for the subject of each. */
static size_t covered_by(const char *op, int candidates) {
    static program p;
    program_pairs *const pairs = program_pairs_create();
    const program_options options = {
        .seed = SEED, .format = WEFT_F32, .only = op, .candidates = candidates, .pairs = pairs};
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const f64_mark mark = f64_pool_mark();
        assert_true(program_draw(&p, test_context(), &options, i));
        for (int v = 0; v < p.count; v++)
            if (p.values[v].is_call && strcmp(p.values[v].call.op->name, op) != 0)
                p.values[v].is_call = false;
        program_cover(pairs, &p);
        f64_pool_release(mark);
    }
    const size_t covered = program_pairs_covered(pairs);
    assert_true(covered <= program_pairs_known(pairs));
    program_pairs_release(pairs);
    return covered;
}

static void test_more_pairs(void **state) {
    (void)state;
    static const char *const ops[] = {"conv_with", "avg_pool", "softmax", "pad", "einsum", "cumsum"};
    size_t preferred = 0, as_they_come = 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        preferred += covered_by(ops[i], 0);
        as_they_come += covered_by(ops[i], 1);
    }
    print_message("%zu pairs in place of %zu\n", preferred, as_they_come);
    assert_true(10 * preferred > 11 * as_they_come);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_drawn_alone), cmocka_unit_test(test_more_pairs)};
    return test_finish(cmocka_run_group_tests_name("drawing of random programs", tests, NULL, NULL));
}
