/* Writes ONNX files for tests, field by field. */
#ifndef ONNX_BYTES_H
#define ONNX_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The content of a file. The program ends if it becomes too long. */
typedef struct onnx_bytes {
    char data[1 << 16];
    size_t length;
} onnx_bytes;

void onnx_put_text(onnx_bytes *b, int field, const char *text);
void onnx_put_bytes(onnx_bytes *b, int field, const void *bytes, size_t count);
void onnx_put_whole(onnx_bytes *b, int field, int64_t value);
void onnx_put_real(onnx_bytes *b, int field, float value);
/* Begins a message within the current message: all fields that are written before the corresponding onnx_end belong to it. */
size_t onnx_begin(onnx_bytes *b, int field);
void onnx_end(onnx_bytes *b, size_t begun);

/* Begins a model of format version 8 and operator set 17, and its graph; onnx_end_model ends both. */
size_t onnx_begin_model(onnx_bytes *b);
void onnx_end_model(onnx_bytes *b, size_t begun);
/* Write an input (f32, or of the given type) or an output (f32). dims is a list such as "batch 3 ? 8"; "?" is an open dimension without a
 * name. */
void onnx_input(onnx_bytes *b, const char *name, const char *dims);
void onnx_input_typed(onnx_bytes *b, const char *name, int type, const char *dims);
void onnx_output(onnx_bytes *b, const char *name);
/* Write initializers: onnx_floats of f32 with the values 1/8, 2/8, ...; onnx_wholes of i64. */
void onnx_floats(onnx_bytes *b, const char *name, const char *dims);
void onnx_wholes(onnx_bytes *b, const char *name, const char *dims, const int64_t *values);
/* Write a node; inputs and outputs are lists of names, "a b c". After onnx_begin_node, attributes may follow before onnx_end. */
void onnx_node(onnx_bytes *b, const char *op, const char *inputs, const char *outputs);
size_t onnx_begin_node(onnx_bytes *b, const char *op, const char *inputs, const char *outputs);
void onnx_attribute_whole(onnx_bytes *b, const char *name, int64_t value);

#endif
