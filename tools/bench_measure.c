/* See bench_measure.h. */
#include "bench_measure.h"
#include "base/platform.h"
#include <string.h>

weft_status bench_fill(weft_plan *plan, weft_tensor *input, size_t count) {
    float *const values = wi_allocate_array(NULL, count, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    uint32_t bits = 12345;
    for (size_t i = 0; i < count; i++) {
        bits = bits * 1664525u + 1013904223u;
        values[i] = (float)(bits >> 8) * 0x1p-23f - 1.0f;
    }
    const weft_status status = weft_plan_write(plan, input, values, count * sizeof *values);
    wi_release(NULL, values);
    return status;
}

weft_status bench_time_plan(double *seconds, weft_plan *plan, int repeats) {
    const double begin = wi_clock_seconds();
    for (int i = 0; i < repeats; i++) WI_TRY(weft_plan_run(plan));
    WI_TRY(weft_plan_wait(plan));
    *seconds = (wi_clock_seconds() - begin) / repeats;
    return WEFT_OK;
}

bool bench_read_precision(weft_precision *precision, const char *text) {
    static const struct {
        const char *name;
        weft_precision precision;
    } known[] = {{"f32", WEFT_PRECISION_F32}, {"bf16", WEFT_PRECISION_BF16}, {"f16", WEFT_PRECISION_F16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(text, known[i].name) != 0) continue;
        *precision = known[i].precision;
        return true;
    }
    return false;
}

bool bench_take_option(int argc, char **argv, int *i, bool *json, weft_context_options *options) {
    if (strcmp(argv[*i], "--json") == 0) return *json = true;
    if (strcmp(argv[*i], "--device") != 0 || *i + 1 >= argc) return false;
    options->device = argv[++*i];
    return true;
}

/* SLURM_STEP_NUM_TASKS: srun has started it. */
bool bench_has_launcher(void) {
    static const char *const variables[] = {
        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (wi_environment(variables[i])) return true;
    return false;
}
