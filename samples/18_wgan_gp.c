/* A Wasserstein generative adversarial network with a penalty on gradients (I. Gulrajani et al. 2017) learns to write digits:
 * the critic's loss holds the norm of its own gradient, of which training takes the gradient again. */
#include "digit_generator.h"

enum { BATCH = 64, ROUND = 6 }; /* five steps of the critic to one of the generator */
enum { DATA, STEPS, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "steps, of which each sixth is the generator's", "3000"},
    [TRACE] = TRACE_OPTION,
};

typedef struct gan {
    weft_tensor *image, *noise, *share, *fake,
        *outputs[2][4]; /* of each network the loss, the update, and what is drawn */
    weft_plan *learn[2], *draw;
} gan;

static weft_tensor *critic(weft_graph *graph, weft_tensor *image) {
    weft_scope_begin(graph, "critic", true);
    weft_tensor *x = weft_silu(weft_conv2d_strided(image, WIDTH, 4, 2, 1));
    x = weft_silu(weft_conv2d_strided(x, 2 * WIDTH, 4, 2, 1));
    weft_tensor *score = weft_linear(weft_flatten(x), 1);
    weft_scope_end(graph);
    return score;
}

static weft_status make(gan *g, weft_graph *graph) {
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH},
                            inference = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    weft_optimizer rules[] = {weft_adam(1e-3f), weft_adam(2e-3f)};
    g->image = weft_input(graph, "image", WEFT_F32, 1, 8, 8);
    g->noise = weft_normal(graph, 0, 1, 2, (const int64_t[]){WEFT_BATCH, NOISE});
    g->share = weft_uniform(graph, 0, 1, 4, (const int64_t[]){WEFT_BATCH, 1, 1, 1});
    g->fake = digit_generator(graph, g->noise);
    weft_tensor *fake = weft_stop_gradient(g->fake);
    weft_tensor *between = weft_add(fake, weft_mul(g->share, weft_sub(g->image, fake)));
    weft_tensor *slope = weft_gradient(weft_sum(critic(graph, between)), between);
    weft_tensor *steep = weft_square(weft_sub_number(weft_norm(slope, 1, 2, 3), 1));
    weft_tensor *apart = weft_sub(weft_mean(critic(graph, fake)), weft_mean(critic(graph, g->image)));
    const char *const names[] = {"critic.*", "generator.*"};
    weft_status status = WEFT_OK;
    g->outputs[0][0] = weft_add(apart, weft_mul_number(weft_mean(steep), 10));
    g->outputs[1][0] = weft_neg(weft_mean(critic(graph, g->fake)));
    for (int i = 0; i < 2 && !status; i++) {
        rules[i].beta1 = 0.5f, rules[i].beta2 = 0.9f;
        weft_optimizer_state *optimizer = weft_optimizer_create(graph, &rules[i]);
        g->outputs[i][1] = weft_optimizer_minimize(optimizer, g->outputs[i][0], names[i]);
        g->outputs[i][2] = g->noise, g->outputs[i][3] = g->share;
        status = weft_plan_create(&g->learn[i], g->outputs[i], i ? 3 : 4, &size);
    }
    return status ? status : weft_plan_create(&g->draw, &g->fake, 1, &inference);
}

static weft_status train(const gan *g, const weft_dataset *digits, training_loop *loop) {
    static float images[BATCH][DIGIT_PIXELS], noise[BATCH][NOISE], share[BATCH];
    static float loss[2];
    loop_keep(loop, "losses", loss, sizeof loss); /* each is of some of the steps */
    weft_status status = loop_begin(loop);
    while (loop_next(loop, &status)) {
        const int i = loop->step % ROUND == 0;
        const weft_value values[] = {{g->outputs[i][0], &loss[i], sizeof *loss},
            {g->noise, noise, sizeof noise}, {g->share, share, sizeof share},
            {g->image, images, sizeof images}};
        if (!draw_digits(digits, 0, 9, BATCH, images, NULL)) break;
        status = weft_plan_step(g->learn[i], values, i ? 2 : 4);
        trace_step(&loss[i], 1, 3, images, sizeof images, noise, sizeof noise, share, sizeof share);
        if (loop_every(loop, 600))
            printf("step %4zu: losses %.3f, %.3f\n", loop->step, (double)loss[0], (double)loss[1]);
    }
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"wgan_gp", "Learns to write digits with a critic whose gradient is kept near 1.",
        options, OPTIONS, .loops = true};
    static float drawn[BATCH][DIGIT_PIXELS];
    weft_context *context = NULL;
    weft_dataset *digits = NULL;
    gan g = {.image = NULL};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    weft_status status = loop_context(&context, &line);
    if (!status) status = weft_dataset_open_idx(&digits, context, options[DATA].text, "train");
    if (status) goto done;
    weft_graph *graph = weft_context_graph(context);
    training_loop loop = {.line = &line, .graph = graph, .last = option_count_of(&options[STEPS])};
    status = make(&g, graph);
    if (!status) status = trace_begin(options[TRACE].text, graph);
    if (!status) status = train(&g, digits, &loop);
    if (status || (end = loop.stopped)) goto done;
    status = weft_plan_step(g.draw, &(weft_value){g.fake, drawn, sizeof drawn}, 1);
    if (!status) report_digits(digits, drawn, BATCH);
done:
    if (status) fprintf(stderr, "wgan_gp: %s\n", weft_last_error());
    weft_plan_release(g.learn[0]), weft_plan_release(g.learn[1]), weft_plan_release(g.draw);
    weft_dataset_release(digits), weft_context_release(context);
    return status ? 1 : end;
}
