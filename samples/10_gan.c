/* A generative adversarial network (I. Goodfellow et al. 2014) learns points near a circle: one discriminator that is used
 * three times, two optimizers with rates of their own, and a plan for each of the two steps that take turns. */
#include "trace.h"
#include "training_loop.h"
#include <stdio.h>
#include <weft/short_names.h>

enum { BATCH_SIZE = 128, CODE = 4, WIDTH = 64 };
static option steps = {"--steps", OPTION_COUNT, "N", "training steps of each network", "2000"};

/* Two hidden layers; in a scope that shares, each call of one name is the same network. */
static tensor *network(graph *g, const char *name, tensor *x, int64_t units) {
    scope_begin(g, name, true);
    tensor *h = leaky_relu(linear(leaky_relu(linear(x, WIDTH), 0.2), WIDTH), 0.2);
    tensor *y = linear(h, units);
    scope_end(g);
    return y;
}

/* (BATCH_SIZE, 2): points at a distance of 1 from the middle, give or take 0.05. */
static tensor *real_points(graph *g) {
    tensor *angle = uniform(g, 0, 6.2831853f, SHAPE(BATCH_SIZE, 1));
    tensor *circle = concat(TENSORS(weft_cos(angle), weft_sin(angle)), 1);
    return mul(circle, normal(g, 1, 0.05f, SHAPE(BATCH_SIZE, 1)));
}

/* In how many of eight directions some points are. */
static tensor *directions(tensor *points) {
    tensor *angle = weft_atan2(slice(points, 1, 1, 2), slice(points, 1, 0, 1));
    tensor *eighth = weft_floor(mul_number(add_number(angle, 3.1415927), 4 / 3.1415927));
    tensor *number = cast(remainder_number(eighth, 8), I32);
    return sum(max(one_hot(number, 8, F32), 0));
}

static optimizer rule(float rate) {
    return (optimizer){ADAM, .rate = rate, .beta1 = 0.5f, .beta2 = 0.999f, .epsilon = 1e-8f};
}

static status train(training_loop *loop) {
    plan *discriminate = NULL, *generate = NULL;
    graph *g = loop->graph;
    float middle = 0, spread = 0, seen = 0;

    /* Cross-entropies: log(1 + e^-x) for the answer that x is real, log(1 + e^x) for the answer that it is not. */
    tensor *fake = network(g, "generator", normal(g, 0, 1, SHAPE(BATCH_SIZE, CODE)), 2);
    tensor *real = softplus(neg(network(g, "discriminator", real_points(g), 1)));
    tensor *caught = softplus(network(g, "discriminator", stop_gradient(fake), 1));
    tensor *passed = softplus(neg(network(g, "discriminator", fake, 1)));
    tensor *distance = norm(fake, 1);
    tensor *reports[] = {mean(distance), std(distance), directions(fake)};

    status error = plan_create(
        &discriminate, TENSORS(train_step(mean(add(real, caught)), rule(1e-3f), "discriminator.*")), NULL);
    if (!error)
        error = plan_create(&generate,
            TENSORS(train_step(mean(passed), rule(5e-4f), "generator.*"), reports[0], reports[1], reports[2]),
            NULL);
    trace_measure(reports[0], "distance", "distance/mean"),
        trace_measure(reports[1], "spread", "distance/spread");
    trace_measure(reports[2], "directions", "directions");
    if (!error) error = loop_begin(loop, option_count_of(&steps));
    const value values[] = {VALUE(reports[0], middle), VALUE(reports[1], spread), VALUE(reports[2], seen)};
    while (loop_next(loop, &error)) {
        error = plan_run(discriminate);
        if (!error && !loop_every(loop, 500)) error = plan_run(generate);
        if (error || !loop_every(loop, 500)) continue;
        error = plan_step(generate, values, 3);
        trace_values(values, 3);
        printf("step %5zu: distance %.2f +- %.2f, %.0f of 8 directions\n", loop->step, (double)middle,
            (double)spread, (double)seen);
    }
    plan_release(discriminate), plan_release(generate);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"gan",
        "Trains two networks against each other: one draws points near a circle, one tells them from real "
        "ones.",
        &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
