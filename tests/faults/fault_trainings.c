/* Trainers: an LSTM that carries its state along a text, and images that threads load from files. Both save checkpoints, are
 * stopped on the way, and go on in another graph. */
#include "fault_use.h"
#include "support/image_bytes.h"
#include "train/trainer_shared.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOKENS = 50, WORDS = 5, STREAMS = 4, TIME = 3, SIDE = 8, CLASSES = 2, FILES_EACH = 4, STOP_AT = 3 };

typedef struct fault_made {
    weft_graph *graph;
    weft_dataset *data;
    weft_trainer *trainer;
    weft_tensor *last; /* a parameter that training changes */
    bool built;        /* all expressions */
    weft_tensor *loss, *logits, *keeps[2], *states[2];
    weft_trainer_options options;
} fault_made;

typedef weft_status (*maker)(fault_world *world, fault_made *m, bool stops);

static fault_made first, second;

static void unmake(fault_made *m) {
    weft_trainer_release(m->trainer);
    weft_dataset_release(m->data);
    weft_graph_release(m->graph);
    *m = (fault_made){0};
}

/* A checkpoint that is due is left out while the one before it is being written. Waiting for that makes the calls the same in
 * every run, so that the nth call is the same call. */
static bool wait_for_file(void *user, const weft_epoch *state) {
    const fault_made *const m = user;
    (void)state;
    while (!wi_checkpointer_is_idle(&m->trainer->checkpointer)) sched_yield();
    return true;
}

static bool stop_on_the_way(void *user, const weft_epoch *state) {
    return wait_for_file(user, state) && state->step != STOP_AT;
}

static weft_trainer_options common_options(const fault_world *world, fault_made *m, bool stops) {
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = 2, .seed = 3};
    options.checkpoint = fault_path(world->folder, "checkpoints");
    options.checkpoint_every.steps = 2;
    options.checkpoint_keep = 2;
    options.on_step = stops ? stop_on_the_way : wait_for_file;
    options.user = m;
    options.validation = NULL;
    return options;
}

static weft_status finish(fault_made *m, weft_tensor *loss, const weft_trainer_options *options) {
    const weft_status status = weft_graph_status(m->graph);
    if (status != WEFT_OK) return status;
    m->built = true;
    m->loss = loss;
    m->options = *options;
    m->last = weft_graph_parameter(m->graph, weft_graph_parameter_count(m->graph) - 1);
    return weft_trainer_create(&m->trainer, loss, options);
}

/* The graph has a trainer if that had failed, and computes what it should. */
static weft_status use(const fault_world *world, fault_made *m, size_t batch, const weft_column *columns,
    size_t column_count, double numbers[FAULT_NUMBERS]) {
    weft_status status = WEFT_OK;
    for (int i = 0; i < 2 && m->states[i] && status == WEFT_OK; i++) status = weft_carry_reset(m->states[i]);
    if (status == WEFT_OK && !m->trainer) {
        m->options.checkpoint = fault_path(world->folder, "checkpoints");
        if (m->options.csv_log) m->options.csv_log = fault_path(world->folder, "log.csv");
        status = weft_trainer_create(&m->trainer, m->loss, &m->options);
    }
    if (status != WEFT_OK) return status;
    return fault_use_graph(world,
        &(fault_use){.graph = m->graph,
            .loss = m->loss,
            .output = m->logits,
            .batch = batch,
            .columns = columns,
            .column_count = column_count,
            .output_columns = column_count - 1},
        numbers);
}

/* ---- text ---- */

static weft_status open_tokens(fault_world *world, fault_made *m) {
    int32_t tokens[TOKENS];
    const weft_text_options windows = {WEFT_TEXT_OPTIONS_INIT, .streams = STREAMS, .steps = TIME};
    for (int i = 0; i < TOKENS; i++) tokens[i] = i * i % 7 % WORDS;
    return weft_dataset_from_tokens(&m->data, world->context, tokens, TOKENS, &windows);
}

static weft_status make_lstm(fault_world *world, fault_made *m, bool stops) {
    const int64_t window[] = {STREAMS, TIME}, state[] = {1, STREAMS, 4};
    weft_trainer_options options = common_options(world, m, stops);
    weft_status status = open_tokens(world, m);
    if (status == WEFT_OK) status = weft_graph_create(&m->graph, world->context);
    if (status != WEFT_OK) return status;
    weft_tensor *const tokens = weft_input_shape(m->graph, "tokens", WEFT_I32, 2, window);
    weft_tensor *const next = weft_input_shape(m->graph, "next", WEFT_I32, 2, window);
    weft_tensor *const carry = weft_input_shape(m->graph, "carry", WEFT_F32, 1, window);
    weft_tensor *const h = weft_carried_state(m->graph, 3, state);
    weft_tensor *const c = weft_carried_state(m->graph, 3, state);
    const weft_recurrent_options layers = {WEFT_RECURRENT_OPTIONS_INIT, .h0 = weft_carry_start(h, carry, 1),
        .c0 = weft_carry_start(c, carry, 1)};
    const weft_recurrent lstm = weft_lstm(weft_embedding(tokens, WORDS, 3), 4, &layers);
    m->states[0] = h;
    m->states[1] = c;
    m->keeps[0] = weft_assign(h, lstm.h);
    m->keeps[1] = weft_assign(c, lstm.c);
    m->logits = weft_linear(lstm.y, WORDS);
    options.optimizer = weft_adam(0.01f);
    options.carries = m->keeps;
    options.carry_count = 2;
    options.batch = STREAMS;
    options.keep_order = true;
    return finish(m, weft_sequence_cross_entropy(m->logits, next, NULL), &options);
}

static weft_status use_lstm(fault_world *world, int graph, double numbers[FAULT_NUMBERS], bool *there) {
    static const int32_t tokens[STREAMS * TIME] = {0, 1, 2, 3, 4, 0, 2}, next[STREAMS * TIME] = {1, 2, 3, 4};
    static const float carry[STREAMS] = {0, 1, 1, 0};
    const weft_column columns[] = {
        {.name = "tokens", .dtype = WEFT_I32, .rank = 1, .dims = {TIME}, .data = tokens},
        {.name = "carry", .dtype = WEFT_F32, .data = carry},
        {.name = "next", .dtype = WEFT_I32, .rank = 1, .dims = {TIME}, .data = next}};
    fault_made *const m = graph ? &second : &first;
    *there = m->built;
    return m->built ? use(world, m, STREAMS, columns, 3, numbers) : WEFT_OK;
}

/* ---- images ---- */

static weft_status write_images(fault_world *world) {
    unsigned char pixels[SIDE * SIDE * 3];
    char path[FAULT_PATH * 3];
    for (int i = 0; i < CLASSES * FILES_EACH; i++) {
        const bool jpeg = i % 2 == 1;
        for (int k = 0; k < SIDE * SIDE * 3; k++) pixels[k] = (unsigned char)(k * (i + 3) % 251);
        snprintf(path, sizeof path, "%s/images/class%d", world->data, i / FILES_EACH);
        mkdir(fault_path(world->data, "images"), 0700);
        mkdir(path, 0700);
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%d.%s", i, jpeg ? "jpg" : "png");
        image_bytes file = jpeg ? image_bytes_jpeg(SIDE, SIDE, IMAGE_JPEG_RGB, pixels)
                                : image_bytes_png(SIDE, SIDE, 2, 8, false, false, pixels);
        image_bytes_save(path, file.data, file.size);
        free(file.data);
    }
    return WEFT_OK;
}

static weft_status make_images(fault_world *world, fault_made *m, bool stops) {
    const weft_transform moves[] = {
        weft_transform_random_crop(SIDE, SIDE, 1), weft_transform_random_flip(0.5)};
    const weft_image_options how = {WEFT_IMAGE_OPTIONS_INIT, .transforms = moves, .transform_count = 2};
    weft_trainer_options options = common_options(world, m, stops);
    weft_status status =
        weft_dataset_open_image_folder(&m->data, world->context, fault_path(world->data, "images"), &how);
    if (status == WEFT_OK) status = weft_graph_create(&m->graph, world->context);
    if (status != WEFT_OK) return status;
    weft_tensor *const image = weft_input(m->graph, "image", WEFT_F32, 3, SIDE, SIDE);
    weft_tensor *const label = weft_input(m->graph, "label", WEFT_I32);
    m->logits = options.logits = weft_linear(weft_flatten(weft_relu(weft_conv2d(image, 2, 3))), CLASSES);
    options.optimizer = weft_sgd_momentum(0.05f, 0.9f, 0);
    options.batch = 3;
    options.loader_threads = 2;
    options.validation = m->data;
    options.csv_log = fault_path(world->folder, "log.csv");
    options.append_logs = true;
    return finish(m, weft_cross_entropy(options.logits, label), &options);
}

static weft_status use_images(fault_world *world, int graph, double numbers[FAULT_NUMBERS], bool *there) {
    static const int32_t labels[3] = {1, 0, 1};
    static float images[3 * 3 * SIDE * SIDE];
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) images[i] = (float)(i * 3 % 17) * 0.1f;
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {3, SIDE, SIDE}, .data = images},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    fault_made *const m = graph ? &second : &first;
    *there = m->built;
    return m->built ? use(world, m, 3, columns, 2, numbers) : WEFT_OK;
}

/* ---- both ---- */

/* Goes on where an attempt before this one has left a checkpoint. */
static weft_status run(fault_world *world, fault_made *m) {
    bool found = false;
    const weft_status status =
        weft_trainer_resume(m->trainer, fault_path(world->folder, "checkpoints"), &found);
    return status == WEFT_OK ? weft_trainer_run(m->trainer, m->data) : status;
}

static weft_status run_both(fault_world *world, maker make) {
    float values[16] = {0};
    weft_status status = run(world, &first);
    if (status == WEFT_OK) status = make(world, &second, false);
    if (status == WEFT_OK) status = run(world, &second);
    const int64_t count = weft_tensor_dimension(second.last, 0);
    if (status == WEFT_OK) status = weft_tensor_read(second.last, values, (size_t)count * sizeof *values);
    world->result_count = 0;
    for (int64_t i = 0; i < count; i++) world->result[world->result_count++] = (double)values[i];
    return status;
}

static weft_status make_first_lstm(fault_world *world) {
    return make_lstm(world, &first, true);
}

static weft_status run_lstm(fault_world *world) {
    return run_both(world, make_lstm);
}

static weft_status make_first_images(fault_world *world) {
    return make_images(world, &first, true);
}

static weft_status run_images(fault_world *world) {
    return run_both(world, make_images);
}

static weft_status nothing(fault_world *world) {
    (void)world;
    return WEFT_OK;
}

static void clear_first(fault_world *world) {
    (void)world;
    unmake(&first);
}

static void clear_second(fault_world *world) {
    (void)world;
    unmake(&second);
}

const fault_subject fault_lstm = {.name = "lstm",
    .prepare = nothing,
    .steps = {fault_open_context, make_first_lstm, run_lstm},
    .clear = {fault_close_context, clear_first, clear_second},
    .again = 1,
    .use = use_lstm};

const fault_subject fault_images = {.name = "images",
    .prepare = write_images,
    .steps = {fault_open_context, make_first_images, run_images},
    .clear = {fault_close_context, clear_first, clear_second},
    .again = 1,
    .use = use_images};
