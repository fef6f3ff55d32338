/* Files of records, whose header is given a right checksum. The last byte says how long the records are, which stand last. */
#include "fuzz.h"
#include "train/packed_file.h"
#include <stdlib.h>
#include <string.h>

/* *bytes: of the file, with what precedes the header. */
static char *make_file(const uint8_t *data, size_t size, size_t records, size_t *bytes) {
    enum { PREAMBLE = 24 };
    const size_t header = size - records;
    char *const file = calloc(PREAMBLE + size, 1);
    const uint32_t sum = wi_crc32(data, header);
    memcpy(file, "WEFTREC\n", 8);
    for (size_t i = 0; i < 8; i++) file[8 + i] = (char)((uint64_t)header >> 8 * i & 255);
    for (size_t i = 0; i < 4; i++) file[16 + i] = (char)(sum >> 8 * i & 255);
    memcpy(file + PREAMBLE, data, size);
    *bytes = PREAMBLE + size;
    return file;
}

static void open_dataset(const char *path, const weft_records_options *options) {
    weft_dataset *dataset = NULL;
    const weft_status status = weft_dataset_open_records(&dataset, fuzz_context(), path, options);
    fuzz_check_status(status);
    fuzz_assert((status == WEFT_OK) == (dataset != NULL));
    weft_dataset_release(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t wanted = fuzz_take_byte(data, &size), records = wanted < size ? wanted : size;
    size_t bytes = 0;
    char *const file = make_file(data, size, records, &bytes);
    const char *const path = fuzz_file("f.records", file, bytes);
    const weft_image_options images = {WEFT_IMAGE_OPTIONS_INIT};
    free(file);
    for (int skip = 0; skip < 2; skip++) {
        wi_packed packed;
        const weft_status status = wi_packed_open(&packed, &(wi_file_rules){0}, path, skip);
        fuzz_check_status(status);
        if (status == WEFT_OK) {
            const wi_records *const r = &packed.records;
            fuzz_assert(r->count > 0 && wi_records_at(r, r->count) <= bytes);
            unsigned char *const record = malloc(wi_records_stride(r));
            fuzz_check_status(wi_records_read(r, r->count - 1, 1, record));
            free(record);
            wi_packed_close(&packed);
        }
        open_dataset(path, &(weft_records_options){WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = skip});
        open_dataset(path,
            &(weft_records_options){WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = skip, .images = &images});
    }
    return 0;
}
