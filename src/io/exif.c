/* The EXIF orientation of a JPEG file (contract in exif.h).
 *
 * A JPEG file (ITU-T T.81) is a list of segments: 0xff, a marker, and except for a few markers a length of two bytes,
 * which counts itself. EXIF data (CIPA DC-008) are an APP1 segment that begins with "Exif\0\0". A TIFF structure
 * follows: the order of bytes, "II" or "MM", the number 42, and the offset of a directory. A directory is a count of
 * entries and 12 bytes for each: tag, type, count of values, and the value, if it is small. Orientation is tag 0x0112, of
 * type 3: a number of 16 bits. */
#include "io/exif.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SCAN = 0xda, END = 0xd9, APP1 = 0xe1, ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12 };

typedef struct bytes {
    const unsigned char *data;
    size_t size;
    bool is_big_endian;
} bytes;

/* The number of `count` bytes at an offset; 0 if it is not inside of the data. */
static uint32_t number(const bytes *b, size_t offset, size_t count) {
    uint32_t value = 0;
    if (b->size < count || offset > b->size - count) return 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | b->data[offset + (b->is_big_endian ? i : count - 1 - i)];
    return value;
}

static int orientation_of_tiff(bytes tiff) {
    tiff.is_big_endian = tiff.size >= 2 && memcmp(tiff.data, "MM", 2) == 0;
    if (!tiff.is_big_endian && (tiff.size < 2 || memcmp(tiff.data, "II", 2) != 0)) return 1;
    if (number(&tiff, 2, 2) != 42) return 1;
    const size_t directory = number(&tiff, 4, 4), entries = number(&tiff, directory, 2);
    for (size_t i = 0; i < entries; i++) {
        const size_t entry = directory + 2 + i * ENTRY;
        if (number(&tiff, entry, 2) != ORIENTATION) continue;
        const uint32_t value = number(&tiff, entry + 8, 2);
        const bool is_short = number(&tiff, entry + 2, 2) == SHORT && number(&tiff, entry + 4, 4) == 1;
        return is_short && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

int wi_exif_orientation(const unsigned char *data, size_t size) {
    static const unsigned char exif[6] = {'E', 'x', 'i', 'f', 0, 0};
    const bytes file = {data, size, true};
    size_t at = 2;
    while (number(&file, at, 1) == 0xff) {
        const uint32_t marker = number(&file, at + 1, 1), length = number(&file, at + 2, 2);
        if (marker == 0xff) { /* a byte that fills the gap before a marker */
            at++;
            continue;
        }
        if (marker == SCAN || marker == END || length < 2 || length > size - at - 2) return 1;
        const unsigned char *const content = data + at + 4;
        if (marker == APP1 && length >= 2 + sizeof exif && memcmp(content, exif, sizeof exif) == 0)
            return orientation_of_tiff((bytes){content + sizeof exif, length - 2 - sizeof exif, false});
        at += 2 + length;
    }
    return 1;
}
