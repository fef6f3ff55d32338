/* Batches from a dataset, in a loop without a trainer: a thread of the loader prepares the next batches while the device works. */
#include <stdio.h>
#include <weft/weft.h>

enum { BATCH = 32, EPOCHS = 10 };

/* One epoch; columns are those of the dataset, here "image" and "label". */
static weft_status run_epoch(
    weft_plan *step, weft_loader *loader, uint64_t epoch, weft_tensor *const inputs[2]) {
    static const size_t bytes[2] = {BATCH * 8 * 8 * sizeof(float), BATCH * sizeof(int32_t)};
    const void *columns[2];
    size_t examples = 0;
    weft_status status = weft_loader_begin(loader, epoch);
    while (!status && !(status = weft_loader_next(loader, &examples, columns)) && examples) {
        for (int i = 0; i < 2 && !status; i++)
            status = weft_plan_write(step, inputs[i], columns[i], bytes[i]);
        if (!status) status = weft_plan_run(step);
    }
    return status;
}

int main(void) {
    float loss_now = 0;
    int wrong = 0;
    weft_context *context = NULL;
    weft_dataset *digits = NULL;
    weft_loader *loader = NULL;
    weft_plan *step = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (status) goto done;
    const weft_loader_options options = {
        WEFT_LOADER_OPTIONS_INIT, .batch = BATCH, .shuffle = true, .drop_last = true};
    if ((status = weft_dataset_open_idx(&digits, context, "data/digits", "train"))) goto done;
    if ((status = weft_loader_create(&loader, digits, &options))) goto done;

    weft_graph *graph = weft_context_graph(context);
    weft_tensor *inputs[] = {
        weft_input(graph, "image", WEFT_F32, 1, 8, 8), weft_input(graph, "label", WEFT_I32)};
    weft_tensor *y = weft_linear(weft_relu(weft_linear(weft_flatten(inputs[0]), 128)), 10);
    weft_tensor *loss = weft_cross_entropy(y, inputs[1]);
    weft_tensor *update = weft_train_step(loss, weft_adam(1e-3f), NULL);
    if ((status = weft_plan_create(&step, WEFT_TENSORS(loss, update), WEFT_WITH(plan, .batch = BATCH))))
        goto done;

    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        if ((status = run_epoch(step, loader, epoch, inputs))) goto done;
        if ((status = weft_plan_read(step, loss, &loss_now, sizeof loss_now))) goto done;
        printf("epoch %d: loss of the last batch %.3f\n", (int)epoch + 1, (double)loss_now);
    }
    wrong = loss_now > 0.4f;
    if (wrong) fprintf(stderr, "the last loss is too large\n");
done:
    if (status) fprintf(stderr, "%s\n", weft_last_error());
    weft_plan_release(step), weft_loader_release(loader);
    weft_dataset_release(digits), weft_context_release(context);
    return status || wrong;
}
