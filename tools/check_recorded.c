/* Recorded cases in groups: a plan a group, or two where another one computes what is wanted, so that few programs are compiled
 * and rows come steadily. When a group fails as a whole, its cases are tried one by one. */
#include "check_recorded.h"
#include "check_report.h"
#include "in_child.h"
#include "op_name.h"
#include "recorded_ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

/* In which graph a case is computed. */
typedef enum case_way {
    BY_TENSORS, /* of the format */
    BY_MIXED,   /* f32 in mixed precision */
    BY_NOTHING  /* the op does not take the format */
} case_way;

typedef struct listed_case {
    const cJSON *json;
    case_way way;
    int64_t batch;
    bool done;
} listed_case;

/* Cases in a graph of their own, and its plan. */
typedef struct group {
    recorded_case cases[GROUP];
    recorded_inputs shared;
    size_t count;
    weft_graph *graph;
    weft_plan *plan;
} group;

typedef struct check_state {
    weft_context *context;
    check_part *part;
    listed_case *list;
    size_t list_count, before; /* cases of the list; of the format, before these */
    group tested, wanted;      /* wanted: in f32 */
} check_state;

/* Four roundings of a narrow float's largest number; of f64 what was rounded to f32 when it was recorded. */
double check_allowed(weft_dtype format) {
    switch ((int)format) {
    case WEFT_F64: return 2e-7;
    case WEFT_F16: return 4 * 0x1p-11;
    case WEFT_BF16: return 4 * 0x1p-8;
    default: return RECORDED_TOLERANCE;
    }
}

static bool is_narrow(weft_dtype format) {
    return weft_dtype_size(format) == 2;
}

static const char *op_of(const cJSON *json) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "op"));
}

/* ---- a group ---- */

static void clear_group(group *g) {
    weft_plan_release(g->plan);
    weft_graph_release(g->graph);
    memset(g, 0, sizeof *g);
}

/* Without the scaling of losses, which needs updates to find its scale. */
static weft_status set_precision(weft_graph *graph, weft_dtype format) {
    const weft_loss_scaling unscaled = {WEFT_LOSS_SCALING_INIT, .initial = 1};
    const weft_precision precision = format == WEFT_F16 ? WEFT_PRECISION_F16 : WEFT_PRECISION_BF16;
    const weft_status status = weft_graph_set_loss_scaling(graph, &unscaled);
    return status == WEFT_OK ? weft_graph_set_precision(graph, precision) : status;
}

static weft_status build_group(group *g, listed_case *const *list, size_t count) {
    for (; g->count < count; g->count++) {
        const weft_status status =
            recorded_build(&g->cases[g->count], &g->shared, g->graph, list[g->count]->json);
        if (status != WEFT_OK) return status;
    }
    return WEFT_OK;
}

static weft_status run_group(group *g) {
    weft_tensor *outputs[GROUP * (1 + RECORDED_INPUTS)];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = g->cases[0].batch};
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        outputs[count++] = g->cases[i].output;
        for (size_t k = 0; k < g->cases[i].gradient_count; k++) outputs[count++] = g->cases[i].gradients[k];
    }
    weft_status status = weft_plan_create(&g->plan, outputs, count, &options);
    for (size_t i = 0; i < g->count && status == WEFT_OK; i++) status = recorded_write(&g->cases[i], g->plan);
    return status == WEFT_OK ? weft_plan_run(g->plan) : status;
}

static weft_status compute_group(
    const check_state *s, group *g, listed_case *const *list, size_t count, bool tested) {
    const weft_dtype format = s->part->format;
    const bool mixed = list[0]->way == BY_MIXED;
    clear_group(g);
    g->shared.format = (recorded_format){.dtype = tested && !mixed ? format : WEFT_F32,
        .rounded = mixed ? WEFT_F32 : format,
        .batched = mixed};
    weft_status status = weft_graph_create(&g->graph, s->context);
    if (status == WEFT_OK && mixed && tested) status = set_precision(g->graph, format);
    if (status == WEFT_OK) status = build_group(g, list, count);
    return status == WEFT_OK ? run_group(g) : status;
}

static weft_status compare_case(check_state *s, size_t i, bool mixed) {
    const recorded_case *const r = &s->tested.cases[i];
    double value, gradient;
    const weft_status status =
        is_narrow(s->part->format)
            ? recorded_compare_with(r, s->tested.plan, &s->wanted.cases[i], s->wanted.plan, &value, &gradient)
            : recorded_compare(r, s->tested.plan, &value, &gradient);
    if (status != WEFT_OK) return status;
    const double allowed = check_allowed(s->part->format), worst = fmax(value, gradient);
    const bool good = worst <= allowed;
    check_line("%-20s %s   largest error %.1e", r->op, good ? "ok    " : "FAILED", value);
    if (!isnan(gradient)) check_line(", of gradients %.1e", gradient);
    check_line(", allowed %.0e%s\n", allowed, mixed ? ", in mixed precision" : "");
    s->part->passed += good;
    if (good) s->part->largest = fmax(s->part->largest, worst);
    return WEFT_OK;
}

/* Says which ops are computed from now on, in case the driver ends the process. */
static void name_group(listed_case *const *list, size_t count) {
    char names[IN_CHILD_TEXT] = "computing ";
    size_t length = strlen(names);
    for (size_t i = 0; i < count && length < sizeof names; i++)
        length += (size_t)snprintf(
            names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "", op_of(list[i]->json));
    in_child_say(names);
}

static weft_status try_group(check_state *s, listed_case *const *list, size_t count) {
    name_group(list, count);
    weft_status status = compute_group(s, &s->tested, list, count, true);
    if (status == WEFT_OK && is_narrow(s->part->format))
        status = compute_group(s, &s->wanted, list, count, false);
    for (size_t i = 0; i < count && status == WEFT_OK; i++)
        status = compare_case(s, i, list[0]->way == BY_MIXED);
    clear_group(&s->tested);
    clear_group(&s->wanted);
    in_child_say("");
    return status;
}

/* ---- the list ---- */

static void check_group(check_state *s, listed_case *const *list, size_t count) {
    if (try_group(s, list, count) == WEFT_OK) return;
    for (size_t i = 0; i < count; i++) {
        if (try_group(s, &list[i], 1) != WEFT_OK)
            check_line("%-20s FAILED   %s\n", op_of(list[i]->json), weft_last_error());
    }
}

/* Cases of one graph and one batch size together. */
static void check_list(check_state *s) {
    listed_case *together[GROUP];
    size_t done = 0;
    for (size_t first = 0; first < s->list_count; first++) {
        const listed_case *const like = &s->list[first];
        size_t count = 0;
        for (size_t i = first; i < s->list_count && count < GROUP; i++) {
            listed_case *const c = &s->list[i];
            if (c->done || c->way != like->way || c->batch != like->batch) continue;
            c->done = true;
            together[count++] = c;
        }
        if (count == 0) continue;
        check_group(s, together, count);
        done += count;
        check_line("-- %s: %zu of %zu cases\n", weft_dtype_name(s->part->format), s->before + done,
            s->before + s->list_count);
        fflush(stdout);
    }
}

/* Builds it alone. */
static weft_status try_building(check_state *s, listed_case *c) {
    group *const g = &s->tested;
    const weft_dtype format = s->part->format;
    g->shared.format = (recorded_format){
        .dtype = c->way == BY_MIXED ? WEFT_F32 : format, .rounded = format, .batched = c->way == BY_MIXED};
    weft_status status = weft_graph_create(&g->graph, s->context);
    if (status == WEFT_OK) status = build_group(g, &c, 1);
    c->batch = g->cases[0].batch;
    clear_group(g);
    return status;
}

static void list_case(check_state *s, const cJSON *json) {
    listed_case c = {.json = json};
    check_part *const part = s->part;
    if (try_building(s, &c) == WEFT_ERROR_DTYPE) c.way = is_narrow(part->format) ? BY_MIXED : BY_NOTHING;
    if (c.way == BY_MIXED) (void)try_building(s, &c);
    part->missing += c.way == BY_NOTHING;
    part->mixed += c.way == BY_MIXED;
    if (c.way != BY_NOTHING) s->list[s->list_count++] = c;
}

/* Is it the first case of its op? */
static bool is_first(const cJSON *cases, const cJSON *json) {
    const cJSON *c;
    cJSON_ArrayForEach(c, cases) {
        if (strcmp(op_of(c), op_of(json)) == 0) return c == json;
    }
    return true;
}

static bool has_op(const cJSON *cases, const char *op) {
    const cJSON *c;
    cJSON_ArrayForEach(c, cases) {
        if (strcmp(op_of(c), op) == 0) return true;
    }
    return false;
}

/* Of the op of that name, else of all that the name is a form of. */
static bool is_named(const cJSON *cases, const cJSON *json, const char *name) {
    return has_op(cases, name) ? strcmp(op_of(json), name) == 0 : op_name_matches(name, op_of(json));
}

static bool is_asked(const check_part *part, const cJSON *cases, const cJSON *json) {
    if (part->only && !is_named(cases, json, part->only)) return false;
    return part->all || is_first(cases, json);
}

bool weft_check_knows(const char *name) {
    cJSON *const cases = recorded_cases();
    const cJSON *c;
    bool known = !cases; /* without memory something else fails */
    cJSON_ArrayForEach(c, cases) known = known || is_named(cases, c, name);
    cJSON_Delete(cases);
    return known;
}

weft_status weft_check_recorded(weft_context *context, check_part *part) {
    weft_status status = WEFT_ERROR_MEMORY;
    cJSON *const cases = recorded_cases();
    check_state *const s = calloc(1, sizeof *s);
    const cJSON *c;
    if (!cases || !s) goto done;
    *s = (check_state){.context = context, .part = part, .before = part->count};
    s->list = calloc((size_t)cJSON_GetArraySize(cases), sizeof *s->list);
    if (!s->list) goto done;
    cJSON_ArrayForEach(c, cases) {
        if (is_asked(part, cases, c)) list_case(s, c);
    }
    part->count += s->list_count;
    check_list(s);
    free(s->list);
    status = WEFT_OK;
done:
    cJSON_Delete(cases);
    free(s);
    return status;
}
