/* Reads the records of an event file, and checks their lengths and checksums; reads the fields of their messages. The code shares
 * nothing with the library. */
#ifndef EVENT_RECORDS_H
#define EVENT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct proto_bytes {
    const unsigned char *data;
    size_t size;
} proto_bytes;

typedef struct event_records {
    char *file; /* the content, to which the records point */
    proto_bytes *records;
    size_t count;
} event_records;

/* The test fails if the file is not a sequence of whole records. */
event_records event_records_read(const char *path);
void event_records_free(event_records *records);

/* A field of a protobuf message. number: a varint or the bits of a fixed-size number; bytes: the content of a field with a length.
 * proto_find finds the occurrence `index`, from 0, of the field with the number `field`; false: there is none. The test fails if the bytes
 * are no valid message. */
typedef struct proto_field {
    uint64_t number;
    proto_bytes bytes;
} proto_field;
bool proto_find(proto_bytes message, uint32_t field, size_t index, proto_field *found);
/* The following functions fail the test if there is no such field. */
proto_bytes proto_message(proto_bytes message, uint32_t field, size_t index);
uint64_t proto_number(proto_bytes message, uint32_t field);
double proto_double(proto_bytes message, uint32_t field);
float proto_float(proto_bytes message, uint32_t field);
bool proto_is(proto_bytes message, uint32_t field, size_t index, const char *text);

/* ---- the contents of events ---- */
size_t event_step(proto_bytes event); /* 0 if it is not there */
/* Finds value number `index`, from 0, with this tag in the summaries of all events. *step: the step of its event. Returns false if there is
 * none. */
bool event_value(
    const event_records *records, const char *tag, size_t index, proto_bytes *value, size_t *step);
size_t event_count(const event_records *records, const char *tag);

#endif
