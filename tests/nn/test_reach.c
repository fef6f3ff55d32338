/* What the loss does not reach, and what is frozen, does not change and has no state of an optimizer, whichever way one trains. */
/* test slow */
#include "support/fixture.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { SIZE = 20, ROWS = 2, RUNS = 4 }; /* a parameter of SIZE elements has ROWS rows of 16 */

enum { FIRST, OTHER, SECOND, BEHIND, ICE, PARAMETERS };
static const char *const names[] = {"first", "other", "second", "behind", "ice"};

/* The loss reads all but `other`, `behind` by weft_stop_gradient; `ice` is frozen. */
typedef struct network {
    weft_graph *graph;
    weft_tensor *of[PARAMETERS], *loss;
} network;

static network make_network(weft_precision precision) {
    network n = {.graph = test_graph()};
    assert_weft_ok(weft_graph_set_precision(n.graph, precision));
    for (int i = 0; i < PARAMETERS; i++)
        n.of[i] = weft_parameter(n.graph, names[i], weft_fill(0.5f + 0.25f * (float)i), SIZE);
    weft_tensor *const x = weft_input(n.graph, "x", WEFT_F32, SIZE);
    weft_tensor *const half = weft_mul(n.of[FIRST], weft_stop_gradient(n.of[BEHIND]));
    weft_tensor *const y = weft_add(weft_mul(x, half), weft_mul(n.of[SECOND], n.of[ICE]));
    n.loss = weft_mse(y, weft_number(y, 2));
    assert_weft_ok(weft_freeze(n.graph, "ice", true));
    return n;
}

typedef enum way { BY_MINIMIZE, BY_OBJECT, BY_TRAIN_STEP, BY_STEP, BY_CHANGED_STEP, WAYS } way;

static weft_tensor *step_of(const network *n, weft_optimizer_state *optimizer, bool changed) {
    weft_tensor *gradients[PARAMETERS];
    assert_weft_ok(weft_gradients(n->loss, n->of, PARAMETERS, gradients));
    for (int i = 0; i < PARAMETERS && changed; i++)
        gradients[i] = weft_add(
            weft_mul_number(gradients[i], 0.5), weft_div_number(weft_reshape(gradients[i], SIZE), 2));
    return weft_optimizer_step(optimizer, n->of, gradients, PARAMETERS);
}

static size_t updates_of(const network *n, weft_optimizer rule, way how, weft_tensor **updates) {
    size_t count = 1;
    if (how == BY_MINIMIZE)
        assert_weft_ok(weft_minimize(n->loss, &rule, updates, WEFT_MAX_UPDATES, &count));
    else if (how == BY_OBJECT)
        updates[0] = weft_optimizer_minimize(weft_optimizer_create(n->graph, &rule), n->loss, NULL);
    else if (how == BY_TRAIN_STEP)
        updates[0] = weft_train_step(n->loss, rule, NULL);
    else
        updates[0] = step_of(n, weft_optimizer_create(n->graph, &rule), how == BY_CHANGED_STEP);
    assert_weft_ok(weft_graph_status(n->graph));
    return count;
}

static void run(const network *n, weft_tensor *const *updates, size_t count, int runs) {
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1];
    weft_plan *plan = NULL;
    float x[2 * SIZE];
    for (int i = 0; i < 2 * SIZE; i++) x[i] = (float)(1 + i % 5) / 4;
    memcpy(outputs, updates, count * sizeof *outputs);
    outputs[count] = n->loss;
    assert_weft_ok(weft_plan_create(&plan, outputs, count + 1, WEFT_WITH(plan, .batch = 2)));
    for (int i = 0; i < runs; i++)
        assert_weft_ok(
            weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE(weft_graph_find_input(n->graph, "x"), x))));
    weft_plan_release(plan);
}

static float value_of(weft_tensor *parameter) {
    float values[SIZE];
    assert_weft_ok(weft_tensor_read(parameter, values, sizeof values));
    return values[0];
}

/* Those of optimizers have 16 columns. */
static int64_t state_rows(const weft_graph *graph) {
    int64_t rows = 0;
    for (size_t i = 0; i < weft_graph_state_count(graph); i++) {
        const weft_tensor *const state = weft_graph_state(graph, i);
        if (weft_tensor_dimension(state, 1) == 16) rows += weft_tensor_dimension(state, 0);
    }
    return rows;
}

static weft_optimizer rule_of(int i) {
    weft_optimizer rules[] = {weft_sgd_momentum(0.1f, 0.9f, 0.5f), weft_adamw(0.1f, 0.5f),
        weft_lamb(0.1f, 0.5f), weft_adam(0.1f), weft_lion(0.01f, 0.5f)};
    rules[0].average_decay = 0.5f;
    rules[1].clip_norm = 1e-3f;
    rules[3].accumulate = 2;
    rules[3].weight_decay = 0.5f;
    return rules[i];
}
static const int64_t states_of_rule[] = {2, 2, 2, 3, 1};
enum { RULES = 5 };

static void check_reach(const network *n, int rule, way how) {
    for (int i = 0; i < PARAMETERS; i++) {
        const bool moves = i == FIRST || i == SECOND;
        const float now = value_of(n->of[i]), before = 0.5f + 0.25f * (float)i;
        if ((now != before) != moves)
            fail_msg(
                "rule %d, way %d: '%s' is %g, and was %g", rule, how, names[i], (double)now, (double)before);
    }
    if (state_rows(n->graph) != 2 * ROWS * states_of_rule[rule])
        fail_msg("rule %d, way %d: states of %d rows", rule, how, (int)state_rows(n->graph));
}

static void only_what_the_loss_reaches_changes(void **state) {
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    (void)state;
    for (int rule = 0; rule < RULES; rule++)
        for (int how = 0; how < WAYS; how++)
            for (int k = 0; k < 3; k++) {
                const network n = make_network(precisions[k]);
                weft_tensor *updates[WEFT_MAX_UPDATES];
                const size_t count = updates_of(&n, rule_of(rule), (way)how, updates);
                run(&n, updates, count, RUNS);
                check_reach(&n, rule, (way)how);
                weft_graph_release(n.graph);
            }
}

static void a_trainer_leaves_another_network_alone(void **state) {
    const network n = make_network(WEFT_PRECISION_F32);
    float x[4 * SIZE];
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    (void)state;
    for (int i = 0; i < 4 * SIZE; i++) x[i] = (float)(1 + i % 5) / 4;
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {SIZE}, .data = x};
    assert_weft_ok(weft_dataset_from_memory(&dataset, test_context(), 4, &column, 1));
    assert_weft_ok(weft_trainer_create(
        &trainer, n.loss, WEFT_WITH(trainer, .optimizer = rule_of(1), .epochs = 2, .batch = 2)));
    assert_weft_ok(weft_trainer_run(trainer, dataset));
    check_reach(&n, 1, BY_MINIMIZE);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(n.graph);
}

/* Zeros that the program gives are a gradient, as in PyTorch: decay applies. */
static void zeros_of_the_program_are_a_gradient(void **state) {
    const network n = make_network(WEFT_PRECISION_F32);
    weft_optimizer rule = weft_sgd_momentum(0.5f, 0, 0.5f);
    weft_optimizer_state *const optimizer = weft_optimizer_create(n.graph, &rule);
    weft_tensor *const zeros = weft_mul_number(n.of[OTHER], 0);
    weft_tensor *update = weft_optimizer_step(optimizer, &n.of[OTHER], &zeros, 1);
    (void)state;
    run(&n, &update, 1, 1);
    assert_true(value_of(n.of[OTHER]) == 0.75f * 0.75f);
    weft_graph_release(n.graph);
}

static void nothing_to_train_is_an_error(void **state) {
    const network n = make_network(WEFT_PRECISION_F32);
    weft_optimizer rule = weft_sgd(0.1f);
    weft_tensor *updates[WEFT_MAX_UPDATES], *gradients[2];
    size_t count = 0;
    (void)state;
    weft_tensor *const loss = weft_sum(weft_square(weft_stop_gradient(n.of[FIRST])));
    assert_weft_fails(WEFT_ERROR_STATE, weft_minimize(loss, &rule, updates, WEFT_MAX_UPDATES, &count),
        "weft_minimize: the loss depends on no trainable parameter");
    weft_tensor *const parameters[] = {n.of[OTHER], n.of[ICE]};
    assert_weft_ok(weft_gradients(n.loss, parameters, 2, gradients));
    weft_optimizer_state *const optimizer = weft_optimizer_create(n.graph, &rule);
    assert_null(weft_optimizer_step(optimizer, parameters, gradients, 2));
    assert_weft_fails(WEFT_ERROR_STATE, weft_graph_status(n.graph), "every parameter (2) is frozen");
    weft_graph_release(n.graph);
}

/* A parameter of another dtype is in nobody's way where the loss does not reach it. */
static void unreached_parameters_may_be_narrow(void **state) {
    const network n = make_network(WEFT_PRECISION_F32);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    (void)state;
    assert_non_null(
        weft_parameter_dtype(n.graph, "narrow", WEFT_BF16, weft_fill(1), 1, (const int64_t[]){SIZE}));
    run(&n, updates, updates_of(&n, rule_of(1), BY_MINIMIZE, updates), 1);
    check_reach(&n, 1, BY_MINIMIZE);
    weft_graph_release(n.graph);
}

/* ---- states that come later ---- */

/* A parameter that is unfrozen begins as in an optimizer that is new. */
static void an_unfrozen_parameter_begins_from_zero(void **state) {
    weft_optimizer rule = weft_adam(0.1f);
    (void)state;
    float moved[2];
    for (int fresh = 0; fresh < 2; fresh++) {
        const network n = make_network(WEFT_PRECISION_F32);
        weft_optimizer_state *optimizer = weft_optimizer_create(n.graph, &rule);
        weft_tensor *const before = weft_optimizer_minimize(optimizer, n.loss, "second");
        if (!fresh) run(&n, &before, 1, RUNS);
        assert_weft_ok(weft_tensor_copy(n.of[SECOND], n.of[ICE]));
        assert_weft_ok(weft_freeze(n.graph, "ice", false));
        if (fresh) optimizer = weft_optimizer_create(n.graph, &rule);
        weft_tensor *const after = weft_optimizer_minimize(optimizer, n.loss, "ice");
        run(&n, &after, 1, 2);
        moved[fresh] = value_of(n.of[ICE]);
        weft_graph_release(n.graph);
    }
    assert_true(moved[0] != 1.5f && moved[0] == moved[1]);
}

/* Each parameter is exchanged with the average of the later optimizer that steps it. */
static void averages_overlap_in_part(void **state) {
    const network n = make_network(WEFT_PRECISION_F32);
    weft_optimizer rule = weft_sgd(0.1f);
    float before[2], after[2];
    (void)state;
    rule.average_decay = 0.5f;
    weft_tensor *const both = weft_optimizer_minimize(weft_optimizer_create(n.graph, &rule), n.loss, NULL);
    weft_tensor *const one = weft_optimizer_minimize(weft_optimizer_create(n.graph, &rule), n.loss, "second");
    run(&n, &both, 1, 2);
    run(&n, &one, 1, 2);
    for (int i = 0; i < 2; i++) before[i] = value_of(n.of[2 * i]);
    assert_weft_ok(weft_average_swap(n.graph));
    for (int i = 0; i < 2; i++) after[i] = value_of(n.of[2 * i]);
    assert_true(before[0] != after[0] && before[1] != after[1]);
    assert_weft_ok(weft_average_swap(n.graph));
    for (int i = 0; i < 2; i++) assert_true(before[i] == value_of(n.of[2 * i]));
    weft_graph_release(n.graph);
}

/* ---- checkpoints ---- */

static void save_after(const network *n, weft_tensor *update, int runs) {
    run(n, &update, 1, runs);
    assert_weft_ok(weft_checkpoint_save(n->graph, test_path("reach.safetensors"), NULL, 0));
}

/* What an earlier version kept of frozen parameters is passed over, and what remains goes on with the same bits. */
static void states_of_frozen_parameters_are_passed_over(void **state) {
    float moved[2];
    (void)state;
    for (int frozen = 0; frozen < 2; frozen++) {
        network n = make_network(WEFT_PRECISION_F32);
        if (!frozen) assert_weft_ok(weft_freeze(n.graph, "ice", false));
        weft_tensor *const update = weft_train_step(n.loss, rule_of(0), NULL);
        if (!frozen)
            save_after(&n, update, RUNS);
        else
            assert_weft_ok(weft_checkpoint_load(n.graph, test_path("reach.safetensors"), NULL, 0));
        assert_weft_ok(weft_tensor_copy(n.of[ICE], n.of[OTHER])); /* both go on from the same numbers */
        run(&n, &update, 1, 1);
        moved[frozen] = value_of(n.of[FIRST]);
        weft_graph_release(n.graph);
    }
    assert_true(moved[0] == moved[1]);
    network n = make_network(WEFT_PRECISION_F32);
    (void)weft_train_step(n.loss, weft_sgd(0.1f), NULL);
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_checkpoint_load(n.graph, test_path("reach.safetensors"), NULL, 0), "another training");
    weft_graph_release(n.graph);
}

/* Parameters that came to the optimizer after the checkpoint begin from zero, also where they have been trained since. */
static void states_of_later_parameters_begin_from_zero(void **state) {
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_F16};
    weft_optimizer rule = weft_nadam(0.1f);
    (void)state;
    for (int k = 0; k < 2; k++) {
        network n = make_network(precisions[k]);
        weft_optimizer_state *const optimizer = weft_optimizer_create(n.graph, &rule);
        save_after(&n, weft_optimizer_minimize(optimizer, n.loss, "first"), RUNS);
        weft_tensor *const later = weft_optimizer_minimize(optimizer, n.loss, "second");
        run(&n, &later, 1, 2);
        const float wanted = value_of(n.of[SECOND]);
        assert_weft_ok(weft_checkpoint_load(n.graph, test_path("reach.safetensors"), NULL, 0));
        assert_true(value_of(n.of[SECOND]) == 1);
        run(&n, &later, 1, 2);
        assert_true(value_of(n.of[SECOND]) == wanted);
        weft_graph_release(n.graph);
    }
    network n = make_network(WEFT_PRECISION_F32);
    weft_optimizer_state *const optimizer = weft_optimizer_create(n.graph, &rule);
    (void)weft_optimizer_minimize(optimizer, n.loss, "second");
    (void)weft_optimizer_minimize(
        optimizer, n.loss, "first"); /* the file has moments of it, and no count of its own */
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_checkpoint_load(n.graph, test_path("reach.safetensors"), NULL, 0), "another training", "first'");
    weft_graph_release(n.graph);
    n = make_network(WEFT_PRECISION_F32);
    (void)weft_optimizer_minimize(weft_optimizer_create(n.graph, &rule), n.loss, NULL);
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_checkpoint_load(n.graph, test_path("reach.safetensors"), NULL, 0),
        "second' of the graph is not");
    weft_graph_release(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_the_loss_reaches_changes),
        cmocka_unit_test(a_trainer_leaves_another_network_alone),
        cmocka_unit_test(zeros_of_the_program_are_a_gradient),
        cmocka_unit_test(nothing_to_train_is_an_error),
        cmocka_unit_test(unreached_parameters_may_be_narrow),
        cmocka_unit_test(an_unfrozen_parameter_begins_from_zero),
        cmocka_unit_test(averages_overlap_in_part),
        cmocka_unit_test(states_of_frozen_parameters_are_passed_over),
        cmocka_unit_test(states_of_later_parameters_begin_from_zero),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
