/* A vision transformer (A. Dosovitskiy et al. 2021) reads digits: each of 16 patches of an image becomes a token, and blocks of
 * attention let the tokens read one another. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, TESTED = 640, WIDTH = 32, HEADS = 4, PATCHES = 16, LAYERS = 2 };
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "1000"},
};

/* image (batch, 1, 8, 8) → logits (batch, 10). */
static tensor *vit(graph *g, tensor *image) {
    tensor *patches = conv2d_strided(image, WIDTH, 2, 2, 0); /* (batch, WIDTH, 4, 4) */
    tensor *x = transpose(reshape(patches, BATCH, WIDTH, PATCHES));
    x = add(x, parameter(g, "positions", init_normal(0, 0.02f), PATCHES, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        tensor *y = layer_norm(x);
        x = add(x, multi_head_attention(y, y, y, HEADS, NULL));
        x = add(x, linear(gelu(linear(layer_norm(x), 4 * WIDTH)), WIDTH));
    }
    return linear(mean(layer_norm(x), 1), 10);
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], unseen_images[TESTED][DIGIT_PIXELS];
    static int32_t labels[BATCH_SIZE], unseen_labels[TESTED];
    float now = 0;
    int32_t count = 0;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn = NULL, *classify = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, 1, 8, 8), *label = input(g, "label", I32);
    tensor *logits = vit(g, image), *loss = cross_entropy(logits, label);
    tensor *right = sum(cast(equal(argmax(logits, 1), label), I32));
    status error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adamw(2e-3f, 0.01f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error)
        error = plan_create(&classify, TENSORS(right), WITH(plan, .batch = TESTED, .inference = true));
    if (!error) error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train");
    if (!error) error = dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {VALUE(image, images), VALUE(label, labels), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        if (!draw_digits(seen, 0, 9, BATCH_SIZE, images, labels)) break;
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        if (loop_every(loop, 250)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    if (!error && !loop->stopped && draw_digits(unseen, 0, 9, TESTED, unseen_images, unseen_labels)) {
        error = plan_step(
            classify, VALUES(VALUE(image, unseen_images), VALUE(label, unseen_labels), VALUE(right, count)));
        if (!error) printf("%d of %d test digits are right\n", count, TESTED);
    }
    plan_release(learn), plan_release(classify), dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"vit",
        "Trains a vision transformer, which reads digits as patches that attend to one another.", options,
        OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
