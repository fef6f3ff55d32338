/* Differences between a file and a graph (contract in differences.h). */
#include "io/differences.h"
#include <string.h>

enum { SHOWN = 6, SHAPE_CAPACITY = 200 };

void wi_differences_init(wi_differences *differences, const weft_allocator *allocator) {
    *differences = (wi_differences){0};
    wi_text_init(&differences->line, allocator);
}

void wi_differences_clear(wi_differences *differences) {
    wi_text_clear(&differences->line);
}

/* Counts a difference. true: it is one of the first SHOWN, whose text the caller appends to the line. */
static bool begin(wi_differences *differences, weft_status status) {
    if (!differences->count++) differences->status = status;
    if (differences->count > SHOWN) return false;
    wi_text_append(&differences->line, "%s", differences->count > 1 ? "; " : "");
    return true;
}

void wi_differences_missing(wi_differences *differences, const char *name) {
    if (begin(differences, WEFT_ERROR_FORMAT))
        wi_text_append(&differences->line, "tensor '%.100s' of the graph is not in the file", name);
}

void wi_differences_unexpected(wi_differences *differences, const char *name) {
    if (begin(differences, WEFT_ERROR_FORMAT))
        wi_text_append(&differences->line, "tensor '%.100s' of the file is not in the graph", name);
}

void wi_differences_shape(
    wi_differences *differences, const wi_saved_tensor *saved, const wi_saved_entry *entry) {
    char theirs[SHAPE_CAPACITY], ours[SHAPE_CAPACITY];
    if (!begin(differences, WEFT_ERROR_SHAPE)) return;
    wi_shape_text(theirs, sizeof theirs, saved->rank, saved->dims);
    wi_shape_text(ours, sizeof ours, entry->rank, entry->dims);
    wi_text_append(&differences->line, "tensor '%.100s' is %s in the file and %s in the graph", entry->name,
        theirs, ours);
}

void wi_differences_dtype(
    wi_differences *differences, const wi_saved_tensor *saved, const wi_saved_entry *entry) {
    if (begin(differences, WEFT_ERROR_DTYPE))
        wi_text_append(&differences->line, "tensor '%.100s' is %s in the file and %s in the graph",
            entry->name, saved->dtype->name, wi_saved_dtype_name(entry->dtype));
}

weft_status wi_differences_report(const wi_differences *differences, const char *path, const char *what) {
    if (differences->line.failed) return WEFT_ERROR_MEMORY;
    if (differences->count > SHOWN)
        WI_FAIL(differences->status, "'%s': %s%s; and %zu more", path, what, differences->line.data,
            differences->count - SHOWN);
    if (differences->count) WI_FAIL(differences->status, "'%s': %s%s", path, what, differences->line.data);
    return WEFT_OK;
}

bool wi_saved_shape_equal(const wi_saved_tensor *saved, const wi_saved_entry *entry) {
    return saved->rank == entry->rank && memcmp(saved->dims, entry->dims, sizeof saved->dims) == 0;
}
