/* Fine-tuning of a network from an ONNX file: its weights and a new linear layer over its features learn the digits, and the
 * result is saved as an ONNX file and as weights. Without --model the program first makes such a file, as PyTorch would. */
#include "progress.h"
#include "stopping.h"
#include <stdio.h>
#include <weft/onnx.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { DATA, MODEL, FEATURES, EPOCHS, SAVE, WEIGHTS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "DIR", "folder of the digits", WEFT_SOURCE_DATA_DIR "/digits"},
    [MODEL] = {"--model", OPTION_TEXT, "FILE",
        "network with the input 'image' (batch, 1, 8, 8); default: a new one", NULL},
    [FEATURES] = {"--features", OPTION_TEXT, "NAME", "value of the file that the new layer reads",
        "features"},
    [EPOCHS] = {"--epochs", OPTION_COUNT, "N", "passes over the training digits", "4"},
    [SAVE] = {"--save", OPTION_OUTPUT, "FILE", "ONNX file of the trained network", "finetuned.onnx"},
    [WEIGHTS] = {"--weights", OPTION_OUTPUT, "FILE", "safetensors file of its weights; default none", NULL},
};

/* An untrained network, in the file of --save, which is written again in the end. */
static weft_status write_network(weft_context *context, const char *path) {
    weft_graph *graph = NULL;
    weft_status status = weft_graph_create(&graph, context);
    if (status) return status;
    weft_tensor *x = weft_input(graph, "image", WEFT_F32, 1, 8, 8);
    x = weft_relu(weft_batch_norm(weft_conv2d(x, 16, 3, .padding = 1)));
    x = weft_max_pool2d(weft_relu(weft_conv2d(x, 32, 3, .padding = 1)), 2);
    weft_tensor *outputs[] = {weft_flatten(x), weft_linear(weft_flatten(x), 10)};
    const char *const names[] = {"features", "logits"};
    status = weft_onnx_save(
        path, outputs, 2, &(weft_onnx_save_options){WEFT_ONNX_SAVE_OPTIONS_INIT, .output_names = names});
    weft_graph_release(graph);
    return status;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_dataset *digits = NULL, *test = NULL;
    weft_onnx_model *model = NULL;
    weft_trainer *trainer = NULL;
    weft_status status;
    int stopped = 0;
    command_line line = {"finetune_onnx", "Fine-tunes a network from an ONNX file on handwritten digits.",
        options, OPTIONS, .trains = true};
    if (!command_line_read(&line, argc, argv, &stopped)) return stopped;
    const char *const path = options[MODEL].text ? options[MODEL].text : options[SAVE].text;
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    if ((status = weft_context_create(&context, &shown))) goto done;
    if ((status = weft_dataset_open_idx(&digits, context, options[DATA].text, "train"))) goto done;
    if ((status = weft_dataset_open_idx(&test, context, options[DATA].text, "t10k"))) goto done;
    if (!options[MODEL].text && (status = write_network(context, path))) goto done;

    weft_graph *graph = weft_context_graph(context);
    if ((status = weft_onnx_load(&model, graph, path, NULL))) goto done;
    weft_tensor *logits = weft_linear(weft_onnx_tensor(model, options[FEATURES].text), 10, .name = "head");
    weft_tensor *loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    weft_trainer_options training = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(1e-3f),
        .epochs = option_count_of(&options[EPOCHS]), .logits = logits, .validation = test,
        .on_epoch = show_epoch, .on_step = show_step};
    command_line_apply(&line, &training);
    if ((status = weft_trainer_create(&trainer, loss, &training))) goto done;
    if ((status = stopping_run(trainer, digits, &line, &stopped)) || stopped) goto done;
    if (options[WEIGHTS].text && (status = weft_weights_save(graph, options[WEIGHTS].text))) goto done;
    status = weft_onnx_save(options[SAVE].text, &logits, 1, NULL);
    if (!status)
        printf("%s: %lld trained numbers\n", options[SAVE].text,
            (long long)weft_graph_element_count(graph, NULL));
done:
    if (status) fprintf(stderr, "finetune_onnx: %s\n", weft_last_error());
    weft_trainer_release(trainer), weft_onnx_model_release(model);
    weft_dataset_release(test), weft_dataset_release(digits);
    weft_context_release(context);
    return status ? 1 : stopped;
}
