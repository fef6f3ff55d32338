/* See onnx_wire.h. The encoding is https://protobuf.dev/programming-guides/encoding. */
#include "onnx/onnx_wire.h"
#include "base/protobuf.h"
#include "onnx_model.pb-c.h"
#include <string.h>

/* PRIVATE: fields with this number or a higher one are Weft's own extensions. DEEPEST: the largest depth of nested messages. */
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5, PRIVATE = 1000, DEEPEST = 64, LENGTH_BYTES = 5 };
/* The numbers of fields of TensorProto. */
enum { FLOATS = 4, RAW = 9, DOUBLES = 10, DATA_ADDRESS = 1001, DATA_LENGTH, DATA_KIND };
/* The memory that protobuf-c may allocate for a file: a fixed amount, plus a multiple of the bytes of the file that are not
 * data of tensors. The limit is for malicious files: a short message takes far more memory than it has bytes. */
enum { MEMORY_LEAST = 64 << 20, MEMORY_RATIO = 24, PER_BLOCK = 32 };

typedef struct pass {
    wi_text *out;
    size_t used, allowed; /* of memory */
    const char *why;      /* NULL: no error */
} pass;

typedef struct field {
    uint32_t number, wire;
    uint64_t value;         /* of a varint, or the length */
    const uint8_t *content; /* of a field with a length */
    const uint8_t *begin;   /* of the field, with its key */
} field;

static bool fails(pass *p, const char *why) {
    if (!p->why) p->why = why;
    return false;
}

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool skip(const uint8_t **at, const uint8_t *end, uint64_t bytes) {
    if (bytes > (uint64_t)(end - *at)) return false;
    *at += bytes;
    return true;
}

static bool read_field(pass *p, field *f, const uint8_t **at, const uint8_t *end) {
    uint64_t key;
    *f = (field){.begin = *at};
    if (!read_varint(at, end, &key) || key >> 3 == 0 || key >> 3 > 536870911)
        return fails(p, "the key of a field is damaged");
    f->number = (uint32_t)(key >> 3);
    f->wire = (uint32_t)(key & 7);
    bool good = true;
    switch (f->wire) {
    case VARINT: good = read_varint(at, end, &f->value); break;
    case FIXED64: good = skip(at, end, 8); break;
    case FIXED32: good = skip(at, end, 4); break;
    case LENGTH:
        good = read_varint(at, end, &f->value);
        f->content = *at;
        good = good && skip(at, end, f->value);
        break;
    default: return fails(p, "a field has an unknown type");
    }
    return good || fails(p, "a field is longer than what contains it, or the file is cut off");
}

static bool is_repeated(const ProtobufCFieldDescriptor *known) {
    return known->label == PROTOBUF_C_LABEL_REPEATED;
}

static bool has_length(const ProtobufCFieldDescriptor *known) {
    return known->type == PROTOBUF_C_TYPE_STRING || known->type == PROTOBUF_C_TYPE_BYTES ||
           known->type == PROTOBUF_C_TYPE_MESSAGE;
}

static uint32_t wire_of(const ProtobufCFieldDescriptor *known) {
    if (has_length(known)) return LENGTH;
    return known->type == PROTOBUF_C_TYPE_FLOAT    ? FIXED32
           : known->type == PROTOBUF_C_TYPE_DOUBLE ? FIXED64
                                                   : VARINT;
}

/* A list of numbers may be packed into one field. */
static bool fits(const ProtobufCFieldDescriptor *known, const field *f) {
    if (f->wire == wire_of(known)) return true;
    if (f->wire != LENGTH || !is_repeated(known)) return false;
    const uint32_t wire = wire_of(known);
    if (wire != VARINT) return f->value % (wire == FIXED32 ? 4 : 8) == 0;
    return f->value == 0 || f->content[f->value - 1] < 0x80;
}

/* Counts the memory that the field takes once it is unpacked. Each byte of a packed list may be a number. */
static bool count_memory(pass *p, const ProtobufCFieldDescriptor *known, const field *f) {
    p->used += PER_BLOCK;
    if (known->type == PROTOBUF_C_TYPE_MESSAGE)
        p->used += ((const ProtobufCMessageDescriptor *)known->descriptor)->sizeof_message;
    else if (f->wire == LENGTH)
        p->used += (has_length(known) ? 1 : 8) * (size_t)f->value;
    return p->used <= p->allowed || fails(p, "it has far more fields than its size justifies");
}

static bool is_data(const ProtobufCMessageDescriptor *message, const field *f) {
    return message == &wi_onnx__tensor_proto__descriptor && f->wire == LENGTH &&
           (f->number == RAW || f->number == FLOATS || f->number == DOUBLES);
}

/* Records where the data of a tensor is. A tensor may have only one field of data, as all writers produce. */
static bool note_data(pass *p, field *data, const field *f) {
    if (data->content) return fails(p, "the data of a tensor is in several parts");
    *data = *f;
    return true;
}

static void put_data(pass *p, const field *data) {
    const uint64_t values[] = {(uint64_t)(uintptr_t)data->content, data->value, data->number};
    for (uint32_t i = 0; i < 3; i++) {
        wi_protobuf_number(p->out, (uint64_t)(DATA_ADDRESS + i) << 3 | VARINT);
        wi_protobuf_number(p->out, values[i]);
    }
}

static bool copy_message(
    pass *p, const ProtobufCMessageDescriptor *message, const uint8_t *at, const uint8_t *end, int depth);

/* Copies a nested message. Its length is known only at the end, so five bytes, enough for any length, are reserved before it. */
static bool copy_inner(pass *p, const ProtobufCFieldDescriptor *known, const field *f, int depth) {
    wi_protobuf_number(p->out, (uint64_t)f->number << 3 | LENGTH);
    const size_t place = p->out->length;
    wi_text_append_bytes(p->out, "\0\0\0\0\0", LENGTH_BYTES);
    if (p->out->failed || !copy_message(p, known->descriptor, f->content, f->content + f->value, depth + 1))
        return false;
    size_t length = p->out->length - place - LENGTH_BYTES;
    if (p->out->failed) return false;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        p->out->data[place + (size_t)i] = (char)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    return true;
}

/* Copies a field. `seen` has a bit for each field so far: a message that occurs twice, which protobuf would merge, is refused, because no
 * writer produces it. */
static bool copy_field(pass *p, const ProtobufCMessageDescriptor *message, const field *f, const uint8_t *end,
    uint32_t *seen, int depth) {
    const ProtobufCFieldDescriptor *const known =
        f->number < PRIVATE ? protobuf_c_message_descriptor_get_field(message, f->number) : NULL;
    if (!known) return true;
    if (!fits(known, f)) return fails(p, "a field has the wrong type");
    const uint32_t bit = 1u << (known - message->fields);
    if (!is_repeated(known) && *seen & bit) return fails(p, "a field is there twice");
    *seen |= bit;
    if (!count_memory(p, known, f)) return false;
    if (known->type == PROTOBUF_C_TYPE_MESSAGE) return copy_inner(p, known, f, depth);
    if (known->type == PROTOBUF_C_TYPE_STRING && f->value > 0 && memchr(f->content, 0, (size_t)f->value))
        return fails(p, "a text holds a zero byte");
    wi_text_append_bytes(p->out, (const char *)f->begin, (size_t)(end - f->begin));
    return true;
}

static bool copy_message(
    pass *p, const ProtobufCMessageDescriptor *message, const uint8_t *at, const uint8_t *end, int depth) {
    field data = {0}, f;
    uint32_t seen = 0;
    if (depth > DEEPEST) return fails(p, "its messages are nested too deeply");
    while (at < end) {
        if (!read_field(p, &f, &at, end)) return false;
        if (is_data(message, &f) ? !note_data(p, &data, &f) : !copy_field(p, message, &f, at, &seen, depth))
            return false;
    }
    if (data.content) put_data(p, &data);
    return !p->out->failed;
}

weft_status wi_onnx_wire(wi_text *skeleton, const ProtobufCMessageDescriptor *message, const void *bytes,
    size_t size, const char *what) {
    const uint8_t *const begin = bytes;
    const size_t most = SIZE_MAX / (2 * MEMORY_RATIO);
    pass p = {.out = skeleton, .allowed = MEMORY_LEAST + MEMORY_RATIO * (size < most ? size : most)};
    if (copy_message(&p, message, begin, begin + size, 0)) return WEFT_OK;
    if (!p.why) WI_FAIL(WEFT_ERROR_MEMORY, "out of memory for the fields of '%.200s'", what);
    WI_FAIL(WEFT_ERROR_FORMAT, "'%.200s' is not an ONNX file: %s", what, p.why);
}

/* ---- unpacking ---- */

static void *take(void *arena, size_t bytes) {
    return wi_arena_take(arena, bytes);
}

static void keep(void *arena, void *block) {
    (void)arena;
    (void)block;
}

weft_status wi_onnx_unpack(ProtobufCMessage **unpacked, wi_arena *arena,
    const ProtobufCMessageDescriptor *message, const void *bytes, size_t size, const char *what) {
    wi_text skeleton;
    ProtobufCAllocator allocator = {take, keep, arena};
    wi_text_init(&skeleton, arena->allocator);
    weft_status status = wi_onnx_wire(&skeleton, message, bytes, size, what);
    *unpacked = NULL;
    if (status == WEFT_OK && skeleton.length > INT32_MAX)
        status =
            wi_fail(WEFT_ERROR_UNSUPPORTED, "'%.200s' has more than 2 GB besides the data of tensors", what);
    if (status == WEFT_OK) {
        *unpacked = protobuf_c_message_unpack(
            message, &allocator, skeleton.length, (const uint8_t *)(skeleton.data ? skeleton.data : ""));
        if (!*unpacked) status = wi_fail(WEFT_ERROR_MEMORY, "out of memory for '%.200s'", what);
    }
    wi_text_clear(&skeleton);
    return status;
}
