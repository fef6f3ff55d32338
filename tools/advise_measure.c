/* See advise_measure.h. The process is this program again, as `weft bench seven --json`. */
#include "advise_measure.h"
#include "base/memory.h"
#include "base/status.h"
#include "show_warning.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LONGEST_LINE = 1 << 14, NUMBER = 24 };

bool advise_takes_threads(const weft_device_info *device) {
    return device->is_cpu && strcmp(device->platform, "Portable Computing Language") == 0;
}

/* ---- the process ---- */

/* The environment, with PoCL's variables for its number of threads: that of version 4 and later, and the older one. */
typedef struct surroundings {
    char older[64], newer[64];
    char **variables;
} surroundings;

static bool is_named(const char *variable, const char *name) {
    const size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static weft_status fill_surroundings(surroundings *s, int64_t threads) {
    static const char older[] = "POCL_MAX_PTHREAD_COUNT", newer[] = "POCL_CPU_MAX_CU_COUNT";
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    s->variables = wi_allocate_array(NULL, count + 3, sizeof *s->variables);
    if (!s->variables) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (threads > 0 && (is_named(environ[i], older) || is_named(environ[i], newer))) continue;
        s->variables[kept++] = environ[i];
    }
    if (threads == 0) return WEFT_OK;
    snprintf(s->older, sizeof s->older, "%s=%lld", older, (long long)threads);
    snprintf(s->newer, sizeof s->newer, "%s=%lld", newer, (long long)threads);
    s->variables[kept++] = s->older;
    s->variables[kept] = s->newer;
    return WEFT_OK;
}

/* Both streams of the process go into one pipe. */
static weft_status start(pid_t *process, FILE **output, char *const *arguments, int64_t threads) {
    surroundings s = {0};
    posix_spawn_file_actions_t actions;
    int ends[2];
    WI_TRY(fill_surroundings(&s, threads));
    if (pipe(ends) != 0) {
        wi_release(NULL, s.variables);
        WI_FAIL(WEFT_ERROR_FILE, "cannot create a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    fflush(NULL);
    const int error = posix_spawn(process, "/proc/self/exe", &actions, NULL, arguments, s.variables);
    posix_spawn_file_actions_destroy(&actions);
    wi_release(NULL, s.variables);
    close(ends[1]);
    *output = error == 0 ? fdopen(ends[0], "r") : NULL;
    if (error == 0 && *output) return WEFT_OK;
    close(ends[0]);
    WI_FAIL(WEFT_ERROR_FILE, "cannot start a child process of weft: %s", strerror(error ? error : errno));
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

static void judge_end(advise_row *row, int end) {
    if (WIFSIGNALED(end))
        snprintf(
            row->failure, sizeof row->failure, "the driver ended the process with signal %d", WTERMSIG(end));
    else if (!(row->step > 0) && row->failure[0] == '\0')
        snprintf(row->failure, sizeof row->failure, "the measurement returned no results");
    else if (row->step > 0 && WEXITSTATUS(end) == 0)
        row->failure[0] = '\0';
}

weft_status advise_measure(advise_row *row, const advise_measurement *wanted, int64_t threads) {
    char batch[NUMBER], steps[NUMBER], selector[sizeof row->selector];
    pid_t process;
    FILE *output;
    int end = 0;
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
    const weft_status status = start(&process, &output, arguments, threads);
    wi_release(NULL, name);
    if (status != WEFT_OK) return status;
    read_output(row, output);
    fclose(output);
    while (waitpid(process, &end, 0) < 0 && errno == EINTR) continue;
    judge_end(row, end);
    return WEFT_OK;
}
