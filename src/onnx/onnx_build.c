/* See onnx_build.h. */
#include "onnx/onnx_build.h"
#include <string.h>

enum { MOST_NUMBERS = 1 << 24 };

int64_t wi_onnx_fixed_size(const weft_tensor *x, int axis) {
    const int64_t size = weft_tensor_dimension(x, axis);
    return size > 0 && !wi_is_symbolic(size) ? size : 0;
}

bool wi_onnx_zeros(wi_onnx_numbers *numbers, wi_onnx_import *n, wi_onnx_node *node, weft_dtype dtype,
    int rank, const int64_t *dims) {
    *numbers = (wi_onnx_numbers){.dtype = dtype, .rank = rank, .count = 1};
    bool fits = rank <= WEFT_MAX_RANK;
    for (int d = 0; fits && d < rank; d++) {
        numbers->dims[d] = dims[d];
        fits = dims[d] >= 1 && (size_t)dims[d] <= MOST_NUMBERS / numbers->count;
        numbers->count *= fits ? (size_t)dims[d] : 1;
    }
    numbers->data = fits ? wi_arena_take(&n->arena, numbers->count * sizeof *numbers->data) : NULL;
    if (numbers->data) memset(numbers->data, 0, numbers->count * sizeof *numbers->data);
    if (!numbers->data)
        wi_onnx_fail(n, node, fits ? WEFT_ERROR_MEMORY : WEFT_ERROR_UNSUPPORTED,
            fits ? "out of memory" : "it needs a table that is too large");
    return numbers->data != NULL;
}

weft_tensor *wi_onnx_optional(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    return wi_onnx_has(node, index) ? wi_onnx_get(n, node, index) : NULL;
}

bool wi_onnx_has_output(wi_onnx_node *node, size_t index) {
    return index < node->n_output && node->output[index][0];
}

int wi_onnx_choice(wi_onnx_node *node, const char *name, const char *const *texts) {
    int i = 0;
    if (!wi_onnx_attribute(node, name)) return 0;
    while (texts[i] && !wi_onnx_says(node, name, texts[i])) i++;
    return i;
}

int wi_onnx_axis_of(wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x, int64_t otherwise) {
    const int64_t axis = wi_onnx_whole(node, "axis", otherwise), rank = weft_tensor_rank(x);
    if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
    wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %lld", (long long)axis);
    return -1;
}

int wi_onnx_need_choice(wi_onnx_import *n, wi_onnx_node *node, const char *name, const char *const *texts) {
    const int choice = wi_onnx_choice(node, name, texts);
    if (texts[choice]) return choice;
    wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "this %s is not supported", name);
    return -1;
}
