/* The launch that updates rows of a table (segment_sum.cl): any width and any repetition of tokens beside formulas in double,
 * the order of sums bit by bit, how many launches there are, gradients that are computed where they are added up, and tables whose
 * old rows the plan still needs. */
/* test slow */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

enum { VOCABULARY = 37, MOST_WIDTH = 130, MOST_BATCH = 200, STEPS = 3, MOST_CELLS = VOCABULARY * MOST_WIDTH };

/* loss = sum of the picked rows · weights, so that the weights are the gradients of the rows. */
typedef struct net {
    int width, batch;
    weft_graph *graph;
    weft_tensor *tokens, *weights, *table, *update;
    weft_plan *plan;
} net;

/* count: of the tokens; 0: the batch. */
static weft_tensor *picked(net *n, int width, int64_t count) {
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .name = "table", .sparse = true};
    n->width = width;
    n->graph = test_graph();
    n->tokens = count ? weft_input_shape(n->graph, "tokens", WEFT_I32, 1, &count)
                      : weft_input(n->graph, "tokens", WEFT_I32);
    weft_tensor *const rows = weft_embedding_layer(n->tokens, VOCABULARY, width, &options);
    n->table = weft_graph_find(n->graph, "table.weight");
    return rows;
}

static void minimize(net *n, weft_tensor *loss, const weft_optimizer *rule) {
    n->update = weft_optimizer_minimize(weft_optimizer_create(n->graph, rule), loss, NULL);
    assert_weft_ok(weft_graph_status(n->graph));
}

static void make_plan(net *n, int batch, weft_tensor *const *outputs, size_t count) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    n->batch = batch;
    assert_weft_ok(weft_plan_create(&n->plan, outputs, count, &options));
}

static net make_net(int width, int batch, const weft_optimizer *rule) {
    net n;
    weft_tensor *const rows = picked(&n, width, 0);
    n.weights = weft_input(n.graph, "weights", WEFT_F32, width);
    minimize(&n, weft_sum(weft_mul(rows, n.weights)), rule);
    make_plan(&n, batch, &n.update, 1);
    return n;
}

static void release(const net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

typedef enum pattern { ANY, ALL_EQUAL, EACH_ONCE, TWO_RUNS, PATTERNS } pattern;

static void draw(const net *n, pattern p, int step, int32_t *tokens, float *weights) {
    test_random random = test_random_named("rows", (uint64_t)(step * PATTERNS + (int)p));
    for (int j = 0; j < n->batch; j++) {
        tokens[j] = (int32_t)test_random_below(&random, VOCABULARY);
        if (p == ALL_EQUAL) tokens[j] = VOCABULARY - 1;
        if (p == EACH_ONCE) tokens[j] = VOCABULARY - 1 - j % VOCABULARY;
        if (p == TWO_RUNS) tokens[j] = j < n->batch / 2 ? 5 : step;
        for (int i = 0; i < n->width; i++)
            weights[j * n->width + i] = (float)test_random_between(&random, -1, 1);
    }
}

static void run(const net *n, const int32_t *tokens, const float *weights, float *table) {
    const size_t row = (size_t)n->width * sizeof(float), count = (size_t)n->batch;
    assert_weft_ok(weft_plan_write(n->plan, n->tokens, tokens, count * sizeof *tokens));
    assert_weft_ok(weft_plan_write(n->plan, n->weights, weights, count * row));
    assert_weft_ok(weft_plan_run(n->plan));
    assert_weft_ok(weft_tensor_read(n->table, table, VOCABULARY * row));
}

/* ---- beside formulas ---- */

typedef struct lazy {
    double p[MOST_CELLS], m[MOST_CELLS], v[MOST_CELLS];
} lazy;

/* The rows that have a token; Adam, or SGD where its moments are not wanted. */
static void lazy_step(lazy *l, const net *n, const int32_t *tokens, const float *weights, int t, bool adam) {
    for (int row = 0; row < VOCABULARY; row++) {
        int count = 0;
        for (int j = 0; j < n->batch; j++) count += tokens[j] == row;
        for (int i = 0; i < n->width && count; i++) {
            const int at = row * n->width + i;
            double g = 0;
            for (int j = 0; j < n->batch; j++)
                if (tokens[j] == row) g += (double)weights[j * n->width + i];
            l->m[at] = 0.9 * l->m[at] + 0.1 * g;
            l->v[at] = 0.999 * l->v[at] + 0.001 * g * g;
            const double root = sqrt(l->v[at] / (1 - pow(0.999, t))) + 1e-8;
            l->p[at] -= 0.05 * (adam ? l->m[at] / (1 - pow(0.9, t)) / root : g);
        }
    }
}

static void assert_close(const net *n, const float *got, const double *wanted, int batch, pattern p) {
    for (int i = 0; i < VOCABULARY * n->width; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i]))))
            fail_msg("width %d, batch %d, pattern %d, row %d: %g, not %g", n->width, batch, (int)p,
                i / n->width, (double)got[i], wanted[i]);
}

static void train(int width, int batch, pattern p, bool adam) {
    static int32_t tokens[MOST_BATCH];
    static float weights[MOST_BATCH * MOST_WIDTH], table[MOST_CELLS];
    static lazy l;
    const weft_optimizer rule = adam ? weft_adam(0.05f) : weft_sgd(0.05f);
    const net n = make_net(width, batch, &rule);
    memset(&l, 0, sizeof l);
    assert_weft_ok(weft_tensor_read(n.table, table, (size_t)(VOCABULARY * width) * sizeof *table));
    for (int i = 0; i < VOCABULARY * width; i++) l.p[i] = (double)table[i];
    for (int t = 0; t < (test_reduced() ? 2 : STEPS); t++) {
        draw(&n, p, t, tokens, weights);
        run(&n, tokens, weights, table);
        lazy_step(&l, &n, tokens, weights, t + 1, adam);
        assert_close(&n, table, l.p, batch, p);
    }
    release(&n);
}

static void any_width_and_repetition(void **state) {
    (void)state;
    const int widths[] = {1, 3, 17, 16, MOST_WIDTH, 40}, batches[] = {1, MOST_BATCH, 24};
    const int each = test_reduced() ? 2 : 1, batch = test_reduced() ? 24 : MOST_BATCH;
    for (int w = 0; w < 6; w += each)
        for (int b = w > 0 && test_reduced() ? 2 : 0; b < 3; b += each) {
            train(widths[w], batches[b], (pattern)((w + b) % PATTERNS), true);
            train(widths[w], batches[b], (pattern)((w + 2 * b + 1) % PATTERNS), false);
        }
    for (int p = 0; p < PATTERNS; p++) train(17, batch, (pattern)p, true);
}

/* ---- bits ---- */

/* Rows are added up in the order of the batch, whatever the rest of it is. */
static void sums_have_one_order(void **state) {
    (void)state;
    enum { WIDTH = 20 };
    static int32_t tokens[MOST_BATCH];
    static float weights[MOST_BATCH * WIDTH], table[VOCABULARY * WIDTH], again[VOCABULARY * WIDTH],
        zeros[VOCABULARY * WIDTH];
    const weft_optimizer rule = weft_sgd(1);
    const int batch = test_reduced() ? 24 : MOST_BATCH;
    for (int p = 0; p < PATTERNS; p++) {
        const net n = make_net(WIDTH, batch, &rule);
        draw(&n, (pattern)p, 0, tokens, weights);
        for (int k = 0; k < 2; k++) {
            assert_weft_ok(weft_tensor_write(n.table, zeros, sizeof zeros));
            run(&n, tokens, weights, k ? again : table);
        }
        assert_memory_equal(table, again, sizeof table);
        for (int row = 0; row < VOCABULARY; row++)
            for (int i = 0; i < WIDTH; i++) {
                float sum = 0;
                for (int j = 0; j < batch; j++)
                    if (tokens[j] == row) sum += weights[j * WIDTH + i];
                assert_true(table[row * WIDTH + i] == 0 - sum);
            }
        release(&n);
    }
}

/* ---- launches ---- */

/* What finds the segments, of which class gpu sorts first, and what updates the table and all states of it. */
static void an_update_is_one_launch(void **state) {
    (void)state;
    const weft_optimizer rules[] = {
        weft_sgd(0.1f), weft_sgd_momentum(0.1f, 0.9f, 0), weft_adagrad(0.1f), weft_adam(0.1f)};
    const bool sorts = weft_context_device(test_context())->device_class == WEFT_CLASS_GPU;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        const net n = make_net(20, 64, &rules[r]);
        weft_plan_info info;
        assert_weft_ok(weft_plan_get_info(n.plan, &info));
        assert_int_equal(info.launches, sorts ? 3 : 2);
        release(&n);
    }
}

/* ---- two tables, each of which has the gradients of the other's rows ---- */

enum { OTHERS = 3, PAIRS = 40 };

typedef struct two_tables {
    net n; /* of the first */
    weft_tensor *others, *factors, *second;
} two_tables;

static const float factors_of[OTHERS] = {0.25f, -0.5f, 1};

/* loss = sum over b and k of factor k · first[token b] · second[other b, k]. */
static two_tables make_two(int width, int batch, const weft_optimizer *rule) {
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .name = "second", .sparse = true};
    two_tables two;
    weft_tensor *const rows = picked(&two.n, width, 0);
    two.others = weft_input(two.n.graph, "others", WEFT_I32, OTHERS);
    weft_tensor *const others = weft_embedding_layer(two.others, VOCABULARY, width, &options);
    two.second = weft_graph_find(two.n.graph, "second.weight");
    weft_tensor *const dots = weft_sum(weft_mul(weft_unsqueeze(rows, 1), others), 2);
    two.factors = weft_input_shape(two.n.graph, "factors", WEFT_F32, 1, &(int64_t){OTHERS});
    weft_tensor *const loss = weft_sum(weft_mul(dots, two.factors));
    minimize(&two.n, loss, rule);
    make_plan(&two.n, batch, (weft_tensor *const[]){loss, two.n.update}, 2);
    return two;
}

typedef struct pair_numbers {
    int32_t tokens[PAIRS], others[PAIRS * OTHERS];
    float first[MOST_CELLS], second[MOST_CELLS], got[MOST_CELLS];
    double wanted_first[MOST_CELLS], wanted_second[MOST_CELLS];
} pair_numbers;

static void run_two(const two_tables *two, pair_numbers *own, int step) {
    const size_t cells = (size_t)(VOCABULARY * two->n.width) * sizeof(float), count = (size_t)two->n.batch;
    test_random random = test_random_named("two tables", (uint64_t)(two->n.width * 8 + step));
    for (size_t j = 0; j < count; j++) own->tokens[j] = (int32_t)test_random_below(&random, VOCABULARY);
    for (size_t j = 0; j < count * OTHERS; j++)
        own->others[j] = (int32_t)test_random_below(&random, step ? VOCABULARY : 4);
    assert_weft_ok(weft_tensor_read(two->n.table, own->first, cells));
    assert_weft_ok(weft_tensor_read(two->second, own->second, cells));
    assert_weft_ok(weft_plan_write(two->n.plan, two->n.tokens, own->tokens, count * sizeof(int32_t)));
    assert_weft_ok(weft_plan_write(two->n.plan, two->others, own->others, count * OTHERS * sizeof(int32_t)));
    assert_weft_ok(weft_plan_write(two->n.plan, two->factors, factors_of, sizeof factors_of));
    assert_weft_ok(weft_plan_run(two->n.plan));
}

/* SGD of rate 0.5 from the tables as they were. */
static void step_two(const two_tables *two, pair_numbers *own) {
    const int width = two->n.width;
    for (int i = 0; i < VOCABULARY * width; i++) {
        own->wanted_first[i] = (double)own->first[i];
        own->wanted_second[i] = (double)own->second[i];
    }
    for (int j = 0; j < two->n.batch * OTHERS; j++) {
        const int a = own->tokens[j / OTHERS] * width, b = own->others[j] * width;
        const double rate = 0.5 * (double)factors_of[j % OTHERS];
        for (int i = 0; i < width; i++) {
            own->wanted_first[a + i] -= rate * (double)own->second[b + i];
            own->wanted_second[b + i] -= rate * (double)own->first[a + i];
        }
    }
}

/* The gradients of the second table's rows are computed where they are added up: a launch less, and the first table is then
 * updated already. */
static void gradients_are_computed_where_they_are_added_up(void **state) {
    (void)state;
    static pair_numbers own;
    const weft_optimizer rule = weft_sgd(0.5f);
    const int widths[] = {16, 17, 20, MOST_WIDTH}, batches[] = {1, PAIRS};
    const bool sorts = weft_context_device(test_context())->device_class == WEFT_CLASS_GPU;
    for (int w = 0; w < (test_reduced() ? 2 : 4); w++)
        for (int b = test_reduced() ? w : 0; b < 2; b++) {
            const two_tables two = make_two(widths[w], batches[b], &rule);
            weft_plan_info info;
            assert_weft_ok(weft_plan_get_info(two.n.plan, &info));
            assert_int_equal(info.launches, sorts ? 10 : 8);
            for (int step = 0; step < 2; step++) {
                run_two(&two, &own, step);
                step_two(&two, &own);
                const size_t cells = (size_t)(VOCABULARY * widths[w]) * sizeof(float);
                assert_weft_ok(weft_tensor_read(two.n.table, own.got, cells));
                assert_close(&two.n, own.got, own.wanted_first, batches[b], ANY);
                assert_weft_ok(weft_tensor_read(two.second, own.got, cells));
                assert_close(&two.n, own.got, own.wanted_second, batches[b], ANY);
            }
            release(&two.n);
        }
}

/* ---- tables that the plan still needs ---- */

enum { SMALL = 6, FEW = 5, SMALL_CELLS = VOCABULARY * SMALL };
static const int32_t few_tokens[FEW] = {3, 36, 3, 0, 3};

static void fill(weft_tensor *tensor, float *values, int count, float step) {
    for (int i = 0; i < count; i++) values[i] = (float)(i % 11) * step - 1;
    assert_weft_ok(weft_tensor_write(tensor, values, (size_t)count * sizeof *values));
}

/* An output after the update reads the old rows: the table is then replaced as a whole, and other rows stay. */
static void old_rows_are_read_after_the_update(void **state) {
    (void)state;
    const weft_optimizer rules[] = {weft_sgd(0.5f), weft_adam(0.5f)};
    for (int r = 0; r < 2; r++) {
        float start[SMALL_CELLS], got[SMALL_CELLS], sum, wanted = 0;
        net n;
        weft_tensor *const rows = picked(&n, SMALL, 0);
        minimize(&n, weft_sum(rows), &rules[r]);
        weft_tensor *const outputs[] = {n.update, weft_sum(weft_square(n.table))};
        make_plan(&n, FEW, outputs, 2);
        fill(n.table, start, SMALL_CELLS, 0.25f);
        assert_weft_ok(weft_plan_write(n.plan, n.tokens, few_tokens, sizeof few_tokens));
        assert_weft_ok(weft_plan_run(n.plan));
        assert_weft_ok(weft_plan_read(n.plan, outputs[1], &sum, sizeof sum));
        assert_weft_ok(weft_tensor_read(n.table, got, sizeof got));
        for (int i = 0; i < SMALL_CELLS; i++) {
            const int row = i / SMALL, count = row == 3 ? 3 : row == 36 || row == 0;
            const float change = r ? (count ? 0.5f : 0) : 0.5f * (float)count;
            assert_float_equal(got[i], start[i] - change, 1e-5);
            wanted += start[i] * start[i];
        }
        assert_float_equal(sum, wanted, 1e-3);
        release(&n);
    }
}

/* The gradient's rows are those of a parameter beside the table, which the same plan changes. */
static void gradients_beside_the_table(void **state) {
    (void)state;
    float start[SMALL_CELLS], other[FEW * SMALL], got[SMALL_CELLS], changed[FEW * SMALL];
    const weft_optimizer rule = weft_sgd(0.5f);
    net n;
    weft_tensor *const rows = picked(&n, SMALL, FEW);
    weft_tensor *const factor = weft_parameter(n.graph, "factor", weft_zeros(), FEW, SMALL);
    minimize(&n, weft_sum(weft_mul(rows, factor)), &rule);
    make_plan(&n, 1, &n.update, 1);
    fill(n.table, start, SMALL_CELLS, 0.25f);
    fill(factor, other, FEW * SMALL, 0.125f);
    assert_weft_ok(weft_plan_write(n.plan, n.tokens, few_tokens, sizeof few_tokens));
    assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_ok(weft_tensor_read(n.table, got, sizeof got));
    assert_weft_ok(weft_tensor_read(factor, changed, sizeof changed));
    for (int i = 0; i < FEW * SMALL; i++)
        assert_float_equal(
            changed[i], other[i] - 0.5f * start[few_tokens[i / SMALL] * SMALL + i % SMALL], 1e-5);
    for (int j = 0; j < FEW; j++)
        for (int i = 0; i < SMALL; i++) start[few_tokens[j] * SMALL + i] -= 0.5f * other[j * SMALL + i];
    for (int i = 0; i < SMALL_CELLS; i++) assert_float_equal(got[i], start[i], 1e-5);
    release(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_width_and_repetition),
        cmocka_unit_test(sums_have_one_order), cmocka_unit_test(an_update_is_one_launch),
        cmocka_unit_test(gradients_are_computed_where_they_are_added_up),
        cmocka_unit_test(old_rows_are_read_after_the_update), cmocka_unit_test(gradients_beside_the_table)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
