/* Super-resolution (W. Shi et al. 2016): convolutions over a small image give four numbers for each of its pixels, which become
 * a square of four pixels of an image that is twice as large. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, WIDTH = 32 };
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "1000"},
};

/* (batch, 1, 4, 4) → (batch, 1, 8, 8). */
static tensor *enlarged(tensor *small) {
    tensor *x = silu(conv2d_strided(small, WIDTH, 3, 1, 1));
    x = silu(conv2d_strided(x, WIDTH, 3, 1, 1));
    return pixel_shuffle(conv2d_strided(x, 4, 3, 1, 1), 2);
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], drawn[BATCH_SIZE][DIGIT_PIXELS];
    static float shown[BATCH_SIZE][DIGIT_PIXELS], smooths[BATCH_SIZE][DIGIT_PIXELS];
    float now = 0, smooth = 0;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn = NULL, *enlarge = NULL;

    tensor *image = input(loop->graph, "image", F32, 1, 8, 8), *small = avg_pool2d(image, 2);
    tensor *large = enlarged(small), *loss = mse(large, image);
    tensor *linear = upsample_linear(small, 2, false), *smoothed = mse(linear, image);
    status error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adam(2e-3f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error)
        error = plan_create(&enlarge, TENSORS(large, loss, linear, smoothed),
            WITH(plan, .batch = BATCH_SIZE, .inference = true));
    if (!error) error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train");
    if (!error) error = dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    if (!error) draw_fixed_digits(unseen, BATCH_SIZE, shown);
    const value values[] = {VALUE(image, images), VALUE(loss, now)};
    const value pictures[] = {VALUE(linear, smooths), VALUE(large, drawn), VALUE(image, shown)};
    while (loop_next(loop, &error)) {
        if (!draw_digits(seen, 0, 9, BATCH_SIZE, images, NULL)) break;
        error = plan_step(learn, values, 2);
        trace_values(values, 2);
        if (!loop_every(loop, 250) || error) continue;
        printf("step %4zu: loss %.4f\n", loop->step, (double)now);
        error = draw_pictures(loop, enlarge, pictures, 3, 3);
    }
    if (!error && !loop->stopped && draw_digits(unseen, 0, 9, BATCH_SIZE, images, NULL)) {
        error =
            plan_step(enlarge, VALUES(values[0], values[1], VALUE(large, drawn), VALUE(smoothed, smooth)));
        if (!error) {
            show_digits(images, BATCH_SIZE), show_digits(drawn, BATCH_SIZE);
            printf("mean squared error %.4f; with linear interpolation %.4f\n", (double)now, (double)smooth);
        }
    }
    plan_release(learn), plan_release(enlarge), dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"super_resolution", "Learns to double the size of images of digits.", options,
        OPTIONS, .loops = true, .draws = true};
    return loop_main(&line, argc, argv, train);
}
