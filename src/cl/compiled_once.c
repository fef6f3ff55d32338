/* Kernels that the driver compiles only once (contract in compiled_once.h). */
#include "cl/compiled_once.h"

#include <ctype.h>
#include <string.h>

const char wi_compiled_once_function[] =
    "static __attribute__((noinline, returns_twice)) void weft_once(void) {\n"
    "    __asm__ volatile(\"\");\n"
    "}\n";

static bool is_in_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The character after the brace that opens the body of the next kernel; NULL: there is none. Parameters of kernels have
 * no braces. */
static const char *find_body(const char *source, const char *from) {
    static const char word[] = "__kernel";
    const size_t length = sizeof word - 1;
    while ((from = strstr(from, word))) {
        const bool whole = (from == source || !is_in_word(from[-1])) && !is_in_word(from[length]);
        const char *const brace = whole ? strchr(from, '{') : NULL;
        if (brace) return brace + 1;
        from += length;
    }
    return NULL;
}

void wi_compiled_once_append(wi_text *text, const char *source) {
    const char *from = source;
    for (const char *body; (body = find_body(source, from)); from = body)
        wi_text_append(text, "%.*s if (get_local_size(0) == 0) weft_once();", (int)(body - from), from);
    wi_text_append(text, "%s", from);
}
