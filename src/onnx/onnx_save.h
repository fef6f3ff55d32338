/* Saving graphs as ONNX files. weft_onnx_save (onnx_save.c) walks through a graph and collects the values and nodes of the file in a wi_export.
 * Tables of rows say how each op of Weft is written in ONNX (onnx_save_elementwise.c, _movement.c, _layers.c, _images.c and _recurrent.c); their
 * functions create values and nodes (onnx_save_values.c). They may create more than is needed, because values and nodes that no output
 * depends on are not written. onnx_save_file.c writes the file.
 *
 * Functions that return a value return NULL after an error and if an input is NULL; `status` is the first error. */
#ifndef WI_ONNX_SAVE_H
#define WI_ONNX_SAVE_H

#include "base/key_map.h"
#include "ops/op_table.h"
#include <weft/onnx.h>

/* The numbers of element types in ONNX. */
enum { WI_ONNX_FLOAT = 1, WI_ONNX_INT32 = 6, WI_ONNX_INT64 = 7, WI_ONNX_BOOL = 9 };
int wi_export_type(weft_dtype dtype);

typedef struct wi_export_node wi_export_node;

/* A value of the file: an input, an initializer, or the result of a node. */
typedef struct wi_export_value {
    const char *name;      /* NULL: it gets a name when the file is written */
    wi_export_node *maker; /* NULL: no node computes it */
    bool needed;           /* an output depends on it */
} wi_export_value;

enum { WI_EXPORT_OUTPUTS = 3 };
struct wi_export_node {
    const char *op;
    wi_export_value **inputs; /* NULL ends the list */
    wi_export_value *outputs[WI_EXPORT_OUTPUTS];
    wi_text attributes; /* encoded */
};

/* A range of an initializer's bytes: bytes of a variable, or zeros if `variable` is NULL. */
typedef struct wi_export_part {
    weft_tensor *variable;
    size_t offset, bytes;
} wi_export_part;

/* An initializer. */
typedef struct wi_export_stored {
    wi_export_value value;
    int type, rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t bytes;
    const void *data; /* NULL: the parts have the data */
    const wi_export_part *parts;
    size_t part_count;
} wi_export_stored;

/* An input or output of the file. */
typedef struct wi_export_port {
    wi_export_value *value;
    const weft_tensor *tensor;
    const char *name; /* of an output */
} wi_export_port;

/* How a tensor is written to the file. */
typedef struct wi_export_entry {
    weft_tensor *to;        /* the tensor that is written instead of it; NULL: it is written itself */
    wi_export_value *value; /* NULL: not computed yet */
    wi_export_value *
        first; /* the tensor with its last axis moved behind the first one, as ONNX has images; a recurrent op: its node */
    const char *name; /* in the ONNX file from which the tensor was loaded; NULL: none */
    bool visited, is_missing;
} wi_export_entry;

typedef struct wi_export {
    weft_graph *graph;
    weft_onnx_save_options options;
    wi_arena arena;
    wi_export_entry *entries; /* by the id of the node */
    size_t entry_capacity;
    weft_tensor **order; /* inputs before the nodes that read them */
    size_t order_count, order_capacity;
    wi_export_node **nodes;
    size_t node_count, node_capacity;
    wi_export_stored **stored;
    size_t stored_count, stored_capacity;
    wi_export_port *inputs, *outputs;
    size_t input_count, input_capacity, output_count;
    wi_key_map *known; /* names that are taken, constants and sizes */
    wi_text missing;   /* ops that ONNX cannot express */
    weft_status status;
} wi_export;

/* ---- values ---- */
typedef enum wi_export_kind {
    WI_EXPORT_WHOLE = 2,
    WI_EXPORT_REAL = 1,
    WI_EXPORT_TEXT = 3,
    WI_EXPORT_WHOLES = 7,
    WI_EXPORT_TEXTS = 8
} wi_export_kind;
typedef struct wi_export_attribute {
    const char *name;    /* NULL ends a list */
    wi_export_kind kind; /* the number of the type in ONNX */
    int64_t whole;       /* or the count of `wholes` */
    double real;
    const char *text;
    const int64_t *wholes;
} wi_export_attribute;
#define WI_WHOLE(name, value)                                                                                \
    { (name), WI_EXPORT_WHOLE, (value), 0, NULL, NULL }
#define WI_REAL(name, value)                                                                                 \
    { (name), WI_EXPORT_REAL, 0, (value), NULL, NULL }
#define WI_TEXT(name, value)                                                                                 \
    { (name), WI_EXPORT_TEXT, 0, 0, (value), NULL }
#define WI_TEXTS(name, value)                                                                                \
    { (name), WI_EXPORT_TEXTS, 0, 0, (value), NULL } /* a list of one text */
#define WI_WHOLES(name, list, count)                                                                         \
    { (name), WI_EXPORT_WHOLES, (count), 0, NULL, (list) }
#define WI_WITH(...) ((const wi_export_attribute[]){__VA_ARGS__, {NULL, WI_EXPORT_WHOLE, 0, 0, NULL, NULL}})
#define WI_FROM(...)                                                                                         \
    (wi_export_value *const[]){__VA_ARGS__},                                                                 \
        sizeof((wi_export_value *const[]){__VA_ARGS__}) / sizeof(wi_export_value *)

/* Stands for an optional input that the node does not have. Such inputs at the end of the list are omitted instead. */
extern wi_export_value wi_export_none;
/* Adds a node, and returns its first output. Attributes NULL: none. */
wi_export_value *wi_export_op(wi_export *e, const char *op, wi_export_value *const *inputs, size_t count,
    const wi_export_attribute *attributes);
/* Nodes of one input and of two, without attributes. */
wi_export_value *wi_export_one(wi_export *e, const char *op, wi_export_value *x);
wi_export_value *wi_export_two(wi_export *e, const char *op, wi_export_value *a, wi_export_value *b);
/* Output `index` of the node that makes the value. */
wi_export_value *wi_export_output(wi_export *e, wi_export_value *value, int index);
/* A constant, whose data is copied. Equal constants are written once. */
wi_export_value *wi_export_constant(
    wi_export *e, int type, int rank, const int64_t *dims, const void *data, size_t bytes);
wi_export_value *wi_export_number(wi_export *e, weft_dtype dtype, double number); /* of rank 0 */
wi_export_value *wi_export_ints(wi_export *e, const int64_t *list, int count);
/* (count) equal f32 numbers */
wi_export_value *wi_export_filled(wi_export *e, double number, int64_t count);
/* An initializer whose bytes are ranges of variables. */
wi_export_value *wi_export_stored_parts(wi_export *e, const char *name, int type, const wi_shape *shape,
    const wi_export_part *parts, size_t count);
/* A dimension, as i64 (1); dimensions, as i64 (rank). */
wi_export_value *wi_export_size(wi_export *e, int64_t dim);
wi_export_value *wi_export_shape(wi_export *e, int rank, const int64_t *dims);
wi_export_value *wi_export_cast(wi_export *e, wi_export_value *x, int type);
wi_export_value *wi_export_reshape(
    wi_export *e, wi_export_value *x, const wi_shape *from, const wi_shape *to);
/* Does a dimension depend on the batch or the length? */
bool wi_export_is_open(int64_t dim);
bool wi_export_has_open(const wi_shape *shape);
/* A name that no value has yet, as similar to `wanted` as possible. */
const char *wi_export_name(wi_export *e, const char *wanted);
void wi_export_fail(wi_export *e, weft_status status);
/* Records that ONNX cannot express the op of y with its options, once for each op; returns NULL. */
wi_export_value *wi_export_refuse(wi_export *e, const weft_tensor *y, const char *why);

/* ---- tensors ---- */
/* The tensor that is written in place of x. */
weft_tensor *wi_export_resolve(const wi_export *e, weft_tensor *x);
wi_export_value *wi_export_of(wi_export *e, weft_tensor *x);
/* The channels-last x as an image of ONNX, (N, C, ...). */
wi_export_value *wi_export_first(wi_export *e, weft_tensor *x);
wi_export_entry *wi_export_entry_of(const wi_export *e, const weft_tensor *x);

/* ---- how ops are written ---- */

/* How an op of Weft is written. If an op has several rows, the first row is used whose op is in the opset and whose `fits` is true. */
typedef struct wi_export_row {
    const wi_op *op;
    const char
        *name; /* the op of ONNX; without `emit` and `rewrite`, its inputs are those of the op of Weft */
    const wi_export_attribute *with; /* attributes of the op of ONNX; NULL: none */
    size_t axis;   /* WI_AXIS: the attribute "axis" is this field of the attributes of Weft */
    int since;     /* the first opset that has the op of ONNX */
    bool is_image; /* `emit` returns what wi_export_first does, instead of what wi_export_of does */
    wi_export_value *(*emit)(wi_export *e, weft_tensor *y, const char *name);
    bool (*fits)(const wi_export *e, const weft_tensor *y); /* NULL: every node does */
    weft_tensor *(*rewrite)(weft_tensor *y);                /* nodes that compute y and are written instead */
} wi_export_row;
#define WI_AXIS(type) (1 + offsetof(type, axis))
extern const wi_export_row wi_export_elementwise_rows[], wi_export_movement_rows[], wi_export_layer_rows[],
    wi_export_image_rows[], wi_export_recurrent_rows[];            /* {0} ends a list */
bool wi_export_is_float(const wi_export *e, const weft_tensor *y); /* is the first input a float? */

/* Write the convolution y, as an image of ONNX, and the matrix product y. bias NULL: none. */
wi_export_value *wi_export_conv(wi_export *e, weft_tensor *y, weft_tensor *bias);
wi_export_value *wi_export_gemm(wi_export *e, weft_tensor *y, weft_tensor *bias);
/* y is a reshape. The output of a recurrent node that has the value of y; NULL: y is not an output of one. */
wi_export_value *wi_export_scan_part(wi_export *e, weft_tensor *y);

/* ---- the file ---- */
weft_status wi_export_write(const wi_export *e, const char *path);
void wi_export_encode(wi_text *text, const wi_export_attribute *attribute);

#endif
