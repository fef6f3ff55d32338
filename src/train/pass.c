/* The loop over a dataset (contract in pass.h). */
#include "ops/loss_scale.h"
#include "train/recode.h"
#include "train/shards.h"
#include <math.h>
#include <string.h>

enum {
    RING_BYTES = 64 << 20
}; /* host memory of a loader's batches and of measured outputs, unless 4 batches need more */

static void add_outputs(wi_pass *pass, weft_tensor *const *tensors, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t known = 0;
        while (known < pass->output_count && pass->outputs[known] != tensors[i]) known++;
        if (known == pass->output_count) pass->outputs[pass->output_count++] = tensors[i];
    }
}

weft_status wi_pass_init(wi_pass *pass, const weft_allocator *allocator, const wi_pass_options *options) {
    pass->allocator = allocator;
    pass->shards = options->shards;
    pass->inference = options->update_count == 0 && !(options->shards && options->shards->trains);
    pass->memory_limit = options->memory_limit;
    pass->counts = options->counts;
    pass->terms = *options->terms;
    pass->rate = options->rate;
    pass->scaling = options->scaling;
    WI_TRY(wi_measures_init(&pass->measures, &options->measured));
    add_outputs(pass, &options->loss, 1);
    for (size_t i = 0; i < pass->terms.count; i++) {
        add_outputs(pass, &pass->terms.of[i].value, 1);
        add_outputs(pass, &pass->terms.of[i].total, 1);
    }
    add_outputs(pass, pass->measures.tensors, pass->measures.tensor_count);
    add_outputs(pass, options->updates, options->update_count);
    if (pass->shards) add_outputs(pass, &pass->shards->part, 1);
    /* A plan computes outputs in their order if it can. The last gradients are listed first, because they are exchanged first. */
    for (size_t i = pass->shards ? pass->shards->divided.count : 0; i-- > 0;)
        add_outputs(pass, &pass->shards->divided.gradients[i], 1);
    WI_TRY(wi_feed_collect(&pass->feed, allocator, pass->outputs, pass->output_count));
    pass->feed.partial = options->partial;
    return WEFT_OK;
}

static void forget_dataset(wi_pass *pass) {
    weft_loader_release(pass->loader);
    weft_dataset_release(pass->dataset);
    wi_release(pass->allocator, pass->measured);
    pass->loader = NULL;
    pass->dataset = NULL;
    pass->given = NULL;
    pass->measured = NULL;
}

void wi_pass_clear(wi_pass *pass) {
    weft_plan_release(pass->full);
    weft_plan_release(pass->rest);
    forget_dataset(pass);
    wi_feed_clear(&pass->feed);
    wi_measures_clear(&pass->measures);
    *pass = (wi_pass){0};
}

/* Creates *plan for batches of `examples` examples, unless it is one already. */
static weft_status plan_for(wi_pass *pass, weft_plan **plan, size_t *planned, size_t examples) {
    if (pass->shards) return wi_shards_plan(pass, examples);
    if (*plan && *planned == examples) return WEFT_OK;
    weft_plan_release(*plan);
    *planned = examples;
    return wi_pass_create_plan(pass, plan, 0, pass->outputs, pass->output_count, examples);
}

weft_status wi_pass_plan(wi_pass *pass, size_t examples) {
    return plan_for(pass, &pass->full, &pass->full_examples, examples);
}

static size_t example_bytes(const weft_dataset *dataset) {
    size_t bytes = 0;
    for (size_t c = 0; c < dataset->count; c++) bytes += wi_column_bytes(&dataset->columns[c]);
    return bytes;
}

/* used[c]: column c feeds an input or is the target of a metric. The labels in column 1 are also used if an input is fed
 * with the last column, which the dataset's source makes from them. */
static void note_used(const wi_pass *pass, const weft_dataset *dataset, bool used[WI_PASS_COLUMNS]) {
    for (size_t i = 0; i < pass->feed.count; i++) {
        const size_t c = pass->feed.inputs[i].column;
        if (c == SIZE_MAX) continue;
        used[c] = true;
        if (c + 1 == dataset->count && dataset->source && dataset->source->finish) used[1] = true;
    }
    for (size_t i = 0; i < pass->measures.count; i++) used[pass->measures.items[i].column] = true;
}

static weft_status recode(wi_pass *pass, weft_dataset *given) {
    bool used[WI_PASS_COLUMNS] = {false};
    note_used(pass, given, used);
    pass->given = given;
    if (!pass->known) return pass->dataset = weft_dataset_retain(given), WEFT_OK;
    pass->known_version = wi_graph_encodings_version(pass->known);
    return wi_dataset_recode(&pass->dataset, given, pass->known, used);
}

weft_status wi_pass_keep_encodings(wi_pass *pass, weft_graph *graph) {
    bool used[WI_PASS_COLUMNS] = {false};
    note_used(pass, pass->dataset, used);
    WI_TRY(wi_dataset_keep_encodings(graph, pass->dataset, used));
    pass->known = graph;
    pass->known_version = wi_graph_encodings_version(graph);
    return WEFT_OK;
}

void wi_pass_forget_plans(wi_pass *pass) {
    weft_plan_release(pass->full);
    weft_plan_release(pass->rest);
    pass->full = pass->rest = NULL;
    if (pass->shards) wi_shards_forget_plans(pass->shards);
}

/* Binds the columns of a dataset. If WEFT_LENGTH or a weft_symbol has another value than in the dataset before, the plans are
 * released, even if the function then refuses the dataset. */
static weft_status bind(wi_pass *pass, weft_dataset *dataset) {
    const uint64_t sizes = pass->feed.digest;
    const weft_status status = wi_feed_bind(&pass->feed, dataset->columns, dataset->count);
    if (sizes != pass->feed.digest) wi_pass_forget_plans(pass);
    WI_TRY(status);
    if (pass->shards && pass->shards->totals_feed.count)
        WI_TRY(wi_feed_bind(&pass->shards->totals_feed, dataset->columns, dataset->count));
    if (pass->feed.waits)
        WI_FAIL(WEFT_ERROR_SHAPE, "an input has WEFT_LENGTH or a weft_symbol in its shape, and no column "
                                  "of the dataset has an axis that gives its value");
    WI_TRY(wi_measures_bind(&pass->measures, dataset));
    WI_TRY(recode(pass, dataset));
    return wi_feed_check_labels(&pass->feed, pass->dataset);
}

/* The wi_loader_part of divided batches: this process loads one range of examples for each of its shards. */
static bool part_of_batch(const void *user, size_t examples, size_t index, size_t *first, size_t *count) {
    const wi_shards *const shards = user;
    if (index >= shards->own.count) return false;
    const wi_shard_range range = wi_examples_of(examples, shards->own.first + index, shards->count);
    *first = range.first;
    *count = range.count;
    return true;
}

static size_t find_interval(const wi_pass *pass) {
    const size_t batch_bytes =
        (example_bytes(pass->dataset) + pass->measures.example_bytes / 2) * pass->batch;
    const size_t interval = RING_BYTES / 2 / (batch_bytes ? batch_bytes : 1);
    if (interval < 2) return 2;
    return interval > WI_PASS_INTERVAL ? WI_PASS_INTERVAL : interval;
}

static weft_status create_loader(wi_pass *pass) {
    const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = pass->batch,
        .shuffle = pass->shuffle, .drop_last = pass->drop_last, .seed = pass->seed,
        .prefetch = find_interval(pass), .threads = pass->threads};
    weft_loader_release(pass->loader);
    return wi_loader_create(
        &pass->loader, pass->dataset, &options, pass->shards ? part_of_batch : NULL, pass->shards);
}

/* Divides the shards among the processes again, if that is faster; the loader has room for the examples of the process's shards. */
static weft_status divide_again(wi_pass *pass) {
    bool changes = false;
    weft_status status = wi_shards_divide_ranks(pass->shards, &changes);
    if (!changes) return status;
    if (status == WEFT_OK) status = create_loader(pass);
    return wi_group_meet(pass->shards->group, WI_MEET_PASS, status);
}

static weft_status make_loader(wi_pass *pass) {
    const weft_dataset *const dataset = pass->dataset;
    const size_t interval = find_interval(pass);
    WI_TRY(create_loader(pass));
    pass->interval = pass->shards ? 1 : interval; /* all processes wait for one another in each step */
    pass->slot_examples = dataset->examples < pass->batch ? dataset->examples : pass->batch;
    if (pass->shards)
        pass->slot_examples = (pass->slot_examples + pass->shards->count - 1) / pass->shards->count;
    if (pass->measures.tensor_count == 0) return WEFT_OK;
    pass->measured =
        wi_allocate_array(pass->allocator, interval * pass->slot_examples, pass->measures.example_bytes);
    if (pass->measured) return WEFT_OK;
    forget_dataset(pass);
    return WEFT_ERROR_MEMORY;
}

weft_status wi_pass_prepare(wi_pass *pass, weft_dataset *dataset) {
    const size_t examples =
        pass->drop_last ? dataset->examples - dataset->examples % pass->batch : dataset->examples;
    if (pass->drop_last && examples == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "the size of the dataset is %zu, less than one batch of %zu, and drop_last skips smaller "
            "batches",
            dataset->examples, pass->batch);
    const size_t shards = pass->shards ? pass->shards->count : 1;
    if (examples >= pass->batch) WI_TRY(wi_feed_check_batch(&pass->feed, pass->batch, shards));
    if (examples % pass->batch) WI_TRY(wi_feed_check_batch(&pass->feed, examples % pass->batch, shards));
    const bool stale = pass->known && pass->known_version != wi_graph_encodings_version(pass->known);
    if (pass->given != dataset || stale) {
        if (dataset->count > WI_PASS_COLUMNS)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "the dataset has %zu columns, but a trainer takes at most %d",
                dataset->count, WI_PASS_COLUMNS);
        forget_dataset(pass);
        const weft_status status = bind(pass, dataset);
        if (status != WEFT_OK) forget_dataset(pass);
        WI_TRY(status);
    }
    /* A plan may take all that a memory limit leaves, so the one that needs less comes first. */
    if (examples % pass->batch)
        WI_TRY(plan_for(pass, &pass->rest, &pass->rest_examples, examples % pass->batch));
    if (examples >= pass->batch) WI_TRY(wi_pass_plan(pass, pass->batch));
    if (pass->shards) WI_TRY(wi_shards_reserve(pass));
    return pass->loader ? WEFT_OK : make_loader(pass);
}

size_t wi_pass_steps(const wi_pass *pass) {
    const size_t examples = pass->dataset->examples;
    return (pass->drop_last ? examples : examples + pass->batch - 1) / pass->batch;
}

/* Where the outputs of a step of the interval are stored; NULL: nothing is measured. */
static unsigned char *measured_slot(const wi_pass *pass, size_t step) {
    if (!pass->measured) return NULL;
    return pass->measured + step * pass->slot_examples * pass->measures.example_bytes;
}

static weft_status read_measured(wi_pass *pass, weft_plan *plan, size_t step, size_t examples) {
    const wi_measures *const measures = &pass->measures;
    unsigned char *target = measured_slot(pass, step);
    for (size_t t = 0; t < measures->tensor_count; t++) {
        WI_TRY(weft_plan_read_async(plan, measures->tensors[t], target, examples * measures->bytes[t]));
        target += measures->bytes[t] * pass->slot_examples;
    }
    return WEFT_OK;
}

static weft_status run_plan(wi_pass *pass, weft_plan *plan, const void *const *columns, wi_record *record,
    const wi_pass_hooks *hooks) {
    record->measured = true;
    if (!hooks || !hooks->run)
        WI_TRY(weft_plan_run(plan));
    else
        WI_TRY(hooks->run(hooks->user, plan, columns, record));
    if (pass->rate) WI_TRY(weft_scalar_get(pass->rate, &record->rate));
    return WEFT_OK;
}

static weft_status read_terms(const wi_pass *pass, weft_plan *plan, wi_record *record) {
    for (size_t i = 0; i < pass->terms.count; i++) {
        const wi_loss_term *const term = &pass->terms.of[i];
        WI_TRY(weft_plan_read_async(plan, term->value, &record->values[i], sizeof *record->values));
        WI_TRY(weft_plan_read_async(plan, term->total, &record->totals[i], sizeof *record->totals));
    }
    return WEFT_OK;
}

/* Reads the state of loss scaling after the plan, also if a step callback ran the plan. */
static weft_status read_scaling(const wi_pass *pass, wi_record *record) {
    if (!pass->scaling) return WEFT_OK;
    WI_TRY(wi_loss_scale_read_async(pass->scaling->judged, &record->judged));
    return wi_loss_scale_read_async(pass->scaling->scale, &record->scale);
}

static weft_status enqueue_step(
    wi_pass *pass, const void *const *columns, size_t examples, const wi_pass_hooks *hooks) {
    weft_plan *const plan = examples == pass->batch ? pass->full : pass->rest;
    const size_t step = pass->pending++;
    wi_record *const record = &pass->records[step];
    *record = (wi_record){.examples = examples, .rate = NAN, .judged = WI_UPDATE_IS_LATER};
    WI_TRY(wi_feed_write(&pass->feed, plan, columns, examples));
    WI_TRY(run_plan(pass, plan, columns, record, hooks));
    WI_TRY(read_scaling(pass, record));
    if (!record->measured) return WEFT_OK;
    WI_TRY(weft_plan_read_async(plan, pass->outputs[0], &record->loss, sizeof record->loss));
    WI_TRY(read_terms(pass, plan, record));
    memcpy(record->columns, columns, pass->dataset->count * sizeof *columns);
    return read_measured(pass, plan, step, examples);
}

/* Runs a step of a divided batch. loaded: WEFT_OK, or the error of loading the batch. */
static weft_status divided_step(wi_pass *pass, weft_status loaded, const void *const *columns,
    size_t examples, const wi_pass_hooks *hooks) {
    wi_record *const record = &pass->records[pass->pending++];
    *record = (wi_record){.examples = examples, .rate = NAN, .judged = WI_UPDATE_IS_LATER};
    WI_TRY(wi_shards_step(pass, columns, examples, loaded, hooks, record));
    if (pass->rate) WI_TRY(weft_scalar_get(pass->rate, &record->rate));
    return read_scaling(pass, record);
}

/* Waits for both plans, because each plan reports only the faults of its own ops. */
static weft_status wait_for_device(wi_pass *pass) {
    if (pass->shards) return pass->shards->update ? weft_plan_wait(pass->shards->update) : WEFT_OK;
    if (pass->full) WI_TRY(weft_plan_wait(pass->full));
    return pass->rest ? weft_plan_wait(pass->rest) : WEFT_OK;
}

bool wi_record_is_skipped(const wi_record *record) {
    return record->judged == WI_UPDATE_OVERFLOWS;
}

/* Adds the loss of a step to the totals: each term of the loss, and the rest of the loss. If a step callback set the
 * loss, all of it is the rest. */
static void add_loss(wi_pass *pass, wi_record *record) {
    wi_pass_totals *const totals = &pass->totals;
    const size_t terms = record->measured ? pass->terms.count : 0;
    double rest = (double)record->loss;
    record->is_empty = terms > 0 && !pass->terms.is_always;
    for (size_t i = 0; i < terms; i++) {
        const double total = (double)record->totals[i];
        rest -= (double)record->values[i];
        record->is_empty = record->is_empty && total == 0.0;
        if (total == 0.0) continue; /* no elements: the mean is 0 */
        totals->values[i] += (double)record->values[i] * total;
        totals->totals[i] += total;
    }
    if (terms > 0 && !pass->terms.has_rest) return;
    totals->loss += rest * (double)record->examples;
    totals->examples += record->examples;
}

static weft_status take_measures(wi_pass *pass, size_t step) {
    wi_record *const record = &pass->records[step];
    const double *const sums = wi_pass_accuracy_sums(pass);
    const double right = sums ? sums[0] : 0.0, counted = sums ? sums[1] : 0.0;
    WI_TRY(wi_measures_add(
        &pass->measures, measured_slot(pass, step), record->columns, pass->slot_examples, record->examples));
    record->right = sums ? sums[0] - right : 0.0;
    record->counted = sums ? sums[1] - counted : 0.0;
    return WEFT_OK;
}

static weft_status take_record(wi_pass *pass, size_t step) {
    wi_record *const record = &pass->records[step];
    if (wi_record_is_skipped(record) && !isfinite(record->loss)) return WEFT_OK;
    add_loss(pass, record);
    const bool measures = record->measured && pass->measures.count && !pass->shards;
    return measures ? take_measures(pass, step) : WEFT_OK;
}

static weft_status finish_interval(wi_pass *pass, const wi_pass_hooks *hooks) {
    const size_t count = pass->pending;
    pass->pending = 0;
    if (count == 0) return WEFT_OK;
    WI_TRY(wait_for_device(pass));
    for (size_t i = 0; i < count; i++) WI_TRY(take_record(pass, i));
    return hooks ? hooks->after_interval(hooks->user, pass->records, count) : WEFT_OK;
}

/* Loads the next batch. *examples: the number of examples of the whole batch; if batches are divided, the columns have only those of this
 * process. */
static weft_status load_batch(wi_pass *pass, size_t *examples, const void **columns) {
    WI_TRY(weft_loader_next(pass->loader, examples, columns));
    size_t loaded = pass->shards ? 0 : *examples, first = 0, count = 0;
    for (size_t i = 0; pass->shards && part_of_batch(pass->shards, *examples, i, &first, &count); i++)
        loaded += count;
    return wi_feed_check_loaded_labels(&pass->feed, pass->dataset, columns, loaded);
}

static weft_status run_steps(wi_pass *pass, const wi_pass_hooks *hooks) {
    const void *columns[WI_PASS_COLUMNS];
    for (bool stop = false; !stop;) {
        size_t examples = 0;
        bool finish = false;
        const weft_status loaded = load_batch(pass, &examples, columns);
        if (!pass->shards) WI_TRY(loaded);
        if (loaded == WEFT_OK && examples == 0) {
            if (pass->shards) pass->shards->by_rank.may_divide = pass->shards->by_rank.firsts != NULL;
            break;
        }
        if (pass->shards)
            WI_TRY(divided_step(pass, loaded, columns, examples, hooks));
        else
            WI_TRY(enqueue_step(pass, columns, examples, hooks));
        if (hooks) WI_TRY(hooks->after_step(hooks->user, &finish, &stop));
        if (finish || pass->pending == pass->interval) WI_TRY(finish_interval(pass, hooks));
    }
    WI_TRY(finish_interval(pass, hooks));
    return pass->shards ? wi_shards_join(pass) : WEFT_OK;
}

weft_status wi_pass_run(
    wi_pass *pass, uint64_t epoch, const wi_pass_start *start, const wi_pass_hooks *hooks) {
    pass->totals = start ? start->totals : (wi_pass_totals){0};
    pass->pending = 0;
    if (!start) wi_measures_reset(&pass->measures);
    if (pass->shards) WI_TRY(divide_again(pass));
    if (pass->shards) wi_shards_note_metrics(pass);
    WI_TRY(wi_loader_begin_at(pass->loader, epoch, start ? start->step : 0));
    const weft_status status = run_steps(pass, hooks);
    if (status != WEFT_OK && pass->pending) { /* the device may still use the buffers of the pass */
        char line[WI_ERROR_LINE];
        wi_error_save(line, sizeof line);
        (void)wait_for_device(pass);
        wi_error_restore(line);
        pass->pending = 0;
    }
    return status;
}

double wi_pass_loss(const wi_pass *pass) {
    const wi_pass_totals *const totals = &pass->totals;
    bool any = totals->examples > 0;
    double loss = any ? totals->loss / (double)totals->examples : 0.0;
    for (size_t i = 0; i < pass->terms.count; i++) {
        if (totals->totals[i] == 0.0) continue;
        loss += totals->values[i] / totals->totals[i];
        any = true;
    }
    return any ? loss : (double)NAN;
}

double wi_pass_accuracy(const wi_pass *pass) {
    const double *const sums = wi_pass_accuracy_sums(pass);
    return sums && sums[1] > 0.0 ? sums[0] / sums[1] : (double)NAN;
}
