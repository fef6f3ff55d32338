/* MNIST's IDX files, plain or gzip, as a dataset.
 *
 * An IDX file is a big-endian magic (0, 0, type 0x08 for bytes, number of dimensions), the dimensions as
 * 32-bit numbers, and the bytes. Source: yann.lecun.com/exdb/mnist. A file must have exactly the bytes that its header
 * announces; memory grows as bytes are read, so that a wrong header cannot request too much. */
#include "base/file_guess.h"
#include "base/file_read.h"
#include "base/platform.h"
#include "train/dataset.h"
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
    char *raw; /* the whole file */
    size_t raw_bytes;
    z_stream stream; /* reads `raw`, also if it is not compressed */
    bool zipped, ended;
    uint32_t dims[IMAGES_RANK];
    size_t bytes; /* of data, according to the header */
    unsigned char *data;
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

static void copy_some(idx_file *file) {
    z_stream *const stream = &file->stream;
    const unsigned bytes = stream->avail_in < stream->avail_out ? stream->avail_in : stream->avail_out;
    memcpy(stream->next_out, stream->next_in, bytes);
    stream->next_in += bytes;
    stream->avail_in -= bytes;
    stream->avail_out -= bytes;
    file->ended = stream->avail_out > 0;
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
        if (file->zipped)
            WI_TRY(inflate_some(file));
        else
            copy_some(file);
    }
    *got = bytes - file->stream.avail_out;
    return WEFT_OK;
}

static uint32_t big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Zeros can be compressed to a thousandth, so that a small file could announce any amount of data. */
static weft_status check_limit(const idx_file *file) {
    const uint64_t limit = wi_file_unpacked_limit(file->rules, file->raw_bytes);
    if (file->bytes <= limit) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': the header announces %zu bytes of data, more than the limit of %" PRIu64
        " for a compressed file of %zu bytes (option file_limit of weft_context_options)",
        file->path, file->bytes, limit, file->raw_bytes);
}

static weft_status read_header(idx_file *file, unsigned rank) {
    unsigned char header[4 + 4 * IMAGES_RANK];
    const size_t bytes = 4 + 4 * (size_t)rank;
    size_t got = 0;
    WI_TRY(read_some(file, header, bytes, &got));
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

static weft_status read_data(idx_file *file) {
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

static weft_status open_file(idx_file *file) {
    WI_TRY(wi_file_read_by(file->rules, file->path, &file->raw, &file->raw_bytes));
    WI_TRY(wi_file_refuse_page(file->path, file->raw, file->raw_bytes));
    file->stream.next_in = (Bytef *)file->raw;
    offer_rest(file);
    if (!is_member(&file->stream)) return WEFT_OK;
    const int code = inflateInit2(&file->stream, MAX_WBITS + GZIP_HEADER);
    file->zipped = code == Z_OK;
    return file->zipped ? WEFT_OK : fail_inflate(file, code);
}

static weft_status read_file(idx_file *file, unsigned rank) {
    weft_status status = open_file(file);
    if (status == WEFT_OK) status = read_header(file, rank);
    if (status == WEFT_OK) status = read_data(file);
    if (file->zipped) (void)inflateEnd(&file->stream);
    wi_release(file->rules->allocator, file->raw);
    return status;
}

static weft_status make_dataset(
    weft_dataset **dataset, weft_context *context, const idx_file *images, const idx_file *labels) {
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
    WI_TRY(wi_dataset_create(dataset, context, images->dims[0], columns, 2));
    float *const pixels = wi_dataset_data(*dataset, 0);
    int32_t *const classes = wi_dataset_data(*dataset, 1);
    for (size_t i = 0; i < images->bytes; i++) pixels[i] = (float)images->data[i] / 255.0f;
    for (size_t i = 0; i < labels->bytes; i++) classes[i] = labels->data[i];
    return WEFT_OK;
}

static idx_file *make_pair(weft_context *context) {
    idx_file *const files = wi_allocate_array(context->allocator, 2, sizeof *files);
    if (files) files[0].rules = files[1].rules = &context->files;
    return files;
}

static void release_pair(weft_context *context, idx_file *files) {
    wi_release(context->allocator, files[0].data);
    wi_release(context->allocator, files[1].data);
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
