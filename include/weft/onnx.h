/* weft/onnx.h: networks from ONNX files, and graphs as ONNX files.
 *
 * A loaded network is an ordinary part of a graph: its inputs are inputs of the graph, its weights are parameters, its
 * outputs are tensors from which losses and plans are created. docs/onnx.md shows how to predict and to fine-tune, and
 * which operators are supported. If the library was built without ONNX (weft_build_options: onnx=no), the functions
 * that load and save return WEFT_ERROR_UNSUPPORTED. */
#ifndef WEFT_ONNX_H
#define WEFT_ONNX_H

#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loading ---- */

/* A network that was loaded into a graph. */
typedef struct weft_onnx_model weft_onnx_model;

/* The size of a dimension that the file leaves open: the dimension's name in the file, "batch_size", or an input and an
 * axis, "image:2"; and 1 or more, WEFT_BATCH, WEFT_LENGTH or a size of weft_symbol. */
typedef weft_named_size weft_onnx_size;

/* The value of an input that is known when the network is loaded, such as a shape or a sampling rate. The input then is
 * a constant. */
typedef struct weft_onnx_value {
    const char *name; /* of the input */
    weft_dtype dtype;
    int rank;
    const int64_t *dims;
    const void *data; /* row-major */
} weft_onnx_value;

typedef struct weft_onnx_options {
    size_t struct_size;
    /* Sizes of open dimensions. An open dimension that is not listed is WEFT_BATCH if it is the first axis of an input
     * (and so are all dimensions of its name). The others are WEFT_LENGTH if all have one name, otherwise weft_symbol of
     * their names, for which plans get values by weft_plan_options.sizes. */
    const weft_onnx_size *sizes;
    size_t size_count;
    const weft_onnx_value *values;
    size_t value_count;
    /* Which constants of the file become parameters. Default: all weights, that is constant floats in the places of
     * weights of layers (docs/onnx.md lists these places); other constants are not trained. */
    bool frozen; /* no constant becomes a parameter */
    /* Lists of names of the file, ended by NULL, in which a star matches any characters. train: constants of these
     * names become parameters wherever they stand, and no others do. freeze: constants of these names do not. */
    const char *const *train, *const *freeze;
    /* Exporters merge constants with equal values into one. true: it becomes one parameter, which all its layers share. Default
     * false: a merged vector becomes one parameter for each of its names; a merged tensor of rank 2 or more stays one. */
    bool tied;
    bool inference;    /* batch norms and dropout compute as in inference, also in plans for training */
    bool any_opset;    /* opsets that are newer than Weft's rules are read by the newest rules */
    bool any_folder;   /* data of tensors may lie outside the folder of the file */
    const char *scope; /* names of parameters, states and inputs begin with "scope."; default: no prefix */
    /* weft_onnx_load_from_memory: the folder in which data outside the model is searched; default: there is none. */
    const char *folder;
} weft_onnx_options;
#define WEFT_ONNX_OPTIONS_INIT .struct_size = sizeof(weft_onnx_options)

/* Adds the network of a file to the graph. options NULL: all defaults. After an error the graph must be released, as
 * after an error of an op. Errors, which name the file, and the node with its op: WEFT_ERROR_FILE;
 * WEFT_ERROR_FORMAT (damaged, or not an ONNX file); WEFT_ERROR_UNSUPPORTED (operators, types or open sizes that are not
 * supported: all missing operators are listed at once); WEFT_ERROR_ARGUMENT (options name something that the file does
 * not have); WEFT_ERROR_SHAPE. */
WEFT_API weft_status weft_onnx_load(
    weft_onnx_model **model, weft_graph *graph, const char *path, const weft_onnx_options *options);
/* weft_onnx_load of a file in memory, which must stay unchanged until the model is released. */
WEFT_API weft_status weft_onnx_load_from_memory(weft_onnx_model **model, weft_graph *graph, const void *data,
    size_t bytes, const weft_onnx_options *options);
/* Releases the file and the model; the tensors belong to the graph. NULL is allowed. */
WEFT_API void weft_onnx_model_release(weft_onnx_model *model);

/* The inputs that the file asks for, without constants of the file, in the file's order. The tensor is NULL if its
 * value was given at load or nothing depends on it; the name is NULL for an index beyond the last. */
WEFT_API size_t weft_onnx_input_count(const weft_onnx_model *model);
WEFT_API weft_tensor *weft_onnx_input(const weft_onnx_model *model, size_t index);
WEFT_API const char *weft_onnx_input_name(const weft_onnx_model *model, size_t index);
/* The outputs of the file. */
WEFT_API size_t weft_onnx_output_count(const weft_onnx_model *model);
WEFT_API weft_tensor *weft_onnx_output(const weft_onnx_model *model, size_t index);
WEFT_API const char *weft_onnx_output_name(const weft_onnx_model *model, size_t index);
/* Any value of the file by its name there: an input, an output, or a value between nodes, such as the features before
 * the head. NULL, without an error, if there is none, or if it is not a tensor of the graph because the host computed it while
 * loading (a shape, for example). */
WEFT_API weft_tensor *weft_onnx_tensor(const weft_onnx_model *model, const char *name);
/* An entry of the file's metadata, or "producer_name", "producer_version", "doc_string"; NULL: there is none. */
WEFT_API const char *weft_onnx_metadata(const weft_onnx_model *model, const char *key);
/* The version of an operator set, "" for the standard one; 0: the file does not use it. */
WEFT_API int64_t weft_onnx_opset(const weft_onnx_model *model, const char *domain);

/* ---- saving ---- */

typedef struct weft_onnx_save_options {
    size_t struct_size;
    int opset; /* 17 to 23; default 17 */
    /* Names of the outputs in the file; default: names of the tensors, otherwise "output0", ... */
    const char *const *output_names;
    const char *batch_name;  /* of the dimension WEFT_BATCH; default "batch" */
    const char *length_name; /* of the dimension WEFT_LENGTH; default "length" */
    bool weights_beside;     /* weights lie in a second file, the path with ".data" at its end */
    const weft_onnx_model
        *from; /* the tensors come from this model, whose names and metadata the file gets */
} weft_onnx_save_options;
#define WEFT_ONNX_SAVE_OPTIONS_INIT .struct_size = sizeof(weft_onnx_save_options)

/* Writes the network that computes `outputs` in inference as an ONNX file, with the current values of parameters and states.
 * The file is written completely or not at all. options NULL: all defaults. Errors: WEFT_ERROR_UNSUPPORTED (ops that ONNX cannot express;
 * all are listed at once); WEFT_ERROR_ARGUMENT; WEFT_ERROR_FILE. */
WEFT_API weft_status weft_onnx_save(
    const char *path, weft_tensor *const *outputs, size_t count, const weft_onnx_save_options *options);

#ifdef __cplusplus
}
#endif
#endif
