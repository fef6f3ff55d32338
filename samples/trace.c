/* See trace.h. */
#include "trace.h"
#include "console.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_PATH = 4096, MOST_LOSSES = 16 };
static FILE *batches, *losses;
static size_t steps, in_step; /* of the losses file: lines, and numbers in the last one */
static FILE *table;           /* of --csv-log */
static double row[MOST_LOSSES];
static size_t row_length;
static bool has_header, has_graph;
static weft_events *events; /* of --events and --html */

static const char *path_in(char path[LONGEST_PATH], const char *folder, const char *name) {
    snprintf(path, LONGEST_PATH, "%s/%s", folder, name);
    return path;
}

weft_status trace_begin(const char *folder, weft_graph *graph) {
    char path[LONGEST_PATH];
    if (!folder) return WEFT_OK;
    const weft_status status = weft_weights_save(graph, path_in(path, folder, "weights.safetensors"));
    if (status) return status;
    batches = console_open(path_in(path, folder, "batches.bin"), "wb");
    losses = console_open(path_in(path, folder, "losses.txt"), "wb");
    if (batches && losses) return WEFT_OK;
    perror(path);
    return WEFT_ERROR_FILE;
}

/* Behind the lines of the steps up to `last`: those after a checkpoint are made again. */
static void keep_lines(size_t last) {
    char line[LONGEST_PATH];
    long end = 0;
    while (fgets(line, sizeof line, table) && strtoull(line, NULL, 10) <= last) end = ftell(table);
    fseek(table, end, SEEK_SET);
    has_header = end > 0 && console_cut(table, end);
}

weft_status trace_log(const char *path, size_t last) {
    if (!path) return WEFT_OK;
    table = last > 0 ? console_open(path, "rb+") : NULL;
    if (table) keep_lines(last);
    if (!table) table = console_open(path, "wb");
    if (!table) return perror(path), WEFT_ERROR_FILE;
    setvbuf(table, NULL, _IOLBF, 0);
    return WEFT_OK;
}

/* step,loss where there is one number; step,value1,value2,... */
static void write_header(void) {
    fprintf(table, "step");
    for (size_t i = 0; i < row_length; i++)
        row_length == 1 ? fprintf(table, ",loss") : fprintf(table, ",value%zu", i + 1);
    fputc('\n', table);
    has_header = true;
}

void trace_events(weft_events *of) {
    events = of;
}

static void report_row(size_t step) {
    char tags[MOST_LOSSES][16] = {"loss/step"};
    weft_event_value values[MOST_LOSSES];
    for (size_t i = 0; i < row_length; i++) {
        if (row_length > 1) snprintf(tags[i], sizeof tags[i], "values/%zu", i + 1);
        values[i] = (weft_event_value){tags[i], row[i]};
    }
    (void)weft_events_scalars(events, step, values, row_length);
}

static void write_row(size_t step) {
    if (row_length == 0) return;
    if (events) report_row(step);
    if (!table) return;
    if (!has_header) write_header();
    fprintf(table, "%zu", step);
    for (size_t i = 0; i < row_length; i++) fprintf(table, ",%.9g", row[i]);
    fputc('\n', table);
}

void trace_values(const weft_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (weft_tensor_rank(values[i].tensor) || row_length == MOST_LOSSES) continue;
        row[row_length++] = (double)*(const float *)values[i].data;
        if (events && !has_graph) (void)weft_events_graph(events, &values[i].tensor, 1);
        has_graph = true;
    }
    if (!batches || !losses || steps == TRACED_STEPS) return;
    for (size_t i = 0; i < count; i++) {
        const weft_value *const v = &values[i];
        if (weft_tensor_rank(v->tensor))
            fwrite(v->data, 1, v->bytes, batches);
        else
            fprintf(losses, "%s%.9g", in_step++ ? " " : "", (double)*(const float *)v->data);
    }
}

double trace_end_step(size_t step) {
    const double loss = row_length ? row[0] : (double)NAN;
    write_row(step);
    row_length = 0;
    if (!in_step) return loss;
    fputc('\n', losses);
    in_step = 0;
    if (++steps == TRACED_STEPS) fclose(batches), fclose(losses);
    return loss;
}

uint64_t *draw_state(void) {
    static uint64_t state = 1;
    return &state;
}

uint64_t draw_from(uint64_t state) {
    const uint64_t before = *draw_state();
    *draw_state() = state;
    return before;
}

/* splitmix64 (Steele et al. 2014). */
double draw(void) {
    uint64_t z = *draw_state() += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

size_t draw_below(size_t end) {
    return (size_t)(draw() * (double)end);
}

double draw_normal(void) {
    return sqrt(-2 * log(1 - draw())) * cos(6.283185307179586 * draw());
}
