/* Files of records, one record per example, as weft_dataset_save_records writes them and `weft pack` does:
 *
 *     8 bytes   the magic "WEFTREC\n"
 *     8 bytes   the length of the header, little-endian
 *     4 bytes   the CRC-32 of the header, little-endian
 *     4 bytes   zeros
 *     header    JSON, padded with spaces so that the records begin at a multiple of 64:
 *               {"version":1,"records":50000,"columns":[{"name":"image","dtype":"U8","shape":[3,32,32],
 *                "channels_last":false,"encoding":"..."}, ...]}
 *     records   the numbers of all columns, one column after the other, little-endian, and the CRC-32 of these bytes
 *
 * All records have the same size, so that the offset of a record follows from its number. Whatever bytes a file has, wi_packed_open
 * returns either an error or a description whose records are all inside the file. */
#ifndef WI_PACKED_FILE_H
#define WI_PACKED_FILE_H

#include "io/records.h"
#include "train/dataset.h"

typedef struct wi_packed {
    wi_arena arena; /* columns, names and encodings */
    wi_records records;
    weft_column *columns;
    size_t count;
    size_t missing;     /* records of the header that the file is too short for */
    bool channels_last; /* the layout of images in column 0 */
} wi_packed;

/* cut: a file that ends too early is not an error; its whole records are read. After an error the file is closed. Errors:
 * WEFT_ERROR_FILE, WEFT_ERROR_FORMAT (the line of a file that is truncated names the first record that is missing). */
weft_status wi_packed_open(wi_packed *packed, const wi_file_rules *rules, const char *path, bool cut);
void wi_packed_close(wi_packed *packed);
/* Appends what precedes the records of a dataset. channels_last: of images in column 0. */
weft_status wi_packed_write_head(wi_text *text, const weft_dataset *dataset, bool channels_last);

#endif
