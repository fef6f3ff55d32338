/* Fits a line y = w·x + b to points that lie near 3·x - 2, with a trainer, and prints what it found. */
#include "progress.h"
#include "stopping.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { POINTS = 64 };

static bool show(void *user, const weft_epoch *state) {
    (void)user;
    note_epoch(state);
    if ((state->epoch + 1) % 20 == 0) printf("epoch %zu  loss %.5f\n", state->epoch + 1, state->loss);
    return true;
}

int main(int argc, char **argv) {
    command_line command = {.program = "line",
        .purpose = "Fits a line to points that lie near 3x - 2, with a trainer.",
        .trains = true};
    float xs[POINTS], ys[POINTS], w = 0, b = 0;
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    weft_context *context = NULL;
    weft_dataset *points = NULL;
    weft_trainer *trainer = NULL;
    weft_status status;
    int stopped = 0;

    if (!command_line_read(&command, argc, argv, &stopped)) return stopped;
    for (int i = 0; i < POINTS; i++) {
        const float noise = (float)(i * 37 % 11 - 5) * 0.01f;
        xs[i] = (float)i / POINTS;
        ys[i] = 3.0f * xs[i] - 2.0f + noise;
    }
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = xs},
        {.name = "y", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = ys},
    };
    if ((status = weft_context_create(&context, &shown)) != WEFT_OK) goto done;
    if ((status = weft_dataset_from_memory(&points, context, POINTS, columns, 2)) != WEFT_OK) goto done;

    weft_graph *graph = weft_context_graph(context);
    weft_tensor *line = weft_linear(weft_input(graph, "x", WEFT_F32, 1), 1);
    weft_tensor *loss = weft_mse(line, weft_input(graph, "y", WEFT_F32, 1));
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT,
        .optimizer = weft_sgd_momentum(0.1f, 0.9f, 0.0f), .epochs = 100, .batch = 16, .on_epoch = show,
        .on_step = show_step};
    command_line_apply(&command, &options);
    if ((status = weft_trainer_create(&trainer, loss, &options)) != WEFT_OK) goto done;
    if ((status = stopping_run(trainer, points, &command, &stopped)) != WEFT_OK || stopped) goto done;

    weft_tensor *weight = weft_graph_find(graph, "linear1.weight");
    weft_tensor *bias = weft_graph_find(graph, "linear1.bias");
    if ((status = weft_tensor_read(weight, &w, sizeof w)) != WEFT_OK) goto done;
    if ((status = weft_tensor_read(bias, &b, sizeof b)) != WEFT_OK) goto done;
    printf("y = %.3f x %c %.3f\n", (double)w, b < 0 ? '-' : '+', fabs((double)b));

done:
    if (status != WEFT_OK) fprintf(stderr, "line: %s\n", weft_last_error());
    weft_trainer_release(trainer);
    weft_dataset_release(points);
    weft_context_release(context);
    return status != WEFT_OK ? 1 : stopped;
}
