/* Fine-tuning: a residual network (K. He et al. 2016) learns the digits 0 to 4; then its body is frozen, norms included, and a
 * new linear layer learns to tell 5 to 9 apart by its features. */
#include "digits.h"
enum { BATCH = 64, CLASSES = 5 };
enum { DATA, STEPS, HEAD_STEPS, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_SEED, "N", "updates of the whole network", "100"},
    [HEAD_STEPS] = {"--head-steps", OPTION_COUNT, "N", "updates of the new layer", "200"},
    [TRACE] = TRACE_OPTION,
};

static float loss; /* of the last step */
typedef struct digit_batch {
    float images[BATCH][DIGIT_PIXELS];
    int32_t labels[BATCH];
} digit_batch;

/* A linear layer over the features, the plan of its steps, and one that classifies. */
typedef struct head {
    weft_tensor *image, *label, *best, *outputs[2];
    weft_plan *learn, *classify;
} head;

static weft_status make(head *h, weft_graph *graph, weft_tensor *features, const char *name, float rate) {
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH},
                            inference = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    const weft_optimizer rule = weft_sgd_momentum(rate, 0.9f, 0);
    weft_tensor *logits =
        weft_linear_layer(features, CLASSES, &(weft_linear_options){WEFT_LINEAR_OPTIONS_INIT, .name = name});
    h->best = weft_argmax(logits, 1);
    h->outputs[0] = weft_cross_entropy(logits, h->label);
    h->outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &rule), h->outputs[0], NULL);
    const weft_status status = weft_plan_create(&h->learn, h->outputs, 2, &size);
    return status ? status : weft_plan_create(&h->classify, &h->best, 1, &inference);
}

static weft_status train(const head *h, const weft_dataset *digits, int32_t first, training_loop *loop) {
    weft_status status = WEFT_OK;
    digit_batch b;
    const weft_value values[] = {{h->image, b.images, sizeof b.images}, {h->label, b.labels, sizeof b.labels},
        {h->outputs[0], &loss, sizeof loss}};
    while (loop_next(loop, &status)) {
        if (!draw_digits(digits, first, first + CLASSES - 1, BATCH, b.images, b.labels)) break;
        status = weft_plan_step(h->learn, values, 3);
        trace_step(&loss, 1, 1, &b, sizeof b);
    }
    return status;
}

/* Of 640 digits that were not trained on. */
static weft_status test(const head *h, const weft_dataset *digits, int32_t first) {
    weft_status status = WEFT_OK;
    digit_batch b;
    int32_t best[BATCH], right = 0;
    const weft_value values[] = {{h->image, b.images, sizeof b.images}, {h->best, best, sizeof best}};
    for (int round = 0; round < 10 && !status; round++) {
        if (!draw_digits(digits, first, first + CLASSES - 1, BATCH, b.images, b.labels)) break;
        status = weft_plan_step(h->classify, values, 2);
        for (int i = 0; i < BATCH; i++) right += best[i] == b.labels[i];
    }
    if (!status)
        printf("digits from %d on: loss %.3f, %d of 640 are told apart\n", first, (double)loss, right);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"finetune", "Learns five digits, then five others by the features of the first.",
        options, OPTIONS, .loops = true};
    weft_context *context = NULL;
    weft_dataset *seen = NULL, *unseen = NULL;
    head h[2] = {{.image = NULL}};
    training_loop loop = {.line = &line};
    if (!command_line_read(&line, argc, argv, &loop.stopped)) return loop.stopped;
    weft_status status = loop_context(&context, &line);
    if (!status) status = weft_dataset_open_idx(&seen, context, options[DATA].text, "train");
    if (!status) status = weft_dataset_open_idx(&unseen, context, options[DATA].text, "t10k");
    if (status) goto done;
    weft_graph *graph = loop.graph = weft_context_graph(context);
    h[0].image = h[1].image = weft_input(graph, "image", WEFT_F32, 1, 8, 8);
    h[0].label = h[1].label = weft_input(graph, "label", WEFT_I32);
    weft_tensor *features = weft_resnet20(h[0].image, 0, "body.");
    status = make(&h[0], graph, features, "old", 0.05f);
    if (!status) status = weft_freeze(graph, "body.*", true); /* in what is made from now on */
    if (!status) status = make(&h[1], graph, features, "new", 0.1f);
    loop_keep(&loop, "loss", &loss, sizeof loss);
    if (!status) status = loop_begin(&loop);
    for (int i = 0; i < 2 && !status && !loop.stopped; i++) {
        loop.last += option_count_of(&options[i ? HEAD_STEPS : STEPS]);
        if (loop.step > loop.last) continue; /* that part was over when the checkpoint was saved */
        if (i) status = trace_begin(options[TRACE].text, graph);
        if (!status) status = train(&h[i], seen, 5 * i, &loop);
        if (!status && !loop.stopped) status = test(&h[i], unseen, 5 * i);
    }
done:
    if (status) fprintf(stderr, "finetune: %s\n", weft_last_error());
    for (int i = 0; i < 2; i++) weft_plan_release(h[i].learn), weft_plan_release(h[i].classify);
    weft_dataset_release(seen), weft_dataset_release(unseen), weft_context_release(context);
    return status ? 1 : loop.stopped;
}
