/* weft/io.h: weights, checkpoints, NumPy arrays and images in files. */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tests whether weft_weights_save and similar calls can write a file to this path; call it before long work. The test
 * creates a file with another name in the same folder and removes this file; an existing file is not changed.
 * WEFT_ERROR_FILE: the folder is missing or read-only, or the path is that of a folder or a device. */
WEFT_API weft_status weft_output_check(const char *path);

/* Saves all parameters and named states of a graph, by name, as a safetensors file (8 bytes of little-endian header
 * length, a JSON header, the data). The file is written completely or not at all. */
WEFT_API weft_status weft_weights_save(weft_graph *graph, const char *path);
/* weft_weights_save in half the bytes: rounds f32 tensors to WEFT_F16 or WEFT_BF16 (WEFT_F32: no rounding), and writes
 * other tensors unchanged. weft_weights_load reads such files. WEFT_ERROR_ARGUMENT: another dtype;
 * WEFT_ERROR_NOT_FINITE: a finite number would become infinite (the line names the tensor). */
WEFT_API weft_status weft_weights_save_dtype(weft_graph *graph, const char *path, weft_dtype dtype);

typedef struct weft_weights_save_options {
    size_t struct_size;
    weft_dtype dtype; /* default f32; f16 and bf16 as in weft_weights_save_dtype */
    /* Lists of names of the graph, ended by NULL, in which a star matches any characters. only: saves just the tensors
     * of these names, as {"*.lora_a", "*.lora_b", NULL}, the adapters of a network. skip: saves all other tensors. */
    const char *const *only, *const *skip;
    /* Names of the graph that begin with `prefix` begin with `new_prefix` in the file: "body." and "" remove the
     * prefix "body.". Default NULL: unchanged. */
    const char *prefix, *new_prefix;
} weft_weights_save_options;
#define WEFT_WEIGHTS_SAVE_OPTIONS_INIT .struct_size = sizeof(weft_weights_save_options)
/* Saves a part of the weights, or saves them under other names. options NULL: all defaults. WEFT_ERROR_ARGUMENT: a
 * name of only or skip matches nothing in the graph, or nothing is left to save. */
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
    bool allow_extra;   /* default false: every tensor of the file must have a tensor of the graph */
    /* Default false: an error. true: a tensor of the graph whose shape differs from that in the file keeps its
     * values. */
    bool allow_other_shapes;
    /* Lists of names of the graph, ended by NULL, in which a star matches any characters. only: loads just the tensors
     * of these names. skip: loads all other tensors, as {"fc.*", NULL} for a network with a new head. Tensors that are
     * not loaded are not compared. */
    const char *const *only, *const *skip;
    /* Names of the file that begin with `prefix` begin with `new_prefix` in the graph: "module." and "" for a file of
     * PyTorch's DataParallel, "" and "backbone." for a part of a network. Default NULL: unchanged. */
    const char *prefix, *new_prefix;
    /* The scope of the graph into which the file is loaded, "backbone" or "a.b": "w" of the file is "backbone.w" of
     * the graph. The rest of the graph is not changed. Default NULL: the whole graph. */
    const char *into;
    /* Called for each allowed difference, after the whole file was found valid; default none. */
    void (*on_difference)(void *user, weft_weights_difference difference, const char *name);
    void *user; /* the first argument of on_difference */
} weft_weights_options;
#define WEFT_WEIGHTS_OPTIONS_INIT .struct_size = sizeof(weft_weights_options)
/* Loads parameters and states by name from a file of weights, or from a checkpoint, whose other tensors are skipped.
 * PyTorch's "num_batches_tracked" is skipped if the graph has no such state. Other floats are converted to f32, and
 * i64 to i32 if every number is in range. If the file is not valid, the graph is not changed. Errors name the file and
 * list the tensors that differ, with both shapes or dtypes. WEFT_ERROR_ARGUMENT: a name of only or skip matches
 * nothing in the graph nor in the file, or no name of the file has the prefix. WEFT_ERROR_FORMAT: no tensor of the
 * file is loaded, even if all differences are allowed. */
WEFT_API weft_status weft_weights_load(
    weft_graph *graph, const char *path, const weft_weights_options *options);

/* ---- checkpoints: the whole state of a training in one file ----
 * A checkpoint is a safetensors file. Parameters and named states have their names; all other tensors have names that
 * begin with "weft.", which no parameter or state has:
 *     weft.optimizer.ROLE.NAME         optimizer state of parameter NAME; the graph's second optimizer: weft.optimizer2
 *     weft.loss_scale..., weft.lbfgs.N the counts of loss scaling, the history of an L-BFGS optimizer
 *     weft.carried.N, weft.extra.NAME  states without a name that are assigned to, tensors of the caller
 *     weft.best.NAME, weft.trainer...  the best weights and the metrics of a trainer
 * The metadata has the counters of updates and random numbers, the values of scalars, Weft's version, a fingerprint of
 * the network, and a checksum of the whole file. Files of format 1, whose names lack "weft.", are read, too. A
 * training that is saved after any run of its plan, loaded into the same graph in another process, and continued there
 * gives the same bits as an uninterrupted training. Checkpoints of a trainer (train.h) can be loaded by
 * weft_checkpoint_load, too, without the state of the trainer. */

/* A tensor of the caller in host memory. */
typedef struct weft_checkpoint_extra {
    const char *name;
    weft_dtype dtype;
    int rank;
    /* A WEFT_U8 extra of rank 1 may have another size in the file: loading takes dims[0] as the size of the memory,
     * and sets dims[0] to the number of bytes in the file. */
    int64_t dims[WEFT_MAX_RANK];
    void *data; /* row-major */
} weft_checkpoint_extra;

/* Writes the file completely or not at all, and syncs it to the disk: after the call has returned, a power failure does
 * not harm the file. extras may be NULL with count 0. Errors: WEFT_ERROR_FILE; WEFT_ERROR_STATE: a parameter without a
 * name, or two tensors of one name; WEFT_ERROR_ARGUMENT: a name that is not UTF-8. */
WEFT_API weft_status weft_checkpoint_save(
    weft_graph *graph, const char *path, const weft_checkpoint_extra *extras, size_t count);
/* Loads a checkpoint into a graph that was built by the same calls, including weft_minimize, and fills the extras.
 * Skips extras of the file that are not asked for, and the states of an optimizer for parameters that the same
 * optimizer of the graph does not train (they are frozen, or the loss does not reach them). Parameters of an optimizer
 * step that was created after the file was saved begin with moments of zero and t = 1. After an error nothing is
 * changed. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT: the file is not a checkpoint, truncated, damaged, of a newer
 * version, or of another network (the line lists the tensors that differ); WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE;
 * WEFT_ERROR_ARGUMENT: the graph draws random numbers, and the seed of the context is not that of the file. */
WEFT_API weft_status weft_checkpoint_load(
    weft_graph *graph, const char *path, weft_checkpoint_extra *extras, size_t count);

/* ---- NumPy's .npy arrays: format versions 1.0 to 3.0, either byte order, C and Fortran order ---- */
typedef struct weft_npy_array {
    weft_dtype dtype;
    int rank; /* 0: a single number */
    int64_t dims[WEFT_MAX_RANK];
    size_t bytes;
    void *data;            /* row-major */
    weft_context *context; /* the context whose allocator allocated the data; NULL: malloc */
} weft_npy_array;

/* Reads an array and converts it to dtype: WEFT_F32 and WEFT_F64 from f2 f4 f8 i1..i8 u1..u8 b1; WEFT_I32, WEFT_I64,
 * WEFT_U8 from integers and b1, if every number is in range; WEFT_F16 from f2; WEFT_BOOL from b1. context may be NULL.
 * Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a damaged file, or a number out of range); WEFT_ERROR_DTYPE;
 * WEFT_ERROR_UNSUPPORTED (strings, records, complex numbers, more than WEFT_MAX_RANK dimensions). */
WEFT_API weft_status weft_load_npy(
    weft_npy_array *array, weft_context *context, const char *path, weft_dtype dtype);
WEFT_API void weft_npy_array_release(weft_npy_array *array); /* NULL and a zeroed array are allowed */
/* Writes format version 1.0 in C order, completely or not at all, with the same bytes as NumPy. Any dtype except
 * WEFT_BF16, which NumPy lacks (WEFT_ERROR_DTYPE). */
WEFT_API weft_status weft_save_npy(
    const char *path, weft_dtype dtype, const void *data, int rank, const int64_t *dims);
/* An initialiser that reads one tensor of a safetensors file when the parameter is created: weft_parameter(g, "w",
 * weft_init_from_file("base.safetensors", "encoder.w"), 10, 64). entry: the name in the file; NULL: the name of the
 * parameter. f16, bf16 and f64 are converted. If the file or the tensor is missing, or the shape differs, the call
 * that creates the parameter fails with an error that names the file, the tensor and both shapes. */
WEFT_API weft_initialiser weft_init_from_file(const char *path, const char *entry);

/* ---- saving images ---- */
typedef struct weft_png_options {
    size_t struct_size;
    weft_dtype dtype;      /* of the pixels: WEFT_F32 (default) or WEFT_U8 */
    size_t images;         /* default 1; several images are saved as one grid, row by row */
    int64_t channels;      /* 1 (default): grey, 2: grey and alpha, 3: RGB, 4: RGBA */
    int64_t height, width; /* of one image in pixels; required */
    bool channels_last;    /* default false */
    /* Of f32 pixels: the values that become black and white; values outside of this range are clamped, and NaN is
     * black. Defaults 0 and 1; WEFT_ZERO in `most` is 0. */
    float least, most;
    size_t columns; /* images in a row of the grid; default: the square root of their number, rounded up */
    int64_t gap;    /* grey pixels between images; default 2, WEFT_ZERO: none; at most 1024 */
    int64_t zoom;   /* each pixel becomes a square of zoom × zoom pixels; default 1, at most 1024 */
} weft_png_options;
#define WEFT_PNG_OPTIONS_INIT .struct_size = sizeof(weft_png_options)

/* Saves pixels (images, channels, height, width), or (images, height, width, channels) with channels_last, as an 8-bit
 * PNG file, also in a build without libpng. The file is written completely or not at all.
 *     weft_image_save_png("digits.png", pixels, WEFT_WITH(png, .images = 64, .height = 8, .width = 8, .zoom = 4));
 * WEFT_ERROR_SHAPE: a size is not positive, or a side of the grid is longer than 2^24 pixels. */
WEFT_API weft_status weft_image_save_png(
    const char *path, const void *pixels, const weft_png_options *options);

#ifdef __cplusplus
}
#endif
#endif
