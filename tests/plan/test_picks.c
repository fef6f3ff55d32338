/* Rows of a table that loops pick where they read them (plan/improve/picked_rows.c): maps and sums beside formulas in double, how many
 * launches there are, which rows are stored all the same, tokens that are out of range, and tables that the plan changes. */
/* test slow */
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include <math.h>
#include <string.h>

enum { VOCABULARY = 29, BATCH = 5, LENGTH = 3, TOKENS = BATCH * LENGTH, MOST_WIDTH = 130, MOST_OUTPUTS = 3 };
enum { MOST_ROWS = TOKENS * MOST_WIDTH, MOST_TABLE = VOCABULARY * MOST_WIDTH };

/* What is made of the product of rows (batch, length, width) and factors alike: itself, or sums over an axis. */
enum { MAP = -1, BATCHES, PLACES, COLUMNS };

typedef struct net {
    int width, count;
    const int *forms;
    weft_graph *graph;
    weft_tensor *tokens, *factors, *table, *rows, *outputs[MOST_OUTPUTS];
    weft_plan *plan;
} net;

static const int32_t some_tokens[TOKENS] = {3, 28, 3, 0, 7, 7, 7, 12, 28, 5, 6, 0, 1, 3, 2};

static net begin(int width) {
    net n = {.width = width, .graph = test_graph()};
    n.tokens = weft_input(n.graph, "tokens", WEFT_I32, LENGTH);
    n.factors = weft_input(n.graph, "factors", WEFT_F32, LENGTH, width);
    n.rows = weft_embedding(n.tokens, VOCABULARY, width);
    n.table = weft_graph_find(n.graph, "embedding1.weight");
    return n;
}

static void make_plan(net *n) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_graph_status(n->graph));
    assert_weft_ok(weft_plan_create(&n->plan, n->outputs, (size_t)n->count, &options));
}

static net make_net(int width, const int *forms, int count) {
    net n = begin(width);
    n.forms = forms;
    n.count = count;
    for (int i = 0; i < count; i++) {
        /* each its own, so that no two share it */
        weft_tensor *const product = weft_mul(n.rows, weft_add_number(n.factors, i));
        n.outputs[i] = forms[i] == MAP ? product : weft_sum(product, forms[i]);
    }
    make_plan(&n);
    return n;
}

static void release(const net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

typedef struct numbers {
    float table[MOST_TABLE], factors[MOST_ROWS];
} numbers;

static void write_all(const net *n, const int32_t *tokens, numbers *own) {
    test_random random = test_random_named("picks", (uint64_t)n->width);
    const size_t table = (size_t)(VOCABULARY * n->width), rows = (size_t)(TOKENS * n->width);
    for (size_t i = 0; i < table; i++) own->table[i] = (float)test_random_between(&random, -1, 1);
    for (size_t i = 0; i < rows; i++) own->factors[i] = (float)test_random_between(&random, -1, 1);
    assert_weft_ok(weft_tensor_write(n->table, own->table, table * sizeof(float)));
    assert_weft_ok(weft_plan_write(n->plan, n->tokens, tokens, TOKENS * sizeof *tokens));
    assert_weft_ok(weft_plan_write(n->plan, n->factors, own->factors, rows * sizeof(float)));
}

static size_t launches(const net *n) {
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(n->plan, &info));
    return info.launches;
}

/* ---- beside formulas ---- */

/* Where the product of token t and column i goes. */
static int place_of(const net *n, int form, int t, int i) {
    const int b = t / LENGTH, place = t % LENGTH;
    return form == MAP       ? t * n->width + i
           : form == BATCHES ? place * n->width + i
           : form == PLACES  ? b * n->width + i
                             : t;
}

static void assert_output(const net *n, int output, const int32_t *tokens, const numbers *own) {
    static double wanted[MOST_ROWS];
    static float got[MOST_ROWS];
    const int form = n->forms[output], rows = TOKENS * n->width;
    const int count = form == MAP       ? rows
                      : form == BATCHES ? LENGTH * n->width
                      : form == PLACES  ? BATCH * n->width
                                        : TOKENS;
    memset(wanted, 0, sizeof wanted);
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < n->width; i++)
            wanted[place_of(n, form, t, i)] += (double)own->table[tokens[t] * n->width + i] *
                                               ((double)own->factors[t * n->width + i] + output);
    assert_weft_ok(weft_plan_read(n->plan, n->outputs[output], got, (size_t)count * sizeof *got));
    for (int i = 0; i < count; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i]))))
            fail_msg(
                "width %d, form %d, element %d: %g, not %g", n->width, form, i, (double)got[i], wanted[i]);
}

typedef struct row {
    int forms[MOST_OUTPUTS], count, launches;
} row;

/* Two loops pick rows themselves; for three they are stored. */
static const row rows_of[] = {{{MAP}, 1, 1}, {{COLUMNS}, 1, 1}, {{PLACES}, 1, 1}, {{BATCHES}, 1, 1},
    {{PLACES, COLUMNS}, 2, 2}, {{BATCHES, PLACES, COLUMNS}, 3, 4}};

static void loops_pick_rows(void **state) {
    (void)state;
    static numbers own;
    const int widths[] = {16, 17, 20, 40, MOST_WIDTH};
    const size_t count = test_reduced() ? 2 : sizeof widths / sizeof *widths;
    for (size_t w = 0; w < count; w++)
        for (size_t r = 0; r < sizeof rows_of / sizeof *rows_of; r++) {
            const net n = make_net(widths[w], rows_of[r].forms, rows_of[r].count);
            assert_int_equal(launches(&n), rows_of[r].launches);
            write_all(&n, some_tokens, &own);
            assert_weft_ok(weft_plan_run(n.plan));
            for (int i = 0; i < n.count; i++) assert_output(&n, i, some_tokens, &own);
            release(&n);
        }
}

static void narrow_rows_are_stored(void **state) {
    (void)state;
    static numbers own;
    const int form = MAP;
    for (int width = 1; width < 16; width += 7) {
        const net n = make_net(width, &form, 1);
        assert_int_equal(launches(&n), 2);
        write_all(&n, some_tokens, &own);
        assert_weft_ok(weft_plan_run(n.plan));
        assert_output(&n, 0, some_tokens, &own);
        release(&n);
    }
}

/* ---- views ---- */

/* Neighbours in different rows, and some of the rows alone: tokens of the others have to be looked at, too. */
static void other_views_are_stored(void **state) {
    (void)state;
    enum { WIDTH = 20 };
    static numbers own;
    static float got[TOKENS * WIDTH];
    for (int part = 0; part < 2; part++) {
        net n = begin(WIDTH);
        n.count = 1;
        n.outputs[0] = part ? weft_mul(weft_slice(n.rows, 1, 1, 3), weft_slice(n.factors, 1, 1, 3))
                            : weft_add(weft_transpose(n.rows), weft_transpose(n.factors));
        make_plan(&n);
        assert_int_equal(launches(&n), 2);
        write_all(&n, some_tokens, &own);
        assert_weft_ok(weft_plan_run(n.plan));
        assert_weft_ok(weft_plan_read(n.plan, n.outputs[0], got, (part ? 2 * BATCH : TOKENS) * WIDTH * 4));
        for (int t = 0; t < TOKENS; t++)
            for (int i = 0; i < WIDTH; i++) {
                const int b = t / LENGTH, place = t % LENGTH;
                const float x = own.table[some_tokens[t] * WIDTH + i], f = own.factors[t * WIDTH + i];
                if (part && place > 0)
                    assert_float_equal(got[(b * 2 + place - 1) * WIDTH + i], x * f, 1e-6);
                else if (!part)
                    assert_float_equal(got[(b * WIDTH + i) * LENGTH + place], x + f, 1e-6);
            }
        release(&n);
    }
}

/* Rows that are joined with others lie among them, whoever else reads them. */
static void joined_rows_are_stored(void **state) {
    (void)state;
    enum { WIDTH = 16 };
    static numbers own;
    static float got[2 * TOKENS * WIDTH];
    const int form = COLUMNS;
    net n = begin(WIDTH);
    n.forms = &form;
    n.count = 2;
    n.outputs[0] = weft_sum(weft_mul(n.rows, n.factors), COLUMNS);
    n.outputs[1] = weft_concat(WEFT_TENSORS(n.rows, weft_neg(n.factors)), 1);
    make_plan(&n);
    write_all(&n, some_tokens, &own);
    assert_weft_ok(weft_plan_run(n.plan));
    assert_output(&n, 0, some_tokens, &own);
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[1], got, sizeof got));
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < WIDTH; i++) {
            const int at = (t / LENGTH * 2 * LENGTH + t % LENGTH) * WIDTH + i;
            assert_true(got[at] == own.table[some_tokens[t] * WIDTH + i]);
            assert_true(got[at + LENGTH * WIDTH] == -own.factors[t * WIDTH + i]);
        }
    release(&n);
}

/* ---- tokens out of range ---- */

static void tokens_out_of_range_are_noted(void **state) {
    (void)state;
    enum { WIDTH = 17 };
    static numbers own;
    static float got[TOKENS * WIDTH];
    int32_t tokens[TOKENS];
    const int forms[] = {MAP, COLUMNS, PLACES};
    for (int f = 0; f < 3; f++) {
        const net n = make_net(WIDTH, &forms[f], 1);
        assert_int_equal(launches(&n), 1);
        memcpy(tokens, some_tokens, sizeof tokens);
        tokens[4] = VOCABULARY;
        tokens[9] = -1;
        write_all(&n, tokens, &own);
        assert_weft_ok(weft_plan_run(n.plan));
        assert_weft_fails(WEFT_ERROR_ARGUMENT,
            weft_plan_read(n.plan, n.outputs[0], got,
                (size_t)(f == 0   ? TOKENS * WIDTH
                         : f == 1 ? TOKENS
                                  : BATCH * WIDTH) *
                    sizeof *got),
            "embedding: a token is outside the vocabulary, first at position 4 (row-major) of its tokens");
        if (f == 0) /* zeros stand for such a row */
            for (int i = 0; i < WIDTH; i++)
                assert_true(got[4 * WIDTH + i] == 0 && got[9 * WIDTH + i] == 0 && got[i] != 0);
        write_all(&n, some_tokens, &own);
        assert_weft_ok(weft_plan_run(n.plan));
        assert_output(&n, 0, some_tokens, &own);
        release(&n);
    }
}

/* ---- tables that change ---- */

/* An output that is computed after the table's update is of the old rows. */
static void rows_are_those_before_the_update(void **state) {
    (void)state;
    enum { WIDTH = 16 };
    static numbers own;
    static float got[TOKENS * WIDTH], table[VOCABULARY * WIDTH];
    net n = begin(WIDTH);
    n.count = 2;
    n.outputs[0] = weft_assign(n.table, weft_mul_number(n.table, 2));
    n.outputs[1] = weft_mul(n.rows, n.factors);
    make_plan(&n);
    write_all(&n, some_tokens, &own);
    assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[1], got, sizeof got));
    assert_weft_ok(weft_tensor_read(n.table, table, sizeof table));
    for (int i = 0; i < VOCABULARY * WIDTH; i++) assert_true(table[i] == 2 * own.table[i]);
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < WIDTH; i++)
            assert_float_equal(
                got[t * WIDTH + i], own.table[some_tokens[t] * WIDTH + i] * own.factors[t * WIDTH + i], 1e-6);
    release(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_pick_rows),
        cmocka_unit_test(narrow_rows_are_stored), cmocka_unit_test(other_views_are_stored),
        cmocka_unit_test(joined_rows_are_stored), cmocka_unit_test(tokens_out_of_range_are_noted),
        cmocka_unit_test(rows_are_those_before_the_update)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
