/* Learns XOR with two layers, written out without a trainer: a plan whose outputs are the loss and the update
 * of all parameters, run again and again. A checkpoint of the graph has all that the loop needs to go on, and
 * the number of the step beside it. Then weft_predict asks the network. */
#include "console.h"
#include "progress.h"
#include "stopping.h"
#include <stdio.h>

enum { STEPS = 400, SHOWN = 100 };

int main(int argc, char **argv) {
    const float inputs[4 * 2] = {0, 0, 0, 1, 1, 0, 1, 1};
    const float targets[4] = {0, 1, 1, 0};
    float answers[4], loss_now = 0;
    int32_t step = 0;
    weft_checkpoint_extra extra = {.name = "step", .dtype = WEFT_I32, .data = &step};
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    weft_context *context = NULL;
    weft_plan *plan = NULL;
    weft_events *events = NULL;
    weft_status status;
    int stopped = 0;
    command_line line = {
        .program = "xor", .purpose = "Learns XOR with two layers, without a trainer.", .loops = true};

    if (!command_line_read(&line, argc, argv, &stopped)) return stopped;
    const char *const checkpoint = line.checkpoint;
    FILE *const log = line.csv_log ? console_open(line.csv_log, line.resume ? "ab" : "wb") : NULL;
    if (log && !line.resume) fprintf(log, "step,loss\n");
    const int32_t every = (int32_t)line.checkpoint_every.steps;
    if ((status = weft_context_create(&context, &shown)) != WEFT_OK) goto done;
    weft_graph *graph = weft_context_graph(context);
    if ((status = weft_graph_set_precision(graph, line.precision)) != WEFT_OK) goto done;
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 2);
    weft_tensor *target = weft_input(graph, "target", WEFT_F32, 1);
    weft_tensor *answer = weft_sigmoid(weft_linear(weft_tanh(weft_linear(x, 8)), 1));
    weft_tensor *loss = weft_mse(answer, target);

    const weft_optimizer adam = weft_adam(0.05f);
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES] = {loss};
    size_t updates = 0;
    if ((status = weft_minimize(loss, &adam, outputs + 1, WEFT_MAX_UPDATES, &updates)) != WEFT_OK) goto done;
    const weft_plan_options planned = {WEFT_PLAN_OPTIONS_INIT, .batch = 4};
    if ((status = weft_plan_create(&plan, outputs, 1 + updates, &planned)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, x, inputs, sizeof inputs)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, target, targets, sizeof targets)) != WEFT_OK) goto done;
    if (line.resume && console_can_read(checkpoint)) {
        if ((status = weft_checkpoint_load(graph, checkpoint, &extra, 1)) != WEFT_OK) goto done;
        printf("continuing after step %d\n", (int)step);
    }

    const weft_events_options shown_by = {WEFT_EVENTS_OPTIONS_INIT, .folder = line.events, .html = line.html,
        .command = line.command, .first_step = step ? (size_t)step + 1 : 0};
    if ((status = weft_events_create(&events, context, &shown_by)) != WEFT_OK) goto done;
    if ((status = weft_events_graph(events, &loss, 1)) != WEFT_OK) goto done;
    stopping_begin(NULL); /* SIGINT and SIGTERM end the loop */
    while (step < STEPS && !stopping_wanted()) {
        if ((status = weft_plan_run(plan)) != WEFT_OK) goto done;
        step++;
        if (checkpoint && (step % every == 0 || step == STEPS) &&
            (status = weft_checkpoint_save(graph, checkpoint, &extra, 1)) != WEFT_OK)
            goto done;
        if (step % SHOWN) continue;
        if ((status = weft_plan_read(plan, loss, &loss_now, sizeof loss_now)) != WEFT_OK) goto done;
        printf("step %d  loss %.5f\n", (int)step, (double)loss_now);
        if (log) fprintf(log, "%d,%.9g\n", (int)step, (double)loss_now);
        status = weft_events_scalar(events, "loss/step", (size_t)step, (double)loss_now);
        if (status != WEFT_OK) goto done;
    }
    if (checkpoint && stopping_wanted() &&
        (status = weft_checkpoint_save(graph, checkpoint, &extra, 1)) != WEFT_OK)
        goto done;
    if ((stopped = stopping_end(&line, (size_t)step))) goto done;

    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = inputs};
    if ((status = weft_predict(answer, 4, &column, 1, answers, sizeof answers)) != WEFT_OK) goto done;
    for (int i = 0; i < 4; i++)
        printf("%g xor %g = %.3f\n", (double)inputs[2 * i], (double)inputs[2 * i + 1], (double)answers[i]);

done:
    if (status != WEFT_OK) fprintf(stderr, "xor: %s\n", weft_last_error());
    if (log) fclose(log);
    weft_plan_release(plan);
    weft_events_release(events);
    weft_context_release(context);
    return status != WEFT_OK ? 1 : stopped;
}
