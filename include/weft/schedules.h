/* weft/schedules.h: learning-rate schedules, values that are passed to an optimizer, a trainer or weft_schedule_rate.
 * base is the rate of the optimizer; t counts finished epochs, or updates if per_step is set. The definitions are
 * those of the PyTorch schedulers of these names. */
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
    WEFT_SCHEDULE_COSINE_RESTARTS, /* cosine with t counted from the last restart; see period_factor */
    WEFT_SCHEDULE_ONE_CYCLE,       /* from base / divisor up to base at t = rise·period - 1, then down to
                                      base / (divisor·end_divisor) at t = period - 1, both along a cosine, then
                                      constant; momentum does not change */
    WEFT_SCHEDULE_POLYNOMIAL,      /* base·(1 - min(t, period) / period)^power */
    WEFT_SCHEDULE_PLATEAU /* after more than `patience` epochs in a row without a better loss the rate becomes
                             max(rate·factor, floor), unless this changes it by 1e-8 or less */
} weft_schedule_kind;

#define WEFT_MAX_MILESTONES 16
typedef struct weft_schedule {
    weft_schedule_kind kind;
    bool per_step;                    /* t counts updates instead of epochs; plateau: epochs only */
    float factor;                     /* above 0; plateau: below 1 */
    uint64_t period;                  /* 1 or more; one-cycle: 2 or more */
    uint32_t period_factor;           /* restarts: the factor from each period to the next; 1 or more */
    float floor;                      /* the lowest rate; 0 or more */
    float power;                      /* 0 or more */
    float divisor, end_divisor, rise; /* divisors: 1 or more; rise: between 0 and 1 */
    uint64_t milestones[WEFT_MAX_MILESTONES]; /* ascending */
    size_t milestone_count;
    uint64_t patience, cooldown; /* plateau: numbers of epochs */
    float threshold; /* plateau: a loss below best - threshold·|best| is better; 0 or more, below 1 */
    /* A linear warm-up before the schedule: from base·warmup_start at t = 0 to base at t = warmup; from there on, the
     * formulas above use t - warmup. 0: none. Not for plateau. */
    uint64_t warmup;
    float warmup_start; /* above 0, at most 1 */
} weft_schedule;

/* multiplies by factor after each period */
WEFT_API weft_schedule weft_step_schedule(uint64_t period, float factor);
/* multiplies by factor at each milestone; at most WEFT_MAX_MILESTONES; the array is copied */
WEFT_API weft_schedule weft_multi_step_schedule(const uint64_t *milestones, size_t count, float factor);
WEFT_API weft_schedule weft_exponential_schedule(float factor); /* multiplies by factor at each t */
WEFT_API weft_schedule weft_cosine_schedule(uint64_t period, float floor); /* base to floor in one period */
/* base to floor in each period, then back to base; each period is period_factor times as long as the one before */
WEFT_API weft_schedule weft_cosine_restarts_schedule(uint64_t period, uint32_t period_factor, float floor);
WEFT_API weft_schedule weft_one_cycle_schedule(uint64_t steps); /* per step; rise 0.3, divisors 25, 1e4 */
WEFT_API weft_schedule weft_polynomial_schedule(uint64_t period, float power); /* base to 0 in one period */
/* multiplies by factor after more than `patience` epochs in a row without a better loss; threshold 1e-4, cooldown 0,
 * floor 0. A trainer uses the validation loss of each epoch. */
WEFT_API weft_schedule weft_plateau_schedule(float factor, uint64_t patience);
/* Returns the schedule with a warm-up of `length` epochs or updates before it, which begins at start·base. */
WEFT_API weft_schedule weft_warmup(weft_schedule schedule, uint64_t length, float start);
/* Returns the schedule with t, periods, milestones and the length of the warm-up in updates instead of epochs. */
WEFT_API weft_schedule weft_per_step(weft_schedule schedule);

/* Sets *rate to the rate at t. WEFT_ERROR_ARGUMENT: the schedule is a plateau, a field out of range, a negative or NaN
 * base. */
WEFT_API weft_status weft_schedule_rate(const weft_schedule *schedule, float base, uint64_t t, float *rate);
/* The state of a plateau; zero it before the first call. */
typedef struct weft_plateau {
    double best;       /* the best loss so far */
    uint64_t epochs;   /* finished epochs */
    uint64_t bad;      /* epochs in a row without a better loss */
    uint64_t cooldown; /* how many of the next epochs do not count as bad */
    float rate;        /* the current rate */
} weft_plateau;
/* Updates *plateau with the loss of a finished epoch, and sets *rate to the rate of the next epoch. base: the rate of
 * the first epoch. NaN is never a better loss. */
WEFT_API weft_status weft_plateau_rate(
    const weft_schedule *schedule, weft_plateau *plateau, float base, double loss, float *rate);

#ifdef __cplusplus
}
#endif
#endif
