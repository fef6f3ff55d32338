/* Files of records as datasets, and datasets as files of records (contract in weft/image_data.h). */
#include "base/options.h"
#include "base/platform.h"
#include "train/image_source.h"
#include "train/packed_file.h"
#include <inttypes.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20 };

/* The number of records or examples that are read or written at once. */
static size_t block_count(size_t bytes) {
    return bytes < BLOCK_BYTES ? BLOCK_BYTES / bytes : 1;
}

/* ---- a source of records ---- */

typedef struct record_source {
    wi_source base; /* must be first: a loader knows only this struct */
    const weft_allocator *allocator;
    wi_packed packed;
} record_source;

static weft_status load_example(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const wi_packed *const packed = &((const record_source *)(const void *)base)->packed;
    unsigned char *record = wi_workspace_take(workspace, 0, wi_records_stride(&packed->records));
    if (!record) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_records_read(&packed->records, example->index, 1, record));
    for (size_t c = 0; c < packed->count; c++) {
        const size_t bytes = wi_column_bytes(&packed->columns[c]);
        memcpy(targets[c], record, bytes);
        record += bytes;
    }
    return WEFT_OK;
}

static void destroy_source(wi_source *base) {
    record_source *const source = (record_source *)(void *)base;
    wi_packed_close(&source->packed);
    wi_release(source->allocator, source);
}

/* Creates a dataset, which then owns the file. */
static weft_status open_columns(
    weft_dataset **dataset, weft_context *context, wi_packed *packed, size_t examples) {
    record_source *const source = wi_allocate(context->allocator, sizeof *source);
    if (!source) return WEFT_ERROR_MEMORY;
    wi_source_init(&source->base, SIZE_MAX, load_example, destroy_source);
    source->allocator = context->allocator;
    source->packed = *packed;
    *packed = (wi_packed){0};
    const weft_status status = wi_dataset_create_from_source(
        dataset, context, &source->base, examples, source->packed.columns, source->packed.count);
    wi_source_release(&source->base); /* the dataset retains it */
    return status;
}

/* ---- a store of images ---- */

/* Fills a store of images, which then owns the file. */
static weft_status fill_store(wi_image_store *store, wi_packed *packed, size_t examples) {
    const weft_column *const image = &packed->columns[0];
    const int64_t *const dims = image->dims;
    const bool last = packed->channels_last;
    const int64_t channels = image->rank == 3 ? dims[last ? 2 : 0] : 0;
    if (image->dtype != WEFT_U8 || channels < 1 || channels > WEFT_MAX_IMAGE_CHANNELS)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s': the option images is set, but the first column, '%s', is not u8 pixels of 1 to %d "
            "channels",
            packed->records.file.path, image->name, WEFT_MAX_IMAGE_CHANNELS);
    store->count = examples;
    store->channels = channels;
    store->height = dims[last ? 0 : 1];
    store->width = dims[last ? 1 : 2];
    store->interleaved = last;
    store->records = wi_arena_take(&store->arena, sizeof *store->records);
    store->others = wi_arena_take(&store->arena, packed->count * sizeof *store->others);
    if (!store->records || !store->others) return WEFT_ERROR_MEMORY;
    for (size_t c = 1; c < packed->count; c++)
        store->others[store->other_count++] = wi_column_bytes(&packed->columns[c]);
    store->records[0] = packed->records;
    store->record_files = 1;
    packed->records = (wi_records){0};
    return WEFT_OK;
}

static weft_status open_images(weft_dataset **dataset, weft_context *context, wi_packed *packed,
    size_t examples, const weft_image_options *options) {
    wi_image_store *store = NULL;
    WI_TRY(wi_image_store_create(&store, context->allocator));
    weft_status status = fill_store(store, packed, examples);
    if (status == WEFT_OK)
        status =
            wi_image_dataset_create(dataset, context, store, options, packed->columns + 1, packed->count - 1);
    wi_image_store_release(store);
    return status;
}

/* ---- damaged records ---- */

typedef struct sound_list {
    size_t *of; /* the indices of sound records */
    size_t count, capacity;
    size_t missing; /* damaged ones, and those that the file is too short for */
} sound_list;

/* Appends the indices of the sound records of a block to the list. */
static weft_status look_at_block(const weft_context *context, const wi_records *records, size_t first,
    size_t count, unsigned char *block, sound_list *list) {
    const size_t stride = wi_records_stride(records);
    WI_TRY(wi_data_file_read(&records->file, wi_records_at(records, first), block, count * stride));
    for (size_t i = 0; i < count; i++) {
        if (wi_records_check(records, first + i, block + i * stride) != WEFT_OK) {
            wi_log_line(&context->log, WEFT_LOG_WARNING, "a record is left out: %s", weft_last_error());
            list->missing++;
            continue;
        }
        WI_TRY(wi_grow(
            context->allocator, (void **)&list->of, &list->capacity, list->count + 1, sizeof *list->of));
        list->of[list->count++] = first + i;
    }
    return WEFT_OK;
}

static weft_status find_sound(const weft_context *context, const wi_records *records, sound_list *list) {
    const size_t stride = wi_records_stride(records), most = block_count(stride);
    unsigned char *const block = wi_allocate_array(context->allocator, most, stride);
    weft_status status = block ? WEFT_OK : WEFT_ERROR_MEMORY;
    for (size_t first = 0; first < records->count && status == WEFT_OK; first += most) {
        const size_t rest = records->count - first;
        status = look_at_block(context, records, first, rest < most ? rest : most, block, list);
    }
    wi_release(context->allocator, block);
    if (status == WEFT_OK && list->count == 0)
        status = wi_fail(
            WEFT_ERROR_FORMAT, "'%s': every record (%zu) is damaged", records->file.path, records->count);
    return status;
}

/* ---- opening ---- */

static weft_status open_packed(weft_dataset **dataset, weft_context *context, wi_packed *packed,
    const weft_records_options *options, sound_list *list) {
    const size_t written = packed->records.count;
    list->missing = packed->missing;
    if (list->missing)
        wi_log_line(&context->log, WEFT_LOG_WARNING, "'%s' is cut: it lacks %zu of its %zu records",
            packed->records.file.path, list->missing, written + list->missing);
    if (options->skip_damaged) WI_TRY(find_sound(context, &packed->records, list));
    const size_t examples = options->skip_damaged ? list->count : written;
    WI_TRY(options->images ? open_images(dataset, context, packed, examples, options->images)
                           : open_columns(dataset, context, packed, examples));
    (*dataset)->skipped = list->missing;
    if (examples < written) {
        (*dataset)->origins = list->of;
        list->of = NULL;
    }
    return WEFT_OK;
}

weft_status weft_dataset_open_records(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_records_options *given) {
    weft_records_options options;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_records: dataset is NULL");
    *dataset = NULL;
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_records: context and path must not be NULL");
    WI_TRY(WI_OPTIONS(&options, given, "weft_dataset_open_records", WEFT_RECORDS_OPTIONS_INIT));
    wi_packed packed;
    sound_list list = {0};
    WI_TRY(wi_packed_open(&packed, &context->files, path, options.skip_damaged));
    const weft_status status = open_packed(dataset, context, &packed, &options, &list);
    wi_release(context->allocator, list.of);
    wi_packed_close(&packed);
    return status;
}

/* ---- saving ---- */

typedef struct packing {
    weft_dataset *dataset;
    const weft_allocator *allocator;
    wi_file_writer *writer;
    size_t batch, record; /* examples in a batch; bytes of a record with its checksum */
    unsigned char *block; /* a batch of records */
} packing;

/* Gathers the columns of an example. */
static void fill_record(const packing *p, const void *const *columns, size_t example, unsigned char *to) {
    const unsigned char *const begin = to;
    for (size_t c = 0; c < p->dataset->count; c++) {
        const size_t bytes = wi_column_bytes(&p->dataset->columns[c]);
        memcpy(to, (const unsigned char *)columns[c] + example * bytes, bytes);
        to += bytes;
    }
    const uint32_t sum = wi_crc32(begin, (size_t)(to - begin));
    for (int i = 0; i < WI_RECORD_CHECKSUM; i++) to[i] = (unsigned char)(sum >> 8 * i & 255u);
}

static weft_status append_batches(packing *p, weft_loader *loader, const void **columns) {
    WI_TRY(weft_loader_begin(loader, 0));
    for (;;) {
        size_t examples = 0;
        WI_TRY(weft_loader_next(loader, &examples, columns));
        if (examples == 0) return WEFT_OK;
        for (size_t i = 0; i < examples; i++) fill_record(p, columns, i, p->block + i * p->record);
        WI_TRY(wi_file_writer_append(p->writer, p->block, examples * p->record));
    }
}

static weft_status append_records(packing *p) {
    weft_loader *loader = NULL;
    const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = p->batch};
    const void **const columns = wi_allocate_array(p->allocator, p->dataset->count, sizeof(const void *));
    p->block = wi_allocate_array(p->allocator, p->batch, p->record);
    weft_status status =
        columns && p->block ? weft_loader_create(&loader, p->dataset, &options) : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = append_batches(p, loader, columns);
    weft_loader_release(loader);
    wi_release(p->allocator, (void *)columns);
    wi_release(p->allocator, p->block);
    return status;
}

static weft_status append_head(packing *p) {
    wi_text text;
    wi_text_init(&text, p->allocator);
    weft_status status = wi_packed_write_head(&text, p->dataset, wi_image_dataset_is_last(p->dataset));
    if (status == WEFT_OK) status = wi_file_writer_append(p->writer, text.data, text.length);
    wi_text_clear(&text);
    return status;
}

weft_status weft_dataset_save_records(weft_dataset *dataset, const char *path) {
    if (!dataset || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_save_records: dataset and path must not be NULL");
    packing p = {.dataset = dataset, .allocator = dataset->context->allocator, .record = WI_RECORD_CHECKSUM};
    for (size_t c = 0; c < dataset->count; c++) p.record += wi_column_bytes(&dataset->columns[c]);
    p.batch = block_count(p.record);
    if (p.batch > dataset->examples) p.batch = dataset->examples;
    WI_TRY(wi_file_writer_begin(&p.writer, p.allocator, path));
    weft_status status = append_head(&p);
    if (status == WEFT_OK) status = append_records(&p);
    if (status == WEFT_OK) return wi_file_writer_commit(p.writer);
    wi_file_writer_abandon(p.writer);
    return status;
}
