/* Text as parallel streams of tokens (contract in weft/text.h). Example s · streams + t is sequence s of stream t, so
 * that each batch of `streams` examples, read in order, continues the sequences of the batch before. */
#include "base/options.h"
#include "train/dataset.h"
#include "train/vocabulary.h"
#include <string.h>

static weft_status read_options(
    const char *call, weft_text_options *options, const weft_text_options *given) {
    WI_TRY(WI_OPTIONS(options, given, call, WEFT_TEXT_OPTIONS_INIT));
    if (options->streams > INT32_MAX || options->steps > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: streams is %zu and steps is %zu, expected at most %d for each",
            call, options->streams, options->steps, INT32_MAX);
    return WEFT_OK;
}

static void fill(
    weft_dataset *dataset, const int32_t *tokens, size_t sequences, size_t streams, size_t steps) {
    int32_t *seen = wi_dataset_data(dataset, 0), *next = wi_dataset_data(dataset, 1);
    float *carry = wi_dataset_data(dataset, 2);
    for (size_t w = 0; w < sequences; w++) {
        for (size_t s = 0; s < streams; s++) {
            const int32_t *const from = tokens + s * sequences * steps + w * steps;
            memcpy(seen, from, steps * sizeof *seen);
            memcpy(next, from + 1, steps * sizeof *next);
            *carry++ = w ? 1.0f : 0.0f;
            seen += steps;
            next += steps;
        }
    }
}

static weft_status name_tokens(weft_dataset *dataset, const weft_vocabulary *vocabulary) {
    const weft_allocator *const allocator = dataset->context->allocator;
    const char **const texts = wi_allocate_array(allocator, vocabulary->count, sizeof *texts);
    if (!texts) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < vocabulary->count; i++) texts[i] = vocabulary->tokens[i].text;
    const weft_status status = wi_dataset_set_categories(dataset, 0, texts, vocabulary->count);
    dataset->columns[1].encoding = dataset->columns[0].encoding;
    wi_release(allocator, texts);
    return status;
}

/* The division of a text. */
typedef struct layout {
    size_t streams, steps, sequences; /* sequences: of each stream */
} layout;

static weft_status divide(layout *l, const char *name, size_t count, const weft_text_options *options) {
    l->streams = options->streams ? options->streams : 32;
    l->steps = options->steps ? options->steps : 32;
    l->sequences = count ? (count - 1) / l->steps / l->streams : 0;
    if (l->sequences > 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "%s: the number of tokens is %zu, but %zu streams x %zu steps need %zu", name,
        count, l->streams, l->steps, l->streams * l->steps + 1);
}

/* source NULL: the columns are in memory. */
static weft_status create(weft_dataset **dataset, weft_context *context, wi_source *source, const layout *l) {
    const int64_t steps = (int64_t)l->steps;
    const weft_column columns[] = {{.name = "tokens", .dtype = WEFT_I32, .rank = 1, .dims = {steps}},
        {.name = "next", .dtype = WEFT_I32, .rank = 1, .dims = {steps}},
        {.name = "carry", .dtype = WEFT_F32}};
    return wi_dataset_create_from_source(dataset, context, source, l->sequences * l->streams, columns, 3);
}

static weft_status build(weft_dataset **dataset, weft_context *context, const char *name,
    const int32_t *tokens, size_t count, const weft_text_options *options) {
    layout l;
    WI_TRY(divide(&l, name, count, options));
    WI_TRY(create(dataset, context, NULL, &l));
    fill(*dataset, tokens, l.sequences, l.streams, l.steps);
    return WEFT_OK;
}

/* ---- a source that encodes each sequence when it is needed ---- */

enum { BLOCK_WINDOW, READ_STEP = 4096 };

typedef struct text_source {
    wi_source base; /* first, as a loader knows only this struct */
    const weft_allocator *allocator;
    wi_data_file file;
    char name[512];
    wi_text_source text;
    weft_vocabulary *vocabulary;
    layout layout;
    uint64_t *offsets; /* offsets in the text of tokens 0, steps, 2 · steps, ... */
    size_t offset_count, capacity;
    size_t tokens; /* in the text */
} text_source;

static weft_status encode_sequence(
    const text_source *source, wi_text_walk *walk, int32_t *tokens, int32_t *next) {
    const size_t steps = source->layout.steps;
    for (size_t i = 0; i <= steps; i++) {
        int32_t number = 0;
        bool more = false;
        WI_TRY(wi_text_next_number(walk, source->vocabulary, &number, &more));
        if (!more) WI_FAIL(WEFT_ERROR_FORMAT, "%s has changed: it has fewer tokens", source->name);
        if (i < steps) tokens[i] = number;
        if (i > 0) next[i - 1] = number;
    }
    return WEFT_OK;
}

static weft_status load_example(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const text_source *const source = (const text_source *)(const void *)base;
    const layout *const l = &source->layout;
    const size_t sequence = example->index / l->streams, stream = example->index % l->streams;
    wi_text_walk walk = wi_text_walk_begin(source->vocabulary->level, &source->text);
    walk.at = source->offsets[stream * l->sequences + sequence];
    walk.step = READ_STEP;
    walk.window.bytes = workspace->blocks[BLOCK_WINDOW];
    walk.window.capacity = workspace->capacities[BLOCK_WINDOW];
    const weft_status status = encode_sequence(source, &walk, targets[0], targets[1]);
    workspace->blocks[BLOCK_WINDOW] = walk.window.bytes;
    workspace->capacities[BLOCK_WINDOW] = walk.window.capacity;
    *(float *)targets[2] = sequence ? 1.0f : 0.0f;
    return status;
}

static void destroy_source(wi_source *base) {
    text_source *const source = (text_source *)(void *)base;
    const weft_allocator *const allocator = source->allocator;
    wi_data_file_close(&source->file);
    wi_release(allocator, source->offsets);
    weft_vocabulary_release(source->vocabulary);
    wi_release(allocator, source);
}

static weft_status create_source(
    text_source **source, weft_context *context, const char *path, const weft_vocabulary *vocabulary) {
    text_source *const made = wi_allocate(context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    wi_source_init(&made->base, SIZE_MAX, load_example, destroy_source);
    made->allocator = context->allocator;
    made->vocabulary = weft_vocabulary_retain((weft_vocabulary *)(uintptr_t)vocabulary);
    *source = made;
    return wi_text_open(&made->text, &made->file, made->name, context, path);
}

/* Counts the tokens, and records the offsets at which sequences begin. */
static weft_status index_tokens(text_source *source, wi_text_walk *walk, size_t steps) {
    for (bool more = true;;) {
        int32_t number = 0;
        WI_TRY(wi_text_next_number(walk, source->vocabulary, &number, &more));
        if (!more) return WEFT_OK;
        if (source->tokens++ % steps) continue;
        WI_TRY(wi_grow(source->allocator, (void **)&source->offsets, &source->capacity,
            source->offset_count + 1, sizeof *source->offsets));
        source->offsets[source->offset_count++] = walk->begin;
    }
}

/* Reads the whole text once. */
static weft_status look_at_text(text_source *source, const weft_text_options *options) {
    const weft_text_level level = source->vocabulary->level;
    WI_TRY(wi_text_check(level, &source->text));
    wi_text_walk walk = wi_text_walk_begin(level, &source->text);
    const weft_status status = index_tokens(source, &walk, options->steps ? options->steps : 32);
    wi_text_walk_clear(&walk);
    return status == WEFT_OK ? divide(&source->layout, source->name, source->tokens, options) : status;
}

static weft_status load(weft_dataset **dataset, weft_context *context, const text_source *source,
    const weft_text_options *options) {
    int32_t *tokens = NULL;
    size_t count = 0;
    WI_TRY(wi_encode_all(source->vocabulary, &source->text, &tokens, &count));
    const weft_status status = build(dataset, context, source->name, tokens, count, options);
    wi_release(source->vocabulary->context->allocator, tokens);
    return status;
}

/* The text is indexed unless it fits into memory however many tokens it has. */
static weft_status open_source(
    weft_dataset **dataset, weft_context *context, text_source *source, const weft_text_options *options) {
    enum { TOKEN_BYTES = 2 * sizeof(int32_t) }; /* each is in two columns */
    if (!wi_dataset_fits(context, source->file.bytes, TOKEN_BYTES + sizeof(float))) {
        WI_TRY(look_at_text(source, options));
        const layout *const l = &source->layout;
        if (!wi_dataset_fits(context, l->streams * l->sequences, l->steps * TOKEN_BYTES + sizeof(float)))
            return create(dataset, context, &source->base, l);
    }
    return load(dataset, context, source, options);
}

weft_status weft_dataset_from_tokens(weft_dataset **dataset, weft_context *context, const int32_t *tokens,
    size_t count, const weft_text_options *given) {
    weft_text_options options;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_tokens: dataset is NULL");
    *dataset = NULL;
    if (!context || !tokens)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_tokens: context and tokens must not be NULL");
    WI_TRY(read_options("weft_dataset_from_tokens", &options, given));
    return build(dataset, context, "weft_dataset_from_tokens", tokens, count, &options);
}

weft_status weft_dataset_open_text(weft_dataset **dataset, weft_context *context, const char *path,
    const weft_vocabulary *vocabulary, const weft_text_options *given) {
    weft_text_options options;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_text: dataset is NULL");
    *dataset = NULL;
    if (!context || !path || !vocabulary)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_text: context, path and vocabulary must not be NULL");
    WI_TRY(read_options("weft_dataset_open_text", &options, given));
    text_source *source = NULL;
    weft_status status = create_source(&source, context, path, vocabulary);
    if (status == WEFT_OK) status = open_source(dataset, context, source, &options);
    if (source) wi_source_release(&source->base); /* the dataset retains it */
    if (status == WEFT_OK) status = name_tokens(*dataset, vocabulary);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}
