/* weft_dataset_split: the drawn examples depend only on the seed, the number of examples and `count`. */
#include "base/splitmix.h"
#include "train/dataset.h"
#include <string.h>

/* Selection sampling (Knuth, volume 2, 3.4.2, algorithm S): each subset of `count` examples is equally likely. */
static void draw(bool *drawn, size_t examples, size_t count, uint64_t seed) {
    uint64_t state = seed;
    for (size_t i = 0; i < examples; i++) {
        const double uniform = (double)(wi_splitmix(&state) >> 11) * 0x1p-53;
        drawn[i] = (double)(examples - i) * uniform < (double)count;
        count -= drawn[i];
    }
}

/* If a source makes column 0, copies the indices that the examples of the part have in the source. */
static weft_status copy_origins(
    weft_dataset *part, const weft_dataset *from, const bool *drawn, bool wanted, size_t count) {
    part->origins = wi_allocate_array(part->context->allocator, count, sizeof *part->origins);
    if (!part->origins) return WEFT_ERROR_MEMORY;
    for (size_t i = 0, used = 0; i < from->examples; i++)
        if (drawn[i] == wanted) part->origins[used++] = from->origins ? from->origins[i] : i;
    return WEFT_OK;
}

/* Creates a dataset of the `count` examples i with drawn[i] == wanted. */
static weft_status copy_part(
    weft_dataset **part, const weft_dataset *from, const bool *drawn, bool wanted, size_t count) {
    WI_TRY(
        wi_dataset_create_from_source(part, from->context, from->source, count, from->columns, from->count));
    if (from->source) WI_TRY(copy_origins(*part, from, drawn, wanted, count));
    for (size_t c = 0; c < from->count; c++) {
        const size_t bytes = wi_column_bytes(&from->columns[c]);
        unsigned char *target = wi_dataset_data(*part, c);
        for (size_t i = 0; target && i < from->examples; i++) {
            if (drawn[i] != wanted) continue;
            memcpy(target, (const unsigned char *)from->columns[c].data + i * bytes, bytes);
            target += bytes;
        }
    }
    return WEFT_OK;
}

weft_status weft_dataset_split(
    weft_dataset **drawn, weft_dataset **others, const weft_dataset *dataset, size_t count, uint64_t seed) {
    if (!drawn || !others || !dataset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_split: drawn, others and dataset must not be NULL");
    *drawn = *others = NULL;
    if (count == 0 || count >= dataset->examples)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_split: count is %zu of %zu examples, but both parts need at least one example",
            count, dataset->examples);
    const weft_allocator *const allocator = dataset->context->allocator;
    bool *const mask = wi_allocate_array(allocator, dataset->examples, sizeof *mask);
    if (!mask) return WEFT_ERROR_MEMORY;
    draw(mask, dataset->examples, count, seed);
    weft_status status = copy_part(drawn, dataset, mask, true, count);
    if (status == WEFT_OK) status = copy_part(others, dataset, mask, false, dataset->examples - count);
    wi_release(allocator, mask);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*drawn);
    weft_dataset_release(*others);
    *drawn = *others = NULL;
    return status;
}
