/* Text as parallel streams of tokens (contract in weft/text.h). Example s · streams + t is sequence s of stream t, so
 * that each batch of `streams` examples, read in order, continues the sequences of the batch before. */
#include "base/options.h"
#include "base/platform.h"
#include "base/text_file.h"
#include "train/dataset.h"
#include "train/vocabulary.h"
#include <stdio.h>
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

static weft_status build(weft_dataset **dataset, weft_context *context, const char *name,
    const int32_t *tokens, size_t count, const weft_text_options *options) {
    const size_t streams = options->streams ? options->streams : 32,
                 steps = options->steps ? options->steps : 32;
    const size_t sequences = count ? (count - 1) / steps / streams : 0;
    if (sequences == 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: %zu tokens are too few for %zu streams of %zu steps, which need %zu",
            name, count, streams, steps, streams * steps + 1);
    const weft_column columns[] = {{.name = "tokens", .dtype = WEFT_I32, .rank = 1, .dims = {(int64_t)steps}},
        {.name = "next", .dtype = WEFT_I32, .rank = 1, .dims = {(int64_t)steps}},
        {.name = "carry", .dtype = WEFT_F32}};
    WI_TRY(wi_dataset_create(dataset, context, sequences * streams, columns, 3));
    fill(*dataset, tokens, sequences, streams, steps);
    return WEFT_OK;
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
    char *text = NULL, name[512];
    int32_t *tokens = NULL;
    size_t bytes = 0, count = 0, begin = 0;
    snprintf(name, sizeof name, "'%.480s'", path);
    WI_TRY(wi_file_read_by(&context->files, path, &text, &bytes));
    weft_status status = wi_text_file_begin(path, text, bytes, &begin);
    if (status == WEFT_OK)
        status = wi_encode_all(vocabulary, name, text + begin, bytes - begin, &tokens, &count);
    wi_release(context->allocator, text);
    if (status == WEFT_OK) status = build(dataset, context, name, tokens, count, &options);
    if (status == WEFT_OK) status = name_tokens(*dataset, vocabulary);
    if (status != WEFT_OK) {
        weft_dataset_release(*dataset);
        *dataset = NULL;
    }
    wi_release(vocabulary->context->allocator, tokens);
    return status;
}
