/* Datasets of images (contract in image_source.h and weft/image_data.h). */
#include "train/image_source.h"
#include "graph/origin.h"
#include "io/image_file.h"
#include "train/image_mix.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weft/ops.h>

enum { PATH_CAPACITY = 4096, MAX_LABELS = 2 };

typedef struct image_source {
    wi_source base; /* first, as a loader knows only this struct */
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
    wi_release(store->allocator, store->pixels);
    wi_release(store->allocator, store->files);
    wi_arena_clear(&store->arena);
    wi_release(store->allocator, store);
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

static weft_status make_example(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const image_source *const source = (const image_source *)(const void *)base;
    const wi_image_store *const store = source->store;
    const size_t bytes = (size_t)(store->channels * store->height * store->width);
    wi_image_view view = {0};
    char name[PATH_CAPACITY];
    name_of(store, example->index, name);
    if (store->files)
        WI_TRY(read_picture(name, &source->pipeline, workspace, &view));
    else
        view = wi_view_of(store->pixels + example->index * bytes, store->channels, store->height,
            store->width, store->interleaved);
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
    atomic_init(&made->base.references, 1);
    made->base.made = 1;
    made->base.make = make_example;
    made->base.destroy = destroy_source;
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

/* Adds the column "target" after `count` other columns, if the option asks for it. */
static weft_status add_target(weft_column *columns, size_t *count, const wi_image_pipeline *pipeline) {
    if (pipeline->targets == 0) return WEFT_OK;
    if (*count < 2)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "images: the option targets needs labels, which the dataset does not have");
    columns[(*count)++] =
        (weft_column){.name = "target", .dtype = WEFT_F32, .rank = 1, .dims = {pipeline->targets}};
    return WEFT_OK;
}

weft_status wi_image_dataset_create(weft_dataset **dataset, weft_context *context, wi_image_store *store,
    const weft_image_options *options, const char *const *labels, size_t label_count) {
    image_source *source = NULL;
    WI_TRY(make_source(&source, store, options));
    const weft_encoding pixels = wi_pipeline_encoding(&source->pipeline);
    weft_column columns[2 + MAX_LABELS] = {wi_pipeline_column(&source->pipeline)};
    size_t count = 1;
    columns[0].encoding = &pixels;
    for (size_t i = 0; i < label_count; i++)
        columns[count++] = (weft_column){.name = labels[i], .dtype = WEFT_I32};
    weft_status status = add_target(columns, &count, &source->pipeline);
    if (status == WEFT_OK)
        status = wi_dataset_create_made(dataset, context, &source->base, store->count, columns, count);
    wi_source_release(&source->base); /* the dataset retains it */
    return status;
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
    static const char *const label[] = {"label"};
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_images: dataset is NULL");
    *dataset = NULL;
    if (!context || !images)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_images: context and images must not be NULL");
    WI_TRY(check_block(images));
    wi_image_store *store = NULL;
    WI_TRY(wi_image_store_create(&store, context->allocator));
    weft_status status = copy_block(store, images);
    if (status == WEFT_OK)
        status = wi_image_dataset_create(dataset, context, store, options, label, images->labels ? 1 : 0);
    wi_image_store_release(store);
    if (status == WEFT_OK && images->labels)
        memcpy(wi_dataset_data(*dataset, 1), images->labels, images->examples * sizeof *images->labels);
    return status;
}

/* Copies the columns in memory, and the origins of the examples. */
static weft_status copy_rest(weft_dataset *dataset, const weft_dataset *from) {
    dataset->skipped = from->skipped;
    if (from->origins) {
        const size_t bytes = from->examples * sizeof *from->origins;
        dataset->origins = wi_allocate(from->context->allocator, bytes);
        if (!dataset->origins) return WEFT_ERROR_MEMORY;
        memcpy(dataset->origins, from->origins, bytes);
    }
    for (size_t c = 1; c < from->count && !wi_column_is_made(from, c); c++)
        memcpy(wi_dataset_data(dataset, c), from->columns[c].data,
            from->examples * wi_column_bytes(&from->columns[c]));
    return WEFT_OK;
}

static weft_status create_like(weft_dataset **dataset, const weft_dataset *from, image_source *source) {
    const weft_encoding pixels = wi_pipeline_encoding(&source->pipeline);
    weft_column columns[2 + MAX_LABELS] = {wi_pipeline_column(&source->pipeline)};
    size_t count = 1;
    columns[0].encoding = &pixels;
    for (; count < from->count && !wi_column_is_made(from, count); count++)
        columns[count] = from->columns[count];
    WI_TRY(add_target(columns, &count, &source->pipeline));
    WI_TRY(wi_dataset_create_made(dataset, from->context, &source->base, from->examples, columns, count));
    const weft_status status = copy_rest(*dataset, from);
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
    if (!images->source || images->source->make != make_example)
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
