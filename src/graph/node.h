/* Nodes (weft_tensor), and the functions that create them.
 *
 * A node does not change after its creation, and equal nodes are created once: the same op with the same attributes over
 * the same inputs is the same pointer. A backward rule can therefore create an expression again that the forward pass
 * contains, and gets the existing node. weft_graph.h has the graph that the nodes belong to. */
#ifndef WI_NODE_H
#define WI_NODE_H

#include "graph/dtype.h"
#include "graph/op.h"

/* What a pass of rewriting knows about a node (graph/rewrite.h). */
typedef struct wi_rewritten {
    weft_tensor *image; /* the node that replaces this one (perhaps this one itself); NULL: not known yet */
    uint64_t
        pass : 40; /* the number of the pass that wrote these fields; they have no meaning for other passes */
    uint64_t
        readers : 21; /* how often nodes that existed before the pass have it as an input, WI_MOST_READERS at most */
    uint64_t counted : 1; /* the readers of its inputs have been counted */
    uint64_t kept : 1;    /* it is a root */
    uint64_t entered : 1; /* it, or a node that replaces it, is being rewritten */
} wi_rewritten;

enum { WI_MOST_READERS = (1 << 21) - 1 };
#define WI_MOST_PASSES UINT64_C(0xffffffffff) /* a graph has fewer passes: two for each plan */

struct weft_tensor {
    weft_graph *graph;
    const wi_op *op;
    uint32_t id; /* in order of creation, so that inputs have smaller ids */
    int input_count;
    weft_dtype dtype;
    uint32_t
        is_symbolic : 1; /* it, or a node that it depends on, has a size that plans choose (graph/sizes.h) */
    uint32_t cuts_batch : 1; /* such a size contains the batch */
    uint32_t origin : 30;    /* the call that created it (graph/origin.h); 0: not known */
    wi_rewritten rewritten;
    weft_tensor *readers;     /* a list of some nodes whose youngest input is this node, the latest first */
    weft_tensor *next_reader; /* the next in such a list */
    const wi_attributes *attributes; /* only the struct of the op exists; NULL: none */
    wi_shape shape;
    const char *name; /* NULL: none */
    struct wi_variable *variable;
    weft_tensor *inputs[]; /* followed by the attributes, and by the wi_lowered of a composite */
};

/* Creating a plan of new sizes creates thousands of nodes, and most of this time is spent on the memory of nodes. */
_Static_assert(
    sizeof(void *) != 8 || sizeof(weft_tensor) == 160, "a node has no padding that could be saved");

/* The nodes by which plans replace a composite. */
typedef struct wi_lowered {
    weft_tensor *to[2]; /* for training and for inference; NULL: not created yet */
    weft_tensor *next;  /* the composite that the graph created before */
} wi_lowered;

/* Writes a node for errors, "matmul 'name' (batch, 10) (in weft_linear)", and returns the text. */
enum { WI_NODE_TEXT = WI_SHAPE_TEXT + 704 };
const char *wi_node_print(const weft_tensor *node, char text[WI_NODE_TEXT]);

/* ---- for constructors ---- */
/* Records the graph's first error, and returns NULL. */
weft_tensor *wi_graph_fail(weft_graph *graph, weft_status status, const char *format, ...) WI_PRINTF(3, 4);
/* wi_graph_fail after a call that failed with this status; the message is the thread's last error. */
weft_tensor *wi_graph_fail_recorded(weft_graph *graph, weft_status status);
/* wi_options_read for a constructor. False: the call failed, and the error is recorded in the graph. */
bool wi_graph_options(
    weft_graph *graph, void *own, size_t known, const void *given, const char *call, const char *macro);
#define WI_GRAPH_OPTIONS(graph, own, given, call, init)                                                      \
    wi_graph_options((graph), (own), sizeof *(own) + 0 * sizeof((own) == (given)), (given), (call), #init)
/* The graph of the inputs. NULL if an input is NULL, if inputs belong to different graphs, or if the graph has an error; the
 * error is recorded if one of the inputs has a graph. */
weft_graph *wi_inputs_graph(const char *op, weft_tensor *const *inputs, int count);
/* Has x one of the dtypes (WI_TAKES_FLOATS, ...)? False: the error is recorded. */
bool wi_takes_dtype(const weft_tensor *x, const char *op, unsigned takes);
/* Creates a node, or finds the equal one. dtype and shape are those of the result. Only the op's struct of the attributes is
 * read; NULL: the op has no attributes. */
weft_tensor *wi_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    weft_dtype dtype, const wi_shape *shape, const wi_attributes *attributes);
/* A copy of the node's attributes, which the caller may change to create another node. Bytes of the union outside the
 * op's struct are zero. */
wi_attributes wi_attributes_of(const weft_tensor *node);
wi_lowered *wi_lowered_of(weft_tensor *composite);
/* A node of y's op, dtype and attributes over other inputs, as many as y has. */
weft_tensor *wi_node_over(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape);

/* ---- axes ---- */
/* The index of an axis, which counts from the end if it is negative. -1: there is no such axis, and the error is recorded. */
int wi_axis_index(const weft_tensor *x, const char *op, int64_t axis);
/* The axes of a list that WEFT_END or NULL ends, as a bit for each. False: an axis does not exist or is given twice, and the error is
 * recorded. */
bool wi_axes_mask(const weft_tensor *x, const char *op, const int64_t *axes, uint32_t *mask);
/* Is the size of the axis a handle (sizes.h)? For constructors that need to know the size. */
bool wi_axis_is_symbolic(const weft_tensor *x, int axis);
/* The number of elements of the axes (a bit for each) is coefficient × batch^power. */
void wi_axes_count(const weft_tensor *x, uint32_t axes, int64_t *coefficient, int *power);
/* 1 / the number of elements of the axes. */
weft_tensor *wi_axes_share(const weft_tensor *x, weft_dtype dtype, uint32_t axes);

/* ---- sources and generators ---- */
extern const wi_op wi_op_input, wi_op_parameter, wi_op_state, wi_op_flat, wi_op_constant, wi_op_elements,
    wi_op_scalar, wi_op_coordinate;
/* value × batch^power, of rank 0. */
weft_tensor *wi_constant_batch_power(weft_graph *graph, weft_dtype dtype, double value, int power);
/* Constants that may be symbolic: a number of elements of x, count × batch^power as from wi_shape_count (0 if the count is
 * negative), and 1 / this number. */
weft_tensor *wi_constant_count(weft_graph *graph, weft_dtype dtype, int64_t count, int power);
weft_tensor *wi_constant_share(weft_graph *graph, weft_dtype dtype, int64_t count, int power);
/* The index along an axis of the shape, as i32. */
weft_tensor *wi_coordinate(weft_graph *graph, const wi_shape *shape, int axis);
/* Is every element of x, through views, the constant value × batch^power? */
bool wi_is_constant(const weft_tensor *x, double *value, int *power);
/* Names the node unless the name is NULL, and returns the node. */
weft_tensor *wi_name_node(weft_tensor *node, const char *name);

#endif
