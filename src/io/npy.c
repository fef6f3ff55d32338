/* NumPy arrays to and from files (contract in npy.h and weft/io.h). */
#include "io/npy.h"
#include "base/platform.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 64, HEADER = 512, PART = 1 << 16 /* elements that are read at once */ };

/* ---- reading ---- */

/* A walk over the elements in row-major order: index of the current element, and its offset in elements of the file. */
typedef struct walk {
    int64_t index[WEFT_MAX_RANK];
    size_t stride[WEFT_MAX_RANK], offset;
} walk;

static walk begin_walk(const wi_npy *npy) {
    walk w = {.offset = 0};
    size_t stride = 1;
    for (int i = 0; i < npy->rank; i++) {
        const int axis = npy->fortran ? i : npy->rank - 1 - i;
        w.stride[axis] = stride;
        stride *= (size_t)npy->dims[axis];
    }
    return w;
}

static void next_element(walk *w, const wi_npy *npy) {
    for (int axis = npy->rank; axis-- > 0;) {
        w->offset += w->stride[axis];
        if (++w->index[axis] < npy->dims[axis]) return;
        w->offset -= w->stride[axis] * (size_t)npy->dims[axis];
        w->index[axis] = 0;
    }
}

/* The bits of an element, which may have either byte order. */
static uint64_t element_bits(const wi_npy *npy, size_t offset) {
    const unsigned char *const bytes = npy->data + offset * npy->size;
    uint64_t bits = 0;
    for (size_t i = 0; i < npy->size; i++)
        bits |= (uint64_t)bytes[i] << 8 * (npy->big_endian ? npy->size - 1 - i : i);
    return bits;
}

static int64_t signed_value(uint64_t bits, size_t size) {
    const uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return (int64_t)((bits ^ sign) - sign);
}

/* A float of 2, 4 or 8 bytes. */
static double float_value(uint64_t bits, size_t size) {
    const uint16_t half = (uint16_t)bits;
    const uint32_t single = (uint32_t)bits;
    if (size == 2) return wi_format_of(WEFT_F16)->get(&half, 0);
    return size == 4 ? wi_format_of(WEFT_F32)->get(&single, 0) : wi_format_of(WEFT_F64)->get(&bits, 0);
}

static double as_double(const wi_npy *npy, uint64_t bits) {
    if (npy->kind == 'f') return float_value(bits, npy->size);
    if (npy->kind == 'i') return (double)signed_value(bits, npy->size);
    return npy->kind == 'b' ? bits != 0 : (double)bits;
}

/* false: the number is not in low .. high. */
static bool as_integer(const wi_npy *npy, uint64_t bits, int64_t low, int64_t high, int64_t *value) {
    *value = npy->kind == 'i' ? signed_value(bits, npy->size) : npy->kind == 'b' ? bits != 0 : (int64_t)bits;
    if (npy->kind == 'u' && bits > INT64_MAX) return false;
    return *value >= low && *value <= high;
}

/* A 16-bit float is read only from the same dtype, as other numbers might be rounded twice. */
static bool converts(const wi_npy *npy, weft_dtype dtype) {
    const wi_format *format = wi_format_of(dtype);
    if (format->kind == WI_NUMBER_BOOL) return npy->kind == 'b';
    if (format->kind == WI_NUMBER_INT) return npy->kind != 'f';
    return !wi_dtype_rounds(dtype) || (format->numpy && npy->kind == 'f' && npy->size == format->size);
}

static bool write_integer(const wi_npy *npy, const wi_format *format, uint64_t bits, void *target) {
    const int width = 8 * (int)format->size - (*format->numpy == 'i');
    const int64_t high = (int64_t)(UINT64_MAX >> (64 - width)), low = *format->numpy == 'i' ? -high - 1 : 0;
    int64_t value = 0;
    if (!as_integer(npy, bits, low, high, &value)) return false;
    if (format->size == sizeof value)
        memcpy(target, &value, sizeof value); /* an i64 has more digits than a double */
    else
        format->put(target, 0, (double)value);
    return true;
}

static bool write_element(const wi_npy *npy, const wi_format *format, uint64_t bits, char *target) {
    if (format->kind == WI_NUMBER_INT) return write_integer(npy, format, bits, target);
    const double value = as_double(npy, bits);
    format->put(target, 0, value);
    return !isfinite(value) || isfinite(format->get(target, 0));
}

static bool is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char first = 0;
    memcpy(&first, &one, 1);
    return first == 0;
}

bool wi_npy_is_in_order(const wi_npy *npy) {
    return !npy->fortran || npy->rank < 2;
}

/* Are the bytes in the file equal to those of the array in memory, so that they need no conversion? */
static bool is_copy(const wi_npy *npy, const wi_format *format) {
    return npy->kind != 'b' && format->numpy && *format->numpy == npy->kind && format->size == npy->size &&
           (npy->size == 1 || npy->big_endian == is_big_endian()) && wi_npy_is_in_order(npy);
}

bool wi_npy_always_fits(const wi_npy *npy, weft_dtype dtype) {
    const wi_format *const format = wi_format_of(dtype);
    if (dtype == WEFT_F32) return npy->kind == 'f' ? npy->size <= 4 : npy->size < 4;
    return is_copy(npy, format) || (dtype == WEFT_I32 && npy->kind != 'f' && npy->size < 4);
}

weft_status wi_npy_convert(const wi_npy *npy, weft_dtype dtype, void *target) {
    if (!converts(npy, dtype))
        WI_FAIL(WEFT_ERROR_DTYPE, "'%s': the array has the NumPy dtype %c%zu, which cannot be read as %s",
            npy->path, npy->kind, npy->size, weft_dtype_name(dtype));
    const wi_format *format = wi_format_of(dtype);
    if (is_copy(npy, format)) {
        if (npy->elements) memcpy(target, npy->data, npy->elements * npy->size);
        return WEFT_OK;
    }
    walk w = begin_walk(npy);
    for (size_t i = 0; i < npy->elements; i++) {
        char *const element = (char *)target + i * format->size;
        if (!write_element(npy, format, element_bits(npy, w.offset), element))
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': element %zu (in row-major order) does not fit into %s",
                npy->path, npy->first + i, weft_dtype_name(dtype));
        next_element(&w, npy);
    }
    return WEFT_OK;
}

weft_status wi_npy_check_exact(const wi_npy *npy, const char *column) {
    if (npy->kind == 'f' || npy->size < 4) return WEFT_OK;
    walk w = begin_walk(npy);
    for (size_t i = 0; i < npy->elements; i++) {
        const double value = as_double(npy, element_bits(npy, w.offset));
        if (value != (double)(float)value)
            WI_FAIL(WEFT_ERROR_FORMAT,
                "'%s': element %zu (in row-major order) is %.0f, which f32 would round: set .dtype = "
                "WEFT_I32 in column '%s', or save the array as floats",
                npy->path, npy->first + i, value, column);
        next_element(&w, npy);
    }
    return WEFT_OK;
}

/* ---- arrays in files ---- */

/* The state of wi_npy_load. block: memory for the numbers of a part, or of the whole array, as they are in the file; scratch:
 * memory for the converted numbers, if they are only checked. */
typedef struct loading {
    const wi_data_file *file;
    weft_dtype dtype;
    const char *column;
    unsigned char *block, *scratch;
} loading;

static weft_status convert_block(const wi_npy *npy, const loading *l, void *target) {
    const uint64_t offset = npy->offset + (uint64_t)npy->first * npy->size;
    WI_TRY(wi_data_file_read(l->file, offset, l->block, npy->elements * npy->size));
    if (l->column) WI_TRY(wi_npy_check_exact(npy, l->column));
    return wi_npy_convert(npy, l->dtype, target);
}

static weft_status load_part(const wi_npy *npy, const loading *l, size_t first, size_t count, void *target) {
    wi_npy part = *npy;
    part.fortran = false;
    part.rank = 1;
    part.dims[0] = (int64_t)count;
    part.elements = count;
    part.first = first;
    part.data = l->block;
    return convert_block(&part, l, target);
}

weft_status wi_npy_load_part(const wi_npy *npy, const wi_data_file *file, weft_dtype dtype, size_t first,
    size_t count, unsigned char *block, void *target) {
    return load_part(npy, &(loading){file, dtype, .block = block}, first, count, target);
}

static weft_status load_parts(const wi_npy *npy, const loading *l, char *target) {
    size_t first = 0;
    do { /* an empty array has one empty part, which may have a dtype that cannot be read */
        const size_t rest = npy->elements - first, count = rest < PART ? rest : PART;
        char *const to = target ? target + first * weft_dtype_size(l->dtype) : (char *)l->scratch;
        WI_TRY(load_part(npy, l, first, count, to));
        first += count;
    } while (first < npy->elements);
    return WEFT_OK;
}

weft_status wi_npy_load(
    const wi_npy *npy, const wi_data_file *file, weft_dtype dtype, const char *column, void *target) {
    const bool whole = !wi_npy_is_in_order(npy);
    const size_t most = whole || npy->elements < PART ? npy->elements : PART;
    loading l = {file, dtype, column, .block = wi_allocate_array(file->allocator, most + 1, npy->size)};
    if (!target) l.scratch = wi_allocate_array(file->allocator, most + 1, weft_dtype_size(dtype));
    weft_status status = l.block && (target || l.scratch) ? WEFT_OK : WEFT_ERROR_MEMORY;
    wi_npy all = *npy;
    all.data = l.block;
    if (status == WEFT_OK)
        status = whole ? convert_block(&all, &l, target ? target : l.scratch) : load_parts(npy, &l, target);
    wi_release(file->allocator, l.block);
    wi_release(file->allocator, l.scratch);
    return status;
}

static weft_status load(
    weft_npy_array *array, const wi_npy *npy, const wi_data_file *file, weft_dtype dtype) {
    const weft_allocator *const allocator = array->context ? array->context->allocator : NULL;
    array->dtype = dtype;
    array->rank = npy->rank;
    memcpy(array->dims, npy->dims, sizeof array->dims);
    array->data = wi_allocate_array(allocator, npy->elements, weft_dtype_size(dtype));
    if (!array->data) return WEFT_ERROR_MEMORY;
    array->bytes = npy->elements * weft_dtype_size(dtype);
    return wi_npy_load(npy, file, dtype, NULL, array->data);
}

weft_status weft_load_npy(weft_npy_array *array, weft_context *context, const char *path, weft_dtype dtype) {
    if (!array) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_load_npy: array is NULL");
    *array = (weft_npy_array){0};
    if (!path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_load_npy: path is NULL");
    if (!wi_dtype_valid(dtype))
        WI_FAIL(WEFT_ERROR_DTYPE, "weft_load_npy: dtype is %d, which is not a weft_dtype", (int)dtype);
    wi_data_file file;
    wi_npy npy;
    WI_TRY(wi_data_file_open(&file, context ? &context->files : &(wi_file_rules){0}, path));
    array->context = weft_context_retain(context);
    weft_status status = wi_npy_open(&npy, &file);
    if (status == WEFT_OK) status = load(array, &npy, &file, dtype);
    wi_data_file_close(&file);
    if (status != WEFT_OK) weft_npy_array_release(array);
    return status;
}

void weft_npy_array_release(weft_npy_array *array) {
    if (!array) return;
    wi_release(array->context ? array->context->allocator : NULL, array->data);
    weft_context_release(array->context);
    *array = (weft_npy_array){0};
}

/* ---- writing ---- */

/* text: the shape as Python writes a tuple: "(3, 4)", "(3,)" or "()". */
static void shape_text(char *text, size_t capacity, int rank, const int64_t *dims) {
    size_t used = (size_t)snprintf(text, capacity, "(");
    for (int axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(text + used, capacity - used, axis ? ", %" PRId64 : "%" PRId64, dims[axis]);
    snprintf(text + used, capacity - used, rank == 1 ? ",)" : ")");
}

/* header: magic, version, length and dictionary. Returns the number of bytes, a multiple of 64. */
static size_t make_header(char header[HEADER], weft_dtype dtype, int rank, const int64_t *dims) {
    char shape[256];
    const char order = weft_dtype_size(dtype) == 1 ? '|' : is_big_endian() ? '>' : '<';
    enum { PREFIX = 10 };
    shape_text(shape, sizeof shape, rank, dims);
    size_t length = (size_t)snprintf(header + PREFIX, HEADER - PREFIX,
        "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }", order, wi_format_of(dtype)->numpy, shape);
    while ((PREFIX + length + 1) % ALIGNMENT) header[PREFIX + length++] = ' ';
    header[PREFIX + length++] = '\n';
    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = (char)(length & 255u);
    header[9] = (char)(length >> 8);
    return PREFIX + length;
}

static weft_status check_array(weft_dtype dtype, int rank, const int64_t *dims, size_t *bytes) {
    if (!wi_dtype_valid(dtype) || !wi_format_of(dtype)->numpy)
        WI_FAIL(WEFT_ERROR_DTYPE, "weft_save_npy: NumPy has no dtype for %s",
            wi_dtype_valid(dtype) ? weft_dtype_name(dtype) : "this weft_dtype");
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank && !dims))
        WI_FAIL(
            WEFT_ERROR_SHAPE, "weft_save_npy: rank %d is not in 0..%d, or dims is NULL", rank, WEFT_MAX_RANK);
    *bytes = weft_dtype_size(dtype);
    for (int axis = 0; axis < rank; axis++) {
        if (dims[axis] < 0 || (dims[axis] && *bytes > PTRDIFF_MAX / (size_t)dims[axis]))
            WI_FAIL(WEFT_ERROR_SHAPE, "weft_save_npy: dimension %d is %" PRId64 ", or the shape overflows",
                axis, dims[axis]);
        *bytes *= (size_t)dims[axis];
    }
    return WEFT_OK;
}

weft_status weft_save_npy(
    const char *path, weft_dtype dtype, const void *data, int rank, const int64_t *dims) {
    char header[HEADER];
    size_t bytes = 0;
    wi_file_writer *writer = NULL;
    if (!path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_save_npy: path is NULL");
    WI_TRY(check_array(dtype, rank, dims, &bytes));
    if (bytes && !data) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_save_npy: data is NULL");
    const size_t length = make_header(header, dtype, rank, dims);
    WI_TRY(wi_file_writer_begin(&writer, NULL, path));
    weft_status status = wi_file_writer_append(writer, header, length);
    if (status == WEFT_OK) status = wi_file_writer_append(writer, data, bytes);
    if (status == WEFT_OK) return wi_file_writer_commit(writer);
    wi_file_writer_abandon(writer);
    return status;
}
