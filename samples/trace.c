/* See trace.h. */
#include "trace.h"
#include "console.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_PATH = 4096, MOST_MEASURES = 4 };
static FILE *batches, *losses;
static size_t steps, in_step; /* of the losses file: lines, and numbers in the last one */
static FILE *table;           /* of --csv-log */
/* The columns of the table; a step may give none, one or several values of each. */
static struct {
    const weft_tensor *tensor;
    const char *name, *tag;
    double sum;
    size_t count;
} measures[MOST_MEASURES];
static size_t measure_count;
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

void trace_measure(const weft_tensor *tensor, const char *name, const char *tag) {
    measures[measure_count].tensor = tensor;
    measures[measure_count].name = name;
    measures[measure_count++].tag = tag;
}

static void write_header(void) {
    fprintf(table, "step");
    for (size_t i = 0; i < measure_count; i++) fprintf(table, ",%s", measures[i].name);
    fputc('\n', table);
    has_header = true;
}

void trace_events(weft_events *of) {
    events = of;
}

static double mean_of(size_t measure) {
    return measures[measure].sum / (double)measures[measure].count; /* NaN: the step has no value */
}

static void write_row(size_t step) {
    weft_event_value values[MOST_MEASURES];
    size_t count = 0;
    for (size_t i = 0; i < measure_count; i++)
        if (measures[i].count) values[count++] = (weft_event_value){measures[i].tag, mean_of(i)};
    if (count == 0) return;
    if (events) (void)weft_events_scalars(events, step, values, count);
    if (!table) return;
    if (!has_header) write_header();
    fprintf(table, "%zu", step);
    for (size_t i = 0; i < measure_count; i++)
        measures[i].count ? fprintf(table, ",%.9g", mean_of(i)) : fputc(',', table);
    fputc('\n', table);
}

static void add_value(const weft_value *value) {
    if (measure_count == 0) trace_measure(value->tensor, "loss", "loss/step");
    for (size_t i = 0; i < measure_count; i++) {
        if (measures[i].tensor != value->tensor) continue;
        measures[i].sum += (double)*(const float *)value->data;
        measures[i].count++;
    }
    if (events && !has_graph) (void)weft_events_graph(events, &value->tensor, 1);
    has_graph = true;
}

void trace_values(const weft_value *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (weft_tensor_rank(values[i].tensor) == 0) add_value(&values[i]);
    if (!batches || !losses || steps == TRACED_STEPS) return;
    for (size_t i = 0; i < count; i++) {
        const weft_value *const v = &values[i];
        if (weft_tensor_rank(v->tensor))
            fwrite(v->data, 1, v->bytes, batches);
        else
            fprintf(losses, "%s%.9g", in_step++ ? " " : "", (double)*(const float *)v->data);
    }
}

double trace_end_step(size_t step, const char **name) {
    const double first = measure_count ? mean_of(0) : (double)NAN;
    *name = measure_count ? measures[0].name : "loss";
    write_row(step);
    for (size_t i = 0; i < measure_count; i++) measures[i].sum = 0, measures[i].count = 0;
    if (!in_step) return first;
    fputc('\n', losses);
    in_step = 0;
    if (++steps == TRACED_STEPS) fclose(batches), fclose(losses);
    return first;
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
