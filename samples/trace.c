/* See trace.h. */
#include "trace.h"
#include <math.h>
#include <stdio.h>

enum { LONGEST_PATH = 4096 };
static FILE *batches, *losses;
static size_t steps, in_step; /* of the losses file: lines, and numbers in the last one */

static const char *path_in(char path[LONGEST_PATH], const char *folder, const char *name) {
    snprintf(path, LONGEST_PATH, "%s/%s", folder, name);
    return path;
}

weft_status trace_begin(const char *folder, weft_graph *graph) {
    char path[LONGEST_PATH];
    if (!folder) return WEFT_OK;
    const weft_status status = weft_weights_save(graph, path_in(path, folder, "weights.safetensors"));
    if (status) return status;
    batches = fopen(path_in(path, folder, "batches.bin"), "wb");
    losses = fopen(path_in(path, folder, "losses.txt"), "w");
    if (batches && losses) return WEFT_OK;
    perror(path);
    return WEFT_ERROR_FILE;
}

void trace_values(const weft_value *values, size_t count) {
    if (!batches || !losses || steps == TRACED_STEPS) return;
    for (size_t i = 0; i < count; i++) {
        const weft_value *const v = &values[i];
        if (weft_tensor_rank(v->tensor))
            fwrite(v->data, 1, v->bytes, batches);
        else
            fprintf(losses, "%s%.9g", in_step++ ? " " : "", (double)*(const float *)v->data);
    }
}

void trace_end_step(void) {
    if (!in_step) return;
    fputc('\n', losses);
    in_step = 0;
    if (++steps == TRACED_STEPS) fclose(batches), fclose(losses);
}

uint64_t *draw_state(void) {
    static uint64_t state = 1;
    return &state;
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
