/* A training whose batches are divided into gradient shards follows the undivided one: for means and sums over examples, means over a number
 * of labels that differs from shard to shard, penalties, clipping and accumulation, also where the last batch has fewer examples than shards. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    EXAMPLES = 19,
    BATCH = 8,
    INPUTS = 5,
    STEPS = 4,
    CLASSES = 3,
    IGNORED = -1,
    WEIGHTS = INPUTS * CLASSES
};

typedef struct examples {
    float x[EXAMPLES][STEPS][INPUTS], y[EXAMPLES][STEPS][CLASSES];
    int32_t labels[EXAMPLES][STEPS];
} examples;

static examples *make_examples(void) {
    static examples all;
    uint32_t state = 7;
    for (size_t i = 0; i < EXAMPLES; i++)
        for (size_t t = 0; t < STEPS; t++) {
            for (size_t k = 0; k < INPUTS; k++) {
                state = state * 1664525u + 1013904223u;
                all.x[i][t][k] = (float)(state >> 8) / 8388608.0f - 1.0f;
            }
            for (size_t c = 0; c < CLASSES; c++) all.y[i][t][c] = all.x[i][t][c] * 0.5f - all.x[i][t][c + 1];
            state = state * 1664525u + 1013904223u;
            /* The first examples have few labels, so that shards differ, and one batch in a row of shards has none. */
            const bool counts = (state >> 16) % 8 < i / 3;
            all.labels[i][t] = counts ? (int32_t)((state >> 24) % CLASSES) : IGNORED;
        }
    return &all;
}

/* ---- losses ---- */

typedef weft_tensor *loss_function(weft_tensor *scores, weft_tensor *y, weft_tensor *labels);

static weft_tensor *mean(weft_tensor *scores, weft_tensor *y, weft_tensor *labels) {
    (void)labels;
    return weft_neg(weft_mul_number(weft_mse(scores, y), -1));
}

static weft_tensor *sum(weft_tensor *scores, weft_tensor *y, weft_tensor *labels) {
    (void)labels;
    const weft_loss_options options = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_SUM};
    return weft_mul_number(weft_mse_loss(scores, y, &options), 0.01);
}

static weft_tensor *counted(weft_tensor *scores, weft_tensor *y, weft_tensor *labels) {
    (void)y;
    const weft_class_loss_options options = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = IGNORED};
    return weft_cross_entropy_loss(weft_permute(scores, 0, 2, 1), labels, &options);
}

/* A term, a mean, a sum over the examples divided by their number, and a part that does not depend on the batch. */
static weft_tensor *mixed(weft_tensor *scores, weft_tensor *y, weft_tensor *labels) {
    weft_tensor *const table = weft_graph_find(weft_tensor_graph(scores), "table");
    weft_tensor *const batch = weft_cast(weft_size(scores, 0), WEFT_F32);
    weft_tensor *const own = weft_mul(weft_sum(weft_square(scores)), weft_div(weft_number(batch, 1), batch));
    return weft_add(weft_add(weft_mul_number(counted(scores, y, labels), 2), mean(scores, y, labels)),
        weft_sub(weft_mul_number(weft_sum(weft_square(table)), 0.02), weft_mul_number(own, 0.01)));
}

static weft_tensor *quotient(weft_tensor *scores, weft_tensor *y, weft_tensor *labels) {
    (void)labels;
    return weft_sqrt(weft_mse(scores, y));
}

/* ---- trainings ---- */

typedef struct result {
    weft_status status;
    float table[WEIGHTS];
    double losses[3], accuracies[3];
    char line[512];
} result;

static weft_dtype exchange = WEFT_F32; /* of the gradients */

static bool note(void *user, const weft_epoch *state) {
    result *const it = user;
    it->losses[state->epoch] = state->loss;
    it->accuracies[state->epoch] = state->accuracy;
    return true;
}

static weft_status run_with(weft_trainer *trainer, const weft_column *columns, size_t count) {
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_from_memory(&data, test_context(), count, columns, 3));
    weft_status status = weft_trainer_run(trainer, data);
    if (status == WEFT_OK) status = weft_trainer_evaluate(trainer, data, NULL, NULL);
    weft_dataset_release(data);
    return status;
}

static result train(
    loss_function *function, weft_optimizer optimizer, size_t shards, weft_precision precision) {
    examples *const all = make_examples();
    result it = {0};
    weft_graph *graph = NULL;
    weft_trainer *trainer = NULL;
    weft_dataset *data = NULL;
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, STEPS, INPUTS),
                       *const y = weft_input(graph, "y", WEFT_F32, STEPS, CLASSES),
                       *const labels = weft_input(graph, "label", WEFT_I32, STEPS),
                       *const table =
                           weft_parameter(graph, "table", weft_init_uniform(-0.5f, 0.5f), INPUTS, CLASSES),
                       *const scores = weft_matmul(x, table);
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {STEPS, INPUTS}, .data = all->x},
        {.name = "y", .dtype = WEFT_F32, .rank = 2, .dims = {STEPS, CLASSES}, .data = all->y},
        {.name = "label", .dtype = WEFT_I32, .rank = 1, .dims = {STEPS}, .data = all->labels}};
    assert_ok(weft_dataset_from_memory(&data, test_context(), EXAMPLES, columns, 3));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer, .epochs = 3,
        .batch = BATCH, .gradient_shards = shards, .exchange = exchange, .on_epoch = note, .user = &it,
        .precision = precision, .logits = function == counted ? weft_permute(scores, 0, 2, 1) : NULL,
        .ignore = true, .ignored_label = IGNORED};
    it.status = weft_trainer_create(&trainer, function(scores, y, labels), &options);
    if (it.status == WEFT_OK) it.status = weft_trainer_run(trainer, data);
    /* Last batches of other sizes, and fewer examples than a batch has. */
    for (size_t other = 6; other < EXAMPLES && it.status == WEFT_OK; other += 3)
        it.status = run_with(trainer, columns, other);
    snprintf(it.line, sizeof it.line, "%s", it.status == WEFT_OK ? "" : weft_last_error());
    if (it.status == WEFT_OK) assert_ok(weft_tensor_read(table, it.table, sizeof it.table));
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(graph);
    return it;
}

static void assert_close(
    const result *a, const result *b, double tolerance, const char *what, size_t shards) {
    for (size_t i = 0; i < WEIGHTS; i++)
        if (fabs((double)a->table[i] - (double)b->table[i]) > tolerance)
            fail_msg("%s in %zu shards: weight %zu is %.9g, not %.9g", what, shards, i, (double)b->table[i],
                (double)a->table[i]);
    for (size_t e = 0; e < 3; e++) {
        if (fabs(a->losses[e] - b->losses[e]) > tolerance * fmax(1, fabs(a->losses[e])))
            fail_msg("%s in %zu shards: the loss of epoch %zu is %.9g, not %.9g", what, shards, e,
                b->losses[e], a->losses[e]);
        if (!(a->accuracies[e] == b->accuracies[e]) && !(isnan(a->accuracies[e]) && isnan(b->accuracies[e])))
            fail_msg("%s in %zu shards: the accuracy of epoch %zu is %.9g, not %.9g", what, shards, e,
                b->accuracies[e], a->accuracies[e]);
    }
}

static void they_follow_the_undivided_training(void **state) {
    (void)state;
    const struct {
        const char *name;
        loss_function *loss;
    } losses[] = {{"mean", mean}, {"sum", sum}, {"counted labels", counted}, {"mixed", mixed}};
    weft_optimizer clipped = weft_sgd_momentum(0.1f, 0.9f, 0.01f), accumulated = weft_sgd(0.05f);
    clipped.clip_norm = 0.3f;
    accumulated.accumulate = 2;
    const weft_optimizer rules[] = {weft_sgd(0.05f), clipped, accumulated};
    /* Each loss with a rule, and the mixed one with all, each in another number of shards. */
    for (size_t l = 0; l < sizeof losses / sizeof *losses; l++)
        for (size_t r = l < 3 ? l : 0; r < (l < 3 ? l + 1 : 3); r++) {
            const size_t shards = l < 3 ? 4 : (size_t)2 << r;
            const result whole = train(losses[l].loss, rules[r], 1, WEFT_PRECISION_F32),
                         divided = train(losses[l].loss, rules[r], shards, WEFT_PRECISION_F32);
            assert_int_equal(whole.status, WEFT_OK);
            if (divided.status != WEFT_OK) fail_msg("%s: %s", losses[l].name, divided.line);
            assert_close(&whole, &divided, 2e-6, losses[l].name, shards);
        }
}

static void scaled_losses_too(void **state) {
    (void)state;
    const result whole = train(mean, weft_sgd(0.05f), 1, WEFT_PRECISION_F16),
                 divided = train(mean, weft_sgd(0.05f), 4, WEFT_PRECISION_F16);
    assert_int_equal(whole.status, WEFT_OK);
    if (divided.status != WEFT_OK) fail_msg("%s", divided.line);
    assert_close(&whole, &divided, 2e-3, "mean in f16", 4);
}

static void gradients_may_be_rounded_for_the_exchange(void **state) {
    (void)state;
    exchange = WEFT_BF16;
    const result divided = train(mean, weft_sgd(0.05f), 4, WEFT_PRECISION_F32);
    exchange = WEFT_F32;
    const result whole = train(mean, weft_sgd(0.05f), 4, WEFT_PRECISION_F32);
    assert_int_equal(divided.status, WEFT_OK);
    assert_close(&whole, &divided, 2e-3, "mean with an exchange in bf16", 4);
    assert_true(memcmp(whole.table, divided.table, sizeof whole.table) != 0);
    exchange = WEFT_F16;
    const result refused = train(mean, weft_sgd(0.05f), 4, WEFT_PRECISION_F32);
    exchange = WEFT_F32;
    assert_int_equal(refused.status, WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(refused.line, "exchange is f16, expected f32 or bf16"));
}

static void what_cannot_be_divided_is_refused(void **state) {
    (void)state;
    const result root = train(quotient, weft_sgd(0.05f), 4, WEFT_PRECISION_F32),
                 unequal = train(mean, weft_sgd(0.05f), 3, WEFT_PRECISION_F32);
    assert_int_equal(root.status, WEFT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(root.line, "a 'sqrt', is neither a sum nor a mean over the examples"));
    assert_int_equal(unequal.status, WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(unequal.line, "a batch of 8 examples cannot be divided into 3 gradient shards"));
}

/* ---- tables that are updated by rows ---- */

enum { ROWS = 30, WIDTH = 5 };

/* Trains a table of which a batch has few rows. Rows that never occur keep their values, and others change only in their steps. */
static void train_rows(size_t shards, float table[ROWS * WIDTH]) {
    examples *const all = make_examples();
    int32_t tokens[EXAMPLES][STEPS];
    weft_graph *graph = NULL;
    weft_trainer *trainer = NULL;
    weft_dataset *data = NULL;
    for (size_t i = 0; i < EXAMPLES * STEPS; i++)
        tokens[i / STEPS][i % STEPS] = (int32_t)(i * i % (ROWS - 3));
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const rows = weft_parameter(graph, "rows", weft_init_uniform(-0.5f, 0.5f), ROWS, WIDTH),
                       *const x = weft_embedding_with(rows, weft_input(graph, "tokens", WEFT_I32, STEPS)),
                       *const y = weft_input(graph, "y", WEFT_F32, STEPS, CLASSES);
    assert_ok(weft_sparse_updates(graph, "rows", true));
    const weft_column columns[] = {
        {.name = "tokens", .dtype = WEFT_I32, .rank = 1, .dims = {STEPS}, .data = tokens},
        {.name = "y", .dtype = WEFT_F32, .rank = 2, .dims = {STEPS, CLASSES}, .data = all->y}};
    assert_ok(weft_dataset_from_memory(&data, test_context(), EXAMPLES, columns, 2));
    weft_optimizer rule = weft_sgd_momentum(0.1f, 0.9f, 0.01f);
    rule.clip_norm = 0.4f;
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .optimizer = rule, .epochs = 2, .batch = BATCH, .gradient_shards = shards};
    assert_ok(weft_trainer_create(&trainer, weft_mse(weft_tanh(weft_linear(x, CLASSES)), y), &options));
    assert_ok(weft_trainer_run(trainer, data));
    assert_ok(weft_tensor_read(rows, table, ROWS * WIDTH * sizeof *table));
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(graph);
}

static void rows_of_tables_are_updated(void **state) {
    float whole[ROWS * WIDTH], divided[ROWS * WIDTH];
    (void)state;
    train_rows(1, whole);
    for (size_t shards = 2; shards <= BATCH; shards *= 4) {
        train_rows(shards, divided);
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            if (fabsf(whole[i] - divided[i]) > 2e-6f)
                fail_msg("in %zu shards: number %zu of the table is %.9g, not %.9g", shards, i,
                    (double)divided[i], (double)whole[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_follow_the_undivided_training),
        cmocka_unit_test(scaled_losses_too), cmocka_unit_test(gradients_may_be_rounded_for_the_exchange),
        cmocka_unit_test(rows_of_tables_are_updated), cmocka_unit_test(what_cannot_be_divided_is_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
