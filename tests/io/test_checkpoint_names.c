/* What checkpoints keep beside the weights has names that begin with "weft.", which no variable has, so that any other name
 * can be used. Checkpoints of format 1, which had no such prefix, are loaded, and trainings go on from them:
 * checkpoint_format1.safetensors was written by the last version of Weft that wrote format 1. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/old_checkpoint.h"
#include "support/resumed_training.h"
#include "support/scratch.h"
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { SIZE = 3, RUNS = 2 };

static const char recorded[] = "tests/golden/checkpoint_format1.safetensors";

/* All numbers are exact, so that every device computes the same bits. */
typedef struct training {
    weft_graph *graph;
    weft_tensor *p, *count;
    weft_plan *plan;
} training;

static void add_training(training *t) {
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1];
    size_t updates = 0;
    weft_optimizer rule = weft_sgd_momentum(0.5f, 0.5f, 0);
    rule.average_decay = 0.5f;
    assert_weft_ok(weft_graph_set_precision(t->graph, WEFT_PRECISION_F16));
    t->p = weft_parameter(t->graph, "p", weft_fill(1), SIZE);
    t->count = weft_state_shape(t->graph, "", WEFT_I32, weft_fill(0), 0, NULL);
    weft_tensor *const loss = weft_mul_number(weft_sum(weft_square(weft_add_number(t->p, -2))), 0.5);
    assert_weft_ok(weft_minimize(loss, &rule, outputs, WEFT_MAX_UPDATES, &updates));
    outputs[updates] = weft_assign(t->count, weft_add(t->count, weft_number(t->count, 1)));
    assert_weft_ok(weft_plan_create(&t->plan, outputs, updates + 1, NULL));
}

static training make_training(void) {
    training t = {.graph = test_graph()};
    add_training(&t);
    return t;
}

static void end_training(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

static void train(const training *t, int runs) {
    for (int i = 0; i < runs; i++) assert_weft_ok(weft_plan_run(t->plan));
}

/* The whole state, by checkpoints of this version. */
static void assert_same_state(weft_graph *one, weft_graph *other) {
    weft_graph *const both[] = {one, other};
    char *data[2];
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        assert_weft_ok(weft_checkpoint_save(both[i], test_path("state"), NULL, 0));
        assert_weft_ok(wi_file_read(NULL, test_path("state"), &data[i], &bytes[i]));
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(data[0], data[1], bytes[0]);
    for (int i = 0; i < 2; i++) wi_release(NULL, data[i]);
}

static void a_recorded_training_goes_on(void **state) {
    (void)state;
    uint8_t note[8] = "";
    weft_checkpoint_extra extra = {
        .name = "note", .dtype = WEFT_U8, .rank = 1, .dims = {sizeof note}, .data = note};
    training straight = make_training(), resumed = make_training();
    train(&straight, RUNS);
    assert_weft_ok(weft_checkpoint_load(resumed.graph, recorded, &extra, 1));
    assert_int_equal(extra.dims[0], 3);
    assert_memory_equal(note, "old", 3);
    assert_same_state(straight.graph, resumed.graph);
    train(&straight, 1);
    train(&resumed, 1);
    assert_same_state(straight.graph, resumed.graph);
    end_training(&straight);
    end_training(&resumed);
}

/* In format 1 a name may be that of what an optimizer kept: it is not taken for a parameter as well. */
static void an_old_tensor_is_taken_once(void **state) {
    (void)state;
    training t = {.graph = test_graph()};
    add_training(&t);
    (void)weft_parameter(t.graph, "optimizer.momentum.p", weft_fill(1), SIZE);
    assert_fails(weft_checkpoint_load(t.graph, recorded, NULL, 0), WEFT_ERROR_FORMAT,
        "tensor 'weft.optimizer.momentum.p' of the graph is not in the file");
    end_training(&t);
}

/* Of an old checkpoint with loss scaling, too. */
static void weights_come_from_either_format(void **state) {
    (void)state;
    training t = make_training();
    train(&t, 1);
    assert_weft_ok(weft_checkpoint_save(t.graph, test_path("new"), NULL, 0));
    for (int old = 0; old < 2; old++) {
        weft_graph *const graph = test_graph();
        float values[SIZE] = {0};
        weft_tensor *const p = weft_parameter(graph, old ? "p" : "part.p", weft_fill(9), SIZE);
        const weft_weights_options options = {
            WEFT_WEIGHTS_OPTIONS_INIT, .prefix = old ? NULL : "", .new_prefix = old ? NULL : "part."};
        assert_weft_ok(weft_weights_load(graph, old ? recorded : test_path("new"), &options));
        assert_weft_ok(weft_tensor_read(p, values, sizeof values));
        assert_true(values[0] == (old ? 2.0F : 1.5F));
        weft_graph_release(graph);
    }
    end_training(&t);
}

/* ---- trainers ---- */

static resumed_training *run_until(resumed_kind kind, const char *folder, size_t stop_at) {
    resumed_training *const t = resumed_training_make(kind, folder);
    bool found = false;
    if (folder) assert_weft_ok(weft_trainer_resume(t->trainer, folder, &found));
    assert_true(found == (folder && stop_at == 0));
    t->stop_at = stop_at;
    assert_weft_ok(weft_trainer_run(t->trainer, t->data));
    return t;
}

/* Stopped in an epoch, so that there are sums of metrics. */
static void check_old_trainer(resumed_kind kind, size_t stop_at, const char *kept) {
    char *const folder = scratch_make(), path[4096];
    resumed_training *const straight = run_until(kind, NULL, 0);
    resumed_training_end(run_until(kind, folder, stop_at));
    assert_true(scratch_count(folder, "step-", path) > 0);
    assert_true(old_checkpoint_rewrite(path, kept));
    resumed_training *const second = run_until(kind, folder, 0);
    assert_same_state(straight->graph, second->graph);
    resumed_training_end(straight);
    resumed_training_end(second);
    scratch_remove(folder);
}

static void old_trainings_are_resumed(void **state) {
    (void)state;
    check_old_trainer(RESUMED_MLP, 3, "\"trainer.metric.0\"");
    check_old_trainer(RESUMED_TEXT, 3, "\"optimizer.gradient_sum.");
    check_old_trainer(RESUMED_PLATEAU, 12, "\"best.");
}

/* ---- names ---- */

static void reserved_names_are_refused_where_they_are_given(void **state) {
    (void)state;
    for (int how = 0; how < 5; how++) {
        weft_graph *const graph = test_graph();
        if (how == 2 || how == 4) assert_weft_ok(weft_scope_begin(graph, "weft", false));
        if (how == 3) assert_weft_ok(weft_scope_begin(graph, "weft", true));
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4);
        weft_tensor *const made = how == 0 ? weft_parameter(graph, "weft.a", weft_zeros(), 3)
                                  : how == 1
                                      ? weft_state_shape(graph, "weft.a", WEFT_I32, weft_zeros(), 0, NULL)
                                  : how == 4 ? weft_linear(x, 3)
                                             : weft_parameter(graph, "a", weft_zeros(), 3);
        assert_null(made);
        assert_fails(weft_graph_status(graph), WEFT_ERROR_ARGUMENT, how == 4 ? "'weft.linear1." : "'weft.a'");
        assert_non_null(strstr(weft_last_error(), "names that begin with \"weft.\""));
        weft_graph_release(graph);
    }
}

/* Those of format 1, and near ones. */
static void other_names_are_ordinary(void **state) {
    static const char *const names[] = {"optimizer.momentum.p", "optimizer2.m.p", "carried.0", "extra.blob",
        "best.p", "trainer.metric.0", "loss_scale.scale.0", "weft", "weft_a", "graph.weft.a"};
    enum { NAMES = sizeof names / sizeof *names };
    char path[4096];
    uint8_t blob = 5;
    weft_checkpoint_extra extra = {.name = "blob", .dtype = WEFT_U8, .data = &blob};
    training t[2];
    weft_tensor *made[2][NAMES];
    (void)state;
    snprintf(path, sizeof path, "%s", test_path("ordinary"));
    for (int k = 0; k < 2; k++) {
        t[k].graph = test_graph();
        for (size_t i = 0; i < NAMES; i++)
            made[k][i] = weft_parameter(t[k].graph, names[i], weft_fill(k ? 0 : (float)i + 1), SIZE);
        add_training(&t[k]);
    }
    train(&t[0], 1);
    assert_weft_ok(weft_checkpoint_save(t[0].graph, path, &extra, 1));
    assert_weft_ok(weft_weights_load(t[1].graph, path, NULL));
    for (size_t i = 0; i < NAMES; i++) {
        float values[2][SIZE];
        for (int k = 0; k < 2; k++) assert_weft_ok(weft_tensor_read(made[k][i], values[k], sizeof values[k]));
        assert_memory_equal(values[0], values[1], sizeof values[0]);
    }
    blob = 0;
    assert_weft_ok(weft_checkpoint_load(t[1].graph, path, &extra, 1));
    assert_int_equal(blob, 5);
    assert_same_state(t[0].graph, t[1].graph);
    end_training(&t[0]);
    end_training(&t[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_training_goes_on),
        cmocka_unit_test(an_old_tensor_is_taken_once),
        cmocka_unit_test(weights_come_from_either_format),
        cmocka_unit_test(old_trainings_are_resumed),
        cmocka_unit_test(reserved_names_are_refused_where_they_are_given),
        cmocka_unit_test(other_names_are_ordinary),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
