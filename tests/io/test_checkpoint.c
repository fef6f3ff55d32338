/* Checkpoints of a graph: a training that goes on from a file ends with the same bits as one that never stopped, for
 * every optimizer and its options, dropout, batch norm and carried state; extras; names in the file. */
/* test slow */
#include "base/platform.h"
#include "io/checkpoint_file.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <stdio.h>

enum { BATCH = 6, IN = 5, RUNS = 7, MOST = WEFT_MAX_UPDATES + 2 };

/* A network in training. */
typedef struct training {
    weft_graph *graph;
    weft_tensor *x, *outputs[MOST];
    weft_plan *plan;
    size_t runs;
} training;

/* Everything that has state besides the optimizer: batch norm, dropout, a state that each run carries to the next. */
static weft_tensor *make_loss(training *t) {
    const int64_t shape[] = {BATCH, IN}, carried[] = {BATCH, 4};
    t->x = weft_input_shape(t->graph, "x", WEFT_F32, 2, shape);
    weft_tensor *const state = weft_carried_state(t->graph, 2, carried);
    weft_tensor *h = weft_tanh(weft_add(weft_linear(t->x, 4), weft_mul(state, weft_number(state, 0.5))));
    t->outputs[0] = weft_assign(state, h);
    h = weft_batch_norm(weft_dropout(h, 0.25));
    return weft_mean(weft_square(weft_linear(h, 3)));
}

static training make_training(const weft_optimizer *optimizer) {
    training t = {.graph = test_graph()};
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    t.outputs[1] = make_loss(&t);
    assert_ok(weft_minimize(t.outputs[1], optimizer, updates, WEFT_MAX_UPDATES, &count));
    for (size_t i = 0; i < count; i++) t.outputs[2 + i] = updates[i];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT};
    assert_ok(weft_plan_create(&t.plan, t.outputs, 2 + count, &options));
    return t;
}

static void end_training(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

/* Trains up to so many runs in all, each with data of its own and a rate of its own. */
static void train_to(training *t, size_t runs) {
    for (; t->runs < runs; t->runs++) {
        float x[BATCH * IN];
        test_random random = test_random_named("checkpoint", t->runs);
        for (size_t i = 0; i < BATCH * IN; i++) x[i] = (float)test_random_between(&random, -1, 1);
        if (t->runs == 2) assert_ok(weft_scalar_set(weft_minimize_rate(t->graph), 0.037f));
        assert_ok(weft_plan_write(t->plan, t->x, x, sizeof x));
        assert_ok(weft_plan_run(t->plan));
    }
    assert_ok(weft_plan_wait(t->plan));
}

static char *read_bytes(const char *path, size_t *size) {
    char *bytes = NULL;
    assert_ok(wi_file_read(NULL, path, &bytes, size));
    return bytes;
}

static void assert_same_files(const char *one, const char *other) {
    size_t sizes[2];
    char *const a = read_bytes(one, &sizes[0]), *const b = read_bytes(other, &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(a, b, sizes[0]);
    wi_release(NULL, a);
    wi_release(NULL, b);
}

static void keep_path(char path[4096], const char *name) {
    snprintf(path, 4096, "%s", test_path(name));
}

/* The whole state after all runs, stopped after `stop` of them, in a file. */
static void train_in_two_parts(const weft_optimizer *optimizer, size_t stop, const char *path) {
    char between[4096];
    keep_path(between, "between");
    training first = make_training(optimizer);
    train_to(&first, stop);
    assert_ok(weft_checkpoint_save(first.graph, between, NULL, 0));
    train_to(&first, stop + 1); /* what it does after that is lost */
    end_training(&first);
    training second = make_training(optimizer);
    train_to(&second, stop % 3); /* nor does it matter what the other graph did before */
    assert_ok(weft_checkpoint_load(second.graph, between, NULL, 0));
    second.runs = stop;
    train_to(&second, RUNS);
    assert_ok(weft_checkpoint_save(second.graph, path, NULL, 0));
    end_training(&second);
}

static void every_optimizer_goes_on_with_the_same_bits(void **state) {
    (void)state;
    char whole[4096], parts[4096];
    weft_optimizer rows[] = {weft_sgd(0.1f), weft_sgd_momentum(0.1f, 0.9f, 0.01f), weft_adam(0.01f),
        weft_adamw(0.01f, 0.1f), weft_nadam(0.01f), weft_rmsprop(0.01f), weft_adagrad(0.1f), weft_adadelta(1),
        weft_lamb(0.01f, 0.1f), weft_lion(0.01f, 0.1f), weft_sgd_momentum(0.1f, 0.9f, 0), weft_adam(0.01f),
        weft_rmsprop(0.01f)};
    const size_t count = sizeof rows / sizeof *rows;
    rows[count - 3].dampening = 0.5f;
    rows[count - 3].accumulate = 3;
    rows[count - 2].amsgrad = true;
    rows[count - 2].average_decay = 0.9f;
    rows[count - 1].centered = true;
    rows[count - 1].momentum = 0.5f;
    rows[6].rate_decay = 0.1f;
    rows[6].first_sum = 0.1f;
    keep_path(whole, "whole");
    keep_path(parts, "parts");
    for (size_t i = 0; i < count; i++) {
        training t = make_training(&rows[i]);
        train_to(&t, RUNS);
        assert_ok(weft_checkpoint_save(t.graph, whole, NULL, 0));
        end_training(&t);
        for (size_t stop = i == 2 ? 0 : 4; stop < (i == 2 ? RUNS : 5); stop++) {
            train_in_two_parts(&rows[i], stop, parts);
            assert_same_files(whole, parts);
        }
    }
}

/* Would a forgotten counter be noticed? Each of them changes the end. */
static void what_is_not_restored_changes_the_end(void **state) {
    (void)state;
    char between[4096], whole[4096];
    keep_path(between, "between");
    keep_path(whole, "whole");
    const weft_optimizer adam = weft_adam(0.01f);
    training t = make_training(&adam);
    train_to(&t, 4);
    assert_ok(weft_checkpoint_save(t.graph, between, NULL, 0));
    train_to(&t, RUNS);
    assert_ok(weft_checkpoint_save(t.graph, whole, NULL, 0));
    for (int what = 0; what < 3; what++) {
        size_t sizes[2];
        training other = make_training(&adam);
        assert_ok(weft_checkpoint_load(other.graph, between, NULL, 0));
        other.runs = 4;
        if (what == 0) other.graph->draws++;
        if (what == 1) other.graph->clocks[0].runs++;
        if (what == 2) assert_ok(weft_scalar_set(weft_minimize_rate(other.graph), 0.038f));
        train_to(&other, RUNS);
        assert_ok(weft_checkpoint_save(other.graph, test_path("other"), NULL, 0));
        char *const a = read_bytes(whole, &sizes[0]), *const b = read_bytes(test_path("other"), &sizes[1]);
        wi_safetensors one, two;
        assert_ok(wi_safetensors_parse(&one, NULL, "a", a, sizes[0]));
        assert_ok(wi_safetensors_parse(&two, NULL, "b", b, sizes[1]));
        assert_int_equal(one.data_bytes, two.data_bytes);
        assert_memory_not_equal(one.data, two.data, one.data_bytes);
        wi_safetensors_clear(&one), wi_safetensors_clear(&two);
        wi_release(NULL, a), wi_release(NULL, b);
        end_training(&other);
    }
    end_training(&t);
}

static void names_follow_the_graph(void **state) {
    (void)state;
    char path[4096];
    wi_checkpoint_file file;
    keep_path(path, "names");
    weft_optimizer adam = weft_adam(0.01f);
    adam.average_decay = 0.9f;
    training t = make_training(&adam);
    train_to(&t, 1);
    assert_ok(weft_checkpoint_save(t.graph, path, NULL, 0));
    assert_ok(wi_checkpoint_open(&file, NULL, path));
    const char *const weight = weft_tensor_name(weft_graph_parameter(t.graph, 0));
    static const char *const prefixes[] = {
        "", "weft.optimizer.m.", "weft.optimizer.v.", "weft.optimizer.average."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefixes[i], weight);
        const wi_saved_tensor *const saved = wi_safetensors_find(&file.table, name);
        assert_non_null(saved);
        assert_int_equal(saved->rank, 2);
        assert_int_equal(saved->dims[0], 4);
        assert_int_equal(saved->dims[1], IN);
    }
    assert_non_null(wi_safetensors_find(&file.table, "weft.carried.0"));
    assert_null(wi_safetensors_find(&file.table, "weft.carried.1"));
    assert_string_equal(wi_checkpoint_find(&file, "graph.clock.0"), "1");
    assert_string_equal(wi_checkpoint_find(&file, "graph.draws"), "1");
    assert_string_equal(wi_checkpoint_find(&file, "weft.version"), weft_version());
    wi_checkpoint_close(&file);

    /* The weights of a checkpoint are weights like any others. */
    weft_graph *const plain = test_graph();
    training network = {.graph = plain};
    (void)make_loss(&network);
    assert_ok(weft_graph_status(plain));
    const weft_weights_options some = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true};
    assert_ok(weft_weights_load(plain, path, &some));
    weft_graph_release(plain);
    end_training(&t);
}

/* An average that is exchanged with the parameters stays so. */
static void exchanged_averages_come_back(void **state) {
    (void)state;
    char path[4096];
    keep_path(path, "swapped");
    weft_optimizer adam = weft_adam(0.01f);
    adam.average_decay = 0.9f;
    training one = make_training(&adam), two = make_training(&adam);
    train_to(&one, 3);
    assert_ok(weft_average_swap(one.graph));
    assert_ok(weft_checkpoint_save(one.graph, path, NULL, 0));
    assert_ok(weft_checkpoint_load(two.graph, path, NULL, 0));
    assert_fails(weft_plan_run(two.plan), WEFT_ERROR_STATE, "hold their average");
    two.runs = 3;
    assert_ok(weft_average_swap(one.graph));
    assert_ok(weft_average_swap(two.graph));
    train_to(&one, 5);
    train_to(&two, 5);
    assert_ok(weft_checkpoint_save(one.graph, path, NULL, 0));
    assert_ok(weft_checkpoint_save(two.graph, test_path("swapped_too"), NULL, 0));
    assert_same_files(path, test_path("swapped_too"));
    end_training(&one);
    end_training(&two);
}

static void extras_of_the_caller_are_kept(void **state) {
    (void)state;
    char path[4096];
    keep_path(path, "extras");
    const weft_optimizer sgd = weft_sgd(0.1f);
    training t = make_training(&sgd);
    double scores[2][3] = {{1, 2, 3}, {0.1, -5, 1e300}}, read_scores[2][3] = {{0}};
    int64_t seen = -7000000000, read_seen = 0;
    unsigned char blob[] = "a text\0with a zero", room[64];
    weft_checkpoint_extra extras[] = {
        {.name = "scores", .dtype = WEFT_F64, .rank = 2, .dims = {2, 3}, .data = scores},
        {.name = "seen", .dtype = WEFT_I64, .data = &seen},
        {.name = "blob", .dtype = WEFT_U8, .rank = 1, .dims = {sizeof blob}, .data = blob},
        {.name = "empty", .dtype = WEFT_U8, .rank = 1, .dims = {0}},
    };
    assert_ok(weft_checkpoint_save(t.graph, path, extras, 4));
    extras[0].data = read_scores;
    extras[1].data = &read_seen;
    extras[2].data = room;
    extras[2].dims[0] = sizeof room;
    assert_ok(weft_checkpoint_load(t.graph, path, extras, 4));
    assert_memory_equal(scores, read_scores, sizeof scores);
    assert_true(read_seen == seen);
    assert_int_equal(extras[2].dims[0], sizeof blob);
    assert_memory_equal(room, blob, sizeof blob);
    assert_int_equal(extras[3].dims[0], 0);
    assert_ok(weft_checkpoint_load(t.graph, path, extras + 1, 1)); /* the others are skipped */

    extras[2].dims[0] = 4;
    assert_fails(weft_checkpoint_load(t.graph, path, extras, 3), WEFT_ERROR_SHAPE,
        "'weft.extra.blob' is (19) in the file and (4) in the graph");
    extras[1].dtype = WEFT_F64;
    assert_fails(weft_checkpoint_load(t.graph, path, extras, 2), WEFT_ERROR_DTYPE,
        "'weft.extra.seen' is I64 in the file and F64 in the graph");
    extras[1].name = "none";
    assert_fails(weft_checkpoint_load(t.graph, path, extras, 2), WEFT_ERROR_FORMAT, "'weft.extra.none'");
    end_training(&t);
}

static void misuse_is_refused(void **state) {
    (void)state;
    const weft_optimizer sgd = weft_sgd(0.1f);
    training t = make_training(&sgd);
    int32_t number = 0;
    weft_checkpoint_extra extra = {.name = "n", .dtype = WEFT_I32, .data = &number};
    const char *const path = test_path("misuse");
    assert_status(weft_checkpoint_save(NULL, path, NULL, 0), WEFT_ERROR_ARGUMENT);
    assert_status(weft_checkpoint_save(t.graph, NULL, NULL, 0), WEFT_ERROR_ARGUMENT);
    assert_status(weft_checkpoint_load(NULL, path, NULL, 0), WEFT_ERROR_ARGUMENT);
    assert_status(weft_checkpoint_load(t.graph, NULL, NULL, 0), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_checkpoint_save(t.graph, path, NULL, 1), WEFT_ERROR_ARGUMENT, "extras is NULL");
    extra.name = "";
    assert_fails(weft_checkpoint_save(t.graph, path, &extra, 1), WEFT_ERROR_ARGUMENT, "no name");
    extra.name = "n\xff";
    assert_fails(weft_checkpoint_save(t.graph, path, &extra, 1), WEFT_ERROR_ARGUMENT, "not UTF-8");
    extra.name = "n";
    extra.rank = 9;
    assert_fails(weft_checkpoint_save(t.graph, path, &extra, 1), WEFT_ERROR_ARGUMENT, "rank 9");
    extra.rank = 2;
    extra.dims[0] = extra.dims[1] = INT64_MAX;
    assert_fails(weft_checkpoint_save(t.graph, path, &extra, 1), WEFT_ERROR_SHAPE, "overflows");
    extra.dims[0] = -1;
    assert_fails(weft_checkpoint_save(t.graph, path, &extra, 1), WEFT_ERROR_SHAPE, "negative");
    extra.rank = 0;
    extra.data = NULL;
    assert_fails(weft_checkpoint_save(t.graph, path, &extra, 1), WEFT_ERROR_ARGUMENT, "data is NULL");
    extra.data = &number;
    const weft_checkpoint_extra twice[] = {extra, extra};
    assert_fails(weft_checkpoint_save(t.graph, path, twice, 2), WEFT_ERROR_STATE,
        "two tensors are called 'weft.extra.n'");
    assert_false(wi_file_exists(path));
    end_training(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_goes_on_with_the_same_bits),
        cmocka_unit_test(what_is_not_restored_changes_the_end),
        cmocka_unit_test(names_follow_the_graph),
        cmocka_unit_test(exchanged_averages_come_back),
        cmocka_unit_test(extras_of_the_caller_are_kept),
        cmocka_unit_test(misuse_is_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
