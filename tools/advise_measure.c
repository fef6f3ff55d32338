/* See advise_measure.h. The process is this program again, as `weft bench seven --json`. */
#include "advise_measure.h"
#include "base/memory.h"
#include "base/status.h"
#include "in_child.h"
#include "show_warning.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 1 << 14, NUMBER = 24 };

bool advise_takes_threads(const weft_device_info *device) {
    return device->is_cpu && strcmp(device->platform, "Portable Computing Language") == 0;
}

/* ---- the process ---- */

/* With PoCL's variables for its number of threads, if that is not 0: that of version 4 and later, and the older one. */
static weft_status start(in_child_program *program, char *const *arguments, int64_t threads) {
    char number[NUMBER];
    const char *const variables[] = {"POCL_MAX_PTHREAD_COUNT", number, "POCL_CPU_MAX_CU_COUNT", number};
    snprintf(number, sizeof number, "%lld", (long long)threads);
    if (in_child_start(program, arguments, variables, threads > 0 ? 2 : 0)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FILE, "cannot start a child process of weft: %s", strerror(errno));
}

/* ---- what it prints ---- */

static double number_of(const cJSON *object, const char *name) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static void take_figures(advise_row *row, const char *line) {
    cJSON *const object = cJSON_Parse(line);
    row->step = 1e-3 * number_of(object, "median_ms");
    row->first = 1e-3 * number_of(object, "first_step_ms");
    row->bytes = number_of(object, "peak_bytes");
    row->peak = 1e9 * number_of(object, "peak_gflops");
    row->bandwidth = 1e9 * number_of(object, "copy_gbytes_s");
    const double units = number_of(object, "compute_units");
    row->threads = units >= 1 && units < 1e6 ? (int64_t)units : 0;
    cJSON_Delete(object);
}

/* The line of figures, warnings, and the last line of those that say what went wrong. */
static void read_output(advise_row *row, FILE *output) {
    const size_t warning = strlen(SHOWN_WARNING);
    char line[LONGEST_LINE];
    while (fgets(line, sizeof line, output)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '{')
            take_figures(row, line);
        else if (strncmp(line, SHOWN_WARNING, warning) == 0)
            show_warning(NULL, WEFT_LOG_WARNING, line + warning);
        else if (strncmp(line, "weft: ", 6) == 0)
            snprintf(row->failure, sizeof row->failure, "%.*s", ADVISE_TEXT - 1, line + 6);
    }
}

static void judge_end(advise_row *row, const in_child_end *end) {
    if (end->signal)
        snprintf(
            row->failure, sizeof row->failure, "the driver ended the process with signal %d", end->signal);
    else if (!(row->step > 0) && row->failure[0] == '\0')
        snprintf(row->failure, sizeof row->failure, "the measurement returned no results");
    else if (row->step > 0 && end->status == 0)
        row->failure[0] = '\0';
}

weft_status advise_measure(advise_row *row, const advise_measurement *wanted, int64_t threads) {
    char batch[NUMBER], steps[NUMBER], selector[sizeof row->selector];
    in_child_program program;
    in_child_end end;
    const char *const file = wanted->network->file;
    char *const name = wi_copy_string(NULL, file ? file : wanted->network->name);
    if (!name) return WEFT_ERROR_MEMORY;
    snprintf(selector, sizeof selector, "%s", row->selector);
    snprintf(
        batch, sizeof batch, "%lld", (long long)(wanted->batch ? wanted->batch : wanted->network->batch));
    snprintf(steps, sizeof steps, "%lld", (long long)wanted->steps);
    char *const arguments[] = {"weft", "bench", "seven", "--json", "--only", name, "--batch", batch,
        "--steps", steps, "--device", selector, NULL};
    row->step = row->first = row->bytes = (double)NAN;
    const weft_status status = start(&program, arguments, threads);
    wi_release(NULL, name);
    if (status != WEFT_OK) return status;
    read_output(row, program.output);
    in_child_wait(&end, &program);
    judge_end(row, &end);
    return WEFT_OK;
}
