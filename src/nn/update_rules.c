/* The rules of the optimizers (contract in update_rules.h; formulas and sources in nn.h).
 *
 * The order of nodes and of their inputs decides which step of a plan computes them. Each rule begins with the
 * gradient, so that the rest of the update joins the step that computes the gradient. C does not say in which order the
 * arguments of a call are evaluated: where two arguments create nodes, the first is therefore a variable. */
#include "nn/update_rules.h"
#include "base/portable_math.h"
#include "nn/fraction.h"
#include "ops/loss_scale.h"
#include "ops/op_table.h"

/* ---- shared by the rules ---- */

/* The values of the range in a flat tensor that begins with row `begin` of the block. With u->segments: only the rows
 * of the table that have a gradient. */
static weft_tensor *range_of(const wi_update *u, weft_tensor *flat, int64_t begin) {
    if (flat && u->segments) return wi_row_selected(u, wi_row_table(u, flat, begin));
    if (!flat || wi_shape_equal(&flat->shape, &u->shape)) return flat;
    weft_tensor *const rows =
        flat->shape.dims[0] == u->rows ? flat : wi_slice_dims(flat, 0, u->first_row - begin, u->rows, 1);
    return weft_reshape_shape(rows, u->shape.rank, u->shape.dims);
}

weft_tensor *wi_update_parameters(const wi_update *u) {
    return range_of(u, wi_flat_parameters(u->graph, u->stretch->block), 0);
}

/* Creates a state for the stretch's rows that this process updates. It has no name, so that files of weights do not contain it. */
static weft_tensor *make_state(wi_update *u, const char *role, float first) {
    const wi_stretch *const stretch = u->stretch;
    weft_tensor *const state = wi_covering_state(u->graph, stretch->block, stretch->own_rows, first);
    if (!state) return NULL;
    wi_variable *const variable = state->variable;
    variable->role = role;
    variable->optimizer = u->number;
    variable->clock = stretch->clock;
    variable->covered_block = stretch->block;
    variable->covered = (size_t)stretch->own_first * WI_FLAT_ROW_BYTES;
    if (stretch->own_rows == stretch->rows) return state;
    variable->whole_covered = (size_t)stretch->first_row * WI_FLAT_ROW_BYTES;
    variable->whole_bytes = (size_t)stretch->rows * WI_FLAT_ROW_BYTES;
    return state;
}

weft_tensor *wi_update_state(wi_update *u, const char *role, float first) {
    wi_stretch *const stretch = u->stretch;
    if (u->asked == stretch->state_count) {
        weft_tensor *const made = make_state(u, role, first);
        if (!made) return NULL;
        stretch->states[stretch->state_count++] = made;
    }
    return range_of(u, stretch->states[u->asked++], stretch->own_first);
}

void wi_update_keep(wi_update *u, weft_tensor *state, weft_tensor *value) {
    u->pairs[u->count++] = (wi_pair){state, value};
}

/* x · factor */
static weft_tensor *times(weft_tensor *x, double factor) {
    return weft_mul(x, weft_number(x, factor));
}

/* a · keep + b · (1 - keep) */
static weft_tensor *blend(weft_tensor *a, weft_tensor *b, double keep) {
    weft_tensor *const change = times(b, 1.0 - keep);
    return weft_add(times(a, keep), change);
}

weft_tensor *wi_root_plus(weft_tensor *x, float epsilon) {
    weft_tensor *const root = weft_sqrt(x);
    return weft_add(root, weft_number(root, (double)epsilon));
}

static weft_tensor *descend(const wi_update *u, weft_tensor *p, weft_tensor *step) {
    return weft_sub(p, weft_mul(u->rate, step));
}

wi_moments wi_update_moments(wi_update *u) {
    weft_tensor *const m = wi_update_state(u, "m", 0), *const v = wi_update_state(u, "v", 0);
    wi_moments next;
    next.first = blend(m, u->g, wi_fraction(u->optimizer->beta1));
    next.second = blend(v, weft_square(u->g), wi_fraction(u->optimizer->beta2));
    wi_update_keep(u, m, next.first);
    wi_update_keep(u, v, next.second);
    return next;
}

weft_tensor *wi_update_number(
    wi_update *u, double (*rule)(wi_scalar *, const wi_clock *), wi_scaled_rule *scaled, double a, double b) {
    weft_tensor *const counted = u->number_of ? scaled(u, u->number_of, a, b) : NULL;
    if (counted && wi_loss_scales(u->graph)) return counted;
    weft_tensor *const host = wi_step_scalar(u->graph, u->stretch->clock, rule, a, b);
    return counted ? weft_where(weft_equal(u->skipped, weft_number(u->skipped, 0)), host, counted) : host;
}

static double bias_correction(wi_scalar *scalar, const wi_clock *clock) {
    return 1 / (1 - wi_math_pow(scalar->a, (double)wi_clock_update(clock)));
}

/* 1 / (1 - beta^t) as -1 / expm1(t · wi_math_log(beta)), because 1 - beta^t loses digits for small t. */
static weft_tensor *scaled_correction(wi_update *u, weft_tensor *t, double beta, double unused) {
    (void)u, (void)unused;
    if (beta == 0) return weft_number(t, 1);
    return weft_div(weft_number(t, -1), weft_expm1(times(t, wi_math_log(beta))));
}

weft_tensor *wi_unbiased(wi_update *u, weft_tensor *x, float beta) {
    return weft_mul(x, wi_update_number(u, bias_correction, scaled_correction, wi_fraction(beta), 0));
}

/* ---- SGD ---- */

/* The weight of the gradient in the velocity: as in PyTorch, the first gradient is not dampened. */
static double undamped(wi_scalar *scalar, const wi_clock *clock) {
    return wi_clock_update(clock) == 1 ? 1 : 1 - scalar->a;
}

static weft_tensor *scaled_undamped(wi_update *u, weft_tensor *t, double dampening, double unused) {
    (void)u, (void)unused;
    weft_tensor *const later = weft_number(t, 1 - dampening), *const one = weft_number(t, 1);
    return weft_where(weft_equal(t, one), one, later);
}

weft_tensor *wi_sgd_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    if (!(o->momentum > 0)) return descend(u, u->p, u->g);
    const double momentum = wi_fraction(o->momentum);
    weft_tensor *const v = wi_update_state(u, "momentum", 0);
    weft_tensor *part = u->g;
    if (o->dampening > 0)
        part = weft_mul(part, wi_update_number(u, undamped, scaled_undamped, wi_fraction(o->dampening), 0));
    weft_tensor *const next = weft_add(part, times(v, momentum));
    wi_update_keep(u, v, next);
    return descend(u, u->p, o->nesterov ? weft_add(u->g, times(next, momentum)) : next);
}

/* ---- Adam, AdamW and NAdam ---- */

weft_tensor *wi_adam_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    const wi_moments next = wi_update_moments(u);
    weft_tensor *second = next.second;
    if (o->amsgrad) {
        weft_tensor *const largest = wi_update_state(u, "largest_v", 0);
        second = weft_maximum(second, largest);
        wi_update_keep(u, largest, second);
    }
    weft_tensor *const m = wi_unbiased(u, next.first, o->beta1);
    weft_tensor *const v = wi_unbiased(u, second, o->beta2);
    weft_tensor *const step = weft_div(m, wi_root_plus(v, o->epsilon));
    weft_tensor *p = u->p;
    if (o->kind == WEFT_ADAMW && u->decay) {
        weft_tensor *const shrink = weft_mul(u->rate, u->decay);
        p = weft_mul(p, weft_sub(weft_number(shrink, 1), shrink));
    }
    return descend(u, p, step);
}

/* β_t of NAdam (nn.h), and below it Π, the product up to t, which the scalar keeps from update to update. */
static double nadam_momentum(const wi_scalar *scalar, uint64_t t) {
    return scalar->a * (1 - 0.5 * wi_math_pow(0.96, (double)t * scalar->b));
}

static double nadam_product(wi_scalar *scalar, uint64_t t) {
    if (scalar->remembers == 0) scalar->memory = 1;
    while (scalar->remembers < t) scalar->memory *= nadam_momentum(scalar, ++scalar->remembers);
    return scalar->memory;
}

static double nadam_gradient_weight(wi_scalar *scalar, const wi_clock *clock) {
    const uint64_t t = wi_clock_update(clock);
    return (1 - nadam_momentum(scalar, t)) / (1 - nadam_product(scalar, t));
}

static double nadam_moment_weight(wi_scalar *scalar, const wi_clock *clock) {
    const uint64_t t = wi_clock_update(clock);
    const double next = nadam_momentum(scalar, t + 1);
    return next / (1 - nadam_product(scalar, t) * next);
}

/* β_t = beta · (1 - 0.5 · 0.96^(t · decay)), computed on the device. */
static weft_tensor *scaled_momentum(weft_tensor *t, double beta, double decay) {
    weft_tensor *const power = weft_exp(times(t, decay * wi_math_log(0.96))), *const half = times(power, 0.5);
    return times(weft_sub(weft_number(power, 1), half), beta);
}

/* Π, the product up to t, computed on the device: the clock's memory has the product of the earlier updates. */
static weft_tensor *scaled_product(wi_update *u, weft_tensor *t, double beta, double decay) {
    wi_clock *const clock = &u->graph->clocks[u->stretch->clock];
    if (!clock->memory) clock->memory = wi_loss_scale_state(u->graph, "loss_scale.momentum", 1);
    return u->next_memory = weft_mul(clock->memory, scaled_momentum(t, beta, decay));
}

static weft_tensor *rest_of(weft_tensor *x) {
    return weft_sub(weft_number(x, 1), x);
}

static weft_tensor *scaled_gradient_weight(wi_update *u, weft_tensor *t, double beta, double decay) {
    weft_tensor *const rest = rest_of(scaled_product(u, t, beta, decay));
    return weft_div(rest_of(scaled_momentum(t, beta, decay)), rest);
}

static weft_tensor *scaled_moment_weight(wi_update *u, weft_tensor *t, double beta, double decay) {
    weft_tensor *const next = scaled_momentum(weft_add(t, weft_number(t, 1)), beta, decay);
    return weft_div(next, rest_of(weft_mul(scaled_product(u, t, beta, decay), next)));
}

weft_tensor *wi_nadam_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    const double beta = wi_fraction(o->beta1), decay = (double)o->momentum_decay;
    const wi_moments next = wi_update_moments(u);
    weft_tensor *const of_g = wi_update_number(u, nadam_gradient_weight, scaled_gradient_weight, beta, decay);
    weft_tensor *const of_m = wi_update_number(u, nadam_moment_weight, scaled_moment_weight, beta, decay);
    weft_tensor *const v = wi_unbiased(u, next.second, o->beta2);
    weft_tensor *const moment_part = weft_mul(next.first, of_m);
    weft_tensor *const part = weft_add(weft_mul(u->g, of_g), moment_part);
    return descend(u, u->p, weft_div(part, wi_root_plus(v, o->epsilon)));
}

/* ---- RMSprop, Adagrad and Adadelta ---- */

/* The mean of squares of g, or if `centered` the variance of g. The variance is a state, updated with d = g - mean as
 * rho·(v + (1 - rho)·d²). This equals mean(g²) - mean(g)² without the cancellation of squares when g hardly changes.
 * If g does not change at all, the variance would fall towards 0 and the steps would grow without limit: it is
 * therefore at least 2^-24·mean², the spread of numbers that f32 rounds to the mean. */
static weft_tensor *rmsprop_spread(wi_update *u, double rho) {
    if (!u->optimizer->centered) {
        weft_tensor *const v = wi_update_state(u, "v", 0), *const next = blend(v, weft_square(u->g), rho);
        wi_update_keep(u, v, next);
        return next;
    }
    weft_tensor *const v = wi_update_state(u, "variance", 0), *const mean = wi_update_state(u, "mean", 0);
    weft_tensor *const apart = weft_square(weft_sub(u->g, mean)), *const next_mean = blend(mean, u->g, rho);
    weft_tensor *const next = times(weft_add(v, times(apart, 1 - rho)), rho);
    wi_update_keep(u, v, next);
    wi_update_keep(u, mean, next_mean);
    return weft_maximum(next, times(weft_square(next_mean), 0x1p-24));
}

weft_tensor *wi_rmsprop_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    weft_tensor *step = weft_div(u->g, wi_root_plus(rmsprop_spread(u, wi_fraction(o->rho)), o->epsilon));
    if (o->momentum > 0) {
        weft_tensor *const b = wi_update_state(u, "momentum", 0);
        step = weft_add(step, times(b, wi_fraction(o->momentum)));
        wi_update_keep(u, b, step);
    }
    return descend(u, u->p, step);
}

static double falling_rate(wi_scalar *scalar, const wi_clock *clock) {
    return 1 / (1 + (double)(wi_clock_update(clock) - 1) * scalar->a);
}

static weft_tensor *scaled_falling_rate(wi_update *u, weft_tensor *t, double decay, double unused) {
    (void)u, (void)unused;
    weft_tensor *const grown = times(weft_sub(t, weft_number(t, 1)), decay);
    return weft_reciprocal(weft_add(grown, weft_number(grown, 1)));
}

weft_tensor *wi_adagrad_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    weft_tensor *const v = wi_update_state(u, "v", o->first_sum);
    weft_tensor *const next = weft_add(weft_square(u->g), v);
    wi_update_keep(u, v, next);
    weft_tensor *step = weft_div(u->g, wi_root_plus(next, o->epsilon));
    if (o->rate_decay > 0)
        step =
            weft_mul(step, wi_update_number(u, falling_rate, scaled_falling_rate, (double)o->rate_decay, 0));
    return descend(u, u->p, step);
}

weft_tensor *wi_adadelta_rule(wi_update *u) {
    const double rho = wi_fraction(u->optimizer->rho), epsilon = (double)u->optimizer->epsilon;
    weft_tensor *const v = wi_update_state(u, "v", 0), *const deltas = wi_update_state(u, "u", 0);
    weft_tensor *const next_v = blend(v, weft_square(u->g), rho);
    weft_tensor *const divisor = weft_add(next_v, weft_number(next_v, epsilon));
    weft_tensor *const quotient = weft_div(weft_add(deltas, weft_number(deltas, epsilon)), divisor);
    weft_tensor *const step = weft_mul(u->g, weft_sqrt(quotient));
    wi_update_keep(u, v, next_v);
    wi_update_keep(u, deltas, blend(deltas, weft_square(step), rho));
    return descend(u, u->p, step);
}

/* ---- Lion ---- */

static weft_tensor *sign(weft_tensor *x) {
    weft_tensor *const zero = weft_number(x, 0), *const one = weft_number(x, 1);
    weft_tensor *const minus_one = weft_number(x, -1);
    weft_tensor *const not_above = weft_where(weft_less(x, zero), minus_one, zero);
    return weft_where(weft_less(zero, x), one, not_above);
}

weft_tensor *wi_lion_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    weft_tensor *const m = wi_update_state(u, "m", 0);
    weft_tensor *step = sign(blend(m, u->g, wi_fraction(o->beta1)));
    if (u->decay) step = weft_add(step, weft_mul(u->p, u->decay));
    wi_update_keep(u, m, blend(m, u->g, wi_fraction(o->beta2)));
    return descend(u, u->p, step);
}
