/* Vocabularies: tokens and their numbers (contract in weft/text.h). */
#include "train/vocabulary.h"
#include "base/options.h"
#include "graph/weft_graph.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- the table ---- */

wi_token wi_unknown_token(weft_text_level level) {
    const char *const text = level == WEFT_TEXT_WORDS ? "<unk>" : "\xEF\xBF\xBD";
    return (wi_token){text, strlen(text)};
}

weft_status wi_vocabulary_create(weft_vocabulary **vocabulary, weft_context *context, weft_text_level level) {
    weft_vocabulary *const made = wi_allocate(context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->context = weft_context_retain(context);
    made->level = level;
    made->unknown = -1;
    atomic_init(&made->references, 1);
    wi_arena_init(&made->arena, context->allocator);
    *vocabulary = made;
    return WEFT_OK;
}

/* The slot of a token, or the free slot for it. */
static size_t slot_of(const weft_vocabulary *v, const char *text, size_t bytes) {
    size_t at = (size_t)XXH3_64bits(text, bytes) & (v->slot_count - 1);
    for (; v->slots[at]; at = (at + 1) & (v->slot_count - 1)) {
        const wi_token *const token = &v->tokens[v->slots[at] - 1];
        if (token->bytes == bytes && memcmp(token->text, text, bytes) == 0) break;
    }
    return at;
}

/* Allocates all texts in one zeroed block, because most texts have only a few bytes. */
static char *take_texts(weft_vocabulary *v, const wi_token *tokens, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += tokens[i].bytes + 1;
    return wi_arena_take(&v->arena, bytes);
}

weft_status wi_vocabulary_fill(weft_vocabulary *v, const wi_token *tokens, size_t count) {
    if (count == 0 || count >= INT32_MAX / 4)
        WI_FAIL(
            WEFT_ERROR_FORMAT, "vocabulary: there are %zu tokens, expected 1 to %d", count, INT32_MAX / 4);
    v->slot_count = 16;
    while (v->slot_count < 2 * count) v->slot_count *= 2;
    v->tokens = wi_allocate_array(v->context->allocator, count, sizeof *v->tokens);
    v->slots = wi_allocate_array(v->context->allocator, v->slot_count, sizeof *v->slots);
    char *text = take_texts(v, tokens, count);
    if (!v->tokens || !v->slots || !text) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = tokens[i].bytes, slot = slot_of(v, tokens[i].text, bytes);
        if (v->slots[slot])
            WI_FAIL(WEFT_ERROR_FORMAT, "vocabulary: tokens %d and %zu are both '%.*s'", v->slots[slot] - 1, i,
                (int)(bytes < 60 ? bytes : 60), tokens[i].text);
        memcpy(text, tokens[i].text, bytes);
        v->tokens[v->count++] = (wi_token){text, bytes};
        v->slots[slot] = (int32_t)v->count;
        text += bytes + 1; /* the zero after the text ends it */
    }
    return WEFT_OK;
}

weft_vocabulary *weft_vocabulary_retain(weft_vocabulary *vocabulary) {
    if (vocabulary) atomic_fetch_add(&vocabulary->references, 1);
    return vocabulary;
}

void weft_vocabulary_release(weft_vocabulary *vocabulary) {
    if (!vocabulary || atomic_fetch_sub(&vocabulary->references, 1) != 1) return;
    weft_context *const context = vocabulary->context;
    wi_arena_clear(&vocabulary->arena);
    wi_release(context->allocator, vocabulary->tokens);
    wi_release(context->allocator, vocabulary->slots);
    wi_release(context->allocator, vocabulary);
    weft_context_release(context);
}

/* ---- counting ---- */

typedef struct counted {
    wi_token token;
    size_t count;
} counted;

enum { ROOM_BYTES = 1 << 14 };

/* Tokens of a text and how often each occurs; `slots` as in weft_vocabulary. */
typedef struct census {
    const weft_allocator *allocator;
    wi_arena arena; /* the texts */
    char *room;     /* of the arena, for the next texts */
    size_t room_bytes;
    counted *items;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
} census;

static size_t census_slot(const census *c, wi_token token) {
    size_t at = (size_t)XXH3_64bits(token.text, token.bytes) & (c->slot_count - 1);
    for (; c->slots[at]; at = (at + 1) & (c->slot_count - 1)) {
        const wi_token have = c->items[c->slots[at] - 1].token;
        if (have.bytes == token.bytes && memcmp(have.text, token.text, token.bytes) == 0) break;
    }
    return at;
}

static weft_status census_grow(census *c) {
    const size_t wanted = c->slot_count ? 2 * c->slot_count : 1024;
    uint32_t *const slots = wi_allocate_array(c->allocator, wanted, sizeof *slots);
    if (!slots) return WEFT_ERROR_MEMORY;
    wi_release(c->allocator, c->slots);
    c->slots = slots;
    c->slot_count = wanted;
    for (size_t i = 0; i < c->count; i++) c->slots[census_slot(c, c->items[i].token)] = (uint32_t)i + 1;
    return WEFT_OK;
}

/* Texts are copied one after the other, because most have only a few bytes. */
static weft_status copy_text(census *c, wi_token *token) {
    if (c->room_bytes < token->bytes) {
        c->room_bytes = token->bytes < ROOM_BYTES ? ROOM_BYTES : token->bytes;
        c->room = wi_arena_take(&c->arena, c->room_bytes);
        if (!c->room) return WEFT_ERROR_MEMORY;
    }
    memcpy(c->room, token->text, token->bytes);
    token->text = c->room;
    c->room += token->bytes;
    c->room_bytes -= token->bytes;
    return WEFT_OK;
}

static weft_status census_add(census *c, wi_token token, size_t count) {
    if (2 * (c->count + 1) > c->slot_count) WI_TRY(census_grow(c));
    const size_t slot = census_slot(c, token);
    if (c->slots[slot]) {
        c->items[c->slots[slot] - 1].count += count;
        return WEFT_OK;
    }
    if (c->count >= INT32_MAX / 4) WI_FAIL(WEFT_ERROR_FORMAT, "vocabulary: too many different tokens");
    WI_TRY(wi_grow(c->allocator, (void **)&c->items, &c->capacity, c->count + 1, sizeof *c->items));
    WI_TRY(copy_text(c, &token));
    c->items[c->count++] = (counted){token, count};
    c->slots[slot] = (uint32_t)c->count;
    return WEFT_OK;
}

static int by_count(const void *a, const void *b) {
    const counted *const x = a, *const y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    const size_t shorter = x->token.bytes < y->token.bytes ? x->token.bytes : y->token.bytes;
    const int order = memcmp(x->token.text, y->token.text, shorter);
    return order ? order : (x->token.bytes > y->token.bytes) - (x->token.bytes < y->token.bytes);
}

static bool is_unknown(weft_text_level level, wi_token token) {
    const wi_token unknown = wi_unknown_token(level);
    return token.bytes == unknown.bytes && memcmp(token.text, unknown.text, token.bytes) == 0;
}

/* Sorts the tokens by count, and removes rare ones and those beyond maximum_size, whose counts go to the unknown token. */
static weft_status choose(census *c, const weft_vocabulary_options *options) {
    size_t rare = 0, kept = 0, known = 0;
    bool has_unknown = false;
    const size_t least = options->minimum_count ? options->minimum_count : 1;
    const size_t most = options->maximum_size ? options->maximum_size : SIZE_MAX;
    qsort(c->items, c->count, sizeof *c->items, by_count);
    for (size_t i = 0; i < c->count; i++) known += c->items[i].count >= least;
    for (size_t i = 0; i < c->count; i++)
        has_unknown = has_unknown || is_unknown(options->level, c->items[i].token);
    const bool wanted = has_unknown || options->unknown || known < c->count || known > most;
    const size_t room = wanted && most != SIZE_MAX ? most - 1 : most; /* besides the unknown token */
    for (size_t i = 0, taken = 0; i < c->count; i++) {
        const counted item = c->items[i];
        const bool unknown = is_unknown(options->level, item.token);
        if (!unknown && (item.count < least || taken >= room)) {
            rare += item.count;
            continue;
        }
        taken += !unknown;
        c->items[kept++] = item;
    }
    c->count = kept;
    if (!wanted) return WEFT_OK;
    for (size_t i = 0; i < c->slot_count; i++) c->slots[i] = 0;
    for (size_t i = 0; i < c->count; i++) c->slots[census_slot(c, c->items[i].token)] = (uint32_t)i + 1;
    WI_TRY(census_add(c, wi_unknown_token(options->level), rare));
    qsort(c->items, c->count, sizeof *c->items, by_count);
    return WEFT_OK;
}

static weft_status take_census(weft_vocabulary *v, const census *c) {
    wi_token *const tokens = wi_allocate_array(c->allocator, c->count, sizeof *tokens);
    if (!tokens) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < c->count; i++) tokens[i] = c->items[i].token;
    const weft_status status = wi_vocabulary_fill(v, tokens, c->count);
    wi_release(c->allocator, tokens);
    const wi_token unknown = wi_unknown_token(v->level);
    if (status == WEFT_OK) v->unknown = weft_vocabulary_find(v, unknown.text, unknown.bytes);
    return status;
}

static weft_status add_tokens(census *c, wi_text_walk *walk) {
    wi_token token;
    for (bool more = true;;) {
        WI_TRY(wi_text_next(walk, &token, &more));
        if (!more) return WEFT_OK;
        WI_TRY(census_add(c, token, 1));
    }
}

static weft_status count_tokens(
    census *c, const weft_vocabulary_options *options, const wi_text_source *text) {
    WI_TRY(wi_text_check(options->level, text));
    wi_text_walk walk = wi_text_walk_begin(options->level, text);
    const weft_status status = add_tokens(c, &walk);
    wi_text_walk_clear(&walk);
    return status == WEFT_OK ? choose(c, options) : status;
}

static weft_status read_options(weft_vocabulary_options *options, const weft_vocabulary_options *given) {
    WI_TRY(WI_OPTIONS(options, given, "vocabulary", WEFT_VOCABULARY_OPTIONS_INIT));
    if ((unsigned)options->level > WEFT_TEXT_WORDS)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "vocabulary: level is %d, which is not a weft_text_level",
            (int)options->level);
    if (options->maximum_size == 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "vocabulary: a maximum_size of 1 leaves only the unknown token");
    return WEFT_OK;
}

static weft_status build(weft_vocabulary **vocabulary, weft_context *context, const wi_text_source *text,
    const weft_vocabulary_options *given) {
    census c = {.allocator = context->allocator};
    weft_vocabulary_options options;
    wi_arena_init(&c.arena, context->allocator);
    weft_status status = read_options(&options, given);
    if (status == WEFT_OK) status = count_tokens(&c, &options, text);
    if (status == WEFT_OK) status = wi_vocabulary_create(vocabulary, context, options.level);
    if (status == WEFT_OK) status = take_census(*vocabulary, &c);
    wi_release(c.allocator, c.items);
    wi_release(c.allocator, c.slots);
    wi_arena_clear(&c.arena);
    if (status == WEFT_OK) return WEFT_OK;
    weft_vocabulary_release(*vocabulary);
    *vocabulary = NULL;
    return status;
}

weft_status weft_vocabulary_from_text(weft_vocabulary **vocabulary, weft_context *context, const char *text,
    size_t bytes, const weft_vocabulary_options *options) {
    if (!vocabulary) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_from_text: vocabulary is NULL");
    *vocabulary = NULL;
    if (!context || !text)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_from_text: context and text must not be NULL");
    const wi_data_file file = wi_text_in_memory(context->allocator, text, bytes);
    return build(vocabulary, context, &(wi_text_source){&file, 0, "vocabulary"}, options);
}

weft_status weft_vocabulary_from_file(weft_vocabulary **vocabulary, weft_context *context, const char *path,
    const weft_vocabulary_options *options) {
    if (!vocabulary) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_from_file: vocabulary is NULL");
    *vocabulary = NULL;
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_from_file: context and path must not be NULL");
    char name[512];
    wi_data_file file = {0};
    wi_text_source text;
    weft_status status = wi_text_open(&text, &file, name, context, path);
    if (status == WEFT_OK) status = build(vocabulary, context, &text, options);
    wi_data_file_close(&file);
    return status;
}

/* ---- lookup ---- */

size_t weft_vocabulary_size(const weft_vocabulary *vocabulary) {
    return vocabulary ? vocabulary->count : 0;
}
weft_text_level weft_vocabulary_level(const weft_vocabulary *vocabulary) {
    return vocabulary ? vocabulary->level : WEFT_TEXT_CHARACTERS;
}
int32_t weft_vocabulary_unknown(const weft_vocabulary *vocabulary) {
    return vocabulary ? vocabulary->unknown : -1;
}

const char *weft_vocabulary_token(const weft_vocabulary *vocabulary, int32_t token, size_t *bytes) {
    if (!vocabulary || token < 0 || (size_t)token >= vocabulary->count) return NULL;
    if (bytes) *bytes = vocabulary->tokens[token].bytes;
    return vocabulary->tokens[token].text;
}

int32_t weft_vocabulary_find(const weft_vocabulary *vocabulary, const char *token, size_t bytes) {
    if (!vocabulary || !token) return -1;
    return vocabulary->slots[slot_of(vocabulary, token, bytes)] - 1;
}

weft_status weft_vocabulary_check(const weft_vocabulary *vocabulary, const weft_tensor *table) {
    if (!vocabulary || !table)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_check: vocabulary and table must not be NULL");
    const int64_t rows = weft_tensor_dimension(table, 0);
    if (rows == (int64_t)vocabulary->count) return WEFT_OK;
    char text[WI_SHAPE_TEXT];
    WI_FAIL(WEFT_ERROR_SHAPE,
        "a vocabulary of %zu tokens does not fit '%s' of shape %s: it belongs to another model",
        vocabulary->count, weft_tensor_name(table), wi_shape_print(table->graph, &table->shape, text));
}

/* ---- text to numbers and back ---- */

weft_status weft_vocabulary_encode(const weft_vocabulary *vocabulary, const char *text, size_t bytes,
    int32_t *tokens, size_t capacity, size_t *count) {
    if (!vocabulary || !text || !count || (capacity && !tokens))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_vocabulary_encode: vocabulary, text, tokens and count must not be NULL");
    int32_t *all = NULL;
    *count = 0;
    const wi_data_file file = wi_text_in_memory(vocabulary->context->allocator, text, bytes);
    WI_TRY(wi_encode_all(vocabulary, &(wi_text_source){&file, 0, "weft_vocabulary_encode"}, &all, count));
    const size_t fits = *count < capacity ? *count : capacity;
    if (fits) memcpy(tokens, all, fits * sizeof *tokens);
    wi_release(vocabulary->context->allocator, all);
    return WEFT_OK;
}

typedef struct output {
    char *buffer;
    size_t capacity, length;
} output;

static void put(output *out, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++, out->length++)
        if (out->length + 1 < out->capacity) out->buffer[out->length] = text[i];
}

weft_status weft_vocabulary_decode(const weft_vocabulary *vocabulary, const int32_t *tokens, size_t count,
    char *buffer, size_t capacity, size_t *length) {
    if (!vocabulary || (count && !tokens) || !length || (capacity && !buffer))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_vocabulary_decode: vocabulary, tokens, buffer and length must not be NULL");
    const bool words = vocabulary->level == WEFT_TEXT_WORDS;
    output out = {buffer, capacity, 0};
    bool line_begins = true;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        const char *const text = weft_vocabulary_token(vocabulary, tokens[i], &bytes);
        if (!text)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_decode: token %zu is %d, not in 0..%zu", i,
                (int)tokens[i], vocabulary->count - 1);
        const bool ends =
            words && bytes == strlen(WI_END_OF_LINE) && memcmp(text, WI_END_OF_LINE, bytes) == 0;
        if (words && !ends && !line_begins) put(&out, " ", 1);
        put(&out, ends ? "\n" : text, ends ? 1 : bytes);
        line_begins = ends;
    }
    if (capacity) buffer[out.length < capacity ? out.length : capacity - 1] = '\0';
    *length = out.length;
    return WEFT_OK;
}
