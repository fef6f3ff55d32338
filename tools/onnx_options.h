/* The options of `weft onnx`, which its commands share. */
#ifndef ONNX_OPTIONS_H
#define ONNX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ONNX_INFO = 1u, ONNX_RUN = 2u, ONNX_CHECK = 4u, ONNX_TRAIN = 8u };

/* NAME=VALUE, as many times as the option is given. */
typedef struct onnx_pair {
    const char *name, *value;
} onnx_pair;
typedef struct onnx_pairs {
    onnx_pair *of;
    size_t count;
} onnx_pairs;

typedef struct onnx_options {
    const char *path, *device; /* device NULL: the best one */
    onnx_pairs inputs;         /* .npy files of inputs */
    onnx_pairs values;         /* numbers of inputs */
    onnx_pairs sizes;          /* of open dimensions */
    bool random;
    /* run */
    bool open; /* sizes stay open when the network is loaded */
    const char *output;
    int64_t repeat;
    /* train */
    onnx_pairs targets; /* one: the value that the loss reads, and the .npy file of what it should be */
    const char *loss, *optimizer, *onnx, *weights, *freeze, *events, *html;
    int64_t epochs, batch; /* batch 0: that of the file, or 32 */
    double rate;
} onnx_options;

/* Reads the words after `weft onnx COMMAND`; command is one of the bits above. The pairs lie in memory that
 * onnx_options_clear frees, also after false, which says that an option is wrong, and that stderr tells which. */
bool onnx_options_read(onnx_options *options, unsigned command, int argc, char **argv);
void onnx_options_clear(onnx_options *options);
/* NULL: no pair has this name. */
const onnx_pair *onnx_pair_find(const onnx_pairs *pairs, const char *name);

#endif
