/* CIFAR's binary files as a dataset (contract in weft/image_data.h).
 *
 * A file is a sequence of records: one label byte (CIFAR-100: a coarse and a fine one), then 3 × 32 × 32 bytes,
 * channel by channel. Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009,
 * and cs.toronto.edu/~kriz/cifar.html. The files have fixed lengths, which are checked before anything is
 * read. */
#include "base/file_guess.h"
#include "base/file_target.h"
#include "base/platform.h"
#include "base/system_file.h"
#include "base/text_file.h"
#include "train/image_source.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH_CAPACITY = 4096, CHANNELS = 3, SIDE = 32, PIXELS = CHANNELS * SIDE * SIDE, MAX_FILES = 5 };

typedef struct label_kind {
    const char *column;
    const char *names; /* file with the names of the classes, one per line */
    int32_t classes;
} label_kind;

typedef struct cifar_kind {
    const char *files[MAX_FILES + 1];
    size_t records; /* in each file */
    size_t label_count;
    label_kind labels[2]; /* in the order of the record's bytes */
} cifar_kind;

#define LABELS_10                                                                                            \
    1, {                                                                                                     \
        { "label", "batches.meta.txt", 10 }                                                                  \
    }
#define LABELS_100                                                                                           \
    2, {                                                                                                     \
        {"coarse_label", "coarse_label_names.txt", 20}, {                                                    \
            "label", "fine_label_names.txt", 100                                                             \
        }                                                                                                    \
    }

static const cifar_kind kinds[] = {
    [WEFT_CIFAR_10_TRAIN] = {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                 "data_batch_5.bin"},
        10000, LABELS_10},
    [WEFT_CIFAR_10_TEST] = {{"test_batch.bin"}, 10000, LABELS_10},
    [WEFT_CIFAR_100_TRAIN] = {{"train.bin"}, 50000, LABELS_100},
    [WEFT_CIFAR_100_TEST] = {{"test.bin"}, 10000, LABELS_100},
};

/* The column of a label. The last label of a record, CIFAR-100's fine one, is the first after the image. */
static size_t column_of(const cifar_kind *kind, size_t label) {
    return kind->label_count - label;
}

static weft_status join(char path[PATH_CAPACITY], const char *folder, const char *name) {
    const int length = snprintf(path, PATH_CAPACITY, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_CAPACITY)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "the path of the folder is too long: '%.100s...'", folder);
    return WEFT_OK;
}

/* A file of a wrong length may be the HTML page of a failed download, or a pointer of Git LFS. */
static weft_status refuse_page(const char *path) {
    char begin[256];
    const int file = wi_open(path, WI_OPEN_READ);
    const int64_t bytes = file >= 0 ? wi_read_some(file, begin, sizeof begin) : 0;
    if (file >= 0) wi_close(file);
    return wi_file_refuse_page(path, begin, bytes > 0 ? (size_t)bytes : 0);
}

static weft_status check_lengths(const cifar_kind *kind, const char *folder) {
    const uint64_t expected = (uint64_t)kind->records * (kind->label_count + PIXELS);
    for (size_t i = 0; kind->files[i]; i++) {
        char path[PATH_CAPACITY];
        wi_path_info info;
        WI_TRY(join(path, folder, kind->files[i]));
        WI_TRY(wi_path_look(&info, path, NULL));
        if (info.kind != WI_PATH_FILE)
            WI_FAIL(WEFT_ERROR_FILE, "cannot read '%s': it is not a regular file", path);
        if (info.bytes != expected) WI_TRY(refuse_page(path));
        if (info.bytes != expected)
            WI_FAIL(WEFT_ERROR_FORMAT,
                "'%s' has %" PRIu64 " bytes, expected %" PRIu64 " (%zu records of %zu bytes)", path,
                info.bytes, expected, kind->records, kind->label_count + PIXELS);
    }
    return WEFT_OK;
}

static weft_status take_labels(const cifar_kind *kind, const unsigned char *bytes, weft_dataset *dataset,
    size_t example, const char *path, size_t record) {
    for (size_t i = 0; i < kind->label_count; i++) {
        if (bytes[i] >= kind->labels[i].classes)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the %s of record %zu is %d, not in 0..%" PRId32, path,
                kind->labels[i].column, record, bytes[i], kind->labels[i].classes - 1);
        ((int32_t *)wi_dataset_data(dataset, column_of(kind, i)))[example] = bytes[i];
    }
    return WEFT_OK;
}

/* Reads a block of records. first: the block's first record; bytes: of a record. */
static weft_status read_block(
    int file, unsigned char *block, size_t total, const char *path, size_t first, size_t bytes) {
    for (size_t used = 0; used < total;) {
        const int64_t got = wi_read_some(file, block + used, total - used);
        if (got < 0) return wi_file_fail("read", path, errno);
        if (got == 0)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s' became shorter while it was read: it ended at record %zu", path,
                first + used / bytes);
        used += (size_t)got;
    }
    return WEFT_OK;
}

enum { BLOCK_RECORDS = 1024 };

static weft_status read_blocks(const cifar_kind *kind, int file, const char *path, size_t first,
    unsigned char *block, wi_image_store *store, weft_dataset *dataset) {
    const size_t bytes = kind->label_count + PIXELS;
    for (size_t i = 0; i < kind->records; i += BLOCK_RECORDS) {
        const size_t count = kind->records - i < BLOCK_RECORDS ? kind->records - i : BLOCK_RECORDS;
        WI_TRY(read_block(file, block, count * bytes, path, i, bytes));
        for (size_t k = 0; k < count; k++) {
            const unsigned char *const record = block + k * bytes;
            WI_TRY(take_labels(kind, record, dataset, first + i + k, path, i + k));
            if (store->pixels)
                memcpy(store->pixels + (first + i + k) * PIXELS, record + kind->label_count, PIXELS);
        }
    }
    return WEFT_OK;
}

static weft_status read_records(const cifar_kind *kind, int file, const char *path, size_t first,
    wi_image_store *store, weft_dataset *dataset) {
    const weft_allocator *const allocator = dataset->context->allocator;
    unsigned char *const block = wi_allocate(allocator, BLOCK_RECORDS * (kind->label_count + PIXELS));
    if (!block) return WEFT_ERROR_MEMORY;
    const weft_status status = read_blocks(kind, file, path, first, block, store, dataset);
    wi_release(allocator, block);
    return status;
}

static weft_status read_files(
    const cifar_kind *kind, const char *folder, wi_image_store *store, weft_dataset *dataset) {
    for (size_t i = 0; kind->files[i]; i++) {
        char path[PATH_CAPACITY];
        WI_TRY(join(path, folder, kind->files[i]));
        const int file = wi_open(path, WI_OPEN_READ);
        if (file < 0) return wi_file_fail("open", path, errno);
        const weft_status status = read_records(kind, file, path, i * kind->records, store, dataset);
        wi_close(file);
        WI_TRY(status);
    }
    return WEFT_OK;
}

/* Ends each line of the text with NUL, in place. `lines` gets the first `capacity` lines that are not empty. Returns
 * the number of all lines that are not empty. */
static size_t split_lines(char *text, const char **lines, size_t capacity) {
    size_t count = 0;
    for (char *line = text; *line;) {
        char *const end = line + strcspn(line, "\r\n");
        const bool last = *end == '\0';
        *end = '\0';
        if (end > line && count++ < capacity) lines[count - 1] = line;
        line = last ? end : end + 1;
    }
    return count;
}

/* Sets the names of the classes. Changes the text. */
static weft_status set_names(
    weft_dataset *dataset, size_t column, const char *path, char *text, int32_t classes) {
    const char *lines[100];
    size_t begin = 0;
    WI_TRY(wi_text_file_begin(path, text, strlen(text), &begin));
    const size_t count = split_lines(text + begin, lines, 100);
    if (count == (size_t)classes) return wi_dataset_set_categories(dataset, column, lines, count);
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has %zu names of classes, expected %" PRId32, path, count, classes);
}

static weft_status read_names(
    const label_kind *label, const char *folder, weft_dataset *dataset, size_t column) {
    char path[PATH_CAPACITY];
    char *text = NULL;
    size_t bytes = 0;
    WI_TRY(join(path, folder, label->names));
    bool missing = false;
    wi_path_info info;
    const weft_status found = wi_path_look(&info, path, &missing);
    if (missing || found != WEFT_OK) return missing ? WEFT_OK : found;
    const weft_allocator *const allocator = dataset->context->allocator;
    WI_TRY(wi_file_read(allocator, path, &text, &bytes));
    const weft_status status = set_names(dataset, column, path, text, label->classes);
    wi_release(allocator, text);
    return status;
}

static weft_status fill(
    const cifar_kind *kind, const char *folder, wi_image_store *store, weft_dataset *dataset) {
    WI_TRY(read_files(kind, folder, store, dataset));
    for (size_t i = 0; i < kind->label_count; i++)
        WI_TRY(read_names(&kind->labels[i], folder, dataset, column_of(kind, i)));
    return WEFT_OK;
}

/* Creates a dataset whose pixels stay in the files. */
static weft_status open_records(
    const cifar_kind *kind, const wi_file_rules *rules, const char *folder, wi_image_store *store) {
    store->labels_first = kind->label_count;
    store->records = wi_arena_take(&store->arena, MAX_FILES * sizeof *store->records);
    if (!store->records) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; kind->files[i]; i++) {
        char path[PATH_CAPACITY];
        wi_records *const records = &store->records[i];
        WI_TRY(join(path, folder, kind->files[i]));
        WI_TRY(wi_data_file_open(&records->file, rules, path));
        records->bytes = kind->label_count + PIXELS;
        records->count = kind->records;
        store->record_files++;
    }
    return WEFT_OK;
}

static weft_status make_store(
    const cifar_kind *kind, const weft_context *context, const char *folder, wi_image_store *store) {
    size_t files = 0;
    while (kind->files[files]) files++;
    store->count = files * kind->records;
    store->channels = CHANNELS;
    store->height = store->width = SIDE;
    if (!wi_dataset_fits(context, store->count, kind->label_count * sizeof(int32_t) + PIXELS))
        return open_records(kind, &context->files, folder, store);
    store->pixels = wi_allocate_array(store->allocator, store->count, PIXELS);
    return store->pixels ? WEFT_OK : WEFT_ERROR_MEMORY;
}

weft_status weft_dataset_open_cifar(weft_dataset **dataset, weft_context *context, const char *folder,
    weft_cifar which, const weft_image_options *options) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_cifar: dataset is NULL");
    *dataset = NULL;
    if (!context || !folder)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_cifar: context and folder must not be NULL");
    if (which < WEFT_CIFAR_10_TRAIN || which > WEFT_CIFAR_100_TEST)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_cifar: which is %d, not a weft_cifar", (int)which);
    const cifar_kind *const kind = &kinds[which];
    weft_column columns[2] = {{.dtype = WEFT_I32}, {.dtype = WEFT_I32}};
    for (size_t i = 0; i < kind->label_count; i++)
        columns[column_of(kind, i) - 1].name = kind->labels[i].column;
    WI_TRY(check_lengths(kind, folder));
    wi_image_store *store = NULL;
    WI_TRY(wi_image_store_create(&store, context->allocator));
    weft_status status = make_store(kind, context, folder, store);
    if (status == WEFT_OK)
        status = wi_image_dataset_create(dataset, context, store, options, columns, kind->label_count);
    if (status == WEFT_OK) status = fill(kind, folder, store, *dataset);
    wi_image_store_release(store);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}
