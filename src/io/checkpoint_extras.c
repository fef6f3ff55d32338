/* Tensors of the caller in checkpoints (contract in checkpoint_extras.h). */
#include "io/checkpoint_extras.h"
#include "graph/dtype.h"
#include "graph/variable_names.h"

static weft_status check_extra(const weft_checkpoint_extra *extra, size_t index, size_t *bytes) {
    if (!extra->name || !*extra->name)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "checkpoint: extra %zu has no name", index);
    if (!wi_dtype_valid(extra->dtype) || extra->rank < 0 || extra->rank > WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "checkpoint: extra '%.100s': dtype %d or rank %d is not valid",
            extra->name, (int)extra->dtype, extra->rank);
    *bytes = weft_dtype_size(extra->dtype);
    for (int axis = 0; axis < extra->rank; axis++) {
        const int64_t dimension = extra->dims[axis];
        if (dimension < 0 || (dimension && *bytes > SIZE_MAX / (uint64_t)dimension))
            WI_FAIL(WEFT_ERROR_SHAPE, "checkpoint: extra '%.100s': a dimension is negative or overflows",
                extra->name);
        *bytes *= (size_t)dimension;
    }
    if (*bytes && !extra->data)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "checkpoint: extra '%.100s': data is NULL", extra->name);
    return WEFT_OK;
}

static bool is_blob(weft_dtype dtype, int rank) {
    return dtype == WEFT_U8 && rank == 1;
}

weft_status wi_list_extras(wi_saved_list *list, const weft_checkpoint_extra *extras, size_t count) {
    if (count && !extras)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "checkpoint: the count of extras is %zu, but extras is NULL", count);
    for (size_t i = 0; i < count; i++) {
        const weft_checkpoint_extra *const extra = &extras[i];
        wi_saved_entry entry = {
            .name = extra->name, .dtype = extra->dtype, .rank = extra->rank, .host = extra->data};
        WI_TRY(check_extra(extra, i, &entry.bytes));
        for (int axis = 0; axis < extra->rank; axis++) entry.dims[axis] = extra->dims[axis];
        WI_TRY(wi_saved_list_add(list, WI_RESERVED_PREFIX "extra.", &entry));
    }
    return WEFT_OK;
}

weft_status wi_list_extras_of(
    wi_saved_list *list, const wi_checkpoint_file *file, const weft_checkpoint_extra *extras, size_t count) {
    const size_t first = list->count;
    WI_TRY(wi_list_extras(list, extras, count));
    for (size_t i = first; i < list->count; i++) {
        wi_saved_entry *const entry = &list->entries[i];
        const wi_saved_tensor *const saved = wi_checkpoint_tensor(file, entry->name);
        const bool both =
            saved && is_blob(entry->dtype, entry->rank) && saved->dtype->dtype == WEFT_U8 && saved->rank == 1;
        if (!both || saved->dims[0] > entry->dims[0]) continue;
        entry->dims[0] = saved->dims[0];
        entry->bytes = (size_t)saved->dims[0];
    }
    return WEFT_OK;
}

void wi_extras_take_sizes(const wi_saved_list *list, weft_checkpoint_extra *extras, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_blob(extras[i].dtype, extras[i].rank))
            extras[i].dims[0] = list->entries[list->count - count + i].dims[0];
}
