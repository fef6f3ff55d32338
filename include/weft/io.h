/* weft/io.h: weights in files. */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All parameters and named states of a graph, by name, as a safetensors file (the format that PyTorch users
 * exchange: 8-byte little-endian header length, JSON header, data). Written whole or not at all. */
WEFT_API weft_status weft_weights_save(weft_graph *graph, const char *path);

typedef struct weft_weights_options {
    size_t struct_size;
    bool allow_missing; /* default false: every parameter and named state of the graph must be in the file */
    bool allow_extra;   /* default false: every tensor of the file must have a taker */
} weft_weights_options;
#define WEFT_WEIGHTS_OPTIONS_INIT .struct_size = sizeof(weft_weights_options)
/* Loads by name. f16, bf16 and f64 are converted to f32, i64 to i32 where it fits. Nothing is changed in the
 * graph unless the whole file is good. Errors name the file, the tensor, and both shapes or dtypes. */
WEFT_API weft_status weft_weights_load(
    weft_graph *graph, const char *path, const weft_weights_options *options);

/* An initialiser that reads one tensor of a safetensors file, of the parameter's shape, while the parameter
 * is made: weft_parameter(g, "w", weft_init_from_file("base.safetensors", "encoder.w"), 10, 64). entry NULL:
 * the parameter's own name. f16, bf16 and f64 are converted. A missing file or tensor, or another shape, is
 * an error at the parameter that names the file, the tensor and both shapes. */
WEFT_API weft_initialiser weft_init_from_file(const char *path, const char *entry);

#ifdef __cplusplus
}
#endif
#endif
