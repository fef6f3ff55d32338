/* Two LSTM cells, one above the other, learn to continue sine waves. L-BFGS trains them, which takes all waves at once. */
#include "trace.h"
#include "training_loop.h"
#include <math.h>
#include <stdio.h>
#include <weft/short_names.h>

enum { WAVES = 24, SEEN = 40, FUTURE = 20, HIDDEN = 24 };
enum { STEPS, ITERATIONS, OPTIONS };
static option options[OPTIONS] = {
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of steps of L-BFGS", "20"},
    [ITERATIONS] = {"--iterations", OPTION_COUNT, "N", "most iterations per step", "10"},
};

/* Sine waves that begin anywhere. */
static void draw_waves(int length, float waves[WAVES][length]) {
    for (int i = 0; i < WAVES; i++) {
        const double begin = 40 * draw();
        for (int t = 0; t < length; t++) waves[i][t] = (float)sin((begin + t) / 4);
    }
}

/* The number after each number of the wave, and how it goes on after its end. */
static tensor *network(graph *g, tensor *wave, int future) {
    tensor *outputs[SEEN + FUTURE];
    recurrent a = {.h = NULL}, b = a;
    scope_begin(g, NULL, true); /* each step has the same cells */
    for (int t = 0; t < SEEN + future; t++) {
        tensor *x = t < SEEN ? slice(wave, 1, t, t + 1) : outputs[t - 1];
        a = lstm_cell_layer(x, HIDDEN, a.h, a.c, WITH(cell, .name = "lstm1"));
        b = lstm_cell_layer(a.h, HIDDEN, b.h, b.c, WITH(cell, .name = "lstm2"));
        outputs[t] = linear(b.h, 1, .name = "linear");
    }
    scope_end(g);
    return concat(outputs, (size_t)(SEEN + future), 1);
}

static status train(training_loop *loop) {
    static float waves[WAVES][SEEN + 1], unseen[WAVES][SEEN + FUTURE];
    float now = 0, far = 0;
    lbfgs *search = NULL;
    plan *test = NULL;
    graph *g = loop->graph;

    tensor *wave = input(g, "wave", F32, SEEN + 1), *other = input(g, "other", F32, SEEN + FUTURE);
    tensor *loss = mse(network(g, slice(wave, 1, 0, SEEN), 0), slice(wave, 1, 1, END));
    tensor *found = slice(network(g, other, FUTURE - 1), 1, SEEN - 1, END);
    tensor *away = l1(found, slice(other, 1, SEEN, END));
    draw_waves(SEEN + 1, waves);
    status error = lbfgs_create(&search, loss,
                       WITH(lbfgs, .rate = 0.2f, .max_iterations = (int)option_count_of(&options[ITERATIONS]),
                           .line_search = LINE_SEARCH_NONE, .batch = WAVES)) ||
                   plan_create(&test, TENSORS(away), WITH(plan, .batch = WAVES)) ||
                   loop_begin(loop, option_count_of(&options[STEPS]));
    trace_values(VALUES(VALUE(wave, waves)));
    while (loop_next(loop, &error)) {
        error = lbfgs_step(search, VALUES(VALUE(wave, waves)), &now);
        trace_values(VALUES(VALUE(loss, now)));
        if (loop_every(loop, 5)) printf("step %3zu: loss %.5f\n", loop->step, (double)now);
    }
    draw_waves(SEEN + FUTURE, unseen);
    if (!error && !loop->stopped) {
        error = plan_step(test, VALUES(VALUE(other, unseen), VALUE(away, far)));
        if (!error)
            printf("the next %d values of test waves are predicted within %.3f\n", FUTURE, (double)far);
    }
    plan_release(test), lbfgs_release(search);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"lstm_cells", "Learns to continue sine waves.", options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
