/* Runs drawn trainings (contract in drawn_trainings.h). */
#include "cl/context.h"
#include "drawn_trainings.h"
#include "plan/compiled_plan.h"
#include "support/thread_ranks.h"
#include "train/trainer_shared.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 29, BATCH = 12, TOKENS = 4, WORDS = 24, SIDE = 4, WIDTH = 16, CLASSES = 3, IGNORED = -1 };

/* ---- data ---- */

typedef struct examples {
    float images[EXAMPLES][SIDE * SIDE];
    int32_t words[EXAMPLES][TOKENS], labels[EXAMPLES];
} examples;

static void fill(examples *all) {
    test_random random = test_random_named("drawn trainings", 0);
    for (size_t i = 0; i < EXAMPLES; i++) {
        for (size_t p = 0; p < SIDE * SIDE; p++)
            all->images[i][p] = (float)test_random_between(&random, -1, 1);
        for (size_t t = 0; t < TOKENS; t++) all->words[i][t] = (int32_t)test_random_below(&random, WORDS);
        const bool counts = test_random_below(&random, 4) > 0;
        all->labels[i] = counts ? (int32_t)test_random_below(&random, CLASSES) : IGNORED;
    }
}

static weft_status open_data(weft_dataset **data, weft_context *context, const examples *all, size_t count) {
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {1, SIDE, SIDE}, .data = all->images},
        {.name = "words", .dtype = WEFT_I32, .rank = 1, .dims = {TOKENS}, .data = all->words},
        {.name = "label", .dtype = WEFT_I32, .data = all->labels}};
    return weft_dataset_from_memory(data, context, count, columns, 3);
}

/* ---- networks ---- */

/* A bias before a batch norm has no gradient but rounding errors, which Adam would enlarge. */
static weft_tensor *conv(weft_graph *graph) {
    weft_tensor *x =
        weft_conv2d(weft_input(graph, "image", WEFT_F32, 1, SIDE, SIDE), 6, 3, .padding = 1, .no_bias = true);
    x = weft_max_pool2d(weft_relu(weft_batch_norm(x)), 2);
    return weft_dropout(weft_flatten(x), 0.2f);
}

/* Many parameters, so that they are more than what a step computes. */
static weft_tensor *dense(weft_graph *graph) {
    weft_tensor *x = weft_flatten(weft_input(graph, "image", WEFT_F32, 1, SIDE, SIDE));
    for (int i = 0; i < 4; i++) x = weft_tanh(weft_linear(x, 4 * WIDTH));
    return x;
}

static weft_tensor *text(weft_graph *graph, bool sparse) {
    weft_tensor *x = weft_embedding_layer(weft_input(graph, "words", WEFT_I32, TOKENS), WORDS, WIDTH, NULL);
    if (sparse) (void)weft_sparse_updates(graph, "*", true);
    for (int i = 0; i < 2; i++) {
        weft_tensor *const h = weft_layer_norm(x);
        x = weft_add(x, weft_multi_head_attention(h, h, h, 2, NULL));
        x = weft_add(x, weft_linear(weft_gelu(weft_linear(weft_layer_norm(x), 2 * WIDTH)), WIDTH));
    }
    return weft_dropout(weft_flatten(x), 0.1f);
}

static weft_tensor *logits_of(const drawn_training *t, weft_graph *graph) {
    weft_tensor *const x = t->network == DRAWN_CONV    ? conv(graph)
                           : t->network == DRAWN_DENSE ? dense(graph)
                                                       : text(graph, t->sparse);
    return weft_linear(x, CLASSES);
}

/* ---- a rank ---- */

typedef struct leg_run {
    const drawn_training *training;
    const drawn_leg *leg;
    const char *folder;
    bool resumes;
    drawn_outcome outcomes[THREAD_RANKS];
} leg_run;

typedef struct rank_run {
    const leg_run *leg;
    drawn_outcome *outcome;
    size_t rank;
    weft_context *context;
    weft_graph *graph;
    weft_dataset *data, *other;
    weft_trainer *trainer;
    weft_distributed *job;
} rank_run;

/* Pretends that ranks were measured, each at another speed in each epoch, so that shards are divided again. */
static void pretend_speeds(const rank_run *r, size_t epoch) {
    wi_shard_ranks *const by_rank = &r->trainer->shards[0].by_rank;
    if (!by_rank->firsts) return;
    by_rank->steps = 10;
    for (size_t k = 0; k < r->leg->leg->place.ranks; k++)
        by_rank->seconds[k] = (double)(1 + (7 * r->leg->training->number + 3 * epoch + 5 * k) % 4);
}

static bool note_epoch(void *user, const weft_epoch *state) {
    const rank_run *const r = user;
    pretend_speeds(r, state->epoch);
    double *const to = r->outcome->epochs[state->epoch];
    to[0] = state->loss;
    to[1] = state->accuracy;
    to[2] = state->validation_loss;
    to[3] = state->validation_accuracy;
    to[4] = state->learning_rate;
    to[5] = r->leg->training->measures ? state->training_metrics[0] : 0;
    to[6] = state->validation_metrics[0];
    return true;
}

static bool note_step(void *user, const weft_epoch *state) {
    const rank_run *const r = user;
    return state->step < r->leg->leg->until;
}

/* The test's device as often as the place has devices. */
static weft_context *open_context(const drawn_place *place) {
    char list[128] = "";
    weft_context *context = NULL;
    for (size_t i = 0; i < place->devices; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "",
            weft_context_device(test_context())->selector);
    const weft_context_options options = {
        WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .seed = 3, .memory_limit = place->limit};
    return weft_context_create(&context, &options) == WEFT_OK ? context : NULL;
}

static weft_status create_trainer(rank_run *r, weft_tensor *loss, weft_tensor *logits) {
    const drawn_training *const t = r->leg->training;
    const drawn_place *const place = &r->leg->leg->place;
    const weft_metric metrics[] = {weft_metric_f1(WEFT_AVERAGE_MACRO)};
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = t->optimizer,
        .epochs = DRAWN_EPOCHS, .batch = BATCH, .seed = t->number, .loader_threads = 1,
        .keep_order = t->keeps_order, .drop_last = t->drops_last, .logits = logits, .ignore = true,
        .ignored_label = IGNORED, .validation = r->other, .on_epoch = note_epoch, .on_step = note_step,
        .user = r, .early_stopping = {.restore_best = t->watches}, .schedule = t->schedule,
        .metrics = metrics, .metric_count = 1, .training_metrics = t->measures,
        .memory_limit = place->plan_limit, .checkpoint = r->leg->folder, .checkpoint_every = {.epochs = 100},
        .precision = t->precision, .gradient_shards = t->shards, .exchange = t->exchange,
        .shard_optimizer = place->shard_optimizer, .distributed = r->job};
    return weft_trainer_create(&r->trainer, loss, &options);
}

static weft_status build(rank_run *r, const examples *all) {
    weft_status status = weft_graph_create(&r->graph, r->context);
    if (status == WEFT_OK) status = open_data(&r->data, r->context, all, EXAMPLES);
    if (status == WEFT_OK) status = open_data(&r->other, r->context, all, EXAMPLES / 2);
    if (status != WEFT_OK) return status;
    weft_tensor *const logits = logits_of(r->leg->training, r->graph);
    const weft_class_loss_options counted = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = IGNORED};
    weft_tensor *const loss =
        weft_cross_entropy_loss(logits, weft_input(r->graph, "label", WEFT_I32), &counted);
    return create_trainer(r, loss, logits);
}

/* ---- the plans of a training ---- */

static void note_plan(rank_run *r, const weft_plan *plan) {
    if (!plan) return;
    if (plan->info.micro_batches > r->outcome->micro_batches)
        r->outcome->micro_batches = plan->info.micro_batches;
    if (plan->info.host_bytes > r->outcome->host_bytes) r->outcome->host_bytes = plan->info.host_bytes;
}

static void note_plans_of(rank_run *r, const wi_pass *pass) {
    note_plan(r, pass->full);
    note_plan(r, pass->rest);
    for (size_t i = 0; pass->shards && i < WI_SHARD_SIZES; i++) note_plan(r, pass->shards->plans[i].loss[0]);
    if (pass->shards) note_plan(r, pass->shards->update);
}

/* An evaluation may release the plans of the training, so that this is called before it, too. */
static void note_plans(rank_run *r) {
    note_plans_of(r, &r->trainer->training);
    note_plans_of(r, &r->trainer->validation);
    note_plans_of(r, &r->trainer->evaluation);
}

static weft_status run(rank_run *r, const examples *all) {
    weft_training_info info;
    weft_status status = build(r, all);
    if (status == WEFT_OK && r->leg->resumes) status = weft_trainer_resume(r->trainer, r->leg->folder, NULL);
    if (status == WEFT_OK) status = weft_trainer_run(r->trainer, r->data);
    if (status == WEFT_OK) note_plans(r);
    if (status == WEFT_OK && r->leg->leg->until == SIZE_MAX)
        status =
            weft_trainer_evaluate(r->trainer, r->data, &r->outcome->evaluated[0], &r->outcome->evaluated[1]);
    weft_trainer_get_info(r->trainer, &info);
    r->outcome->steps = info.steps;
    return status;
}

/* ---- results ---- */

static void read_weights(rank_run *r) {
    for (size_t i = 0; i < weft_graph_parameter_count(r->graph); i++) {
        weft_tensor *const parameter = weft_graph_parameter(r->graph, i);
        const size_t bytes = parameter->variable->bytes, count = r->outcome->weight_count;
        r->outcome->weights = realloc(r->outcome->weights, count * sizeof(float) + bytes);
        if (weft_tensor_read(parameter, r->outcome->weights + count, bytes) != WEFT_OK) abort();
        r->outcome->weight_count = count + bytes / sizeof(float);
    }
}

/* The checkpoint after the last step, which may have been the best. */
static void read_file(rank_run *r) {
    FILE *file = NULL;
    for (int best = 0; best < 2 && !file; best++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s-%010zu.safetensors", r->leg->folder, best ? "best" : "step",
            r->outcome->steps);
        file = fopen(path, "rb");
    }
    if (!file) abort();
    fseek(file, 0, SEEK_END);
    r->outcome->file_bytes = (size_t)ftell(file);
    r->outcome->file = malloc(r->outcome->file_bytes);
    rewind(file);
    if (fread(r->outcome->file, 1, r->outcome->file_bytes, file) != r->outcome->file_bytes) abort();
    fclose(file);
}

static void run_rank(size_t rank, size_t ranks, void *user) {
    leg_run *const leg = user;
    rank_run r = {.leg = leg, .outcome = &leg->outcomes[rank], .rank = rank};
    examples *const all = malloc(sizeof *all);
    (void)ranks;
    if (!all) abort();
    fill(all);
    r.context = open_context(&leg->leg->place);
    if (!r.context) abort();
    r.job = thread_ranks_join(r.context);
    r.outcome->status = run(&r, all);
    snprintf(
        r.outcome->line, sizeof r.outcome->line, "%s", r.outcome->status == WEFT_OK ? "" : weft_last_error());
    if (r.outcome->status == WEFT_OK) note_plans(&r);
    weft_context_memory(r.context, NULL, &r.outcome->peak);
    weft_trainer_release(r.trainer);
    if (r.outcome->status == WEFT_OK && rank == 0) read_weights(&r);
    if (r.outcome->status == WEFT_OK && rank == 0) read_file(&r);
    weft_distributed_release(r.job);
    weft_dataset_release(r.data);
    weft_dataset_release(r.other);
    weft_graph_release(r.graph);
    weft_context_release(r.context);
    free(all);
}

/* ---- legs ---- */

void drawn_outcome_clear(drawn_outcome *outcome) {
    free(outcome->file);
    free(outcome->weights);
    *outcome = (drawn_outcome){0};
}

/* The outcome of rank 0, or of the rank whose error ended the others. */
static drawn_outcome choose(drawn_outcome *outcomes, size_t ranks) {
    size_t chosen = 0;
    for (size_t r = 0; r < ranks; r++)
        if (outcomes[r].status != WEFT_OK && outcomes[r].status != WEFT_ERROR_PEER) chosen = r;
    for (size_t r = 0; r < ranks; r++) {
        if ((outcomes[r].status == WEFT_OK) != (outcomes[chosen].status == WEFT_OK))
            fail_msg("rank %zu ends with '%s', rank %zu with '%s'", r, outcomes[r].line, chosen,
                outcomes[chosen].line);
        if (outcomes[r].micro_batches > outcomes[chosen].micro_batches)
            outcomes[chosen].micro_batches = outcomes[r].micro_batches;
    }
    return outcomes[chosen];
}

drawn_outcome drawn_run(const drawn_training *training, const drawn_leg *legs, size_t count) {
    static size_t folders;
    static char folder[512];
    drawn_outcome last = {0};
    char name[32];
    snprintf(name, sizeof name, "drawn%zu", folders++);
    snprintf(folder, sizeof folder, "%s", test_path(name));
    for (size_t i = 0; i < count && last.status == WEFT_OK; i++) {
        leg_run leg = {.training = training, .leg = &legs[i], .folder = folder, .resumes = i > 0};
        for (size_t r = 0; r < THREAD_RANKS; r++)
            memcpy(leg.outcomes[r].epochs, last.epochs, sizeof last.epochs);
        const int64_t micro_batches = last.micro_batches;
        drawn_outcome_clear(&last);
        thread_ranks_run(legs[i].place.ranks, run_rank, &leg);
        last = choose(leg.outcomes, legs[i].place.ranks);
        if (micro_batches > last.micro_batches) last.micro_batches = micro_batches;
    }
    return last;
}
