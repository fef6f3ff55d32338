/* A checkpoint is loaded where other parameters are trained than when it was saved: what both train goes on with the same bits,
 * what is trained anew begins as in a new optimizer, and nothing else changes. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <string.h>
#include <weft/weft.h>

enum { SIZE = 20, PARAMETERS = 3, SETS = 1 << PARAMETERS };
static const char *const names[PARAMETERS] = {"a", "b", "c"};

typedef struct training {
    weft_graph *graph;
    weft_tensor *of[PARAMETERS], *update;
    weft_plan *plan;
} training;

/* A loss of all three parameters, of which those of the set are trained. */
static training train_set(
    weft_context *context, unsigned set, weft_precision precision, weft_optimizer rule) {
    training t = {0};
    assert_ok(weft_graph_create(&t.graph, context));
    assert_ok(weft_graph_set_precision(t.graph, precision));
    for (int i = 0; i < PARAMETERS; i++) {
        t.of[i] = weft_parameter(t.graph, names[i], weft_fill(0.5f + 0.25f * (float)i), SIZE);
        if (!(set >> i & 1)) assert_ok(weft_freeze(t.graph, names[i], true));
    }
    weft_tensor *const y = weft_mul(weft_add(t.of[0], t.of[1]), t.of[2]);
    t.update = weft_train_step(weft_mse(y, weft_number(y, 2)), rule, NULL);
    assert_ok(weft_plan_create(&t.plan, &t.update, 1, NULL));
    return t;
}

static void run(const training *t, int runs) {
    for (int i = 0; i < runs; i++) assert_ok(weft_plan_run(t->plan));
}

static void release(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

static void copy_parameters(const training *to, const training *from) {
    for (int i = 0; i < PARAMETERS; i++) assert_ok(weft_tensor_copy(to->of[i], from->of[i]));
}

static float value_of(weft_tensor *parameter) {
    float values[SIZE];
    assert_ok(weft_tensor_read(parameter, values, sizeof values));
    for (int i = 1; i < SIZE; i++) assert_true(values[i] == values[0]);
    return values[0];
}

static weft_optimizer rule(void) {
    weft_optimizer made = weft_sgd_momentum(0.05f, 0.9f, 0.1f);
    made.average_decay = 0.5f;
    return made;
}

/* saved, loaded: which parameters are trained before and after. */
static void check_change(const char *folder, unsigned saved, unsigned loaded, weft_precision precision) {
    scratch_log log = {.text = ""};
    weft_context *const context = scratch_context(folder, &log);
    const char *const path = scratch_path(folder, "changed.safetensors");
    training before = train_set(context, saved, precision, rule()),
             after = train_set(context, loaded, precision, rule()),
             anew = train_set(context, loaded, precision, rule());
    float first[PARAMETERS];
    run(&before, 4);
    assert_ok(weft_checkpoint_save(before.graph, path, NULL, 0));
    run(&after, 2); /* which loading forgets */
    assert_ok(weft_checkpoint_load(after.graph, path, NULL, 0));
    copy_parameters(&anew, &after);
    for (int i = 0; i < PARAMETERS; i++) first[i] = value_of(after.of[i]);
    run(&before, 1), run(&after, 1), run(&anew, 1);
    for (int i = 0; i < PARAMETERS; i++) {
        const bool was = saved >> i & 1, is = loaded >> i & 1;
        const float wanted = !is ? first[i] : value_of((was ? &before : &anew)->of[i]);
        if (value_of(after.of[i]) != wanted)
            fail_msg("saved %u, loaded %u, '%s': %.9g, not %.9g", saved, loaded, names[i],
                (double)value_of(after.of[i]), (double)wanted);
    }
    assert_int_equal(strstr(log.text, "its state begins anew") != NULL, (loaded & ~saved) != 0);
    release(&before), release(&after), release(&anew);
    weft_context_release(context);
}

static void each_change_of_what_is_trained(void **state) {
    for (unsigned saved = 1; saved < SETS; saved++)
        for (unsigned loaded = 1; loaded < SETS; loaded++)
            check_change(*state, saved, loaded, WEFT_PRECISION_F32);
}

static void in_sixteen_bits(void **state) {
    check_change(*state, 1, 7, WEFT_PRECISION_F16);
    check_change(*state, 6, 3, WEFT_PRECISION_BF16);
}

/* An average that began with zero would take many updates to come to its parameter. */
static void an_average_begins_with_the_parameter(void **state) {
    scratch_log log = {.text = ""};
    weft_context *const context = scratch_context(*state, &log);
    const char *const path = scratch_path(*state, "changed.safetensors");
    training before = train_set(context, 1, WEFT_PRECISION_F32, rule()),
             after = train_set(context, 7, WEFT_PRECISION_F32, rule());
    run(&before, 4);
    assert_ok(weft_checkpoint_save(before.graph, path, NULL, 0));
    assert_ok(weft_checkpoint_load(after.graph, path, NULL, 0));
    const float b = value_of(after.of[1]);
    assert_ok(weft_average_swap(after.graph));
    assert_true(value_of(after.of[1]) == b);
    assert_non_null(strstr(log.text, "the optimizer did not train 'b' when this was saved"));
    release(&before), release(&after);
    weft_context_release(context);
}

/* A trainer resumes as well, with a parameter that its loss did not reach. */
static void a_trainer_reaches_more(void **state) {
    float x[4 * SIZE];
    float values[2];
    for (int i = 0; i < 4 * SIZE; i++) x[i] = 0.5f;
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {SIZE}, .data = x};
    const char *const folder = scratch_path(*state, "checkpoints");
    for (int both = 0; both < 2; both++) {
        weft_graph *const graph = test_graph();
        weft_dataset *data = NULL;
        weft_trainer *trainer = NULL;
        bool found = false;
        weft_tensor *const a = weft_parameter(graph, "a", weft_fill(1), SIZE), *const b =
                                                                                   weft_parameter(graph, "b",
                                                                                       weft_fill(1), SIZE);
        weft_tensor *const y =
            weft_mul(weft_input(graph, "x", WEFT_F32, SIZE), weft_mul(a, both ? b : weft_stop_gradient(b)));
        assert_ok(weft_dataset_from_memory(&data, test_context(), 4, &column, 1));
        assert_ok(weft_trainer_create(&trainer, weft_mse(y, weft_number(y, 2)),
            WEFT_WITH(trainer, .optimizer = weft_adam(0.01f), .epochs = 1 + (size_t)both, .batch = 2,
                .checkpoint = folder)));
        if (both) assert_ok(weft_trainer_resume(trainer, folder, &found));
        assert_int_equal(found, both);
        assert_ok(weft_trainer_run(trainer, data));
        values[both] = value_of(b);
        weft_trainer_release(trainer);
        weft_dataset_release(data);
        weft_graph_release(graph);
    }
    assert_true(values[0] == 1 && values[1] != 1);
}

/* Another rule keeps other states, which a checkpoint must have. */
static void another_rule_is_refused(void **state) {
    const char *const path = scratch_path(*state, "changed.safetensors");
    weft_optimizer adam = weft_adam(0.1f), amsgrad = weft_adam(0.1f);
    amsgrad.amsgrad = true;
    training before = train_set(test_context(), 1, WEFT_PRECISION_F32, adam),
             after = train_set(test_context(), 3, WEFT_PRECISION_F32, amsgrad);
    run(&before, 1);
    assert_ok(weft_checkpoint_save(before.graph, path, NULL, 0));
    assert_fails(weft_checkpoint_load(after.graph, path, NULL, 0), WEFT_ERROR_FORMAT,
        "largest_v.a' of the graph is not");
    release(&before), release(&after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(each_change_of_what_is_trained),
        SCRATCH_TEST(in_sixteen_bits),
        SCRATCH_TEST(an_average_begins_with_the_parameter),
        SCRATCH_TEST(a_trainer_reaches_more),
        SCRATCH_TEST(another_rule_is_refused),
    };
    return test_finish(cmocka_run_group_tests_name("changed training", tests, NULL, NULL));
}
