/* The rules of ops: how gradients pass back through nodes, and how plans rewrite nodes.
 *
 * A constructor names the descriptor of its op (wi_op), and a rule calls constructors of any ops. Descriptors therefore do not
 * name rules, because each constructor would then need all others. A file of src/ops has the rules of its ops in an array
 * wi_<name>_rules, which {0} ends, and the build lists all these arrays. */
#ifndef WI_OP_RULES_H
#define WI_OP_RULES_H

#include "graph/rewrite.h"

typedef struct wi_op_rules {
    const wi_op *op;
    /* Creates nodes for the gradients of y's inputs, given the gradient g of y. A gradient that is left NULL is zero. The gradient
     * of an input that was broadcast may have y's shape; the caller reduces it. NULL: wi_op says how a gradient passes. */
    void (*backward)(weft_tensor *y, weft_tensor *g, weft_tensor **gradients);
    const wi_rule *rewrites; /* a rule without a name ends them; NULL: none */
} wi_op_rules;

extern const wi_op_rules *const wi_all_rules[]; /* NULL ends the list */

/* The rules of the op; if the op has none, an entry without rules. The graph has a small hash table of them, because
 * passes ask for each node. */
const wi_op_rules *wi_rules_of(weft_graph *graph, const wi_op *op);

#endif
