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

/* An op that a program or a file has written by parts, such as attention by products and a softmax. */
typedef struct wi_recognised {
    weft_tensor *node; /* ordinary nodes that compute the value from the leaves by the op */
    weft_tensor *leaves[WI_COMPOSED_LEAVES]; /* the inputs of the parts, and NULLs */
    weft_tensor
        *constants[WI_COMPOSED_LEAVES]; /* leaves whose gradients the parts compute in less time, and NULLs */
    weft_tensor *parts[WI_MOST_PARTS];  /* the nodes between the value and the leaves */
    int part_count;
} wi_recognised;

/* The recognisers of ops: `find` fills *found if y, a node of the op `root`, is the result of such parts. A plan computes found->node
 * in place of y if nobody else reads a part, and a gradient passes through found->node. A NULL root ends the list. */
typedef struct wi_recogniser {
    const wi_op *root;
    const char *name;
    bool (*find)(weft_tensor *y, wi_recognised *found);
} wi_recogniser;
extern const wi_recogniser wi_recognisers[];
/* Asks the recognisers of y's op. Returns the one that has filled *found; NULL: none. */
const wi_recogniser *wi_recognise(weft_tensor *y, wi_recognised *found);
/* How often y and the parts read a part. If this is less than it is read in all, others need it, too. */
uint32_t wi_reads_of_part(const weft_tensor *y, const wi_recognised *found, const weft_tensor *part);

/* The rules of the op; if the op has none, an entry without rules. The graph has a small hash table of them, because
 * passes ask for each node. */
const wi_op_rules *wi_rules_of(weft_graph *graph, const wi_op *op);

#endif
