/* A siamese network (R. Hadsell et al. 2006) learns whether two images show the same digit: one network makes a point of each,
 * and points of the same digit shall be near each other, all others at least 1 apart. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 128, WIDTH = 128, POINT = 8, LAST = 4 }; /* of ten digits few pairs are the same */
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "600"},
};

/* In a scope that shares, both calls are one network. */
static tensor *tower(graph *g, tensor *image) {
    scope_begin(g, "tower", true);
    tensor *point = linear(relu(linear(relu(linear(image, WIDTH)), WIDTH)), POINT);
    scope_end(g);
    return point;
}

static status train(training_loop *loop) {
    static float images[2 * BATCH_SIZE][DIGIT_PIXELS]; /* pairs, one after the other */
    static int32_t labels[2 * BATCH_SIZE], count;
    float now = 0;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn = NULL, *compare = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, 2, DIGIT_PIXELS), *label = input(g, "label", I32, 2);
    tensor *away = sub(tower(g, slice(image, 1, 0, 1)), tower(g, slice(image, 1, 1, 2)));
    tensor *distance = norm(add_number(away, 1e-6), 2), *near = square(distance); /* (batch, 1) */
    tensor *far = square(relu(add_number(neg(distance), 1)));
    tensor *same = equal(slice(label, 1, 0, 1), slice(label, 1, 1, 2)), *loss = mean(where(same, near, far));
    tensor *right = sum(cast(equal(cast(less_number(distance, 0.5), I32), cast(same, I32)), I32));
    status error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adam(1e-3f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = plan_create(&compare, TENSORS(right), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train");
    if (!error) error = dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {VALUE(image, images), VALUE(label, labels), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        if (!draw_digits(seen, 0, LAST, 2 * BATCH_SIZE, images, labels)) break;
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        if (loop_every(loop, 150)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    if (!error && !loop->stopped && draw_digits(unseen, 0, LAST, 2 * BATCH_SIZE, images, labels)) {
        error = plan_step(compare, VALUES(values[0], values[1], VALUE(right, count)));
        if (!error) printf("%d of %d test pairs are right\n", count, BATCH_SIZE);
    }
    plan_release(learn), plan_release(compare), dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "siamese", "Learns whether two images show the same digit.", options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
