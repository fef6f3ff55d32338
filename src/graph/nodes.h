/* Graphs: an arena of nodes, the variables that live from plan to plan, and the first error.
 *
 * A node (weft_tensor) does not change after its creation, and equal nodes are created once: the same op with the same
 * attributes over the same inputs is the same pointer. A backward rule can therefore create an expression again that the
 * forward pass contains, and gets the existing node. */
#ifndef WI_NODES_H
#define WI_NODES_H

#include "base/options.h"
#include "cl/buffer.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "graph/op.h"
#include "graph/origin.h"

/* What a pass of rewriting knows about a node (graph/rewrite.h). */
typedef struct wi_rewritten {
    weft_tensor *image; /* NULL: not known yet */
    uint64_t pass : 40; /* the number of the pass; for other passes the fields are void */
    uint64_t
        readers : 21; /* how often the node is an input of other nodes, WI_MOST_READERS at most; second pass only */
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
        has_length : 1;   /* it, or a node that it depends on, has a size with the length (graph/length.h) */
    uint32_t origin : 31; /* the call that created it (graph/origin.h); 0: not known */
    wi_rewritten rewritten;
    weft_tensor *readers;     /* a list of some nodes whose youngest input is this node, the latest first */
    weft_tensor *next_reader; /* the next in such a list */
    const wi_attributes *attributes; /* only the struct of the op exists; NULL: none */
    wi_shape shape;
    const char *name; /* NULL: none */
    struct wi_variable *variable;
    weft_tensor *inputs[]; /* followed by the attributes, and by the wi_lowered of a composite */
};

/* A plan at a new length creates thousands of nodes, which takes most of its time in the memory of nodes. */
_Static_assert(
    sizeof(void *) != 8 || sizeof(weft_tensor) == 160, "a node has no padding that could be saved");

/* The nodes by which plans replace a composite. */
typedef struct wi_lowered {
    weft_tensor *to[2]; /* for training and for inference; NULL: not created yet */
    weft_tensor *next;  /* the composite that the graph created before */
} wi_lowered;

/* Memory of a graph that lives from plan to plan, in one buffer. Parameters that are created before the first plan share a
 * block, up to the size limit of a buffer; those that are created later share the next block, because memory never moves.
 * A variable that is larger than a buffer is divided into pieces, adjacent blocks. Each piece has an equal number of rows
 * (indices of the first axis of the variable), except that the last one has the remainder. */
typedef struct wi_block {
    wi_buffer buffer; /* created when the first plan or read needs it */
    size_t bytes;
    uint64_t writes; /* how often the block was written since its creation */
    size_t first;  /* the number of the first piece of the variable, or of this block if it is not a piece */
    size_t pieces; /* of the first piece: the number of pieces; otherwise 1 */
} wi_block;

typedef struct wi_variable {
    weft_tensor *tensor;
    size_t number; /* counts the parameters of the graph, or its states */
    size_t block;
    size_t offset; /* bytes in the block */
    size_t bytes;
    weft_initialiser initialiser;
    void *
        data; /* initial values from the caller, until they are on the device; NULL: the initialiser computes them */
    uint32_t stream; /* of the initialiser's random numbers */
    size_t zero_from,
        zero_bytes; /* the part of the initial values that is zero, whatever the initialiser computes */
    bool trainable;
    bool sparse;    /* a table of which an update changes only some rows */
    float max_norm; /* the largest norm that a row of such a table has when it is read; 0: any */
    bool frozen;    /* the next weft_minimize or weft_optimizer_step does not change this parameter */
    /* The name of what an optimizer stores here ("m") for the parameters in as many bytes of block `covered_block` from the
     * offset `covered` on. NULL: this is no state of an optimizer. */
    const char *role;
    size_t optimizer, clock; /* their numbers */
    size_t covered_block, covered;
    bool transient; /* files do not contain it */
    bool assigned;  /* weft_assign changes it, so checkpoints contain its value */
    const char
        *saved_as;    /* the name in checkpoints of a count of loss scaling or of updates; NULL: it is none */
    bool is_optional; /* with saved_as: a checkpoint may lack it */
} wi_variable;

/* Counts the runs that update a set of parameters. Gradients are accumulated over windows of runs; the last run of a window
 * updates the parameters. */
typedef struct wi_clock {
    uint64_t runs;  /* including the current one; a multiple of `every` in the last run of a window */
    uint64_t every; /* runs in a window */
    uint64_t held;  /* runs of the current window so far */
    bool ends;      /* the next run is the last one of its window, however many runs the window has */
    /* States of rank 0, with loss scaling or if runs may be empty (nn/run_count.c): the number of skipped updates, a number that
     * a rule stores from update to update, and the number of runs of the window that count. NULL: not created yet. */
    weft_tensor *skipped, *memory, *counted;
} wi_clock;

/* Loss scaling of a graph in f16 (ops/loss_scale.h). The tensors are states of rank 0; NULL: not created yet. */
typedef struct wi_loss_scaling {
    weft_loss_scaling options;
    weft_tensor *scale;
    weft_tensor *good;    /* the number of steps since the scale changed or a step was skipped */
    weft_tensor *skipped; /* the number of skipped steps */
    weft_tensor *steps;   /* the number of steps */
    weft_tensor
        *began; /* the first step of the current series of skipped steps; -1: the last step was not skipped */
    weft_tensor *judged; /* the WI_UPDATE_ constant for the gradients of the last run */
    weft_tensor *failed; /* 1: a step was skipped at the smallest scale */
    bool has_plain;      /* the graph has updates without loss scaling */
} wi_loss_scaling;

/* A number that the host computes before each run. */
typedef struct wi_scalar {
    float value; /* set by weft_scalar_set; a rule may ignore it */
    double (*rule)(
        struct wi_scalar *scalar, const wi_clock *clock); /* computes the number; NULL: it is `value` */
    double a, b;                                          /* arguments of the rule */
    const void *reads;  /* another argument of the rule, in the graph's arena */
    bool is_set;        /* the rule starts from `value`, which checkpoints therefore contain */
    bool is_rate;       /* a learning rate, which is finite and at least 0 */
    double memory;      /* what the rule stores from update to update */
    uint64_t remembers; /* the number of the update that stored `memory` */
    size_t clock;
    bool is_unsaved; /* checkpoints do not count this scalar */
} wi_scalar;

enum { WI_MAX_CLOCKS = 64 };

/* Names of variables, names of the layers that they belong to, and words with a counter (graph/variable_names.h). */
typedef struct wi_variable_name wi_variable_name;
typedef struct wi_variable_names {
    wi_variable_name *variables, *layers, *words;
} wi_variable_names;
typedef struct wi_scope wi_scope; /* graph/scope.h */

/* Variables in order of creation. */
typedef struct wi_variable_list {
    wi_variable **of;
    size_t count, capacity;
} wi_variable_list;

/* The learning rate of an update. */
typedef struct wi_rated_update {
    const weft_tensor *update;
    weft_tensor *rate;
    struct wi_rated_update *next;
} wi_rated_update;

/* A mean over a number of elements that depends on the data (ops/loss/loss_terms.h). */
typedef struct wi_noted_mean {
    const weft_tensor *mean;
    weft_tensor *total; /* the divisor of the sum, rank 0, f32 */
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

/* The rules of an op (graph/op_rules.h), in the slot of a small hash table. */
enum { WI_KNOWN_RULES = 128 };
typedef struct wi_known_rules {
    const wi_op *op; /* NULL: unused */
    const struct wi_op_rules *rules;
} wi_known_rules;

struct weft_graph {
    weft_context *context;
    bool owned_by_context; /* the default graph, whose references are counted as the context's */
    int references;
    wi_arena arena;
    uint32_t node_count;
    uint64_t rewrite_passes; /* the number of passes so far */
    wi_known_rules rules[WI_KNOWN_RULES];
    /* A hash table of the nodes that are not in a list of readers, such as all nodes without inputs. The capacity is a power of
     * two; at least half of the slots are unused. */
    wi_known_node *known;
    size_t known_count, known_capacity;
    weft_tensor *composites; /* the latest of the list */
    wi_block *blocks;
    size_t block_count, block_capacity;
    wi_variable **variables; /* parameters and states in order of creation */
    size_t variable_count, variable_capacity;
    wi_variable_list kinds[2]; /* the states, and the parameters */
    wi_variable_names names;
    wi_scalar *scalars;
    size_t scalar_count, scalar_capacity;
    uint32_t streams;       /* the number of nodes so far that draw random numbers */
    struct wi_scope *scope; /* the innermost open scope (graph/scope.h); NULL: none */
    bool plain; /* tests: plans leave out everything that only saves time or memory (plan/request.h) */
    weft_dtype precision; /* weft_graph_set_precision */
    wi_loss_scaling scaling;
    weft_matmul_precision matmul_precision;
    size_t parameter_block; /* the block for the next parameter, unless the block is on the device by then */
    wi_clock clocks[WI_MAX_CLOCKS];
    size_t clock_count;
    uint64_t
        draws; /* the number of runs so far that draw random numbers, a part of the generator's counter */
    weft_tensor *rate; /* the learning rate of the latest optimizer: weft_minimize_rate */
    size_t optimizers; /* the number of optimizers so far */
    wi_rated_update *rated;
    wi_noted_mean *means;
    bool
        told_of_training; /* the log has the warning about a plan in the form for training that updates nothing */
    bool swapped;         /* the parameters and their averages have been exchanged */
    wi_attachment *attachments;
    wi_host_state *host_states; /* in order of addition */
    uint64_t host_state_count;  /* including removed ones */
    int64_t length_symbol; /* WEFT_LENGTH or WI_BATCH_SYMBOL (graph/shape.h); 0: no node has the length */
    wi_origins origins;
    weft_status status; /* the first error */
    char error[1024];
};

/* Writes a node for errors, "matmul 'name' (batch, 10) (in weft_linear)", and returns the text. */
enum { WI_NODE_TEXT = WI_SHAPE_TEXT + WI_ORIGIN_TEXT + 192 };
const char *wi_node_print(const weft_tensor *node, char text[WI_NODE_TEXT]);

/* ---- for constructors ---- */
/* Records the graph's first error, and returns NULL. */
weft_tensor *wi_graph_fail(weft_graph *graph, weft_status status, const char *format, ...) WI_PRINTF(3, 4);
/* The same after a call that failed with this status, and whose message is the last error. */
weft_tensor *wi_graph_fail_recorded(weft_graph *graph, weft_status status);
/* wi_options_read for a constructor; after an error, which is recorded in the graph, false. */
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
/* A copy of the node's attributes, for a node with other ones. Fields outside the op's struct are zero. */
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
/* Has the size of the axis the length? For constructors that need to know the size. */
bool wi_axis_has_length(const weft_tensor *x, int axis);
/* The number of elements of the axes (a bit for each) is coefficient × batch^power. */
void wi_axes_count(const weft_tensor *x, uint32_t axes, int64_t *coefficient, int *power);
/* 1 / the number of elements of the axes. */
weft_tensor *wi_axes_share(const weft_tensor *x, weft_dtype dtype, uint32_t axes);

/* ---- sources and generators ---- */
extern const wi_op wi_op_input, wi_op_parameter, wi_op_state, wi_op_flat, wi_op_constant, wi_op_elements,
    wi_op_scalar, wi_op_coordinate;
/* value × batch^power, of rank 0. */
weft_tensor *wi_constant_batch_power(weft_graph *graph, weft_dtype dtype, double value, int power);
/* Constants that depend on the length: a number of elements of x, count × batch^power as from wi_shape_count (0 if the count is
 * negative), and 1 / this number. */
weft_tensor *wi_constant_count(const weft_tensor *x, weft_dtype dtype, int64_t count, int power);
weft_tensor *wi_constant_share(const weft_tensor *x, weft_dtype dtype, int64_t count, int power);
/* The index along an axis of the shape, as i32. */
weft_tensor *wi_coordinate(weft_graph *graph, const wi_shape *shape, int axis);
/* Is every element of x, through views, the constant value × batch^power? */
bool wi_is_constant(const weft_tensor *x, double *value, int *power);
/* Names the node unless the name is NULL, and returns the node. */
weft_tensor *wi_name_node(weft_tensor *node, const char *name);

/* ---- scalars, which the host computes before each run: f32, rank 0 ---- */
/* The number of the update that the clock's run belongs to, from 1. */
uint64_t wi_clock_update(const wi_clock *clock);
/* Revokes weft_accumulation_end, unless a run has followed it. */
void wi_accumulation_goes_on(weft_graph *graph);
/* Counts the run that begins. */
void wi_clock_run(wi_clock *clock);
/* A new scalar, for rules whose scalar weft_scalar_set changes. */
weft_tensor *wi_ruled_scalar(weft_graph *graph, const char *name, wi_scalar scalar);
bool wi_scalar_has_rule(const weft_tensor *scalar);
/* The scalar with this rule and these arguments; calls with equal ones return the same scalar. */
weft_tensor *wi_step_scalar(
    weft_graph *graph, size_t clock, double (*rule)(wi_scalar *, const wi_clock *), double a, double b);

/* ---- the parameters of a block as one tensor ---- */
/* f32 (rows, WI_FLAT_ROW). Every parameter begins a row, so that a value for each parameter can be stored as a value for each
 * row. Gaps behind parameters are zero. */
enum { WI_FLAT_ROW = 16, WI_FLAT_ROW_BYTES = 64 };
weft_tensor *wi_flat_parameters(weft_graph *graph, size_t block);
/* A nameless state (rows, WI_FLAT_ROW) whose pieces have as many bytes as those of the block. */
weft_tensor *wi_covering_state(weft_graph *graph, size_t block, int64_t rows, float first);
/* The first row of a parameter, and the number of its rows. */
int64_t wi_first_row(const weft_tensor *parameter);
int64_t wi_row_count(const weft_tensor *parameter);

/* ---- variables ---- */
/* Adds a block, or if `piece` is not 0, a block for each piece of so many bytes. *index is the number of the first. */
weft_status wi_graph_add_block(weft_graph *graph, size_t bytes, size_t piece, size_t *index);
/* The block, or the first piece, of a variable or of a tensor from wi_flat_parameters. */
size_t wi_graph_block_of(const weft_tensor *source);
/* The bytes of the block and of all further pieces if it is the first piece. */
size_t wi_graph_block_bytes(const weft_graph *graph, size_t block);
/* Creates and fills the memory of the block, or of all pieces if it is one, unless that has already happened. */
weft_status wi_graph_block_ready(weft_graph *graph, size_t block);
/* Must be called by everything that writes to the memory of a block, or to any piece if the block is the first one: plans then
 * compute again the values that they have computed from this memory. */
void wi_graph_block_written(weft_graph *graph, size_t block);
/* Adjacent bytes in one buffer. */
typedef struct wi_block_range {
    cl_mem memory;
    size_t offset, bytes;
} wi_block_range;
/* The range that begins at byte `offset` of a block or of its pieces, and has at most `bytes`. The block must be ready. */
wi_block_range wi_graph_block_range(const weft_graph *graph, size_t block, size_t offset, size_t bytes);
/* The host reads or writes bytes of the variable from `offset` on. */
weft_status wi_variable_read(const weft_tensor *variable, size_t offset, void *data, size_t bytes);
weft_status wi_variable_write(const weft_tensor *variable, size_t offset, const void *data, size_t bytes);
size_t wi_graph_variable_bytes(const weft_graph *graph);

/* ---- values that live as long as the graph, such as plans for inference ---- */
weft_status wi_graph_attach(weft_graph *graph, const char *key, void *value, void (*release)(void *value));
void *wi_graph_attachment(weft_graph *graph, const char *key); /* NULL: none */

#endif
