/* A file of records of equal size, which are read one by one where they are needed: by any number of threads, in any
 * order. */
#ifndef WI_RECORDS_H
#define WI_RECORDS_H

#include "base/data_file.h"

enum { WI_RECORD_CHECKSUM = 4 }; /* bytes of the CRC-32 after a checked record, little-endian */

typedef struct wi_records {
    wi_data_file file;
    uint64_t offset; /* of record 0 */
    size_t bytes;    /* of a record, without its checksum */
    size_t count;
    bool checked; /* each record is followed by its CRC-32 */
} wi_records;

/* The bytes from one record to the next. */
size_t wi_records_stride(const wi_records *records);
/* The offset of a record in the file. */
uint64_t wi_records_at(const wi_records *records, size_t index);
/* Reads `count` adjacent records, wi_records_stride bytes each. Errors: those of wi_data_file_read; WEFT_ERROR_FORMAT: a
 * record does not have its checksum. The line names the number of the record and its offset. */
weft_status wi_records_read(const wi_records *records, size_t first, size_t count, unsigned char *target);
/* Compares a record that was read with its checksum. */
weft_status wi_records_check(const wi_records *records, size_t index, const unsigned char *record);
/* The CRC-32 of ISO 3309, as zlib and Python's zlib.crc32 compute it. */
uint32_t wi_crc32(const void *bytes, size_t count);

#endif
