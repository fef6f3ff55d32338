/* A U-Net (O. Ronneberger et al. 2015) finds the strokes of digits under noise: what the network knows at each size of the
 * image goes down to half the size, and is put beside what comes up from there. */
#include "strokes.h"
#include <stdlib.h>

enum { WIDTH = 16 };
enum { DATA, STEPS, NOISE, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "updates", "500"},
    [NOISE] = {"--noise", OPTION_AMOUNT, "S", "its deviation; strokes are 1, paper is 0", "0.5"},
    [TRACE] = TRACE_OPTION,
};

typedef struct unet {
    weft_tensor *image, *strokes, *found, *outputs[2]; /* the loss, and the update */
    weft_plan *learn, *find;
} unet;

static weft_tensor *twice(weft_tensor *x, int64_t filters) {
    for (int i = 0; i < 2; i++) x = weft_silu(weft_batch_norm(weft_conv2d_strided(x, filters, 3, 1, 1)));
    return x;
}

static weft_status make(unet *u, weft_graph *graph) {
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH},
                            inference = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    const weft_optimizer adam = weft_adam(3e-3f);
    u->image = weft_input(graph, "image", WEFT_F32, 1, 8, 8);
    u->strokes = weft_input(graph, "strokes", WEFT_F32, 1, 8, 8);
    weft_tensor *fine = twice(u->image, WIDTH), *middle = twice(weft_avg_pool2d(fine, 2), 2 * WIDTH);
    weft_tensor *coarse = twice(weft_avg_pool2d(middle, 2), 4 * WIDTH);
    weft_tensor *low[] = {middle, weft_conv_transpose2d(coarse, 2 * WIDTH, 2, 2, 0)};
    weft_tensor *up = twice(weft_concat(low, 2, 1), 2 * WIDTH);
    weft_tensor *top[] = {fine, weft_conv_transpose2d(up, WIDTH, 2, 2, 0)};
    weft_tensor *logits = weft_conv2d(twice(weft_concat(top, 2, 1), WIDTH), 1, 1);
    u->found = weft_sigmoid(logits);
    u->outputs[0] = weft_bce_with_logits(logits, u->strokes);
    u->outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &adam), u->outputs[0], NULL);
    const weft_status status = weft_plan_create(&u->learn, u->outputs, 2, &size);
    return status ? status : weft_plan_create(&u->find, &u->found, 1, &inference);
}

static weft_status train(const unet *u, const weft_dataset *digits, batch *b, training_loop *loop) {
    weft_status status = loop_begin(loop);
    float loss = 0;
    const weft_value values[] = {{u->image, b->noisy, sizeof b->noisy},
        {u->strokes, b->strokes, sizeof b->strokes}, {u->outputs[0], &loss, sizeof loss}};
    while (loop_next(loop, &status)) {
        if (!draw_batch(b, digits, strtod(options[NOISE].text, NULL))) break;
        status = weft_plan_step(u->learn, values, 3);
        trace_step(&loss, 1, 2, b->noisy, sizeof b->noisy, b->strokes, sizeof b->strokes);
        if (loop_every(loop, 100)) printf("step %4zu: loss %.3f\n", loop->step, (double)loss);
    }
    return status;
}

/* On digits that were not trained on. */
static weft_status test(const unet *u, const weft_dataset *digits, batch *b) {
    static float found[BATCH][DIGIT_PIXELS];
    const weft_value values[] = {{u->image, b->noisy, sizeof b->noisy}, {u->found, found, sizeof found}};
    if (!draw_batch(b, digits, strtod(options[NOISE].text, NULL))) return WEFT_OK;
    const weft_status status = weft_plan_step(u->find, values, 2);
    if (!status) report_strokes(b, found);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {
        "unet", "Learns to find the strokes of digits under noise.", options, OPTIONS, .loops = true};
    static batch b;
    weft_context *context = NULL;
    weft_dataset *seen = NULL, *unseen = NULL;
    unet u = {.image = NULL};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    weft_status status = loop_context(&context, &line);
    if (!status) status = weft_dataset_open_idx(&seen, context, options[DATA].text, "train");
    if (!status) status = weft_dataset_open_idx(&unseen, context, options[DATA].text, "t10k");
    if (status) goto done;
    weft_graph *graph = weft_context_graph(context);
    training_loop loop = {.line = &line, .graph = graph, .last = option_count_of(&options[STEPS])};
    status = make(&u, graph);
    if (!status) status = trace_begin(options[TRACE].text, graph);
    if (!status) status = train(&u, seen, &b, &loop);
    if (!status && !(end = loop.stopped)) status = test(&u, unseen, &b);
done:
    if (status) fprintf(stderr, "unet: %s\n", weft_last_error());
    weft_plan_release(u.learn), weft_plan_release(u.find), weft_dataset_release(seen);
    weft_dataset_release(unseen), weft_context_release(context);
    return status ? 1 : end;
}
