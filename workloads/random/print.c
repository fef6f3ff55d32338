/* Writes a program as C: see random_program.h. */
#include "random/random_program.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *data;
    size_t length, capacity;
    bool failed;
} text;

static void append(text *t, const char *format, ...) {
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
        append(t, size == -1 ? "WEFT_BATCH" : "WEFT_BATCH * %lld", (long long)-size);
    else if (lengths == 0)
        append(t, "%lld", (long long)size);
    else
        append(t, "%lld * WEFT_LENGTH + %lld", (long long)lengths, (long long)(size - lengths * WEFT_LENGTH));
}

/* An axis, or an end of a slice. */
static void append_end(text *t, int64_t end) {
    if (end == WEFT_END)
        append(t, "WEFT_END");
    else if (end < 0)
        append(t, "%lld", (long long)end);
    else
        append_size(t, end);
}

static void append_number(text *t, double number) {
    if (isinf(number))
        append(t, number < 0 ? "-INFINITY" : "INFINITY");
    else
        append(t, "%.9g", number);
}

/* An array that WEFT_END ends, or exactly of the dimensions that there are. */
static void append_list(text *t, const int64_t *dims, bool ended) {
    append(t, "(const int64_t[]){");
    const int rank = f64_list_length(dims);
    for (int i = 0; i < rank; i++) {
        if (i > 0) append(t, ", ");
        append_size(t, dims[i]);
    }
    append(t, ended ? "%sWEFT_END}" : rank == 0 ? "0}" : "}", rank > 0 ? ", " : "");
}

static void append_axes(text *t, const int64_t *axes) {
    append(t, "(const int64_t[]){");
    for (int i = 0; i < f64_list_length(axes); i++) append(t, "%lld, ", (long long)axes[i]);
    append(t, "WEFT_END}");
}

static void append_shape(text *t, const int64_t *dims) {
    append(t, "%d, ", f64_list_length(dims));
    append_list(t, dims, false);
}

/* One of the marks of oracle_op.code; returns what comes behind it. */
static const char *append_mark(text *t, const char *mark, const oracle_call *call) {
    char *end = NULL;
    const char kind = *mark;
    if (kind >= '0' && kind <= '8') {
        const int input = call->inputs[kind - '0'];
        append(t, input < 0 ? "NULL" : "v%d", input);
        return mark + 1;
    }
    const long number = strchr("iabn", kind) ? strtol(mark + 1, &end, 10) : 0;
    switch (kind) {
    case 'i': append_size(t, call->integers[number]); break;
    case 'a': append_end(t, call->integers[number]); break;
    case 'b': append(t, call->integers[number] ? "true" : "false"); break;
    case 'n': append_number(t, call->numbers[number]); break;
    case 'l': append_list(t, call->dims, true); break;
    case 'x': append_axes(t, call->dims); break;
    case 'd': append_shape(t, call->dims); break;
    case 'r': append(t, "%d", f64_list_length(call->dims)); break;
    case 't': append(t, "\"%s\"", call->text ? call->text : ""); break;
    case 'w': append(t, "%s", call->text ? call->text : ""); break;
    case 'g': append(t, "graph"); break;
    default: append(t, "$%c", kind);
    }
    return end ? end : mark + 1;
}

static void append_call(text *t, const oracle_call *call) {
    for (const char *c = call->op->code; *c;) {
        if (*c == '$') {
            c = append_mark(t, c + 1, call);
            continue;
        }
        append(t, "%c", *c++);
    }
}

static const char *dtype_word(weft_dtype dtype) {
    switch (dtype) {
    case WEFT_I32: return "WEFT_I32";
    case WEFT_BOOL: return "WEFT_BOOL";
    case WEFT_F16: return "WEFT_F16";
    case WEFT_BF16: return "WEFT_BF16";
    default: return "WEFT_F32";
    }
}

static void append_source(text *t, const program_source *source, int value) {
    static const char *const makers[] = {"weft_input_shape(graph, \"v%d\", %s, ",
        "weft_parameter_dtype(graph, \"v%d\", %s, zeros, ", "weft_state_shape(graph, \"v%d\", %s, zeros, ",
        "weft_input_shape(graph, \"v%d\", %s, "};
    append(t, makers[source->kind], value, dtype_word(source->dtype));
    append_shape(t, source->dims);
    append(t, ");%s /* ", source->kind == PROGRAM_ARRAY ? " /* weft_array */" : "");
    if (source->below) {
        append(t, "0 .. ");
        append_size(t, source->below);
        append(t, " - 1 */\n");
    } else {
        append(t, "%g .. %g */\n", source->low, source->high);
    }
}

static void append_loss(text *t, const program *p) {
    append(t, "    weft_tensor *loss = NULL; /* of random weights w0, ... */\n");
    for (int term = 0; term < p->loss_count; term++)
        append(t, "    loss = %s(weft_mul(v%d, w%d))%s;\n", term ? "weft_add(loss, weft_sum" : "weft_sum",
            p->loss[term], term, term ? ")" : "");
}

char *program_text(const program *p) {
    text t = {0};
    bool parts = false;
    append(&t, "    /* batch %lld, length %lld%s%s%s */\n", (long long)p->batch, (long long)p->length,
        p->inference ? ", inference" : "", p->second ? ", second gradients" : "",
        p->minimizes ? ", an update by weft_sgd(0.125)" : "");
    if (p->clip_norm > 0) append(&t, "    /* clip_norm %g */\n", (double)p->clip_norm);
    for (int i = 0; i < p->count; i++)
        if (p->frozen >> i & 1 && p->values[i].source.kind == PROGRAM_PARAMETER && !p->values[i].is_call)
            append(&t, "    /* v%d is frozen after weft_gradients */\n", i);
    for (int i = 0; i < p->count; i++)
        parts = parts || (p->values[i].is_call && strstr(p->values[i].call.op->code, "parts"));
    if (parts) append(&t, "    weft_tensor *parts[8];\n");
    for (int i = 0; i < p->count; i++) {
        append(&t, "    weft_tensor *v%d = ", i);
        if (p->values[i].is_call) {
            append_call(&t, &p->values[i].call);
            append(&t, ";%s\n", p->values[i].shown ? " /* an output */" : "");
        } else {
            append_source(&t, &p->values[i].source, i);
        }
    }
    for (int i = 0; i < p->count; i++)
        if (p->values[i].assigned)
            append(&t, "    weft_assign(v%d, v%d); /* an output */\n", i, p->values[i].assigned);
    if (p->loss_count > 0) append_loss(&t, p);
    if (t.failed) free(t.data);
    return t.failed ? NULL : t.data;
}
