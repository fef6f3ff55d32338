/* Graphs: an arena of nodes, the variables that live from plan to plan, the scalars that the host computes before each run,
 * and the first error. */
#ifndef WI_WEFT_GRAPH_H
#define WI_WEFT_GRAPH_H

#include "base/memory.h"
#include "base/options.h"
#include "cl/buffer.h"
#include "graph/node.h"
#include "graph/origin.h"
#include "graph/polynomials.h"

/* Memory of a graph that lives from plan to plan, in one buffer. Parameters that are created before the first plan share a
 * block, up to the size limit of a buffer; those that are created later share the next block, because memory never moves.
 * A variable that is larger than a buffer is divided into pieces, adjacent blocks. Each piece has an equal number of rows
 * (indices of the first axis of the variable), except that the last one has the remainder. */
typedef struct wi_block_copies wi_block_copies; /* graph/block_copies.h */
typedef struct wi_block {
    wi_buffer buffer; /* created when the first plan or read needs it */
    size_t bytes;
    uint64_t writes; /* how often the block was written since its creation */
    size_t first;  /* the number of the first piece of the variable, or of this block if it is not a piece */
    size_t pieces; /* of the first piece: the number of pieces; otherwise 1 */
    size_t users;  /* plans whose kernels read or write the buffer, which therefore stays where it is */
    wi_block_copies *copies; /* on further devices; NULL: none */
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
    /* The variable is a state of an optimizer for the parameters in block `covered_block`, from the offset `covered`
     * on, in as many bytes as the state has. The role says what the optimizer stores, such as "m". NULL: the variable
     * is no such state. */
    const char *role;
    size_t optimizer, clock; /* the numbers of the optimizer and of its clock */
    size_t covered_block, covered;
    /* With a role: if a state is divided among several processes, this variable is one of its parts, and the whole state covers `whole_bytes`
     * of the parameters from the offset `whole_covered` on. whole_bytes 0: the variable is the whole state. */
    size_t whole_covered, whole_bytes;
    /* Host memory of whole_bytes bytes. With a role: the whole state, while a file is written or read. Without a role: the value for each
     * gradient shard of a state that is carried from step to step (train/shard_carries.c). NULL: there is none. */
    unsigned char *whole;
    bool transient; /* files do not contain it */
    bool assigned;  /* weft_assign changes it, so checkpoints contain its value */
    const char
        *saved_as;    /* a count of loss scaling or of updates has this name in checkpoints; otherwise NULL */
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

/* From which a step of an optimizer was created. loss NULL: from gradients. names: the parameters that it updates; NULL: all. */
typedef struct wi_update_origin {
    struct weft_optimizer_state *optimizer;
    weft_tensor *loss;
    const char *names;
} wi_update_origin;

/* The learning rate of an update. */
typedef struct wi_rated_update {
    const weft_tensor *update;
    weft_tensor *rate;
    wi_update_origin origin;
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
    /* If processes keep averages for a part of the parameters each: sends the parts of the parameters to all. status: of this process, which
     * gets an error if another process has one. NULL: there is no trainer that could. */
    weft_status (*share_parts)(void *shares, weft_status status);
    void *shares;
    wi_attachment *attachments;
    wi_host_state *host_states; /* in order of addition */
    uint64_t host_state_count;  /* including removed ones */
    wi_size_table sizes;        /* that plans choose (graph/sizes.h) */
    wi_origins origins;
    weft_status status; /* the first error */
    char error[1024];
};

/* ---- scalars, which the host computes before each run: f32, rank 0 ---- */
/* The number of the update that the clock's run belongs to, from 1. */
uint64_t wi_clock_update(const wi_clock *clock);
/* Revokes weft_accumulation_end, unless a run has followed it. */
void wi_accumulation_goes_on(weft_graph *graph);
/* Counts the run that begins. */
void wi_clock_run(wi_clock *clock);
/* Creates a scalar with a rule whose base value weft_scalar_set can change. */
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
/* Creates a nameless state (rows, WI_FLAT_ROW), whose elements all begin with the value `first`. If the block is
 * divided into pieces, the pieces of the state have as many bytes as those of the block. */
weft_tensor *wi_covering_state(weft_graph *graph, size_t block, int64_t rows, float first);
/* The first row of a parameter, and the number of its rows. */
int64_t wi_first_row(const weft_tensor *parameter);
int64_t wi_row_count(const weft_tensor *parameter);

/* ---- variables ---- */
/* Adds a block, or if `piece` is not 0, a block for each piece of so many bytes. *index is the number of the first. */
weft_status wi_graph_add_block(weft_graph *graph, size_t bytes, size_t piece, size_t *index);
/* The number of the block (if the block is divided, of its first piece) of a variable, or of a tensor from
 * wi_flat_parameters. */
size_t wi_graph_block_of(const weft_tensor *source);
/* The bytes of the block and of all further pieces if it is the first piece. */
size_t wi_graph_block_bytes(const weft_graph *graph, size_t block);
/* Creates and fills the memory of the block, unless that has already happened. If the block is a piece of a variable,
 * does so for all pieces of the variable. */
weft_status wi_graph_block_ready(weft_graph *graph, size_t block);
/* Keeps the block, and all pieces of its variable, in host memory from now on (arrange/loads.h). No plan uses the blocks. */
weft_status wi_graph_block_to_host(weft_graph *graph, size_t block);
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
size_t wi_graph_host_bytes(const weft_graph *graph); /* of the blocks in host memory */

/* ---- values that live as long as the graph, such as plans for inference ---- */
weft_status wi_graph_attach(weft_graph *graph, const char *key, void *value, void (*release)(void *value));
void *wi_graph_attachment(weft_graph *graph, const char *key); /* NULL: none */

#endif
