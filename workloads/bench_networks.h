/* The networks that `weft bench seven` measures: those of the comparison table of S. Shi et al. 2016
 * ("Benchmarking State-of-the-Art Deep Learning Software Tools"), as bench/seven_torch.py has them, and some
 * more. */
#ifndef BENCH_NETWORKS_H
#define BENCH_NETWORKS_H

#include <weft/weft.h>

typedef enum bench_set {
    BENCH_SEVEN = 1,     /* of the table */
    BENCH_INFERENCE = 2, /* also measured as it predicts */
    BENCH_SHORT = 4      /* of the seven those that take the least time to compile and to run */
} bench_set;

typedef struct bench_network {
    const char *name; /* "ResNet-50" */
    int64_t batch;
    unsigned sets;
    int rank;        /* 1: numbers, or tokens where the network has a vocabulary; 3: an image */
    int64_t dims[3]; /* of an example */
    int64_t vocabulary, classes;
    bool adam;                             /* else plain SGD at 1e-3 */
    weft_tensor *(*build)(weft_tensor *x); /* logits, (examples, classes) */
    const char *file;                      /* else an ONNX file (file_network.h); NULL: it is none */
} bench_network;

extern const bench_network bench_networks[];
extern const size_t bench_network_count;
const bench_network *bench_network_find(const char *name); /* NULL: none of that name */
/* For trainers, and not of a file: the columns "x" and "label" of a dataset, without data, and the mean cross-entropy of inputs of these names. */
void bench_network_columns(const bench_network *network, weft_column columns[2]);
weft_tensor *bench_network_loss(weft_graph *graph, const bench_network *network);
/* How many labels an example has: one, or one for each token. */
int64_t bench_network_labels(const bench_network *network);
/* Bytes of all parameters in f32. */
double bench_parameter_bytes(const weft_graph *graph);
/* The network's own optimizer. */
weft_optimizer bench_network_optimizer(const bench_network *network);

/* An input of a model, of so many numbers; whole ones are below the bound. */
typedef struct bench_source {
    weft_tensor *tensor;
    int64_t count, bound;
} bench_source;

/* A network in a graph of its own, planned for one batch size, with random inputs on the device. */
typedef struct bench_model {
    const bench_network *network;
    int64_t batch;
    bool inference;
    weft_graph *graph;
    weft_plan *plan;
    bench_source sources[16]; /* the examples, and as it trains the labels; of a file its inputs */
    size_t source_count;
    weft_tensor *loss;   /* NULL as it predicts, but of a file */
    double plan_seconds; /* without compiling, which the first run does */
} bench_model;

typedef struct bench_setting {
    int64_t batch; /* 0: the network's own */
    bool inference;
    size_t memory_limit; /* bytes; 0: none */
    weft_precision precision;
    float rate;         /* of SGD; 0: the network's own optimizer */
    float momentum;     /* of SGD */
    int memory_percent; /* a limit of so much of what the plan takes without one; 0: none */
} bench_setting;

/* A training step is forward, backward and the update of all parameters. */
weft_status bench_model_create(
    bench_model *model, weft_context *context, const bench_network *network, const bench_setting *setting);
void bench_model_clear(bench_model *model);

#endif
