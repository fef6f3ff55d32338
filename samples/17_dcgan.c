/* A convolutional generative adversarial network (A. Radford et al. 2016) learns to write digits: the discriminator tells them
 * from real ones, and each of the two networks has an optimizer, and a plan, of its own. */
#include "digit_generator.h"

enum { BATCH = 64 };
enum { DATA, STEPS, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "steps of each network", "1500"},
    [TRACE] = TRACE_OPTION,
};

typedef struct gan {
    weft_tensor *image, *noise, *fake,
        *outputs[2][3]; /* of each network the loss, the update, and the noise */
    weft_plan *learn[2], *draw;
} gan;

/* Logits: above 0 for what it takes for a real digit. */
static weft_tensor *discriminator(weft_graph *graph, weft_tensor *image) {
    weft_scope_begin(graph, "discriminator", true); /* a shared scope: all calls are one network */
    weft_tensor *x = weft_silu(weft_conv2d_strided(image, WIDTH, 4, 2, 1));
    x = weft_silu(weft_batch_norm(weft_conv2d_strided(x, 2 * WIDTH, 4, 2, 1)));
    weft_tensor *logits = weft_linear(weft_flatten(x), 1);
    weft_scope_end(graph);
    return logits;
}

/* Cross-entropies: log(1 + e^-x) for the answer that x is real, log(1 + e^x) for the answer that it is not. */
static weft_status make(gan *g, weft_graph *graph) {
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH},
                            inference = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    const char *const names[] = {"discriminator.*", "generator.*"};
    weft_optimizer rules[] = {weft_adam(1e-3f), weft_adam(2e-3f)};
    weft_status status = WEFT_OK;
    g->image = weft_input(graph, "image", WEFT_F32, 1, 8, 8);
    g->noise = weft_normal(graph, 0, 1, 2, (const int64_t[]){WEFT_BATCH, NOISE});
    g->fake = digit_generator(graph, g->noise);
    weft_tensor *real = weft_softplus(weft_neg(discriminator(graph, g->image)));
    weft_tensor *caught = weft_softplus(discriminator(graph, weft_stop_gradient(g->fake)));
    g->outputs[0][0] = weft_mean(weft_add(real, caught));
    g->outputs[1][0] = weft_mean(weft_softplus(weft_neg(discriminator(graph, g->fake))));
    for (int i = 0; i < 2 && !status; i++) {
        rules[i].beta1 = 0.5f, rules[i].epsilon = 1e-6f;
        weft_optimizer_state *optimizer = weft_optimizer_create(graph, &rules[i]);
        g->outputs[i][1] = weft_optimizer_minimize(optimizer, g->outputs[i][0], names[i]);
        g->outputs[i][2] = g->noise;
        status = weft_plan_create(&g->learn[i], g->outputs[i], 3, &size);
    }
    return status ? status : weft_plan_create(&g->draw, &g->fake, 1, &inference);
}

static weft_status train(const gan *g, const weft_dataset *digits, training_loop *loop) {
    static float images[BATCH][DIGIT_PIXELS], noise[2][BATCH][NOISE];
    weft_status status = loop_begin(loop);
    float loss[2];
    while (loop_next(loop, &status)) {
        if (!draw_digits(digits, 0, 9, BATCH, images, NULL)) break;
        for (int i = 0; i < 2 && !status; i++) {
            const weft_value values[] = {{g->outputs[i][0], &loss[i], sizeof *loss},
                {g->noise, noise[i], sizeof *noise}, {g->image, images, sizeof images}};
            status = weft_plan_step(g->learn[i], values, i ? 2 : 3); /* the generator sees no real ones */
        }
        trace_step(loss, 2, 2, images, sizeof images, noise, sizeof noise);
        if (loop_every(loop, 250))
            printf("step %4zu: losses %.3f, %.3f\n", loop->step, (double)loss[0], (double)loss[1]);
    }
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"dcgan", "Learns to write digits with two networks that learn by each other.",
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
    if (status) fprintf(stderr, "dcgan: %s\n", weft_last_error());
    weft_plan_release(g.learn[0]), weft_plan_release(g.learn[1]), weft_plan_release(g.draw);
    weft_dataset_release(digits), weft_context_release(context);
    return status ? 1 : end;
}
