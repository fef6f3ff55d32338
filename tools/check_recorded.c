/* Recorded cases in groups: a plan a group, so that few programs are compiled and rows come steadily. When a
 * group fails as a whole, its cases are tried one by one. */
#include "check_recorded.h"
#include "check_report.h"
#include "recorded_ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

typedef struct group {
    recorded_case cases[GROUP];
    recorded_inputs shared;
    size_t count;
} group;

static weft_status build_group(group *g, weft_graph *graph, const cJSON *const *json, size_t count) {
    memset(g, 0, sizeof *g);
    for (; g->count < count; g->count++) {
        const weft_status status = recorded_build(&g->cases[g->count], &g->shared, graph, json[g->count]);
        if (status != WEFT_OK) return status;
    }
    return WEFT_OK;
}

static weft_status run_group(const group *g, weft_plan **plan) {
    weft_tensor *outputs[GROUP * (1 + RECORDED_INPUTS)];
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        outputs[count++] = g->cases[i].output;
        for (size_t k = 0; k < g->cases[i].gradient_count; k++) outputs[count++] = g->cases[i].gradients[k];
    }
    weft_status status = weft_plan_create(plan, outputs, count, NULL);
    for (size_t i = 0; i < g->count && status == WEFT_OK; i++) status = recorded_write(&g->cases[i], *plan);
    return status == WEFT_OK ? weft_plan_run(*plan) : status;
}

static weft_status compare_group(const group *g, weft_plan *plan, size_t *passed) {
    for (size_t i = 0; i < g->count; i++) {
        double value, gradient;
        const weft_status status = recorded_compare(&g->cases[i], plan, &value, &gradient);
        if (status != WEFT_OK) return status;
        const bool good = value <= RECORDED_TOLERANCE && !(gradient > RECORDED_TOLERANCE);
        check_line("%-20s %s   largest error %.1e", g->cases[i].op, good ? "ok    " : "FAILED", value);
        if (!isnan(gradient)) check_line(", of gradients %.1e", gradient);
        check_line(", allowed %.0e\n", RECORDED_TOLERANCE);
        *passed += good;
    }
    return WEFT_OK;
}

static weft_status try_group(
    weft_context *context, group *g, const cJSON *const *json, size_t count, size_t *passed) {
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_status status = weft_graph_create(&graph, context);
    if (status == WEFT_OK) status = build_group(g, graph, json, count);
    if (status == WEFT_OK) status = run_group(g, &plan);
    if (status == WEFT_OK) status = compare_group(g, plan, passed);
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static const char *op_of(const cJSON *json) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "op"));
}

static void check_group(
    weft_context *context, group *g, const cJSON *const *json, size_t count, size_t *passed) {
    if (try_group(context, g, json, count, passed) == WEFT_OK) return;
    for (size_t i = 0; i < count; i++) {
        if (try_group(context, g, &json[i], 1, passed) != WEFT_OK)
            check_line("%-20s FAILED   %s\n", op_of(json[i]), weft_last_error());
    }
}

/* Is it the first case of its op? */
static bool is_first(const cJSON *cases, const cJSON *json) {
    const cJSON *c;
    cJSON_ArrayForEach(c, cases) {
        if (strcmp(op_of(c), op_of(json)) == 0) return c == json;
    }
    return true;
}

weft_status weft_check_recorded(weft_context *context, bool all, size_t *passed, size_t *count) {
    cJSON *const cases = recorded_cases();
    group *const g = malloc(sizeof *g);
    const cJSON *json[GROUP], *c;
    size_t waiting = 0;
    if (!cases || !g) {
        cJSON_Delete(cases);
        free(g);
        return WEFT_ERROR_MEMORY;
    }
    cJSON_ArrayForEach(c, cases) {
        if (!all && !is_first(cases, c)) continue;
        json[waiting++] = c;
        ++*count;
        if (waiting < GROUP) continue;
        check_group(context, g, json, waiting, passed);
        fflush(stdout);
        waiting = 0;
    }
    if (waiting) check_group(context, g, json, waiting, passed);
    cJSON_Delete(cases);
    free(g);
    return WEFT_OK;
}
