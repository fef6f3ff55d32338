/* A generative adversarial network (I. Goodfellow et al. 2014) learns points near a circle: one discriminator that is used
 * three times, two optimizers with rates of their own, and a plan for each of the two steps that take turns. */
#include "training_loop.h"
#include <math.h>
#include <stdio.h>

enum { BATCH = 128, NOISE = 4, WIDTH = 64 };

/* Two hidden layers; in a scope that shares, each call of one name is the same network. */
static weft_tensor *network(weft_graph *graph, const char *name, weft_tensor *x, int64_t units) {
    weft_scope_begin(graph, name, true);
    weft_tensor *h = weft_leaky_relu(weft_linear(x, WIDTH), 0.2);
    weft_tensor *y = weft_linear(weft_leaky_relu(weft_linear(h, WIDTH), 0.2), units);
    weft_scope_end(graph);
    return y;
}

/* Does the discriminator take the points for real ones? */
static weft_tensor *judged(weft_graph *graph, weft_tensor *points, double real) {
    weft_tensor *logits = network(graph, "discriminator", points, 1);
    return weft_bce_with_logits(
        logits, weft_add_number(weft_mul_number(weft_stop_gradient(logits), 0), real));
}

/* (BATCH, 2): points at a distance of 1 from the middle, give or take 0.05. */
static weft_tensor *real_points(weft_graph *graph) {
    const int64_t column[] = {BATCH, 1};
    weft_tensor *angle = weft_uniform(graph, 0, 6.2831853f, 2, column);
    weft_tensor *parts[] = {weft_cos(angle), weft_sin(angle)};
    return weft_mul(weft_concat(parts, 2, 1), weft_normal(graph, 1, 0.05f, 2, column));
}

/* Prints how far the generator's points are from the middle, and in how many of eight directions some are. */
static weft_status report(weft_plan *plan, weft_tensor *fake, size_t step) {
    float points[BATCH][2];
    double distance = 0, square = 0;
    int seen[8] = {0}, directions = 0;
    const weft_status status = weft_plan_read(plan, fake, points, sizeof points);
    for (int i = 0; i < BATCH && status == WEFT_OK; i++) {
        const double r = hypot((double)points[i][0], (double)points[i][1]);
        const int at = (int)((atan2((double)points[i][1], (double)points[i][0]) + 3.1415927) / 0.7853982) & 7;
        directions += !seen[at]++;
        distance += r / BATCH;
        square += r * r / BATCH;
    }
    if (status != WEFT_OK) return status;
    printf("step %5zu: distance %.2f +- %.2f, %d of 8 directions\n", step, distance,
        sqrt(fmax(0, square - distance * distance)), directions);
    return WEFT_OK;
}

int main(int argc, char **argv) {
    option steps = {"--steps", OPTION_COUNT, "N", "steps of each network", "2000"};
    command_line line = {.program = "gan",
        .purpose = "Two networks learn by each other: one to draw points near a circle, one to tell them "
                   "from real ones.",
        .options = &steps,
        .option_count = 1,
        .loops = true};
    weft_context *context = NULL;
    weft_plan *plans[2] = {NULL};
    weft_status status;
    int end = 0;

    if (!command_line_read(&line, argc, argv, &end)) return end;
    if ((status = loop_context(&context, &line))) goto done;
    weft_graph *graph = weft_context_graph(context);
    const int64_t noise[] = {BATCH, NOISE};
    weft_tensor *fake = network(graph, "generator", weft_normal(graph, 0, 1, 2, noise), 2);
    weft_tensor *caught =
        weft_add(judged(graph, real_points(graph), 1), judged(graph, weft_stop_gradient(fake), 0));
    weft_optimizer rules[2] = {weft_adam(1e-3f), weft_adam(5e-4f)};
    for (int i = 0; i < 2; i++) rules[i].beta1 = 0.5f;
    weft_optimizer_state *discriminator = weft_optimizer_create(graph, &rules[0]);
    weft_optimizer_state *generator = weft_optimizer_create(graph, &rules[1]);
    weft_tensor *of_discriminator = weft_optimizer_minimize(discriminator, caught, "discriminator.*");
    weft_tensor *of_generator[] = {
        fake, weft_optimizer_minimize(generator, judged(graph, fake, 1), "generator.*")};
    if ((status = weft_plan_create(&plans[0], &of_discriminator, 1, NULL))) goto done;
    if ((status = weft_plan_create(&plans[1], of_generator, 2, NULL))) goto done;
    training_loop loop = {.line = &line, .graph = graph, .last = option_count_of(&steps)};
    status = loop_begin(&loop);
    while (loop_next(&loop, &status)) {
        for (int i = 0; i < 2 && !status; i++) status = weft_plan_run(plans[i]);
        if (!status && loop_every(&loop, 500)) status = report(plans[1], fake, loop.step);
    }
    end = loop.stopped;
done:
    if (status) fprintf(stderr, "gan: %s\n", weft_last_error());
    for (int i = 0; i < 2; i++) weft_plan_release(plans[i]);
    weft_context_release(context);
    return status ? 1 : end;
}
