/* Vocabularies as JSON files (format in weft/text.h). */
#include "base/file_guess.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/text_file.h"
#include "base/utf8.h"
#include "train/vocabulary.h"
#include <inttypes.h>
#include <string.h>

enum { VERSION = 1 };
static const char *const level_names[] = {"characters", "words"};

/* ---- saving ---- */

/* Writes a token as a string; a byte that is not UTF-8, or a NUL, is written as a number. */
static void write_token(wi_text *out, const wi_token *token) {
    if (!wi_utf8_is_text(token->text, token->bytes) || (token->bytes == 1 && !*token->text)) {
        wi_text_append(out, "%u", (unsigned)(unsigned char)token->text[0]);
        return;
    }
    wi_text_append(out, "\"");
    for (size_t i = 0; i < token->bytes; i++) {
        const char c = token->text[i];
        if (c == '"' || c == '\\')
            wi_text_append(out, "\\%c", c);
        else if ((unsigned char)c < 0x20 || c == 0x7F)
            wi_text_append(out, "\\u%04x", (unsigned)(unsigned char)c);
        else
            wi_text_append_bytes(out, &c, 1);
    }
    wi_text_append(out, "\"");
}

weft_status weft_vocabulary_save(const weft_vocabulary *vocabulary, const char *path) {
    if (!vocabulary || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_save: vocabulary and path must not be NULL");
    wi_text out;
    wi_text_init(&out, vocabulary->context->allocator);
    wi_text_append(&out, "{\"weft_vocabulary\": %d, \"level\": \"%s\", \"unknown\": %d, \"tokens\": [\n",
        VERSION, level_names[vocabulary->level], (int)vocabulary->unknown);
    for (size_t i = 0; i < vocabulary->count; i++) {
        write_token(&out, &vocabulary->tokens[i]);
        wi_text_append(&out, i + 1 < vocabulary->count ? ",\n" : "\n]}\n");
    }
    const weft_status status =
        out.failed ? WEFT_ERROR_MEMORY : wi_file_write_atomic(path, out.data, out.length);
    wi_text_clear(&out);
    return status;
}

/* ---- loading ---- */

/* The contents of a file; strings point into `text`. */
typedef struct loaded {
    const char *path;
    char *text;
    size_t bytes;
    bool has_version, has_unknown;
    int64_t version, unknown;
    const char *level;
    wi_json list; /* the value of "tokens" */
    wi_token *tokens;
    size_t count;
} loaded;

/* Reads a string, or the number of a byte. The byte is stored in the text, in place of the number's first digit. */
static bool read_token(wi_json *json, wi_token *token) {
    int64_t byte = 0;
    (void)wi_json_peek(json); /* skips blanks */
    char *const place = json->at;
    token->text = wi_json_string(json, &token->bytes);
    if (token->text) return token->bytes > 0;
    if (!wi_json_integer(json, &byte) || byte < 0 || byte > 255) return false;
    place[0] = (char)(unsigned char)byte;
    *token = (wi_token){place, 1};
    return true;
}

static weft_status read_tokens(loaded *l, const weft_allocator *allocator) {
    wi_json *const json = &l->list;
    const size_t count = wi_json_peek(json) == '[' ? wi_json_count(json) : 0;
    if (count == 0) WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the list \"tokens\" is missing or empty", l->path);
    l->tokens = wi_allocate_array(allocator, count, sizeof *l->tokens);
    if (!l->tokens) return WEFT_ERROR_MEMORY;
    for (bool more = wi_json_enter(json, '['); more; more = wi_json_more(json), l->count++)
        if (!read_token(json, &l->tokens[l->count]))
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': token %zu is neither a string nor a byte", l->path, l->count);
    return WEFT_OK;
}

static weft_status read_members(loaded *l) {
    size_t at = 0, bytes = 0, begin = 0;
    WI_TRY(wi_text_file_begin(l->path, l->text, l->bytes, &begin));
    WI_TRY(wi_file_refuse_page(l->path, l->text, l->bytes));
    wi_json json = {l->text + begin, l->text + l->bytes};
    if (!wi_json_check(l->text + begin, l->bytes - begin, &at))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': not valid JSON at byte %zu", l->path, at + begin);
    for (bool more = wi_json_enter(&json, '{'); more; more = wi_json_more(&json)) {
        const char *const name = wi_json_name(&json, &bytes);
        if (strcmp(name, "weft_vocabulary") == 0) l->has_version = wi_json_integer(&json, &l->version);
        if (strcmp(name, "unknown") == 0) l->has_unknown = wi_json_integer(&json, &l->unknown);
        if (strcmp(name, "level") == 0) l->level = wi_json_string(&json, &bytes);
        if (strcmp(name, "tokens") == 0) l->list = json;
        const char next = wi_json_peek(&json);
        if (next != ',' && next != '}') wi_json_skip(&json); /* a value that was not read above */
    }
    return WEFT_OK;
}

static weft_status read_level(const loaded *l, weft_text_level *level) {
    if (!l->has_version)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' is not a vocabulary: the number \"weft_vocabulary\" is missing",
            l->path);
    if (l->version != VERSION)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is a vocabulary of version %" PRId64 "; this library reads version %d", l->path, l->version,
            VERSION);
    for (int i = 0; l->level && i < 2; i++) {
        if (strcmp(l->level, level_names[i]) != 0) continue;
        *level = (weft_text_level)i;
        return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the level is neither \"characters\" nor \"words\"", l->path);
}

static weft_status set_unknown(const loaded *l, weft_vocabulary *v) {
    const wi_token unknown = wi_unknown_token(v->level);
    v->unknown = weft_vocabulary_find(v, unknown.text, unknown.bytes);
    if (l->has_unknown && l->unknown == v->unknown) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': \"unknown\" must be %d, the number of the token '%s'", l->path,
        (int)v->unknown, unknown.text);
}

static weft_status read_all(weft_vocabulary **vocabulary, weft_context *context, loaded *l) {
    weft_text_level level = WEFT_TEXT_CHARACTERS;
    WI_TRY(read_members(l));
    WI_TRY(read_level(l, &level));
    WI_TRY(read_tokens(l, context->allocator));
    WI_TRY(wi_vocabulary_create(vocabulary, context, level));
    WI_TRY(wi_vocabulary_fill(*vocabulary, l->tokens, l->count));
    return set_unknown(l, *vocabulary);
}

weft_status weft_vocabulary_load(weft_vocabulary **vocabulary, weft_context *context, const char *path) {
    if (!vocabulary) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_load: vocabulary is NULL");
    *vocabulary = NULL;
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_load: context and path must not be NULL");
    loaded l = {.path = path};
    WI_TRY(wi_file_read_by(&context->files, path, &l.text, &l.bytes));
    const weft_status status = read_all(vocabulary, context, &l);
    wi_release(context->allocator, l.tokens);
    wi_release(context->allocator, l.text);
    if (status == WEFT_OK) return WEFT_OK;
    weft_vocabulary_release(*vocabulary);
    *vocabulary = NULL;
    return status;
}
