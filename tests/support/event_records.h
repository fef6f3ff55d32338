/* The records of an event file, whose lengths and checksums are tested while they are read, and the fields of their
 * messages. The code is independent of the library's. */
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

/* The field of this number, the first from `index` 0 on, in a message; the test fails if the bytes are no message. False:
 * there is none. number: a varint or the bits of a fixed number; bytes: of a field with a length. */
typedef struct proto_field {
    uint64_t number;
    proto_bytes bytes;
} proto_field;
bool proto_find(proto_bytes message, uint32_t field, size_t index, proto_field *found);
/* These fail the test if there is no such field. */
proto_bytes proto_message(proto_bytes message, uint32_t field, size_t index);
uint64_t proto_number(proto_bytes message, uint32_t field);
double proto_double(proto_bytes message, uint32_t field);
float proto_float(proto_bytes message, uint32_t field);
bool proto_is(proto_bytes message, uint32_t field, size_t index, const char *text);

/* What events of a file say of a tag. */
size_t event_step(proto_bytes event); /* 0 if it is not there */
/* Value number `index` of the summary with this tag, from any event of the file. *step: of the event. False: there is
 * none. */
bool event_value(
    const event_records *records, const char *tag, size_t index, proto_bytes *value, size_t *step);
size_t event_count(const event_records *records, const char *tag);

#endif
