/* The checking pass over the bytes of an ONNX file.
 *
 * protobuf-c trusts the lengths in a file and copies everything. This pass reads the bytes once, checks every length
 * and the depth of the messages, drops the fields that Weft does not read, and writes a skeleton for protobuf-c. In the
 * skeleton, the data of tensors is replaced by its address in the mapped file (TensorProto.data_address), so
 * that protobuf-c allocates no more than what the rest of the file justifies. */
#ifndef WI_ONNX_WIRE_H
#define WI_ONNX_WIRE_H

#include "base/memory.h"
#include <protobuf-c/protobuf-c.h>

/* Appends the skeleton of a message to an empty text. WEFT_ERROR_FORMAT: the bytes are not a message of this type. `what`
 * names the file in errors. The caller must not free or change the bytes while tensors of the message are read. */
weft_status wi_onnx_wire(wi_text *skeleton, const ProtobufCMessageDescriptor *message, const void *bytes,
    size_t size, const char *what);
/* Calls wi_onnx_wire, and unpacks the skeleton into memory of the arena. */
weft_status wi_onnx_unpack(ProtobufCMessage **unpacked, wi_arena *arena,
    const ProtobufCMessageDescriptor *message, const void *bytes, size_t size, const char *what);

#endif
