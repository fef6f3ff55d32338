/* weft/schedules.h: learning-rate schedules, values that are passed to an optimizer, a trainer or weft_schedule_rate.
 * base is the rate of the optimizer; t counts finished epochs, or steps if per_step is set. The definitions
 * are those of the PyTorch schedulers of these names. */
#ifndef WEFT_SCHEDULES_H
#define WEFT_SCHEDULES_H

#include <weft/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_schedule_kind {
    WEFT_SCHEDULE_CONSTANT,        /* base */
    WEFT_SCHEDULE_STEP,            /* base·factor^floor(t / period) */
    WEFT_SCHEDULE_MULTI_STEP,      /* base·factor^(number of milestones <= t) */
    WEFT_SCHEDULE_EXPONENTIAL,     /* base·factor^t */
    WEFT_SCHEDULE_COSINE,          /* floor + (base - floor)·(1 + cos(π·t / period)) / 2 */
    WEFT_SCHEDULE_COSINE_RESTARTS, /* the same with t counted from the last restart; see period_factor */
    WEFT_SCHEDULE_ONE_CYCLE,       /* base / divisor up to base in rise·period, then down to base /
                                      (divisor·end_divisor), both as cosines, and constant after `period`
                                      steps; momentum does not change */
    WEFT_SCHEDULE_POLYNOMIAL,      /* base·(1 - min(t, period) / period)^power */
    WEFT_SCHEDULE_PLATEAU /* multiplied by factor, but not below floor, after more than `patience` epochs
                             in a row without a better loss; changes of at most 1e-8 are skipped */
} weft_schedule_kind;

#define WEFT_MAX_MILESTONES 16
typedef struct weft_schedule {
    weft_schedule_kind kind;
    bool per_step;          /* t counts updates instead of epochs; plateau: epochs only */
    float factor;           /* above 0; plateau: below 1 */
    uint64_t period;        /* 1 or more; one-cycle: 2 or more */
    uint32_t period_factor; /* each period is this many times as long as the one before; 1 or more */
    float floor;            /* the lowest rate; 0 or more */
    float power;            /* 0 or more */
    float divisor, end_divisor, rise;         /* divisors: 1 or more; rise: between 0 and 1 */
    uint64_t milestones[WEFT_MAX_MILESTONES]; /* ascending */
    size_t milestone_count;
    uint64_t patience, cooldown; /* epochs */
    float threshold; /* plateau: a loss below best - threshold·|best| is better; 0 or more, below 1 */
    /* A linear warm-up before any schedule: from base·warmup_start at t = 0 to base at t = warmup, where the
     * schedule begins with its own t = 0. 0: none. Not for plateau. */
    uint64_t warmup;
    float warmup_start; /* above 0, at most 1 */
} weft_schedule;

WEFT_API weft_schedule weft_step_schedule(uint64_t period, float factor); /* times factor after each period */
/* Times factor at each milestone; at most WEFT_MAX_MILESTONES, which are copied. */
WEFT_API weft_schedule weft_multi_step_schedule(const uint64_t *milestones, size_t count, float factor);
WEFT_API weft_schedule weft_exponential_schedule(float factor);            /* times factor at each t */
WEFT_API weft_schedule weft_cosine_schedule(uint64_t period, float floor); /* base to floor in one period */
/* The same repeatedly; each period is period_factor times as long as the one before. */
WEFT_API weft_schedule weft_cosine_restarts_schedule(uint64_t period, uint32_t period_factor, float floor);
WEFT_API weft_schedule weft_one_cycle_schedule(
    uint64_t steps); /* per step; rise 0.3, divisors 25 and 10,000 */
WEFT_API weft_schedule weft_polynomial_schedule(uint64_t period, float power); /* base to 0 in one period */
/* Times factor after more than `patience` epochs without a better loss; threshold 1e-4, cooldown 0, floor 0.
 * A trainer uses the validation loss after each epoch. */
WEFT_API weft_schedule weft_plateau_schedule(float factor, uint64_t patience);
/* The schedule after a warm-up of `length` that begins at start·base. */
WEFT_API weft_schedule weft_warmup(weft_schedule schedule, uint64_t length, float start);
/* The same schedule with t in updates: lengths, periods and milestones are numbers of them. */
WEFT_API weft_schedule weft_per_step(weft_schedule schedule);

/* The rate at t. WEFT_ERROR_ARGUMENT: a plateau, a field out of range, a negative or NaN base. */
WEFT_API weft_status weft_schedule_rate(const weft_schedule *schedule, float base, uint64_t t, float *rate);
/* The state of a plateau; zeroed before the first call. */
typedef struct weft_plateau {
    double best;       /* loss */
    uint64_t epochs;   /* so far */
    uint64_t bad;      /* epochs in a row without a better loss */
    uint64_t cooldown; /* epochs left in which no epoch counts as bad */
    float rate;
} weft_plateau;
/* Takes the loss of a finished epoch and returns the rate of the next one; base is the first rate. NaN is
 * never a better loss. */
WEFT_API weft_status weft_plateau_rate(
    const weft_schedule *schedule, weft_plateau *plateau, float base, double loss, float *rate);

#ifdef __cplusplus
}
#endif
#endif
