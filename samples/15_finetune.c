/* Fine-tuning: a residual network (K. He et al. 2016) learns the digits 0 to 4; then its body is frozen, norms included, and a
 * new linear layer learns to tell 5 to 9 apart by its features. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, TESTED = 640, CLASSES = 5 };
enum { DATA, STEPS, HEAD_STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_SEED, "N", "number of updates of the whole network", "100"},
    [HEAD_STEPS] = {"--head-steps", OPTION_COUNT, "N", "number of updates of the new layer", "200"},
};

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], unseen_images[TESTED][DIGIT_PIXELS];
    static int32_t labels[BATCH_SIZE], unseen_labels[TESTED];
    graph *g = loop->graph;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn[2] = {NULL}, *classify[2] = {NULL};
    tensor *losses[2], *rights[2];
    float now = 0;
    int32_t right = 0;
    status error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train");
    if (!error) error = dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");

    /* One body, and two linear layers over its features, of which the second one is trained while the body is frozen. */
    tensor *image = input(g, "image", F32, 1, 8, 8), *label = input(g, "label", I32);
    tensor *features = resnet20(image, 0, "body.");
    for (int i = 0; i < 2 && !error; i++) {
        tensor *logits = linear_layer(features, CLASSES, WITH(linear, .name = i ? "new" : "old"));
        losses[i] = cross_entropy(logits, label);
        rights[i] = sum(cast(equal(argmax(logits, 1), label), I32));
        tensor *update = train_step(losses[i], sgd_momentum(i ? 0.1f : 0.05f, 0.9f, 0), NULL);
        error = plan_create(&learn[i], TENSORS(losses[i], update), WITH(plan, .batch = BATCH_SIZE));
        if (!error)
            error =
                plan_create(&classify[i], TENSORS(rights[i]), WITH(plan, .batch = TESTED, .inference = true));
        if (!error) error = freeze(g, "body.*", true); /* in what is made from now on */
    }
    loop_keep(loop, "loss", &now, sizeof now);
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    for (int i = 0; i < 2 && !error && !loop->stopped; i++) {
        const int32_t first = CLASSES * i, last = first + CLASSES - 1;
        const value values[] = {VALUE(image, images), VALUE(label, labels), VALUE(losses[i], now)};
        if (i) loop->last += option_count_of(&options[HEAD_STEPS]);
        if (loop->step > loop->last) continue; /* that part was over when the checkpoint was saved */
        while (loop_next(loop, &error)) {
            if (!draw_digits(seen, first, last, BATCH_SIZE, images, labels)) break;
            error = plan_step(learn[i], values, 3);
            trace_values(values, 3);
        }
        if (error || loop->stopped || !draw_digits(unseen, first, last, TESTED, unseen_images, unseen_labels))
            break;
        error = plan_step(classify[i],
            VALUES(VALUE(image, unseen_images), VALUE(label, unseen_labels), VALUE(rights[i], right)));
        if (!error)
            printf("digits from %d on: loss %.3f, %d of %d are right\n", first, (double)now, right, TESTED);
    }
    for (int i = 0; i < 2; i++) plan_release(learn[i]), plan_release(classify[i]);
    dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"finetune",
        "Learns five digits, then five others with the features learned from the first.", options, OPTIONS,
        .loops = true};
    return loop_main(&line, argc, argv, train);
}
