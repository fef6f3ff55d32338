/* Writing protobuf (contract in protobuf.h). */
#include "base/protobuf.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5, MOST_VARINT = 10 };

static size_t print_number(char bytes[MOST_VARINT], uint64_t value) {
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = (char)(value | 0x80);
    bytes[count++] = (char)value;
    return count;
}

void wi_protobuf_number(wi_text *message, uint64_t value) {
    char bytes[MOST_VARINT];
    wi_text_append_bytes(message, bytes, print_number(bytes, value));
}

static void put_key(wi_text *message, uint32_t field, uint32_t wire) {
    wi_protobuf_number(message, (uint64_t)field << 3 | wire);
}

/* Numbers of fixed size begin with their lowest byte, on every machine. */
static void put_fixed(wi_text *message, uint64_t bits, size_t size) {
    char bytes[8];
    for (size_t i = 0; i < size; i++) bytes[i] = (char)(bits >> 8 * i);
    wi_text_append_bytes(message, bytes, size);
}

static void put_float(wi_text *message, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(message, bits, sizeof bits);
}

static void put_double(wi_text *message, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(message, bits, sizeof bits);
}

void wi_protobuf_integer(wi_text *message, uint32_t field, uint64_t value) {
    put_key(message, field, VARINT);
    wi_protobuf_number(message, value);
}

void wi_protobuf_float(wi_text *message, uint32_t field, float value) {
    put_key(message, field, FIXED32);
    put_float(message, value);
}

void wi_protobuf_double(wi_text *message, uint32_t field, double value) {
    put_key(message, field, FIXED64);
    put_double(message, value);
}

void wi_protobuf_bytes(wi_text *message, uint32_t field, const void *bytes, size_t count) {
    put_key(message, field, LENGTH);
    wi_protobuf_number(message, count);
    wi_text_append_bytes(message, bytes, count);
}

void wi_protobuf_string(wi_text *message, uint32_t field, const char *text) {
    wi_protobuf_bytes(message, field, text, strlen(text));
}

void wi_protobuf_floats(wi_text *message, uint32_t field, const float *values, size_t count) {
    put_key(message, field, LENGTH);
    wi_protobuf_number(message, count * sizeof *values);
    for (size_t i = 0; i < count; i++) put_float(message, values[i]);
}

void wi_protobuf_doubles(wi_text *message, uint32_t field, const double *values, size_t count) {
    put_key(message, field, LENGTH);
    wi_protobuf_number(message, count * sizeof *values);
    for (size_t i = 0; i < count; i++) put_double(message, values[i]);
}

size_t wi_protobuf_begin(wi_text *message, uint32_t field) {
    put_key(message, field, LENGTH);
    return message->length;
}

/* The length stands before the content, and is known only now: makes room for it. */
void wi_protobuf_end(wi_text *message, size_t begin) {
    char bytes[MOST_VARINT];
    if (message->failed) return;
    const size_t content = message->length - begin, count = print_number(bytes, content);
    wi_text_append_bytes(message, bytes, count);
    if (message->failed) return;
    memmove(message->data + begin + count, message->data + begin, content);
    memcpy(message->data + begin, bytes, count);
}
