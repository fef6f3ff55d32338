/* Trains on a CSV table. One column says the kind of a fruit, the others are its measures. A fifth of the rows is kept
 * for validation; training stops when F1 no longer rises, and the best weights come back. */
#include "console.h"
#include "progress.h"
#include "stopping.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { FEATURES = 5, MOST_KINDS = 8 };

static bool show(void *user, const weft_epoch *e) {
    (void)user, note_epoch(e);
    printf("epoch %2zu  loss %.4f  validation: loss %.4f  F1 %.4f%s\n", e->epoch + 1, e->loss,
        e->validation_loss, e->validation_metrics[0], e->best_epoch == e->epoch ? "  best" : "");
    return true;
}

/* (x - mean) / deviation of each measure, as the training rows have them. */
static weft_tensor *standardise(weft_tensor *x, const weft_dataset *rows) {
    const float *values = weft_dataset_column(rows, 0)->data;
    const size_t count = weft_dataset_size(rows);
    float means[FEATURES], scales[FEATURES];
    for (size_t f = 0; f < FEATURES; f++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < count; i++) sum += (double)values[i * FEATURES + f];
        for (size_t i = 0; i < count; i++)
            squares += pow((double)values[i * FEATURES + f] - sum / (double)count, 2);
        means[f] = (float)(sum / (double)count);
        scales[f] = (float)(1 / sqrt(squares / (double)count));
    }
    weft_graph *graph = weft_tensor_graph(x);
    weft_tensor *mean = weft_array(graph, WEFT_F32, means, 1, (const int64_t[]){FEATURES});
    weft_tensor *scale = weft_array(graph, WEFT_F32, scales, 1, (const int64_t[]){FEATURES});
    return weft_mul(weft_sub(x, mean), scale);
}

static weft_status print_confusion(const weft_metric_state *confusion, const weft_dataset *rows) {
    double counts[MOST_KINDS * MOST_KINDS];
    const size_t kinds = weft_dataset_category_count(rows, 1);
    size_t count = 0;
    weft_status status = weft_metric_values(confusion, counts, sizeof counts / sizeof *counts, &count);
    for (size_t i = 0; i < kinds && kinds <= MOST_KINDS && status == WEFT_OK; i++) {
        printf("%-16s is classified as", weft_dataset_category(rows, 1, (int32_t)i));
        for (size_t j = 0; j < kinds; j++) printf(" %4.0f", counts[i * kinds + j]);
        printf("\n");
    }
    return status;
}

int main(int argc, char **argv) {
    const char *built_here = WEFT_SOURCE_DATA_DIR "/fruit/fruit.csv";
    command_line line = {.program = "train_table",
        .purpose = "Learns the kind of a fruit from its measurements, which a CSV table gives.",
        .operand_sign = "TABLE.csv",
        .operand = console_can_read(built_here) ? built_here : "data/fruit/fruit.csv",
        .trains = true};
    weft_context *context = NULL;
    weft_dataset *table = NULL, *validation = NULL, *training = NULL;
    weft_trainer *trainer = NULL;
    weft_status status;
    int stopped = 0;
    if (!command_line_read(&line, argc, argv, &stopped)) return stopped;
    const char *const measures[] = {"mass_g", "width_cm", "height_cm", "colour", "sugar_brix", NULL};
    const weft_csv_column columns[] = {{.name = "x", .fields = measures},
        {.name = "label", .kind = WEFT_CSV_CATEGORY, .fields = (const char *const[]){"kind", NULL}}};
    const weft_csv_options csv = {WEFT_CSV_OPTIONS_INIT, .columns = columns, .column_count = 2};
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    if ((status = weft_context_create(&context, &shown))) goto done;
    if ((status = weft_dataset_open_csv(&table, context, line.operand, &csv))) goto done;
    if ((status = weft_dataset_split(&validation, &training, table, weft_dataset_size(table) / 5, 1)))
        goto done;
    const size_t kinds = weft_dataset_category_count(table, 1);
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *x = standardise(weft_input(graph, "x", WEFT_F32, FEATURES), training);
    weft_tensor *logits = weft_linear(weft_relu(weft_linear(x, 32)), (int64_t)kinds);
    weft_tensor *loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    const weft_metric metrics[] = {weft_metric_f1(WEFT_AVERAGE_MACRO), weft_metric_confusion()};
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(1e-2f), .epochs = 50,
        .logits = logits, .validation = validation, .metrics = metrics, .metric_count = 2, .on_epoch = show,
        .on_step = show_step,
        .early_stopping = {.monitor = "validation_f1", .patience = 5, .restore_best = true}};
    command_line_apply(&line, &options);
    if ((status = weft_trainer_create(&trainer, loss, &options))) goto done;
    if ((status = stopping_run(trainer, training, &line, &stopped)) || stopped) goto done;
    if ((status = weft_trainer_evaluate(trainer, validation, NULL, NULL))) goto done;
    status = print_confusion(weft_trainer_metric(trainer, 1, false), table);
done:
    if (status) fprintf(stderr, "train_table: %s\n", weft_last_error());
    weft_trainer_release(trainer);
    weft_dataset_release(training), weft_dataset_release(validation), weft_dataset_release(table);
    weft_context_release(context);
    return status != WEFT_OK ? 1 : stopped;
}
