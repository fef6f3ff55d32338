/* Dividing the loss, and the plans of shards (contract in shards.h); shard_step.c runs them. */
#include "train/shards.h"
#include "base/log.h"
#include "plan/compiled_plan.h"
#include <string.h>

weft_status wi_shards_check(const wi_shard_options *options, size_t batch) {
    const size_t ranks = weft_distributed_size(options->group);
    if (options->devices > 1 && options->count / ranks < options->devices)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: gradient_shards is %zu, but there are %zu devices, and each needs a shard: "
            "set "
            "gradient_shards to at least %zu, or select fewer devices",
            options->count, ranks * options->devices, ranks * options->devices);
    if (options->count < ranks)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: gradient_shards is %zu, but there are %zu processes, and each needs a "
            "shard",
            options->count, ranks);
    if (options->count > ranks * WI_MAX_OWN_SHARDS)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: gradient_shards is %zu, expected at most %zu, which is %d for each process",
            options->count, ranks * WI_MAX_OWN_SHARDS, WI_MAX_OWN_SHARDS);
    if (batch % options->count)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: a batch of %zu examples cannot be divided into %zu gradient shards of "
            "equal size",
            batch, options->count);
    return WEFT_OK;
}

void wi_shards_init(wi_shards *shards, const weft_allocator *allocator, const wi_shard_options *options) {
    *shards = (wi_shards){.allocator = allocator,
        .group = options->group,
        .count = options->count,
        .exchange = options->exchange,
        .equal_devices = options->equal_devices,
        .carries = options->carries};
    if (options->shards_optimizer) {
        shards->divided.part = weft_distributed_rank(options->group);
        shards->divided.parts = weft_distributed_size(options->group);
    }
    shards->own = wi_shards_of(
        options->count, weft_distributed_rank(options->group), weft_distributed_size(options->group));
    wi_shard_devices_init(&shards->devices, options->devices, shards->own.count, options->equal_devices);
}

static void forget_plans(const wi_shards *shards, wi_shard_plans *plans) {
    wi_shards_forget_reads(shards, plans);
    for (size_t d = 0; d < WI_MAX_DEVICES; d++) weft_plan_release(plans->loss[d]);
    weft_plan_release(plans->totals);
    *plans = (wi_shard_plans){0};
}

void wi_shards_forget_plans(wi_shards *shards) {
    for (size_t i = 0; i < WI_SHARD_SIZES; i++) forget_plans(shards, &shards->plans[i]);
    weft_plan_release(shards->update);
    shards->update = NULL;
}

void wi_shards_clear(wi_shards *shards) {
    wi_shards_forget_plans(shards);
    if (shards->trains) wi_shards_share_averages(shards, false);
    wi_feed_clear(&shards->totals_feed);
    wi_sum_clear(&shards->sum);
    wi_release(shards->allocator, shards->states);
    wi_release(shards->allocator, shards->before);
    wi_release(shards->allocator, shards->others);
    wi_release(shards->allocator, shards->metrics);
    wi_release(shards->allocator, shards->results);
    wi_release(shards->allocator, shards->totals);
    wi_release(shards->allocator, shards->bytes);
    wi_release(shards->allocator, shards->by_rank.firsts);
    wi_release(shards->allocator, shards->by_rank.seconds);
    wi_speeds_clear(&shards->speeds);
    *shards = (wi_shards){0};
}

static weft_status minimize(
    wi_shards *shards, weft_tensor *loss, const wi_loss_terms *terms, const wi_shard_updates *by) {
    wi_divided_loss of = {.part = shards->part,
        .counts = terms->count > 0 && !terms->is_always,
        .divided = &shards->divided,
        .updates = shards->updates,
        .capacity = WEFT_MAX_UPDATES,
        .count = &shards->update_count};
    WI_TRY(by->count ? wi_updates_divide(by->given, by->count, loss, &of)
                     : wi_minimize_divided(&of, by->optimizer));
    shards->trains = true;
    wi_shards_share_averages(shards, true);
    /* Prevents the warning about a plan without updates: the plan of the loss changes no parameter by intention. */
    shards->part->graph->told_of_training = true;
    for (size_t i = 0; i < shards->divided.count; i++)
        shards->gradients += shards->divided.bytes[i] / sizeof(float);
    return WEFT_OK;
}

weft_status wi_shards_divide(wi_shards *shards, weft_tensor *loss, const wi_loss_terms *terms, bool is_fixed,
    const wi_shard_updates *by) {
    weft_tensor *totals[WI_LOSS_TERMS];
    WI_TRY(wi_loss_of_shard(&shards->part, &shards->shares, terms, loss, is_fixed));
    if (by) WI_TRY(minimize(shards, loss, terms, by));
    for (size_t i = 0; i < terms->count; i++) totals[i] = terms->of[i].total;
    return terms->count ? wi_feed_collect(&shards->totals_feed, shards->allocator, totals, terms->count)
                        : WEFT_OK;
}

void wi_shards_divide_by_speed(wi_shards *shards) {
    wi_shard_devices *const devices = &shards->devices;
    const weft_context *const context = shards->part->graph->context;
    wi_shard_devices_divide(devices);
    for (size_t d = 0; d < devices->count && shards->trains; d++) {
        size_t count = 0;
        for (size_t i = 0; i < devices->shards; i++) count += devices->of[i] == d;
        wi_log_line(&context->log, WEFT_LOG_INFO,
            "device %s computes %zu of %zu gradient shards, %.3g s each", context->devices[d]->info.selector,
            count, devices->shards, devices->seconds[d]);
    }
}

/* ---- states that the plan of the loss assigns ---- */

static bool is_assigned(const weft_plan *plan, const wi_variable *variable) {
    return variable->assigned && !variable->whole && plan->partition.assigned[variable->block];
}

static weft_status list_states(wi_shards *shards, const weft_plan *plan) {
    const weft_graph *const graph = plan->request.graph;
    shards->states = wi_allocate_array(shards->allocator, graph->variable_count + 1, sizeof *shards->states);
    if (!shards->states) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *const variable = graph->variables[i];
        if (!is_assigned(plan, variable)) continue;
        const bool is_averaged = variable->tensor->dtype == WEFT_F32;
        size_t *const at = is_averaged ? &shards->state_floats : &shards->other_bytes;
        shards->states[shards->state_count++] =
            (wi_shard_state){variable->tensor, variable->bytes, *at, is_averaged};
        *at += is_averaged ? variable->bytes / sizeof(float) : variable->bytes;
    }
    return WEFT_OK;
}

/* ---- plans ---- */

static weft_status create_plans(wi_pass *pass, wi_shard_plans *plans, size_t examples) {
    weft_tensor *totals[WI_LOSS_TERMS];
    for (size_t i = 0; i < pass->terms.count; i++) totals[i] = pass->terms.of[i].total;
    if (pass->terms.count)
        WI_TRY(wi_pass_create_plan(pass, &plans->totals, 0, totals, pass->terms.count, examples));
    for (int d = 0; d < (int)pass->shards->devices.count; d++)
        WI_TRY(wi_pass_create_plan(pass, &plans->loss[d], d, pass->outputs, pass->output_count, examples));
    if (!plans->loss[0]) return WEFT_OK; /* planned when a dataset determines the length */
    plans->examples = examples;
    const bool lists = pass->shards->trains && !pass->shards->states;
    return lists ? list_states(pass->shards, plans->loss[0]) : WEFT_OK;
}

/* Creates the plans of a size in this entry, unless an entry has the size. */
static weft_status plan_size(wi_pass *pass, size_t entry, size_t examples) {
    wi_shard_plans *const plans = pass->shards->plans;
    for (size_t i = 0; i < WI_SHARD_SIZES; i++)
        if (plans[i].examples == examples) return WEFT_OK;
    forget_plans(pass->shards, &plans[entry]);
    return create_plans(pass, &plans[entry], examples);
}

/* The first entry is for whole batches, whose shards all have the same size; the others are for the smaller last batch. */
weft_status wi_shards_plan(wi_pass *pass, size_t examples) {
    wi_shards *const shards = pass->shards;
    const size_t least = examples / shards->count, most = (examples + shards->count - 1) / shards->count;
    const bool is_whole = examples == pass->batch;
    /* First, as the others may take all that a memory limit leaves. */
    if (!shards->update && shards->trains)
        WI_TRY(wi_pass_create_plan(pass, &shards->update, 0, shards->updates, shards->update_count, 1));
    if (!is_whole && least > 0) WI_TRY(plan_size(pass, 2, least));
    return plan_size(pass, is_whole ? 0 : 1, most);
}

wi_shard_range wi_shards_examples(const wi_shards *shards, size_t examples) {
    if (shards->own.count == 0) return (wi_shard_range){0, 0};
    const wi_shard_range first = wi_examples_of(examples, shards->own.first, shards->count),
                         last = wi_examples_of(
                             examples, shards->own.first + shards->own.count - 1, shards->count);
    return (wi_shard_range){first.first, last.first + last.count - first.first};
}

/* ---- what steps need ---- */

static weft_status reserve_metrics(wi_pass *pass) {
    wi_shards *const shards = pass->shards;
    size_t numbers = 0;
    for (size_t i = 0; i < pass->measures.count; i++) {
        size_t count = 0;
        (void)wi_metric_sums(pass->measures.items[i].state, &count);
        numbers += count;
    }
    wi_release(shards->allocator, shards->metrics);
    shards->metric_numbers = numbers;
    shards->metrics = wi_allocate_array(
        shards->allocator, (2 + weft_distributed_size(shards->group)) * numbers + 1, sizeof *shards->metrics);
    return shards->metrics ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status reserve_step(wi_shards *shards) {
    const size_t ranks = weft_distributed_size(shards->group);
    if (shards->bytes) return WEFT_OK;
    wi_release(shards->allocator, shards->results); /* of an earlier call that ran out of memory */
    wi_release(shards->allocator, shards->totals);
    shards->results = wi_allocate_array(shards->allocator, shards->count, sizeof *shards->results);
    shards->totals =
        wi_allocate_array(shards->allocator, shards->count * WI_LOSS_TERMS, sizeof *shards->totals);
    if (!shards->results || !shards->totals) return WEFT_ERROR_MEMORY;
    shards->bytes = wi_allocate_array(shards->allocator, ranks, sizeof *shards->bytes);
    return shards->bytes ? WEFT_OK : WEFT_ERROR_MEMORY;
}

weft_status wi_shards_init_sum(wi_shards *shards) {
    const wi_sum_options options = {.shards = shards->count,
        .floats = shards->gradients + shards->state_floats,
        .firsts = shards->by_rank.firsts,
        .late = shards->state_floats,
        .rounds = shards->exchange == WEFT_BF16};
    const weft_status status = wi_sum_init(&shards->sum, shards->group, shards->allocator, &options);
    if (status != WEFT_OK) wi_sum_clear(&shards->sum);
    return status;
}

static weft_status reserve_sum(wi_shards *shards) {
    if (shards->sum.slots) return WEFT_OK;
    wi_release(shards->allocator, shards->before); /* of an earlier call that ran out of memory */
    wi_release(shards->allocator, shards->others);
    shards->before = wi_allocate_array(shards->allocator, shards->state_floats + 1, sizeof *shards->before);
    shards->others = wi_allocate(shards->allocator, 2 * shards->other_bytes + 1);
    if (!shards->before || !shards->others) return WEFT_ERROR_MEMORY;
    return wi_shards_init_sum(shards);
}

weft_status wi_shards_reserve(wi_pass *pass) {
    wi_shards *const shards = pass->shards;
    WI_TRY(reserve_metrics(pass));
    WI_TRY(reserve_step(shards));
    if (!shards->trains) return WEFT_OK;
    WI_TRY(wi_shards_reserve_ranks(shards));
    WI_TRY(reserve_sum(shards));
    const size_t ranks = weft_distributed_size(shards->group);
    if (ranks > 1 && weft_distributed_rank(shards->group) == 0 && !shards->speeds.sums)
        WI_TRY(wi_speeds_init(&shards->speeds, shards->allocator, ranks));
    return wi_shards_list_reads(shards);
}
