/* A variational autoencoder (D. Kingma and M. Welling 2014) learns to write digits: the encoder gives a normal distribution
 * of codes for each image, a code is drawn on the device, and the decoder makes an image of it. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, WIDTH = 128, CODE = 8 };
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "2000"},
};

/* Logits of pixels; in a scope that shares, all calls are one network. */
static tensor *decoder(graph *g, tensor *code) {
    scope_begin(g, "decoder", true);
    tensor *logits = linear(relu(linear(code, WIDTH)), DIGIT_PIXELS);
    scope_end(g);
    return logits;
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], drawn[BATCH_SIZE][DIGIT_PIXELS];
    static float noises[BATCH_SIZE][CODE], codes[BATCH_SIZE][CODE];
    float now = 0;
    dataset *digits = NULL;
    plan *learn = NULL, *draw = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, DIGIT_PIXELS);
    tensor *h = relu(linear(image, WIDTH)), *mean = linear(h, CODE), *log_variance = linear(h, CODE);
    tensor *noise = normal(g, 0, 1, SHAPE(BATCH, CODE));
    tensor *code = add(mean, mul(noise, weft_exp(mul_number(log_variance, 0.5))));
    tensor *away = sub(add(weft_exp(log_variance), square(mean)), log_variance);
    tensor *divergence = mul_number(mean(sum(sub_number(away, 1), 1)), 0.5);
    tensor *logits = decoder(g, code);
    tensor *loss =
        add(bce_with_logits_loss(logits, image, NULL, WITH(loss, .reduction = LOSS_BATCH_MEAN)), divergence);
    tensor *given = input(g, "code", F32, CODE), *drawing = sigmoid(decoder(g, given));

    status error = plan_create(
        &learn, TENSORS(loss, noise, train_step(loss, adam(2e-3f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = plan_create(&draw, TENSORS(drawing), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = dataset_open_idx(&digits, loop->context, options[DATA].text, "train");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {VALUE(image, images), VALUE(noise, noises), VALUE(loss, now)};
    const value pictures[] = {VALUE(given, codes), VALUE(drawing, drawn)};
    draw_fixed(1, codes, sizeof codes);
    while (loop_next(loop, &error)) {
        if (!draw_digits(digits, 0, 9, BATCH_SIZE, images, NULL)) break;
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        if (!loop_every(loop, 500) || error) continue;
        printf("step %4zu: loss %.3f\n", loop->step, (double)now);
        error = draw_pictures(loop, draw, pictures, 2, 1);
    }
    if (!error && !loop->stopped) {
        error = plan_step(draw, pictures, 2);
        if (!error) report_digits(digits, drawn, BATCH_SIZE);
    }
    plan_release(learn), plan_release(draw), dataset_release(digits);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"vae", "Trains a variational autoencoder, which writes digits from random codes.",
        options, OPTIONS, .loops = true, .draws = true};
    return loop_main(&line, argc, argv, train);
}
