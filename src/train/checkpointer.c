/* When checkpoints are due, the names of their files, and the writing thread (contract in checkpointer.h). */
#include "train/checkpointer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const prefixes[2] = {"step-", "best-"};
static const char ending[] = ".safetensors";

weft_status wi_checkpointer_init(
    wi_checkpointer *c, const weft_allocator *allocator, const weft_trainer_options *options) {
    c->allocator = allocator;
    c->folder = options->checkpoint;
    c->every = options->checkpoint_every;
    c->keep = options->checkpoint_keep ? options->checkpoint_keep : 3;
    c->image.allocator = allocator;
    wi_saved_list_init(&c->list, allocator);
    atomic_init(&c->writing, false);
    if (!(c->every.seconds >= 0) || isinf(c->every.seconds))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: checkpoint_every is %g seconds, expected 0 or more", c->every.seconds);
    if (c->folder && !*c->folder)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_trainer_create: checkpoint is \"\", expected the name of a folder");
    if (!c->every.steps && !c->every.epochs && !(c->every.seconds > 0)) c->every.epochs = 1;
    return WEFT_OK;
}

void wi_checkpointer_clear(wi_checkpointer *c) {
    wi_thread_join(&c->thread);
    wi_checkpoint_image_clear(&c->image);
    wi_saved_list_clear(&c->list);
}

/* ---- names ---- */

/* Reads a name such as "step-0000000120.safetensors"; false: the file is not a checkpoint of a trainer. */
static bool read_name(const char *name, wi_checkpoint_name *read) {
    for (int best = 0; best < 2; best++) {
        const size_t length = strlen(prefixes[best]);
        if (strncmp(name, prefixes[best], length) != 0) continue;
        const size_t digits = strspn(name + length, "0123456789");
        if (digits == 0 || digits > 18 || strcmp(name + length + digits, ending) != 0) return false;
        read->step = (size_t)strtoull(name + length, NULL, 10);
        read->best = best;
        return true;
    }
    return false;
}

static int newest_first(const void *a, const void *b) {
    const wi_checkpoint_name *const one = a, *const other = b;
    if (one->step != other->step) return one->step < other->step ? 1 : -1;
    return (int)one->best - (int)other->best;
}

static weft_status take_names(wi_checkpoint_name *found, size_t *count, wi_arena *arena, const char *folder,
    const char *const *names, size_t name_count) {
    for (size_t i = 0; i < name_count; i++) {
        wi_checkpoint_name *const next = &found[*count];
        if (!read_name(names[i], next)) continue;
        const size_t capacity = strlen(folder) + strlen(names[i]) + 2;
        char *const path = wi_arena_take(arena, capacity);
        if (!path) return WEFT_ERROR_MEMORY;
        snprintf(path, capacity, "%s/%s", folder, names[i]);
        next->path = path;
        ++*count;
    }
    if (*count) qsort(found, *count, sizeof *found, newest_first);
    return WEFT_OK;
}

weft_status wi_checkpoint_names(
    wi_checkpoint_name **names, size_t *count, wi_arena *arena, const char *folder) {
    const char **all = NULL;
    size_t all_count = 0;
    *count = 0;
    WI_TRY(wi_directory_list(&all, &all_count, arena, folder));
    *names = wi_arena_take(arena, (all_count + 1) * sizeof **names);
    const weft_status status =
        *names ? take_names(*names, count, arena, folder, all, all_count) : WEFT_ERROR_MEMORY;
    wi_release(arena->allocator, (void *)all);
    return status;
}

/* ---- the writing thread ---- */

/* Is the file kept? The c->keep newest files are kept, and the newest best one. Files of later steps than c->step are
 * not kept, because the training was resumed at an earlier checkpoint. The function is called for each file, from the
 * newest on: *newer is the number of newer files, and *best says whether one of them is a best one. */
static bool is_kept(const wi_checkpointer *c, const wi_checkpoint_name *name, size_t *newer, bool *best) {
    if (name->step > c->step) return false;
    const bool is_best = name->best && !*best;
    *best = *best || name->best;
    return (*newer)++ < c->keep || is_best;
}

static weft_status remove_old(const wi_checkpointer *c) {
    wi_arena arena;
    wi_checkpoint_name *names = NULL;
    size_t count = 0, newer = 0;
    bool best = false;
    wi_arena_init(&arena, c->allocator);
    weft_status status = wi_checkpoint_names(&names, &count, &arena, c->folder);
    for (size_t i = 0; i < count && status == WEFT_OK; i++)
        if (!is_kept(c, &names[i], &newer, &best)) status = wi_file_remove(names[i].path);
    wi_arena_clear(&arena);
    return status;
}

static weft_status write_file(wi_checkpointer *c) {
    WI_TRY(wi_directory_create(c->folder, false)); /* it may have been removed meanwhile */
    for (int i = 0; i < 2; i++) WI_TRY(wi_file_remove_abandoned(c->allocator, c->folder, prefixes[i]));
    WI_TRY(wi_checkpoint_image_write(&c->image, c->path));
    return remove_old(c);
}

static void *run_thread(void *argument) {
    wi_checkpointer *const c = argument;
    c->status = write_file(c);
    if (c->status != WEFT_OK) wi_error_save(c->line, sizeof c->line);
    atomic_store(&c->writing, false);
    return NULL;
}

/* ---- runs ---- */

static weft_status refuse_others(const wi_checkpointer *c) {
    wi_arena arena;
    wi_checkpoint_name *names = NULL;
    size_t count = 0;
    wi_arena_init(&arena, c->allocator);
    weft_status status = wi_checkpoint_names(&names, &count, &arena, c->folder);
    if (status == WEFT_OK && count)
        status = wi_fail(WEFT_ERROR_STATE,
            "the folder of the option checkpoint already has a checkpoint of another training, '%s': "
            "continue that training with weft_trainer_resume (--resume of Weft's programs), or choose "
            "another folder",
            names[0].path);
    wi_arena_clear(&arena);
    return status;
}

weft_status wi_checkpointer_begin(wi_checkpointer *c) {
    char path[WI_CHECKPOINT_PATH];
    if (!c->folder) return WEFT_OK;
    WI_TRY(wi_directory_create(c->folder, false));
    if (!c->owns) WI_TRY(refuse_others(c));
    if ((size_t)snprintf(path, sizeof path, "%s/%s", c->folder, prefixes[0]) >= sizeof path - 64)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: the path of the folder for checkpoints is too long: '%.100s...'", path);
    WI_TRY(weft_output_check(path));
    c->owns = true;
    c->saved_at = wi_clock_seconds();
    return WEFT_OK;
}

/* The error of the thread, which has ended. Each error is returned only once. */
static weft_status report(wi_checkpointer *c) {
    const weft_status status = c->status;
    c->status = WEFT_OK;
    if (status != WEFT_OK) wi_error_restore(c->line);
    return status;
}

weft_status wi_checkpointer_step(wi_checkpointer *c) {
    c->steps++;
    c->is_current = false;
    return wi_checkpointer_is_idle(c) ? report(c) : WEFT_OK;
}

void wi_checkpointer_epoch(wi_checkpointer *c) {
    c->epochs++;
    c->is_current = false;
}

bool wi_checkpointer_is_idle(const wi_checkpointer *c) {
    return !atomic_load(&c->writing);
}

bool wi_checkpointer_is_due(const wi_checkpointer *c) {
    if (!c->folder) return false;
    if (c->every.steps && c->steps >= c->every.steps) return true;
    if (c->every.epochs && c->epochs >= c->every.epochs) return true;
    return c->every.seconds > 0 && wi_clock_seconds() - c->saved_at >= c->every.seconds;
}

weft_status wi_checkpointer_save(wi_checkpointer *c, size_t step, bool best) {
    WI_TRY(wi_checkpointer_wait(c));
    snprintf(c->path, sizeof c->path, "%s/%s%010zu%s", c->folder, prefixes[best], step, ending);
    WI_TRY(wi_checkpoint_image_fill(&c->image, c->path, &c->list));
    c->step = step;
    c->steps = c->epochs = 0;
    c->saved_at = wi_clock_seconds();
    c->is_current = true;
    atomic_store(&c->writing, true);
    const weft_status status = wi_thread_start(&c->thread, run_thread, c);
    if (status != WEFT_OK) atomic_store(&c->writing, false);
    return status;
}

weft_status wi_checkpointer_wait(wi_checkpointer *c) {
    wi_thread_join(&c->thread);
    return report(c);
}
