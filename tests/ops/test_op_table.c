/* Every op of the library's table has a test, and every test an op. */
#include "support/fixture.h"

#include "ops/covered_ops.h"
#include "ops/op_table.h"
#include "support/own_program.h"
#include <string.h>

#define NAME(op, proof)    #op,
#define ROW(op, kind, ...) #op,
static const char *const covered[] = {
#include "oracle/elementwise_rows.h"
    /* clang-format off */
    REDUCE_OPS(NAME)
    REDUCE_KIND_OPS(NAME)
    MOMENT_OPS(NAME)
    NORM_OPS(NAME)
    NORMALIZATION_OPS(NAME)
    MATMUL_OPS(NAME)
    CONV_OPS(NAME)
    SOFTMAX_OPS(NAME)
    LOSS_CLASS_OPS(NAME)
    LOSS_REGRESSION_OPS(NAME)
    LOSS_VECTOR_OPS(NAME)
    LOSS_CTC_OPS(NAME)
    MOVEMENT_OPS(NAME)
    CHANNELS_OPS(NAME)
    INDEX_OPS(NAME)
    SPARSE_OPS(NAME)
    EMBEDDING_OPS(NAME)
    SLICE_OPS(NAME)
    PADDING_OPS(NAME)
    MASK_OPS(NAME)
    EINSUM_OPS(NAME)
    SCAN_OPS(NAME)
    SORT_OPS(NAME)
    ACTIVATION_OPS(NAME)
    NUMBER_FORM_OPS(NAME)
    ATTENTION_OPS(NAME)
    POOL_OPS(NAME)
    RESAMPLE_OPS(NAME)
    RECURRENT_OPS(NAME)
    RANDOM_OPS(NAME)
    CAST_OPS(NAME)
    /* clang-format on */
};
enum { COVERED = sizeof covered / sizeof covered[0] };

static size_t find(const char *const *names, size_t count, const char *name) {
    size_t at = 0;
    while (at < count && strcmp(names[at], name) != 0) at++;
    return at;
}

static void test_every_op_is_covered(void **state) {
    (void)state;
    size_t missing = 0;
    for (size_t i = 0; i < wi_op_count; i++) {
        const char *const name = wi_op_names[i];
        if (find(covered, COVERED, name) < COVERED || own_program_holds(name, "")) continue;
        print_error(
            "%s has no test: add one to its family in tests/ops, or a program test_%s.c\n", name, name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

static void test_every_test_has_an_op(void **state) {
    (void)state;
    for (size_t i = 0; i < COVERED; i++) {
        if (find(wi_op_names, wi_op_count, covered[i]) == wi_op_count)
            fail_msg("%s is tested, but is no op of the table", covered[i]);
        if (find(covered, COVERED, covered[i]) != i) fail_msg("%s stands twice", covered[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_is_covered),
        cmocka_unit_test(test_every_test_has_an_op),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
