/* Options that trainers take together with gradient shards: whoever computes the shards, the parameters have the same bits, also if the training
 * is interrupted and resumed elsewhere. Processes are threads. */
#include "graph/weft_graph.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/thread_ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAMS = 8,
    SEQUENCES = 5,
    EXAMPLES = STREAMS * SEQUENCES,
    WIDTH = 6,
    CLASSES = 3,
    SHARDS = 4,
    WORDS = 30
};
enum { NUMBERS = 1024 };

typedef struct examples {
    float x[EXAMPLES][WIDTH], carry[EXAMPLES];
    int32_t labels[EXAMPLES], words[EXAMPLES];
} examples;

static const examples *make_examples(void) {
    static examples all;
    test_random random = test_random_named("shard options", 1);
    for (size_t i = 0; i < EXAMPLES; i++) {
        for (size_t k = 0; k < WIDTH; k++) all.x[i][k] = (float)test_random_between(&random, -1, 1);
        all.carry[i] = i >= STREAMS;
        all.words[i] = (int32_t)(i * i % (WORDS - 3));
        all.labels[i] = (int32_t)test_random_below(&random, CLASSES);
    }
    return &all;
}

/* ---- a training ---- */

typedef struct training {
    weft_optimizer optimizer;
    size_t shards;
    bool carries;     /* a state goes from step to step, and the network has as many streams as a shard has */
    bool is_too_wide; /* but it has those of the batch */
    bool never_starts; /* with carries: also from epoch to epoch, and on to the validation */
    bool sets_loss;    /* the callback also sets a loss */
    bool calls_back;   /* a callback writes an input that the dataset lacks */
    /* Two optimizers, a state that counts steps, and one that follows a parameter after its updates. */
    bool has_updates;
    bool shards_optimizer, by_rows; /* by_rows: a table that is updated by rows */
    float max_norm;                 /* of the table's rows; 0: none */
} training;

typedef struct place {
    size_t ranks, devices,
        until; /* until: the step after which the run ends; 0: it ends with the last epoch */
} place;

typedef struct outcome {
    weft_status status;
    char line[512];
    float numbers[NUMBERS]; /* all parameters, and then losses */
    size_t count;
} outcome;

typedef struct leg {
    const training *how;
    const place *where;
    const char *folder; /* of checkpoints; NULL: none */
    bool resumes;
    outcome outcomes[THREAD_RANKS];
} leg;

typedef struct rank_run {
    const leg *leg;
    outcome *outcome;
    weft_graph *graph;
    weft_tensor *keep;
    double validation;
} rank_run;

static bool note(void *user, const weft_epoch *state) {
    ((rank_run *)user)->validation = state->validation_loss;
    return true;
}

static bool go_on(void *user, const weft_epoch *state) {
    const size_t until = ((const rank_run *)user)->leg->where->until;
    return until == 0 || state->step < until;
}

/* Noise that depends on the step and on the examples' places in the batch. */
static weft_status add_noise(void *user, weft_step *step) {
    rank_run *const r = user;
    float noise[STREAMS][WIDTH];
    step->has_loss = r->leg->how->sets_loss;
    if (step->examples * r->leg->how->shards != STREAMS) return WEFT_ERROR_INTERNAL;
    if (step->first_example != step->shard * step->examples) return WEFT_ERROR_INTERNAL;
    for (size_t i = 0; i < step->examples; i++) {
        test_random random = test_random_named("noise", step->step * STREAMS + step->first_example + i);
        for (size_t k = 0; k < WIDTH; k++) noise[i][k] = (float)test_random_between(&random, -0.1, 0.1);
    }
    weft_tensor *const input = weft_graph_find_input(r->graph, "noise");
    const weft_status status = weft_plan_write(step->plan, input, noise, step->examples * sizeof *noise);
    return status == WEFT_OK ? weft_plan_run(step->plan) : status;
}

/* Of the network. */
static int64_t streams_of(const training *how) {
    return how->is_too_wide ? STREAMS : STREAMS / (int64_t)how->shards;
}

static weft_tensor *input(rank_run *r, const char *name, weft_dtype dtype, int64_t width) {
    const training *const how = r->leg->how;
    const int64_t streams = how->carries ? streams_of(how) : WEFT_BATCH;
    return weft_input_shape(r->graph, name, dtype, width ? 2 : 1, (const int64_t[]){streams, width});
}

static weft_tensor *build(rank_run *r) {
    const training *const how = r->leg->how;
    weft_tensor *h = weft_linear(input(r, "x", WEFT_F32, WIDTH), WIDTH);
    if (how->calls_back) h = weft_add(h, input(r, "noise", WEFT_F32, WIDTH));
    if (how->by_rows) {
        const weft_embedding_options table = {WEFT_EMBEDDING_OPTIONS_INIT, .max_norm = how->max_norm};
        h = weft_add(h, weft_embedding_layer(input(r, "word", WEFT_I32, 0), WORDS, WIDTH, &table));
        (void)weft_sparse_updates(r->graph, "embedding*", true);
    }
    if (how->carries) {
        weft_tensor *const carry = how->never_starts ? NULL : input(r, "carry", WEFT_F32, 0);
        weft_tensor *const state = weft_carried_state(r->graph, 2, (const int64_t[]){streams_of(how), WIDTH});
        h = weft_tanh(weft_add(h, weft_carry_start(state, carry, 0)));
        r->keep = weft_assign(state, h);
    }
    return weft_cross_entropy(weft_linear(weft_tanh(h), CLASSES), input(r, "label", WEFT_I32, 0));
}

/* Returns the number of updates. */
static size_t list_updates(rank_run *r, weft_tensor *of, weft_tensor **updates) {
    weft_tensor *const counter = weft_state_shape(r->graph, "counter", WEFT_F32, weft_zeros(), 0, NULL),
                       *const follower = weft_state_shape(
                           r->graph, "follower", WEFT_F32, weft_zeros(), 1, (const int64_t[]){CLASSES});
    updates[0] = weft_assign(counter, weft_add(counter, weft_number(counter, 1)));
    updates[1] = weft_train_step(of, weft_adam(1e-2f), "linear1.*");
    updates[2] = weft_assign_after(follower, weft_graph_find(r->graph, "linear2.bias"));
    updates[3] = weft_train_step(of, weft_sgd(0.1f), "linear2.*");
    return 4;
}

static weft_status read_all(rank_run *r, size_t count, weft_tensor *get(const weft_graph *, size_t)) {
    for (size_t i = 0; i < count; i++) {
        weft_tensor *const variable = get(r->graph, i);
        float *const to = r->outcome->numbers + r->outcome->count;
        if (*weft_tensor_name(variable) == '\0') continue; /* of an optimizer, in parts, or of a shard */
        const weft_status status = weft_tensor_read(variable, to, variable->variable->bytes);
        if (status != WEFT_OK) return status;
        r->outcome->count += variable->variable->bytes / sizeof *to;
    }
    return WEFT_OK;
}

static weft_status read_parameters(rank_run *r) {
    const weft_status status = read_all(r, weft_graph_parameter_count(r->graph), weft_graph_parameter);
    return status == WEFT_OK ? read_all(r, weft_graph_state_count(r->graph), weft_graph_state) : status;
}

static weft_status train(rank_run *r, weft_dataset *data, weft_distributed *job) {
    const training *const how = r->leg->how;
    weft_trainer *trainer = NULL;
    double loss = 0;
    weft_tensor *updates[4], *const of = build(r);
    const size_t update_count = how->has_updates ? list_updates(r, of, updates) : 0;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = how->optimizer, .epochs = 3,
        .batch = STREAMS, .loader_threads = 1, .keep_order = true, .gradient_shards = how->shards,
        .updates = updates, .update_count = update_count, .carries = &r->keep, .carry_count = r->keep != NULL,
        .validation = how->calls_back ? NULL : data, .step = how->calls_back ? add_noise : NULL,
        .distributed = job, .shard_optimizer = how->shards_optimizer, .checkpoint = r->leg->folder,
        .on_epoch = note, .on_step = go_on, .user = r};
    weft_status status = weft_trainer_create(&trainer, of, &options);
    if (status == WEFT_OK && r->leg->resumes) status = weft_trainer_resume(trainer, r->leg->folder, NULL);
    if (status == WEFT_OK) status = weft_trainer_run(trainer, data);
    if (status == WEFT_OK && r->leg->where->until == 0 && !how->calls_back)
        status = weft_trainer_evaluate(trainer, data, &loss, NULL);
    if (status == WEFT_OK) status = read_parameters(r);
    const bool averages = how->optimizer.average_decay > 0;
    for (int swaps = 0; swaps < 2 && averages && status == WEFT_OK; swaps++) {
        status = weft_average_swap(r->graph);
        if (status == WEFT_OK) status = read_parameters(r);
    }
    r->outcome->numbers[r->outcome->count++] = (float)loss;
    r->outcome->numbers[r->outcome->count++] = (float)r->validation;
    weft_trainer_release(trainer);
    return status;
}

static void run_rank(size_t rank, size_t ranks, void *user) {
    leg *const it = user;
    rank_run r = {.leg = it, .outcome = &it->outcomes[rank]};
    const examples *const all = make_examples();
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = all->x},
        {.name = "carry", .dtype = WEFT_F32, .data = all->carry},
        {.name = "word", .dtype = WEFT_I32, .data = all->words},
        {.name = "label", .dtype = WEFT_I32, .data = all->labels}};
    weft_context *context = NULL;
    weft_dataset *data = NULL;
    char list[64];
    const char *const position = weft_context_device(test_context())->selector;
    (void)ranks;
    snprintf(list, sizeof list, "%s%s%s", position, it->where->devices > 1 ? "," : "",
        it->where->devices > 1 ? position : "");
    const weft_context_options opened = {WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .seed = 3};
    if (weft_context_create(&context, &opened) != WEFT_OK) abort();
    weft_distributed *const job = thread_ranks_join(context);
    if (weft_graph_create(&r.graph, context) != WEFT_OK) abort();
    r.outcome->status = weft_dataset_from_memory(&data, context, EXAMPLES, columns, 4);
    if (r.outcome->status == WEFT_OK) r.outcome->status = train(&r, data, job);
    snprintf(r.outcome->line, sizeof r.outcome->line, "%s", r.outcome->status ? weft_last_error() : "");
    weft_distributed_release(job);
    weft_dataset_release(data);
    weft_graph_release(r.graph);
    weft_context_release(context);
}

/* The outcome of rank 0, after all legs. */
static outcome run(const training *how, const place *places, size_t count) {
    static size_t folders;
    static char folder[512];
    static leg it;
    char name[32];
    (void)make_examples();
    snprintf(name, sizeof name, "checkpoints%zu", folders++);
    snprintf(folder, sizeof folder, "%s", test_path(name));
    for (size_t i = 0; i < count; i++) {
        it = (leg){.how = how, .where = &places[i], .folder = count > 1 ? folder : NULL, .resumes = i > 0};
        thread_ranks_run(places[i].ranks, run_rank, &it);
        if (it.outcomes[0].status != WEFT_OK) break;
    }
    return it.outcomes[0];
}

static outcome run_alone(const training *how) {
    const outcome alone = run(how, &(place){.ranks = 1, .devices = 1}, 1);
    if (alone.status != WEFT_OK) fail_msg("alone: %s", alone.line);
    assert_true(alone.count > 2);
    return alone;
}

static void assert_same(const outcome *one, const outcome *other, const char *what) {
    if (other->status != WEFT_OK) fail_msg("%s: %s", what, other->line);
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++)
        if (memcmp(&one->numbers[i], &other->numbers[i], sizeof *one->numbers) != 0)
            fail_msg("%s: number %zu of %zu is %.9g, not %.9g", what, i, one->count,
                (double)other->numbers[i], (double)one->numbers[i]);
}

/* Begun in three processes of one and two shards, and ended in one process with two devices, in the second epoch of three. Returns the outcome. */
static outcome check_everywhere(const training *how, const char *what) {
    const outcome alone = run_alone(how);
    const place legs[] = {{3, 1, 8}, {1, 2, 0}};
    const outcome elsewhere = run(how, legs, 2);
    assert_same(&alone, &elsewhere, what);
    return alone;
}

/* ---- carried states ---- */

/* And but for rounding, the training is that of the undivided batch. */
static void check_division(training how, const char *what) {
    const outcome divided = check_everywhere(&how, what);
    how.shards = 1;
    const outcome whole = run_alone(&how);
    assert_int_equal(whole.count, divided.count);
    for (size_t i = 0; i < whole.count; i++)
        if (fabs((double)whole.numbers[i] - (double)divided.numbers[i]) > 2e-6)
            fail_msg("%s: number %zu is %.9g in shards, not %.9g", what, i, (double)divided.numbers[i],
                (double)whole.numbers[i]);
}

static void each_shard_carries_its_state(void **state) {
    const training how = {.optimizer = weft_adam(1e-2f), .shards = SHARDS, .carries = true};
    (void)state;
    check_division(how, "carried");
}

static void states_are_carried_from_pass_to_pass(void **state) {
    const training how = {
        .optimizer = weft_sgd(0.1f), .shards = SHARDS, .carries = true, .never_starts = true};
    (void)state;
    check_division(how, "never started");
}

/* ---- step callbacks ---- */

static void callbacks_run_shards(void **state) {
    const training how = {.optimizer = weft_sgd(0.1f), .shards = SHARDS, .calls_back = true};
    (void)state;
    check_division(how, "called back");
}

/* ---- updates of the program ---- */

static void updates_of_programs_are_divided(void **state) {
    const training how = {.shards = SHARDS, .has_updates = true};
    (void)state;
    check_division(how, "updates");
}

/* ---- the state of the optimizer in parts ---- */

static void states_of_optimizers_are_divided(void **state) {
    training how = {.optimizer = weft_adam(1e-2f), .shards = SHARDS, .shards_optimizer = true};
    (void)state;
    how.optimizer.accumulate = 2;
    how.optimizer.clip_norm = 0.1f;
    (void)check_everywhere(&how, "divided and accumulated");
    how.optimizer = weft_sgd_momentum(0.1f, 0.9f, 0.01f);
    how.optimizer.average_decay = 0.9f;
    (void)check_everywhere(&how, "divided and averaged");
    how.optimizer.average_decay = 0;
    how.by_rows = true;
    (void)check_everywhere(&how, "divided and by rows");
}

/* ---- rows of limited length ---- */

/* The rows begin with lengths of about 2.4, so that most are shortened when they occur first, and later grow again. */
static void rows_are_shortened(void **state) {
    training how = {.optimizer = weft_sgd(0.5f), .shards = SHARDS, .by_rows = true, .max_norm = 1.5f};
    (void)state;
    check_division(how, "max_norm");
    how.optimizer = weft_adam(1e-2f);
    how.optimizer.clip_norm = 0.1f;
    check_division(how, "max_norm, Adam and clipping");
    how.shards_optimizer = true;
    check_division(how, "max_norm, and divided states");
}

/* ---- what is refused ---- */

static void each_process_needs_a_shard(void **state) {
    const training how = {.optimizer = weft_sgd(0.1f), .shards = 2};
    (void)state;
    const outcome ranks = run(&how, &(place){.ranks = 3, .devices = 1}, 1),
                  devices = run(&how, &(place){.ranks = 2, .devices = 2}, 1);
    assert_int_equal(ranks.status, WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(ranks.line, "gradient_shards is 2, but there are 3 processes"));
    assert_int_equal(devices.status, WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(devices.line, "gradient_shards is 2, but there are 4 devices"));
}

static void a_callback_sets_no_loss(void **state) {
    const training how = {.optimizer = weft_sgd(0.1f), .shards = 2, .calls_back = true, .sets_loss = true};
    (void)state;
    const outcome it = run(&how, &(place){.ranks = 1, .devices = 1}, 1);
    assert_int_equal(it.status, WEFT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(it.line, "the step callback set a loss at step 0, but with gradient shards"));
}

static void updates_need_the_loss(void **state) {
    weft_graph *const graph = test_graph();
    weft_trainer *trainer = NULL;
    weft_tensor *const loss =
        weft_mse(weft_linear(weft_input(graph, "x", WEFT_F32, 3), 2), weft_input(graph, "y", WEFT_F32, 2));
    weft_tensor *const update = weft_train_step(weft_mul_number(loss, 2), weft_sgd(0.1f), NULL);
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .batch = STREAMS,
        .gradient_shards = SHARDS, .updates = &update, .update_count = 1};
    (void)state;
    assert_fails(weft_trainer_create(&trainer, loss, &options), WEFT_ERROR_UNSUPPORTED,
        "cannot be computed from gradient shards: create it from the loss of the trainer");
    weft_graph_release(graph);
}

/* The network has the streams of a whole batch. */
static void a_shard_needs_its_streams(void **state) {
    const training how = {.optimizer = weft_sgd(0.1f), .shards = 2, .carries = true, .is_too_wide = true};
    (void)state;
    const outcome it = run(&how, &(place){.ranks = 1, .devices = 1}, 1);
    assert_int_equal(it.status, WEFT_ERROR_SHAPE);
    assert_non_null(
        strstr(it.line, "size is 8, in 2 gradient shards, but the network's inputs are fixed to 8"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_shard_carries_its_state),
        cmocka_unit_test(states_are_carried_from_pass_to_pass), cmocka_unit_test(callbacks_run_shards),
        cmocka_unit_test(updates_of_programs_are_divided), cmocka_unit_test(states_of_optimizers_are_divided),
        cmocka_unit_test(rows_are_shortened), cmocka_unit_test(each_process_needs_a_shard),
        cmocka_unit_test(a_callback_sets_no_loss), cmocka_unit_test(updates_need_the_loss),
        cmocka_unit_test(a_shard_needs_its_streams)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
