/* Descriptors of ops: those of the ops that op_list.h lists (wi_op_add, wi_op_softmax, ...), and those of ops of which
 * only Weft itself creates nodes. */
#ifndef WI_OP_DESCRIPTORS_H
#define WI_OP_DESCRIPTORS_H

#include "graph/op.h"

#define WI_MAP1(name, ...) extern const wi_op wi_op_##name;
#define WI_MAP2(name, ...) extern const wi_op wi_op_##name;
#define WI_MAP3(name, ...) extern const wi_op wi_op_##name;
#define WI_NODE(name)      extern const wi_op wi_op_##name;
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"

extern const wi_op wi_op_keep_f32;       /* VIEW: the input, which mixed precision stores in f32 */
extern const wi_op wi_op_in_memory;      /* VIEW: the input, which must be stored even if it is a constant */
extern const wi_op wi_op_dilate;         /* MAP: computes wi_dilate_dims (op_table.h) */
extern const wi_op wi_op_flat_gradients; /* JOIN */
extern const wi_op wi_op_assign, wi_op_assign_after;
extern const wi_op wi_op_assign_all; /* ASSIGN: its inputs, which are assignments */

#endif
