/* Descriptors of ops: what an op is, and what graphs, plans and kernels need to know about it.
 *
 * A comment that begins with a kind says that only nodes of this kind have the field. */
#ifndef WI_OP_H
#define WI_OP_H

#include "graph/attributes.h"

enum { WI_KERNEL_INPUTS = 8 };    /* the largest number of inputs of a node of kind KERNEL */
enum { WI_COMPOSED_LEAVES = 12 }; /* the largest number of leaves of composed nodes */
enum { WI_MOST_PARTS = 16 };      /* the largest number of parts of which an op is recognised (op_rules.h) */

/* The bit in wi_op.dimensions of a field of attributes, or the bits of an array of `count` elements. */
#define WI_DIMENSION(type, field)         (1u << offsetof(type, field) / sizeof(int64_t))
#define WI_DIMENSIONS(type, field, count) ((WI_DIMENSION(type, field) << (count)) - WI_DIMENSION(type, field))

typedef enum wi_op_kind {
    WI_SOURCE,    /* memory that exists before a step: an input, a parameter, a state */
    WI_GENERATOR, /* without inputs, computed where it is read: a constant, a scalar, an index, random numbers */
    WI_MAP,       /* elementwise, with broadcasting */
    WI_REDUCE,    /* reduces attributes.over.axes, which keep size 1 */
    WI_PRODUCT, /* a batched matrix product or a convolution */
    WI_VIEW,    /* the memory of its input, with other strides */
    WI_KERNEL, /* computed from inputs in memory by kernels that were written for the op (kernels/registry.h) */
    WI_JOIN,   /* its inputs side by side in one memory */
    WI_ASSIGN,   /* stores a value in a variable at the end of a step */
    WI_TRANSFER, /* its input on another device; only plans create such nodes */
    WI_COMPOSITE /* replaced by ordinary nodes when a plan is created */
} wi_op_kind;

struct wi_rewrite;
struct wi_formula; /* graph/formula.h */

typedef struct wi_op {
    const char *name;
    wi_op_kind kind;
    size_t attribute_bytes; /* the size of the op's struct in attributes.h; 0: its nodes have no attributes */
    /* MAP: the value of an element, for float and for int results (of comparisons: for float and int inputs); NULL: not supported. */
    const struct wi_formula *float_formula, *int_formula;
    /* How a gradient passes through a node with inputs: the op has a backward rule (op_rules.h), or one of these three.
     * composed: creates ordinary nodes that compute y. Sections of y that only the kernel of its gradient reads may be
     * left out. The gradient passes through the created nodes and stops at the leaves, which the function writes to
     * `leaves`: inputs of y, or nodes that these inputs depend on.
     * zero_gradient: the gradient is zero everywhere, as for an index or for weft_stop_gradient.
     * no_gradient: asking for the gradient is an error, whose text ends with this string: it says what to do instead. */
    weft_tensor *(*composed)(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);
    bool zero_gradient;
    const char *no_gradient;
    /* COMPOSITE: creates ordinary nodes that compute y, in the form for inference or for training. */
    weft_tensor *(*lower)(weft_tensor *y, bool inference);
    /* COMPOSITE: the tensor by which a message names y to the user if the form for training draws random numbers or
     * updates statistics. The field, or the returned pointer, is NULL if both forms are alike. */
    const weft_tensor *(*in_training)(const weft_tensor *y);
    /* COMPOSITE: fails if a plan of this batch size must not compute y. NULL: every plan may. */
    weft_status (*check)(const weft_tensor *y, int64_t batch, bool inference);
    /* COMPOSITE: creates assignment `number`, counted from 0, of those that every training plan that computes y
     * performs; returns NULL behind the last one. If the field is NULL, there are no assignments. If several nodes of a
     * plan assign to one variable, each reads what the node before it assigns (wi_rewrite_value), in the order of their
     * creation, and the plan performs only the last assignment. */
    weft_tensor *(*effect)(weft_tensor *y, int number, const struct wi_rewrite *rewrite);
    bool guards; /* COMPOSITE: its assignments replace outputs of the plan that assign to the same variable */
    /* VIEW: writes the layout of y over the memory of x. False: strides cannot express y, so x must be copied first. */
    bool (*view)(const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out,
        wi_layout *layout);
    /* MAP: in mixed precision, a plan stores in f32 the value of the node and all values that are computed from it, up
     * to the next contraction. */
    bool precise;
    bool reads_padded;   /* MAP: has no code, but reads its one input padded, as attributes.padding says */
    uint32_t contiguous; /* KERNEL: a bit for each input that must be contiguous */
    /* KERNEL: the error that kernels report by WEFT_FAULT ("an index is out of range"; NULL: none), and what the position in
     * the error counts (NULL: the elements of the op's index, row-major). */
    const char *fault, *fault_index;
    /* KERNEL: the result is the first input with some parts replaced. If both have the same memory, the kernels write only
     * these parts. */
    bool replaces;
    /* PRODUCT other than matmul, and KERNEL. The first axis of inputs and result may have the examples of a batch. If the result
     * has them, an example of it depends only on the same example of the inputs; otherwise it is a sum over the examples. A plan
     * can therefore compute the node from a part of the examples at a time. */
    bool takes_examples;
    bool takes_any_axis; /* KERNEL: as takes_examples, if another axis than the first has the examples */
    /* KERNEL: returns the only axis along which an element of the result depends on elements of the inputs with other
     * indices; along every other axis, it depends only on elements with the same index. An input of another rank is an
     * index tensor, which lies along this axis. With takes_examples, the node can be computed from parts of this axis,
     * and the results are added up. NULL: see the two fields above. */
    int (*along)(const weft_tensor *y);
    /* KERNEL: used if values of y depend on the number of an example, as random numbers do: changes the attributes of a
     * node that computes y only from this example on. NULL: no value depends on the number. */
    void (*begin_at)(const weft_tensor *y, int64_t example, wi_attributes *attributes);
    /* REDUCE: combines the results from two parts of the input to the result from both. NULL: that is impossible. */
    weft_tensor *(*combine)(weft_tensor *, weft_tensor *);
    /* KERNEL: the result is flat and consists of sections of shape (rows, examples, elements). Returns how many elements a row of
     * the section at `start` has for each example, or 0 if the section has one row. Negative: examples cannot be computed apart. */
    int64_t (*section_row)(const weft_tensor *y, int64_t start);
    /* MAP: the value is a label, which is checked wherever it is computed (plan/emit/label_check.c). Fails with the message about a
     * label that is out of range. NULL: the value is not a label. */
    weft_status (*fail_label)(const weft_tensor *node, int32_t label);
    uint32_t
        dimensions; /* attributes that are sizes, and may have the length: a bit for each word of 8 bytes */
    /* Fails if y, with this shape and these attributes at a plan's length, is not valid over these inputs. NULL: it always is. */
    weft_status (*fits)(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
        const wi_attributes *attributes);
    /* Creates y at a plan's length if the constructor would have left out the node, for example a sum over one element,
     * or if an input of y must be computed from another input. NULL: wi_node creates it. */
    weft_tensor *(*remake)(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
        const wi_attributes *attributes);
} wi_op;

#endif
