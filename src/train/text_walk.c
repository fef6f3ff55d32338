/* Divides texts into tokens: UTF-8 characters, or words and line ends. */
#include "base/utf8.h"
#include "train/vocabulary.h"
#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

wi_text_walk wi_text_walk_begin(weft_text_level level, const char *name, const char *text, size_t bytes) {
    return (wi_text_walk){.level = level, .name = name, .text = text, .bytes = bytes, .line = 1};
}

static bool next_character(wi_text_walk *walk, wi_token *token) {
    if (walk->at >= walk->bytes) return false;
    const char *const here = walk->text + walk->at;
    if (walk->at && here[-1] == '\n') walk->line++;
    const size_t length = wi_utf8_length(here, walk->bytes - walk->at);
    walk->begin = walk->at;
    *token = (wi_token){here, length ? length : 1};
    walk->at += token->bytes;
    return true;
}

static bool next_word(wi_text_walk *walk, wi_token *token) {
    if (walk->at && walk->at <= walk->bytes && walk->text[walk->at - 1] == '\n' && !walk->line_is_open) {
        walk->line++;
    }
    while (walk->at < walk->bytes && is_blank(walk->text[walk->at])) walk->at++;
    if (walk->at >= walk->bytes) return false;
    walk->begin = walk->at;
    walk->line_is_open = walk->text[walk->at] != '\n';
    if (!walk->line_is_open) {
        walk->at++;
        *token = (wi_token){WI_END_OF_LINE, strlen(WI_END_OF_LINE)};
        return true;
    }
    while (walk->at < walk->bytes && !is_blank(walk->text[walk->at]) && walk->text[walk->at] != '\n')
        walk->at++;
    *token = (wi_token){walk->text + walk->begin, walk->at - walk->begin};
    return true;
}

bool wi_text_next(wi_text_walk *walk, wi_token *token) {
    return walk->level == WEFT_TEXT_WORDS ? next_word(walk, token) : next_character(walk, token);
}

weft_status wi_text_check(weft_text_level level, const char *name, const char *text, size_t bytes) {
    wi_text_walk walk = wi_text_walk_begin(level, name, text, bytes);
    wi_token token;
    if (!wi_text_next(&walk, &token))
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: the text is empty%s", name, bytes ? ": there are only blanks" : "");
    if (level != WEFT_TEXT_WORDS) return WEFT_OK;
    size_t line = 1;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = wi_utf8_length(text + at, bytes - at);
        if (length == 0)
            WI_FAIL(WEFT_ERROR_FORMAT,
                "%s: line %zu, byte %zu of the text (counted from 0): 0x%02X is not valid UTF-8, which words "
                "need",
                name, line, at, (unsigned)(unsigned char)text[at]);
        if (text[at] == '\n') line++;
    }
    return WEFT_OK;
}

static weft_status unknown_token(const wi_text_walk *walk, wi_token token) {
    char shown[64];
    size_t used = 0;
    for (size_t i = 0; i < token.bytes && used + 1 < sizeof shown; i++) {
        const char c = token.text[i];
        shown[used++] = c;
        if ((unsigned char)c < 0x20) shown[used - 1] = '?';
    }
    shown[used] = '\0';
    WI_FAIL(WEFT_ERROR_FORMAT,
        "%s: line %zu, byte %zu of the text (counted from 0): '%s' is not in the vocabulary, which has no "
        "unknown token",
        walk->name, walk->line, walk->begin, shown);
}

weft_status wi_encode_all(const weft_vocabulary *vocabulary, const char *name, const char *text, size_t bytes,
    int32_t **tokens, size_t *count) {
    const weft_allocator *const allocator = vocabulary->context->allocator;
    wi_text_walk walk = wi_text_walk_begin(vocabulary->level, name, text, bytes);
    wi_token token;
    size_t capacity = 0;
    weft_status status = wi_text_check(vocabulary->level, name, text, bytes);
    *tokens = NULL;
    *count = 0;
    while (status == WEFT_OK && wi_text_next(&walk, &token)) {
        int32_t number = weft_vocabulary_find(vocabulary, token.text, token.bytes);
        if (number < 0) number = vocabulary->unknown;
        status = number < 0 ? unknown_token(&walk, token)
                            : wi_grow(allocator, (void **)tokens, &capacity, *count + 1, sizeof **tokens);
        if (status == WEFT_OK) (*tokens)[(*count)++] = number;
    }
    if (status == WEFT_OK) return WEFT_OK;
    wi_release(allocator, *tokens);
    *tokens = NULL;
    return status;
}
