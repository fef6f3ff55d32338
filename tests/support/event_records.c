/* See event_records.h. */
#include "support/event_records.h"
#include "base/platform.h"
#include "support/checks.h"

/* CRC-32C bit by bit, masked as in TFRecord. */
static uint32_t masked_crc(const unsigned char *data, size_t bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static uint64_t little_endian(const unsigned char *data, int bytes) {
    uint64_t number = 0;
    while (bytes-- > 0) number = number << 8 | data[bytes];
    return number;
}

event_records event_records_read(const char *path) {
    event_records it = {0};
    size_t bytes = 0;
    assert_ok(wi_file_read(NULL, path, &it.file, &bytes));
    const unsigned char *const data = (const unsigned char *)it.file;
    it.records = calloc(bytes / 16 + 1, sizeof *it.records);
    assert_non_null(it.records);
    for (size_t at = 0; at < bytes;) {
        assert_true(bytes - at >= 16);
        const uint64_t length = little_endian(data + at, 8);
        assert_int_equal(little_endian(data + at + 8, 4), masked_crc(data + at, 8));
        assert_true(length <= bytes - at - 16);
        const proto_bytes record = {data + at + 12, (size_t)length};
        assert_int_equal(little_endian(record.data + length, 4), masked_crc(record.data, record.size));
        it.records[it.count++] = record;
        at += 16 + (size_t)length;
    }
    return it;
}

void event_records_free(event_records *records) {
    wi_release(NULL, records->file);
    free(records->records);
    *records = (event_records){0};
}

static uint64_t take_varint(proto_bytes *rest) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(rest->size > 0 && shift < 64);
        const unsigned char byte = *rest->data++;
        rest->size--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

bool proto_find(proto_bytes rest, uint32_t field, size_t index, proto_field *found) {
    static const size_t fixed[8] = {[1] = 8, [5] = 4};
    while (rest.size) {
        const uint64_t key = take_varint(&rest);
        const unsigned wire = key & 7;
        *found = (proto_field){0};
        assert_true(wire == 0 || wire == 1 || wire == 2 || wire == 5);
        if (wire == 0 || wire == 2) found->number = take_varint(&rest);
        const size_t length = wire == 2 ? (size_t)found->number : fixed[wire];
        assert_true(length <= rest.size);
        found->bytes = (proto_bytes){rest.data, length};
        if (fixed[wire]) found->number = little_endian(rest.data, (int)length);
        rest = (proto_bytes){rest.data + length, rest.size - length};
        if (key >> 3 == field && index-- == 0) return true;
    }
    return false;
}

static proto_field field_of(proto_bytes message, uint32_t field, size_t index) {
    proto_field found;
    if (!proto_find(message, field, index, &found)) fail_msg("no field %u, number %zu", field, index);
    return found;
}

proto_bytes proto_message(proto_bytes message, uint32_t field, size_t index) {
    return field_of(message, field, index).bytes;
}

uint64_t proto_number(proto_bytes message, uint32_t field) {
    return field_of(message, field, 0).number;
}

double proto_double(proto_bytes message, uint32_t field) {
    const uint64_t bits = proto_number(message, field);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float proto_float(proto_bytes message, uint32_t field) {
    const uint32_t bits = (uint32_t)proto_number(message, field);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool proto_is(proto_bytes message, uint32_t field, size_t index, const char *text) {
    proto_field found;
    return proto_find(message, field, index, &found) && found.bytes.size == strlen(text) &&
           memcmp(found.bytes.data, text, found.bytes.size) == 0;
}

size_t event_step(proto_bytes event) {
    proto_field found;
    return proto_find(event, 2, 0, &found) ? (size_t)found.number : 0;
}

bool event_value(
    const event_records *records, const char *tag, size_t index, proto_bytes *value, size_t *step) {
    for (size_t i = 0; i < records->count; i++) {
        proto_field summary, found;
        if (!proto_find(records->records[i], 5, 0, &summary)) continue;
        for (size_t k = 0; proto_find(summary.bytes, 1, k, &found); k++) {
            if (!proto_is(found.bytes, 1, 0, tag) || index-- != 0) continue;
            *value = found.bytes;
            *step = event_step(records->records[i]);
            return true;
        }
    }
    return false;
}

size_t event_count(const event_records *records, const char *tag) {
    proto_bytes value;
    size_t count = 0, step;
    while (event_value(records, tag, count, &value, &step)) count++;
    return count;
}
