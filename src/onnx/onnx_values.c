/* The table of a network's values, by their names (contract in onnx_import.h). */
#include "onnx/onnx_import.h"
#include <string.h>

/* MOST_KNOWN: the host does not read the numbers of constants that have more. */
enum { MOST_KNOWN = 1 << 20 };

wi_onnx_value *wi_onnx_find(const wi_onnx_import *n, const char *name) {
    wi_onnx_value *value;
    HASH_FIND_STR(n->values, name, value);
    return value;
}

wi_onnx_value *wi_onnx_add(wi_onnx_import *n, const char *name) {
    wi_arena *const arena = &n->arena;
    wi_onnx_value *value = wi_onnx_find(n, name);
    if (value) return value;
    value = wi_arena_take(arena, sizeof *value);
    if (!value) return NULL;
    *value = (wi_onnx_value){.name = name};
    HASH_ADD_KEYPTR(hh, n->values, value->name, strlen(value->name), value);
    return value->hh.tbl ? value : NULL;
}

const wi_onnx_numbers *wi_onnx_known_of(wi_onnx_import *n, wi_onnx_value *value) {
    wi_onnx_numbers shape;
    if (value->numbers || !value->stored || value->is_weight || value->is_trained) return value->numbers;
    if (wi_onnx_tensor_describe(&shape, value->stored) != WEFT_OK || shape.count > MOST_KNOWN) return NULL;
    wi_onnx_numbers *const numbers = wi_arena_take(&n->arena, sizeof *numbers);
    if (numbers && wi_onnx_tensor_read(numbers, &n->arena, value->stored) == WEFT_OK)
        value->numbers = numbers;
    return value->numbers;
}
