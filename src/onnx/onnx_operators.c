/* The tables of all operators (contract in onnx_node.h). */
#include "onnx/onnx_node.h"
#include <string.h>

/* NULL: the list has no such op. */
static const wi_onnx_op *find_op(const wi_onnx_op *list, const char *name) {
    for (const wi_onnx_op *op = list; op->name; op++)
        if (strcmp(op->name, name) == 0) return op;
    return NULL;
}

const wi_onnx_op *wi_onnx_op_of(wi_onnx_node *node) {
    static const wi_onnx_op *const standard[] = {wi_onnx_elementwise_ops, wi_onnx_activation_ops,
        wi_onnx_integer_ops, wi_onnx_reduce_ops, wi_onnx_index_ops, wi_onnx_block_ops, wi_onnx_quantised_ops,
        wi_onnx_loss_ops, wi_onnx_signal_ops, wi_onnx_layer_ops, wi_onnx_movement_ops, wi_onnx_recurrent_ops,
        wi_onnx_conv_ops, wi_onnx_pool_ops, wi_onnx_resize_ops, wi_onnx_sample_ops, wi_onnx_norm_ops,
        wi_onnx_attention_ops, wi_onnx_einsum_ops, wi_onnx_host_ops, wi_onnx_control_ops,
        wi_onnx_sequence_ops, wi_onnx_random_ops, wi_onnx_select_ops};
    const char *const domain = node->domain ? node->domain : "";
    const wi_onnx_op *op = NULL;
    if (!node->op_type) return NULL;
    if (strcmp(domain, "com.microsoft") == 0) {
        op = find_op(wi_onnx_microsoft_ops, node->op_type);
        return op ? op : find_op(wi_onnx_microsoft_quantised_ops, node->op_type);
    }
    if (strcmp(domain, "ai.onnx.preview.training") == 0) return find_op(wi_onnx_training_ops, node->op_type);
    if (domain[0] && strcmp(domain, "ai.onnx") != 0) return NULL;
    for (size_t i = 0; !op && i < sizeof standard / sizeof *standard; i++)
        op = find_op(standard[i], node->op_type);
    return op;
}
