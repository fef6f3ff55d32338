/* Learns XOR with two layers, written out without a trainer: a plan whose outputs are the loss and the update
 * of all parameters, run again and again. Then weft_predict asks the network. */
#include <stdio.h>
#include <weft/weft.h>

enum { STEPS = 400 };

int main(void) {
    const float inputs[4 * 2] = {0, 0, 0, 1, 1, 0, 1, 1};
    const float targets[4] = {0, 1, 1, 0};
    float answers[4], loss_now = 0;
    weft_context *context = NULL;
    weft_plan *plan = NULL;
    weft_status status;

    if ((status = weft_context_create(&context, NULL)) != WEFT_OK) goto done;
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 2);
    weft_tensor *target = weft_input(graph, "target", WEFT_F32, 1);
    weft_tensor *answer = weft_sigmoid(weft_linear(weft_tanh(weft_linear(x, 8)), 1));
    weft_tensor *loss = weft_mse(answer, target);

    const weft_optimizer adam = weft_adam(0.05f);
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES] = {loss};
    size_t updates = 0;
    if ((status = weft_minimize(loss, &adam, outputs + 1, WEFT_MAX_UPDATES, &updates)) != WEFT_OK) goto done;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 4};
    if ((status = weft_plan_create(&plan, outputs, 1 + updates, &options)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, x, inputs, sizeof inputs)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, target, targets, sizeof targets)) != WEFT_OK) goto done;

    for (int step = 1; step <= STEPS; step++) {
        if ((status = weft_plan_run(plan)) != WEFT_OK) goto done;
        if (step % 100) continue;
        if ((status = weft_plan_read(plan, loss, &loss_now, sizeof loss_now)) != WEFT_OK) goto done;
        printf("step %d  loss %.5f\n", step, (double)loss_now);
    }
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = inputs};
    if ((status = weft_predict(answer, 4, &column, 1, answers, sizeof answers)) != WEFT_OK) goto done;
    for (int i = 0; i < 4; i++)
        printf("%g xor %g = %.3f\n", (double)inputs[2 * i], (double)inputs[2 * i + 1], (double)answers[i]);

done:
    if (status != WEFT_OK) fprintf(stderr, "xor: %s\n", weft_last_error());
    weft_plan_release(plan);
    weft_context_release(context);
    return status != WEFT_OK;
}
