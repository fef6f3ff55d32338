/* What L-BFGS remembers is part of checkpoints and snapshots: what goes on from them has the same bits as what was not
 * interrupted. */
#include "nn/lbfgs.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { HIDDEN = 5, POINTS = 16, SIZE = 4 * HIDDEN + 1, STEPS = 3 };

typedef struct search {
    weft_graph *graph;
    weft_lbfgs *optimizer;
    weft_tensor *x, *y;
} search;

static search search_in(weft_context *context, weft_lbfgs_options options, const char *frozen) {
    search s = {0};
    assert_ok(weft_graph_create(&s.graph, context));
    s.x = weft_input(s.graph, "x", WEFT_F32, 2), s.y = weft_input(s.graph, "y", WEFT_F32, 1);
    weft_tensor *const hidden = weft_dropout(weft_tanh(weft_linear(s.x, HIDDEN)), 0.1f);
    weft_tensor *const loss = weft_mse(weft_linear(hidden, 1), s.y);
    if (frozen) assert_ok(weft_freeze(s.graph, frozen, true));
    options.batch = POINTS, options.max_iterations = 4;
    assert_ok(weft_lbfgs_create(&s.optimizer, loss, &options));
    return s;
}

static void release(search *s) {
    weft_lbfgs_release(s->optimizer);
    weft_graph_release(s->graph);
}

static void run(search *s, int steps) {
    float x[POINTS][2], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i][0] = (float)(i % 4) / 2 - 0.75f;
        x[i][1] = (float)(i / 4) / 2 - 0.75f;
        y[i] = (float)sin(2 * (double)x[i][0]) * x[i][1];
    }
    for (int i = 0; i < steps; i++)
        assert_ok(weft_lbfgs_step(s->optimizer, WEFT_VALUES(WEFT_VALUE(s->x, x), WEFT_VALUE(s->y, y)), NULL));
}

static void assert_equal(search *a, search *b) {
    float of_a[SIZE], of_b[SIZE];
    weft_lbfgs_info info_a, info_b;
    assert_ok(weft_vector_read(a->graph, NULL, of_a, SIZE));
    assert_ok(weft_vector_read(b->graph, NULL, of_b, SIZE));
    assert_memory_equal(of_a, of_b, sizeof of_a);
    weft_lbfgs_get_info(a->optimizer, &info_a);
    weft_lbfgs_get_info(b->optimizer, &info_b);
    assert_memory_equal(&info_a, &info_b, sizeof info_a);
}

static const weft_lbfgs_options ways[] = {{WEFT_LBFGS_OPTIONS_INIT},
    {WEFT_LBFGS_OPTIONS_INIT, .rate = 0.2f, .line_search = WEFT_LINE_SEARCH_NONE},
    {WEFT_LBFGS_OPTIONS_INIT, .history = 3}};

static void a_resumed_search_has_the_same_bits(void **state) {
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int before = 0; before <= STEPS; before += STEPS) { /* steps before the checkpoint */
            scratch_log log = {.text = ""};
            weft_context *const context = scratch_context(*state, &log);
            search straight = search_in(context, ways[way], NULL),
                   parts = search_in(context, ways[way], NULL);
            const char *const path = scratch_path(*state, "search.safetensors");
            run(&straight, before);
            assert_ok(weft_checkpoint_save(straight.graph, path, NULL, 0));
            run(&straight, STEPS);
            run(&parts, 1); /* which loading forgets */
            assert_ok(weft_checkpoint_load(parts.graph, path, NULL, 0));
            run(&parts, STEPS);
            assert_equal(&straight, &parts);
            assert_null(strstr(log.text, "history"));
            release(&straight), release(&parts);
            weft_context_release(context);
        }
}

static void a_snapshot_takes_a_search_back(void **state) {
    (void)state;
    weft_snapshot *snapshot = NULL;
    search s = search_in(test_context(), ways[0], NULL), straight = search_in(test_context(), ways[0], NULL);
    run(&s, 2), run(&straight, 2);
    assert_ok(weft_snapshot_create(&snapshot, s.graph));
    assert_ok(weft_snapshot_take(snapshot));
    run(&s, 3);
    assert_ok(weft_snapshot_restore(snapshot));
    run(&s, 2), run(&straight, 2);
    assert_equal(&s, &straight);
    weft_lbfgs_release(s.optimizer); /* the snapshot still has its state */
    s.optimizer = NULL;
    assert_ok(weft_snapshot_restore(snapshot));
    weft_snapshot_release(snapshot);
    release(&s), release(&straight);
}

static void save(search *s, const char *path) {
    run(s, 2);
    assert_ok(weft_checkpoint_save(s->graph, path, NULL, 0));
}

static void what_does_not_fit_begins_anew(void **state) {
    scratch_log log = {.text = ""};
    weft_lbfgs_info info;
    weft_context *const context = scratch_context(*state, &log);
    search all = search_in(context, ways[0], NULL), some = search_in(context, ways[0], "linear2.weight");
    search others =
        search_in(context, ways[0], "linear1.bias"); /* as many elements as the weights of linear2 */
    const char *const path = scratch_path(*state, "search.safetensors");
    save(&some, path);
    search *const loaders[] = {&all, &others};
    for (int i = 0; i < 2; i++) {
        log.text[0] = '\0';
        run(loaders[i], 1);
        assert_ok(weft_checkpoint_load(loaders[i]->graph, path, NULL, 0));
        weft_lbfgs_get_info(loaders[i]->optimizer, &info);
        assert_true(info.iterations == 0 && isnan(info.loss));
        assert_non_null(
            strstr(log.text, "L-BFGS begins without a history: the saved one belongs to other parameters"));
        run(loaders[i], 1);
    }
    release(&all), release(&some), release(&others);
    weft_context_release(context);
}

static void a_checkpoint_with_none_and_a_graph_with_none(void **state) {
    scratch_log log = {.text = ""};
    weft_context *const context = scratch_context(*state, &log);
    search with = search_in(context, ways[0], NULL), without = search_in(context, ways[0], NULL);
    const char *const path = scratch_path(*state, "search.safetensors");
    weft_lbfgs_release(without.optimizer);
    without.optimizer = NULL;
    assert_ok(weft_checkpoint_save(without.graph, path, NULL, 0));
    run(&with, 2);
    assert_ok(weft_checkpoint_load(with.graph, path, NULL, 0));
    assert_non_null(strstr(log.text, "L-BFGS begins without a history: the checkpoint has none"));
    save(&with, path);
    assert_fails(weft_checkpoint_load(without.graph, path, NULL, 0), WEFT_ERROR_FORMAT, "weft.lbfgs.0");
    release(&with), release(&without);
    weft_context_release(context);
}

static void the_newest_pairs_of_a_longer_history_are_taken(void **state) {
    const weft_lbfgs_options two_pairs = {WEFT_LBFGS_OPTIONS_INIT, .history = 2};
    search longer = search_in(test_context(), ways[0], NULL),
           shorter = search_in(test_context(), two_pairs, NULL);
    const char *const path = scratch_path(*state, "search.safetensors");
    save(&longer, path);
    assert_ok(weft_checkpoint_load(shorter.graph, path, NULL, 0));
    const size_t more = longer.optimizer->pair_count - 2;
    assert_true(longer.optimizer->pair_count > 2 && shorter.optimizer->pair_count == 2);
    for (size_t i = 0; i < 2; i++) {
        const wi_lbfgs_pair *const got = &shorter.optimizer->pairs[i], *const wanted =
                                                                           &longer.optimizer->pairs[more + i];
        assert_true(got->factor == wanted->factor);
        assert_memory_equal(got->step, wanted->step, SIZE * sizeof *got->step);
        assert_memory_equal(got->change, wanted->change, SIZE * sizeof *got->change);
    }
    run(&shorter, 1);
    release(&longer), release(&shorter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_resumed_search_has_the_same_bits),
        cmocka_unit_test(a_snapshot_takes_a_search_back),
        SCRATCH_TEST(what_does_not_fit_begins_anew),
        SCRATCH_TEST(a_checkpoint_with_none_and_a_graph_with_none),
        SCRATCH_TEST(the_newest_pairs_of_a_longer_history_are_taken),
    };
    return test_finish(cmocka_run_group_tests_name("l-bfgs state", tests, NULL, NULL));
}
