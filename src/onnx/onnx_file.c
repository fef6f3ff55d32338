/* See onnx_file.h. The messages are unpacked by protobuf-c. */
#include "onnx/onnx_file.h"
#include "base/file_guess.h"
#include "base/file_read.h"
#include "onnx/onnx_types.h"
#include <math.h>
#include <string.h>

weft_status wi_onnx_file_read(WiOnnx__ModelProto **model, const char *path) {
    char *data;
    size_t bytes;
    *model = NULL;
    WI_TRY(wi_file_read(NULL, path, &data, &bytes));
    const weft_status status = wi_file_refuse_page(path, data, bytes);
    if (status == WEFT_OK) *model = wi_onnx__model_proto__unpack(NULL, bytes, (const uint8_t *)data);
    wi_release(NULL, data);
    WI_TRY(status);
    if (*model && (*model)->graph) return WEFT_OK;
    wi_onnx_file_release(*model);
    *model = NULL;
    WI_FAIL(WEFT_ERROR_FORMAT, "%s is not an ONNX file", path);
}

void wi_onnx_file_release(WiOnnx__ModelProto *model) {
    if (model) wi_onnx__model_proto__free_unpacked(model, NULL);
}

weft_status wi_onnx_dtype(weft_dtype *dtype, int number, const char *what) {
    const wi_onnx_type *const type = wi_onnx_type_of(number);
    if (!type)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "ONNX: '%s' has the ONNX data type %d, which is not supported", what,
            number);
    *dtype = type->dtype;
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
        WI_FAIL(WEFT_ERROR_SHAPE, "ONNX: '%s' has %zu dimensions, expected at most %d", name, tensor->n_dims,
            WEFT_MAX_RANK);
    for (size_t i = 0; i < tensor->n_dims; i++) {
        const int64_t size = tensor->dims[i];
        if (size < 0 || size > INT32_MAX ||
            numbers->count > (size_t)INT64_MAX / 16 / (size_t)(size > 0 ? size : 1))
            WI_FAIL(WEFT_ERROR_SHAPE, "ONNX: '%s' has a dimension of %lld", name, (long long)size);
        numbers->dims[i] = size;
        numbers->count *= (size_t)size;
    }
    return WEFT_OK;
}

/* ---- data ---- */

/* A list of the tensor's own type, as it is stored. Words of i32 hold what is narrower than 32 bits: one element, or a byte of several. */
typedef struct listed {
    size_t count;
    const void *data;
    bool in_words;
} listed;

static listed listed_of(const WiOnnx__TensorProto *tensor, const wi_onnx_type *type) {
    if (tensor->has_raw_data)
        return (listed){tensor->raw_data.len * 8 / (size_t)type->bits, tensor->raw_data.data, false};
    switch (type->number) {
    case WI_ONNX_FLOAT: return (listed){tensor->n_float_data, tensor->float_data, false};
    case WI_ONNX_INT64: return (listed){tensor->n_int64_data, tensor->int64_data, false};
    case WI_ONNX_DOUBLE: return (listed){tensor->n_double_data, tensor->double_data, false};
    case WI_ONNX_UINT32:
    case WI_ONNX_UINT64: return (listed){0, NULL, false}; /* their list is not read */
    default:
        return (listed){
            tensor->n_int32_data * (size_t)(type->bits < 8 ? 8 / type->bits : 1), tensor->int32_data, true};
    }
}

/* Data is little-endian, as the machines that Weft runs on are. */
static double number_at(const listed *from, const wi_onnx_type *type, size_t i) {
    const size_t shared = type->bits < 8 ? 8 / (size_t)type->bits : 1;
    if (!from->in_words) return wi_onnx_type_get(type, from->data, i);
    return wi_onnx_type_get(type, (const int32_t *)from->data + i / shared, i % shared);
}

weft_status wi_onnx_tensor_read(
    wi_onnx_numbers *numbers, wi_arena *arena, const WiOnnx__TensorProto *tensor) {
    const char *const name = name_of(tensor);
    WI_TRY(wi_onnx_tensor_describe(numbers, tensor));
    if (tensor->data_location == 1)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "ONNX: the data of '%s' is in another file, which is not supported: save the model in one file",
            name);
    const wi_onnx_type *const type = wi_onnx_type_of(tensor->data_type);
    const size_t shared = type->bits < 8 ? 8 / (size_t)type->bits : 1;
    const listed from = listed_of(tensor, type);
    if (from.count != (numbers->count + shared - 1) / shared * shared ||
        (tensor->has_raw_data && tensor->raw_data.len * 8 % (size_t)type->bits != 0))
        WI_FAIL(WEFT_ERROR_FORMAT, "ONNX: '%s' has less data than its shape needs", name);
    numbers->data = wi_arena_take(arena, (numbers->count + 1) * sizeof *numbers->data);
    if (!numbers->data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < numbers->count; i++) {
        numbers->data[i] = number_at(&from, type, i);
        if (numbers->dtype == WEFT_F32 && isfinite(numbers->data[i]) && !isfinite((float)numbers->data[i]))
            WI_FAIL(WEFT_ERROR_NOT_FINITE, "ONNX: '%s': element %zu is %g, which does not fit into f32", name,
                i, numbers->data[i]);
    }
    return WEFT_OK;
}
