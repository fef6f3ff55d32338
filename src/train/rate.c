/* A trainer's learning rate (contract in rate.h). */
#include "train/rate.h"
#include "base/status.h"
#include "graph/weft_graph.h"

static weft_tensor *rate_of(const weft_graph *graph, const weft_tensor *update) {
    const wi_rated_update *noted = graph->rated;
    while (noted && noted->update != update) noted = noted->next;
    return noted ? noted->rate : NULL;
}

/* Returns the learning rate of the first update that has one, or if none has one, the graph's latest learning rate.
 * *count: on entry the number of updates, on return the number of different rates. */
static weft_tensor *rates_of(weft_graph *graph, weft_tensor *const *updates, size_t *count) {
    weft_tensor *rates[WEFT_MAX_UPDATES] = {NULL};
    size_t found = 0;
    for (size_t i = 0; i < *count; i++) {
        weft_tensor *const rate = rate_of(graph, updates[i]);
        size_t known = 0;
        while (known < found && rates[known] != rate) known++;
        if (rate && known == found && found < WEFT_MAX_UPDATES) rates[found++] = rate;
    }
    *count = found;
    return found ? rates[0] : weft_minimize_rate(graph);
}

weft_status wi_rate_init(wi_rate *rate, weft_graph *graph, weft_tensor *const *updates, size_t count,
    const weft_trainer_options *options) {
    const uint32_t accumulate = options->optimizer.accumulate;
    float first;
    *rate = (wi_rate){.schedule = options->schedule,
        .base = options->optimizer.rate,
        .accumulate = accumulate > 1 ? accumulate : 1,
        .scalar = rates_of(graph, updates, &count)};
    if (!rate->scalar && (rate->schedule.kind != WEFT_SCHEDULE_CONSTANT || rate->schedule.warmup))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: the option schedule changes the rate of "
                                     "weft_minimize, which has not been called");
    if (count > 1 && (rate->schedule.kind != WEFT_SCHEDULE_CONSTANT || rate->schedule.warmup))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: the option schedule changes one rate, but there are %zu optimizers: set "
            "their rates in a step callback with weft_schedule_rate and weft_scalar_set",
            count);
    if (rate->scalar && wi_scalar_has_rule(rate->scalar) &&
        (rate->schedule.kind != WEFT_SCHEDULE_CONSTANT || rate->schedule.warmup))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: the optimizer and the trainer both have a schedule: set one of them");
    if (rate->schedule.kind != WEFT_SCHEDULE_PLATEAU)
        return weft_schedule_rate(&rate->schedule, rate->base, 0, &first);
    if (!options->validation)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: a plateau schedule needs the option validation, a dataset");
    weft_plateau probe = {0};
    return weft_plateau_rate(&rate->schedule, &probe, rate->base, 0, &first);
}

static weft_status set(const wi_rate *rate, uint64_t t) {
    float value;
    WI_TRY(weft_schedule_rate(&rate->schedule, rate->base, t, &value));
    return weft_scalar_set(rate->scalar, value);
}

static bool moves(const wi_rate *rate) {
    const bool constant = rate->schedule.kind == WEFT_SCHEDULE_CONSTANT && rate->schedule.warmup == 0;
    return !constant && rate->schedule.kind != WEFT_SCHEDULE_PLATEAU;
}

weft_status wi_rate_before_epoch(const wi_rate *rate, uint64_t epochs) {
    if (rate->plateau.epochs > 0) return weft_scalar_set(rate->scalar, rate->plateau.rate);
    if (!moves(rate)) return WEFT_OK;
    if (!rate->schedule.per_step) return set(rate, epochs);
    return epochs == 0 ? set(rate, 0) : WEFT_OK;
}

weft_status wi_rate_after_step(const wi_rate *rate, uint64_t windows, uint64_t skipped) {
    if (!moves(rate) || !rate->schedule.per_step) return WEFT_OK;
    return set(rate, windows - skipped);
}

weft_status wi_rate_after_validation(wi_rate *rate, double loss) {
    float next; /* not needed: wi_rate_before_epoch computes the next rate when the epoch begins */
    if (rate->schedule.kind != WEFT_SCHEDULE_PLATEAU) return WEFT_OK;
    return weft_plateau_rate(&rate->schedule, &rate->plateau, rate->base, loss, &next);
}
