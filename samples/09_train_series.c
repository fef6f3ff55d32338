/* Forecasts a series. A GRU reads 24 rows, as what each differs from the row a
 * season of 12 before the next one, and says how the next differs from it. The last sixth of the rows is
 * neither trained on nor chosen by: there it is compared with the forecast that says what was a season ago.
 */
#include "console.h"
#include "progress.h"
#include "stopping.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { WINDOW = 24, SEASON = 12, EPOCHS = 60 };

static bool show(void *user, const weft_epoch *e) {
    (void)user;
    note_epoch(e);
    if ((e->epoch + 1) % 20 == 0 || e->epoch == 0)
        printf("epoch %3zu/%zu  loss %.4f  validation %.4f\n", e->epoch + 1, e->epochs, e->loss,
            e->validation_loss);
    return true;
}

/* Forecasts each row of the validation from the rows before it, in the series' own unit. */
static weft_status print_forecasts(
    weft_tensor *forecast, const weft_dataset *rows, const weft_series_scale *scale) {
    const float *windows = weft_dataset_column(rows, 0)->data, *targets = weft_dataset_column(rows, 1)->data;
    const size_t count = weft_dataset_size(rows);
    const double mean = scale->mean[0], deviation = scale->deviation[0];
    double errors = 0, seasonal = 0;
    for (size_t i = 0; i < count; i++) {
        weft_column window = *weft_dataset_column(rows, 0);
        float next = 0;
        window.data = windows + i * WINDOW;
        const weft_status status = weft_predict(forecast, 1, &window, 1, &next, sizeof next);
        if (status) return status;
        const double target = (double)targets[i], before = (double)windows[i * WINDOW + WINDOW - SEASON];
        errors += fabs((double)next - target) * deviation;
        seasonal += fabs(before - target) * deviation;
        printf("row %2zu: forecast %8.1f, actual %8.1f\n", i + 1, (double)next * deviation + mean,
            target * deviation + mean);
    }
    printf("mean absolute error %.1f; of a forecast by the value one season earlier %.1f\n",
        errors / (double)count, seasonal / (double)count);
    return WEFT_OK;
}

int main(int argc, char **argv) {
    const char *shipped = WEFT_SOURCE_DATA_DIR "/series/passengers.csv";
    command_line line = {.program = "train_series",
        .purpose =
            "Learns to forecast a series of monthly numbers, and shows its forecasts of the last rows.",
        .operand_sign = "SERIES.csv",
        .operand = console_can_read(shipped) ? shipped : "data/series/passengers.csv",
        .trains = true};
    weft_context *context = NULL;
    weft_dataset *training = NULL, *validation = NULL;
    weft_trainer *trainer = NULL;
    weft_series_scale scale;
    weft_status status;
    int stopped = 0;

    if (!command_line_read(&line, argc, argv, &stopped)) return stopped;
    const weft_series_options series = {WEFT_SERIES_OPTIONS_INIT, .window = WINDOW, .validation = 1.0 / 6};
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    if ((status = weft_context_create(&context, &shown))) goto done;
    if ((status = weft_dataset_open_series(&training, &validation, &scale, context, line.operand, &series)))
        goto done;

    weft_graph *graph = weft_context_graph(context);
    weft_tensor *window = weft_input(graph, "window", WEFT_F32, WINDOW, 1);
    weft_tensor *target = weft_input(graph, "target", WEFT_F32, 1, 1);
    weft_tensor *season = weft_slice(window, 1, WINDOW - SEASON, WINDOW - SEASON + 1);
    weft_tensor *change = weft_linear(weft_gru(weft_sub(window, season), 32, NULL).h, 1);
    weft_tensor *forecast = weft_add(season, weft_permute(change, 1, 0, 2)); /* (1, N, 1) → (N, 1, 1) */
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(3e-3f),
        .epochs = EPOCHS, .batch = 16, .validation = validation, .on_epoch = show, .on_step = show_step};
    command_line_apply(&line, &options);
    if ((status = weft_trainer_create(&trainer, weft_mse(forecast, target), &options))) goto done;
    if ((status = stopping_run(trainer, training, &line, &stopped)) || stopped) goto done;
    status = print_forecasts(forecast, validation, &scale);
done:
    if (status) fprintf(stderr, "train_series: %s\n", weft_last_error());
    weft_trainer_release(trainer);
    weft_dataset_release(validation), weft_dataset_release(training);
    weft_context_release(context);
    return status != WEFT_OK ? 1 : stopped;
}
