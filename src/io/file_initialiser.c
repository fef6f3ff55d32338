/* An initialiser whose values are one tensor of a safetensors file. The file is read when the parameter is created, so
 * that a wrong name is an error of this call, and the caller may free the strings after it. */
#include "base/platform.h"
#include "cl/context.h"
#include "graph/weft_graph.h"
#include "io/safetensors.h"
#include <string.h>
#include <weft/io.h>

static weft_status check_entry(
    const wi_saved_tensor *saved, const weft_tensor *variable, const char *path, const char *entry) {
    if (!saved) WI_FAIL(WEFT_ERROR_FORMAT, "'%s': there is no tensor '%s' in the file", path, entry);
    const wi_shape *shape = &variable->shape;
    if (saved->rank != shape->rank ||
        memcmp(saved->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims)) {
        char theirs[200], ours[200];
        wi_shape_text(theirs, sizeof theirs, saved->rank, saved->dims);
        wi_shape_text(ours, sizeof ours, shape->rank, shape->dims);
        WI_FAIL(WEFT_ERROR_SHAPE, "'%s': tensor '%s' is %s in the file, '%s' is %s", path, entry, theirs,
            weft_tensor_name(variable), ours);
    }
    if (!wi_saved_is_number(saved))
        WI_FAIL(WEFT_ERROR_DTYPE, "'%s': tensor '%s' is %s, not %s", path, entry, saved->dtype->name,
            wi_dtypes_text(WI_TAKES_FLOATS));
    return WEFT_OK;
}

static weft_status fill_from_file(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    const char *const path = self->path;
    if (!path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_init_from_file: path must not be NULL");
    const char *const entry = self->entry ? self->entry : weft_tensor_name(variable);
    const weft_allocator *const allocator = variable->graph->context->allocator;
    weft_status status = WEFT_OK;
    wi_safetensors file = {0};
    char *bytes = NULL;
    size_t size = 0;
    WI_TRY_DONE(wi_file_read_by(&variable->graph->context->files, path, &bytes, &size));
    WI_TRY_DONE(wi_safetensors_parse(&file, allocator, path, bytes, size));
    const wi_saved_tensor *const saved = wi_safetensors_find(&file, entry);
    WI_TRY_DONE(check_entry(saved, variable, path, entry));
    WI_TRY_DONE(wi_saved_check_f32(saved, file.data + saved->begin, path));
    wi_saved_to_f32(values, saved, file.data + saved->begin);
done:
    wi_safetensors_clear(&file);
    wi_release(allocator, bytes);
    return status;
}

weft_initialiser weft_init_from_file(const char *path, const char *entry) {
    return (weft_initialiser){.kind = WEFT_INIT_CUSTOM, .fill = fill_from_file, .path = path, .entry = entry};
}
