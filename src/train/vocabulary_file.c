/* Vocabularies as JSON files (format in weft/text.h). */
#include "base/platform.h"
#include "base/utf8.h"
#include "train/vocabulary.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

enum { VERSION = 1 };
static const char *const level_names[] = {"characters", "words"};

/* ---- saving ---- */

static bool is_utf8(const wi_token *token) {
    for (size_t at = 0, length; at < token->bytes; at += length) {
        length = wi_utf8_length(token->text + at, token->bytes - at);
        if (length == 0 || token->text[at] == '\0') return false;
    }
    return true;
}

/* A byte that is no UTF-8, and NUL, which C's strings lack, are numbers. */
static void write_token(wi_text *out, const wi_token *token) {
    if (!is_utf8(token)) {
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

static const cJSON *member(const cJSON *root, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(root, name);
}

static weft_status read_head(const cJSON *root, const char *path, weft_text_level *level) {
    const cJSON *const version = member(root, "weft_vocabulary");
    if (!cJSON_IsNumber(version))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': no vocabulary: it has no number \"weft_vocabulary\"", path);
    if (version->valuedouble != VERSION)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': a vocabulary of version %g; this library reads version %d", path,
            version->valuedouble, VERSION);
    const char *const name = cJSON_GetStringValue(member(root, "level"));
    for (int i = 0; name && i < 2; i++) {
        if (strcmp(name, level_names[i]) != 0) continue;
        *level = (weft_text_level)i;
        return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the level is neither \"characters\" nor \"words\"", path);
}

static bool read_token(const cJSON *item, wi_token *token, char *byte) {
    const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (cJSON_IsString(item) && item->valuestring[0]) {
        *token = (wi_token){item->valuestring, strlen(item->valuestring)};
        return true;
    }
    if (!(number >= 0 && number <= 255) || number != floor(number)) return false;
    *byte = (char)(unsigned char)number;
    *token = (wi_token){byte, 1};
    return true;
}

static weft_status read_unknown(const cJSON *root, const char *path, weft_vocabulary *v) {
    const wi_token unknown = wi_unknown_token(v->level);
    const int32_t found = weft_vocabulary_find(v, unknown.text, unknown.bytes);
    const cJSON *const saved = member(root, "unknown");
    if (!cJSON_IsNumber(saved) || saved->valuedouble != (double)found)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': \"unknown\" is not %d, the number of '%s'", path, (int)found,
            unknown.text);
    v->unknown = found;
    return WEFT_OK;
}

static weft_status read_tokens(const cJSON *root, const char *path, weft_vocabulary *v) {
    const cJSON *const list = member(root, "tokens"), *item;
    const weft_allocator *const allocator = v->context->allocator;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': there is no list \"tokens\", or it is empty", path);
    const size_t count = (size_t)cJSON_GetArraySize(list);
    wi_token *const tokens = wi_allocate_array(allocator, count, sizeof *tokens);
    char *const bytes = wi_allocate_array(allocator, count, 2);
    weft_status status = tokens && bytes ? WEFT_OK : WEFT_ERROR_MEMORY;
    size_t i = 0;
    if (status == WEFT_OK) cJSON_ArrayForEach(item, list) {
            if (status == WEFT_OK && !read_token(item, &tokens[i], &bytes[2 * i]))
                status = wi_fail(WEFT_ERROR_FORMAT, "'%s': token %zu is neither a text nor a byte", path, i);
            i++;
        }
    if (status == WEFT_OK) status = wi_vocabulary_fill(v, tokens, count);
    wi_release(allocator, tokens);
    wi_release(allocator, bytes);
    return status == WEFT_OK ? read_unknown(root, path, v) : status;
}

static weft_status read_all(
    weft_vocabulary **vocabulary, weft_context *context, const char *path, const cJSON *root) {
    weft_text_level level = WEFT_TEXT_CHARACTERS;
    if (!root) WI_FAIL(WEFT_ERROR_FORMAT, "'%s': not JSON", path);
    WI_TRY(read_head(root, path, &level));
    WI_TRY(wi_vocabulary_create(vocabulary, context, level));
    return read_tokens(root, path, *vocabulary);
}

weft_status weft_vocabulary_load(weft_vocabulary **vocabulary, weft_context *context, const char *path) {
    if (!vocabulary) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_load: vocabulary is NULL");
    *vocabulary = NULL;
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vocabulary_load: context and path must not be NULL");
    char *text = NULL;
    size_t bytes = 0;
    WI_TRY(wi_file_read(context->allocator, path, &text, &bytes));
    cJSON *const root = cJSON_ParseWithLength(text, bytes);
    wi_release(context->allocator, text);
    const weft_status status = read_all(vocabulary, context, path, root);
    cJSON_Delete(root);
    if (status == WEFT_OK) return WEFT_OK;
    weft_vocabulary_release(*vocabulary);
    *vocabulary = NULL;
    return status;
}
