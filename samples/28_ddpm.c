/* Denoising diffusion (J. Ho et al. 2020) learns to draw digits: a network learns to tell the noise that was added to an
 * image, and takes it away step by step from noise alone. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, TIMES = 100, WIDTH = 32 };
enum { DATA, STEPS, OPTIONS };
static float images[BATCH_SIZE][DIGIT_PIXELS], noises[BATCH_SIZE][DIGIT_PIXELS];
static int32_t times[BATCH_SIZE];
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION, [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "600"}};

/* Two convolutions; the time is added between them. */
static tensor *block(tensor *x, tensor *time, int64_t filters) {
    x = conv2d(x, filters, 3, .padding = 1);
    x = add(x, unsqueeze(unsqueeze(linear(time, filters), -1), -1));
    return silu(conv2d(silu(group_norm(x, 4)), filters, 3, .padding = 1));
}

/* The noise in images (batch, 1, 8, 8) at the times t (batch) or (1); in a scope that shares, all calls are one network. */
static tensor *unet(tensor *image, tensor *t) {
    graph *g = tensor_graph(image);
    scope_begin(g, "unet", true);
    tensor *rates = number_pow(1000, mul_number(arange(g, F32, 0, WIDTH / 2, 1), -2.0 / WIDTH));
    tensor *angles = mul(unsqueeze(cast(t, F32), 1), rates);
    tensor *time = concat(TENSORS(weft_sin(angles), weft_cos(angles)), 1);
    tensor *fine = block(image, time, WIDTH), *coarse = block(avg_pool2d(fine, 2), time, 2 * WIDTH);
    tensor *x = concat(TENSORS(fine, conv_transpose2d(coarse, WIDTH, 2, 2, 0)), 1);
    x = conv2d(block(x, time, WIDTH), 1, 1);
    scope_end(g);
    return x;
}

/* At the times t (n): how much noise comes then (beta), and how much of the image is left of it, (n, 1, 1, 1). */
static tensor *kept_at(tensor *t, tensor **beta) {
    tensor *betas = reshape(arange(tensor_graph(t), F32, 0, TIMES, 1), TIMES, 1, 1, 1);
    betas = add_number(mul_number(betas, (0.2 - 1e-3) / (TIMES - 1)), 1e-3);
    return *beta = index_select(betas, 0, t), index_select(cumprod(number_sub(1, betas), 0), 0, t);
}

/* From images at the time t (1) to those of the time before, which have this noise in the place of more. */
static tensor *cleaned(tensor *image, tensor *t, tensor *noise) {
    tensor *beta, *kept = kept_at(t, &beta);
    tensor *x = sub(image, mul(div(beta, weft_sqrt(number_sub(1, kept))), unet(image, t)));
    return add(div(x, weft_sqrt(number_sub(1, beta))), mul(weft_sqrt(beta), noise));
}

/* Takes the noise away step by step from images that are noise alone, the same each time, and saves the result. */
static status sample(const training_loop *loop, plan *clean, const value *values) {
    status error = WEFT_OK;
    draw_fixed(TIMES, images, sizeof images);
    for (times[0] = TIMES - 1; times[0] >= 0 && !error; times[0]--) {
        draw_fixed((uint64_t)times[0], noises, sizeof noises);
        if (times[0] == 0) memset(noises, 0, sizeof noises);
        error = plan_step(clean, values, 4);
    }
    for (float *p = images[0], *end = p + sizeof images / sizeof *p; p < end; p++) *p = (*p + 1) / 2;
    return error ? error : save_digits(loop, values + 3, 1, BATCH_SIZE);
}

static status train(training_loop *loop) {
    float now = 0;
    dataset *digits = NULL;
    plan *learn = NULL, *clean = NULL;
    graph *g = loop->graph;
    tensor *t = cast(uniform(g, 0, TIMES, SHAPE(BATCH)), I32);
    tensor *image = input(g, "image", F32, 1, 8, 8), *noise = normal(g, 0, 1, SHAPE(BATCH, 1, 8, 8));
    tensor *beta, *kept = kept_at(t, &beta);
    tensor *noisy = mul(weft_sqrt(kept), sub_number(mul_number(image, 2), 1)); /* from -1 to 1 */
    noisy = add(noisy, mul(weft_sqrt(number_sub(1, kept)), noise));
    tensor *loss = mse(unet(noisy, t), noise);
    tensor *drawing = input(g, "drawing", F32, 1, 8, 8), *fresh = input(g, "noise", F32, 1, 8, 8);
    tensor *time = input_shape(g, "time", I32, SHAPE(1)), *cleaner = cleaned(drawing, time, fresh);
    status error =
        plan_create(&learn, TENSORS(loss, t, noise, train_step(loss, adam(2e-3f), NULL)),
            WITH(plan, .batch = BATCH_SIZE)) ||
        plan_create(&clean, TENSORS(cleaner), WITH(plan, .batch = BATCH_SIZE, .inference = true)) ||
        dataset_open_idx(&digits, loop->context, options[DATA].text, "train") ||
        loop_begin(loop, option_count_of(&options[STEPS]));
    const value back[] = {
        VALUE(drawing, images), {time, times, sizeof *times}, VALUE(fresh, noises), VALUE(cleaner, images)};
    const value values[] = {VALUE(image, images), VALUE(t, times), VALUE(noise, noises), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        if (!draw_digits(digits, 0, 9, BATCH_SIZE, images, NULL)) break;
        error = plan_step(learn, values, 4);
        trace_values(values, 4);
        if (loop_every(loop, 250)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
        if (!error && wants_pictures(loop) && loop_every(loop, 250)) error = sample(loop, clean, back);
    }
    if (!error && !loop->stopped && !(error = sample(loop, clean, back)))
        report_digits(digits, images, BATCH_SIZE);
    plan_release(learn), plan_release(clean), dataset_release(digits);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "ddpm", "Learns to draw digits by removing noise.", options, OPTIONS, .loops = true, .draws = true};
    return loop_main(&line, argc, argv, train);
}
