/* Rewrites: a plan replaces the nodes that its outputs need, because only a plan knows what is computed and who reads it.
 *
 * Constructors create what the caller asks for. A plan visits the nodes in two passes, inputs before their readers, and
 * replaces each node by its image: the same node over the images of its inputs, or what a rule of its op returns. The pass
 * rewrites what a rule returns until no rule applies. Images are ordinary nodes of the same graph, which the plans share.
 *
 *   first    ops that the caller has written by parts are recognised (op_rules.h), nodes with the length are created again at the
 *            plan's length, composites are replaced by ordinary nodes, and kernel ops by the ops that the device has kernels for. Rules of stage WI_STAGE_FORM simplify, and move views of memory from
 *            the inputs of a node to its result.
 *   second   rules of stage WI_STAGE_MATCH, too, which match several nodes and may ask how often a node is read
 *
 * If a rule takes apart a node that is also read elsewhere, the plan computes it twice. A rule therefore first calls
 * wi_rewrite_is_kept or wi_rewrite_has_one_reader. */
#ifndef WI_REWRITE_H
#define WI_REWRITE_H

#include "graph/sizes.h"

typedef enum wi_stage { WI_STAGE_FORM, WI_STAGE_MATCH } wi_stage;

typedef struct wi_rewrite wi_rewrite;

/* How often one pass changed nodes of an op in one way. */
typedef struct wi_rewrite_count {
    const wi_op *op;
    const char *what; /* a rule's name, "lowered" or "replaced by another kernel op" */
    wi_stage stage;
    uint32_t count;
} wi_rewrite_count;

/* The rules of an op are an array, which a rule without a name ends. `apply` returns a node of y's value, dtype and shape, or NULL
 * if the rule does not apply; `inputs` are the images of y's inputs. */
typedef struct wi_rule {
    const char *name;
    wi_stage stage;
    weft_tensor *(*apply)(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs);
} wi_rule;

/* A composite whose assignments (wi_op.effect) the pass creates after it has rewritten all roots that were there
 * before. */
typedef struct wi_effective {
    weft_tensor *node;
    uint32_t order; /* the id of the caller's node that it replaces */
} wi_effective;

struct wi_rewrite {
    weft_graph *graph;
    bool inference;
    int64_t batch;
    /* The first composite whose forms for training and inference differ, and the result of its wi_op.in_training. */
    const weft_tensor *in_training, *names_it;
    wi_given given;
    /* Returns the node that the device computes instead of a node of kind KERNEL, usually the node itself. NULL: the graph has an
     * error. */
    weft_tensor *(*replace_kernel)(void *asker, weft_tensor *node);
    void (*replaced)(
        void *asker, const weft_tensor *node, const weft_tensor *image); /* called for each; or NULL */
    void *asker;
    /* The outputs of the plan, then the assignments of composites, such as running statistics of a norm. */
    weft_tensor **roots;
    size_t root_count, root_capacity;
    size_t first_effect; /* the first root of the latest assignments of composites */
    wi_effective *effective;
    size_t effective_count, effective_capacity;
    wi_stage stage;
    struct wi_visit *stack;
    size_t depth, stack_capacity;
    weft_tensor *
        *drawn; /* for each stream of random numbers, the first node of the pass that draws from it */
    size_t drawn_count;
    wi_rewrite_count *counts;
    size_t count_count, count_capacity;
    wi_size_input *inputs;
    size_t input_count, input_capacity;
};

/* wi_rewrite_begin takes the outputs, and wi_rewrite_run rewrites them. Then `roots` are the rewritten outputs and the
 * assignments. */
weft_status wi_rewrite_begin(wi_rewrite *rewrite, weft_tensor *const *outputs, size_t count);
weft_status wi_rewrite_run(wi_rewrite *rewrite);
void wi_rewrite_end(wi_rewrite *rewrite);

/* ---- for rules ---- */
/* What the pass knows about a node; NULL: nothing yet. */
const wi_rewritten *wi_rewrite_known(const wi_rewrite *rewrite, const weft_tensor *node);
/* Is the node a root: an output of the plan, or an assignment? */
bool wi_rewrite_is_kept(const wi_rewrite *rewrite, const weft_tensor *node);
/* wi_rewrite_readers returns how often the node is an input of other nodes; wi_rewrite_has_one_reader, whether this is
 * exactly once and the node is not a root. Only for rules of stage WI_STAGE_MATCH: in the first pass, nodes that the pass has created
 * have no counted readers. */
uint32_t wi_rewrite_readers(const wi_rewrite *rewrite, const weft_tensor *node);
bool wi_rewrite_has_one_reader(const wi_rewrite *rewrite, const weft_tensor *node);
/* What the first applicable rule of y's op returns for y over these inputs; NULL: no rule applies. */
weft_tensor *wi_rewrite_apply(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs);
/* wi_rewrite_value returns the value of the variable after the assignments that composites have added so far;
 * wi_rewrite_effect_on, the index of the root with the latest of these assignments, or root_count if there is none. */
weft_tensor *wi_rewrite_value(const wi_rewrite *rewrite, weft_tensor *variable);
size_t wi_rewrite_effect_on(const wi_rewrite *rewrite, const weft_tensor *variable);
/* The entry of a stream in `drawn`. */
weft_tensor **wi_rewrite_drawn(wi_rewrite *rewrite, uint32_t stream);

#endif
