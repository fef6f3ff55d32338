/* L-BFGS (contract in vectors.h): the two-loop recursion that computes the direction from the history (Nocedal and
 * Wright 2006, algorithm 7.4), the line search, and the conditions that end a step. */
#include "nn/lbfgs.h"
#include "base/options.h"
#include "cl/context.h"
#include "graph/sizes.h"
#include "nn/line_search.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- creation ---- */

static weft_status check_options(const weft_lbfgs_options *o) {
    WI_TRY(WI_CHECK_NUMBERS("weft_lbfgs_create", {"rate", (double)o->rate},
        {"max_iterations", (double)o->max_iterations}, {"max_evaluations", (double)o->max_evaluations},
        {"history", (double)o->history}, {"tolerance_grad", o->tolerance_grad},
        {"tolerance_change", o->tolerance_change}));
    const bool counts = o->max_iterations >= 1 && o->max_evaluations >= 1 && o->history >= 1;
    const bool numbers =
        o->rate > 0 && isfinite(o->rate) && o->tolerance_grad >= 0 && o->tolerance_change >= 0;
    if (counts && numbers && (unsigned)o->line_search <= WEFT_LINE_SEARCH_NONE) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "weft_lbfgs_create: rate %g, max_iterations %d, max_evaluations %d, history %d, tolerance_grad %g, "
        "tolerance_change %g, line_search %d; expected a rate above 0, counts of 1 or more, tolerances of 0 "
        "or "
        "more, and a weft_line_search",
        (double)o->rate, o->max_iterations, o->max_evaluations, o->history, o->tolerance_grad,
        o->tolerance_change, (int)o->line_search);
}

static weft_status read_options(weft_lbfgs_options *own, const weft_lbfgs_options *given) {
    WI_TRY(WI_OPTIONS(own, given, "weft_lbfgs_create", WEFT_LBFGS_OPTIONS_INIT));
    if (own->rate == 0) own->rate = 1;
    if (own->max_iterations == 0) own->max_iterations = 20;
    if (own->max_evaluations == 0) own->max_evaluations = own->max_iterations + own->max_iterations / 4;
    if (own->history == 0) own->history = 100;
    own->tolerance_grad = WI_OPTION(own->tolerance_grad, 1e-7);
    own->tolerance_change = WI_OPTION(own->tolerance_change, 1e-9);
    return check_options(own);
}

static weft_status allocate(weft_lbfgs *o) {
    const weft_allocator *const allocator = o->graph->context->allocator;
    double **const vectors[] = {&o->x, &o->direction, &o->gradient, &o->before};
    bool all = true;
    for (size_t i = 0; i < 4; i++)
        all = (*vectors[i] = wi_allocate_array(allocator, o->size, sizeof(double))) != NULL && all;
    o->points = wi_allocate_array(allocator, WI_LINE_POINTS * o->size, sizeof *o->points);
    o->copied = wi_allocate_array(allocator, o->size, sizeof *o->copied);
    o->pairs = wi_allocate_array(allocator, (size_t)o->options.history, sizeof *o->pairs);
    o->weights = wi_allocate_array(allocator, (size_t)o->options.history, sizeof *o->weights);
    return all && o->points && o->copied && o->pairs && o->weights ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status make_plan(weft_lbfgs *o, weft_tensor *loss) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = o->options.batch,
        .length = o->options.length, .memory_limit = o->options.memory_limit};
    if (loss->dtype != WEFT_F32)
        WI_FAIL(WEFT_ERROR_DTYPE, "weft_lbfgs_create: the loss is %s, expected f32",
            weft_dtype_name(loss->dtype));
    if (o->graph->precision == WEFT_F16)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "weft_lbfgs_create: L-BFGS does not support f16 precision, which "
                                        "scales losses and skips steps: use f32 or bf16");
    WI_TRY(
        wi_vector_parameters(o->graph, o->options.parameters, &o->parameters, &o->parameter_count, &o->size));
    o->outputs[0] = loss;
    o->outputs[1] = weft_gradient_vector(loss, o->options.parameters);
    WI_TRY(weft_graph_status(o->graph));
    return weft_plan_create(&o->plan, o->outputs, 2, &options);
}

static weft_status create(weft_lbfgs **optimizer, weft_tensor *loss, const weft_lbfgs_options *options) {
    weft_lbfgs_options own;
    if (!optimizer) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_lbfgs_create: optimizer is NULL");
    *optimizer = NULL;
    if (!loss) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_lbfgs_create: the loss is NULL");
    WI_TRY(weft_graph_status(loss->graph));
    WI_TRY(read_options(&own, options));
    weft_lbfgs *const made = wi_allocate(loss->graph->context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    *made = (weft_lbfgs){.graph = weft_graph_retain(loss->graph), .options = own};
    wi_lbfgs_begin_anew(made);
    weft_status status = make_plan(made, loss);
    if (status == WEFT_OK) status = allocate(made);
    made->options.parameters = NULL; /* the caller may free it */
    if (status == WEFT_OK) wi_lbfgs_keep(made);
    if (status == WEFT_OK)
        *optimizer = made;
    else
        weft_lbfgs_release(made);
    return status;
}

weft_status weft_lbfgs_create(weft_lbfgs **optimizer, weft_tensor *loss, const weft_lbfgs_options *options) {
    return WI_STATUS_CALL(weft_tensor_graph(loss), "weft_lbfgs_create", create(optimizer, loss, options));
}

void weft_lbfgs_release(weft_lbfgs *o) {
    if (!o) return;
    const weft_allocator *const allocator = o->graph->context->allocator;
    wi_host_state_remove(o->graph, &o->state);
    for (int i = 0; o->pairs && i < o->options.history; i++) {
        wi_release(allocator, o->pairs[i].step);
        wi_release(allocator, o->pairs[i].change);
    }
    void *const blocks[] = {o->x, o->direction, o->gradient, o->before, o->points, o->copied, o->pairs,
        o->weights, o->parameters};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) wi_release(allocator, blocks[i]);
    weft_plan_release(o->plan);
    weft_graph *const graph = o->graph;
    wi_release(allocator, o);
    weft_graph_release(graph);
}

/* ---- vectors ---- */

static double dot(const double *a, const double *b, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) sum += a[i] * b[i];
    return sum;
}

static double dot_floats(const float *a, const double *b, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) sum += (double)a[i] * b[i];
    return sum;
}

static double largest_of(const double *a, size_t size) {
    double largest = 0;
    for (size_t i = 0; i < size; i++) largest = fmax(largest, fabs(a[i]));
    return largest;
}

static double sum_of_magnitudes(const double *a, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) sum += fabs(a[i]);
    return sum;
}

static bool is_finite(double loss, const double *gradient, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!isfinite(gradient[i])) return false;
    return isfinite(loss);
}

/* ---- the loss and its gradient ---- */

static weft_status evaluate_here(weft_lbfgs *o, double *loss, double *gradient) {
    float now;
    WI_TRY(weft_plan_run(o->plan));
    WI_TRY(weft_plan_read(o->plan, o->outputs[0], &now, sizeof now));
    WI_TRY(weft_plan_read(o->plan, o->outputs[1], o->copied, o->size * sizeof *o->copied));
    for (size_t i = 0; i < o->size; i++) gradient[i] = (double)o->copied[i];
    *loss = (double)now;
    o->info.evaluations++;
    return WEFT_OK;
}

/* Writes x + at·direction to the parameters. Afterwards, o->copied has these values, too. */
static weft_status move_to(weft_lbfgs *o, double at) {
    for (size_t i = 0; i < o->size; i++) o->copied[i] = (float)(o->x[i] + at * o->direction[i]);
    return wi_vector_set(o->parameters, o->parameter_count, o->copied);
}

static weft_status evaluate_at(void *user, wi_line_point *point) {
    weft_lbfgs *const o = user;
    WI_TRY(move_to(o, point->at));
    WI_TRY(evaluate_here(o, &point->loss, point->gradient));
    point->slope = dot(point->gradient, o->direction, o->size);
    return WEFT_OK;
}

static weft_status begin_at_parameters(weft_lbfgs *o) {
    WI_TRY(wi_vector_get(o->parameters, o->parameter_count, o->copied));
    for (size_t i = 0; i < o->size; i++) o->x[i] = (double)o->copied[i];
    WI_TRY(evaluate_here(o, &o->loss, o->gradient));
    if (is_finite(o->loss, o->gradient, o->size)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_NOT_FINITE,
        "weft_lbfgs_step: before the step the loss is %g, or its gradient is not finite", o->loss);
}

/* ---- the direction ---- */

/* *place: the vectors for the newest pair. If the history is full, the oldest pair is dropped and its vectors are
 * reused. */
static weft_status place_pair(weft_lbfgs *o, wi_lbfgs_pair *place) {
    const size_t most = (size_t)o->options.history;
    const wi_lbfgs_pair oldest = o->pairs[0];
    if (o->pair_count == most) {
        memmove(o->pairs, o->pairs + 1, (most - 1) * sizeof *o->pairs);
        o->pairs[--o->pair_count] = oldest;
    }
    WI_TRY(wi_lbfgs_allocate_pair(o, &o->pairs[o->pair_count]));
    *place = o->pairs[o->pair_count];
    return WEFT_OK;
}

/* Adds the previous iteration to the history, unless the curvature along its step is not positive. As in PyTorch,
 * step · change must be above 1e-10. */
static weft_status remember(weft_lbfgs *o) {
    double along = 0, squares = 0;
    wi_lbfgs_pair newest;
    for (size_t i = 0; i < o->size; i++) {
        const double change = o->gradient[i] - o->before[i];
        along += change * o->direction[i] * o->length;
        squares += change * change;
    }
    if (!(along > 1e-10)) return WEFT_OK;
    WI_TRY(place_pair(o, &newest));
    for (size_t i = 0; i < o->size; i++) {
        newest.step[i] = (float)(o->direction[i] * o->length);
        newest.change[i] = (float)(o->gradient[i] - o->before[i]);
    }
    newest.factor = 1 / along;
    o->pairs[o->pair_count++] = newest;
    o->scale = along / squares;
    return WEFT_OK;
}

/* direction = -H·gradient, where H is the inverse Hessian that the history approximates. */
static void set_direction(weft_lbfgs *o) {
    double *const d = o->direction;
    for (size_t i = 0; i < o->size; i++) d[i] = -o->gradient[i];
    for (size_t k = o->pair_count; k-- > 0;) {
        const wi_lbfgs_pair *const p = &o->pairs[k];
        o->weights[k] = p->factor * dot_floats(p->step, d, o->size);
        for (size_t i = 0; i < o->size; i++) d[i] -= o->weights[k] * (double)p->change[i];
    }
    for (size_t i = 0; i < o->size; i++) d[i] *= o->scale;
    for (size_t k = 0; k < o->pair_count; k++) {
        const wi_lbfgs_pair *const p = &o->pairs[k];
        const double rest = o->weights[k] - p->factor * dot_floats(p->change, d, o->size);
        for (size_t i = 0; i < o->size; i++) d[i] += rest * (double)p->step[i];
    }
}

/* ---- a step ---- */

static weft_status search_line(weft_lbfgs *o, double slope) {
    const wi_line_point start = {.loss = o->loss, .slope = slope, .gradient = o->gradient};
    wi_line_search search = {.evaluate = evaluate_at,
        .user = o,
        .size = o->size,
        .longest = largest_of(o->direction, o->size),
        .tolerance_change = o->options.tolerance_change,
        .memory = o->points};
    wi_line_point found;
    WI_TRY(wi_line_search_run(&search, &start, o->length, &found));
    o->length = found.at;
    o->loss = found.loss;
    memcpy(o->gradient, found.gradient, o->size * sizeof *o->gradient);
    return WEFT_OK;
}

/* Moves x and the parameters along the direction, as far as the line search says or by o->length. Without a line
 * search, the loss and gradient there are evaluated unless the step ends now. */
static weft_status move(weft_lbfgs *o, double slope, bool is_last) {
    const bool searches = o->options.line_search == WEFT_LINE_SEARCH_STRONG_WOLFE;
    if (searches) WI_TRY(search_line(o, slope));
    WI_TRY(move_to(o, o->length));
    for (size_t i = 0; i < o->size; i++) o->x[i] = (double)o->copied[i];
    return searches || is_last ? WEFT_OK : evaluate_here(o, &o->loss, o->gradient);
}

/* One iteration; *over: the step ends after it. */
static weft_status iterate(weft_lbfgs *o, bool is_last, bool *over) {
    const bool is_first = o->info.iterations++ == 0;
    const double loss_before = o->loss;
    if (!is_first) WI_TRY(remember(o));
    set_direction(o);
    memcpy(o->before, o->gradient, o->size * sizeof *o->before);
    o->length = (double)o->options.rate;
    if (is_first) o->length *= fmin(1, 1 / sum_of_magnitudes(o->gradient, o->size));
    const double slope = dot(o->gradient, o->direction, o->size);
    *over = !(slope <= -o->options.tolerance_change);
    if (*over) o->length = 0; /* nothing moved, so the next iteration adds no pair to the history */
    if (*over) return WEFT_OK;
    WI_TRY(move(o, slope, is_last));
    *over = !is_finite(o->loss, o->gradient, o->size) ||
            largest_of(o->gradient, o->size) <= o->options.tolerance_grad ||
            largest_of(o->direction, o->size) * fabs(o->length) <= o->options.tolerance_change ||
            fabs(o->loss - loss_before) < o->options.tolerance_change;
    return WEFT_OK;
}

static weft_status write_values(weft_lbfgs *o, const weft_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!values || !values[i].tensor || values[i].tensor->op != &wi_op_input)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_lbfgs_step: value %zu is not for an input tensor", i);
        WI_TRY(weft_plan_write(o->plan, values[i].tensor, values[i].data, values[i].bytes));
    }
    return WEFT_OK;
}

weft_status weft_lbfgs_step(weft_lbfgs *o, const weft_value *values, size_t count, float *loss) {
    if (!o) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_lbfgs_step: optimizer is NULL");
    WI_TRY(write_values(o, values, count));
    const size_t begun = o->info.evaluations, most = (size_t)o->options.max_evaluations;
    WI_TRY(begin_at_parameters(o));
    if (loss) *loss = (float)o->loss;
    bool over = largest_of(o->gradient, o->size) <= o->options.tolerance_grad;
    for (int i = 1; !over; i++) { /* even if the limits are reached already, there is one iteration */
        WI_TRY(iterate(o, i == o->options.max_iterations, &over));
        over = over || i == o->options.max_iterations || o->info.evaluations - begun >= most;
    }
    o->info.loss = o->loss;
    o->info.largest_gradient = largest_of(o->gradient, o->size);
    return WEFT_OK;
}

void weft_lbfgs_get_info(const weft_lbfgs *o, weft_lbfgs_info *info) {
    if (!info) return;
    *info = o ? o->info : (weft_lbfgs_info){.loss = (double)NAN, .largest_gradient = (double)NAN};
}
