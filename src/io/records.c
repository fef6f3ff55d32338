/* Files of records of equal size (contract in records.h). */
#include "io/records.h"
#include <inttypes.h>
#include <limits.h>
#include <zlib.h>

uint32_t wi_crc32(const void *bytes, size_t count) {
    const unsigned char *from = bytes;
    uLong crc = crc32(0, NULL, 0);
    while (count > 0) {
        const uInt part = count < UINT_MAX ? (uInt)count : UINT_MAX;
        crc = crc32(crc, from, part);
        from += part;
        count -= part;
    }
    return (uint32_t)crc;
}

size_t wi_records_stride(const wi_records *records) {
    return records->bytes + (records->checked ? WI_RECORD_CHECKSUM : 0);
}

uint64_t wi_records_at(const wi_records *records, size_t index) {
    return records->offset + (uint64_t)index * wi_records_stride(records);
}

weft_status wi_records_check(const wi_records *records, size_t index, const unsigned char *record) {
    if (!records->checked) return WEFT_OK;
    const unsigned char *const sum = record + records->bytes;
    const uint32_t expected =
        (uint32_t)sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;
    const uint32_t got = wi_crc32(record, records->bytes);
    if (got == expected) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': record %zu, at byte %" PRIu64 ", is damaged: its CRC-32 is %08" PRIx32 ", expected %08" PRIx32
        " (option skip_damaged of weft_records_options leaves such records out)",
        records->file.path, index, wi_records_at(records, index), got, expected);
}

weft_status wi_records_read(const wi_records *records, size_t first, size_t count, unsigned char *target) {
    const size_t stride = wi_records_stride(records);
    WI_TRY(wi_data_file_read(&records->file, wi_records_at(records, first), target, count * stride));
    for (size_t i = 0; i < count; i++) WI_TRY(wi_records_check(records, first + i, target + i * stride));
    return WEFT_OK;
}
