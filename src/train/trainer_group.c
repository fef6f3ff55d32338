/* A trainer among processes that train together (contract in trainer_shared.h). */
#include "cl/opened_device.h"
#include "train/trainer_shared.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static weft_status check_updates(const weft_trainer_options *options) {
    if (!options->update_count || !options->shard_optimizer) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "weft_trainer_create: shard_optimizer cannot be used with the option updates, "
        "whose optimizers have whole states");
}

static bool has_sparse_table(const weft_graph *graph) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        if (weft_graph_parameter(graph, i)->variable->sparse) return true;
    return false;
}

/* Do several devices share the batch in one plan (plan/create.c)? Programs with these options have to be written for gradient shards, and a plan
 * exchanges less of a table that is updated by rows. */
static bool shares_batch(const weft_trainer *trainer) {
    const weft_trainer_options *const options = &trainer->options;
    const bool is_special = options->step || options->update_count || options->carry_count;
    return weft_distributed_size(options->distributed) == 1 && options->gradient_shards == 0 &&
           (is_special || has_sparse_table(trainer->graph));
}

/* Opens a job if WEFT_DISTRIBUTED=mpi is set, so that a program that does not call weft_distributed_open can train in several
 * processes. */
static weft_status open_job(weft_trainer *trainer) {
    const char *const wanted = wi_environment("WEFT_DISTRIBUTED");
    if (trainer->options.distributed || !wanted) return WEFT_OK;
    if (strcmp(wanted, "mpi") != 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "WEFT_DISTRIBUTED is '%s', expected mpi", wanted);
    return weft_distributed_open(&trainer->options.distributed, trainer->context, NULL);
}

static bool has_equal_devices(const weft_context *context) {
    const wi_device *const first = context->devices[0];
    for (int d = 1; d < context->device_count; d++) {
        const wi_device *const other = context->devices[d];
        if (strcmp(first->info.name, other->info.name) != 0 ||
            strcmp(first->info.driver, other->info.driver) != 0 ||
            first->info.compute_units != other->info.compute_units)
            return false;
    }
    return true;
}

weft_status wi_trainer_divide(weft_trainer *trainer) {
    weft_trainer_options *const options = &trainer->options;
    WI_TRY(open_job(trainer));
    wi_shard_options *const divided_by = &trainer->divided_by;
    const size_t ranks = weft_distributed_size(options->distributed);
    divided_by->group = options->distributed;
    divided_by->devices = shares_batch(trainer) ? 1 : (size_t)trainer->context->device_count;
    divided_by->equal_devices = has_equal_devices(trainer->context);
    divided_by->count = options->gradient_shards ? options->gradient_shards : ranks * divided_by->devices;
    divided_by->exchange = options->exchange;
    divided_by->shards_optimizer = options->shard_optimizer && ranks > 1;
    if (divided_by->count * divided_by->devices == 1) return WEFT_OK;
    WI_TRY(check_updates(options));
    WI_TRY(wi_shards_check(divided_by, options->batch));
    divided_by->carries = options->carry_count ? &trainer->carries : NULL;
    for (size_t i = 0; i < 3; i++)
        wi_shards_init(&trainer->shards[i], trainer->context->allocator, divided_by);
    if (ranks > 1) options->distributed->stops = &trainer->stopping;
    if (weft_distributed_rank(options->distributed) == 0) return WEFT_OK;
    options->csv_log = options->json_log = options->checkpoint = options->early_stopping.best_file = NULL;
    options->events = options->html = NULL;
    return WEFT_OK;
}

/* Writes a line for each setting that must be equal in all processes. */
static void describe(const weft_trainer *trainer, const weft_dataset *dataset, wi_text *text) {
    const weft_trainer_options *const o = &trainer->options;
    wi_text_append(
        text, "version of Weft: %s\ndevices: %d\n", weft_version(), trainer->context->device_count);
    for (int d = 0; d < trainer->context->device_count; d++) {
        const wi_device *const device = trainer->context->devices[d];
        wi_text_append(text, "device: %s\ndriver: %s\nwork units: %zu\n", device->info.name,
            device->info.driver, (size_t)device->profile.units);
    }
    wi_text_append(text, "batch: %zu\ngradient shards: %zu\nepochs: %zu\nseed: %" PRIu64 "\n", o->batch,
        trainer->divided_by.count, o->epochs, o->seed);
    wi_text_append(text, "optimizer: kind %d, rate %g, weight decay %g, clip norm %g, accumulate %u\n",
        (int)o->optimizer.kind, (double)o->optimizer.rate, (double)o->optimizer.weight_decay,
        (double)o->optimizer.clip_norm, (unsigned)o->optimizer.accumulate);
    wi_text_append(
        text, "exchange: %s\nshard_optimizer: %d\n", weft_dtype_name(o->exchange), o->shard_optimizer);
    wi_text_append(text, "precision: %d\nkept order: %d\ndrop_last: %d\ncarries: %zu\n", (int)o->precision,
        o->keep_order, o->drop_last, o->carry_count);
    wi_text_append(
        text, "finished steps: %zu\nfinished epochs: %" PRIu64 "\n", trainer->steps, trainer->epochs);
    wi_text_append(text, "examples: %zu\nexamples for validation: %zu\n", dataset->examples,
        o->validation ? o->validation->examples : 0);
    for (size_t c = 0; c < dataset->count; c++)
        wi_text_append(text, "column '%s': %zu bytes per example\n", dataset->columns[c].name,
            wi_column_bytes(&dataset->columns[c]));
}

static weft_status compare(weft_trainer *trainer, const weft_dataset *dataset) {
    wi_text text;
    wi_text_init(&text, trainer->context->allocator);
    describe(trainer, dataset, &text);
    const weft_status status = wi_group_compare(
        trainer->options.distributed, "weft_trainer_run", text.failed || !text.data ? "" : text.data);
    wi_text_clear(&text);
    return status;
}

weft_status wi_trainer_begin_group(weft_trainer *trainer, const weft_dataset *dataset, weft_status status) {
    weft_distributed *const group = trainer->options.distributed;
    if (weft_distributed_size(group) == 1) return status;
    WI_TRY(wi_group_meet(group, WI_MEET_COMPARE, status));
    WI_TRY(compare(trainer, dataset));
    return weft_distributed_synchronise(group, trainer->graph);
}

weft_status wi_trainer_agree(weft_trainer *trainer, bool *ends) {
    weft_distributed *const group = trainer->options.distributed;
    if (weft_distributed_size(group) == 1) return WEFT_OK;
    WI_TRY(wi_group_meet(group, WI_MEET_STEP, WEFT_OK));
    return wi_group_any(group, ends);
}

weft_status wi_trainer_end_group(weft_trainer *trainer, weft_status status) {
    if (status == WEFT_OK || weft_distributed_size(trainer->options.distributed) == 1) return status;
    return wi_group_meet(trainer->options.distributed, WI_MEET_STEP, status);
}
