/* weft/io.h: weights and arrays in files. */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tries whether weft_weights_save and the like can write a file there, before the work of which it is to have the result. A
 * file of another name is made beside it and removed; what is there stays as it is. Errors: WEFT_ERROR_FILE: the folder is
 * missing or may only be read, or the path is of a folder or a device. */
WEFT_API weft_status weft_output_check(const char *path);

/* Saves all parameters and named states of a graph, by name, as a safetensors file (8 bytes of little-endian
 * header length, a JSON header, the data). The file is written completely or not at all. */
WEFT_API weft_status weft_weights_save(weft_graph *graph, const char *path);
/* The same in half the bytes: f32 tensors are rounded to WEFT_F16 or WEFT_BF16 (WEFT_F32: as they are), others stay.
 * weft_weights_load reads them. WEFT_ERROR_ARGUMENT for another dtype; WEFT_ERROR_NOT_FINITE, with the tensor, where a
 * finite number would become infinite. */
WEFT_API weft_status weft_weights_save_dtype(weft_graph *graph, const char *path, weft_dtype dtype);

typedef struct weft_weights_save_options {
    size_t struct_size;
    weft_dtype dtype; /* default f32; f16 and bf16 as of weft_weights_save_dtype */
    /* As of weft_weights_options: names of the graph that are saved alone (only), or left out (skip). {"*.lora_a",
     * "*.lora_b", NULL} in only saves the adapters of a network. */
    const char *const *only, *const *skip;
    /* Names of the graph that begin with `prefix` begin with `new_prefix` in the file: "body." and "" for a part of a
     * network. Default NULL: unchanged. */
    const char *prefix, *new_prefix;
} weft_weights_save_options;
#define WEFT_WEIGHTS_SAVE_OPTIONS_INIT .struct_size = sizeof(weft_weights_save_options)
/* Some of the weights, or under other names. options NULL: all defaults. WEFT_ERROR_ARGUMENT: only or skip names nothing
 * that the graph has, or they leave nothing. */
WEFT_API weft_status weft_weights_save_with(
    weft_graph *graph, const char *path, const weft_weights_save_options *options);

/* How a file and a graph differ, for weft_weights_options.on_difference. */
typedef enum weft_weights_difference {
    WEFT_WEIGHTS_MISSING,    /* a tensor of the graph is not in the file */
    WEFT_WEIGHTS_UNEXPECTED, /* a tensor of the file is not in the graph */
    WEFT_WEIGHTS_OTHER_SHAPE /* the shapes differ */
} weft_weights_difference;

typedef struct weft_weights_options {
    size_t struct_size;
    bool allow_missing; /* default false: every parameter and named state of the graph must be in the file */
    bool allow_extra;   /* default false: every tensor of the file must match one of the graph */
    /* Default false; true: where the shapes differ, the graph's tensor keeps its values. */
    bool allow_other_shapes;
    /* Names of the graph, ended by NULL, in which a star matches any characters: all others are left alone (only), or these
     * are (skip). What the file has for them is not looked at: {"fc.*", NULL} in skip gives a network a new head. */
    const char *const *only, *const *skip;
    /* Names of the file that begin with `prefix` begin with `new_prefix` instead: "module." and "" for what PyTorch's
     * DataParallel saved, "" and "backbone." for a part of a network. Default NULL: unchanged. */
    const char *prefix, *new_prefix;
    /* A scope of the graph, "backbone" or "a.b", into which the file is loaded: a name of the file stands for the one within the
     * scope, and the rest of the graph is left alone. Default NULL: the whole graph. */
    const char *into;
    /* Called for each difference that is allowed, when the whole file is valid; default none. */
    void (*on_difference)(void *user, weft_weights_difference difference, const char *name);
    void *user;
} weft_weights_options;
#define WEFT_WEIGHTS_OPTIONS_INIT .struct_size = sizeof(weft_weights_options)
/* Loads parameters and states by name, from a file of weights or from a checkpoint, whose other tensors are skipped, as
 * are PyTorch's "num_batches_tracked" where the graph has none. Other floats are converted to f32, i64 to i32 if every
 * number fits. The graph is unchanged unless the whole file is valid. Errors name the file and list the tensors that
 * differ, with both shapes or dtypes. What selects nothing is an error, too: a name of only or skip that neither the graph nor
 * the file has, a prefix that no name of the file has (WEFT_ERROR_ARGUMENT), and, whatever is allowed, a file of which nothing
 * is taken (WEFT_ERROR_FORMAT). */
WEFT_API weft_status weft_weights_load(
    weft_graph *graph, const char *path, const weft_weights_options *options);

/* ---- checkpoints: all that a training is made of, in one file ----
 * A checkpoint is a safetensors file with the parameters and named states under their names. Everything else has names that
 * begin with "weft.", which no parameter or state has: the state of optimizers "weft.optimizer.ROLE.NAME" (of the second
 * weft_minimize of a graph "weft.optimizer2...."), counts of loss scaling "weft.loss_scale...", the history of
 * L-BFGS "weft.lbfgs.N", states without a name that something assigns to "weft.carried.N", tensors of the caller "weft.extra.NAME", and of a trainer "weft.best.NAME" and
 * "weft.trainer...". Files of format 1, which had these names without "weft.", are read, too. Its metadata has the counters of updates and
 * random numbers, the values of scalars, Weft's version, a fingerprint of the network and a checksum of the whole file.
 * A training that is saved after any run of its plan, loaded into the same graph in another process, and continued there
 * gives the same bits as one that was not interrupted. A trainer saves checkpoints itself (train.h); they can be loaded
 * here too, for what the graph has. */

/* A tensor of the caller in host memory. */
typedef struct weft_checkpoint_extra {
    const char *name;
    weft_dtype dtype;
    int rank; /* loading rank 1 of WEFT_U8: dims[0] is the room, and becomes the number of bytes in the file */
    int64_t dims[WEFT_MAX_RANK];
    void *data; /* row-major */
} weft_checkpoint_extra;

/* Writes the file completely or not at all, and durably: once this returns, it outlives a power failure. extras may be
 * NULL with count 0. Errors: WEFT_ERROR_FILE; WEFT_ERROR_STATE: a parameter without a name, two tensors of one name;
 * WEFT_ERROR_ARGUMENT: a name that is not UTF-8. */
WEFT_API weft_status weft_checkpoint_save(
    weft_graph *graph, const char *path, const weft_checkpoint_extra *extras, size_t count);
/* Loads a checkpoint into a graph that was made in the same way, weft_minimize included, and fills the extras; others in
 * the file are skipped, and so is what an optimizer of the file kept for parameters that the same optimizer of the graph does
 * not train (frozen ones, and those that the loss does not reach). Parameters that came to an optimizer of the graph in a step
 * that was made after the file was saved begin with moments of zero and t = 1. Unless everything fits, nothing is changed. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT: not a
 * checkpoint, cut off or damaged, of a newer version, of another network (the line lists the tensors that differ);
 * WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE; WEFT_ERROR_ARGUMENT: the graph draws random numbers, and the context has another
 * seed than the one that saved. */
WEFT_API weft_status weft_checkpoint_load(
    weft_graph *graph, const char *path, weft_checkpoint_extra *extras, size_t count);

/* ---- NumPy's .npy arrays: format versions 1.0 to 3.0, either byte order, C and Fortran order ---- */
typedef struct weft_npy_array {
    weft_dtype dtype;
    int rank; /* 0: a single number */
    int64_t dims[WEFT_MAX_RANK];
    size_t bytes;
    void *data;            /* row-major */
    weft_context *context; /* its allocator allocated the data; NULL: malloc */
} weft_npy_array;

/* Reads and converts. dtype: WEFT_F32 and WEFT_F64 from f2 f4 f8 i1..i8 u1..u8 b1; WEFT_I32, WEFT_I64,
 * WEFT_U8 from integers and b1 if every number fits; WEFT_F16 from f2; WEFT_BOOL from b1. context may be NULL. Errors:
 * WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a damaged file, or a number that does not fit); WEFT_ERROR_DTYPE;
 * WEFT_ERROR_UNSUPPORTED (strings, records, complex numbers, more than WEFT_MAX_RANK dimensions). */
WEFT_API weft_status weft_load_npy(
    weft_npy_array *array, weft_context *context, const char *path, weft_dtype dtype);
WEFT_API void weft_npy_array_release(weft_npy_array *array); /* NULL and a zeroed array are allowed */
/* Writes version 1.0 in C order, completely or not at all; the bytes are those that NumPy writes for the same
 * array. Any dtype except WEFT_BF16, which NumPy lacks (WEFT_ERROR_DTYPE). */
WEFT_API weft_status weft_save_npy(
    const char *path, weft_dtype dtype, const void *data, int rank, const int64_t *dims);
/* An initialiser that reads one tensor of a safetensors file when the parameter is created: weft_parameter(g,
 * "w", weft_init_from_file("base.safetensors", "encoder.w"), 10, 64). entry NULL: the name of the parameter.
 * f16, bf16 and f64 are converted. If the file or the tensor is missing, or the shape differs, creating the
 * parameter fails with an error that names the file, the tensor and both shapes. */
WEFT_API weft_initialiser weft_init_from_file(const char *path, const char *entry);

#ifdef __cplusplus
}
#endif
#endif
