/* Trainings to be stopped (contract in resumed_training.h). */
#include "support/resumed_training.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_examples.h"
#include "support/scratch.h"

enum {
    POINTS = 22,
    IN = 6,
    CLASSES = 3,
    IMAGES = 20,
    SIDE = 8,
    TOKENS = 130,
    STREAMS = 4,
    STEPS = 5,
    WORDS = 7
};

static bool on_step(void *user, const weft_epoch *state) {
    const resumed_training *const t = user;
    return state->step != t->stop_at;
}

static bool on_epoch(void *user, const weft_epoch *state) {
    resumed_training *const t = user;
    t->last = *state;
    return true;
}

/* ---- points ---- */

static weft_dataset *make_points(const char *name) {
    float xs[POINTS][IN];
    int32_t labels[POINTS];
    weft_dataset *dataset = NULL;
    test_random random = test_random_named(name, 0);
    for (int i = 0; i < POINTS; i++) {
        labels[i] = (int32_t)test_random_below(&random, CLASSES);
        for (int k = 0; k < IN; k++) xs[i][k] = (float)test_random_between(&random, -1, 1);
    }
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {IN}, .data = xs},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), POINTS, columns, 2));
    return dataset;
}

static weft_tensor *make_mlp(resumed_training *t, weft_trainer_options *options) {
    weft_tensor *const x = weft_input(t->graph, "x", WEFT_F32, IN);
    t->data = make_points("training");
    options->logits = weft_linear(weft_relu(weft_linear(x, 8)), CLASSES);
    options->optimizer = weft_adam(0.01f);
    options->epochs = 3;
    options->batch = 5;
    options->training_metrics = true;
    return weft_cross_entropy(options->logits, weft_input(t->graph, "label", WEFT_I32));
}

/* The learning rate is so high that the validation loss gets worse. */
static weft_tensor *make_plateau(resumed_training *t, weft_trainer_options *options) {
    weft_tensor *const loss = make_mlp(t, options);
    t->validation = make_points("validation");
    options->optimizer = weft_sgd_momentum(0.9f, 0.5f, 0);
    options->schedule = weft_plateau_schedule(0.5f, 0);
    options->early_stopping = (weft_early_stopping){.patience = 3, .restore_best = true};
    options->epochs = 9;
    options->batch = 8;
    return loss;
}

/* ---- images ---- */

static weft_tensor *make_cnn(resumed_training *t, weft_trainer_options *options) {
    const weft_transform moves[] = {
        weft_transform_random_crop(SIDE, SIDE, 2), weft_transform_random_flip(0.5)};
    const weft_image_options how = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = moves, .transform_count = 2, .layout = WEFT_CHANNELS_LAST};
    weft_tensor *const image = weft_image_input(t->graph, "image", 3, SIDE, SIDE);
    t->data = image_examples_make(&how, IMAGES, 3, SIDE, SIDE);
    t->validation = t->data;
    weft_dataset_retain(t->data);
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d(image, 4, 3)));
    h = weft_dropout(weft_flatten(weft_max_pool2d(h, 2)), 0.25f);
    options->logits = weft_linear(h, IMAGES);
    options->optimizer = weft_sgd_momentum(0.05f, 0.9f, 1e-3f);
    options->epochs = 3;
    options->batch = 4;
    options->schedule = weft_cosine_schedule(15, 0);
    options->schedule.per_step = true;
    options->loader_threads = 2;
    return weft_cross_entropy(options->logits, weft_input(t->graph, "label", WEFT_I32));
}

/* ---- text ---- */

static void make_text(resumed_training *t) {
    int32_t tokens[TOKENS];
    const weft_text_options options = {WEFT_TEXT_OPTIONS_INIT, .streams = STREAMS, .steps = STEPS};
    test_random random = test_random_named("tokens", 0);
    for (int i = 0; i < TOKENS; i++) tokens[i] = (int32_t)test_random_below(&random, WORDS);
    assert_ok(weft_dataset_from_tokens(&t->data, test_context(), tokens, TOKENS, &options));
    t->validation = weft_dataset_retain(t->data);
}

static weft_tensor *make_lstm(resumed_training *t, weft_trainer_options *options, weft_tensor **keeps) {
    const int64_t window[] = {STREAMS, STEPS}, state[] = {1, STREAMS, 8};
    make_text(t);
    weft_tensor *const tokens = weft_input_shape(t->graph, "tokens", WEFT_I32, 2, window);
    weft_tensor *const next = weft_input_shape(t->graph, "next", WEFT_I32, 2, window);
    weft_tensor *const carry = weft_input_shape(t->graph, "carry", WEFT_F32, 1, window);
    weft_tensor *const h = weft_carried_state(t->graph, 3, state), *const c =
                                                                       weft_carried_state(t->graph, 3, state);
    const weft_recurrent_options layers = {WEFT_RECURRENT_OPTIONS_INIT, .h0 = weft_carry_start(h, carry, 1),
        .c0 = weft_carry_start(c, carry, 1)};
    const weft_recurrent lstm = weft_lstm(weft_embedding(tokens, WORDS, 5), 8, &layers);
    keeps[0] = weft_assign(h, lstm.h);
    keeps[1] = weft_assign(c, lstm.c);
    options->carry_count = 2;
    options->optimizer = weft_adamw(0.01f, 0.01f);
    options->optimizer.accumulate = 2;
    options->optimizer.clip_norm = 1;
    options->epochs = 2;
    options->batch = STREAMS;
    options->keep_order = true;
    options->schedule = weft_exponential_schedule(0.5f);
    return weft_sequence_cross_entropy(weft_linear(lstm.y, WORDS), next, NULL);
}

/* ---- all ---- */

resumed_training *resumed_training_make(resumed_kind kind, const char *checkpoints) {
    resumed_training *const t = calloc(1, sizeof *t);
    weft_tensor *keeps[2] = {NULL}, *loss = NULL;
    const weft_metric metrics[] = {weft_metric_perplexity(), weft_metric_confusion()};
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .checkpoint = checkpoints,
        .checkpoint_every = {.steps = 4}, .on_step = on_step, .on_epoch = on_epoch, .user = t, .seed = 3,
        .carries = keeps};
    t->graph = test_graph();
    if (kind == RESUMED_MLP) loss = make_mlp(t, &options);
    if (kind == RESUMED_CNN || kind == RESUMED_LONG) loss = make_cnn(t, &options);
    if (kind == RESUMED_TEXT) loss = make_lstm(t, &options, keeps);
    if (kind == RESUMED_PLATEAU) loss = make_plateau(t, &options);
    options.validation = t->validation;
    if (kind == RESUMED_MLP) {
        options.metrics = metrics;
        options.metric_count = 2;
    }
    if (kind == RESUMED_LONG) {
        options.json_log = scratch_path(checkpoints, "log.json");
        options.log_steps = true;
        options.epochs = 30;
        options.checkpoint_every.steps = 2;
    }
    assert_ok(weft_trainer_create(&t->trainer, loss, &options));
    return t;
}

void resumed_training_end(resumed_training *t) {
    weft_trainer_release(t->trainer);
    weft_dataset_release(t->validation);
    weft_dataset_release(t->data);
    weft_graph_release(t->graph);
    free(t);
}
