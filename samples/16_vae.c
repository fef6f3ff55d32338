/* A variational autoencoder (D. Kingma and M. Welling 2014) learns to write digits: the encoder gives a normal distribution
 * of codes for each image, a code is drawn on the device, and the decoder makes an image of it. */
#include "digits.h"

enum { BATCH = 64, WIDTH = 128, CODE = 8 };
enum { DATA, STEPS, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "updates", "2000"},
    [TRACE] = TRACE_OPTION,
};

typedef struct vae {
    weft_tensor *image, *noise, *outputs[3], *drawn; /* the loss, the update, and the noise */
    weft_plan *learn, *draw;
} vae;

/* Logits of pixels; in a scope that shares, all calls are one network. */
static weft_tensor *decoder(weft_graph *graph, weft_tensor *code) {
    weft_scope_begin(graph, "decoder", true);
    weft_tensor *logits = weft_linear(weft_relu(weft_linear(code, WIDTH)), DIGIT_PIXELS);
    weft_scope_end(graph);
    return logits;
}

static weft_status make(vae *v, weft_graph *graph) {
    const weft_optimizer adam = weft_adam(2e-3f);
    const weft_loss_options by_image = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_BATCH_MEAN};
    const weft_plan_options many = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    const int64_t codes[] = {WEFT_BATCH, CODE};
    v->image = weft_input(graph, "image", WEFT_F32, DIGIT_PIXELS);
    v->noise = weft_normal(graph, 0, 1, 2, codes);
    weft_tensor *h = weft_relu(weft_linear(v->image, WIDTH));
    weft_tensor *mean = weft_linear(h, CODE), *log_variance = weft_linear(h, CODE);
    weft_tensor *code = weft_add(mean, weft_mul(v->noise, weft_exp(weft_mul_number(log_variance, 0.5))));
    weft_tensor *away = weft_sub(weft_add(weft_exp(log_variance), weft_square(mean)), log_variance);
    weft_tensor *divergence = weft_mul_number(weft_mean(weft_sum(weft_sub_number(away, 1), 1)), 0.5);
    v->outputs[0] =
        weft_add(weft_bce_with_logits_loss(decoder(graph, code), v->image, NULL, &by_image), divergence);
    v->outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &adam), v->outputs[0], NULL);
    v->outputs[2] = v->noise;
    v->drawn = weft_sigmoid(decoder(graph, weft_normal(graph, 0, 1, 2, codes)));
    const weft_status status = weft_plan_create(&v->learn, v->outputs, 3, &many);
    return status ? status : weft_plan_create(&v->draw, &v->drawn, 1, &many);
}

static weft_status train(const vae *v, const weft_dataset *digits, training_loop *loop) {
    static float images[BATCH][DIGIT_PIXELS], noise[BATCH][CODE];
    float loss = 0;
    const weft_value values[] = {{v->image, images, sizeof images}, {v->outputs[0], &loss, sizeof loss},
        {v->noise, noise, sizeof noise}};
    weft_status status = loop_begin(loop);
    while (loop_next(loop, &status)) {
        if (!draw_digits(digits, 0, 9, BATCH, images, NULL)) break;
        status = weft_plan_step(v->learn, values, 3);
        trace_step(&loss, 1, 2, images, sizeof images, noise, sizeof noise);
        if (loop_every(loop, 500)) printf("step %4zu: loss %.3f\n", loop->step, (double)loss);
    }
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"vae", "Learns to write digits from random codes.", options, OPTIONS, .loops = true};
    static float drawn[BATCH][DIGIT_PIXELS];
    weft_context *context = NULL;
    weft_dataset *digits = NULL;
    vae v = {.image = NULL};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    weft_status status = loop_context(&context, &line);
    if (!status) status = weft_dataset_open_idx(&digits, context, options[DATA].text, "train");
    if (status) goto done;
    weft_graph *graph = weft_context_graph(context);
    training_loop loop = {.line = &line, .graph = graph, .last = option_count_of(&options[STEPS])};
    status = make(&v, graph);
    if (!status) status = trace_begin(options[TRACE].text, graph);
    if (!status) status = train(&v, digits, &loop);
    if (status || (end = loop.stopped)) goto done;
    status = weft_plan_step(v.draw, &(weft_value){v.drawn, drawn, sizeof drawn}, 1);
    if (!status) report_digits(digits, drawn, BATCH);
done:
    if (status) fprintf(stderr, "vae: %s\n", weft_last_error());
    weft_plan_release(v.learn), weft_plan_release(v.draw);
    weft_dataset_release(digits), weft_context_release(context);
    return status ? 1 : end;
}
