/* The writer of PNG files (contract in png_write.h): signature, header, compressed rows in chunks, end. */
#include "io/png_write.h"
#include <string.h>
#include <zlib.h>

enum { CHUNK_BYTES = 8192, HEADER_BYTES = 13, BIT_DEPTH = 8, FILTER_NONE = 0 };

/* The compressor, and the chunk that it fills. Its memory is that of the file's allocator. */
typedef struct packer {
    wi_text *file;
    z_stream stream;
    unsigned char chunk[CHUNK_BYTES];
} packer;

static voidpf take(voidpf user, uInt count, uInt size) {
    return wi_allocate_array(user, count, size);
}

static void give_back(voidpf user, voidpf block) {
    wi_release(user, block);
}

static void put_big_endian(unsigned char bytes[4], uint32_t number) {
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(number >> (24 - 8 * i));
}

static void append(wi_text *file, const void *data, size_t bytes) {
    wi_text_append_bytes(file, data, bytes);
}

/* Length, type, data, and the checksum of type and data. */
static void append_chunk(wi_text *file, const char *type, const unsigned char *data, size_t bytes) {
    unsigned char number[4];
    put_big_endian(number, (uint32_t)bytes);
    append(file, number, sizeof number);
    append(file, type, 4);
    append(file, data, bytes);
    const uLong of_type = crc32(0, (const unsigned char *)type, 4);
    put_big_endian(number, (uint32_t)(bytes ? crc32(of_type, data, (uInt)bytes) : of_type));
    append(file, number, sizeof number);
}

static void append_header(wi_text *file, const wi_png_image *image) {
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char colour_types[] = {0, 4, 2, 6}; /* by channels - 1 */
    unsigned char header[HEADER_BYTES] = {0};                 /* methods and interlacing are 0 */
    put_big_endian(header, (uint32_t)image->width);
    put_big_endian(header + 4, (uint32_t)image->height);
    header[8] = BIT_DEPTH;
    header[9] = colour_types[image->channels - 1];
    append(file, signature, sizeof signature);
    append_chunk(file, "IHDR", header, sizeof header);
}

/* Compresses these bytes; a full chunk is appended to the file. flush: Z_FINISH for the last bytes, else Z_NO_FLUSH. */
static void pack(packer *p, const unsigned char *data, size_t bytes, int flush) {
    z_stream *const stream = &p->stream;
    stream->next_in = (unsigned char *)(size_t)data; /* zlib only reads there */
    stream->avail_in = (uInt)bytes;
    int code = Z_OK;
    do {
        if (stream->avail_out == 0) {
            append_chunk(p->file, "IDAT", p->chunk, CHUNK_BYTES);
            stream->next_out = p->chunk;
            stream->avail_out = CHUNK_BYTES;
        }
        code = deflate(stream, flush);
    } while (code == Z_OK && stream->avail_out == 0);
}

static void pack_rows(packer *p, const wi_png_image *image) {
    static const unsigned char filter = FILTER_NONE;
    const size_t row = (size_t)(image->width * image->channels);
    for (int64_t y = 0; y < image->height; y++) {
        pack(p, &filter, 1, Z_NO_FLUSH);
        pack(p, image->pixels + (size_t)y * row, row, y + 1 < image->height ? Z_NO_FLUSH : Z_FINISH);
    }
    const size_t rest = CHUNK_BYTES - p->stream.avail_out;
    if (rest > 0) append_chunk(p->file, "IDAT", p->chunk, rest);
}

weft_status wi_png_write(wi_text *file, const wi_png_image *image) {
    packer p;
    memset(&p.stream, 0, sizeof p.stream);
    p.file = file;
    p.stream.zalloc = take;
    p.stream.zfree = give_back;
    p.stream.opaque = (voidpf)(size_t)file->allocator;
    if (deflateInit(&p.stream, Z_DEFAULT_COMPRESSION) != Z_OK)
        WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory while compressing an image");
    p.stream.next_out = p.chunk;
    p.stream.avail_out = CHUNK_BYTES;
    append_header(file, image);
    pack_rows(&p, image);
    (void)deflateEnd(&p.stream);
    append_chunk(file, "IEND", NULL, 0);
    return file->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}
