/* The plans that a trainer runs in a step, and the step callback (contract in trainer_shared.h). */
#include "plan/compiled_plan.h"
#include "train/trainer_events.h"
#include "train/trainer_page.h"

/* Calls the step callback, which takes the place of weft_plan_run. */
static weft_status call_back(weft_trainer *trainer, weft_step *step) {
    const size_t runs = step->plan->run_count;
    step->trainer = trainer;
    step->step = trainer->steps;
    step->epoch = trainer->state.epoch;
    step->dataset = trainer->training.dataset;
    wi_error_restore("");
    const weft_status status = trainer->options.step(trainer->options.user, step);
    if (status != WEFT_OK && *weft_last_error() == '\0')
        WI_FAIL(status, "the step callback returned %s at step %zu", weft_status_name(status), step->step);
    if (status == WEFT_OK && !step->has_loss && step->plan->run_count == runs)
        WI_FAIL(WEFT_ERROR_STATE, "the step callback neither ran the plan nor set a loss at step %zu",
            step->step);
    return status;
}

static weft_status run_callback(
    weft_trainer *trainer, weft_plan *plan, const void *const *columns, wi_record *record) {
    weft_step step = {.plan = plan, .examples = record->examples, .columns = columns};
    WI_TRY(call_back(trainer, &step));
    if (step.has_loss) {
        record->loss = step.loss;
        record->measured = false;
    }
    return WEFT_OK;
}

/* The callback runs the plan of a shard's loss; the update follows after all shards. */
weft_status wi_trainer_shard(
    void *user, weft_plan *plan, const void *const *columns, const wi_shard_examples *shard) {
    weft_step step = {.plan = plan,
        .examples = shard->count,
        .columns = columns,
        .shard = shard->index,
        .first_example = shard->first};
    WI_TRY(call_back(user, &step));
    if (step.has_loss)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "the step callback set a loss at step %zu, but with gradient shards the plan computes it: run "
            "the plan",
            step.step);
    return WEFT_OK;
}

/* Did the last run of the plan end a window of accumulation? Without an optimizer in the plan every run does. */
static bool has_ended_window(const weft_trainer *trainer, const weft_plan *plan) {
    for (size_t i = 0; i < trainer->graph->clock_count; i++) {
        const wi_clock *const clock = &trainer->graph->clocks[i];
        if (plan->partition.clocks >> i & 1) return clock->runs % clock->every == 0;
    }
    return true;
}

/* The last step of an epoch ends the window of accumulation. */
weft_status wi_trainer_step(void *user, weft_plan *plan, const void *const *columns, wi_record *record) {
    weft_trainer *const trainer = user;
    const bool is_last = trainer->state.step_in_epoch + 1 == trainer->state.steps_per_epoch;
    if (trainer->state.step_in_epoch == 0)
        WI_TRY(wi_trainer_events_batch(trainer, columns, record->examples));
    if (is_last) WI_TRY(weft_accumulation_end(trainer->graph));
    const bool calls = trainer->options.step && !trainer->training.shards;
    const weft_status status =
        calls ? run_callback(trainer, plan, columns, record) : wi_trainer_page_run(trainer, plan);
    if (is_last) wi_accumulation_goes_on(trainer->graph);
    record->ends_window = has_ended_window(trainer, plan);
    trainer->windows += record->ends_window;
    return status;
}
