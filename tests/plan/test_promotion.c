/* Mixed precision keeps in f32 what is computed from an f32 operand, as PyTorch's autocast does: masks of large numbers, which 16 bits
 * cannot hold, and differences of large numbers. */
/* test.avx512 WEFT_MATRIX_ENGINES=avx512 */
#include "support/fixture.h"
#include <float.h>
#include <math.h>
#include <weft/weft.h>

enum { EXAMPLES = 3, INNER = 7, ROWS = 4, COLUMNS = 5, FORMS = 4, VALUES = 3, CASES = FORMS * VALUES };

static const double values[VALUES] = {-FLT_MAX, -1e30, -1e9};
static const weft_precision precisions[] = {WEFT_PRECISION_BF16, WEFT_PRECISION_F16};

typedef struct masked_rows {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *weight, *numbers, *truths, *outputs[CASES + 1];
} masked_rows;

static weft_tensor *apply_mask(const masked_rows *m, weft_tensor *scores, int form, double value) {
    if (form == 0) return weft_add(scores, weft_mul(m->numbers, weft_number(scores, value)));
    if (form == 1)
        return weft_add(scores, weft_mul(weft_cast(m->truths, WEFT_F32), weft_number(scores, value)));
    if (form == 2) return weft_masked_fill(scores, m->truths, value);
    return weft_where(m->truths, weft_number(scores, value), scores);
}

static void begin(masked_rows *m, weft_precision precision, bool has_batch) {
    const int64_t examples = has_batch ? WEFT_BATCH : EXAMPLES;
    weft_tensor *loss = NULL;
    assert_weft_ok(weft_graph_create(&m->graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(m->graph, precision));
    m->x = weft_input_shape(m->graph, "x", WEFT_F32, 3, (const int64_t[]){examples, ROWS, INNER});
    m->numbers =
        weft_input_shape(m->graph, "numbers", WEFT_F32, 3, (const int64_t[]){examples, ROWS, COLUMNS});
    m->truths =
        weft_input_shape(m->graph, "truths", WEFT_BOOL, 3, (const int64_t[]){examples, ROWS, COLUMNS});
    m->weight = weft_parameter(m->graph, "w", weft_zeros(), INNER, COLUMNS);
    weft_tensor *const scores = weft_matmul(m->x, m->weight);
    for (int i = 0; i < CASES; i++) {
        m->outputs[i] = weft_softmax(apply_mask(m, scores, i / VALUES, values[i % VALUES]), 2);
        weft_tensor *const part = weft_mean(weft_square(m->outputs[i]));
        loss = loss ? weft_add(loss, part) : part;
    }
    assert_weft_ok(weft_graph_status(m->graph));
    assert_weft_ok(weft_gradients(loss, &m->weight, 1, &m->outputs[CASES]));
    assert_weft_ok(weft_plan_create(
        &m->plan, m->outputs, CASES + 1, WEFT_WITH(plan, .batch = has_batch ? EXAMPLES : 1)));
}

/* Row 0 is not masked, row 1 in part, the others whole. */
static bool is_masked(int row, int column) {
    return row > 1 || (row == 1 && column % 2 == 0);
}

typedef struct numbers {
    float x[EXAMPLES][ROWS][INNER], weight[INNER][COLUMNS], mask[EXAMPLES][ROWS][COLUMNS];
    uint8_t truths[EXAMPLES][ROWS][COLUMNS];
} numbers;

static numbers draw(void) {
    numbers n;
    test_random random = test_random_named("masked rows", 0);
    for (int i = 0; i < EXAMPLES * ROWS * INNER; i++)
        (&n.x[0][0][0])[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < INNER * COLUMNS; i++)
        (&n.weight[0][0])[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < EXAMPLES * ROWS * COLUMNS; i++) {
        const bool masked = is_masked(i / COLUMNS % ROWS, i % COLUMNS);
        (&n.truths[0][0][0])[i] = masked;
        (&n.mask[0][0][0])[i] = masked;
    }
    return n;
}

static double score(const numbers *n, int example, int row, int column) {
    double sum = 0;
    for (int k = 0; k < INNER; k++) sum += (double)n->x[example][row][k] * (double)n->weight[k][column];
    return sum;
}

/* Large numbers absorb the scores, so a row that is masked whole has equal shares. */
static double share(const numbers *n, int example, int row, int column) {
    double sum = 0;
    if (row > 1) return 1.0 / COLUMNS;
    if (is_masked(row, column)) return 0;
    for (int i = 0; i < COLUMNS; i++)
        if (!is_masked(row, i)) sum += exp(score(n, example, row, i));
    return exp(score(n, example, row, column)) / sum;
}

static void check_rows(weft_precision precision, bool has_batch) {
    masked_rows m = {0};
    const numbers n = draw();
    float results[EXAMPLES][ROWS][COLUMNS], gradient[INNER * COLUMNS];
    begin(&m, precision, has_batch);
    assert_weft_ok(weft_tensor_write(m.weight, n.weight, sizeof n.weight));
    assert_weft_ok(weft_plan_write(m.plan, m.x, n.x, sizeof n.x));
    assert_weft_ok(weft_plan_write(m.plan, m.numbers, n.mask, sizeof n.mask));
    assert_weft_ok(weft_plan_write(m.plan, m.truths, n.truths, sizeof n.truths));
    assert_weft_ok(weft_plan_run(m.plan));
    for (int c = 0; c < CASES; c++) {
        assert_weft_ok(weft_plan_read(m.plan, m.outputs[c], results, sizeof results));
        for (int i = 0; i < EXAMPLES * ROWS * COLUMNS; i++) {
            const int example = i / COLUMNS / ROWS, row = i / COLUMNS % ROWS, column = i % COLUMNS;
            const double wanted = share(&n, example, row, column), got = (double)(&results[0][0][0])[i];
            if (!(fabs(got - wanted) <= 0.01))
                fail_msg("precision %d, form %d of %g, row %d: %g instead of %g", (int)precision, c / VALUES,
                    values[c % VALUES], row, got, wanted);
        }
    }
    assert_weft_ok(weft_plan_read(m.plan, m.outputs[CASES], gradient, sizeof gradient));
    for (int i = 0; i < INNER * COLUMNS; i++) assert_true(isfinite(gradient[i]));
    weft_plan_release(m.plan);
    weft_graph_release(m.graph);
}

static void masked_rows_are_those_of_f32(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        for (int has_batch = 0; has_batch < 2; has_batch++) check_rows(precisions[i], has_batch);
}

/* The variance of a product plus an offset: 16 bits of a sum near 1000 would lose the product. */
static void sums_with_an_input_keep_their_fraction(void **state) {
    static float x[EXAMPLES][INNER], weight[INNER][COLUMNS], offset[EXAMPLES][COLUMNS], variance[EXAMPLES];
    test_random random = test_random_named("offset", 0);
    (void)state;
    for (int i = 0; i < EXAMPLES * INNER; i++) (&x[0][0])[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < INNER * COLUMNS; i++) (&weight[0][0])[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < EXAMPLES * COLUMNS; i++) (&offset[0][0])[i] = 1000;
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        weft_graph *graph;
        weft_plan *plan;
        assert_weft_ok(weft_graph_create(&graph, test_context()));
        assert_weft_ok(weft_graph_set_precision(graph, precisions[p]));
        weft_tensor *const input = weft_input(graph, "x", WEFT_F32, INNER);
        weft_tensor *const w = weft_parameter(graph, "w", weft_zeros(), INNER, COLUMNS);
        weft_tensor *const added = weft_input(graph, "offset", WEFT_F32, COLUMNS);
        weft_tensor *const y = weft_var(weft_add(weft_matmul(input, w), added), 1);
        assert_weft_ok(weft_plan_create(&plan, &y, 1, WEFT_WITH(plan, .batch = EXAMPLES)));
        assert_weft_ok(weft_tensor_write(w, weight, sizeof weight));
        assert_weft_ok(weft_plan_step(
            plan, WEFT_VALUES(WEFT_VALUE(input, x), WEFT_VALUE(added, offset), WEFT_VALUE(y, variance))));
        for (int e = 0; e < EXAMPLES; e++) {
            double sum = 0, squares = 0;
            for (int c = 0; c < COLUMNS; c++) {
                double h = 0;
                for (int k = 0; k < INNER; k++) h += (double)x[e][k] * (double)weight[k][c];
                sum += h, squares += h * h;
            }
            const double wanted = (squares - sum * sum / COLUMNS) / (COLUMNS - 1);
            if (!(fabs((double)variance[e] - wanted) <= 0.02 * wanted))
                fail_msg("precision %d: %g instead of %g", (int)precisions[p], (double)variance[e], wanted);
        }
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_rows_are_those_of_f32),
        cmocka_unit_test(sums_with_an_input_keep_their_fraction),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
