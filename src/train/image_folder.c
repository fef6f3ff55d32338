/* Folders of images as a dataset (contract in weft/image_data.h).
 *
 * First the names of all files are gathered, class by class. With the option skip_unreadable, threads then decode every
 * file once, to find those that cannot be decoded. Links are followed; a folder that contains itself through a link is
 * an error, so that the walk ends. */
#include "base/options.h"
#include "base/platform.h"
#include "io/image_file.h"
#include "train/image_source.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHECKERS = 8, ERROR_LINE = 2048 };

#define IN_A_CIRCLE "'%s' is a link to a folder that contains the link itself"

typedef struct listing {
    wi_image_store *store;
    const weft_allocator *allocator;
    const wi_log *log;
    bool skip;
    size_t skipped;
    const char **classes; /* the name of each label */
    size_t class_count;
    bool fixed; /* the options give the classes: one may have no images, and any other folder is an error */
} listing;

/* A folder on the path of the walk, identified by device and file number, and the folders above it. */
typedef struct level {
    const struct level *above;
    uint64_t device, number;
} level;

static const char *join(wi_arena *arena, const char *folder, const char *name) {
    const size_t before = strlen(folder), bytes = before + strlen(name) + 2;
    char *const path = wi_arena_take(arena, bytes);
    if (!path) return NULL;
    memcpy(path, folder, before);
    path[before] = '/';
    memcpy(path + before + 1, name, bytes - before - 1);
    return path;
}

/* Called for a file that cannot be read. If such files are to be skipped, logs and counts the file and returns WEFT_OK;
 * otherwise returns the error. */
static weft_status skip_or_fail(listing *l, weft_status status) {
    const bool unreadable = status == WEFT_ERROR_FILE || status == WEFT_ERROR_FORMAT;
    if (!l->skip || !unreadable) return status;
    l->skipped++;
    wi_log_line(l->log, WEFT_LOG_WARNING, "an image is left out: %s", weft_last_error());
    return WEFT_OK;
}

static weft_status add_file(listing *l, const char *directory, const char *name, int32_t label) {
    wi_image_store *const store = l->store;
    WI_TRY(wi_grow(
        l->allocator, (void **)&store->files, &store->capacity, store->count + 1, sizeof *store->files));
    const char *const copy = wi_arena_string(&store->arena, name);
    if (!copy) return WEFT_ERROR_MEMORY;
    store->files[store->count++] = (wi_image_file){directory, copy, label};
    return WEFT_OK;
}

static weft_status walk(listing *l, const char *path, const level *here, int32_t label);

/* One entry of a folder of a class: `path` is folder/name. */
static weft_status add_entry(
    listing *l, const char *folder, const char *name, const char *path, const level *here, int32_t label) {
    weft_status readable = WEFT_OK;
    wi_path_info info;
    bool missing = false;
    const bool image = wi_is_image_name(name, &readable);
    const weft_status status = wi_path_look(&info, path, &missing);
    if (status != WEFT_OK) return missing && !image ? WEFT_OK : skip_or_fail(l, status); /* a dangling link */
    if (info.kind == WI_PATH_FOLDER) {
        for (const level *up = here; up; up = up->above)
            if (up->device == info.device && up->number == info.number)
                return skip_or_fail(l, wi_fail(WEFT_ERROR_FILE, IN_A_CIRCLE, path));
        return walk(l, path, &(level){here, info.device, info.number}, label);
    }
    if (!image) return WEFT_OK;
    if (info.kind != WI_PATH_FILE)
        return skip_or_fail(l, wi_fail(WEFT_ERROR_FILE, "cannot read '%s': it is not a regular file", path));
    if (readable != WEFT_OK) return wi_is_image_name(path, &readable) ? readable : WEFT_OK;
    return add_file(l, folder, name, label);
}

static weft_status walk(listing *l, const char *path, const level *here, int32_t label) {
    const char **names = NULL;
    size_t count = 0;
    wi_arena arena;
    wi_arena_init(&arena, l->allocator);
    const char *const folder = wi_arena_string(&l->store->arena, path); /* the entries of files point to it */
    weft_status status = folder ? wi_directory_list(&names, &count, &arena, folder) : WEFT_ERROR_MEMORY;
    if (status != WEFT_OK) status = skip_or_fail(l, status);
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        const char *const entry = join(&arena, folder, names[i]);
        status = entry ? add_entry(l, folder, names[i], entry, here, label) : WEFT_ERROR_MEMORY;
    }
    wi_release(l->allocator, (void *)names);
    wi_arena_clear(&arena);
    return status;
}

/* Sorts files by folder, then by name. */
static int compare_files(const void *one, const void *other) {
    const wi_image_file *const a = one, *const b = other;
    const int order = a->directory == b->directory ? 0 : strcmp(a->directory, b->directory);
    return order ? order : strcmp(a->name, b->name);
}

static weft_status add_class(
    listing *l, const char *path, const level *root, const wi_path_info *info, int32_t label) {
    wi_image_store *const store = l->store;
    const size_t before = store->count, skipped = l->skipped;
    WI_TRY(walk(l, path, &(level){root, info->device, info->number}, label));
    if (store->count == before && l->skipped == skipped && !l->fixed)
        WI_FAIL(WEFT_ERROR_FILE, "the class '%s' has no images (.png, .jpg, .jpeg)", path);
    if (store->count > before)
        qsort(store->files + before, store->count - before, sizeof *store->files, compare_files);
    return WEFT_OK;
}

static weft_status find_class(listing *l, const char *path, const char *name, int32_t *label) {
    size_t c = 0;
    if (!l->fixed) l->classes[l->class_count++] = name;
    while (c < l->class_count && strcmp(l->classes[c], name) != 0) c++;
    if (c == l->class_count)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "the folder '%s' is not one of the %zu classes that the option classes or like gives", path,
            l->class_count);
    *label = (int32_t)c;
    return WEFT_OK;
}

/* Adds the folders of `folder` as classes, in the order of their names. A name that cannot be examined is an error
 * unless the classes are given: it may be a class, without which the later classes would get other numbers. */
static weft_status add_classes(listing *l, const char *folder, const char *const *names, size_t count) {
    wi_path_info root;
    WI_TRY(wi_path_look(&root, folder, NULL));
    for (size_t i = 0; i < count; i++) {
        wi_path_info info;
        if (names[i][0] == '.') continue;
        const char *const path = join(&l->store->arena, folder, names[i]);
        if (!path) return WEFT_ERROR_MEMORY;
        bool missing = false;
        const weft_status status = wi_path_look(&info, path, &missing);
        if (status != WEFT_OK && !missing) WI_TRY(l->fixed ? skip_or_fail(l, status) : status);
        if (status != WEFT_OK || info.kind != WI_PATH_FOLDER) continue;
        if (info.device == root.device && info.number == root.number)
            WI_FAIL(WEFT_ERROR_FILE, IN_A_CIRCLE, path);
        int32_t label = 0;
        WI_TRY(find_class(l, path, names[i], &label));
        WI_TRY(add_class(l, path, &(level){NULL, root.device, root.number}, &info, label));
    }
    if (l->class_count == 0 || (l->store->count == 0 && l->skipped == 0))
        WI_FAIL(WEFT_ERROR_FILE, "'%s' has no folders with images; expected one folder per class", folder);
    return WEFT_OK;
}

/* ---- decoding every file once ---- */

typedef struct check {
    const wi_image_store *store;
    const weft_allocator *allocator;
    const wi_image_pipeline *pipeline;
    atomic_size_t next;
    weft_status *results;
    char **lines; /* error line of each file that failed */
} check;

static void *check_files(void *argument) {
    check *const c = argument;
    wi_workspace workspace = {.allocator = c->allocator};
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->store->count;) {
        wi_image_view view;
        c->results[i] = wi_image_store_read(c->store, i, c->pipeline, &workspace, &view);
        if (c->results[i] == WEFT_OK) continue;
        c->lines[i] = wi_copy_string(c->allocator, weft_last_error());
        if (!c->lines[i]) c->results[i] = WEFT_ERROR_MEMORY;
    }
    wi_workspace_clear(&workspace);
    return NULL;
}

/* Threads that cannot be started are not an error: the calling thread checks files, too. */
static void run_checkers(check *c) {
    wi_thread threads[MAX_CHECKERS - 1] = {{0}};
    for (size_t i = 0; i + 1 < wi_processor_count() && i < MAX_CHECKERS - 1; i++)
        (void)wi_thread_start(&threads[i], check_files, c);
    check_files(c);
    for (size_t i = 0; i < MAX_CHECKERS - 1; i++) wi_thread_join(&threads[i]);
}

static weft_status drop_failed(listing *l, const check *c) {
    wi_image_store *const store = l->store;
    const size_t count = store->count;
    store->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (c->results[i] == WEFT_OK) {
            store->files[store->count++] = store->files[i];
            continue;
        }
        if (c->lines[i]) wi_error_restore(c->lines[i]);
        WI_TRY(skip_or_fail(l, c->results[i]));
    }
    return WEFT_OK;
}

static weft_status drop_unreadable(listing *l, const wi_image_pipeline *pipeline) {
    const size_t count = l->store->count;
    check c = {.store = l->store, .allocator = l->allocator, .pipeline = pipeline};
    weft_status status = WEFT_ERROR_MEMORY;
    atomic_init(&c.next, 0);
    c.results = wi_allocate_array(l->allocator, count, sizeof *c.results);
    c.lines = wi_allocate_array(l->allocator, count, sizeof *c.lines);
    if (c.results && c.lines) {
        run_checkers(&c);
        status = drop_failed(l, &c);
    }
    for (size_t i = 0; c.lines && i < count; i++) wi_release(l->allocator, c.lines[i]);
    wi_release(l->allocator, (void *)c.lines);
    wi_release(l->allocator, c.results);
    return status;
}

/* ---- the dataset ---- */

/* Checks that every class has an image, unless the options give the classes. */
static weft_status check_classes(const listing *l, const char *folder) {
    const wi_image_store *const store = l->store;
    if (store->count == 0)
        WI_FAIL(WEFT_ERROR_FILE, "'%s': none of the images (%zu) can be read", folder, l->skipped);
    for (size_t c = 0; c < l->class_count && !l->fixed; c++) {
        size_t i = 0;
        while (i < store->count && store->files[i].label != (int32_t)c) i++;
        if (i == store->count)
            WI_FAIL(WEFT_ERROR_FILE,
                "'%s': the class '%s' has no image that can be read; list the classes in the option classes "
                "to allow classes without images",
                folder, l->classes[c]);
    }
    return WEFT_OK;
}

static weft_status make_dataset(
    weft_dataset **dataset, weft_context *context, listing *l, const weft_image_options *options) {
    static const weft_column label = {.name = "label", .dtype = WEFT_I32};
    WI_TRY(wi_image_dataset_create(dataset, context, l->store, options, &label, 1));
    int32_t *const labels = wi_dataset_data(*dataset, 1);
    for (size_t i = 0; i < l->store->count; i++) labels[i] = l->store->files[i].label;
    (*dataset)->skipped = l->skipped;
    const weft_status status = wi_dataset_set_categories(*dataset, 1, l->classes, l->class_count);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}

/* Copies the classes that the options give, if any, and allocates room for the names of `folders` further classes. */
static weft_status copy_classes(listing *l, const weft_image_options *options, size_t folders) {
    const size_t column = options->like ? wi_dataset_find(options->like, "label") : SIZE_MAX;
    size_t count = options->like ? weft_dataset_category_count(options->like, column) : 0;
    if (options->like && options->classes)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_image_folder: the options classes and like are both set; set one of them");
    if (options->like && count == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_image_folder: the dataset of the option like has no categories in a column "
            "'label'");
    while (options->classes && options->classes[count]) count++;
    l->classes = wi_allocate_array(l->allocator, count + folders + 1, sizeof *l->classes);
    if (!l->classes) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        l->classes[i] =
            options->like ? weft_dataset_category(options->like, column, (int32_t)i) : options->classes[i];
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(l->classes[i], l->classes[j]) == 0)
                WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_image_folder: the class '%s' is given twice",
                    l->classes[i]);
    l->class_count = count;
    l->fixed = count > 0;
    return WEFT_OK;
}

static weft_status open_listed(weft_dataset **dataset, weft_context *context, const char *folder,
    const weft_image_options *options, listing *l, const char *const *names, size_t count) {
    wi_image_pipeline pipeline;
    WI_TRY(wi_pipeline_init(&pipeline, options, 3)); /* checks the options before files are read for hours */
    WI_TRY(copy_classes(l, options, count));
    WI_TRY(add_classes(l, folder, names, count));
    if (l->skip && l->store->count) WI_TRY(drop_unreadable(l, &pipeline));
    WI_TRY(check_classes(l, folder));
    return make_dataset(dataset, context, l, options);
}

weft_status weft_dataset_open_image_folder(
    weft_dataset **dataset, weft_context *context, const char *folder, const weft_image_options *given) {
    weft_image_options options;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_image_folder: dataset is NULL");
    *dataset = NULL;
    if (!context || !folder)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_image_folder: context and folder must not be NULL");
    WI_TRY(WI_OPTIONS(&options, given, "weft_dataset_open_image_folder", WEFT_IMAGE_OPTIONS_INIT));
    listing l = {.allocator = context->allocator, .log = &context->log, .skip = options.skip_unreadable};
    const char **names = NULL;
    size_t count = 0;
    wi_arena arena;
    wi_arena_init(&arena, context->allocator);
    weft_status status = wi_image_store_create(&l.store, context->allocator);
    if (status == WEFT_OK) status = wi_directory_list(&names, &count, &arena, folder);
    if (status == WEFT_OK) status = open_listed(dataset, context, folder, &options, &l, names, count);
    wi_image_store_release(l.store);
    wi_release(context->allocator, (void *)l.classes);
    wi_release(context->allocator, (void *)names);
    wi_arena_clear(&arena);
    return status;
}
