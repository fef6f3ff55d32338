/* Uses a sharded table among the processes of a launcher, or alone: table_together FAULT. A list of rows is divided among the processes in
 * the order of their ranks. Rank 0 prints the values of all rows after some updates. FAULT, of rank 1: none, row (a row that is not in the
 * table), width (another one than rank 0's), few (it names no rows). */
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { ROWS = 37, WIDTH = 5, LISTED = 300, STEPS = 4, RANKS = 8 };

/* This process's part of step `step`'s list, and its gradients. */
static size_t list(weft_distributed *job, int step, const char *fault, int32_t *rows, float *gradients) {
    const size_t rank = weft_distributed_rank(job), ranks = weft_distributed_size(job);
    size_t first = LISTED * rank / ranks, end = LISTED * (rank + 1) / ranks;
    if (strcmp(fault, "few") == 0 && ranks > 1) first = rank == 0 ? 0 : LISTED, end = LISTED;
    for (size_t i = first; i < end; i++) {
        rows[i - first] = (int32_t)((i * i + 7 * (size_t)step) % (ROWS - 1));
        for (size_t k = 0; k < WIDTH; k++)
            gradients[(i - first) * WIDTH + k] =
                (float)((int)(i * 31 + k * 17 + (size_t)step) % 23 - 11) / 7.0f;
    }
    if (strcmp(fault, "row") == 0 && rank == 1) rows[3] = ROWS;
    return end - first;
}

static weft_status run(weft_sharded_table *table, weft_distributed *job, const char *fault) {
    static int32_t rows[LISTED];
    static float gradients[LISTED * WIDTH], values[ROWS * WIDTH];
    weft_status status = WEFT_OK;
    for (int step = 0; step < STEPS && !status; step++) {
        const size_t count = list(job, step, fault, rows, gradients);
        status = weft_sharded_table_update(table, rows, count, gradients);
    }
    for (int i = 0; i < ROWS; i++) rows[i] = ROWS - 1 - i; /* in another order than the table's */
    if (!status) status = weft_sharded_table_gather(table, rows, ROWS, values);
    for (int i = 0; i < ROWS * WIDTH && !status && weft_distributed_rank(job) == 0; i++)
        printf("%.9g%c", (double)values[i], i % WIDTH == WIDTH - 1 ? '\n' : ' ');
    return status;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_distributed *job = NULL;
    weft_sharded_table *table = NULL;
    const char *const fault = argc > 1 ? argv[1] : "none";
    weft_status status = weft_context_create(&context, NULL);
    if (!status && argc > 2) status = weft_distributed_open(&job, context, NULL);
    const weft_sharded_table_options options = {
        WEFT_SHARDED_TABLE_OPTIONS_INIT, .job = job, .optimizer = weft_adam(0.1f)};
    const int64_t width = WIDTH + (strcmp(fault, "width") == 0 && weft_distributed_rank(job) == 1);
    if (!status) status = weft_sharded_table_create(&table, context, ROWS, width, &options);
    if (!status) status = run(table, job, fault);
    if (status) fprintf(stderr, "rank %zu: %s\n", weft_distributed_rank(job), weft_last_error());
    weft_sharded_table_release(table);
    weft_distributed_release(job);
    weft_context_release(context);
    return status != WEFT_OK;
}
