/* Writes the calls of a program as lines of C: see print.h. */
#include "random/print.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void program_text_add(text *t, const char *format, ...) {
    va_list list;
    for (int round = 0; round < 2 && !t->failed; round++) {
        const size_t room = t->capacity - t->length;
        va_start(list, format);
        const int length = vsnprintf(t->data ? t->data + t->length : NULL, room, format, list);
        va_end(list);
        if (length >= 0 && (size_t)length < room) {
            t->length += (size_t)length;
            return;
        }
        const size_t capacity = 2 * t->capacity + (length > 0 ? (size_t)length : 0) + 256;
        char *const data = realloc(t->data, capacity);
        t->failed = length < 0 || !data;
        if (data) t->data = data, t->capacity = capacity;
    }
}

static void append_size(text *t, int64_t size) {
    const int64_t lengths = (size + WEFT_LENGTH / 2) / WEFT_LENGTH;
    if (size < 0 && size > -1000000)
        program_text_add(t, size == -1 ? "WEFT_BATCH" : "WEFT_BATCH * %lld", (long long)-size);
    else if (lengths == 0)
        program_text_add(t, "%lld", (long long)size);
    else
        program_text_add(
            t, "%lld * WEFT_LENGTH + %lld", (long long)lengths, (long long)(size - lengths * WEFT_LENGTH));
}

/* An axis, or an end of a slice. */
static void append_end(text *t, int64_t end) {
    if (end == WEFT_END)
        program_text_add(t, "WEFT_END");
    else if (end < 0)
        program_text_add(t, "%lld", (long long)end);
    else
        append_size(t, end);
}

static void append_number(text *t, double number) {
    if (isinf(number))
        program_text_add(t, number < 0 ? "-INFINITY" : "INFINITY");
    else
        program_text_add(t, "%.9g", number);
}

/* An array that WEFT_END ends, or exactly of the dimensions that there are. */
static void append_list(text *t, const int64_t *dims, bool ended) {
    program_text_add(t, "(const int64_t[]){");
    const int rank = f64_list_length(dims);
    for (int i = 0; i < rank; i++) {
        if (i > 0) program_text_add(t, ", ");
        append_size(t, dims[i]);
    }
    program_text_add(t, ended ? "%sWEFT_END}" : rank == 0 ? "0}" : "}", rank > 0 ? ", " : "");
}

static void append_axes(text *t, const int64_t *axes) {
    program_text_add(t, "(const int64_t[]){");
    for (int i = 0; i < f64_list_length(axes); i++) program_text_add(t, "%lld, ", (long long)axes[i]);
    program_text_add(t, "WEFT_END}");
}

void program_text_add_shape(text *t, const int64_t *dims) {
    program_text_add(t, "%d, ", f64_list_length(dims));
    append_list(t, dims, false);
}

/* One of the marks of oracle_op.code; returns what comes behind it. */
static const char *append_mark(text *t, const char *mark, const oracle_call *call) {
    char *end = NULL;
    const char kind = *mark;
    if (kind >= '0' && kind <= '8') {
        const int input = call->inputs[kind - '0'];
        program_text_add(t, input < 0 ? "NULL" : "v%d", input);
        return mark + 1;
    }
    const long number = strchr("iabn", kind) ? strtol(mark + 1, &end, 10) : 0;
    switch (kind) {
    case 'i': append_size(t, call->integers[number]); break;
    case 'a': append_end(t, call->integers[number]); break;
    case 'b': program_text_add(t, call->integers[number] ? "true" : "false"); break;
    case 'n': append_number(t, call->numbers[number]); break;
    case 'l': append_list(t, call->dims, true); break;
    case 'x': append_axes(t, call->dims); break;
    case 'd': program_text_add_shape(t, call->dims); break;
    case 'r': program_text_add(t, "%d", f64_list_length(call->dims)); break;
    case 't': program_text_add(t, "\"%s\"", call->text ? call->text : ""); break;
    case 'w': program_text_add(t, "%s", call->text ? call->text : ""); break;
    case 'g': program_text_add(t, "graph"); break;
    default: program_text_add(t, "$%c", kind);
    }
    return end ? end : mark + 1;
}

void program_text_add_call(text *t, const oracle_call *call) {
    for (const char *c = call->op->code; *c;) {
        if (*c == '$') {
            c = append_mark(t, c + 1, call);
            continue;
        }
        program_text_add(t, "%c", *c++);
    }
}

const char *program_dtype_word(weft_dtype dtype) {
    switch (dtype) {
    case WEFT_I32: return "WEFT_I32";
    case WEFT_BOOL: return "WEFT_BOOL";
    case WEFT_F16: return "WEFT_F16";
    case WEFT_BF16: return "WEFT_BF16";
    default: return "WEFT_F32";
    }
}
