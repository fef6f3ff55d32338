/* Fine-tuning: a residual network (K. He et al. 2016) learns the digits 0 to 4; then its body is frozen, norms included, and a
 * new linear layer learns to tell 5 to 9 apart by its features. */
#include "digits.h"

enum { BATCH = 64, CLASSES = 5 };
enum { DATA, STEPS, HEAD_STEPS, PRECISION, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_SEED, "N", "updates of the whole network", "100"},
    [HEAD_STEPS] = {"--head-steps", OPTION_COUNT, "N", "updates of the new layer", "200"},
    [PRECISION] = PRECISION_OPTION,
    [TRACE] = TRACE_OPTION,
};

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
    const weft_linear_options own = {WEFT_LINEAR_OPTIONS_INIT, .name = name};
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH},
                            inference = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    const weft_optimizer rule = weft_sgd_momentum(rate, 0.9f, 0);
    weft_tensor *logits = weft_linear_layer(features, CLASSES, &own);
    h->best = weft_argmax(logits, 1);
    h->outputs[0] = weft_cross_entropy(logits, h->label);
    h->outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &rule), h->outputs[0], NULL);
    const weft_status status = weft_plan_create(&h->learn, h->outputs, 2, &size);
    return status ? status : weft_plan_create(&h->classify, &h->best, 1, &inference);
}

static weft_status train(const head *h, const weft_dataset *digits, int32_t first, size_t last) {
    weft_status status = WEFT_OK;
    digit_batch b;
    float loss = 0;
    const weft_value values[] = {{h->image, b.images, sizeof b.images}, {h->label, b.labels, sizeof b.labels},
        {h->outputs[0], &loss, sizeof loss}};
    for (size_t step = 1; step <= last && !status; step++) {
        if (!draw_digits(digits, first, first + CLASSES - 1, BATCH, b.images, b.labels)) break;
        status = weft_plan_step(h->learn, values, 3);
        trace_step(&loss, 1, 1, &b, sizeof b);
    }
    if (!status) printf("digits from %d on: loss %.3f", (int)first, (double)loss);
    return status;
}

/* Of 640 digits that were not trained on. */
static weft_status test(const head *h, const weft_dataset *digits, int32_t first) {
    weft_status status = WEFT_OK;
    digit_batch b;
    int32_t best[BATCH];
    const weft_value values[] = {{h->image, b.images, sizeof b.images}, {h->best, best, sizeof best}};
    int right = 0;
    for (int round = 0; round < 10 && !status; round++) {
        if (!draw_digits(digits, first, first + CLASSES - 1, BATCH, b.images, b.labels)) break;
        status = weft_plan_step(h->classify, values, 2);
        for (int i = 0; i < BATCH; i++) right += best[i] == b.labels[i];
    }
    if (!status) printf(", %d of 640 are told apart\n", right);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"finetune", "Learns five digits, then five others by the features of the first.",
        options, OPTIONS, .trains = false};
    weft_context *context = NULL;
    weft_dataset *seen = NULL, *unseen = NULL;
    head h[2] = {{.image = NULL}};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) status = weft_dataset_open_idx(&seen, context, options[DATA].text, "train");
    if (!status) status = weft_dataset_open_idx(&unseen, context, options[DATA].text, "t10k");
    if (status) goto done;
    weft_graph *graph = weft_context_graph(context);
    if ((status = weft_graph_set_precision(graph, precision_of(&options[PRECISION])))) goto done;
    h[0].image = h[1].image = weft_input(graph, "image", WEFT_F32, 1, 8, 8);
    h[0].label = h[1].label = weft_input(graph, "label", WEFT_I32);
    weft_tensor *features = weft_resnet20(h[0].image, 0, "body.");
    for (int i = 0; i < 2 && !status; i++) {
        if (i) status = weft_freeze(graph, "body.*", true);
        if (!status) status = make(&h[i], graph, features, i ? "new" : "old", i ? 0.1f : 0.05f);
        if (!status && i) status = trace_begin(options[TRACE].text, graph);
        if (!status) status = train(&h[i], seen, 5 * i, option_count_of(&options[i ? HEAD_STEPS : STEPS]));
        if (!status) status = test(&h[i], unseen, 5 * i);
    }
done:
    if (status) fprintf(stderr, "finetune: %s\n", weft_last_error());
    for (int i = 0; i < 2; i++) weft_plan_release(h[i].learn), weft_plan_release(h[i].classify);
    weft_dataset_release(seen), weft_dataset_release(unseen), weft_context_release(context);
    return status != WEFT_OK;
}
