/* One body with two heads: it learns which digit an image shows, a class, and how much ink the image has, a number. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, TESTED = 640, WIDTH = 128 };
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "1000"},
};

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], unseen_images[TESTED][DIGIT_PIXELS];
    static int32_t labels[BATCH_SIZE], unseen_labels[TESTED];
    float now = 0, error_of_ink = 0;
    int32_t count = 0;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn = NULL, *test = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, DIGIT_PIXELS), *label = input(g, "label", I32);
    tensor *body = relu(linear(relu(linear(image, WIDTH)), WIDTH));
    tensor *logits = linear(body, 10), *ink = squeeze(linear(body, 1), 1), *real_ink = mean(image, 1);
    tensor *loss = add(cross_entropy(logits, label), mul_number(mse(ink, real_ink), 10));
    tensor *right = sum(cast(equal(argmax(logits, 1), label), I32)), *away = l1(ink, real_ink);
    status error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adam(1e-3f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error)
        error = plan_create(&test, TENSORS(right, away), WITH(plan, .batch = TESTED, .inference = true));
    if (!error) error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train");
    if (!error) error = dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {VALUE(image, images), VALUE(label, labels), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        if (!draw_digits(seen, 0, 9, BATCH_SIZE, images, labels)) break;
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        if (loop_every(loop, 250)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    if (!error && !loop->stopped && draw_digits(unseen, 0, 9, TESTED, unseen_images, unseen_labels)) {
        error = plan_step(test, VALUES(VALUE(image, unseen_images), VALUE(label, unseen_labels),
                                    VALUE(right, count), VALUE(away, error_of_ink)));
        if (!error)
            printf("%d of %d test digits are right; the mean error of the ink is %.3f\n", count, TESTED,
                (double)error_of_ink);
    }
    plan_release(learn), plan_release(test), dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"multi_output", "Learns which digit an image shows, and how much ink it has.",
        options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
