/* See bench_peer.h. */
#include "bench_peer.h"
#include "base/memory.h"
#include "in_child.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_LINE = 4096 };

typedef struct figure {
    char net[64];
    double batch; /* NAN: not told */
    double milliseconds;
} figure;

static bool read_json(figure *f, const char *line) {
    cJSON *const root = cJSON_Parse(line);
    const cJSON *const net = cJSON_GetObjectItemCaseSensitive(root, "net");
    const cJSON *const median = cJSON_GetObjectItemCaseSensitive(root, "median_ms");
    const cJSON *const batch = cJSON_GetObjectItemCaseSensitive(root, "batch");
    const bool good = cJSON_IsString(net) && cJSON_IsNumber(median);
    if (good) {
        snprintf(f->net, sizeof f->net, "%s", net->valuestring);
        f->milliseconds = median->valuedouble;
        f->batch = cJSON_IsNumber(batch) ? batch->valuedouble : (double)NAN;
    }
    cJSON_Delete(root);
    return good;
}

static bool read_line(figure *f, const char *line) {
    char unit[8], what[8];
    if (strchr(line, '{')) return read_json(f, line);
    return sscanf(line, "%63s %lf %lf %7s %7s", f->net, &f->batch, &f->milliseconds, unit, what) == 5 &&
           strcmp(unit, "ms") == 0 && strcmp(what, "median") == 0;
}

static weft_status take(double *milliseconds, const figure *f, int64_t batch) {
    if (!isnan(f->batch) && f->batch != (double)batch)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "the compared command measured %s at batch size %g, not %lld", f->net,
            f->batch, (long long)batch);
    if (!(f->milliseconds > 0) || isinf(f->milliseconds))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "the compared command printed an impossible time: %s takes %g ms",
            f->net, f->milliseconds);
    *milliseconds = f->milliseconds;
    return WEFT_OK;
}

/* Reads to the end, so that the command is not stopped by a closed pipe. */
static weft_status read_output(double *milliseconds, FILE *output, const char *net, int64_t batch) {
    char line[LONGEST_LINE];
    weft_status status = WEFT_OK;
    *milliseconds = 0;
    while (fgets(line, sizeof line, output)) {
        figure f;
        if (status == WEFT_OK && read_line(&f, line) && strcmp(f.net, net) == 0)
            status = take(milliseconds, &f, batch);
    }
    return status;
}

static weft_status fill_in(wi_text *text, const char *command, const char *net) {
    for (const char *at; (at = strstr(command, "{net}")); command = at + strlen("{net}")) {
        wi_text_append_bytes(text, command, (size_t)(at - command));
        wi_text_append(text, "%s", net);
    }
    wi_text_append(text, "%s", command);
    return text->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static weft_status run(double *milliseconds, const char *command, const char *net, int64_t batch) {
    in_child_program program;
    in_child_end end;
    if (!in_child_shell(&program, command)) WI_FAIL(WEFT_ERROR_FILE, "cannot run '%s'", command);
    const weft_status status = read_output(milliseconds, program.output, net, batch);
    in_child_wait(&end, &program);
    if (end.status || end.signal)
        WI_FAIL(WEFT_ERROR_FILE, "'%s' ended with status %d", command,
            end.signal ? 128 + end.signal : end.status);
    if (status == WEFT_OK && *milliseconds <= 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "no line that '%s' printed has the milliseconds of %s", command, net);
    return status;
}

weft_status bench_peer_run(double *milliseconds, const char *command, const char *net, int64_t batch) {
    wi_text text;
    wi_text_init(&text, NULL);
    weft_status status = fill_in(&text, command, net);
    if (status == WEFT_OK) status = run(milliseconds, text.data, net, batch);
    wi_text_clear(&text);
    return status;
}
