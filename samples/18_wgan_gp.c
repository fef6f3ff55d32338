/* A Wasserstein generative adversarial network with a penalty on gradients (I. Gulrajani et al. 2017) learns to write digits:
 * the critic's loss holds the norm of its own gradient, of which training takes the gradient again. */
#include "digit_generator.h"

enum { BATCH_SIZE = 64, ROUND = 6 }; /* five steps of the critic to one of the generator */
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "training steps; every sixth trains the generator", "3000"},
};

static tensor *critic(graph *g, tensor *image) {
    scope_begin(g, "critic", true);
    tensor *x = silu(conv2d_strided(image, WIDTH, 4, 2, 1));
    x = silu(conv2d_strided(x, 2 * WIDTH, 4, 2, 1));
    tensor *score = linear(flatten(x), 1);
    scope_end(g);
    return score;
}

/* How far the slope of the critic is from 1 between drawn digits and real ones. */
static tensor *penalty(graph *g, tensor *image, tensor *fake, tensor *share) {
    tensor *between = add(fake, mul(share, sub(image, fake)));
    tensor *slope = gradient(sum(critic(g, between)), between);
    return mean(square(sub_number(norm(slope, 1, 2, 3), 1)));
}

static optimizer rule(float rate) {
    return (optimizer){ADAM, .rate = rate, .beta1 = 0.5f, .beta2 = 0.9f, .epsilon = 1e-8f};
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], noises[BATCH_SIZE][NOISE], codes[BATCH_SIZE][NOISE];
    static float shares[BATCH_SIZE], now[2];
    plan *learn[2] = {NULL}, *draw = NULL;
    dataset *digits = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, 1, 8, 8), *noise = normal(g, 0, 1, SHAPE(BATCH, NOISE));
    tensor *share = uniform(g, 0, 1, SHAPE(BATCH, 1, 1, 1));
    tensor *drawing = digit_generator(g, noise), *fake = stop_gradient(drawing);
    tensor *steep = penalty(g, image, fake, share);
    tensor *apart = sub(mean(critic(g, fake)), mean(critic(g, image)));
    tensor *losses[] = {add(apart, mul_number(steep, 10)), neg(mean(critic(g, drawing)))};
    tensor *given = input(g, "code", F32, NOISE), *shown = digit_generator(g, given);
    const char *parameters[] = {"critic.*", "generator.*"};
    const float rates[] = {1e-3f, 2e-3f};

    status error = dataset_open_idx(&digits, loop->context, options[DATA].text, "train");
    for (int i = 0; i < 2 && !error; i++) {
        tensor *outputs[] = {losses[i], noise, train_step(losses[i], rule(rates[i]), parameters[i]), share};
        error = plan_create(&learn[i], outputs, i ? 3 : 4, WITH(plan, .batch = BATCH_SIZE));
    }
    if (!error)
        error = plan_create(&draw, TENSORS(shown), WITH(plan, .batch = BATCH_SIZE, .inference = true));
    loop_keep(loop, "losses", now, sizeof now); /* each is of some of the steps */
    trace_measure(losses[0], "critic_loss", "loss/critic");
    trace_measure(losses[1], "generator_loss", "loss/generator");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value pictures[] = {VALUE(given, codes), VALUE(shown, images)};
    draw_fixed(1, codes, sizeof codes);
    while (loop_next(loop, &error)) {
        const int i = loop->step % ROUND == 0;
        const value values[] = {
            VALUE(losses[i], now[i]), VALUE(noise, noises), VALUE(image, images), VALUE(share, shares)};
        if (!draw_digits(digits, 0, 9, BATCH_SIZE, images, NULL)) break;
        error = plan_step(learn[i], values, i ? 2 : 4);
        trace_values(values, i ? 2 : 4);
        if (!loop_every(loop, 600) || error) continue;
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
    command_line line = {"wgan_gp",
        "Learns to write digits with a critic whose gradient norm is kept near 1.", options, OPTIONS,
        .loops = true, .draws = true};
    return loop_main(&line, argc, argv, train);
}
