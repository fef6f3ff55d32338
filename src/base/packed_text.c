/* Compressed texts (contract in packed_text.h). */
#include "base/packed_text.h"
#include <zlib.h>

enum { GZIP_HEADER = 16 }; /* makes inflateInit2 expect gzip's header */

static bool unpack(char *text, const wi_packed_text *packed) {
    z_stream stream = {.next_in = (unsigned char *)packed->packed,
        .avail_in = (uInt)packed->packed_bytes,
        .next_out = (unsigned char *)text,
        .avail_out = (uInt)packed->bytes};
    if (inflateInit2(&stream, MAX_WBITS + GZIP_HEADER) != Z_OK) return false;
    const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return whole;
}

weft_status wi_packed_text_unpack(
    char **text, const wi_packed_text *packed, const weft_allocator *allocator, const char *name) {
    *text = wi_allocate(allocator, packed->bytes + 1);
    if (!*text) return WEFT_ERROR_MEMORY;
    if (unpack(*text, packed)) return WEFT_OK;
    wi_release(allocator, *text);
    *text = NULL;
    WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory while unpacking '%s'", name);
}
