/* A detector of one stage (J. Redmon et al. 2016) finds boxes, discs and crosses: each cell of a grid says whether the middle of
 * a shape is in it, which shape, and where. */
#include "scenes.h"
#include "training_loop.h"
#include <weft/short_names.h>

static option steps = {"--steps", OPTION_COUNT, "N", "number of updates", "600"};

static tensor *network(tensor *h) {
    for (int i = 0; i < 3; i++) h = max_pool2d(relu(conv2d(h, 16 << i, 3, .padding = 1)), 2);
    return conv2d(relu(conv2d(h, 64, 3, .padding = 1)), 5 + KINDS, 1);
}

static status train(training_loop *loop) {
    static scenes real, found;
    float now = 0;
    plan *learn = NULL, *find = NULL;
    graph *g = loop->graph;

    tensor *image = input(g, "image", F32, 1, SIZE, SIZE), *boxes = input(g, "boxes", F32, GRID, GRID, 4);
    tensor *kinds = input(g, "kinds", I32, GRID, GRID), *parts[3];
    split_sizes(channels_last(network(image)), 3, (const int64_t[]){4, 1, KINDS}, 3, parts);
    tensor *place = sigmoid(parts[0]), *seen = squeeze(parts[1], 3), *score = sigmoid(seen);
    tensor *kind = argmax(parts[2], 3), *there = cast(greater_equal_number(kinds, 0), F32);
    tensor *off = masked_mean(sum(square(sub(place, boxes)), 3), there);
    tensor *of_kind = sequence_cross_entropy(parts[2], kinds, NULL);
    tensor *loss = add(add(mul_number(off, 5), bce_with_logits(seen, there)), of_kind);
    status error = plan_create(&learn, TENSORS(loss, train_step(loss, adam(1e-3f), NULL)),
                       WITH(plan, .batch = BATCH_SIZE)) ||
                   plan_create(&find, TENSORS(place, score, kind), WITH(plan, .batch = BATCH_SIZE)) ||
                   loop_begin(loop, option_count_of(&steps));
    const value values[] = {
        VALUE(image, real.images), VALUE(boxes, real.boxes), VALUE(kinds, real.kinds), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        draw_scenes(&real);
        error = plan_step(learn, values, 4);
        trace_values(values, 4);
        if (loop_every(loop, 100)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    draw_scenes(&real);
    if (!error && !loop->stopped) {
        error = plan_step(find, VALUES(VALUE(image, real.images), VALUE(place, found.boxes),
                                    VALUE(score, found.scores), VALUE(kind, found.kinds)));
        if (!error) report(&real, &found);
    }
    plan_release(learn), plan_release(find);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"detector", "Learns to find shapes in scenes.", &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
