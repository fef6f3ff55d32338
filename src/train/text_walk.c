/* Divides texts into tokens: UTF-8 characters, or words and line ends. A text is read in parts; if a part ends within a token,
 * more is read. */
#include "base/text_file.h"
#include "base/utf8.h"
#include "train/vocabulary.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_CHARACTER = 4 };

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

wi_data_file wi_text_in_memory(const weft_allocator *allocator, const char *text, size_t bytes) {
    return (wi_data_file){
        .allocator = allocator, .file = -1, .content = (char *)(uintptr_t)text, .bytes = bytes};
}

weft_status wi_text_open(
    wi_text_source *text, wi_data_file *file, char name[512], weft_context *context, const char *path) {
    char begin[256] = "";
    size_t mark = 0;
    snprintf(name, 512, "'%.480s'", path);
    WI_TRY(wi_data_file_open(file, &context->files, path));
    const size_t some = file->bytes < sizeof begin ? (size_t)file->bytes : sizeof begin;
    WI_TRY(wi_data_file_read(file, 0, begin, some));
    WI_TRY(wi_text_file_begin(path, begin, some, &mark));
    *text = (wi_text_source){file, mark, name};
    return WEFT_OK;
}

wi_text_walk wi_text_walk_begin(weft_text_level level, const wi_text_source *text) {
    return (wi_text_walk){.level = level, .text = text, .line = 1, .step = WI_WINDOW_STEP};
}

void wi_text_walk_clear(wi_text_walk *walk) {
    wi_file_window_clear(&walk->window, walk->text->file->allocator);
}

/* Returns the bytes of the text from walk->at on: at least `wanted` bytes, or fewer if *is_last, which means that they are the last ones. */
static weft_status look(wi_text_walk *walk, size_t wanted, const char **bytes, size_t *count, bool *is_last) {
    const wi_data_file *const file = walk->text->file;
    const uint64_t offset = walk->text->begin + walk->at;
    WI_TRY(wi_file_window_at(&walk->window, file, offset, wanted, walk->step, bytes, count));
    *is_last = offset + *count >= file->bytes;
    return WEFT_OK;
}

static void take(wi_text_walk *walk, wi_token *token, const char *text, size_t bytes, bool is_break) {
    if (walk->after_break) walk->line++;
    walk->after_break = is_break;
    walk->begin = walk->at;
    walk->at += bytes;
    *token = (wi_token){text, bytes};
}

static weft_status next_character(wi_text_walk *walk, wi_token *token, bool *more) {
    const char *here = NULL;
    size_t count = 0;
    bool is_last = false;
    WI_TRY(look(walk, LONGEST_CHARACTER, &here, &count, &is_last));
    *more = count > 0;
    if (!*more) return WEFT_OK;
    const size_t length = wi_utf8_length(here, count);
    take(walk, token, here, length ? length : 1, *here == '\n');
    return WEFT_OK;
}

static weft_status next_word(wi_text_walk *walk, wi_token *token, bool *more) {
    for (size_t wanted = 1;;) {
        const char *here = NULL;
        size_t count = 0, blanks = 0;
        bool is_last = false;
        WI_TRY(look(walk, wanted, &here, &count, &is_last));
        while (blanks < count && is_blank(here[blanks])) blanks++;
        walk->at += blanks;
        here += blanks;
        count -= blanks;
        *more = count > 0;
        if (!*more && is_last) return WEFT_OK;
        if (*more && *here == '\n') {
            take(walk, token, here, 1, true);
            *token = (wi_token){WI_END_OF_LINE, strlen(WI_END_OF_LINE)};
            return WEFT_OK;
        }
        size_t bytes = 0;
        while (bytes < count && !is_blank(here[bytes]) && here[bytes] != '\n') bytes++;
        if (*more && (bytes < count || is_last)) {
            take(walk, token, here, bytes, false);
            return WEFT_OK;
        }
        wanted = 2 * count + 1; /* the word may continue */
    }
}

weft_status wi_text_next(wi_text_walk *walk, wi_token *token, bool *more) {
    return walk->level == WEFT_TEXT_WORDS ? next_word(walk, token, more) : next_character(walk, token, more);
}

static weft_status check_utf8(wi_text_walk *walk) {
    for (bool is_last = false; !is_last;) {
        const char *here = NULL;
        size_t count = 0;
        WI_TRY(look(walk, LONGEST_CHARACTER, &here, &count, &is_last));
        for (size_t i = 0, length; i < count && (is_last || count - i >= LONGEST_CHARACTER); i += length) {
            length = wi_utf8_length(here + i, count - i);
            if (length == 0)
                WI_FAIL(WEFT_ERROR_FORMAT,
                    "%s: line %zu, byte %" PRIu64
                    " of the text (counted from 0): 0x%02X is not valid UTF-8, which words need",
                    walk->text->name, walk->line, walk->at, (unsigned)(unsigned char)here[i]);
            if (here[i] == '\n') walk->line++;
            walk->at += length;
        }
    }
    return WEFT_OK;
}

static weft_status check_walk(wi_text_walk *walk) {
    wi_token token;
    bool more = false;
    WI_TRY(wi_text_next(walk, &token, &more));
    if (!more)
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: the text is empty%s", walk->text->name,
            walk->text->file->bytes > walk->text->begin ? ": there are only blanks" : "");
    walk->at = 0;
    walk->line = 1;
    return walk->level == WEFT_TEXT_WORDS ? check_utf8(walk) : WEFT_OK;
}

weft_status wi_text_check(weft_text_level level, const wi_text_source *text) {
    wi_text_walk walk = wi_text_walk_begin(level, text);
    const weft_status status = check_walk(&walk);
    wi_text_walk_clear(&walk);
    return status;
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
        "%s: line %zu, byte %" PRIu64
        " of the text (counted from 0): '%s' is not in the vocabulary, which has no unknown token",
        walk->text->name, walk->line, walk->begin, shown);
}

weft_status wi_text_next_number(
    wi_text_walk *walk, const weft_vocabulary *vocabulary, int32_t *number, bool *more) {
    wi_token token;
    WI_TRY(wi_text_next(walk, &token, more));
    if (!*more) return WEFT_OK;
    *number = weft_vocabulary_find(vocabulary, token.text, token.bytes);
    if (*number < 0) *number = vocabulary->unknown;
    return *number < 0 ? unknown_token(walk, token) : WEFT_OK;
}

weft_status wi_encode_all(
    const weft_vocabulary *vocabulary, const wi_text_source *text, int32_t **tokens, size_t *count) {
    const weft_allocator *const allocator = vocabulary->context->allocator;
    wi_text_walk walk = wi_text_walk_begin(vocabulary->level, text);
    size_t capacity = 0;
    bool more = true;
    weft_status status = wi_text_check(vocabulary->level, text);
    *tokens = NULL;
    *count = 0;
    while (status == WEFT_OK && more) {
        int32_t number = 0;
        status = wi_text_next_number(&walk, vocabulary, &number, &more);
        if (status == WEFT_OK && more)
            status = wi_grow(allocator, (void **)tokens, &capacity, *count + 1, sizeof **tokens);
        if (status == WEFT_OK && more) (*tokens)[(*count)++] = number;
    }
    wi_text_walk_clear(&walk);
    if (status == WEFT_OK) return WEFT_OK;
    wi_release(allocator, *tokens);
    *tokens = NULL;
    return status;
}
