/* ONNX files that tests write: the messages of the format, field by field. */
#ifndef ONNX_BYTES_H
#define ONNX_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The content of a file. What does not fit ends the program. */
typedef struct onnx_bytes {
    char data[1 << 16];
    size_t length;
} onnx_bytes;

void onnx_put_text(onnx_bytes *b, int field, const char *text);
void onnx_put_bytes(onnx_bytes *b, int field, const void *bytes, size_t count);
void onnx_put_whole(onnx_bytes *b, int field, int64_t value);
void onnx_put_real(onnx_bytes *b, int field, float value);
/* A message within the message: what is put until onnx_end belongs to it. */
size_t onnx_begin(onnx_bytes *b, int field);
void onnx_end(onnx_bytes *b, size_t begun);

/* A model of format 8 and operator set 17 whose graph follows; both end with onnx_end_model. */
size_t onnx_begin_model(onnx_bytes *b);
void onnx_end_model(onnx_bytes *b, size_t begun);
/* An input or output of f32, or of another type: dims "batch 3 ? 8"; a question mark is open without a name. */
void onnx_input(onnx_bytes *b, const char *name, const char *dims);
void onnx_input_typed(onnx_bytes *b, const char *name, int type, const char *dims);
void onnx_output(onnx_bytes *b, const char *name);
/* Initializers: of f32 with the numbers 1/8, 2/8, ..., and of i64. */
void onnx_floats(onnx_bytes *b, const char *name, const char *dims);
void onnx_wholes(onnx_bytes *b, const char *name, const char *dims, const int64_t *values);
/* A node with inputs and outputs "a b c"; attributes may follow onnx_begin_node, until onnx_end. */
void onnx_node(onnx_bytes *b, const char *op, const char *inputs, const char *outputs);
size_t onnx_begin_node(onnx_bytes *b, const char *op, const char *inputs, const char *outputs);
void onnx_attribute_whole(onnx_bytes *b, const char *name, int64_t value);

#endif
