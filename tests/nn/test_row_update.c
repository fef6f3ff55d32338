/* Tables that are updated by rows: beside updates of the whole table where both are the same, beside formulas in double
 * where rows are lazy, what a step costs, and what is refused. */
/* test slow */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VOCABULARY = 13, WIDTH = 5, BATCH = 8, STEPS = 6, CELLS = VOCABULARY * WIDTH, PADDING = 4 };

/* loss = sum over both uses of a table of (row · weight of the place)², plus a dense layer, so that both kinds of updates
 * stand in one step. */
typedef struct net {
    weft_graph *graph;
    weft_tensor *first, *second, *table, *loss;
    weft_tensor *outputs[2];
    weft_plan *plan;
} net;

static const int32_t tokens_of[STEPS][2][BATCH] = {{{1, 2, 2, 12, 0, 4, 4, 2}, {3, 3, 3, 3, 3, 3, 3, 3}},
    {{1, 1, 1, 1, 1, 1, 1, 1}, {0, 1, 2, 3, 5, 6, 7, 8}},
    {{4, 4, 4, 4, 4, 4, 4, 4}, {9, 9, 9, 9, 9, 9, 9, 9}},
    {{12, 11, 10, 9, 8, 7, 6, 5}, {5, 6, 7, 8, 9, 10, 11, 12}},
    {{0, 0, 0, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 0, 0, 0}},
    {{2, 4, 2, 4, 2, 4, 2, 4}, {4, 4, 4, 12, 12, 1, 1, 1}}};

static weft_tensor *use(weft_tensor *rows) {
    weft_tensor *const place = weft_arange(weft_tensor_graph(rows), WEFT_F32, 1, WIDTH + 1, 1);
    return weft_sum(weft_square(weft_mul(rows, weft_mul_number(place, 0.3))));
}

static net make_net(const weft_embedding_options *given, const weft_optimizer *rule) {
    net n = {.graph = test_graph()};
    weft_embedding_options options = *given;
    options.name = "table";
    n.first = weft_input(n.graph, "first", WEFT_I32);
    n.second = weft_input(n.graph, "second", WEFT_I32);
    assert_weft_ok(weft_scope_begin(n.graph, "", true));
    weft_tensor *const a = weft_embedding_layer(n.first, VOCABULARY, WIDTH, &options);
    weft_tensor *const b = weft_embedding_layer(n.second, VOCABULARY, WIDTH, &options);
    assert_weft_ok(weft_scope_end(n.graph));
    n.table = weft_graph_find(n.graph, "table.weight");
    weft_tensor *const dense = weft_sum(weft_square(weft_linear(a, 3)));
    n.outputs[0] = n.loss = weft_add(weft_add(use(a), use(b)), weft_mul_number(dense, 0.1));
    n.outputs[1] = weft_optimizer_minimize(weft_optimizer_create(n.graph, rule), n.loss, NULL);
    assert_weft_ok(weft_graph_status(n.graph));
    const weft_plan_options plan = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&n.plan, n.outputs, 2, &plan));
    return n;
}

static void step(const net *n, int t, float table[CELLS]) {
    assert_weft_ok(weft_plan_write(n->plan, n->first, tokens_of[t][0], sizeof tokens_of[t][0]));
    assert_weft_ok(weft_plan_write(n->plan, n->second, tokens_of[t][1], sizeof tokens_of[t][1]));
    assert_weft_ok(weft_plan_run(n->plan));
    assert_weft_ok(weft_plan_wait(n->plan));
    assert_weft_ok(weft_tensor_read(n->table, table, CELLS * sizeof *table));
}

static void release(const net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static void assert_same(const char *what, int t, const float *got, const float *wanted) {
    for (int i = 0; i < CELLS; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 3e-6f * (1 + fabsf(wanted[i]))))
            fail_msg(
                "%s, step %d, row %d: %g, not %g", what, t, i / WIDTH, (double)got[i], (double)wanted[i]);
}

static weft_optimizer clipped(weft_optimizer rule) {
    rule.clip_norm = 0.5f;
    return rule;
}

/* ---- where rows and the whole are the same ---- */

static void rows_and_the_whole_are_the_same(void **state) {
    (void)state;
    const weft_parameter_group group[] = {{"table.*", 3, 0}};
    weft_optimizer grouped = weft_sgd(0.01f);
    grouped.groups = group;
    grouped.group_count = 1;
    const weft_optimizer rules[] = {
        weft_sgd(0.02f), weft_adagrad(0.1f), grouped, clipped(weft_adagrad(0.1f))};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .padded = r % 2, .padding = PADDING};
        const net whole = make_net(&options, &rules[r]);
        options.sparse = true;
        const net rows = make_net(&options, &rules[r]);
        float wanted[CELLS], got[CELLS];
        for (size_t i = 0; i < weft_graph_parameter_count(rows.graph); i++)
            assert_weft_ok(
                weft_tensor_copy(weft_graph_parameter(rows.graph, i), weft_graph_parameter(whole.graph, i)));
        for (int t = 0; t < STEPS; t++) {
            step(&whole, t, wanted);
            step(&rows, t, got);
            assert_same("rows beside the whole", t, got, wanted);
        }
        release(&whole);
        release(&rows);
    }
}

/* ---- lazy rows, in double ---- */

typedef struct lazy {
    double p[VOCABULARY][WIDTH], m[VOCABULARY][WIDTH], v[VOCABULARY][WIDTH];
} lazy;

typedef void lazy_rule(lazy *l, int row, int i, double g, int t);

static void lazy_momentum(lazy *l, int row, int i, double g, int t) {
    (void)t;
    l->m[row][i] = 0.9 * l->m[row][i] + g;
    l->p[row][i] -= 0.01 * l->m[row][i];
}

static void lazy_adam(lazy *l, int row, int i, double g, int t) {
    l->m[row][i] = 0.9 * l->m[row][i] + 0.1 * g;
    l->v[row][i] = 0.999 * l->v[row][i] + 0.001 * g * g;
    l->p[row][i] -=
        0.05 * (l->m[row][i] / (1 - pow(0.9, t))) / (sqrt(l->v[row][i] / (1 - pow(0.999, t))) + 1e-8);
}

static void lazy_sgd(lazy *l, int row, int i, double g, int t) {
    (void)t;
    l->p[row][i] -= 0.05 * g;
}

/* Of rows that are looked up, those that are longer get that length, as PyTorch does before it reads them. */
static void shorten(lazy *l, const int32_t tokens[BATCH], double most) {
    for (int j = 0; j < BATCH && most > 0; j++) {
        double square = 0;
        for (int i = 0; i < WIDTH; i++) square += pow(l->p[tokens[j]][i], 2);
        const double norm = sqrt(square);
        for (int i = 0; i < WIDTH && norm > most; i++) l->p[tokens[j]][i] *= most / (norm + 1e-7);
    }
}

static void lazy_step(
    lazy *l, const int32_t tokens[BATCH], int t, double most, bool by_frequency, lazy_rule *rule) {
    int counts[VOCABULARY] = {0};
    for (int j = 0; j < BATCH; j++) counts[tokens[j]]++;
    shorten(l, tokens, most);
    for (int row = 0; row < VOCABULARY; row++)
        for (int i = 0; i < WIDTH && counts[row]; i++) {
            const double g = 2 * 0.09 * (i + 1) * (i + 1) * l->p[row][i];
            rule(l, row, i, by_frequency ? g : g * counts[row], t + 1);
        }
}

static void assert_lazy(const char *what, const weft_embedding_options *options, const weft_optimizer *rule,
    double most, lazy_rule *reference) {
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32);
    weft_tensor *const loss = use(weft_embedding_layer(tokens, VOCABULARY, WIDTH, options));
    weft_tensor *const table = weft_graph_find(graph, "embedding1.weight");
    weft_tensor *const update = weft_optimizer_minimize(weft_optimizer_create(graph, rule), loss, NULL);
    weft_plan *plan = NULL;
    const weft_plan_options plan_options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    float got[CELLS], wanted[CELLS];
    static lazy l;
    memset(&l, 0, sizeof l);
    assert_weft_ok(weft_graph_status(graph));
    assert_weft_ok(weft_plan_create(&plan, &update, 1, &plan_options));
    assert_weft_ok(weft_tensor_read(table, got, sizeof got));
    for (int i = 0; i < CELLS; i++) l.p[i / WIDTH][i % WIDTH] = (double)got[i];
    for (int t = 0; t < STEPS; t++) {
        assert_weft_ok(weft_plan_write(plan, tokens, tokens_of[t][0], sizeof tokens_of[t][0]));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_tensor_read(table, got, sizeof got));
        lazy_step(&l, tokens_of[t][0], t, most, options->by_frequency, reference);
        for (int i = 0; i < CELLS; i++) wanted[i] = (float)l.p[i / WIDTH][i % WIDTH];
        assert_same(what, t, got, wanted);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void rows_are_lazy(void **state) {
    (void)state;
    const weft_embedding_options by_rows = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true};
    const weft_optimizer momentum = weft_sgd_momentum(0.01f, 0.9f, 0), adam = weft_adam(0.05f);
    assert_lazy("momentum", &by_rows, &momentum, 0, lazy_momentum);
    assert_lazy("Adam", &by_rows, &adam, 0, lazy_adam);
}

static void norms_and_frequencies(void **state) {
    (void)state;
    const weft_optimizer sgd = weft_sgd(0.05f), adam = weft_adam(0.05f);
    const weft_embedding_options limited = {WEFT_EMBEDDING_OPTIONS_INIT, .max_norm = 1.25f},
                                 frequent = {WEFT_EMBEDDING_OPTIONS_INIT, .by_frequency = true},
                                 both = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true, .by_frequency = true};
    assert_lazy("max_norm", &limited, &sgd, 1.25, lazy_sgd);
    assert_lazy("max_norm, Adam", &limited, &adam, 1.25, lazy_adam);
    assert_lazy("by_frequency", &frequent, &sgd, 0, lazy_sgd);
    assert_lazy("by_frequency, rows", &both, &sgd, 0, lazy_sgd);
}

/* ---- skipped steps ---- */

/* Trains a table in f16 on steps of which those with a factor of infinity overflow; `only`: without these. */
static void train_scaled(const weft_optimizer *rule, bool only, float values[CELLS]) {
    static const float factors[STEPS] = {INFINITY, 1, 0.5f, NAN, INFINITY, 2};
    weft_graph *const graph = test_graph();
    assert_weft_ok(weft_graph_set_precision(graph, WEFT_PRECISION_F16));
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32);
    weft_tensor *const factor = weft_input_shape(graph, "factor", WEFT_F32, 0, NULL);
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true, .max_norm = 1.25f};
    weft_tensor *const loss =
        weft_mul(use(weft_embedding_layer(tokens, VOCABULARY, WIDTH, &options)), factor);
    weft_tensor *const update = weft_optimizer_minimize(weft_optimizer_create(graph, rule), loss, NULL);
    weft_plan *plan = NULL;
    weft_loss_scale scale;
    const weft_plan_options plan_options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&plan, &update, 1, &plan_options));
    for (int t = 0; t < STEPS; t++) {
        if (only && !isfinite(factors[t])) continue;
        assert_weft_ok(weft_plan_write(plan, tokens, tokens_of[t][0], sizeof tokens_of[t][0]));
        assert_weft_ok(weft_plan_write(plan, factor, &factors[t], sizeof factors[t]));
        assert_weft_ok(weft_plan_run(plan));
    }
    assert_weft_ok(
        weft_tensor_read(weft_graph_find(graph, "embedding1.weight"), values, CELLS * sizeof *values));
    assert_weft_ok(weft_graph_loss_scale(graph, &scale));
    assert_int_equal(scale.skipped_steps, only ? 0 : 3);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void a_skipped_step_writes_no_row(void **state) {
    (void)state;
    const weft_optimizer rules[] = {
        weft_sgd(0.1f), weft_sgd_momentum(0.1f, 0.9f, 0), weft_adagrad(0.1f), clipped(weft_adam(0.1f))};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        float got[CELLS], wanted[CELLS];
        train_scaled(&rules[r], false, got);
        train_scaled(&rules[r], true, wanted);
        assert_memory_equal(got, wanted, sizeof got);
    }
}

/* ---- cost ---- */

static weft_plan_info info_of(int64_t vocabulary, const weft_optimizer *rule, weft_precision precision) {
    weft_graph *const graph = test_graph();
    assert_weft_ok(weft_graph_set_precision(graph, precision));
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32);
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true};
    weft_tensor *const loss = use(weft_embedding_layer(tokens, vocabulary, WIDTH, &options));
    weft_tensor *const outputs[] = {
        loss, weft_optimizer_minimize(weft_optimizer_create(graph, rule), loss, "*")};
    weft_plan *plan = NULL;
    weft_plan_info info;
    const weft_plan_options plan_options = {WEFT_PLAN_OPTIONS_INIT, .batch = 64, .compile_late = true};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &plan_options));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    weft_graph_release(graph);
    return info;
}

/* A table a hundred times as large takes no more memory of a plan, and no more steps. */
static void the_vocabulary_costs_nothing(void **state) {
    (void)state;
    const weft_optimizer rules[] = {
        weft_sgd(0.1f), weft_sgd_momentum(0.1f, 0.9f, 0), weft_adagrad(0.1f), weft_adam(0.1f)};
    for (int r = 0; r < 8; r++) {
        const weft_precision precision = r < 4 ? WEFT_PRECISION_F32 : WEFT_PRECISION_F16;
        const weft_plan_info small = info_of(1000, &rules[r % 4], precision);
        const weft_plan_info large = info_of(100001, &rules[r % 4], precision);
        assert_int_equal(small.arena_bytes, large.arena_bytes);
        assert_int_equal(small.launches, large.launches);
        assert_true(large.arena_bytes < 100001 * WIDTH * sizeof(float) / 10);
    }
}

/* ---- bad input ---- */

static void assert_refused(weft_optimizer rule, bool dense_use, weft_status status, const char *line) {
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32);
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true};
    weft_tensor *loss = use(weft_embedding_layer(tokens, VOCABULARY, WIDTH, &options));
    if (dense_use) loss = weft_add(loss, weft_sum(weft_square(weft_graph_find(graph, "embedding1.weight"))));
    assert_null(weft_optimizer_minimize(weft_optimizer_create(graph, &rule), loss, NULL));
    assert_weft_fails(status, weft_graph_status(graph), "'embedding1.weight' has sparse updates", line);
    weft_graph_release(graph);
}

static void what_needs_the_whole_is_refused(void **state) {
    (void)state;
    weft_optimizer accumulated = weft_sgd(0.1f), averaged = weft_sgd(0.1f);
    accumulated.accumulate = 2;
    averaged.average_decay = 0.9f;
    assert_refused(weft_lamb(0.1f, 0), false, WEFT_ERROR_UNSUPPORTED, "LAMB");
    assert_refused(accumulated, false, WEFT_ERROR_UNSUPPORTED, "accumulate");
    assert_refused(averaged, false, WEFT_ERROR_UNSUPPORTED, "average_decay");
    assert_refused(weft_sgd(0.1f), true, WEFT_ERROR_ARGUMENT, "also comes from another op");
    weft_graph *const graph = test_graph();
    (void)weft_parameter(graph, "line", weft_zeros(), 4);
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_sparse_updates(graph, "line", true), "parameter 'line' must be an f32 table");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_sparse_updates(graph, "other", true), "no parameter 'other'");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_sparse_updates(NULL, "line", true), "NULL");
    weft_graph_release(graph);
}

/* ---- bags: the second half of the tokens of a step begins at offsets ---- */

static weft_tensor *bag_loss(weft_graph *graph, weft_tensor *tokens, const weft_embedding_options *table) {
    static const int32_t begins[] = {0, 3, 3};
    const weft_bag_mode modes[] = {WEFT_BAG_SUM, WEFT_BAG_MEAN, WEFT_BAG_MAX};
    weft_tensor *const line = weft_reshape_shape(tokens, 1, (const int64_t[]){BATCH}), *loss = NULL;
    weft_tensor *const offsets = weft_array(graph, WEFT_I32, begins, 1, (const int64_t[]){3});
    for (int i = 0; i < 3; i++) {
        weft_bag_options bags = {WEFT_BAG_OPTIONS_INIT, .mode = modes[i]};
        weft_tensor *const same = use(weft_embedding_bag(tokens, VOCABULARY, WIDTH, &bags, table));
        bags.offsets = offsets;
        weft_tensor *const both =
            weft_add(same, use(weft_embedding_bag(line, VOCABULARY, WIDTH, &bags, table)));
        loss = loss ? weft_add(loss, both) : both;
    }
    return loss;
}

/* Six bags read one table; tables as a whole and by rows end with the same numbers. */
static void bags_by_rows(void **state) {
    (void)state;
    float tables[2][CELLS];
    const weft_optimizer rule = weft_adagrad(0.1f);
    for (int sparse = 0; sparse < 2; sparse++) {
        weft_graph *const graph = test_graph();
        const weft_embedding_options table = {WEFT_EMBEDDING_OPTIONS_INIT, .name = "table", .padded = true,
            .padding = PADDING, .sparse = sparse};
        weft_tensor *const tokens =
            weft_input_shape(graph, "tokens", WEFT_I32, 2, (const int64_t[]){2, BATCH / 2});
        assert_weft_ok(weft_scope_begin(graph, "", true));
        weft_tensor *const loss = bag_loss(graph, tokens, &table);
        assert_weft_ok(weft_scope_end(graph));
        weft_tensor *const update = weft_optimizer_minimize(weft_optimizer_create(graph, &rule), loss, NULL);
        weft_tensor *const parameter = weft_graph_find(graph, "table.weight");
        weft_plan *plan = NULL;
        float start[CELLS];
        assert_weft_ok(weft_plan_create(&plan, &update, 1, NULL));
        for (int i = 0; i < CELLS; i++) start[i] = (float)(i * 7 % 11) / 5 - 1;
        assert_weft_ok(weft_tensor_write(parameter, start, sizeof start));
        for (int t = 0; t < STEPS; t++) {
            assert_weft_ok(weft_plan_write(plan, tokens, tokens_of[t][0], sizeof tokens_of[t][0]));
            assert_weft_ok(weft_plan_run(plan));
        }
        assert_weft_ok(weft_tensor_read(parameter, tables[sparse], sizeof tables[sparse]));
        assert_true(fabsf(tables[sparse][WIDTH] - start[WIDTH]) > 0.05f);
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
    assert_same("bags by rows beside the whole", STEPS, tables[1], tables[0]);
}

/* A token out of range is an error of the read, and changes no other row. */
static void a_token_out_of_range(void **state) {
    (void)state;
    const weft_optimizer sgd = weft_sgd(0.1f);
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true};
    const net n = make_net(&options, &sgd);
    const int32_t first[BATCH] = {0, 1, VOCABULARY, 1, 1, 1, 1, 1}, second[BATCH] = {-3, 0, 0, 0, 0, 0, 0, 0};
    float before[CELLS], after[CELLS];
    assert_weft_ok(weft_tensor_read(n.table, before, sizeof before));
    assert_weft_ok(weft_plan_write(n.plan, n.first, first, sizeof first));
    assert_weft_ok(weft_plan_write(n.plan, n.second, second, sizeof second));
    assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(n.plan), "out");
    assert_weft_ok(weft_tensor_read(n.table, after, sizeof after));
    assert_memory_equal(before + 2 * WIDTH, after + 2 * WIDTH, sizeof before - 2 * WIDTH * sizeof(float));
    release(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_and_the_whole_are_the_same),
        cmocka_unit_test(rows_are_lazy), cmocka_unit_test(bags_by_rows),
        cmocka_unit_test(norms_and_frequencies), cmocka_unit_test(a_skipped_step_writes_no_row),
        cmocka_unit_test(the_vocabulary_costs_nothing), cmocka_unit_test(what_needs_the_whole_is_refused),
        cmocka_unit_test(a_token_out_of_range)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
