/* Tensors that are stored in ONNX files (contract in onnx_file.h). Their data is little-endian, as the machines are that
 * Weft runs on, and has any alignment. */
#include "graph/dtype.h"
#include "onnx/onnx_file.h"
#include "onnx/onnx_node.h"
#include <math.h>
#include <string.h>

/* The fields of TensorProto that can hold data. */
typedef enum place { IN_FLOATS = 4, IN_WORDS = 5, IN_LONGS = 7, IN_RAW = 9, IN_DOUBLES = 10, IN_UNSIGNED = 11 } place;
typedef enum number_type {
    FLOAT = 1,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    STRING,
    BOOL,
    FLOAT16,
    DOUBLE,
    UINT32,
    UINT64,
    BFLOAT16 = 16,
    UINT4 = 21,
    INT4
} number_type;

/* Types of the specification by their number there. bits: of an element; 0: the type is not supported. list: the field
 * that has the data if raw_data has not. */
static const struct {
    const char *name;
    uint8_t bits, list;
    weft_dtype dtype;
} types[] = {[FLOAT] = {"FLOAT", 32, IN_FLOATS, WEFT_F32}, [UINT8] = {"UINT8", 8, IN_WORDS, WEFT_I32},
    [INT8] = {"INT8", 8, IN_WORDS, WEFT_I32}, [UINT16] = {"UINT16", 16, IN_WORDS, WEFT_I32},
    [INT16] = {"INT16", 16, IN_WORDS, WEFT_I32}, [INT32] = {"INT32", 32, IN_WORDS, WEFT_I32},
    [INT64] = {"INT64", 64, IN_LONGS, WEFT_I32}, [STRING] = {.name = "STRING"},
    [BOOL] = {"BOOL", 8, IN_WORDS, WEFT_BOOL}, [FLOAT16] = {"FLOAT16", 16, IN_WORDS, WEFT_F32},
    [DOUBLE] = {"DOUBLE", 64, IN_DOUBLES, WEFT_F32}, [UINT32] = {"UINT32", 32, IN_UNSIGNED, WEFT_I32},
    [UINT64] = {"UINT64", 64, IN_UNSIGNED, WEFT_I32}, [14] = {.name = "COMPLEX64"}, [15] = {.name = "COMPLEX128"},
    [BFLOAT16] = {"BFLOAT16", 16, IN_WORDS, WEFT_F32}, [17] = {.name = "FLOAT8E4M3FN"},
    [18] = {.name = "FLOAT8E4M3FNUZ"}, [19] = {.name = "FLOAT8E5M2"}, [20] = {.name = "FLOAT8E5M2FNUZ"},
    [UINT4] = {"UINT4", 4, IN_WORDS, WEFT_I32}, [INT4] = {"INT4", 4, IN_WORDS, WEFT_I32},
    [23] = {.name = "FLOAT4E2M1"}, [24] = {.name = "FLOAT8E8M0"}, [25] = {.name = "UINT2"},
    [26] = {.name = "INT2"}};
enum { TYPES = sizeof types / sizeof *types };

const char *wi_onnx_type_name(int number) {
    return number > 0 && number < TYPES && types[number].name ? types[number].name : "an unknown type";
}

weft_status wi_onnx_dtype(weft_dtype *dtype, int number, const char *what) {
    if (number <= 0 || number >= TYPES || !types[number].bits)
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED, "'%s' has the type %d (%s), which is not supported", what,
            number, wi_onnx_type_name(number));
    *dtype = types[number].dtype;
    return WEFT_OK;
}

static const char *name_of(const WiOnnx__TensorProto *tensor) {
    return tensor->name && tensor->name[0] ? tensor->name : "a constant";
}

weft_status wi_onnx_tensor_describe(wi_onnx_numbers *numbers, const WiOnnx__TensorProto *tensor) {
    const char *const name = name_of(tensor);
    *numbers = (wi_onnx_numbers){.rank = (int)tensor->n_dims, .count = 1};
    WI_TRY(wi_onnx_dtype(&numbers->dtype, tensor->data_type, name));
    if (tensor->n_dims > WEFT_MAX_RANK)
        return wi_onnx_error(WEFT_ERROR_SHAPE, "'%s' has %zu dimensions, expected at most %d", name,
            tensor->n_dims, WEFT_MAX_RANK);
    for (size_t i = 0; i < tensor->n_dims; i++) {
        const int64_t size = tensor->dims[i];
        if (size < 0 || size > INT32_MAX ||
            numbers->count > (size_t)INT64_MAX / 16 / (size_t)(size > 0 ? size : 1))
            return wi_onnx_error(
                WEFT_ERROR_SHAPE, "'%s' has a dimension of %lld", name, (long long)size);
        numbers->dims[i] = size;
        numbers->count *= (size_t)size;
    }
    return WEFT_OK;
}

/* ---- data ---- */

/* The elements of a tensor: raw ones, or those of a list, whose words may be wider than the elements. */
typedef struct elements {
    const unsigned char *data;
    size_t bytes, stride; /* stride: bytes between elements; of 4-bit elements between pairs */
    number_type type;
} elements;

static elements list_of(const WiOnnx__TensorProto *tensor, place list) {
    switch (list) {
    case IN_FLOATS: return (elements){(void *)tensor->float_data, 4 * tensor->n_float_data, 4, FLOAT};
    case IN_DOUBLES: return (elements){(void *)tensor->double_data, 8 * tensor->n_double_data, 8, DOUBLE};
    case IN_LONGS: return (elements){(void *)tensor->int64_data, 8 * tensor->n_int64_data, 8, INT64};
    case IN_UNSIGNED: return (elements){(void *)tensor->uint64_data, 8 * tensor->n_uint64_data, 8, UINT64};
    default: return (elements){(void *)tensor->int32_data, 4 * tensor->n_int32_data, 4, INT32};
    }
}

/* Words of a list have the number itself, or the bits of a float or a pair. */
static weft_status find_elements(elements *e, const WiOnnx__TensorProto *tensor, size_t count) {
    const number_type type = (number_type)tensor->data_type;
    const place list = (place)types[type].list;
    const size_t pairs = types[type].bits == 4 ? (count + 1) / 2 : count;
    *e = list_of(tensor, list);
    if (tensor->has_data_address && (tensor->data_kind == IN_RAW || tensor->data_kind == (uint32_t)list)) {
        if (tensor->data_kind == IN_RAW) e->stride = types[type].bits == 4 ? 1 : types[type].bits / 8;
        e->data = (const unsigned char *)(uintptr_t)tensor->data_address;
        e->bytes = (size_t)tensor->data_length;
        if (tensor->data_kind == IN_RAW) e->type = type;
    } else if (tensor->data_location == 1) {
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED, "the data of '%s' is in another file, and no folder is known",
            name_of(tensor));
    }
    const bool has_bits = type == FLOAT16 || type == BFLOAT16 || types[type].bits == 4;
    if (has_bits) e->type = type;
    if (e->bytes / e->stride == pairs && e->bytes % e->stride == 0) return WEFT_OK;
    return wi_onnx_error(WEFT_ERROR_FORMAT, "'%s' has %zu bytes of data, but its shape needs %zu",
        name_of(tensor), e->bytes, pairs * e->stride);
}

static double element_at(const elements *e, size_t i) {
    union {
        float f32;
        double f64;
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } at = {.u64 = 0};
    const bool is_pair = e->type == UINT4 || e->type == INT4;
    memcpy(&at, e->data + (is_pair ? i / 2 : i) * e->stride, e->stride);
    switch (e->type) {
    case FLOAT: return (double)at.f32;
    case DOUBLE: return at.f64;
    case UINT8: return at.u8;
    case INT8: return at.i8;
    case UINT16: return at.u16;
    case INT16: return at.i16;
    case INT32: return at.i32;
    case UINT32: return at.u32;
    case INT64: return (double)at.i64;
    case UINT64: return (double)at.u64;
    case FLOAT16: return wi_format_of(WEFT_F16)->get(&at.u16, 0);
    case BFLOAT16: return wi_format_of(WEFT_BF16)->get(&at.u16, 0);
    case BOOL: return at.u8 != 0;
    default: break;
    }
    const int nibble = at.u8 >> (i % 2 ? 4 : 0) & 15;
    return e->type == INT4 && nibble > 7 ? nibble - 16 : nibble;
}

static bool fits_f32(double value) {
    return !isfinite(value) || isfinite((float)value);
}

static weft_status check_f32(const WiOnnx__TensorProto *tensor, size_t i, double value) {
    if (fits_f32(value)) return WEFT_OK;
    return wi_onnx_error(WEFT_ERROR_NOT_FINITE, "'%s': element %zu is %g, which does not fit into f32",
        name_of(tensor), i, value);
}

weft_status wi_onnx_tensor_read(
    wi_onnx_numbers *numbers, wi_arena *arena, const WiOnnx__TensorProto *tensor) {
    elements e;
    WI_TRY(wi_onnx_tensor_describe(numbers, tensor));
    WI_TRY(find_elements(&e, tensor, numbers->count));
    numbers->data = wi_arena_take(arena, (numbers->count + 1) * sizeof *numbers->data);
    if (!numbers->data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < numbers->count; i++) {
        const double value = element_at(&e, i);
        if (numbers->dtype == WEFT_F32) WI_TRY(check_f32(tensor, i, value));
        numbers->data[i] = numbers->dtype == WEFT_BOOL ? value != 0 : value;
    }
    return WEFT_OK;
}

weft_status wi_onnx_tensor_write(void *written, const WiOnnx__TensorProto *tensor) {
    wi_onnx_numbers shape;
    elements e;
    WI_TRY(wi_onnx_tensor_describe(&shape, tensor));
    WI_TRY(find_elements(&e, tensor, shape.count));
    const wi_format *const format = wi_format_of(shape.dtype);
    if (e.type == FLOAT) {
        if (shape.count > 0) memcpy(written, e.data, shape.count * sizeof(float));
        return WEFT_OK;
    }
    for (size_t i = 0; i < shape.count; i++) {
        const double value = element_at(&e, i);
        if (shape.dtype == WEFT_F32) WI_TRY(check_f32(tensor, i, value));
        if (shape.dtype == WEFT_I32 && !(value >= INT32_MIN && value <= INT32_MAX))
            return wi_onnx_error(WEFT_ERROR_UNSUPPORTED, "'%s': element %zu is %.0f, which does not fit into i32",
                name_of(tensor), i, value);
        format->put(written, i, value);
    }
    return WEFT_OK;
}
