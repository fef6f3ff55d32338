/* Learning-rate schedules: closed forms of PyTorch's schedulers, and reduce-on-plateau, which has a state. */
#include "base/portable_math.h"
#include "graph/sizes.h"
#include "nn/fraction.h"
#include <weft/nn.h>

static const double pi = 3.14159265358979323846;

/* ---- values ---- */

weft_schedule weft_step_schedule(uint64_t period, float factor) {
    return (weft_schedule){.kind = WEFT_SCHEDULE_STEP, .period = period, .factor = factor};
}

weft_schedule weft_multi_step_schedule(const uint64_t *milestones, size_t count, float factor) {
    weft_schedule s = {.kind = WEFT_SCHEDULE_MULTI_STEP, .factor = factor, .milestone_count = count};
    for (size_t i = 0; milestones && i < count && i < WEFT_MAX_MILESTONES; i++)
        s.milestones[i] = milestones[i];
    return s;
}

weft_schedule weft_exponential_schedule(float factor) {
    return (weft_schedule){.kind = WEFT_SCHEDULE_EXPONENTIAL, .factor = factor};
}

weft_schedule weft_cosine_schedule(uint64_t period, float floor_rate) {
    return (weft_schedule){.kind = WEFT_SCHEDULE_COSINE, .period = period, .floor = floor_rate};
}

weft_schedule weft_cosine_restarts_schedule(uint64_t period, uint32_t period_factor, float floor_rate) {
    return (weft_schedule){.kind = WEFT_SCHEDULE_COSINE_RESTARTS,
        .period = period,
        .period_factor = period_factor,
        .floor = floor_rate};
}

weft_schedule weft_one_cycle_schedule(uint64_t steps) {
    return (weft_schedule){.kind = WEFT_SCHEDULE_ONE_CYCLE,
        .per_step = true,
        .period = steps,
        .rise = 0.3f,
        .divisor = 25,
        .end_divisor = 1e4f};
}

weft_schedule weft_polynomial_schedule(uint64_t period, float power) {
    return (weft_schedule){.kind = WEFT_SCHEDULE_POLYNOMIAL, .period = period, .power = power};
}

weft_schedule weft_plateau_schedule(float factor, uint64_t patience) {
    return (weft_schedule){
        .kind = WEFT_SCHEDULE_PLATEAU, .factor = factor, .patience = patience, .threshold = 1e-4f};
}

weft_schedule weft_warmup(weft_schedule schedule, uint64_t length, float start) {
    schedule.warmup = length;
    schedule.warmup_start = start;
    return schedule;
}

weft_schedule weft_per_step(weft_schedule schedule) {
    schedule.per_step = true;
    return schedule;
}

/* ---- checks ---- */

/* Checks low <= value <= high; an infinite or NaN value is out of range. */
static weft_status check_range(const char *name, float value, double low, double high) {
    if (isfinite(value) && (double)value >= low && (double)value <= high) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: %s is %g, expected %g to %g", name, (double)value, low, high);
}

static weft_status check_factor(const weft_schedule *s) {
    if (isfinite(s->factor) && s->factor > 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: factor is %g, expected above 0", (double)s->factor);
}

static weft_status check_period(const weft_schedule *s, uint64_t least) {
    if (s->period >= least) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: period is %llu, expected %llu or more",
        (unsigned long long)s->period, (unsigned long long)least);
}

static weft_status check_milestones(const weft_schedule *s) {
    if (s->milestone_count < 1 || s->milestone_count > WEFT_MAX_MILESTONES)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: milestone_count is %zu, expected 1 to %d", s->milestone_count,
            WEFT_MAX_MILESTONES);
    for (size_t i = 1; i < s->milestone_count; i++)
        if (s->milestones[i] < s->milestones[i - 1])
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "schedule: milestone %zu is %llu, but the one before is %llu: expected ascending order", i,
                (unsigned long long)s->milestones[i], (unsigned long long)s->milestones[i - 1]);
    return WEFT_OK;
}

static weft_status check_one_cycle(const weft_schedule *s) {
    WI_TRY(check_period(s, 2));
    WI_TRY(check_range("divisor", s->divisor, 1, HUGE_VAL));
    WI_TRY(check_range("end_divisor", s->end_divisor, 1, HUGE_VAL));
    WI_TRY(check_range("rise", s->rise, 0, 1));
    if (wi_fraction(s->rise) * (double)s->period > 1 && s->rise < 1) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "schedule: rise is %g with a period of %llu steps, expected below 1 and so large that the rise takes "
        "more than one step",
        (double)s->rise, (unsigned long long)s->period);
}

static weft_status check_plateau(const weft_schedule *s) {
    WI_TRY(check_factor(s));
    if (s->factor >= 1)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "schedule: factor is %g, expected below 1 for a plateau", (double)s->factor);
    if (s->per_step || s->warmup > 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "schedule: a plateau counts epochs and has no warm-up; leave per_step and warmup at 0");
    WI_TRY(check_range("threshold", s->threshold, 0, 0.999999));
    return check_range("floor", s->floor, 0, HUGE_VAL);
}

static weft_status check_kind(const weft_schedule *s) {
    switch (s->kind) {
    case WEFT_SCHEDULE_CONSTANT: return WEFT_OK;
    case WEFT_SCHEDULE_STEP: WI_TRY(check_period(s, 1)); return check_factor(s);
    case WEFT_SCHEDULE_MULTI_STEP: WI_TRY(check_milestones(s)); return check_factor(s);
    case WEFT_SCHEDULE_EXPONENTIAL: return check_factor(s);
    case WEFT_SCHEDULE_COSINE_RESTARTS:
        if (s->period_factor < 1)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: period_factor is 0, expected 1 or more");
        /* fall through */
    case WEFT_SCHEDULE_COSINE: WI_TRY(check_period(s, 1)); return check_range("floor", s->floor, 0, HUGE_VAL);
    case WEFT_SCHEDULE_ONE_CYCLE: return check_one_cycle(s);
    case WEFT_SCHEDULE_POLYNOMIAL:
        WI_TRY(check_period(s, 1));
        return check_range("power", s->power, 0, HUGE_VAL);
    case WEFT_SCHEDULE_PLATEAU: return check_plateau(s);
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: kind is %d, which is not a weft_schedule_kind", (int)s->kind);
}

static weft_status check_numbers(const weft_schedule *s, float base) {
    for (size_t i = 0; i < s->milestone_count && i < WEFT_MAX_MILESTONES; i++)
        WI_TRY(WI_CHECK_NUMBERS("schedule", {"milestone", (double)s->milestones[i]}));
    return WI_CHECK_NUMBERS("schedule", {"base", (double)base}, {"factor", (double)s->factor},
        {"period", (double)s->period}, {"period_factor", (double)s->period_factor},
        {"floor", (double)s->floor}, {"power", (double)s->power}, {"divisor", (double)s->divisor},
        {"end_divisor", (double)s->end_divisor}, {"rise", (double)s->rise}, {"patience", (double)s->patience},
        {"cooldown", (double)s->cooldown}, {"threshold", (double)s->threshold}, {"warmup", (double)s->warmup},
        {"warmup_start", (double)s->warmup_start});
}

static weft_status check(const weft_schedule *s, float base) {
    WI_TRY(check_numbers(s, base));
    WI_TRY(check_kind(s));
    if (s->warmup > 0 && !(s->warmup_start > 0 && s->warmup_start <= 1))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: warmup_start is %g, expected above 0, at most 1",
            (double)s->warmup_start);
    if (!isfinite(base) || base < 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "schedule: the base rate is %g, expected 0 or more", (double)base);
    return WEFT_OK;
}

/* ---- rates ---- */

/* Half a cosine, from `from` at part = 0 to `to` at part = 1. */
static double cosine(double from, double to, double part) {
    return to + (from - to) * (1 + wi_math_cos(pi * part)) / 2;
}

static double restarts(const weft_schedule *s, double base, uint64_t t) {
    uint64_t period = s->period;
    if (s->period_factor == 1) {
        t %= period;
    } else {
        while (t >= period) {
            t -= period;
            if (period > UINT64_MAX / s->period_factor) break;
            period *= s->period_factor;
        }
    }
    return cosine(base, wi_fraction(s->floor), (double)t / (double)period);
}

/* As in PyTorch, the highest rate is reached rise·period - 1 steps after the first step. */
static double one_cycle(const weft_schedule *s, double base, uint64_t t) {
    const double first = base / (double)s->divisor, last = first / (double)s->end_divisor;
    const double top = wi_fraction(s->rise) * (double)s->period - 1, end = (double)s->period - 1;
    const double at = (double)t < end ? (double)t : end;
    return at <= top ? cosine(first, base, at / top) : cosine(base, last, (at - top) / (end - top));
}

static double multi_step(const weft_schedule *s, double base, uint64_t t) {
    for (size_t i = 0; i < s->milestone_count && s->milestones[i] <= t; i++) base *= wi_fraction(s->factor);
    return base;
}

static double rate_of(const weft_schedule *s, double base, uint64_t t) {
    const double period = (double)s->period, at = (double)t;
    switch (s->kind) {
    case WEFT_SCHEDULE_STEP: return base * wi_math_pow(wi_fraction(s->factor), (double)(t / s->period));
    case WEFT_SCHEDULE_MULTI_STEP: return multi_step(s, base, t);
    case WEFT_SCHEDULE_EXPONENTIAL: return base * wi_math_pow(wi_fraction(s->factor), at);
    case WEFT_SCHEDULE_COSINE: return cosine(base, wi_fraction(s->floor), at / period);
    case WEFT_SCHEDULE_COSINE_RESTARTS: return restarts(s, base, t);
    case WEFT_SCHEDULE_ONE_CYCLE: return one_cycle(s, base, t);
    case WEFT_SCHEDULE_POLYNOMIAL:
        return base * wi_math_pow(1 - (at < period ? at : period) / period, (double)s->power);
    case WEFT_SCHEDULE_CONSTANT:
    case WEFT_SCHEDULE_PLATEAU: break;
    }
    return base;
}

weft_status weft_schedule_rate(const weft_schedule *schedule, float base, uint64_t t, float *rate) {
    if (!schedule || !rate)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_schedule_rate: schedule and rate must not be NULL");
    WI_TRY(check(schedule, base));
    if (schedule->kind == WEFT_SCHEDULE_PLATEAU)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_schedule_rate: the rate of a plateau depends on losses; use weft_plateau_rate");
    if (t < schedule->warmup) {
        const double start = (double)schedule->warmup_start, part = (double)t / (double)schedule->warmup;
        *rate = (float)((double)base * (start + (1 - start) * part));
    } else {
        *rate = (float)rate_of(schedule, (double)base, t - schedule->warmup);
    }
    return WEFT_OK;
}

/* The threshold is relative to |best|, so that a lower loss is better even below 0. */
static bool is_better(const weft_schedule *schedule, double best, double loss) {
    if (isinf(best)) return loss < best;
    return loss < best - fabs(best) * wi_fraction(schedule->threshold);
}

weft_status weft_plateau_rate(
    const weft_schedule *schedule, weft_plateau *plateau, float base, double loss, float *rate) {
    if (!schedule || !plateau || !rate)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plateau_rate: schedule, plateau and rate must not be NULL");
    WI_TRY(check(schedule, base));
    if (schedule->kind != WEFT_SCHEDULE_PLATEAU)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plateau_rate: the schedule is not a plateau");
    if (plateau->epochs++ == 0) {
        plateau->rate = base;
        plateau->best = HUGE_VAL;
    }
    if (is_better(schedule, plateau->best, loss)) {
        plateau->best = loss;
        plateau->bad = 0;
    } else {
        plateau->bad++;
    }
    if (plateau->cooldown > 0) {
        plateau->cooldown--;
        plateau->bad = 0;
    }
    if (plateau->bad > schedule->patience) {
        const float lower = plateau->rate * schedule->factor;
        const float next = lower > schedule->floor ? lower : schedule->floor;
        if (plateau->rate - next > 1e-8f) plateau->rate = next; /* as in PyTorch, no smaller changes */
        plateau->cooldown = schedule->cooldown;
        plateau->bad = 0;
    }
    *rate = plateau->rate;
    return WEFT_OK;
}
