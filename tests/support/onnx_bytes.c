/* See onnx_bytes.h. */
#include "onnx_bytes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LENGTH_BYTES: the bytes that are reserved for the length of a message, which is known only at its end. */
enum { WORD = 64, LENGTH_BYTES = 4, FLOAT = 1, INT64 = 7 };
/* Fields of GraphProto. */
enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12 };

static void put(onnx_bytes *b, const void *bytes, size_t count) {
    if (count > sizeof b->data - b->length) abort();
    if (count > 0) memcpy(b->data + b->length, bytes, count);
    b->length += count;
}

static void put_varint(onnx_bytes *b, uint64_t value) {
    do {
        const unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

void onnx_put_bytes(onnx_bytes *b, int field, const void *bytes, size_t count) {
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, count);
    put(b, bytes, count);
}

void onnx_put_text(onnx_bytes *b, int field, const char *text) {
    onnx_put_bytes(b, field, text, strlen(text));
}

void onnx_put_whole(onnx_bytes *b, int field, int64_t value) {
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)value);
}

void onnx_put_real(onnx_bytes *b, int field, float value) {
    put_varint(b, (uint64_t)field << 3 | 5);
    put(b, &value, sizeof value);
}

size_t onnx_begin(onnx_bytes *b, int field) {
    put_varint(b, (uint64_t)field << 3 | 2);
    put(b, "\0\0\0\0", LENGTH_BYTES);
    return b->length;
}

void onnx_end(onnx_bytes *b, size_t begun) {
    size_t length = b->length - begun;
    for (size_t i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        b->data[begun - LENGTH_BYTES + i] = (char)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* Copies the next word of the text to `word` and moves *text behind it; false if there is none. */
static bool next_word(const char **text, char word[WORD]) {
    *text += strspn(*text, " ");
    const size_t length = strcspn(*text, " ");
    snprintf(word, WORD, "%.*s", (int)length, *text);
    *text += length;
    return length > 0;
}

static void put_words(onnx_bytes *b, int field, const char *words) {
    char word[WORD];
    while (next_word(&words, word)) onnx_put_text(b, field, strcmp(word, "-") == 0 ? "" : word);
}

/* ---- models ---- */

size_t onnx_begin_model(onnx_bytes *b) {
    b->length = 0;
    onnx_put_whole(b, 1, 8);
    onnx_put_text(b, 2, "a test");
    const size_t set = onnx_begin(b, 8);
    onnx_put_whole(b, 2, 17);
    onnx_end(b, set);
    const size_t entry = onnx_begin(b, 14);
    onnx_put_text(b, 1, "author");
    onnx_put_text(b, 2, "nobody");
    onnx_end(b, entry);
    return onnx_begin(b, 7);
}

void onnx_end_model(onnx_bytes *b, size_t begun) {
    onnx_end(b, begun);
}

void onnx_input_typed(onnx_bytes *b, const char *name, int type, const char *dims) {
    char word[WORD];
    const size_t input = onnx_begin(b, INPUT);
    onnx_put_text(b, 1, name);
    const size_t kind = onnx_begin(b, 2), tensor = onnx_begin(b, 1);
    onnx_put_whole(b, 1, type);
    const size_t shape = onnx_begin(b, 2);
    while (next_word(&dims, word)) {
        const size_t dim = onnx_begin(b, 1);
        if ((word[0] >= '0' && word[0] <= '9') || word[0] == '-')
            onnx_put_whole(b, 1, atoll(word));
        else if (word[0] != '?')
            onnx_put_text(b, 2, word);
        onnx_end(b, dim);
    }
    onnx_end(b, shape);
    onnx_end(b, tensor);
    onnx_end(b, kind);
    onnx_end(b, input);
}

void onnx_input(onnx_bytes *b, const char *name, const char *dims) {
    onnx_input_typed(b, name, FLOAT, dims);
}

void onnx_output(onnx_bytes *b, const char *name) {
    const size_t output = onnx_begin(b, OUTPUT);
    onnx_put_text(b, 1, name);
    onnx_end(b, output);
}

/* Writes the dimensions, and returns the product of them. */
static size_t put_dims(onnx_bytes *b, const char *dims) {
    char word[WORD];
    size_t count = 1;
    while (next_word(&dims, word)) {
        onnx_put_whole(b, 1, atoll(word));
        count *= (size_t)atoll(word);
    }
    return count;
}

void onnx_floats(onnx_bytes *b, const char *name, const char *dims) {
    float values[256];
    const size_t tensor = onnx_begin(b, INITIALIZER), count = put_dims(b, dims);
    if (count > sizeof values / sizeof *values) abort();
    for (size_t i = 0; i < count; i++) values[i] = (float)(i + 1) / 8;
    onnx_put_whole(b, 2, FLOAT);
    onnx_put_text(b, 8, name);
    onnx_put_bytes(b, 9, values, count * sizeof *values);
    onnx_end(b, tensor);
}

void onnx_wholes(onnx_bytes *b, const char *name, const char *dims, const int64_t *values) {
    const size_t tensor = onnx_begin(b, INITIALIZER), count = put_dims(b, dims);
    onnx_put_whole(b, 2, INT64);
    for (size_t i = 0; i < count; i++) onnx_put_whole(b, 7, values[i]);
    onnx_put_text(b, 8, name);
    onnx_end(b, tensor);
}

size_t onnx_begin_node(onnx_bytes *b, const char *op, const char *inputs, const char *outputs) {
    char name[WORD];
    const size_t node = onnx_begin(b, NODE);
    put_words(b, 1, inputs);
    put_words(b, 2, outputs);
    snprintf(name, sizeof name, "the_%.40s", op);
    onnx_put_text(b, 3, name);
    onnx_put_text(b, 4, op);
    return node;
}

void onnx_node(onnx_bytes *b, const char *op, const char *inputs, const char *outputs) {
    onnx_end(b, onnx_begin_node(b, op, inputs, outputs));
}

void onnx_attribute_whole(onnx_bytes *b, const char *name, int64_t value) {
    const size_t attribute = onnx_begin(b, 5);
    onnx_put_text(b, 1, name);
    onnx_put_whole(b, 3, value);
    onnx_put_whole(b, 20, 2);
    onnx_end(b, attribute);
}
