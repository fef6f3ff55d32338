/* Saving and resuming a trainer (contract in trainer_state.h). */
#include "train/trainer_state.h"
#include "base/process.h"
#include "graph/variable_names.h"
#include "io/checkpoint_extras.h"
#include "io/graph_state.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers: one table for saving and for resuming ---- */

typedef enum number_kind { COUNT, SIZE, FLAG, REAL, SINGLE } number_kind;
typedef struct number_row {
    const char *key;
    number_kind kind;
    void *place;
} number_row;

/* The numbers that a checkpoint has of a trainer. When a trainer is resumed, all numbers are read before the first is
 * stored in the trainer. */
typedef struct numbers {
    wi_resume position;
    uint64_t seed, epochs, skipped_steps, scheduled_skips;
    size_t batch, steps, not_finite_step, best_epoch, waited;
    bool shuffle, kept, drop_last, window_counts;
    uint64_t windows, empty_windows, empty_steps, gradient_shards;
    double best, seconds, right, counted; /* right, counted: sums of the accuracy */
    wi_log_position logs;
    weft_plateau plateau;
} numbers;

enum { ROWS = 24 };

static size_t list_rows(numbers *n, number_row rows[ROWS]) {
    const number_row all[] = {
        {"trainer.seed", COUNT, &n->seed},
        {"trainer.batch", SIZE, &n->batch},
        {"trainer.shuffle", FLAG, &n->shuffle},
        {"trainer.examples", SIZE, &n->position.examples},
        {"trainer.epoch", SIZE, &n->position.epoch},
        {"trainer.step_in_epoch", SIZE, &n->position.start.step},
        {"trainer.epochs", COUNT, &n->epochs},
        {"trainer.steps", SIZE, &n->steps},
        {"trainer.loss_sum", REAL, &n->position.start.totals.loss},
        {"trainer.loss_examples", SIZE, &n->position.start.totals.examples},
        {"trainer.correct", REAL, &n->right},
        {"trainer.counted", REAL, &n->counted},
        {"trainer.not_finite_step", SIZE, &n->not_finite_step},
        {"trainer.seconds", REAL, &n->seconds},
        {"trainer.best", REAL, &n->best},
        {"trainer.best_epoch", SIZE, &n->best_epoch},
        {"trainer.waited", SIZE, &n->waited},
        {"trainer.best_is_kept", FLAG, &n->kept},
        {"trainer.plateau.best", REAL, &n->plateau.best},
        {"trainer.plateau.epochs", COUNT, &n->plateau.epochs},
        {"trainer.plateau.bad", COUNT, &n->plateau.bad},
        {"trainer.plateau.cooldown", COUNT, &n->plateau.cooldown},
        {"trainer.plateau.rate", SINGLE, &n->plateau.rate},
    };
    memcpy(rows, all, sizeof all);
    return sizeof all / sizeof *all;
}

static weft_status note_row(wi_saved_list *list, const number_row *row) {
    switch (row->kind) {
    case COUNT: return wi_saved_list_note(list, row->key, "%" PRIu64, *(const uint64_t *)row->place);
    case SIZE: return wi_saved_list_note(list, row->key, "%zu", *(const size_t *)row->place);
    case FLAG: return wi_saved_list_note(list, row->key, "%d", *(const bool *)row->place);
    case SINGLE: return wi_saved_list_note(list, row->key, "%.9g", (double)*(const float *)row->place);
    default: return wi_saved_list_note(list, row->key, "%.17g", *(const double *)row->place);
    }
}

static weft_status read_row(const wi_checkpoint_file *file, const number_row *row) {
    uint64_t count = 0;
    double value = 0;
    if (row->kind == REAL || row->kind == SINGLE)
        WI_TRY(wi_checkpoint_number(file, row->key, &value));
    else
        WI_TRY(wi_checkpoint_count(file, row->key, &count));
    switch (row->kind) {
    case COUNT: *(uint64_t *)row->place = count; break;
    case SIZE: *(size_t *)row->place = (size_t)count; break;
    case FLAG: *(bool *)row->place = count != 0; break;
    case SINGLE: *(float *)row->place = (float)value; break;
    default: *(double *)row->place = value; break;
    }
    return WEFT_OK;
}

static numbers gather(const weft_trainer *trainer) {
    const bool inside = trainer->state.step_in_epoch > 0;
    numbers n = {.seed = trainer->options.seed,
        .batch = trainer->options.batch,
        .shuffle = trainer->training.shuffle,
        .epochs = trainer->epochs - inside, /* without the current epoch, which is counted already */
        .steps = trainer->steps,
        .not_finite_step = trainer->info.not_finite_step,
        .seconds = trainer->info.seconds + wi_clock_seconds() - trainer->run_began,
        .best = trainer->watch.best,
        .best_epoch = trainer->watch.best_epoch,
        .waited = trainer->watch.waited,
        .kept = trainer->watch.snapshot.taken,
        .plateau = trainer->rate.plateau};
    n.position.examples = trainer->training.dataset->examples;
    n.position.epoch = trainer->state.epoch;
    n.position.start.step = trainer->state.step_in_epoch;
    n.drop_last = trainer->options.drop_last;
    n.scheduled_skips = trainer->scheduled_skips;
    n.windows = trainer->windows;
    n.empty_windows = trainer->empty_windows;
    n.empty_steps = trainer->info.empty_steps;
    n.window_counts = trainer->window_counts;
    n.gradient_shards = trainer->divided_by.count;
    const double *const sums = wi_pass_accuracy_sums(&trainer->training);
    if (!inside) return n;
    n.position.start.totals = trainer->training.totals;
    n.right = sums ? sums[0] : 0.0;
    n.counted = sums ? sums[1] : 0.0;
    return n;
}

/* ---- tensors ---- */

static weft_status list_metrics(wi_saved_list *list, weft_trainer *trainer) {
    const wi_pass *const pass = &trainer->training;
    for (size_t i = 0; i < pass->measures.count - pass->counts; i++) {
        char name[48];
        size_t count = 0;
        double *const sums = wi_metric_sums(trainer->training.measures.items[i].state, &count);
        const wi_saved_entry entry = {.name = name,
            .dtype = WEFT_F64,
            .rank = 1,
            .dims = {(int64_t)count},
            .bytes = count * sizeof *sums,
            .host = sums};
        snprintf(name, sizeof name, WI_RESERVED_PREFIX "trainer.metric.%zu", i);
        WI_TRY(wi_saved_list_add(list, "", &entry));
    }
    return WEFT_OK;
}

static weft_status list_tensors(weft_trainer *trainer, const numbers *n, wi_saved_list *list) {
    const weft_trainer_options *const options = &trainer->options;
    if (n->position.start.step) WI_TRY(list_metrics(list, trainer));
    if (n->kept && trainer->watch.snapshot.data) WI_TRY(wi_snapshot_list(&trainer->watch.snapshot, list));
    return wi_list_extras(list, options->checkpoint_extras, options->checkpoint_extra_count);
}

/* ---- logs: a log that was not written has no entry ---- */

static const char *const log_keys[WI_LOGS] = {"trainer.log.csv", "trainer.log.json"};

static weft_status note_logs(wi_saved_list *list, const weft_trainer *trainer) {
    wi_log_position position = {0};
    WI_TRY(wi_training_log_position(&trainer->log, &position));
    for (int i = 0; i < WI_LOGS; i++)
        if (position.known[i]) WI_TRY(wi_saved_list_note(list, log_keys[i], "%" PRIu64, position.bytes[i]));
    return WEFT_OK;
}

static weft_status read_logs(const wi_checkpoint_file *file, wi_log_position *position) {
    for (int i = 0; i < WI_LOGS; i++) {
        position->known[i] = wi_checkpoint_find(file, log_keys[i]) != NULL;
        if (position->known[i]) WI_TRY(wi_checkpoint_count(file, log_keys[i], &position->bytes[i]));
    }
    return WEFT_OK;
}

/* ---- loss scaling: without it there is no entry ---- */

static weft_status note_scaling(wi_saved_list *list, const weft_trainer *trainer) {
    if (!trainer->training.scaling) return WEFT_OK;
    return wi_saved_list_note(list, "trainer.skipped_steps", "%zu", trainer->info.skipped_steps);
}

static weft_status read_scaling(const wi_checkpoint_file *file, numbers *n) {
    if (!wi_checkpoint_find(file, "trainer.skipped_steps")) return WEFT_OK;
    return wi_checkpoint_count(file, "trainer.skipped_steps", &n->skipped_steps);
}

/* ---- entries that files of older versions lack ---- */

enum { LATER_ROWS = 7, TERM_KEY = 48 };

static void list_later_rows(numbers *n, number_row rows[LATER_ROWS]) {
    const number_row all[LATER_ROWS] = {
        {"trainer.scheduled_skips", COUNT, &n->scheduled_skips},
        {"trainer.windows", COUNT, &n->windows},
        {"trainer.empty_windows", COUNT, &n->empty_windows},
        {"trainer.empty_steps", COUNT, &n->empty_steps},
        {"trainer.window_counts", FLAG, &n->window_counts},
        {"trainer.drop_last", FLAG, &n->drop_last},
        {"trainer.gradient_shards", COUNT, &n->gradient_shards},
    };
    memcpy(rows, all, sizeof all);
}

static number_row term_row(numbers *n, size_t i, bool total, char key[TERM_KEY]) {
    wi_pass_totals *const totals = &n->position.start.totals;
    snprintf(key, TERM_KEY, "trainer.term.%zu.%s", i, total ? "total" : "sum");
    return (number_row){key, REAL, total ? &totals->totals[i] : &totals->values[i]};
}

static weft_status note_later(wi_saved_list *list, const weft_trainer *trainer, numbers *n) {
    number_row rows[LATER_ROWS];
    list_later_rows(n, rows);
    for (size_t i = 0; i < LATER_ROWS; i++) WI_TRY(note_row(list, &rows[i]));
    for (size_t i = 0; i < 2 * trainer->terms.count; i++) {
        char key[TERM_KEY];
        const number_row row = term_row(n, i / 2, i % 2, key);
        WI_TRY(note_row(list, &row));
    }
    return WEFT_OK;
}

static weft_status read_later(const weft_trainer *trainer, const wi_checkpoint_file *file, numbers *n) {
    number_row rows[LATER_ROWS];
    list_later_rows(n, rows);
    n->windows = n->steps / trainer->rate.accumulate;
    n->gradient_shards = 1;
    for (size_t i = 0; i < LATER_ROWS; i++)
        if (wi_checkpoint_find(file, rows[i].key)) WI_TRY(read_row(file, &rows[i]));
    for (size_t i = 0; i < 2 * trainer->terms.count; i++) {
        char key[TERM_KEY];
        const number_row row = term_row(n, i / 2, i % 2, key);
        if (wi_checkpoint_find(file, key)) WI_TRY(read_row(file, &row));
    }
    return WEFT_OK;
}

/* ---- saving ---- */

static weft_status list_all(weft_trainer *trainer, numbers *n) {
    wi_saved_list *const list = &trainer->checkpointer.list;
    number_row rows[ROWS];
    const size_t count = list_rows(n, rows);
    wi_saved_list_empty(list);
    WI_TRY(wi_list_graph(list, trainer->graph));
    for (size_t i = 0; i < count; i++) WI_TRY(note_row(list, &rows[i]));
    WI_TRY(note_logs(list, trainer));
    WI_TRY(note_scaling(list, trainer));
    WI_TRY(note_later(list, trainer, n));
    return list_tensors(trainer, n, list);
}

weft_status wi_trainer_reserve(weft_trainer *trainer) {
    wi_checkpointer *const c = &trainer->checkpointer;
    numbers n = gather(trainer);
    if (!c->folder) return WEFT_OK;
    n.kept = trainer->watch.snapshot.data != NULL;
    WI_TRY(list_all(trainer, &n));
    return wi_checkpoint_image_reserve(&c->image, c->folder, &c->list);
}

weft_status wi_trainer_save(weft_trainer *trainer, bool best) {
    numbers n = gather(trainer);
    weft_status status = list_all(trainer, &n);
    if (status == WEFT_OK) status = wi_checkpointer_save(&trainer->checkpointer, trainer->steps, best);
    wi_shards_forget_states(&trainer->shards[0]);
    return status;
}

/* ---- resuming ---- */

static weft_status check_options(
    const weft_trainer *trainer, const wi_checkpoint_file *file, const numbers *n) {
    if (n->batch != trainer->options.batch || n->shuffle != trainer->training.shuffle)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s' comes from a training with the batch size %zu, %s; this trainer has the batch size %zu, "
            "%s",
            file->path, n->batch, n->shuffle ? "shuffled" : "in order", trainer->options.batch,
            trainer->training.shuffle ? "shuffled" : "in order");
    if (n->drop_last != trainer->options.drop_last)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s' comes from a training with%s drop_last; this trainer is with%s drop_last", file->path,
            n->drop_last ? "" : "out", trainer->options.drop_last ? "" : "out");
    if (n->gradient_shards != trainer->divided_by.count)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s' comes from a training with gradient_shards = %" PRIu64
            "; this trainer has gradient_shards = %zu: set the same number",
            file->path, n->gradient_shards, trainer->divided_by.count);
    if (n->seed != trainer->options.seed)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s' comes from a training with the seed %" PRIu64 "; this trainer has the seed %" PRIu64,
            file->path, n->seed, trainer->options.seed);
    return WEFT_OK;
}

static weft_status read_numbers(const weft_trainer *trainer, const wi_checkpoint_file *file, numbers *n) {
    number_row rows[ROWS];
    const size_t count = list_rows(n, rows);
    if (!wi_checkpoint_find(file, "trainer.steps"))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' was not saved by a trainer; use weft_checkpoint_load to read it",
            file->path);
    for (size_t i = 0; i < count; i++) WI_TRY(read_row(file, &rows[i]));
    WI_TRY(read_logs(file, &n->logs));
    WI_TRY(read_scaling(file, n));
    WI_TRY(read_later(trainer, file, n));
    n->logs.step = n->steps;
    return check_options(trainer, file, n);
}

/* *is_in: is the file `path` in the folder? false if folder is NULL or does not exist. */
static weft_status look_in_folder(bool *is_in, const char *path, const char *folder) {
    char own[WI_CHECKPOINT_PATH];
    const char *name = NULL;
    bool missing = false;
    wi_path_info one, other;
    *is_in = false;
    if (!folder) return WEFT_OK;
    wi_path_split(path, own, sizeof own, &name);
    WI_TRY(wi_path_look(&one, own, NULL));
    const weft_status status = wi_path_look(&other, folder, &missing);
    if (status != WEFT_OK) return missing ? WEFT_OK : status;
    *is_in = one.device == other.device && one.number == other.number;
    return WEFT_OK;
}

static void take_numbers(weft_trainer *trainer, const numbers *n, bool owns) {
    trainer->resume = n->position;
    trainer->resume.pending = true;
    trainer->epochs = n->epochs;
    trainer->steps = trainer->examined = n->steps;
    trainer->info.not_finite_step = n->not_finite_step;
    trainer->info.seconds = n->seconds;
    trainer->info.skipped_steps = (size_t)n->skipped_steps;
    trainer->scheduled_skips = (size_t)n->scheduled_skips;
    trainer->windows = n->windows;
    trainer->empty_windows = (size_t)n->empty_windows;
    trainer->info.empty_steps = (size_t)n->empty_steps;
    trainer->window_counts = n->window_counts;
    trainer->resume.right = n->right;
    trainer->resume.counted = n->counted;
    trainer->watch.best = n->best;
    trainer->watch.best_epoch = n->best_epoch;
    trainer->watch.waited = n->waited;
    trainer->watch.snapshot.taken = n->kept && trainer->watch.snapshot.data;
    trainer->rate.plateau = n->plateau;
    wi_training_log_resume(&trainer->log, &n->logs);
    weft_events_release(trainer->events); /* the next run opens files that continue after the checkpoint */
    trainer->events = NULL;
    trainer->checkpointer.owns = owns;
    trainer->checkpointer.is_current = owns;
}

static weft_status apply(weft_trainer *trainer, wi_checkpoint_file *file, wi_saved_list *list) {
    numbers n = {0};
    bool owns = false;
    WI_TRY(look_in_folder(&owns, file->path, trainer->options.checkpoint));
    WI_TRY(wi_list_graph(list, trainer->graph));
    /* First, so that a checkpoint of another network is reported before differences of the options are. */
    WI_TRY(wi_checkpoint_match(file, list, wi_checkpoint_others));
    WI_TRY(read_numbers(trainer, file, &n));
    if (!trainer->watch.snapshot.data) WI_TRY(wi_watch_prepare(&trainer->watch));
    WI_TRY(list_tensors(trainer, &n, list));
    WI_TRY(wi_checkpoint_match(file, list, wi_checkpoint_others));
    WI_TRY(wi_graph_numbers_check(trainer->graph, file));
    WI_TRY(wi_checkpoint_apply(file, list));
    WI_TRY(wi_graph_numbers_apply(trainer->graph, file));
    take_numbers(trainer, &n, owns);
    trainer->knows = wi_checkpoint_has_encodings(file);
    trainer->training.known = trainer->graph;
    return WEFT_OK;
}

static weft_status resume_from(weft_trainer *trainer, wi_checkpoint_file *file) {
    wi_saved_list list;
    wi_saved_list_init(&list, trainer->context->allocator);
    weft_status status = wi_shards_hold_states(&trainer->shards[0]);
    if (status == WEFT_OK) status = apply(trainer, file, &list);
    if (status == WEFT_OK) status = wi_shards_take_states(&trainer->shards[0]);
    wi_shards_forget_states(&trainer->shards[0]);
    wi_saved_list_clear(&list);
    return status;
}

/* Opens the newest checkpoint that can be read; if none can, returns the error of the newest. */
static weft_status open_newest(
    weft_trainer *trainer, const wi_checkpoint_name *names, size_t count, wi_checkpoint_file *file) {
    char line[WI_CHECKPOINT_LINE] = "";
    weft_status first = WEFT_OK;
    for (size_t i = 0; i < count; i++) {
        const weft_status status = wi_checkpoint_open(file, trainer->context->allocator, names[i].path);
        if (status == WEFT_OK) return WEFT_OK;
        wi_log_line(&trainer->context->log, WEFT_LOG_WARNING, "%s", weft_last_error());
        if (first != WEFT_OK) continue;
        first = status;
        wi_error_save(line, sizeof line);
    }
    wi_error_restore(line);
    return first;
}

static weft_status resume_folder(weft_trainer *trainer, const char *folder, bool *found) {
    wi_arena arena;
    wi_checkpoint_file file;
    wi_checkpoint_name *names = NULL;
    size_t count = 0;
    wi_arena_init(&arena, trainer->context->allocator);
    weft_status status = wi_checkpoint_names(&names, &count, &arena, folder);
    if (status == WEFT_OK && count == 0 && !found)
        status = wi_fail(WEFT_ERROR_FILE, "'%s': there is no checkpoint in this folder", folder);
    if (status == WEFT_OK && count) status = open_newest(trainer, names, count, &file);
    if (status == WEFT_OK && count) {
        status = resume_from(trainer, &file);
        wi_checkpoint_close(&file);
    }
    if (found) *found = status == WEFT_OK && count;
    wi_arena_clear(&arena);
    return status;
}

weft_status weft_trainer_resume(weft_trainer *trainer, const char *path, bool *found) {
    wi_path_info info;
    wi_checkpoint_file file;
    bool missing = false;
    if (found) *found = false;
    if (!trainer || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_resume: trainer and path must not be NULL");
    WI_TRY(wi_process_check_driver());
    WI_TRY(weft_graph_status(trainer->graph));
    WI_TRY(wi_checkpointer_wait(&trainer->checkpointer));
    const weft_status looked = wi_path_look(&info, path, &missing);
    if (missing && found) return WEFT_OK;
    WI_TRY(looked);
    if (info.kind == WI_PATH_FOLDER) return resume_folder(trainer, path, found);
    WI_TRY(wi_checkpoint_open(&file, trainer->context->allocator, path));
    const weft_status status = resume_from(trainer, &file);
    wi_checkpoint_close(&file);
    if (found) *found = status == WEFT_OK;
    return status;
}
