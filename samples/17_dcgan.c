/* A convolutional generative adversarial network (A. Radford et al. 2016) learns to write digits: the discriminator tells them
 * from real ones, and each of the two networks has an optimizer, and a plan, of its own. */
#include "digit_generator.h"

enum { BATCH_SIZE = 64 };
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "training steps of each network", "1500"},
};

/* Logits: above 0 for what it takes for a real digit. */
static tensor *discriminator(graph *g, tensor *image) {
    scope_begin(g, "discriminator", true); /* a shared scope: all calls are one network */
    tensor *x = silu(conv2d_strided(image, WIDTH, 4, 2, 1));
    x = silu(batch_norm(conv2d_strided(x, 2 * WIDTH, 4, 2, 1)));
    tensor *logits = linear(flatten(x), 1);
    scope_end(g);
    return logits;
}

static optimizer rule(float rate) {
    return (optimizer){ADAM, .rate = rate, .beta1 = 0.5f, .beta2 = 0.999f, .epsilon = 1e-6f};
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], noises[BATCH_SIZE][NOISE], codes[BATCH_SIZE][NOISE],
        now[2];
    plan *learn[2] = {NULL}, *draw = NULL;
    dataset *digits = NULL;
    graph *g = loop->graph;

    /* Cross-entropies: log(1 + e^-x) for the answer that x is real, log(1 + e^x) for the answer that it is not. */
    tensor *image = input(g, "image", F32, 1, 8, 8), *noise = normal(g, 0, 1, SHAPE(BATCH, NOISE));
    tensor *fake = digit_generator(g, noise), *real = softplus(neg(discriminator(g, image)));
    tensor *caught = softplus(discriminator(g, stop_gradient(fake)));
    tensor *losses[] = {mean(add(real, caught)), mean(softplus(neg(discriminator(g, fake))))};
    tensor *given = input(g, "code", F32, NOISE), *drawing = digit_generator(g, given);
    const char *parameters[] = {"discriminator.*", "generator.*"};
    const float rates[] = {1e-3f, 2e-3f};

    status error = dataset_open_idx(&digits, loop->context, options[DATA].text, "train");
    for (int i = 0; i < 2 && !error; i++) {
        tensor *update = train_step(losses[i], rule(rates[i]), parameters[i]);
        error = plan_create(&learn[i], TENSORS(losses[i], update, noise), WITH(plan, .batch = BATCH_SIZE));
    }
    if (!error)
        error = plan_create(&draw, TENSORS(drawing), WITH(plan, .batch = BATCH_SIZE, .inference = true));
    trace_measure(losses[0], "discriminator_loss", "loss/discriminator");
    trace_measure(losses[1], "generator_loss", "loss/generator");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value pictures[] = {VALUE(given, codes), VALUE(drawing, images)};
    draw_fixed(1, codes, sizeof codes);
    while (loop_next(loop, &error)) {
        if (!draw_digits(digits, 0, 9, BATCH_SIZE, images, NULL)) break;
        for (int i = 0; i < 2 && !error; i++) {
            const value values[] = {VALUE(losses[i], now[i]), VALUE(noise, noises), VALUE(image, images)};
            error = plan_step(learn[i], values, i ? 2 : 3); /* the generator sees no real ones */
            trace_values(values, i ? 2 : 3);
        }
        if (!loop_every(loop, 250) || error) continue;
        printf("step %4zu: losses %.3f, %.3f\n", loop->step, (double)now[0], (double)now[1]);
        error = draw_pictures(loop, draw, pictures, 2, 1);
    }
    if (!error && !loop->stopped) {
        error = plan_step(draw, pictures, 2);
        if (!error) report_digits(digits, images, BATCH_SIZE);
    }
    plan_release(learn[0]), plan_release(learn[1]), plan_release(draw), dataset_release(digits);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"dcgan",
        "Trains two convolutional networks against each other, so that one learns to write digits.", options,
        OPTIONS, .loops = true, .draws = true};
    return loop_main(&line, argc, argv, train);
}
