/* MNIST's IDX files, plain or gzip, as a dataset.
 *
 * An IDX file is a big-endian magic (0, 0, type 0x08 for bytes, number of dimensions), the dimensions as
 * 32-bit numbers, and the bytes. Source: yann.lecun.com/exdb/mnist. A file must have exactly the bytes that its header
 * announces; memory for unpacked bytes grows as they are read, so that a wrong header cannot request too much. */
#include "base/file_guess.h"
#include "base/platform.h"
#include "train/file_columns.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { PATH_CAPACITY = 4096, CHUNK = 1 << 20, IMAGES_RANK = 3, LABELS_RANK = 1 };
enum { GZIP_HEADER = 16 }; /* added to the window bits of inflateInit2: the gzip format */

typedef struct idx_file {
    const wi_file_rules *rules;
    char path[PATH_CAPACITY];
    wi_data_file file;
    char *raw; /* the whole file, if it is compressed */
    size_t raw_bytes;
    z_stream stream; /* reads `raw` */
    bool zipped, ended;
    uint32_t dims[IMAGES_RANK];
    size_t bytes; /* of data, according to the header */
    size_t header;
    unsigned char *data; /* NULL: it is in the file, after the header */
} idx_file;

/* Finds the file with or without ".gz". Its first bytes, not its name, say whether it is compressed. */
static weft_status find_file(idx_file *file, const char *folder, const char *prefix, const char *kind) {
    static const char *const endings[] = {"", ".gz"};
    for (size_t i = 0; i < 2; i++) {
        const int length =
            snprintf(file->path, sizeof file->path, "%s/%s-%s%s", folder, prefix, kind, endings[i]);
        if (length < 0 || (size_t)length >= sizeof file->path)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "the path of folder and prefix is too long: '%.100s...'", folder);
        bool missing = false;
        wi_path_info info;
        const weft_status status = wi_path_look(&info, file->path, &missing);
        if (!missing) return status;
    }
    WI_FAIL(WEFT_ERROR_FILE, "neither '%s/%s-%s' nor '%s' exists", folder, prefix, kind, file->path);
}

/* Tells zlib how many bytes it may read; avail_in has only 32 bits. */
static void offer_rest(idx_file *file) {
    const size_t left = file->raw_bytes - (size_t)((const char *)file->stream.next_in - file->raw);
    file->stream.avail_in = left < UINT_MAX ? (unsigned)left : UINT_MAX;
}

static bool is_member(const z_stream *stream) {
    return stream->avail_in > 1 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b;
}

static weft_status fail_inflate(const idx_file *file, int code) {
    if (code == Z_MEM_ERROR) WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory while reading '%s'", file->path);
    WI_FAIL(WEFT_ERROR_FORMAT, "cannot decompress '%s': %s", file->path,
        code == Z_BUF_ERROR || !file->stream.msg ? "the compressed data ends too soon" : file->stream.msg);
}

/* Decompresses, at most to the end of a gzip member. If another member follows, the next call reads it; other bytes
 * after a member are ignored, as by gzip. */
static weft_status inflate_some(idx_file *file) {
    z_stream *const stream = &file->stream;
    const int code = inflate(stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) return fail_inflate(file, code);
    offer_rest(file);
    if (code == Z_STREAM_END) file->ended = !is_member(stream) || inflateReset(stream) != Z_OK;
    return WEFT_OK;
}

/* Reads `bytes` (at most CHUNK) uncompressed bytes. *got is smaller at the end of the data. */
static weft_status read_some(idx_file *file, void *buffer, size_t bytes, size_t *got) {
    file->stream.next_out = buffer;
    file->stream.avail_out = (unsigned)bytes;
    while (file->stream.avail_out > 0 && !file->ended) {
        offer_rest(file);
        WI_TRY(inflate_some(file));
    }
    *got = bytes - file->stream.avail_out;
    return WEFT_OK;
}

static uint32_t big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Zeros can be compressed to a thousandth, so that a small file could announce any amount of data. */
static weft_status check_limit(const idx_file *file) {
    if (!file->zipped) return WEFT_OK;
    const uint64_t limit = wi_file_unpacked_limit(file->rules, file->raw_bytes);
    if (file->bytes <= limit) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': the header announces %zu bytes of data, more than the limit of %" PRIu64
        " for a compressed file of %zu bytes (option file_limit of weft_context_options)",
        file->path, file->bytes, limit, file->raw_bytes);
}

/* The first bytes of the data that the file holds. */
static weft_status read_begin(idx_file *file, void *buffer, size_t bytes, size_t *got) {
    if (file->zipped) return read_some(file, buffer, bytes, got);
    *got = file->file.bytes < bytes ? (size_t)file->file.bytes : bytes;
    return wi_data_file_read(&file->file, 0, buffer, *got);
}

static weft_status read_header(idx_file *file, unsigned rank) {
    unsigned char header[4 + 4 * IMAGES_RANK];
    const size_t bytes = file->header = 4 + 4 * (size_t)rank;
    size_t got = 0;
    WI_TRY(read_begin(file, header, bytes, &got));
    if (got < bytes)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has %zu bytes, too few for its header of %zu bytes", file->path, got,
            bytes);
    if (big_endian(header) != (0x0800u | rank))
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' begins with 0x%08x, expected 0x%08x (an IDX file of bytes with %u dimensions)", file->path,
            big_endian(header), 0x0800u | rank, rank);
    file->bytes = 1;
    for (unsigned axis = 0; axis < rank; axis++) {
        file->dims[axis] = big_endian(header + 4 + 4 * axis);
        if (file->dims[axis] == 0) WI_FAIL(WEFT_ERROR_FORMAT, "'%s': dimension %u is 0", file->path, axis);
        if (file->bytes > PTRDIFF_MAX / file->dims[axis])
            WI_FAIL(
                WEFT_ERROR_FORMAT, "'%s': the dimensions in the header give too many elements", file->path);
        file->bytes *= file->dims[axis];
    }
    return check_limit(file);
}

static weft_status wrong_size(const idx_file *file, size_t got, const char *more) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': the header announces %zu bytes of data, but the file has %s%zu",
        file->path, file->bytes, more, got);
}

static weft_status check_size(const idx_file *file) {
    const uint64_t got = file->file.bytes - file->header;
    if (got < file->bytes) return wrong_size(file, (size_t)got, "");
    return got > file->bytes ? wrong_size(file, file->bytes, "more than ") : WEFT_OK;
}

static weft_status unpack_data(idx_file *file) {
    size_t used = 0, capacity = 0;
    while (used < file->bytes) {
        if (used == capacity) {
            capacity = capacity ? 2 * capacity : CHUNK;
            if (capacity > file->bytes) capacity = file->bytes;
            unsigned char *const grown = wi_reallocate(file->rules->allocator, file->data, capacity);
            if (!grown) return WEFT_ERROR_MEMORY;
            file->data = grown;
        }
        const size_t room = capacity - used < CHUNK ? capacity - used : CHUNK;
        size_t got = 0;
        WI_TRY(read_some(file, file->data + used, room, &got));
        used += got;
        if (got < room) return wrong_size(file, used, "");
    }
    unsigned char extra = 0;
    size_t got = 0;
    WI_TRY(read_some(file, &extra, 1, &got));
    return got ? wrong_size(file, file->bytes, "more than ") : WEFT_OK;
}

static weft_status begin_unpacking(idx_file *file) {
    file->raw_bytes = (size_t)file->file.bytes;
    file->raw = wi_allocate(file->rules->allocator, file->raw_bytes);
    if (!file->raw) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_data_file_read(&file->file, 0, file->raw, file->raw_bytes));
    file->stream.next_in = (Bytef *)file->raw;
    offer_rest(file);
    const int code = inflateInit2(&file->stream, MAX_WBITS + GZIP_HEADER);
    file->zipped = code == Z_OK;
    return file->zipped ? WEFT_OK : fail_inflate(file, code);
}

static weft_status open_file(idx_file *file) {
    char begin[256] = "";
    WI_TRY(wi_data_file_open(&file->file, file->rules, file->path));
    const size_t some = file->file.bytes < sizeof begin ? (size_t)file->file.bytes : sizeof begin;
    WI_TRY(wi_data_file_read(&file->file, 0, begin, some));
    WI_TRY(wi_file_refuse_page(file->path, begin, some));
    const bool packed = some > 1 && begin[0] == 0x1f && (unsigned char)begin[1] == 0x8b;
    return packed ? begin_unpacking(file) : WEFT_OK;
}

static weft_status read_file(idx_file *file, unsigned rank) {
    weft_status status = open_file(file);
    if (status == WEFT_OK) status = read_header(file, rank);
    if (status == WEFT_OK) status = file->zipped ? unpack_data(file) : check_size(file);
    if (file->zipped) (void)inflateEnd(&file->stream);
    wi_release(file->rules->allocator, file->raw);
    return status;
}

static void convert(bool images, const unsigned char *from, size_t count, void *to, size_t first) {
    for (size_t i = 0; i < count && images; i++) ((float *)to)[first + i] = (float)from[i] / 255.0f;
    for (size_t i = 0; i < count && !images; i++) ((int32_t *)to)[first + i] = from[i];
}

/* Fills a column of images, f32, or labels, i32. */
static weft_status fill_column(const idx_file *file, bool images, void *to) {
    if (file->data) {
        convert(images, file->data, file->bytes, to, 0);
        return WEFT_OK;
    }
    unsigned char *const block = wi_allocate(file->rules->allocator, CHUNK);
    weft_status status = block ? WEFT_OK : WEFT_ERROR_MEMORY;
    for (size_t first = 0; first < file->bytes && status == WEFT_OK; first += CHUNK) {
        const size_t rest = file->bytes - first, count = rest < CHUNK ? rest : CHUNK;
        status = wi_data_file_read(&file->file, file->header + first, block, count);
        if (status == WEFT_OK) convert(images, block, count, to, first);
    }
    wi_release(file->rules->allocator, block);
    return status;
}

static weft_status load(weft_dataset **dataset, weft_context *context, const idx_file *images,
    const idx_file *labels, const weft_column columns[2]) {
    WI_TRY(wi_dataset_create(dataset, context, images->dims[0], columns, 2));
    weft_status status = fill_column(images, true, wi_dataset_data(*dataset, 0));
    if (status == WEFT_OK) status = fill_column(labels, false, wi_dataset_data(*dataset, 1));
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}

/* Creates a dataset whose data stays in the files. */
static weft_status open_in_place(weft_dataset **dataset, weft_context *context, idx_file *images,
    idx_file *labels, const weft_column columns[2]) {
    idx_file *const both[2] = {images, labels};
    wi_file_column files[2];
    for (int i = 0; i < 2; i++) {
        files[i] = (wi_file_column){.file = both[i]->file,
            .npy = {.path = both[i]->file.path, .kind = 'u', .size = 1, .offset = both[i]->header},
            .is_fraction = i == 0};
        both[i]->file = (wi_data_file){0};
    }
    const weft_status status = wi_file_columns_open(dataset, context, files, images->dims[0], columns, 2);
    for (int i = 0; i < 2; i++) wi_data_file_close(&files[i].file);
    return status;
}

static weft_status make_dataset(
    weft_dataset **dataset, weft_context *context, idx_file *images, idx_file *labels) {
    const double mean = 0, deviation = 1;
    const weft_encoding encoding = {.kind = WI_PIXELS,
        .count = 1,
        .mean = &mean,
        .deviation = &deviation,
        .height = images->dims[1],
        .width = images->dims[2]};
    const weft_column columns[] = {
        {.name = "image",
            .dtype = WEFT_F32,
            .rank = 3,
            .dims = {1, images->dims[1], images->dims[2]},
            .encoding = &encoding},
        {.name = "label", .dtype = WEFT_I32},
    };
    if (images->dims[0] != labels->dims[0])
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has %u images, but '%s' has %u labels", images->path,
            images->dims[0], labels->path, labels->dims[0]);
    const uint64_t example = (uint64_t)images->dims[1] * images->dims[2] * sizeof(float) + sizeof(int32_t);
    const bool in_memory =
        images->zipped || labels->zipped || wi_dataset_fits(context, images->dims[0], example);
    return in_memory ? load(dataset, context, images, labels, columns)
                     : open_in_place(dataset, context, images, labels, columns);
}

static idx_file *make_pair(weft_context *context) {
    idx_file *const files = wi_allocate_array(context->allocator, 2, sizeof *files);
    if (files) files[0].rules = files[1].rules = &context->files;
    return files;
}

static void release_pair(weft_context *context, idx_file *files) {
    for (int i = 0; i < 2; i++) {
        wi_data_file_close(&files[i].file);
        wi_release(context->allocator, files[i].data);
    }
    wi_release(context->allocator, files);
}

static weft_status take_path(idx_file *file, const char *path) {
    const size_t length = strlen(path);
    if (length >= sizeof file->path) WI_FAIL(WEFT_ERROR_ARGUMENT, "a path is too long: '%.100s...'", path);
    memcpy(file->path, path, length + 1);
    return WEFT_OK;
}

weft_status weft_dataset_open_idx_files(
    weft_dataset **dataset, weft_context *context, const char *images, const char *labels) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_idx_files: dataset is NULL");
    *dataset = NULL;
    if (!context || !images || !labels)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_dataset_open_idx_files: context, images and labels must not be NULL");
    idx_file *const files = make_pair(context);
    if (!files) return WEFT_ERROR_MEMORY;
    weft_status status = take_path(&files[0], images);
    if (status == WEFT_OK) status = read_file(&files[0], IMAGES_RANK);
    if (status == WEFT_OK) status = take_path(&files[1], labels);
    if (status == WEFT_OK) status = read_file(&files[1], LABELS_RANK);
    if (status == WEFT_OK) status = make_dataset(dataset, context, &files[0], &files[1]);
    release_pair(context, files);
    return status;
}

weft_status weft_dataset_open_idx(
    weft_dataset **dataset, weft_context *context, const char *folder, const char *prefix) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_idx: dataset is NULL");
    *dataset = NULL;
    if (!context || !folder || !prefix)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_idx: context, folder and prefix must not be NULL");
    idx_file *const files = make_pair(context);
    if (!files) return WEFT_ERROR_MEMORY;
    weft_status status = find_file(&files[0], folder, prefix, "images-idx3-ubyte");
    if (status == WEFT_OK) status = read_file(&files[0], IMAGES_RANK);
    if (status == WEFT_OK) status = find_file(&files[1], folder, prefix, "labels-idx1-ubyte");
    if (status == WEFT_OK) status = read_file(&files[1], LABELS_RANK);
    if (status == WEFT_OK) status = make_dataset(dataset, context, &files[0], &files[1]);
    release_pair(context, files);
    return status;
}
