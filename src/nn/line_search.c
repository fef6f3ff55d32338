/* The strong Wolfe search (contract in line_search.h): trial points move outwards until two of them bracket a point
 * that meets the conditions; then the bracket is narrowed. */
#include "nn/line_search.h"
#include "base/status.h"
#include <math.h>
#include <string.h>

enum { MOST_TRIALS = 25 };
static const double falls_by = 1e-4, flattens_to = 0.9; /* c1 and c2 of the Wolfe conditions */

/* The points of the search. Each point except the start owns a vector of the caller's memory for its gradient. Points are exchanged as
 * structs, so that each vector moves with its point. */
typedef struct search {
    wi_line_search *of;
    const wi_line_point *start;
    wi_line_point low, high, trial; /* low: the end of the bracket with the lower loss */
    wi_line_point before;           /* the previous trial, while trials move outwards */
    int trials;
    bool done, stuck; /* stuck: the last trial was near an end of the bracket */
} search;

/* ---- trial points ---- */

/* The minimum of the cubic with the losses and slopes of two points, clamped to the bounds; if there is none, the
 * middle of the bounds. */
static double cubic_minimum(const wi_line_point *a, const wi_line_point *b, double least, double most) {
    const wi_line_point *const left = a->at <= b->at ? a : b, *const right = a->at <= b->at ? b : a;
    const double width = right->at - left->at;
    const double mean = left->slope + right->slope - 3 * (left->loss - right->loss) / (left->at - right->at);
    const double root = sqrt(mean * mean - left->slope * right->slope);
    const double at =
        right->at - width * ((right->slope + root - mean) / (right->slope - left->slope + 2 * root));
    return isfinite(at) ? fmin(fmax(at, least), most) : (least + most) / 2;
}

static weft_status try_at(search *s, double at) {
    s->trial.at = at;
    s->trials++;
    s->of->evaluations++;
    return s->of->evaluate(s->of->user, &s->trial);
}

static bool has_fallen(const search *s, const wi_line_point *point) {
    return point->loss <= s->start->loss + falls_by * point->at * s->start->slope; /* false for NaN */
}

static bool is_flat(const search *s, const wi_line_point *point) {
    return fabs(point->slope) <= -flattens_to * s->start->slope;
}

static void swap_points(wi_line_point *a, wi_line_point *b) {
    const wi_line_point kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- outwards, until there is a bracket ---- */

static void begin_at_start(search *s) {
    double *const own = s->before.gradient;
    s->before = *s->start;
    s->before.gradient = memcpy(own, s->start->gradient, s->of->size * sizeof *own);
}

/* The last two trials become the bracket. */
static void set_bracket(search *s) {
    swap_points(&s->low, &s->before);
    swap_points(&s->high, &s->trial);
    if (s->high.loss < s->low.loss) swap_points(&s->low, &s->high);
}

static bool brackets(const search *s) {
    const bool risen = s->trials > 2 && s->trial.loss >= s->before.loss;
    return !has_fallen(s, &s->trial) || risen || (!is_flat(s, &s->trial) && s->trial.slope >= 0);
}

static weft_status go_outwards(search *s, double first) {
    WI_TRY(try_at(s, first));
    while (s->trials <= MOST_TRIALS && !brackets(s)) {
        const wi_line_point now = s->trial;
        if (is_flat(s, &now)) {
            swap_points(&s->low, &s->trial);
            s->done = true;
            return WEFT_OK;
        }
        const double next =
            cubic_minimum(&s->before, &now, now.at + 0.01 * (now.at - s->before.at), now.at * 10);
        swap_points(&s->before, &s->trial);
        WI_TRY(try_at(s, next));
    }
    if (s->trials > MOST_TRIALS) begin_at_start(s);
    set_bracket(s);
    return WEFT_OK;
}

/* ---- within the bracket ---- */

/* Moves a trial away from a near end of the bracket if it is not inside, or if the previous trial was near an end,
 * too. */
static double moved_inside(search *s, double at) {
    const double left = fmin(s->low.at, s->high.at), right = fmax(s->low.at, s->high.at);
    const double margin = 0.1 * (right - left);
    const bool near = fmin(right - at, at - left) < margin,
               moves = near && (s->stuck || at >= right || at <= left);
    s->stuck = near && !moves;
    if (!moves) return at;
    return fabs(at - right) < fabs(at - left) ? right - margin : left + margin;
}

static void narrow(search *s) {
    if (!has_fallen(s, &s->trial) || s->trial.loss >= s->low.loss) {
        swap_points(&s->high, &s->trial);
        if (s->high.loss < s->low.loss) swap_points(&s->low, &s->high);
        return;
    }
    if (is_flat(s, &s->trial))
        s->done = true;
    else if (s->trial.slope * (s->high.at - s->low.at) >= 0)
        swap_points(&s->high, &s->low);
    swap_points(&s->low, &s->trial);
}

static weft_status go_inwards(search *s) {
    while (!s->done && s->trials <= MOST_TRIALS) {
        const double left = fmin(s->low.at, s->high.at), right = fmax(s->low.at, s->high.at);
        if ((right - left) * s->of->longest < s->of->tolerance_change) break;
        WI_TRY(try_at(s, moved_inside(s, cubic_minimum(&s->low, &s->high, left, right))));
        narrow(s);
    }
    return WEFT_OK;
}

weft_status wi_line_search_run(
    wi_line_search *of, const wi_line_point *start, double first, wi_line_point *found) {
    search s = {.of = of, .start = start};
    wi_line_point *const points[] = {&s.low, &s.high, &s.trial, &s.before};
    for (size_t i = 0; i < WI_LINE_POINTS; i++) points[i]->gradient = of->memory + i * of->size;
    begin_at_start(&s);
    WI_TRY(go_outwards(&s, first));
    if (!s.done) WI_TRY(go_inwards(&s));
    *found = s.low;
    return WEFT_OK;
}
