/* The rules of ops: how gradients pass back through nodes, and how plans rewrite nodes.
 *
 * A constructor names the descriptor of its op (wi_op), and a rule calls the constructors of any ops. Descriptors therefore do
 * not name rules: otherwise a constructor would need all other constructors. A file of src/ops has the rules of its ops in an
 * array wi_<name>_rules, which {0} ends. The build lists all these arrays. */
#ifndef WI_OP_RULES_H
#define WI_OP_RULES_H

#include "graph/rewrite.h"

typedef struct wi_op_rules {
    const wi_op *op;
    /* Writes the gradients of y's inputs (NULL: zero), given the gradient g of y. It creates ordinary nodes. The gradient of an
     * input that was broadcast may have y's shape; the caller sums it. NULL: wi_op says how a gradient passes. */
    void (*backward)(weft_tensor *y, weft_tensor *g, weft_tensor **gradients);
    const wi_rule *rewrites; /* a rule without a name ends them; NULL: there are none */
} wi_op_rules;

extern const wi_op_rules *const wi_all_rules[]; /* NULL ends the list */

/* An entry without rules if the op has none. The graph keeps what was found: plans ask for each of its nodes. */
const wi_op_rules *wi_rules_of(weft_graph *graph, const wi_op *op);

#endif
