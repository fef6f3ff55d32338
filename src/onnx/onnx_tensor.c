/* Tensors that are stored in ONNX files (contract in onnx_file.h). Their data is little-endian, as the machines are that
 * Weft runs on, and has any alignment. */
#include "graph/dtype.h"
#include "onnx/onnx_types.h"
#include <math.h>
#include <string.h>

/* The fields of TensorProto that can have data, by their numbers. The list of 32-bit words also stores types of up to 16 bits:
 * each word is an integer, or the bits of a float, or a byte with several elements. */
enum { IN_FLOATS = 4, IN_WORDS = 5, IN_LONGS = 7, IN_RAW = 9, IN_DOUBLES = 10, IN_UNSIGNED = 11 };

weft_status wi_onnx_dtype(weft_dtype *dtype, int number, const char *what) {
    const wi_onnx_type *const type = wi_onnx_type_of(number);
    if (!type)
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED,
            "'%.80s' has the ONNX data type %d, which is not supported", what, number);
    *dtype = type->dtype;
    return WEFT_OK;
}

static const char *name_of(const WiOnnx__TensorProto *tensor) {
    return tensor->name && tensor->name[0] ? tensor->name : "a constant";
}

static weft_status read_shape(wi_onnx_numbers *numbers, const WiOnnx__TensorProto *tensor) {
    const char *const name = name_of(tensor);
    *numbers = (wi_onnx_numbers){.rank = (int)tensor->n_dims, .count = 1, .type = tensor->data_type};
    WI_TRY(wi_onnx_dtype(&numbers->dtype, tensor->data_type, name));
    if (tensor->n_dims > WEFT_MAX_RANK)
        return wi_onnx_error(WEFT_ERROR_SHAPE, "'%.80s' has %zu dimensions, expected at most %d", name,
            tensor->n_dims, WEFT_MAX_RANK);
    for (size_t i = 0; i < tensor->n_dims; i++) {
        const int64_t size = tensor->dims[i];
        if (size < 0 || size > INT32_MAX ||
            numbers->count > (size_t)INT64_MAX / 16 / (size_t)(size > 0 ? size : 1))
            return wi_onnx_error(WEFT_ERROR_SHAPE, "'%.80s' has a dimension of %lld", name, (long long)size);
        numbers->dims[i] = size;
        numbers->count *= (size_t)size;
    }
    return WEFT_OK;
}

/* ---- data ---- */

/* The data of a tensor: raw bytes, in which elements are packed; or a list of words, which may be wider than an element. */
typedef struct elements {
    const unsigned char *data;
    size_t bytes;
    size_t word;   /* bytes of a word */
    size_t shared; /* elements in a word */
    const wi_onnx_type *type;
} elements;

static elements list_of(const WiOnnx__TensorProto *tensor, const wi_onnx_type *type, uint32_t *field) {
    const size_t shared = type->bits < 8 ? 8 / (size_t)type->bits : 1;
    switch (type->number) {
    case WI_ONNX_FLOAT:
        *field = IN_FLOATS;
        return (elements){(void *)tensor->float_data, 4 * tensor->n_float_data, 4, 1, type};
    case WI_ONNX_DOUBLE:
        *field = IN_DOUBLES;
        return (elements){(void *)tensor->double_data, 8 * tensor->n_double_data, 8, 1, type};
    case WI_ONNX_INT64:
        *field = IN_LONGS;
        return (elements){(void *)tensor->int64_data, 8 * tensor->n_int64_data, 8, 1, type};
    case WI_ONNX_UINT32:
    case WI_ONNX_UINT64:
        *field = IN_UNSIGNED;
        return (elements){(void *)tensor->uint64_data, 8 * tensor->n_uint64_data, 8, 1, type};
    default:
        *field = IN_WORDS;
        return (elements){(void *)tensor->int32_data, 4 * tensor->n_int32_data, 4, shared, type};
    }
}

static weft_status find_elements(elements *e, const WiOnnx__TensorProto *tensor, size_t count) {
    const wi_onnx_type *const type = wi_onnx_type_of(tensor->data_type);
    uint32_t field;
    *e = list_of(tensor, type, &field);
    if (!tensor->has_data_address && tensor->data_location == 1)
        return wi_onnx_error(
            WEFT_ERROR_UNSUPPORTED, "the data of '%.80s' is in another file", name_of(tensor));
    if (tensor->has_data_address && tensor->data_kind == IN_RAW)
        e->word = type->bits < 8 ? 1 : (size_t)type->bits / 8,
        e->shared = type->bits < 8 ? 8 / (size_t)type->bits : 1;
    if (tensor->has_data_address && (tensor->data_kind == IN_RAW || tensor->data_kind == field)) {
        e->data = (const unsigned char *)(uintptr_t)tensor->data_address;
        e->bytes = (size_t)tensor->data_length;
    }
    const size_t needed = (count + e->shared - 1) / e->shared * e->word;
    if (e->bytes == needed) return WEFT_OK;
    return wi_onnx_error(WEFT_ERROR_FORMAT, "'%.80s' has %zu bytes of data, but its shape needs %zu",
        name_of(tensor), e->bytes, needed);
}

weft_status wi_onnx_tensor_describe(wi_onnx_numbers *numbers, const WiOnnx__TensorProto *tensor) {
    elements e;
    WI_TRY(read_shape(numbers, tensor));
    return find_elements(&e, tensor, numbers->count);
}

static double element_at(const elements *e, size_t i) {
    uint64_t word = 0; /* a copy, because the data may not be aligned */
    memcpy(&word, e->data + i / e->shared * e->word, e->word);
    return wi_onnx_type_get(e->type, &word, i % e->shared);
}

static weft_status check_f32(const WiOnnx__TensorProto *tensor, size_t i, double value) {
    if (!isfinite(value) || isfinite((float)value)) return WEFT_OK;
    return wi_onnx_error(WEFT_ERROR_NOT_FINITE, "'%.80s': element %zu is %g, which does not fit into f32",
        name_of(tensor), i, value);
}

weft_status wi_onnx_tensor_read(
    wi_onnx_numbers *numbers, wi_arena *arena, const WiOnnx__TensorProto *tensor) {
    elements e;
    WI_TRY(read_shape(numbers, tensor));
    WI_TRY(find_elements(&e, tensor, numbers->count));
    numbers->data = wi_arena_take(arena, (numbers->count + 1) * sizeof *numbers->data);
    if (!numbers->data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < numbers->count; i++) {
        numbers->data[i] = element_at(&e, i);
        if (numbers->dtype == WEFT_F32) WI_TRY(check_f32(tensor, i, numbers->data[i]));
    }
    return WEFT_OK;
}

static weft_status write_element(
    void *written, const elements *e, size_t i, const WiOnnx__TensorProto *tensor) {
    const double value = element_at(e, i);
    if (e->type->dtype == WEFT_F32) WI_TRY(check_f32(tensor, i, value));
    if (e->type->dtype == WEFT_I32 && !(value >= INT32_MIN && value <= INT32_MAX))
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED,
            "'%.80s': element %zu is %.0f, which does not fit into i32", name_of(tensor), i, value);
    wi_format_of(e->type->dtype)->put(written, i, value);
    return WEFT_OK;
}

/* Converts in blocks, so that of a large tensor in a mapped file only one block is in memory twice. */
weft_status wi_onnx_tensor_write(void *written, const WiOnnx__TensorProto *tensor) {
    enum { PART = 1 << 22 };
    wi_onnx_numbers shape;
    elements e;
    WI_TRY(read_shape(&shape, tensor));
    WI_TRY(find_elements(&e, tensor, shape.count));
    for (size_t begin = 0; begin < shape.count; begin += PART) {
        const size_t end = shape.count - begin < PART ? shape.count : begin + PART, count = end - begin;
        const unsigned char *const from = e.data + begin / e.shared * e.word;
        if (tensor->data_type == WI_ONNX_FLOAT)
            memcpy((float *)written + begin, from, count * sizeof(float));
        else
            for (size_t i = begin; i < end; i++) WI_TRY(write_element(written, &e, i, tensor));
        if (tensor->data_mapped) wi_file_map_drop(from, count / e.shared * e.word);
    }
    return WEFT_OK;
}
