/* Steps of divided batches (contract in shards.h). */
#include "base/platform.h"
#include "cl/launch.h"
#include "graph/block_copies.h"
#include "plan/compiled_plan.h"
#include "train/shards.h"
#include <stdio.h>
#include <string.h>

/* A step in progress. */
typedef struct step {
    wi_pass *pass;
    wi_shards *shards;
    const void *const *columns;
    const wi_pass_hooks *hooks; /* may be NULL */
    size_t examples, first;     /* examples of the batch; the first example of this process */
    uint64_t draws;             /* the graph's counter of random numbers before the step */
    size_t next
        [WI_MAX_DEVICES]; /* by device: the shard of this process at which the search for its next shard begins */
    bool is_busy[WI_MAX_DEVICES];
    /* Results that are read of a shard: its loss, and the values and totals of the loss's terms. */
    float numbers[1 + 2 * WI_LOSS_TERMS];
} step;

/* ---- exchanges of an item per shard ---- */

static weft_status exchange(const wi_shards *shards, const void *own, size_t item, void *all) {
    const size_t ranks = weft_distributed_size(shards->group);
    if (ranks == 1) return memcpy(all, own, shards->count * item), WEFT_OK;
    for (size_t r = 0; r < ranks; r++) shards->bytes[r] = wi_shards_of_rank(shards, r).count * item;
    return wi_group_gather(shards->group, own, shards->bytes, all);
}

/* ---- the examples of a shard ---- */

static wi_shard_range examples_of(const step *s, size_t shard) {
    return wi_examples_of(s->examples, shard, s->shards->count);
}

static wi_shard_plans *plans_for(wi_shards *shards, size_t examples) {
    size_t i = 0;
    while (shards->plans[i].examples != examples) i++;
    return &shards->plans[i];
}

static void columns_of(const step *s, size_t shard, const void *columns[WI_PASS_COLUMNS]) {
    const weft_dataset *const dataset = s->pass->dataset;
    const size_t skipped = examples_of(s, shard).first - s->first;
    for (size_t c = 0; c < dataset->count; c++)
        columns[c] = (const unsigned char *)s->columns[c] + skipped * wi_column_bytes(&dataset->columns[c]);
}

/* ---- the device of a shard ---- */

static wi_device *device_at(const wi_shards *shards, size_t index) {
    return shards->part->graph->context->devices[index];
}

static wi_device *device_of(const wi_shards *shards, size_t own) {
    return device_at(shards, shards->devices.of[own]);
}

static weft_plan *plan_of(const step *s, size_t own) {
    const size_t examples = examples_of(s, s->shards->own.first + own).count;
    return plans_for(s->shards, examples)->loss[s->shards->devices.of[own]];
}

/* ---- totals ---- */

static weft_status read_totals(const step *s, size_t shard, double *totals) {
    const void *columns[WI_PASS_COLUMNS];
    const size_t examples = examples_of(s, shard).count;
    if (examples == 0) return WEFT_OK;
    weft_plan *const plan = plans_for(s->shards, examples)->totals;
    columns_of(s, shard, columns);
    WI_TRY(wi_feed_write(&s->shards->totals_feed, plan, columns, examples));
    WI_TRY(weft_plan_run(plan));
    for (size_t i = 0; i < s->pass->terms.count; i++) {
        float total = 0;
        WI_TRY(weft_plan_read(plan, s->pass->terms.of[i].total, &total, sizeof total));
        totals[i] = (double)total;
    }
    return WEFT_OK;
}

static double total_of(const step *s, size_t term) {
    double total = 0;
    for (size_t shard = 0; shard < s->shards->count; shard++)
        total += s->shards->totals[shard * WI_LOSS_TERMS + term];
    return total;
}

/* Computes and exchanges the totals of all shards. The gradients need them, because a mean divides by the total of the whole batch. */
static weft_status find_totals(step *s, weft_status status) {
    double own[WI_MAX_OWN_SHARDS * WI_LOSS_TERMS] = {0};
    if (s->pass->terms.count == 0) return status;
    for (size_t i = 0; i < s->shards->own.count && status == WEFT_OK; i++)
        status = read_totals(s, s->shards->own.first + i, own + i * WI_LOSS_TERMS);
    const weft_status exchanged = exchange(s->shards, own, WI_LOSS_TERMS * sizeof *own, s->shards->totals);
    return status == WEFT_OK ? exchanged : status;
}

static weft_status set_shares(const step *s, size_t shard) {
    const wi_shard_shares *const shares = &s->shards->shares;
    WI_TRY(weft_scalar_set(
        shares->examples, (float)((double)examples_of(s, shard).count / (double)s->examples)));
    for (size_t i = 0; i < s->pass->terms.count; i++) {
        const double total = total_of(s, i);
        const double share = total > 0 ? s->shards->totals[shard * WI_LOSS_TERMS + i] / total : 0;
        WI_TRY(weft_scalar_set(shares->totals[i], (float)share));
    }
    return WEFT_OK;
}

/* ---- the loss and the gradients of a shard ---- */

static weft_status read_results(step *s, weft_plan *plan) {
    wi_pass *const pass = s->pass;
    float *const numbers = s->numbers;
    unsigned char *measured = pass->measured;
    WI_TRY(weft_plan_read_async(plan, s->shards->part, numbers, sizeof *numbers));
    for (size_t i = 0; i < pass->terms.count; i++) {
        WI_TRY(weft_plan_read_async(plan, pass->terms.of[i].value, numbers + 1 + 2 * i, sizeof *numbers));
        WI_TRY(weft_plan_read_async(plan, pass->terms.of[i].total, numbers + 2 + 2 * i, sizeof *numbers));
    }
    for (size_t t = 0; t < pass->measures.tensor_count; t++) {
        const size_t bytes = pass->measures.bytes[t];
        WI_TRY(weft_plan_read_async(
            plan, pass->measures.tensors[t], measured, (size_t)plan->info.batch * bytes));
        measured += bytes * pass->slot_examples;
    }
    return WEFT_OK;
}

static weft_status read_gradients(const step *s, weft_plan *plan, float *slot) {
    const wi_divided_update *const divided = &s->shards->divided;
    for (size_t i = 0; i < divided->count; i++) {
        WI_TRY(weft_plan_read_async(plan, divided->gradients[i], slot, divided->bytes[i]));
        slot += divided->bytes[i] / sizeof *slot;
    }
    return WEFT_OK;
}

static weft_status take_results(
    const step *s, const void *const *columns, size_t examples, wi_shard_result *result) {
    wi_pass *const pass = s->pass;
    const float *const numbers = s->numbers;
    const double *const sums = wi_pass_accuracy_sums(pass);
    const double right = sums ? sums[0] : 0.0, counted = sums ? sums[1] : 0.0;
    result->part = (double)numbers[0];
    for (size_t i = 0; i < pass->terms.count; i++) {
        result->values[i] = (double)numbers[1 + 2 * i];
        result->totals[i] = (double)numbers[2 + 2 * i];
    }
    if (pass->measures.count)
        WI_TRY(wi_measures_add(&pass->measures, pass->measured, columns, pass->slot_examples, examples));
    result->right = sums ? sums[0] - right : 0.0;
    result->counted = sums ? sums[1] - counted : 0.0;
    return WEFT_OK;
}

static bool calls_back(const step *s) {
    return s->hooks && s->hooks->run_shard;
}

/* Are the gradients read while the backward pass goes on? Not with several devices, because enqueueing a read blocks in some drivers, and not if a
 * callback runs the plan. */
static bool reads_early(const step *s) {
    return s->shards->trains && s->shards->devices.count == 1 && !calls_back(s);
}

static weft_status run_plan(
    const step *s, size_t own, size_t shard, weft_plan *plan, const void *const *columns) {
    const wi_shard_range of = examples_of(s, shard);
    const wi_shard_examples examples = {shard, of.first, of.count};
    if (reads_early(s)) return wi_shards_run_reading(s->shards, plans_for(s->shards, of.count), own);
    if (calls_back(s)) return s->hooks->run_shard(s->hooks->user, plan, columns, &examples);
    return weft_plan_run(plan);
}

/* Enqueues the launches of a shard, and if they are read early also the reads of its gradients. */
static weft_status start_shard(step *s, size_t own) {
    wi_shards *const shards = s->shards;
    const size_t shard = shards->own.first + own, examples = examples_of(s, shard).count;
    const void *columns[WI_PASS_COLUMNS];
    if (examples == 0) return WEFT_OK;
    weft_plan *const plan = plan_of(s, own);
    columns_of(s, shard, columns);
    WI_TRY(set_shares(s, shard));
    WI_TRY(wi_shards_begin_states(shards, own));
    plan->request.graph->draws = s->draws + shard;
    WI_TRY(wi_feed_write(&s->pass->feed, plan, columns, examples));
    return run_plan(s, own, shard, plan, columns);
}

/* Waits for a shard, and reads its results. */
static weft_status finish_shard(step *s, size_t own, wi_shard_result *result) {
    wi_shards *const shards = s->shards;
    const size_t shard = shards->own.first + own, examples = examples_of(s, shard).count;
    float *const slot = shards->trains ? wi_sum_slot(&shards->sum, own) : NULL;
    const void *columns[WI_PASS_COLUMNS];
    if (examples == 0) {
        if (slot) memset(slot, 0, shards->sum.floats * sizeof *slot);
        return WEFT_OK;
    }
    weft_plan *const plan = plan_of(s, own);
    columns_of(s, shard, columns);
    WI_TRY(read_results(s, plan));
    if (slot && !reads_early(s)) WI_TRY(read_gradients(s, plan, slot));
    if (slot && reads_early(s)) WI_TRY(wi_shards_send_gradients(shards, plans_for(shards, examples), own));
    WI_TRY(wi_shards_end_states(shards, own, slot));
    WI_TRY(weft_plan_wait(plan));
    return take_results(s, columns, examples, result);
}

/* After an error: waits for everything that the step has enqueued, because it uses the batch's memory. */
static void abandon(const wi_shards *shards) {
    char line[WI_ERROR_LINE];
    wi_error_save(line, sizeof line);
    for (size_t d = 0; d < shards->devices.count; d++) (void)wi_queue_finish(device_at(shards, d));
    wi_error_restore(line);
}

/* If there are several devices, adds the name of the shard's device to the error message. */
static weft_status name_device(const step *s, size_t own, weft_status status) {
    const wi_device *const device = device_of(s->shards, own);
    char place[64];
    if (status == WEFT_OK || s->shards->devices.count == 1) return status;
    snprintf(place, sizeof place, " (device %d of the context, %s)", device->index, device->info.selector);
    wi_error_add(place);
    return status;
}

/* Starts the next shard of each idle device. */
static weft_status start_shards(step *s) {
    const wi_shard_devices *const devices = &s->shards->devices;
    for (size_t d = 0; d < devices->count; d++) {
        const size_t own = wi_shard_devices_next(devices, d, s->next[d]);
        if (s->is_busy[d] || own == devices->shards) continue;
        s->next[d] = own + 1;
        s->is_busy[d] = true;
        WI_TRY(name_device(s, own, start_shard(s, own)));
    }
    return WEFT_OK;
}

static weft_status run_next(step *s, size_t own, wi_shard_result *result) {
    WI_TRY(start_shards(s));
    WI_TRY(name_device(s, own, finish_shard(s, own, result)));
    s->is_busy[s->shards->devices.of[own]] = false;
    return WEFT_OK;
}

/* Runs a shard while the other devices are idle, and measures its time. */
static weft_status run_measured(step *s, size_t own, wi_shard_result *result) {
    const double began = wi_clock_seconds();
    WI_TRY(name_device(s, own, start_shard(s, own)));
    WI_TRY(name_device(s, own, finish_shard(s, own, result)));
    s->shards->devices.seconds[s->shards->devices.of[own]] = wi_clock_seconds() - began;
    return WEFT_OK;
}

/* Runs the process's shards, one at a time on each device. The gradients of a shard are exchanged while further shards are computed. */
static weft_status run_shards(step *s, weft_status status) {
    wi_shards *const shards = s->shards;
    wi_shard_result own[WI_MAX_OWN_SHARDS] = {0};
    const double began = wi_clock_seconds();
    const bool measures = s->examples == s->pass->batch && wi_shard_devices_measure(&shards->devices);
    if (status == WEFT_OK) status = wi_copies_update(shards->part->graph);
    if (status == WEFT_OK) status = wi_shards_note_states(shards);
    for (size_t i = 0; i < shards->own.count; i++) {
        if (status == WEFT_OK) status = measures ? run_measured(s, i, &own[i]) : run_next(s, i, &own[i]);
        if (!shards->trains) continue;
        const weft_status begun = wi_sum_begin(&shards->sum, i);
        if (status == WEFT_OK) status = begun;
    }
    own[0].seconds = wi_clock_seconds() - began;
    if (status != WEFT_OK) abandon(shards);
    if (status == WEFT_OK && measures) wi_shards_divide_by_speed(shards);
    const float *sums = NULL;
    const weft_status added = shards->trains ? wi_sum_finish(&shards->sum, &sums) : WEFT_OK;
    if (status == WEFT_OK) status = added;
    WI_TRY(wi_group_meet(shards->group, WI_MEET_RESULTS, status));
    return exchange(shards, own, sizeof *own, s->shards->results);
}

/* ---- the results of the batch ---- */

/* Combines the results of all shards into the record that an undivided step would have. */
static void combine(const step *s, wi_record *record) {
    const wi_pass *const pass = s->pass;
    double loss = 0, right = 0, counted = 0;
    for (size_t shard = 0; shard < s->shards->count; shard++) {
        const wi_shard_result *const result = &s->shards->results[shard];
        loss += result->part;
        right += result->right;
        counted += result->counted;
    }
    for (size_t i = 0; i < pass->terms.count; i++) {
        double total = 0, value = 0;
        for (size_t shard = 0; shard < s->shards->count; shard++) {
            total += s->shards->results[shard].totals[i];
            value += s->shards->results[shard].values[i] * s->shards->results[shard].totals[i];
        }
        record->totals[i] = (float)total;
        record->values[i] = (float)(total > 0 ? value / total : 0);
    }
    record->loss = (float)loss;
    record->right = right;
    record->counted = counted;
    record->measured = true;
}

/* Adds the rows of the other processes to the accuracy of this process, so that the caller sees the accuracy of the whole batch. */
static void join_accuracy(const step *s, const wi_record *record) {
    double *const sums = wi_pass_accuracy_sums(s->pass), own_right = 0, own_counted = 0;
    for (size_t i = 0; i < s->shards->own.count; i++) {
        own_right += s->shards->results[s->shards->own.first + i].right;
        own_counted += s->shards->results[s->shards->own.first + i].counted;
    }
    if (!sums) return;
    sums[0] += record->right - own_right;
    sums[1] += record->counted - own_counted;
}

/* In rank 0: logs a process that is persistently slow, because all others wait for it in each step. */
static void watch_speeds(const step *s) {
    wi_shards *const shards = s->shards;
    if (!shards->trains || !shards->speeds.sums) return;
    for (size_t r = 0; r < shards->speeds.ranks; r++) {
        const wi_shard_range of = wi_shards_of_rank(shards, r);
        shards->speeds.sums[r] += shards->results[of.first].seconds / (double)of.count;
    }
    const wi_slow_rank slow = wi_speeds_step(&shards->speeds);
    if (slow.factor > 0)
        wi_log_line(&shards->part->graph->context->log, WEFT_LOG_WARNING,
            "rank %zu of %zu is slow: it needs %.3g ms for a shard, %.2g times as long as the median of the "
            "other "
            "processes, which wait for it in each step",
            slow.rank, shards->speeds.ranks, slow.seconds * 1e3, slow.factor);
}

/* ---- the update ---- */

static weft_status set_counts(const step *s) {
    float counts = 0;
    if (!s->shards->divided.counts) return WEFT_OK;
    for (size_t i = 0; i < s->pass->terms.count; i++)
        if (total_of(s, i) > 0) counts = 1;
    return weft_scalar_set(s->shards->divided.counts, counts);
}

static weft_status update(step *s, wi_record *record) {
    const wi_pass_hooks *const hooks = s->hooks;
    wi_shards *const shards = s->shards;
    const wi_divided_update *const divided = &shards->divided;
    float *sums = shards->sum.result;
    WI_TRY(set_counts(s));
    for (size_t i = 0; i < divided->count; i++) {
        WI_TRY(weft_plan_write(shards->update, divided->sums[i], sums, divided->bytes[i]));
        sums += divided->bytes[i] / sizeof *sums;
    }
    WI_TRY(wi_shards_finish_states(shards, s->examples, sums));
    const weft_status status = hooks && hooks->run
                                   ? hooks->run(hooks->user, shards->update, s->columns, record)
                                   : weft_plan_run(shards->update);
    return wi_shards_optimizer(shards) ? wi_shards_gather_parameters(shards, status) : status;
}

/* Do the plans of the loss draw random numbers? Either all of them do, or none does. */
static bool draws(const wi_shards *shards) {
    for (size_t i = 0; i < WI_SHARD_SIZES; i++) {
        const weft_plan *const plan = shards->plans[i].loss[0];
        if (plan && (plan->partition.draws || plan->schedule.draws)) return true;
    }
    return false;
}

weft_status wi_shards_step(wi_pass *pass, const void *const *columns, size_t examples, weft_status status,
    const wi_pass_hooks *hooks, wi_record *record) {
    wi_shards *const shards = pass->shards;
    weft_graph *const graph = shards->part->graph;
    step s = {.pass = pass,
        .shards = shards,
        .columns = columns,
        .hooks = hooks,
        .examples = examples,
        .draws = graph->draws};
    s.first = wi_shards_examples(shards, examples).first;
    WI_TRY(run_shards(&s, find_totals(&s, status)));
    graph->draws = s.draws + (draws(shards) ? shards->count : 0);
    combine(&s, record);
    join_accuracy(&s, record);
    watch_speeds(&s);
    if (examples == pass->batch) wi_shards_note_seconds(shards);
    return shards->trains ? update(&s, record) : WEFT_OK;
}
