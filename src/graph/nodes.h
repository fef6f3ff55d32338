/* Graphs: an arena of nodes, the variables that live from plan to plan, the first error.
 *
 * A node (weft_tensor) is never changed after it was made, and equal nodes are made once: the same op on the
 * same inputs with the same attributes is the same pointer. So a backward rule may write down an expression
 * that the forward pass has already, and shares it. */
#ifndef WI_NODES_H
#define WI_NODES_H

#include "base/options.h"
#include "cl/buffer.h"
#include "cl/context.h"
#include "graph/attributes.h"
#include "graph/dtype.h"
#include "graph/origin.h"
#include "graph/shape.h"

enum { WI_KERNEL_INPUTS = 8 };    /* of a node of kind KERNEL, at most */
enum { WI_COMPOSED_LEAVES = 12 }; /* of a node composed of others, at most */

/* Bit of a field of attributes, or of `count` of them, in wi_op.dimensions. */
#define WI_DIMENSION(type, field)         (1u << offsetof(type, field) / sizeof(int64_t))
#define WI_DIMENSIONS(type, field, count) ((WI_DIMENSION(type, field) << (count)) - WI_DIMENSION(type, field))

typedef enum wi_op_kind {
    WI_SOURCE,    /* memory that is there before the step: input, parameter, state */
    WI_GENERATOR, /* a value computed where it is used: constant, scalar, coordinate, random bits */
    WI_MAP,       /* elementwise with broadcasting */
    WI_REDUCE,    /* over the axes of attributes.over, which stay with size 1 */
    WI_PRODUCT,   /* batched matrix product */
    WI_VIEW,      /* other strides over the same memory */
    WI_KERNEL,    /* kernels of its own, over inputs in memory: kernels/registry.h */
    WI_JOIN,      /* inputs side by side in one memory */
    WI_ASSIGN,    /* a variable gets a value at the end of the step */
    WI_TRANSFER,  /* its input, on another device; made by plans */
    WI_COMPOSITE, /* replaced by ordinary nodes when a plan is made */
    WI_FUNCTION   /* no node of its own: built from others when it is called */
} wi_op_kind;

struct wi_rewrite;

typedef struct wi_op {
    const char *name;
    wi_op_kind kind;
    size_t attribute_bytes; /* sizeof the struct of attributes.h that its nodes have; 0: none */
    /* MAP: OpenCL C over a, b, c for float and for int results (comparisons: for float and int inputs). */
    const char *float_code, *int_code;
    /* How a gradient passes through a node with inputs: by a rule (graph/op_rules.h), or as one of the next three says.
     * composed: ordinary nodes of y's value, or of those sections of it that other nodes than kernels read, made
     * when a gradient passes; it goes back through them to the leaves that the function names, y's inputs or older
     * nodes.
     * zero_gradient: it is zero everywhere (indices, steps, what is meant to stop it).
     * no_gradient: asking for it is an error, whose line ends with this text, the way out. */
    weft_tensor *(*composed)(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);
    bool zero_gradient;
    const char *no_gradient;
    /* COMPOSITE: ordinary nodes of the same value. */
    weft_tensor *(*lower)(weft_tensor *y, bool inference);
    /* COMPOSITE: what names y to the user, if its form in plans for training is another one than for inference, so that it
     * draws numbers or moves statistics there; NULL: the forms are alike. */
    const weft_tensor *(*in_training)(const weft_tensor *y);
    /* COMPOSITE, NULL where there is nothing: refuses a plan that computes y at that batch (the line names
     * the op); and assignment 0, 1, ... (NULL: no more) that every plan for training does which computes y. Of
     * several nodes that assign to one variable in a plan, each reads what the one before leaves in it
     * (wi_rewrite_value), in the order of their creation, and the last assigns. */
    weft_status (*check)(const weft_tensor *y, int64_t batch, bool inference);
    weft_tensor *(*effect)(weft_tensor *y, int number, const struct wi_rewrite *rewrite);
    /* Its assignments may replace outputs of the plan that assign to the same variable. */
    bool guards;
    /* VIEW: y's layout over the memory of x; false when strides cannot express it and x must be copied first.
     */
    bool (*view)(const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out,
        wi_layout *layout);
    /* MAP: numbers on the way from it to the next contraction stay in f32 where others are stored in 16 bits. */
    bool precise;
    /* MAP: instead of code, a padded read of its one input, as attributes.padding says. */
    bool reads_padded;
    /* KERNEL: contiguous: the inputs that its kernels want so, a bit each. fault: what WEFT_FAULT in its kernels means
     * ("an index is out of range"); NULL: they have none. fault_index: of what the position that it notes is one;
     * NULL: "(row-major) of its index input". */
    uint32_t contiguous;
    const char *fault, *fault_index;
    /* KERNEL: the result is its first input but for the parts that others name: its kernels may get one memory for both,
     * and then write these parts alone. */
    bool replaces;
    /* PRODUCT (other than matmul) and KERNEL: with examples along the first axis it is of some of them what it is of all, there;
     * a result without them is the sum of what it is of some. */
    bool takes_examples;
    /* KERNEL: the axis along which elements of the result depend on one another; along any other, it is of some indices what it is
     * of all. An input of another rank, an index, lies along that axis. With takes_examples: over part of that axis it is a part of
     * a sum. NULL: there is no such axis. */
    int (*along)(const weft_tensor *y);
    /* KERNEL: takes_examples, along whichever axis of each input and of the result they are. */
    bool takes_any_axis;
    /* KERNEL: writes into the attributes of a node that computes y from that example on what its numbers depend on of the examples
     * before. NULL: they do not depend on these. */
    void (*begin_at)(const weft_tensor *y, int64_t example, wi_attributes *attributes);
    /* REDUCE: of what it is of two parts of its input, what it is of both. NULL: that does not follow. */
    weft_tensor *(*combine)(weft_tensor *, weft_tensor *);
    /* KERNEL: the result is flat, a section after the other, each (rows, examples, elements): the elements of a row of the
     * section that begins there, in elements an example. 0: it has one row. Negative: no example can be computed alone. */
    int64_t (*section_row)(const weft_tensor *y, int64_t start);
    /* MAP: its value is a label, which is checked wherever it is computed (plan/label_check.c); makes the line of the
     * error for one that is out of range. NULL: it is not. */
    weft_status (*fail_label)(const weft_tensor *node, int32_t label);
    /* The caller gives a size of the result that no input has, and may give the length. */
    bool names_size;
    /* Attributes that are dimensions, and may have the length: a bit each word of 8 bytes (WI_DIMENSION). */
    uint32_t dimensions;
    /* Does y, whose shape and attributes are those at a length, still do what it was made for over these inputs? Else the
     * line says what is too long or too short. NULL: always. */
    weft_status (*fits)(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
        const wi_attributes *attributes);
    /* Makes y of these, where its constructor leaves out what changes nothing, as a sum over one element, or where one input follows
     * from another. NULL: wi_node. */
    weft_tensor *(*remake)(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
        const wi_attributes *attributes);
} wi_op;

/* What the latest pass of rewriting that met a node knows of it (graph/rewrite.h). */
typedef struct wi_rewritten {
    weft_tensor *image;    /* NULL: not known yet */
    uint64_t pass : 40;    /* that knows this; another one knows nothing */
    uint64_t readers : 21; /* inputs of other nodes that it is, or the most that fits; in the second pass */
    uint64_t counted : 1;  /* its own inputs have been counted there */
    uint64_t kept : 1;     /* a root */
    uint64_t entered : 1;  /* it, or what stands for it, is being looked at */
} wi_rewritten;

enum { WI_MOST_READERS = (1 << 21) - 1 };
#define WI_MOST_PASSES UINT64_C(0xffffffffff) /* a graph has fewer: two a plan */

struct weft_tensor {
    weft_graph *graph;
    const wi_op *op;
    uint32_t id; /* in order of creation; inputs have smaller ones */
    int input_count;
    weft_dtype dtype;
    uint32_t
        has_length : 1; /* it, or what it is computed from, has the length that a plan gives (graph/length.h) */
    uint32_t origin : 31; /* who made it (graph/origin.h); 0: it is not known */
    wi_rewritten rewritten;
    weft_tensor *readers;            /* of the nodes whose youngest input this is: some, the latest first */
    weft_tensor *next_reader;        /* of the own youngest input's */
    const wi_attributes *attributes; /* the struct of its op alone is there; NULL: it has none */
    wi_shape shape;
    const char *name; /* NULL: none */
    struct wi_variable *variable;
    weft_tensor *inputs[]; /* behind them the attributes, and what a composite is lowered to */
};

/* A plan at a new length makes thousands of nodes, and most of the time that takes is for the memory. */
_Static_assert(
    sizeof(void *) != 8 || sizeof(weft_tensor) == 160, "a node has no padding that could be saved");

/* What plans take instead of a composite. */
typedef struct wi_lowered {
    weft_tensor *to[2]; /* in training, in inference; NULL: not asked yet */
    weft_tensor *next;  /* the composite of the graph that was made before */
} wi_lowered;

/* Memory of a graph that lives from plan to plan. A block is one buffer. All parameters that are there before the first
 * plan share one, as far as a buffer may be so large; those that are made after it share the next, and so on: memory never
 * moves. A variable that is larger than a buffer has several blocks, its pieces: each of as many of its rows (indices of its
 * first axis) as the first, and the last of the rest. */
typedef struct wi_block {
    wi_buffer buffer; /* made when the first plan or read needs it */
    size_t bytes;
    uint64_t writes; /* how often something was written to it since it was made */
    size_t first;    /* the first of the blocks that hold the same variable in pieces; else its own number */
    size_t pieces;   /* of the first: how many blocks there are, one after the other; else 1 */
} wi_block;

typedef struct wi_variable {
    weft_tensor *tensor;
    size_t number; /* among the parameters, or among the states, of the graph */
    size_t block;
    size_t offset; /* bytes in the block */
    size_t bytes;
    weft_initialiser initialiser;
    void *data; /* initial content given by the caller, until it is on the device; NULL: the initialiser's */
    uint32_t stream;              /* of the initialiser's random numbers */
    size_t zero_from, zero_bytes; /* of what the initialiser computes, this part is zeros */
    bool trainable;
    bool sparse;    /* a table that is updated by rows */
    float max_norm; /* of such a table's rows where they are read; 0: any */
    bool frozen;    /* a parameter that the next weft_minimize or weft_optimizer_step leaves alone */
    /* What an optimizer keeps for the parameters from offset `covered` of a block on, as many bytes: "m". NULL: no such
     * state. */
    const char *role;
    size_t optimizer, clock; /* by number */
    size_t covered_block, covered;
    bool transient; /* no file has anything of it */
    bool assigned;  /* by weft_assign: its value is part of a training's state */
    const char *
        saved_as; /* what loss scaling and updates count: its name in checkpoints; NULL: it is none of that */
    bool is_optional; /* with saved_as: a checkpoint may lack it */
} wi_variable;

/* Counts the runs that update the parameters that an optimizer met in one step. */
typedef struct wi_clock {
    uint64_t runs;  /* so far, the one under way included */
    uint64_t every; /* runs an update: gradients are accumulated over so many */
    uint64_t held;  /* runs in the window of the run under way; `runs` is a multiple of `every` in its last */
    bool ends;      /* the next run is the last of its window */
    /* With loss scaling, or if runs may be empty (nn/run_count.c), rank 0: how many of its updates were skipped, a number
     * that a rule keeps from update to update, and how many runs of the window count; NULL: not yet. */
    weft_tensor *skipped, *memory, *counted;
} wi_clock;

/* Of a graph in f16 (ops/loss_scale.h). States of rank 0; NULL: not yet. */
typedef struct wi_loss_scaling {
    weft_loss_scaling options;
    weft_tensor *scale;
    weft_tensor *good;    /* steps since it changed, or since one was skipped */
    weft_tensor *skipped; /* steps, in all */
    weft_tensor *steps;   /* in all */
    weft_tensor *began;   /* the step that the skipped ones before the next began with; -1: there are none */
    weft_tensor *judged;  /* what the gradients of the last run were: WI_UPDATE_ */
    weft_tensor *failed;  /* 1: a step was skipped at the least scale */
    bool has_plain;       /* there are updates without it */
} wi_loss_scaling;

/* A number that the host computes before each run. */
typedef struct wi_scalar {
    float value; /* as set by weft_scalar_set; with a rule that does not start from it: unused */
    double (*rule)(struct wi_scalar *scalar, const wi_clock *clock);
    double a, b;        /* of the rule */
    const void *reads;  /* by the rule, besides; of the graph's arena */
    bool is_set;        /* the rule starts from the value, which is part of a training's state */
    bool is_rate;       /* of an optimizer: 0 or more, and finite */
    double memory;      /* what a rule keeps from update to update, */
    uint64_t remembers; /* and of which update that is */
    size_t clock;
    bool is_unsaved; /* checkpoints do not number it */
} wi_scalar;

enum { WI_MAX_CLOCKS = 64 };

/* Names of variables, of the layers that they belong to, and words that are numbered (graph/variable_names.h). */
typedef struct wi_variable_name wi_variable_name;
typedef struct wi_variable_names {
    wi_variable_name *variables, *layers, *words;
} wi_variable_names;
typedef struct wi_scope wi_scope; /* graph/scope.h */

/* Variables of a kind in order of creation. */
typedef struct wi_variable_list {
    wi_variable **of;
    size_t count, capacity;
} wi_variable_list;

/* Which learning rate an update moves with. */
typedef struct wi_rated_update {
    const weft_tensor *update;
    weft_tensor *rate;
    struct wi_rated_update *next;
} wi_rated_update;

/* A mean over a number of elements that depends on the data (ops/loss/loss_terms.h). */
typedef struct wi_noted_mean {
    const weft_tensor *mean;
    weft_tensor *total; /* what the sum was divided by, rank 0, f32 */
    struct wi_noted_mean *next;
} wi_noted_mean;

typedef struct wi_attachment {
    const char *key;
    void *value;
    void (*release)(void *value);
    struct wi_attachment *next;
} wi_attachment;

typedef struct wi_host_state wi_host_state; /* graph/host_state.h */

typedef struct wi_known_node {
    uint32_t hash;
    weft_tensor *node; /* NULL: unused */
} wi_known_node;

/* The rules of an op, in a slot that the op's address chooses (graph/op_rules.h). */
enum { WI_KNOWN_RULES = 128 };
typedef struct wi_known_rules {
    const wi_op *op; /* NULL: unused */
    const struct wi_op_rules *rules;
} wi_known_rules;

struct weft_graph {
    weft_context *context;
    bool owned_by_context; /* the default graph: its references are the context's */
    int references;
    wi_arena arena;
    uint32_t node_count;
    uint64_t rewrite_passes; /* so far */
    wi_known_rules rules[WI_KNOWN_RULES];
    /* Nodes by their hash, where no list of readers has them: those without inputs all are here. The capacity is a power of
     * two, and a half at least is unused. */
    wi_known_node *known;
    size_t known_count, known_capacity;
    weft_tensor *composites; /* the latest */
    wi_block *blocks;
    size_t block_count, block_capacity;
    wi_variable **variables; /* parameters and states in order of creation */
    size_t variable_count, variable_capacity;
    wi_variable_list kinds[2]; /* the same: states, parameters */
    wi_variable_names names;
    wi_scalar *scalars;
    size_t scalar_count, scalar_capacity;
    uint32_t streams;       /* random nodes made so far */
    struct wi_scope *scope; /* that is open (graph/scope.h); NULL: none */
    /* Its plans leave out what only saves time or memory (plan/request.h): tests compare others with these. */
    bool plain;
    weft_dtype precision; /* weft_graph_set_precision */
    wi_loss_scaling scaling;
    weft_matmul_precision matmul_precision;
    size_t parameter_block;         /* where the next parameter is put, unless it is on the device by then */
    wi_clock clocks[WI_MAX_CLOCKS]; /* of optimizers */
    size_t clock_count;
    uint64_t draws;    /* runs of plans with random numbers so far: a part of their counter */
    weft_tensor *rate; /* of the latest optimizer: weft_minimize_rate */
    size_t optimizers; /* made so far */
    wi_rated_update *rated;
    wi_noted_mean *means;
    bool
        told_of_training; /* the log has said that a plan computes in the form for training and updates nothing */
    bool swapped;         /* the parameters hold the average, and the average the parameters */
    wi_attachment *attachments;
    wi_host_state *host_states; /* in order of addition */
    uint64_t host_state_count;  /* added so far */
    int64_t length_symbol;      /* of the nodes that have the length (graph/shape.h); 0: none has */
    wi_origins origins;         /* graph/origin.h */
    weft_status status;         /* the first error */
    char error[1024];
};

/* "matmul 'name' (batch, 10) (in weft_linear)" into text, for errors; returns text. */
enum { WI_NODE_TEXT = WI_SHAPE_TEXT + WI_ORIGIN_TEXT + 192 };
const char *wi_node_print(const weft_tensor *node, char text[WI_NODE_TEXT]);

/* ---- making nodes (expressions of the layers above) ---- */
/* Records the first error of the graph and returns NULL. */
weft_tensor *wi_graph_fail(weft_graph *graph, weft_status status, const char *format, ...) WI_PRINTF(3, 4);
/* The same after a call that has recorded its line. */
weft_tensor *wi_graph_fail_recorded(weft_graph *graph, weft_status status);
/* wi_options_read for an expression; false with the error recorded in the graph. */
bool wi_graph_options(
    weft_graph *graph, void *own, size_t known, const void *given, const char *call, const char *macro);
#define WI_GRAPH_OPTIONS(graph, own, given, call, init)                                                      \
    wi_graph_options((graph), (own), sizeof *(own) + 0 * sizeof((own) == (given)), (given), (call), #init)
/* The graph of the inputs when none is NULL and all are of one graph without an error; else NULL, with the
 * error recorded where there is a graph to record it in. */
weft_graph *wi_inputs_graph(const char *op, weft_tensor *const *inputs, int count);
/* Makes a node, or finds the equal one. dtype and shape are the result's, already inferred. Of the attributes
 * the op's struct is read; NULL: the op has none. */
weft_tensor *wi_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    weft_dtype dtype, const wi_shape *shape, const wi_attributes *attributes);
/* The attributes, to be changed for another node: zero beyond the op's struct. */
wi_attributes wi_attributes_of(const weft_tensor *node);
wi_lowered *wi_lowered_of(weft_tensor *composite);
/* The same of y's op, dtype and attributes, over as many other inputs. */
weft_tensor *wi_node_over(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape);

/* ---- sources and generators ---- */
extern const wi_op wi_op_input, wi_op_parameter, wi_op_state, wi_op_flat, wi_op_constant, wi_op_elements,
    wi_op_scalar, wi_op_coordinate;
/* value × batch^power, rank 0. */
weft_tensor *wi_constant_batch_power(weft_graph *graph, weft_dtype dtype, double value, int power);
/* How many elements some axes of x have, as wi_shape_count gives it (0 where it is below), and 1 over that: constants
 * that follow the length. */
weft_tensor *wi_constant_count(const weft_tensor *x, weft_dtype dtype, int64_t count, int power);
weft_tensor *wi_constant_share(const weft_tensor *x, weft_dtype dtype, int64_t count, int power);
/* i32, shape `shape`: the index along an axis. */
weft_tensor *wi_coordinate(weft_graph *graph, const wi_shape *shape, int axis);
/* Seen through views: is this one number everywhere? */
bool wi_is_constant(const weft_tensor *x, double *value, int *power);
/* The number of the update that the clock's run belongs to, from 1. */
uint64_t wi_clock_update(const wi_clock *clock);
/* Takes weft_accumulation_end back, where no run has followed. */
void wi_accumulation_goes_on(weft_graph *graph);
/* Counts the run that begins. */
void wi_clock_run(wi_clock *clock);
/* A rank-0 f32 that the host computes before each run. */
/* The node, with this name unless it is NULL. */
weft_tensor *wi_name_node(weft_tensor *node, const char *name);
/* One by its own: for rules that weft_scalar_set changes something about. */
weft_tensor *wi_ruled_scalar(weft_graph *graph, const char *name, wi_scalar scalar);
bool wi_scalar_has_rule(const weft_tensor *scalar);
weft_tensor *wi_step_scalar(
    weft_graph *graph, size_t clock, double (*rule)(wi_scalar *, const wi_clock *), double a, double b);
/* The parameters of a block, as one f32 tensor (rows, WI_FLAT_ROW): every parameter begins a row, so what belongs to a
 * parameter as a whole is one number a row. Gaps are zero. */
enum { WI_FLAT_ROW = 16, WI_FLAT_ROW_BYTES = 64 };
weft_tensor *wi_flat_parameters(weft_graph *graph, size_t block);
/* A state without a name of so many of the block's rows, in the pieces in which the block is. */
weft_tensor *wi_covering_state(weft_graph *graph, size_t block, int64_t rows, float first);
/* The row at which a parameter begins, and how many it has. */
int64_t wi_first_row(const weft_tensor *parameter);
int64_t wi_row_count(const weft_tensor *parameter);

/* ---- variables ---- */
/* A block, or as many as there are pieces of so many bytes; piece 0: one block. */
weft_status wi_graph_add_block(weft_graph *graph, size_t bytes, size_t piece, size_t *index);
/* The block of a variable, or of parameters as one tensor; the first of its pieces. */
size_t wi_graph_block_of(const weft_tensor *source);
/* Bytes of all pieces of which the block is the first. */
size_t wi_graph_block_bytes(const weft_graph *graph, size_t block);
/* Makes and fills the memory of the block, and of all pieces where it is one, if that has not happened yet. */
weft_status wi_graph_block_ready(weft_graph *graph, size_t block);
/* Whoever writes to a block's memory, or to any of the pieces of which it is the first, says so, so that plans compute again
 * what they keep of it. */
void wi_graph_block_written(weft_graph *graph, size_t block);
/* Bytes of a block, or of the pieces of which it is the first, that lie in one buffer. */
typedef struct wi_block_range {
    cl_mem memory;
    size_t offset, bytes;
} wi_block_range;
/* What begins at that byte of the block, `bytes` of it at most; the block is ready. */
wi_block_range wi_graph_block_range(const weft_graph *graph, size_t block, size_t offset, size_t bytes);
/* The variable's bytes from `offset` on, read or written by the host. */
weft_status wi_variable_read(const weft_tensor *variable, size_t offset, void *data, size_t bytes);
weft_status wi_variable_write(const weft_tensor *variable, size_t offset, const void *data, size_t bytes);
size_t wi_graph_variable_bytes(const weft_graph *graph);

/* ---- things that live as long as the graph: plans kept for inference ---- */
weft_status wi_graph_attach(weft_graph *graph, const char *key, void *value, void (*release)(void *value));
void *wi_graph_attachment(weft_graph *graph, const char *key); /* NULL: none */

#endif
