/* The rows of all operators that the host computes, and computing a node by its row (contract in onnx_fold.h). */
#include "onnx/onnx_fold.h"
#include <string.h>

/* MOST_WORK: the most numbers that the nodes of a file read on the host. When they are used up, nodes that read more than
 * WI_ONNX_FEW_NUMBERS are left to their builders. */
enum { MOST_WORK = 1 << 28 };

static const wi_onnx_fold_row *row_of(wi_onnx_node *node) {
    static const wi_onnx_fold_row *const lists[] = {wi_onnx_number_folds, wi_onnx_source_folds,
        wi_onnx_move_folds, wi_onnx_index_folds, wi_onnx_reduce_folds};
    const char *const domain = node->domain ? node->domain : "";
    const wi_onnx_fold_row *row = NULL;
    if (!node->op_type || (domain[0] && strcmp(domain, "ai.onnx") != 0)) return NULL;
    for (size_t i = 0; !row && i < sizeof lists / sizeof *lists; i++)
        row = wi_onnx_fold_row_in(lists[i], node);
    return row;
}

/* The known numbers of an input, with the type that the network gives it. */
static const wi_onnx_numbers *typed(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    const int type = known ? wi_onnx_get_type(n, node, index) : 0;
    wi_onnx_numbers *const made =
        known && known->type != type ? wi_arena_take(&n->arena, sizeof *made) : NULL;
    if (!made) return known;
    *made = *known;
    made->type = type;
    return made;
}

bool wi_onnx_fold(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_fold_row *const row = row_of(node);
    if (!row || n->status != WEFT_OK) return n->status != WEFT_OK;
    const wi_onnx_numbers **const in =
        wi_arena_take(&n->arena, (node->n_input + WI_ONNX_MOST_NAMED) * sizeof(const wi_onnx_numbers *));
    size_t read = 0;
    for (size_t i = 0; in && i < node->n_input; i++) {
        const bool hidden = i < 32 && row->hidden >> i & 1;
        in[i] = typed(n, node, i);
        read += in[i] ? in[i]->count : 0;
        if (!in[i] && !hidden && (wi_onnx_has(node, i) || i < row->least)) return false;
    }
    if (!in || node->n_input < row->least || node->n_output == 0) return false;
    n->folded += read;
    if (n->folded > MOST_WORK && read > WI_ONNX_FEW_NUMBERS) return false;
    const wi_onnx_numbers *const made = row->fold(n, node, in);
    if (made && n->status == WEFT_OK) wi_onnx_set_numbers(n, node, 0, made);
    if (made && made->type) wi_onnx_set_type(n, node, 0, made->type);
    return made != NULL || n->status != WEFT_OK;
}
