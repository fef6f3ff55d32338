/* Rewrites: graph to graph, once it is known what a plan computes and who reads what.
 *
 * Constructors only construct. A plan then looks at the nodes behind its outputs in passes, inputs before
 * their readers, and each node is replaced by its image: the same node over the images of its inputs, or what
 * a rule of its op gives instead. What a rule gives is looked at again until no rule applies. Images are
 * ordinary nodes of the same graph, where equal nodes are one, so the plans of a graph share them.
 *
 *   lower   nodes with the length are made at the plan's; composites become ordinary nodes, kernel ops what
 *           the device computes for them; rules of stage WI_STAGE_FORM: simplification, and layout, which moves
 *           views of memory from the inputs of a node to its result
 *   match   rules of stage WI_STAGE_MATCH too: patterns of several nodes, which may ask who reads a node
 *
 * A rule never makes the plan compute a node twice that the caller, too, wants: it asks wi_rewrite_is_kept or
 * wi_rewrite_has_one_reader before it takes a node apart. */
#ifndef WI_REWRITE_H
#define WI_REWRITE_H

#include "graph/length.h"

typedef enum wi_stage { WI_STAGE_FORM, WI_STAGE_MATCH } wi_stage;

typedef struct wi_rewrite wi_rewrite;

/* How often something was done to nodes of an op in one pass. */
typedef struct wi_rewrite_count {
    const wi_op *op;
    const char *what; /* a rule's name, "lowered" or "replaced by another kernel op" */
    wi_stage stage;
    uint32_t count;
} wi_rewrite_count;

/* An op's rules are an array that one without a name ends. apply gives a node of y's value, dtype and shape,
 * or NULL where it does not apply; `inputs` are the images of y's. */
typedef struct wi_rule {
    const char *name;
    wi_stage stage;
    weft_tensor *(*apply)(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs);
} wi_rule;

/* A composite with assignments, which are made when all roots so far have been walked over. */
typedef struct wi_effective {
    weft_tensor *node;
    uint32_t order; /* the number of the node of the caller's graph that it stands for */
} wi_effective;

struct wi_rewrite {
    weft_graph *graph;
    bool inference;
    int64_t batch;
    const weft_tensor *in_training,
        *names_it;  /* the first composite in its form for training, and wi_op.in_training of it */
    wi_given given; /* in place of the length */
    /* What the device's implementation computes in place of a kernel op's node: mostly that node itself.
     * NULL: the graph has an error. */
    weft_tensor *(*replace_kernel)(void *asker, weft_tensor *node);
    void (*replaced)(void *asker, const weft_tensor *node, const weft_tensor *image); /* NULL: nobody asks */
    void *asker;
    /* The outputs of the plan, then assignments that composites do (a norm's running statistics). */
    weft_tensor **roots;
    size_t root_count, root_capacity;
    size_t first_effect; /* among the roots: of those made together last */
    wi_effective *effective;
    size_t effective_count, effective_capacity;
    wi_stage stage;
    struct wi_visit *stack;
    size_t depth, stack_capacity;
    weft_tensor **drawn; /* by stream of random numbers: the first node of the pass that draws from it */
    size_t drawn_count;
    wi_rewrite_count *counts; /* in the order in which they were first done */
    size_t count_count, count_capacity;
    wi_length_input *inputs;
    size_t input_count, input_capacity;
};

/* Replaces the roots by their images in all passes. */
weft_status wi_rewrite_begin(wi_rewrite *rewrite, weft_tensor *const *outputs, size_t count);
weft_status wi_rewrite_run(wi_rewrite *rewrite);
void wi_rewrite_end(wi_rewrite *rewrite);

/* ---- for rules ---- */
/* What the pass knows of a node; NULL: nothing. */
const wi_rewritten *wi_rewrite_known(const wi_rewrite *rewrite, const weft_tensor *node);
/* Does the caller of the plan read the node, or is it an assignment? */
bool wi_rewrite_is_kept(const wi_rewrite *rewrite, const weft_tensor *node);
/* How often it is an input of another node; and: is it so once, and not kept? Only rules of stage
 * WI_STAGE_MATCH may ask. */
uint32_t wi_rewrite_readers(const wi_rewrite *rewrite, const weft_tensor *node);
bool wi_rewrite_has_one_reader(const wi_rewrite *rewrite, const weft_tensor *node);
/* What the first of the op's rules makes of y over these inputs; NULL: none applies. */
weft_tensor *wi_rewrite_apply(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs);
/* What the variable holds after the assignments that are known so far of composites. */
weft_tensor *wi_rewrite_value(const wi_rewrite *rewrite, weft_tensor *variable);
/* Which root is this assignment; their number: none is. */
size_t wi_rewrite_effect_on(const wi_rewrite *rewrite, const weft_tensor *variable);
/* Where to note the first node that draws from a stream. */
weft_tensor **wi_rewrite_drawn(wi_rewrite *rewrite, uint32_t stream);

#endif
