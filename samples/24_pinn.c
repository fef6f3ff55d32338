/* A physics-informed network (M. Raissi et al. 2019) finds y(t) with y'' = -y, y(0) = 0 and y'(0) = 1, which is the sine: the
 * loss is how far the network is from obeying this, so that training takes the gradient of gradients. */
#include "trace.h"
#include "training_loop.h"
#include <math.h>
#include <stdio.h>
#include <weft/short_names.h>

enum { POINTS = 64, WIDTH = 32 };
static option steps = {"--steps", OPTION_COUNT, "N", "number of updates", "3000"};

static tensor *network(graph *g, tensor *t) {
    scope_begin(g, "y", true); /* both calls are one network */
    tensor *y = linear(weft_tanh(linear(weft_tanh(linear(t, WIDTH)), WIDTH)), 1);
    scope_end(g);
    return y;
}

static status train(training_loop *loop) {
    float times[POINTS], found[POINTS], now = 0, worst = 0;
    plan *learn = NULL, *find = NULL;
    graph *g = loop->graph;

    tensor *t = input(g, "t", F32, 1), *y = network(g, t);
    tensor *slope = gradient(sum(y), t), *bend = gradient(sum(slope), t);
    tensor *begin = array(g, F32, (const float[]){0}, SHAPE(1, 1)), *first = network(g, begin);
    tensor *speed = gradient(sum(first), begin);
    tensor *start = add(square(sum(first)), square(sub_number(sum(speed), 1)));
    tensor *loss = add(mean(square(add(bend, y))), start);
    status error =
        plan_create(&learn, TENSORS(loss, train_step(loss, adam(2e-3f), NULL)), WITH(plan, .batch = POINTS));
    if (!error) error = plan_create(&find, TENSORS(y), WITH(plan, .batch = POINTS));
    if (!error) error = loop_begin(loop, option_count_of(&steps));
    const value values[] = {VALUE(t, times), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        for (int i = 0; i < POINTS; i++) times[i] = (float)(3 * draw());
        error = plan_step(learn, values, 2);
        trace_values(values, 2);
        if (loop_every(loop, 500)) printf("step %4zu: loss %.5f\n", loop->step, (double)now);
    }
    for (int i = 0; i < POINTS; i++) times[i] = 3 * (float)i / (POINTS - 1);
    if (!error && !loop->stopped) error = plan_step(find, VALUES(VALUE(t, times), VALUE(y, found)));
    for (int i = 0; i < POINTS; i++) worst = fmaxf(worst, fabsf(found[i] - sinf(times[i])));
    if (!error && !loop->stopped) printf("largest difference from the sine: %.4f\n", (double)worst);
    plan_release(learn), plan_release(find);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "pinn", "Learns a function from its differential equation.", &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
