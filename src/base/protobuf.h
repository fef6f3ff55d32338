/* Writes messages of protobuf (https://protobuf.dev/programming-guides/encoding) to a text, field by field. */
#ifndef WI_PROTOBUF_H
#define WI_PROTOBUF_H

#include "base/memory.h"
#include <stdint.h>

/* Appends a number in the variable-length form, without a field. */
void wi_protobuf_number(wi_text *message, uint64_t value);

/* Append a field. Packed: all numbers in one field. */
void wi_protobuf_integer(wi_text *message, uint32_t field, uint64_t value);
void wi_protobuf_float(wi_text *message, uint32_t field, float value);
void wi_protobuf_double(wi_text *message, uint32_t field, double value);
void wi_protobuf_bytes(wi_text *message, uint32_t field, const void *bytes, size_t count);
void wi_protobuf_string(wi_text *message, uint32_t field, const char *text);
void wi_protobuf_floats(wi_text *message, uint32_t field, const float *values, size_t count);
void wi_protobuf_doubles(wi_text *message, uint32_t field, const double *values, size_t count);

/* Begins a field that is a message; what is appended until wi_protobuf_end belongs to it. Returns the position for
 * wi_protobuf_end. Messages may contain others. */
size_t wi_protobuf_begin(wi_text *message, uint32_t field);
void wi_protobuf_end(wi_text *message, size_t begin);

#endif
