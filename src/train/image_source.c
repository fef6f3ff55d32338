/* Datasets of images (contract in image_source.h and weft/image_data.h). */
#include "train/image_source.h"
#include "graph/origin.h"
#include "io/image_file.h"
#include "train/image_mix.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weft/ops.h>

enum { PATH_CAPACITY = 4096 };

typedef struct image_source {
    wi_source base; /* must be first: a loader knows only this struct */
    wi_image_store *store;
    wi_image_pipeline pipeline;
} image_source;

/* ---- the store ---- */

weft_status wi_image_store_create(wi_image_store **store, const weft_allocator *allocator) {
    wi_image_store *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    atomic_init(&made->references, 1);
    made->allocator = allocator;
    made->channels = 3;
    wi_arena_init(&made->arena, allocator);
    *store = made;
    return WEFT_OK;
}

static wi_image_store *retain_store(wi_image_store *store) {
    atomic_fetch_add(&store->references, 1);
    return store;
}

void wi_image_store_release(wi_image_store *store) {
    if (!store || atomic_fetch_sub(&store->references, 1) != 1) return;
    for (size_t i = 0; i < store->record_files; i++) wi_data_file_close(&store->records[i].file);
    wi_release(store->allocator, store->pixels);
    wi_release(store->allocator, store->files);
    wi_arena_clear(&store->arena);
    wi_release(store->allocator, store);
}

size_t wi_image_store_pixels(const wi_image_store *store) {
    return (size_t)(store->channels * store->height * store->width);
}

/* Writes a name for the image: its path if the images are files; otherwise its number, for errors. */
static void name_of(const wi_image_store *store, size_t index, char name[PATH_CAPACITY]) {
    if (store->files)
        snprintf(name, PATH_CAPACITY, "%s/%s", store->files[index].directory, store->files[index].name);
    else
        snprintf(name, PATH_CAPACITY, "image %zu", index);
}

/* Decodes a file into block WI_BLOCK_PICTURE of the workspace, whose memory is reused for each image. */
static weft_status read_picture(
    const char *path, const wi_image_pipeline *pipeline, wi_workspace *workspace, wi_image_view *view) {
    wi_picture picture = {.allocator = workspace->allocator,
        .pixels = workspace->blocks[WI_BLOCK_PICTURE],
        .capacity = workspace->capacities[WI_BLOCK_PICTURE]};
    const weft_status status = wi_picture_read(&picture, path, pipeline->max_pixels);
    workspace->blocks[WI_BLOCK_PICTURE] = picture.pixels;
    workspace->capacities[WI_BLOCK_PICTURE] = picture.capacity;
    *view = wi_view_of(picture.pixels, 3, picture.height, picture.width, true);
    if (pipeline->exif_orientation) wi_view_orient(view, picture.orientation);
    return status;
}

weft_status wi_image_store_read(const wi_image_store *store, size_t index, const wi_image_pipeline *pipeline,
    wi_workspace *workspace, wi_image_view *view) {
    char path[PATH_CAPACITY];
    name_of(store, index, path);
    return read_picture(path, pipeline, workspace, view);
}

/* ---- the source ---- */

/* *record: the record of an image, in block WI_BLOCK_PICTURE of the workspace. */
static weft_status read_record(
    const wi_image_store *store, size_t index, wi_workspace *workspace, unsigned char **record) {
    const wi_records *records = store->records;
    while (index >= records->count) index -= records++->count;
    *record = wi_workspace_take(workspace, WI_BLOCK_PICTURE, wi_records_stride(records));
    return *record ? wi_records_read(records, index, 1, *record) : WEFT_ERROR_MEMORY;
}

/* *pixels: of an image that is not a file. The source writes the columns that are in its record. */
static weft_status find_pixels(const wi_image_store *store, size_t index, wi_workspace *workspace,
    void *const *targets, const unsigned char **pixels) {
    unsigned char *record = NULL;
    const size_t bytes = wi_image_store_pixels(store);
    if (!store->records) {
        *pixels = store->pixels + index * bytes;
        return WEFT_OK;
    }
    WI_TRY(read_record(store, index, workspace, &record));
    *pixels = record + store->labels_first;
    const unsigned char *from = *pixels + bytes;
    for (size_t i = 0; i < store->other_count; from += store->others[i++])
        memcpy(targets[i + 1], from, store->others[i]);
    return WEFT_OK;
}

static weft_status load_example(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const image_source *const source = (const image_source *)(const void *)base;
    const wi_image_store *const store = source->store;
    wi_image_view view = {0};
    char name[PATH_CAPACITY];
    name_of(store, example->index, name);
    if (store->files)
        WI_TRY(read_picture(name, &source->pipeline, workspace, &view));
    else {
        const unsigned char *pixels = NULL;
        WI_TRY(find_pixels(store, example->index, workspace, targets, &pixels));
        view = wi_view_of(pixels, store->channels, store->height, store->width, store->interleaved);
    }
    return wi_pipeline_run(&source->pipeline, view, store->channels, name, example, workspace, targets[0]);
}

static weft_status finish_batch(const wi_source *base, const wi_batch *batch, wi_workspace *workspace) {
    const image_source *const source = (const image_source *)(const void *)base;
    return wi_batch_mix(&source->pipeline, batch, workspace);
}

static void destroy_source(wi_source *base) {
    image_source *const source = (image_source *)(void *)base;
    const weft_allocator *const allocator = source->store->allocator;
    wi_image_store_release(source->store);
    wi_release(allocator, source);
}

/* Sets the size of the results. If the transforms do not determine the size, it is the size of the first result. */
static weft_status find_size(image_source *source) {
    const wi_image_store *const store = source->store;
    int64_t height = 0, width = 0;
    bool any = false;
    wi_pipeline_size(&source->pipeline, &height, &width, &any);
    if (!any) {
        height = store->height;
        width = store->width;
        if (store->files) {
            wi_workspace workspace = {.allocator = store->allocator};
            wi_image_view view = {0};
            const weft_status status = wi_image_store_read(store, 0, &source->pipeline, &workspace, &view);
            wi_workspace_clear(&workspace);
            WI_TRY(status);
            height = view.height;
            width = view.width;
        }
        wi_pipeline_size(&source->pipeline, &height, &width, &any);
    }
    source->pipeline.height = height;
    source->pipeline.width = width;
    return WEFT_OK;
}

static weft_status make_source(
    image_source **source, wi_image_store *store, const weft_image_options *options) {
    image_source *const made = wi_allocate(store->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    wi_source_init(&made->base, 1 + store->other_count, load_example, destroy_source);
    made->store = retain_store(store);
    weft_status status = wi_pipeline_init(&made->pipeline, options, store->channels);
    if (status == WEFT_OK) status = find_size(made);
    if (made->pipeline.targets > 0) made->base.finish = finish_batch;
    if (status != WEFT_OK) {
        wi_source_release(&made->base);
        return status;
    }
    *source = made;
    return WEFT_OK;
}

/* ---- datasets ---- */

/* The columns of a dataset: the image, `count` other ones, and the targets, if the option asks for them. *columns is to be
 * released; *total: their number. */
static weft_status list_columns(weft_column **columns, size_t *total, const image_source *source,
    const weft_column *others, size_t count) {
    const int64_t targets = source->pipeline.targets;
    if (targets && (count == 0 || others[0].dtype != WEFT_I32 || others[0].rank != 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: the option targets needs labels, which the dataset does not have: an i32 column after "
            "the image");
    weft_column *const list = wi_allocate_array(source->store->allocator, count + 2, sizeof *list);
    if (!list) return WEFT_ERROR_MEMORY;
    list[0] = wi_pipeline_column(&source->pipeline);
    if (count) memcpy(list + 1, others, count * sizeof *others);
    if (targets)
        list[count + 1] = (weft_column){.name = "target", .dtype = WEFT_F32, .rank = 1, .dims = {targets}};
    *columns = list;
    *total = count + 1 + (targets != 0);
    return WEFT_OK;
}

static weft_status create_dataset(weft_dataset **dataset, weft_context *context, image_source *source,
    size_t examples, const weft_column *others, size_t count) {
    const weft_encoding pixels = wi_pipeline_encoding(&source->pipeline);
    weft_column *columns = NULL;
    size_t total = 0;
    WI_TRY(list_columns(&columns, &total, source, others, count));
    columns[0].encoding = &pixels;
    const weft_status status =
        wi_dataset_create_from_source(dataset, context, &source->base, examples, columns, total);
    wi_release(source->store->allocator, columns);
    return status;
}

weft_status wi_image_dataset_create(weft_dataset **dataset, weft_context *context, wi_image_store *store,
    const weft_image_options *options, const weft_column *others, size_t count) {
    image_source *source = NULL;
    WI_TRY(make_source(&source, store, options));
    const weft_status status = create_dataset(dataset, context, source, store->count, others, count);
    wi_source_release(&source->base); /* the dataset retains it */
    return status;
}

bool wi_image_dataset_is_last(const weft_dataset *dataset) {
    const wi_source *const source = dataset->source;
    return source && source->load == load_example &&
           ((const image_source *)(const void *)source)->pipeline.channels_last;
}

static weft_status check_block(const weft_image_block *images) {
    const int64_t c = images->channels, h = images->height, w = images->width;
    if (c < 1 || c > WEFT_MAX_IMAGE_CHANNELS || h < 1 || w < 1)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "weft_dataset_from_images: the images have %" PRId64 " channels of %" PRId64 " x %" PRId64
            " pixels, expected 1 to %d channels and sides of 1 or more",
            c, h, w, WEFT_MAX_IMAGE_CHANNELS);
    if (h > INT32_MAX || w > INT32_MAX || images->examples > PTRDIFF_MAX / (size_t)(h * w) / (size_t)c)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "weft_dataset_from_images: %zu images of %" PRId64 " x %" PRId64 " x %" PRId64
            " bytes are more than memory can address",
            images->examples, c, h, w);
    if (images->layout != WEFT_CHANNELS_FIRST && images->layout != WEFT_CHANNELS_LAST)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_from_images: layout is %d, which is not a weft_image_layout", (int)images->layout);
    if (images->examples == 0 || !images->pixels)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_from_images: examples is %zu and pixels is %s, expected 1 or more images and their "
            "pixels",
            images->examples, images->pixels ? "given" : "NULL");
    return WEFT_OK;
}

static weft_status copy_block(wi_image_store *store, const weft_image_block *images) {
    const size_t bytes = (size_t)(images->channels * images->height * images->width);
    store->pixels = wi_allocate_array(store->allocator, images->examples, bytes);
    if (!store->pixels) return WEFT_ERROR_MEMORY;
    memcpy(store->pixels, images->pixels, images->examples * bytes);
    store->count = images->examples;
    store->channels = images->channels;
    store->height = images->height;
    store->width = images->width;
    store->interleaved = images->layout == WEFT_CHANNELS_LAST;
    return WEFT_OK;
}

weft_status weft_dataset_from_images(weft_dataset **dataset, weft_context *context,
    const weft_image_block *images, const weft_image_options *options) {
    static const weft_column label = {.name = "label", .dtype = WEFT_I32};
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_images: dataset is NULL");
    *dataset = NULL;
    if (!context || !images)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_images: context and images must not be NULL");
    WI_TRY(check_block(images));
    wi_image_store *store = NULL;
    WI_TRY(wi_image_store_create(&store, context->allocator));
    weft_status status = copy_block(store, images);
    if (status == WEFT_OK)
        status = wi_image_dataset_create(dataset, context, store, options, &label, images->labels ? 1 : 0);
    wi_image_store_release(store);
    if (status == WEFT_OK && images->labels)
        memcpy(wi_dataset_data(*dataset, 1), images->labels, images->examples * sizeof *images->labels);
    return status;
}

/* Copies the columns in memory, and the origins of the examples. columns: without the targets. */
static weft_status copy_rest(weft_dataset *dataset, const weft_dataset *from, size_t columns) {
    dataset->skipped = from->skipped;
    if (from->origins) {
        const size_t bytes = from->examples * sizeof *from->origins;
        dataset->origins = wi_allocate(from->context->allocator, bytes);
        if (!dataset->origins) return WEFT_ERROR_MEMORY;
        memcpy(dataset->origins, from->origins, bytes);
    }
    for (size_t c = 1; c < columns; c++)
        if (!wi_column_is_computed(from, c))
            memcpy(wi_dataset_data(dataset, c), from->columns[c].data,
                from->examples * wi_column_bytes(&from->columns[c]));
    return WEFT_OK;
}

static weft_status create_like(weft_dataset **dataset, const weft_dataset *from, image_source *source) {
    const size_t columns = from->count - (from->source->finish ? 1 : 0);
    WI_TRY(create_dataset(dataset, from->context, source, from->examples, from->columns + 1, columns - 1));
    const weft_status status = copy_rest(*dataset, from, columns);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}

weft_status weft_dataset_with_image_options(
    weft_dataset **dataset, const weft_dataset *images, const weft_image_options *options) {
    if (!dataset || !images)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_with_image_options: dataset and images must not be NULL");
    *dataset = NULL;
    if (!images->source || images->source->load != load_example)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_with_image_options: the dataset is not one of images");
    image_source *source = NULL;
    WI_TRY(make_source(&source, ((image_source *)(void *)images->source)->store, options));
    const weft_status status = create_like(dataset, images, source);
    wi_source_release(&source->base);
    return status;
}

size_t weft_dataset_skipped(const weft_dataset *dataset) {
    return dataset ? dataset->skipped : 0;
}

weft_status weft_dataset_file(
    const weft_dataset *dataset, size_t example, char *buffer, size_t capacity, size_t *length) {
    if (!dataset || (!buffer && capacity > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_file: dataset, and buffer unless capacity is 0, must not be NULL");
    if (example >= dataset->examples)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_file: example is %zu, but the dataset has %zu examples",
            example, dataset->examples);
    const bool of_images = dataset->source && dataset->source->load == load_example;
    const wi_image_file *const files =
        of_images ? ((image_source *)(void *)dataset->source)->store->files : NULL;
    if (!files)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_file: the dataset is not one of weft_dataset_open_image_folder");
    const wi_image_file *const file = &files[dataset->origins ? dataset->origins[example] : example];
    const int written = snprintf(buffer, capacity, "%s/%s", file->directory, file->name);
    if (length) *length = (size_t)written;
    return WEFT_OK;
}

/* ---- one image ---- */

static weft_status load(
    wi_image_pipeline *pipeline, const char *path, wi_workspace *workspace, void *data, size_t bytes) {
    wi_image_view view = {0};
    bool any = false;
    WI_TRY(read_picture(path, pipeline, workspace, &view));
    int64_t height = view.height, width = view.width;
    wi_pipeline_size(pipeline, &height, &width, &any);
    pipeline->height = height;
    pipeline->width = width;
    if (wi_pipeline_bytes(pipeline) != bytes)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "weft_load_image: '%s' gives %" PRId64 " channels of %" PRId64 " x %" PRId64
            " pixels, %zu bytes, but data has %zu bytes",
            path, pipeline->channels, height, width, wi_pipeline_bytes(pipeline), bytes);
    return wi_pipeline_run(pipeline, view, 3, path, &(wi_example){0}, workspace, data);
}

weft_status weft_load_image(
    weft_context *context, const char *path, const weft_image_options *options, void *data, size_t bytes) {
    if (!context || !path || !data)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_load_image: context, path and data must not be NULL");
    wi_workspace workspace = {.allocator = context->allocator};
    wi_image_pipeline *const pipeline = wi_allocate(context->allocator, sizeof *pipeline);
    if (!pipeline) return WEFT_ERROR_MEMORY;
    weft_status status = wi_pipeline_init(pipeline, options, 3);
    if (status == WEFT_OK) status = load(pipeline, path, &workspace, data, bytes);
    wi_workspace_clear(&workspace);
    wi_release(context->allocator, pipeline);
    return status;
}

weft_tensor *weft_image_input(
    weft_graph *graph, const char *name, int64_t channels, int64_t height, int64_t width) {
    return WI_CALL_IN(graph, "weft_image_input",
        weft_permute(weft_input(graph, name, WEFT_F32, height, width, channels), 0, 3, 1, 2));
}
