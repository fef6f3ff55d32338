/* See curve_trainer.h. */
#include "curve_trainer.h"
#include "base/status.h"
#include "console.h"
#include "train/dataset.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The file has the examples of a step and then their labels; the dataset has all examples in one column. */
static weft_status read_batches(weft_dataset *dataset, const curve_training *training, FILE *file) {
    for (size_t step = 0; step < training->steps; step++)
        for (size_t c = 0; c < 2; c++) {
            const size_t bytes = training->batch * wi_column_bytes(&dataset->columns[c]);
            unsigned char *const data = wi_dataset_data(dataset, c);
            if (fread(data + step * bytes, 1, bytes, file) != bytes)
                WI_FAIL(WEFT_ERROR_FILE, "'%s' has fewer batches than steps; see weft bench curve --help",
                    training->batches);
        }
    return WEFT_OK;
}

static weft_status open_batches(
    weft_dataset **dataset, weft_context *context, const curve_training *training) {
    weft_column columns[2];
    FILE *const file = console_open(training->batches, "rb");
    if (!file) WI_FAIL(WEFT_ERROR_FILE, "cannot read '%s': %s", training->batches, strerror(errno));
    bench_network_columns(training->network, columns);
    weft_status status = wi_dataset_create(dataset, context, training->steps * training->batch, columns, 2);
    if (status == WEFT_OK) status = read_batches(*dataset, training, file);
    fclose(file);
    return status;
}

weft_status curve_train(weft_context *context, weft_distributed *job, const curve_training *training) {
    weft_graph *graph = NULL;
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    weft_status status;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .batch = training->batch,
        .keep_order = true, .precision = training->precision, .csv_log = training->csv_log, .log_steps = true,
        .gradient_shards = training->shards * weft_distributed_size(job), .distributed = job,
        .optimizer =
            training->rate > 0 ? weft_sgd(training->rate) : bench_network_optimizer(training->network)};
    WI_TRY_DONE(weft_graph_create(&graph, context));
    WI_TRY_DONE(open_batches(&dataset, context, training));
    WI_TRY_DONE(weft_trainer_create(&trainer, bench_network_loss(graph, training->network), &options));
    if (training->weights && weft_distributed_rank(job) == 0)
        WI_TRY_DONE(weft_weights_save(graph, training->weights));
    status = weft_trainer_run(trainer, dataset);
done:
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(graph);
    return status;
}
