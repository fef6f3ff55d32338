/* A batch in which no label counts leaves everything as it is, whatever the optimizer and the precision: the steps after
 * it are those of a training that never saw it. Windows of accumulation divide by the runs that count in them, and end
 * where weft_accumulation_end says. */
/* test once slow */
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, IN = 3, CLASSES = 5, WEIGHTS = CLASSES * IN };

typedef weft_tensor *loss_of(weft_tensor *logits, weft_tensor *labels);

static const weft_class_loss_options ignoring = {
    WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -100};

static weft_tensor *class_loss(weft_tensor *logits, weft_tensor *labels) {
    return weft_cross_entropy_loss(logits, labels, &ignoring);
}

static weft_tensor *sequence_loss(weft_tensor *logits, weft_tensor *labels) {
    return weft_sequence_cross_entropy(
        weft_reshape(logits, WEFT_BATCH, 1, CLASSES), weft_reshape(labels, WEFT_BATCH, 1), NULL);
}

/* Every label but 0 to 4 has the weight 0 of a class of its own. */
static weft_tensor *weighted_loss(weft_tensor *logits, weft_tensor *labels) {
    weft_tensor *const wide =
        weft_concat(WEFT_TENSORS(logits, weft_mul_number(weft_slice(logits, 1, 0, 1), 0)), 1);
    weft_tensor *const last = weft_number(labels, CLASSES);
    weft_tensor *const known = weft_where(weft_less(labels, weft_number(labels, 0)), last, labels);
    weft_tensor *const weights = weft_array(weft_tensor_graph(labels), WEFT_F32,
        (const float[]){1, 1, 1, 1, 1, 0}, 1, (const int64_t[]){CLASSES + 1});
    const weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT, .class_weights = weights};
    return weft_cross_entropy_loss(wide, known, &options);
}

/* Two heads, one of which never counts here, times what does not depend on the batch. */
static weft_tensor *composed_loss(weft_tensor *logits, weft_tensor *labels) {
    weft_tensor *const never =
        class_loss(logits, weft_add(weft_mul(labels, weft_number(labels, 0)), weft_number(labels, -100)));
    weft_tensor *const both = weft_sub(class_loss(logits, labels), weft_mul_number(never, 3));
    return weft_div(both, weft_scalar(weft_tensor_graph(labels), "by", 2));
}

static weft_tensor *with_penalty(weft_tensor *logits, weft_tensor *labels) {
    weft_tensor *const weight = weft_graph_find(weft_tensor_graph(logits), "linear1.weight");
    return weft_add(class_loss(logits, labels), weft_mul_number(weft_sum(weft_square(weight)), 0.01));
}

typedef struct network {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *labels, *loss;
} network;

typedef enum made_by { BY_MINIMIZE, BY_STEP } made_by;

static void begin(network *n, loss_of *loss, weft_precision precision, weft_optimizer rule, made_by made) {
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1];
    size_t updates = 1;
    n->graph = test_graph();
    assert_weft_ok(weft_graph_set_precision(n->graph, precision));
    n->x = weft_input(n->graph, "x", WEFT_F32, IN);
    n->labels = weft_input(n->graph, "label", WEFT_I32);
    n->loss = loss(weft_linear(n->x, CLASSES), n->labels);
    if (made == BY_STEP)
        outputs[0] = weft_train_step(n->loss, rule, NULL);
    else
        assert_weft_ok(weft_minimize(n->loss, &rule, outputs, WEFT_MAX_UPDATES, &updates));
    outputs[updates] = n->loss;
    assert_weft_ok(weft_graph_status(n->graph));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&n->plan, outputs, updates + 1, &options));
}

static void end(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

/* Batch `number` of the data; one below 0 has labels that are all ignored. */
static float step(network *n, int number) {
    float x[BATCH * IN], loss = NAN;
    int32_t labels[BATCH];
    test_random random = test_random_named("empty_batch", (uint64_t)(number < 0 ? 99 : number));
    for (int i = 0; i < BATCH * IN; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < BATCH; i++)
        labels[i] = number < 0 ? -100 : (int32_t)test_random_below(&random, CLASSES);
    assert_weft_ok(weft_plan_write(n->plan, n->x, x, sizeof x));
    assert_weft_ok(weft_plan_write(n->plan, n->labels, labels, sizeof labels));
    assert_weft_ok(weft_plan_run(n->plan));
    assert_weft_ok(weft_plan_read(n->plan, n->loss, &loss, sizeof loss));
    return loss;
}

static void read_weights(const network *n, float weights[WEIGHTS]) {
    assert_weft_ok(
        weft_tensor_read(weft_graph_find(n->graph, "linear1.weight"), weights, WEIGHTS * sizeof *weights));
}

typedef struct training {
    loss_of *loss;
    weft_precision precision;
    weft_optimizer rule;
    made_by made;
} training;

/* Runs the batches up to one of 0 and reads the weights; a run after `ends` (a number of the list, from 1) ends a window. */
static void train(const training *t, const int *batches, int ends, float weights[WEIGHTS]) {
    network n;
    begin(&n, t->loss, t->precision, t->rule, t->made);
    for (int i = 0; batches[i]; i++) {
        if (i + 1 == ends) assert_weft_ok(weft_accumulation_end(n.graph));
        const float loss = step(&n, batches[i]);
        assert_true(isfinite(loss));
        assert_true(batches[i] > 0 || t->loss == with_penalty || loss == 0);
    }
    read_weights(&n, weights);
    end(&n);
}

static void assert_near(const float *got, const float *wanted, float allowed, const char *what) {
    for (int i = 0; i < WEIGHTS; i++)
        if (!(fabsf(got[i] - wanted[i]) <= allowed))
            fail_msg("%s: weight %d is %.9g, not %.9g", what, i, (double)got[i], (double)wanted[i]);
}

/* The same weights with and without the batches in which nothing counts. */
static void assert_unseen(const training *t, float allowed, const char *what) {
    float with[WEIGHTS], without[WEIGHTS];
    train(t, (const int[]){1, -1, 2, -1, -1, 3, 4, 0}, 0, with);
    train(t, (const int[]){1, 2, 3, 4, 0}, 0, without);
    assert_near(with, without, allowed, what);
    train(t, (const int[]){-1, 1, 2, 3, 4, -1, 0}, 0, with);
    assert_near(with, without, allowed, what);
}

static weft_optimizer rule_of(int i) {
    weft_optimizer rules[] = {weft_sgd(0.1f), weft_sgd_momentum(0.1f, 0.9f, 0.01f), weft_adam(0.05f),
        weft_adamw(0.05f, 0.1f), weft_nadam(0.05f), weft_rmsprop(0.05f), weft_adagrad(0.1f), weft_adadelta(1),
        weft_lamb(0.05f, 0.1f), weft_lion(0.01f, 0.1f), weft_sgd_momentum(0.1f, 0.9f, 0.01f),
        weft_adam(0.05f)};
    rules[6].rate_decay = 0.1f;
    rules[10].dampening = 0.3f;
    rules[11].clip_norm = 0.1f;
    rules[11].average_decay = 0.9f;
    return i < (int)(sizeof rules / sizeof *rules) ? rules[i] : (weft_optimizer){0};
}

static void check_rules(weft_precision precision) {
    for (int i = 0; rule_of(i).kind; i++) {
        const made_by made =
            (i + (int)precision) % 2 ? BY_STEP : BY_MINIMIZE; /* each rule is made both ways */
        const training t = {class_loss, precision, rule_of(i), made};
        assert_unseen(&t, precision == WEFT_PRECISION_F32 ? 4e-6f : 1e-4f, "a rule");
    }
}

static void test_rules(void **state) {
    (void)state;
    check_rules(WEFT_PRECISION_F32);
}
static void test_rules_bf16(void **state) {
    (void)state;
    check_rules(WEFT_PRECISION_BF16);
}
static void test_rules_f16(void **state) {
    (void)state;
    check_rules(WEFT_PRECISION_F16);
}

static void test_losses(void **state) {
    (void)state;
    loss_of *const losses[] = {class_loss, sequence_loss, weighted_loss, composed_loss, with_penalty};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        const training t = {losses[i], WEFT_PRECISION_F32, weft_sgd_momentum(0.1f, 0.9f, 0.01f), BY_MINIMIZE};
        assert_unseen(&t, 0, "a loss");
    }
}

/* Not a bit of the weights, nor of their average, moves in the run itself. */
static void test_run_changes_nothing(void **state) {
    (void)state;
    network n;
    weft_optimizer rule = weft_adamw(0.05f, 0.1f);
    rule.average_decay = 0.5f;
    float before[WEIGHTS], after[WEIGHTS];
    begin(&n, class_loss, WEFT_PRECISION_F32, rule, BY_MINIMIZE);
    step(&n, 1), step(&n, 2);
    read_weights(&n, before);
    assert_true(step(&n, -1) == 0);
    read_weights(&n, after);
    assert_memory_equal(before, after, sizeof before);
    assert_weft_ok(weft_average_swap(n.graph));
    read_weights(&n, before);
    assert_weft_ok(weft_average_swap(n.graph));
    step(&n, -1);
    assert_weft_ok(weft_average_swap(n.graph));
    read_weights(&n, after);
    assert_memory_equal(before, after, sizeof before);
    end(&n);
}

/* In a loss with another part that depends on the batch, the run counts. */
static weft_tensor *with_other(weft_tensor *logits, weft_tensor *labels) {
    return weft_add(class_loss(logits, labels), weft_mean(weft_square(logits)));
}

static void test_other_parts_count(void **state) {
    (void)state;
    network n;
    float before[WEIGHTS], after[WEIGHTS];
    begin(&n, with_other, WEFT_PRECISION_F32, weft_sgd(0.1f), BY_MINIMIZE);
    read_weights(&n, before);
    assert_true(step(&n, -1) > 0);
    read_weights(&n, after);
    assert_true(memcmp(before, after, sizeof before) != 0);
    end(&n);
}

/* ---- a table that is updated by rows ---- */

enum { ROWS = 6 };

static void train_table(const int *batches, float table[ROWS * CLASSES]) {
    weft_graph *const graph = test_graph();
    weft_tensor *const row = weft_input(graph, "row", WEFT_I32), *const label =
                                                                     weft_input(graph, "label", WEFT_I32);
    weft_tensor *const loss = class_loss(weft_embedding(row, ROWS, CLASSES), label);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_sparse_updates(graph, "*", true));
    weft_tensor *const outputs[] = {loss, weft_train_step(loss, weft_adam(0.05f), NULL)};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    for (int i = 0; batches[i]; i++) {
        int32_t rows[BATCH], labels[BATCH];
        for (int b = 0; b < BATCH; b++) {
            rows[b] = (b * b + abs(batches[i])) % ROWS;
            labels[b] = batches[i] < 0 ? -100 : (b + batches[i]) % CLASSES;
        }
        assert_weft_ok(weft_plan_write(plan, row, rows, sizeof rows));
        assert_weft_ok(weft_plan_write(plan, label, labels, sizeof labels));
        assert_weft_ok(weft_plan_run(plan));
    }
    assert_weft_ok(weft_tensor_read(weft_graph_parameter(graph, 0), table, ROWS * CLASSES * sizeof *table));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_rows_of_a_table(void **state) {
    (void)state;
    float with[ROWS * CLASSES], without[ROWS * CLASSES];
    train_table((const int[]){1, -2, 2, -1, 3, 0}, with);
    train_table((const int[]){1, 2, 3, 0}, without);
    for (int i = 0; i < ROWS * CLASSES; i++) assert_true(fabsf(with[i] - without[i]) <= 4e-6f);
}

/* ---- accumulation ---- */

static weft_optimizer accumulating(weft_optimizer rule, uint32_t runs) {
    rule.accumulate = runs;
    return rule;
}

/* Windows of three runs, of which some do not count: the update is by the mean of the others. Of 16 bits some rules stand for all:
 * sums of a window are f32 whatever the precision. */
static void test_windows(void **state) {
    (void)state;
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    for (int p = 0; p < 3; p++)
        for (int i = 0; rule_of(i).kind; i++) {
            if (p && i % 3 != p) continue;
            const float allowed = p ? 1e-4f : 4e-6f;
            const training three = {class_loss, precisions[p], accumulating(rule_of(i), 3), BY_MINIMIZE},
                           two = {class_loss, precisions[p], accumulating(rule_of(i), 2), BY_STEP};
            float got[WEIGHTS], wanted[WEIGHTS];
            train(&two, (const int[]){1, 2, 3, 4, 0}, 0, wanted);
            train(&three, (const int[]){1, -1, 2, 3, 4, -1, 0}, 0, got);
            assert_near(got, wanted, allowed, "a run in the middle, one at the end");
            train(&three, (const int[]){-1, 1, 2, -1, -1, -1, 3, -1, 4, 0}, 0, got);
            assert_near(got, wanted, allowed, "a window without any");
        }
}

/* accumulate 8 over 5 batches is an update by the mean of five. */
static void test_end_of_window(void **state) {
    (void)state;
    for (int i = 0; rule_of(i).kind; i++) {
        const training eight = {class_loss, WEFT_PRECISION_F32, accumulating(rule_of(i), 8), BY_MINIMIZE},
                       five = {class_loss, WEFT_PRECISION_F32, accumulating(rule_of(i), 5), BY_STEP};
        float got[WEIGHTS], wanted[WEIGHTS];
        train(&five, (const int[]){1, 2, 3, 4, 5, 0}, 0, wanted);
        train(&eight, (const int[]){1, 2, 3, 4, 5, 0}, 5, got);
        assert_near(got, wanted, 4e-6f, "a window that is ended");
        train(&eight, (const int[]){1, 2, -1, 3, 4, 5, 6, 0}, 6, got); /* the next window has begun */
        assert_near(got, wanted, 4e-6f, "the next window");
    }
}

/* A window that is ended with its last run, or before its first one, is whole: the next ones are as long as ever. */
static void test_end_of_whole_window(void **state) {
    (void)state;
    const training t = {class_loss, WEFT_PRECISION_F32, accumulating(weft_sgd(0.1f), 2), BY_MINIMIZE};
    float got[WEIGHTS], wanted[WEIGHTS];
    train(&t, (const int[]){1, 2, 3, 4, 0}, 0, wanted);
    train(&t, (const int[]){1, 2, 3, 4, 0}, 2, got);
    assert_memory_equal(got, wanted, sizeof got);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_accumulation_end(NULL), "weft_accumulation_end", "NULL");
}

/* Adam's bias correction counts the update of a short window as one. */
static void test_number_after_short_window(void **state) {
    (void)state;
    const training t = {class_loss, WEFT_PRECISION_F32, accumulating(weft_adam(0.05f), 4), BY_MINIMIZE},
                   one = {class_loss, WEFT_PRECISION_F32, weft_adam(0.05f), BY_MINIMIZE};
    float got[WEIGHTS], wanted[WEIGHTS];
    train(&one, (const int[]){1, 2, 0}, 0, wanted);
    train(&t, (const int[]){1, 2, 2, 2, 2, 0}, 1, got);
    assert_near(got, wanted, 4e-6f, "the second update");
}

/* ---- checkpoints ---- */

static weft_tensor *plain_loss(weft_tensor *logits, weft_tensor *labels) {
    return weft_cross_entropy(logits, labels);
}

/* A file of a training whose runs all count, as those of older versions are, goes on with one that may be empty; and a file
 * keeps how many updates were left out. */
static void test_checkpoints(void **state) {
    (void)state;
    loss_of *const first[] = {plain_loss, class_loss};
    float wanted[WEIGHTS], got[WEIGHTS];
    const training t = {class_loss, WEFT_PRECISION_F32, weft_adam(0.05f), BY_MINIMIZE};
    train(&t, (const int[]){1, 2, 3, 4, 0}, 0, wanted);
    for (int i = 0; i < 2; i++) {
        network n;
        begin(&n, first[i], WEFT_PRECISION_F32, t.rule, t.made);
        step(&n, 1);
        if (i == 1) step(&n, -1);
        step(&n, 2);
        assert_weft_ok(weft_checkpoint_save(n.graph, test_path("empty.safetensors"), NULL, 0));
        end(&n);
        begin(&n, class_loss, WEFT_PRECISION_F32, t.rule, t.made);
        step(&n, -1); /* forgotten */
        assert_weft_ok(weft_checkpoint_load(n.graph, test_path("empty.safetensors"), NULL, 0));
        step(&n, -1), step(&n, 3), step(&n, 4);
        read_weights(&n, got);
        assert_near(got, wanted, 4e-6f, "after a checkpoint");
        end(&n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rules_bf16),
        cmocka_unit_test(test_rules_f16),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_run_changes_nothing),
        cmocka_unit_test(test_other_parts_count),
        cmocka_unit_test(test_rows_of_a_table),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_end_of_window),
        cmocka_unit_test(test_end_of_whole_window),
        cmocka_unit_test(test_number_after_short_window),
        cmocka_unit_test(test_checkpoints),
    };
    return test_finish(cmocka_run_group_tests_name("empty batches", tests, NULL, NULL));
}
