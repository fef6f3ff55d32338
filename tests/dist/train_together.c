/* Trains among the processes of a launcher, or alone: train_together SHARDS FILE [FAULT [FOLDER]]. Saves the weights to FILE, and prints what rank 0 sees
 * of each epoch. The network has what could depend on how a batch is divided: statistics of the batch, dropout, labels that do not count in
 * unequal numbers, a norm of all gradients, metrics, a last batch of another size. FAULT, of rank 1: seed, examples (other ones than rank
 * 0's), file (a dataset that does not exist), leave (it ends without training), stop (a callback ends the run after a few steps). With FOLDER it saves a
 * checkpoint there after each step, and resumes from the newest one. TOGETHER_MIXES, TOGETHER_IS_WIDE, TOGETHER_ROUNDS, TOGETHER_SHARDS_STATES and
 * TOGETHER_IS_SLOW in the environment change the data, the network, the format of exchanges, the optimizer's state and the time of a step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

enum {
    EXAMPLES = 118,
    BATCH = 16,
    CHANNELS = 2,
    SIDE = 6,
    PIXELS = CHANNELS * SIDE * SIDE,
    CLASSES = 3,
    IGNORED = -1
};

static float images[EXAMPLES][PIXELS];
static int32_t labels[EXAMPLES];

static uint32_t random_bits(void) {
    static uint32_t state = 3;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static unsigned char pixels[EXAMPLES][PIXELS]; /* of the images with mixtures */
static int32_t classes[EXAMPLES];

static void fill(void) {
    for (size_t i = 0; i < EXAMPLES; i++) {
        for (size_t p = 0; p < PIXELS; p++) images[i][p] = (float)random_bits() / 8388608.0f - 1.0f;
        for (size_t p = 0; p < PIXELS; p++) pixels[i][p] = (unsigned char)(127 * (images[i][p] + 1));
        classes[i] = images[i][0] > 0.3f ? 2 : images[i][1] > 0;
        labels[i] = random_bits() % 4 == 0 ? IGNORED : classes[i];
    }
}

/* is_wide: the gradients fill several buckets of an exchange. */
static weft_tensor *network(weft_tensor *x, bool is_wide) {
    x = weft_relu(weft_batch_norm(weft_conv2d(x, 8, 3, .padding = 1)));
    x = weft_dropout(weft_max_pool2d(x, 2), 0.2f);
    for (int i = 0; i < 2 && is_wide; i++) x = weft_relu(weft_linear(weft_flatten(x), 900));
    return weft_linear(weft_flatten(x), CLASSES);
}

typedef struct world {
    weft_distributed *job;
    const char *fault;  /* of this process; "": none */
    const char *folder; /* of checkpoints; NULL: none */
    bool mixes;         /* the environment has TOGETHER_MIXES: the examples of a batch are mixed */
} world;

static bool show(void *user, const weft_epoch *state) {
    const world *const it = user;
    if (weft_distributed_rank(it->job) == 0)
        printf("%zu %.17g %.17g %.17g %.17g %.17g\n", state->epoch, state->loss, state->accuracy,
            state->validation_loss, state->validation_accuracy, state->validation_metrics[0]);
    return true;
}

static bool may_stop(void *user, const weft_epoch *state) {
    const world *const it = user;
    const struct timespec pause = {.tv_nsec = 100000000};
    if (getenv("TOGETHER_IS_SLOW")) nanosleep(&pause, NULL);
    return strcmp(it->fault, "stop") != 0 || state->step < 5;
}

static bool has(const world *it, const char *fault) {
    return strcmp(it->fault, fault) == 0;
}

/* Images that the loader flips and mixes. */
static weft_status open_images(weft_dataset **data, weft_context *context) {
    const weft_transform transforms[] = {
        weft_transform_random_flip(0.5), weft_transform_mixup(0.8), weft_transform_cutmix(0.8)};
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms, .transform_count = 3, .targets = CLASSES};
    const weft_image_block block = {.examples = EXAMPLES,
        .channels = CHANNELS,
        .height = SIDE,
        .width = SIDE,
        .pixels = &pixels[0][0],
        .labels = classes};
    return weft_dataset_from_images(data, context, &block, &options);
}

static weft_status open_data(weft_dataset **data, weft_context *context, const world *it) {
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {CHANNELS, SIDE, SIDE}, .data = images},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    if (has(it, "file")) return weft_dataset_open_idx(data, context, "no/such/folder", "train");
    if (it->mixes) return open_images(data, context);
    return weft_dataset_from_memory(data, context, has(it, "examples") ? EXAMPLES - 2 : EXAMPLES, columns, 2);
}

static weft_status run(weft_context *context, world *it, size_t shards, const char *file) {
    weft_dataset *data = NULL, *test = NULL;
    weft_trainer *trainer = NULL;
    bool found = false;
    weft_graph *const graph = weft_context_graph(context);
    weft_tensor *const logits = network(
        weft_input(graph, "image", WEFT_F32, CHANNELS, SIDE, SIDE), getenv("TOGETHER_IS_WIDE") != NULL);
    const weft_class_loss_options counted = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = IGNORED};
    weft_tensor *const loss =
        it->mixes ? weft_cross_entropy(logits, weft_input(graph, "target", WEFT_F32, CLASSES))
                  : weft_cross_entropy_loss(logits, weft_input(graph, "label", WEFT_I32), &counted);
    const weft_metric metrics[] = {weft_metric_f1(WEFT_AVERAGE_MACRO)};
    weft_optimizer optimizer = weft_adam(1e-2f);
    optimizer.clip_norm = 0.5f;
    weft_status status = open_data(&data, context, it);
    if (!status) status = open_data(&test, context, &(world){.fault = "", .mixes = it->mixes});
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer, .epochs = 3,
        .batch = BATCH, .seed = has(it, "seed"), .logits = logits, .ignore = !it->mixes,
        .ignored_label = it->mixes ? 0 : IGNORED, .validation = test, .metrics = metrics, .metric_count = 1,
        .training_metrics = true, .on_epoch = show, .on_step = may_stop, .user = it,
        .gradient_shards = shards, .exchange = getenv("TOGETHER_ROUNDS") ? WEFT_BF16 : WEFT_F32,
        .shard_optimizer = getenv("TOGETHER_SHARDS_STATES") != NULL, .distributed = it->job,
        .checkpoint = it->folder, .checkpoint_every = {.steps = 1}};
    if (!status) status = weft_trainer_create(&trainer, loss, &options);
    if (!status && it->folder) status = weft_trainer_resume(trainer, it->folder, &found);
    if (!status && !has(it, "leave")) status = weft_trainer_run(trainer, data);
    if (!status && weft_distributed_rank(it->job) == 0) status = weft_weights_save(graph, file);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_dataset_release(test);
    return status;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    world it = {NULL, "", argc > 4 ? argv[4] : NULL, getenv("TOGETHER_MIXES") != NULL};
    if (argc < 3) return fprintf(stderr, "usage: train_together SHARDS FILE [FAULT [FOLDER]]\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    fill();
    weft_status status = weft_context_create(&context, NULL);
    const bool is_launched = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE"); /* Open MPI; MPICH */
    if (!status && is_launched) status = weft_distributed_open(&it.job, context, NULL);
    if (argc > 3 && weft_distributed_rank(it.job) == 1) it.fault = argv[3];
    if (!status) status = run(context, &it, strtoull(argv[1], NULL, 10), argv[2]);
    if (status) fprintf(stderr, "rank %zu: %s\n", weft_distributed_rank(it.job), weft_last_error());
    weft_distributed_release(it.job);
    weft_context_release(context);
    return status != WEFT_OK;
}
