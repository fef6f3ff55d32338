/* weft_find_mistakes: predicts all examples of a dataset, batch by batch, in their order. */
#include "graph/weft_graph.h"
#include "train/mistakes.h"
#include "train/recode.h"
#include <inttypes.h>
#include <string.h>

enum { BATCH = 64, MAX_COLUMNS = 32, PICTURE_SIDE = 256, ENLARGED_SIDE = 96, PICTURES_IN_ROW = 6 };

typedef struct search {
    const weft_allocator *allocator;
    weft_tensor *logits;
    const char *labels;
    size_t label_column;
    wi_feed feed;
    weft_dataset *dataset; /* with the graph's numbers of categories; retained */
    wi_mistakes *mistakes;
    weft_loader *loader;
    float *outputs; /* of a batch */
} search;

static size_t width_of(const search *s) {
    return (size_t)weft_tensor_dimension(s->logits, 1);
}

static weft_status check(const search *s, const weft_dataset *dataset) {
    const bool is_f32 = weft_tensor_dtype(s->logits) == WEFT_F32;
    if (!is_f32 || weft_tensor_rank(s->logits) != 2 || weft_tensor_dimension(s->logits, 1) < 1 ||
        weft_tensor_dimension(s->logits, 1) > WI_MISTAKES_CLASSES)
        WI_FAIL(is_f32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE,
            "weft_find_mistakes: logits must be f32 (batch, classes) with 1 to %d classes",
            WI_MISTAKES_CLASSES);
    if (dataset->count > MAX_COLUMNS)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_find_mistakes: the dataset has %zu columns, expected at most %d",
            dataset->count, MAX_COLUMNS);
    if (s->label_column == SIZE_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_find_mistakes: the dataset has no column '%s'", s->labels);
    const weft_column *const labels = &dataset->columns[s->label_column];
    if (labels->dtype != WEFT_I32 || labels->rank != 0)
        WI_FAIL(WEFT_ERROR_DTYPE, "weft_find_mistakes: column '%s' is not one i32 per example", s->labels);
    return WEFT_OK;
}

static weft_status prepare(search *s, weft_dataset *given, const char *picture) {
    const weft_loader_options batches = {WEFT_LOADER_OPTIONS_INIT, .batch = BATCH};
    bool used[MAX_COLUMNS] = {false};
    WI_TRY(check(s, given));
    WI_TRY(wi_feed_collect(&s->feed, s->allocator, &s->logits, 1));
    WI_TRY(wi_feed_bind(&s->feed, given->columns, given->count));
    for (size_t i = 0; i < s->feed.count; i++) used[s->feed.inputs[i].column] = true;
    used[s->label_column] = true;
    WI_TRY(wi_dataset_recode(&s->dataset, given, s->logits->graph, used));
    WI_TRY(wi_mistakes_create(&s->mistakes, s->allocator, width_of(s), picture ? PICTURE_SIDE : 0));
    WI_TRY(wi_mistakes_begin(s->mistakes, &s->feed, s->dataset));
    if (picture && !s->mistakes->pixels)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_find_mistakes: no input has images, which '%s' would show", picture);
    WI_TRY(weft_loader_create(&s->loader, s->dataset, &batches));
    s->outputs = wi_allocate_array(s->allocator, BATCH * width_of(s), sizeof *s->outputs);
    return s->outputs ? weft_loader_begin(s->loader, 0) : WEFT_ERROR_MEMORY;
}

static weft_status predict(search *s, const void *const *columns, size_t count) {
    weft_column inputs[MAX_COLUMNS];
    for (size_t i = 0; i < s->feed.count; i++) {
        const size_t c = s->feed.inputs[i].column;
        inputs[i] = s->dataset->columns[c];
        inputs[i].data = columns[c];
    }
    const int32_t *const labels = columns[s->label_column];
    const wi_metric_rows rows = {.rows = count, .outputs = s->outputs, .labels = labels};
    for (size_t i = 0; i < count; i++)
        if (labels[i] >= 0 && (size_t)labels[i] >= s->mistakes->found.classes)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_find_mistakes: example %zu has the label %" PRId32
                ", expected one below %zu, the number of classes",
                s->mistakes->seen + i, labels[i], s->mistakes->found.classes);
    WI_TRY(weft_predict(
        s->logits, count, inputs, s->feed.count, s->outputs, count * width_of(s) * sizeof *s->outputs));
    wi_mistakes_add(s->mistakes, &rows, columns);
    return WEFT_OK;
}

static weft_status predict_all(search *s) {
    for (size_t count = 1; count;) {
        const void *columns[MAX_COLUMNS];
        WI_TRY(weft_loader_next(s->loader, &count, columns));
        if (count) WI_TRY(predict(s, columns, count));
    }
    return WEFT_OK;
}

static weft_status save(const search *s, const char *path) {
    const wi_event_mistakes *const found = &s->mistakes->found;
    const size_t bytes = (size_t)(found->height * found->width * found->channels);
    const int64_t zoom = (ENLARGED_SIDE + found->height / 2) / found->height;
    const weft_png_options options = {WEFT_PNG_OPTIONS_INIT, .dtype = WEFT_U8, .images = found->count,
        .channels = found->channels, .height = found->height, .width = found->width, .channels_last = true,
        .columns = PICTURES_IN_ROW, .zoom = zoom > 1 ? zoom : 1};
    unsigned char *const pixels = wi_allocate_array(s->allocator, found->count, bytes);
    if (!pixels) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < found->count; i++) memcpy(pixels + i * bytes, found->worst[i].pixels, bytes);
    const weft_status status = weft_image_save_png(path, pixels, &options);
    wi_release(s->allocator, pixels);
    return status;
}

static void copy_found(weft_mistakes *to, const wi_event_mistakes *found) {
    to->examples = found->rows;
    to->wrong = found->wrong;
    to->count = found->count;
    for (size_t i = 0; i < found->count; i++) {
        const wi_event_mistake *const one = &found->worst[i];
        to->worst[i] = (weft_mistake){one->index, one->label, one->predicted, one->probability, one->loss};
    }
}

static weft_status find(weft_mistakes *found, weft_tensor *logits, weft_dataset *dataset, const char *labels,
    const char *picture) {
    search s = {.allocator = logits->graph->context->allocator, .logits = logits, .labels = labels};
    s.label_column = wi_dataset_find(dataset, labels);
    weft_status status = prepare(&s, dataset, picture);
    if (status == WEFT_OK) status = predict_all(&s);
    if (status == WEFT_OK && picture && s.mistakes->found.count) status = save(&s, picture);
    if (status == WEFT_OK) copy_found(found, &s.mistakes->found);
    wi_release(s.allocator, s.outputs);
    weft_loader_release(s.loader);
    wi_mistakes_free(s.mistakes);
    weft_dataset_release(s.dataset);
    wi_feed_clear(&s.feed);
    return status;
}

weft_status weft_find_mistakes(weft_mistakes *found, weft_tensor *logits, weft_dataset *dataset,
    const char *labels, const char *picture) {
    if (!found) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_find_mistakes: found is NULL");
    *found = (weft_mistakes){0};
    if (!logits) return wi_fail_null("weft_find_mistakes", "logits");
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_find_mistakes: dataset is NULL");
    WI_TRY(weft_graph_status(logits->graph));
    return find(found, logits, dataset, labels ? labels : "label", picture);
}
