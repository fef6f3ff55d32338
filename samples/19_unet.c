/* A U-Net (O. Ronneberger et al. 2015) finds the strokes of digits under noise: what the network knows at each size of the
 * image goes down to half the size, and is put beside what comes up from there. */
#include "strokes.h"
#include <stdlib.h>
#include <weft/short_names.h>

enum { WIDTH = 16 };
enum { DATA, STEPS, NOISE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "500"},
    [NOISE] = {"--noise", OPTION_AMOUNT, "S", "standard deviation of the noise; strokes are 1, paper is 0",
        "0.5"},
};

static tensor *twice(tensor *x, int64_t filters) {
    for (int i = 0; i < 2; i++) x = silu(batch_norm(conv2d_strided(x, filters, 3, 1, 1)));
    return x;
}

/* image (batch, 1, 8, 8) → logits of the same shape. */
static tensor *unet(tensor *image) {
    tensor *fine = twice(image, WIDTH), *middle = twice(avg_pool2d(fine, 2), 2 * WIDTH);
    tensor *coarse = twice(avg_pool2d(middle, 2), 4 * WIDTH);
    tensor *x = concat(TENSORS(middle, conv_transpose2d(coarse, 2 * WIDTH, 2, 2, 0)), 1);
    x = concat(TENSORS(fine, conv_transpose2d(twice(x, 2 * WIDTH), WIDTH, 2, 2, 0)), 1);
    return conv2d(twice(x, WIDTH), 1, 1);
}

static status train(training_loop *loop) {
    static batch b, shown;
    static float finds[BATCH_SIZE][DIGIT_PIXELS];
    const double deviation = strtod(options[NOISE].text, NULL);
    float now = 0;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn = NULL, *find = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, 1, 8, 8), *strokes = input(g, "strokes", F32, 1, 8, 8);
    tensor *logits = unet(image), *found = sigmoid(logits), *loss = bce_with_logits(logits, strokes);
    status error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adam(3e-3f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error)
        error = plan_create(&find, TENSORS(found, loss), WITH(plan, .batch = BATCH_SIZE, .inference = true));
    if (!error) error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train");
    if (!error) error = dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const uint64_t before = draw_from(1); /* the pictures are of the same digits under the same noise */
    if (!error) (void)draw_batch(&shown, unseen, deviation);
    draw_from(before);
    const value pictures[] = {VALUE(image, shown.noisy), VALUE(found, finds), VALUE(strokes, shown.strokes)};
    const value values[] = {VALUE(image, b.noisy), VALUE(strokes, b.strokes), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        if (!draw_batch(&b, seen, deviation)) break;
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        if (!loop_every(loop, 100) || error) continue;
        printf("step %4zu: loss %.3f\n", loop->step, (double)now);
        error = draw_pictures(loop, find, pictures, 3, 3);
    }
    if (!error && !loop->stopped && draw_batch(&b, unseen, deviation)) { /* digits that were not trained on */
        error = plan_step(find, VALUES(values[0], values[1], VALUE(found, finds)));
        if (!error) report_strokes(&b, finds);
    }
    plan_release(learn), plan_release(find), dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"unet", "Learns to find the strokes of digits under noise.", options, OPTIONS,
        .loops = true, .draws = true};
    return loop_main(&line, argc, argv, train);
}
