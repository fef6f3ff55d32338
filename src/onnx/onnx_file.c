/* See onnx_file.h. The messages are unpacked by protobuf-c. */
#include "onnx/onnx_file.h"
#include "base/file_guess.h"
#include "base/file_read.h"
#include "graph/dtype.h"
#include <math.h>
#include <string.h>

/* Types of the specification that are taken, by their number there: as they are stored, and as what they are computed. */
static const struct {
    int number;
    weft_dtype stored, dtype;
} types[] = {{1, WEFT_F32, WEFT_F32}, {2, WEFT_U8, WEFT_I32}, {6, WEFT_I32, WEFT_I32},
    {7, WEFT_I64, WEFT_I32}, {9, WEFT_BOOL, WEFT_BOOL}, {10, WEFT_F16, WEFT_F32}, {11, WEFT_F64, WEFT_F32},
    {16, WEFT_BF16, WEFT_F32}};

/* -1: of no type that is taken. */
static int type_of(int number) {
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (types[i].number == number) return i;
    return -1;
}

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
    const int type = type_of(number);
    if (type < 0)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "ONNX: '%s' has the ONNX data type %d, which is not supported", what,
            number);
    *dtype = types[type].dtype;
    return WEFT_OK;
}

static const char *name_of(const WiOnnx__TensorProto *tensor) {
    return tensor->name && tensor->name[0] ? tensor->name : "a constant";
}

weft_status wi_onnx_tensor_describe(wi_onnx_numbers *numbers, const WiOnnx__TensorProto *tensor) {
    const char *const name = name_of(tensor);
    *numbers = (wi_onnx_numbers){.type = tensor->data_type, .rank = (int)tensor->n_dims, .count = 1};
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

/* A list of the tensor's own type, as it is stored: wider words hold what is narrower than 32 bits. */
typedef struct listed {
    size_t count;
    const void *data;
    bool in_words; /* of i32, one for each number */
} listed;

static listed listed_of(const WiOnnx__TensorProto *tensor, weft_dtype stored) {
    switch (stored) {
    case WEFT_F32: return (listed){tensor->n_float_data, tensor->float_data, false};
    case WEFT_F64: return (listed){tensor->n_double_data, tensor->double_data, false};
    case WEFT_I64: return (listed){tensor->n_int64_data, tensor->int64_data, false};
    default: return (listed){tensor->n_int32_data, tensor->int32_data, true};
    }
}

/* Both kinds of data are little-endian here, as the machines that Weft runs on are. */
static double number_at(const listed *from, const wi_format *format, size_t i) {
    if (!from->in_words) return format->get(from->data, i);
    const int32_t word = ((const int32_t *)from->data)[i];
    return format->get(&word, 0);
}

weft_status wi_onnx_tensor_read(
    wi_onnx_numbers *numbers, wi_arena *arena, const WiOnnx__TensorProto *tensor) {
    const char *const name = name_of(tensor);
    WI_TRY(wi_onnx_tensor_describe(numbers, tensor));
    if (tensor->data_location == 1)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "ONNX: the data of '%s' is in another file, which is not supported: save the model in one file",
            name);
    const wi_format *const format = wi_format_of(types[type_of(tensor->data_type)].stored);
    const size_t raw = tensor->raw_data.len;
    const listed from = tensor->has_raw_data ? (listed){raw / format->size, tensor->raw_data.data, false}
                                             : listed_of(tensor, types[type_of(tensor->data_type)].stored);
    if (from.count != numbers->count || (tensor->has_raw_data && raw % format->size != 0))
        WI_FAIL(WEFT_ERROR_FORMAT, "ONNX: '%s' has less data than its shape needs", name);
    numbers->data = wi_arena_take(arena, (numbers->count + 1) * sizeof *numbers->data);
    if (!numbers->data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < numbers->count; i++) {
        numbers->data[i] = number_at(&from, format, i);
        if (numbers->dtype == WEFT_F32 && isfinite(numbers->data[i]) && !isfinite((float)numbers->data[i]))
            WI_FAIL(WEFT_ERROR_NOT_FINITE, "ONNX: '%s': element %zu is %g, which does not fit into f32", name,
                i, numbers->data[i]);
    }
    return WEFT_OK;
}
