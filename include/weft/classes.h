/* weft/classes.h: classifiers over a million classes and more, whose training steps read and write few rows of the output layer. nn.h has
 * the adaptive softmax, for classes in the order of their frequency. docs/extreme-classes.md computes memory, time and traffic.
 *
 * A layer belongs to its graph, and is released with it. For all layers: x is f32 (..., width), labels i32 (...); the loss is the mean
 * over the labels that are not -100, and 0 if all are -100; any other label that is not a class is an error of the next read or wait.
 * A call that fails returns NULL, and the graph keeps the error: WEFT_ERROR_ARGUMENT (a number that is out of range), WEFT_ERROR_SHAPE,
 * WEFT_ERROR_MEMORY. There are at most 2^30 classes. */
#ifndef WEFT_CLASSES_H
#define WEFT_CLASSES_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sampled softmax (Bengio and Senécal 2003, Jean et al. 2015) ----
 * A step computes the logits of the labels and of `samples` classes that it draws with replacement, the same for all rows of a batch:
 *     loss = -log(exp(z[label]) / (exp(z[label]) + sum over the drawn classes c of exp(z[c]))),  z[c] = weight[c]·x + bias[c] - log p(c)
 * where p(c) is the probability of drawing c, and samples·p(c) the expected count of c. Drawn classes that equal the row's label
 * (accidental hits) are left out of the sum. The draws depend on the context's seed, on the order in which the losses were created, and
 * on the number of the run, as those of weft_uniform. The layer's parameters are updated by rows (weft_sparse_updates): a step reads and
 * writes the rows of its labels and of the drawn classes, of the parameters and of the optimizer's states.
 *
 * Parameters: "sampled_softmaxN.weight" (classes, width), which begins as U(±1/sqrt(width)), and with the option `bias`
 * "sampled_softmaxN.bias" (classes, 1), which begins as 0. */
typedef struct weft_sampled_softmax weft_sampled_softmax;

typedef enum weft_class_proposal {
    /* p(c) = log((c + 2) / (c + 1)) / log(classes + 1), for classes in the order of falling frequency (Zipf's law). */
    WEFT_PROPOSAL_LOG_UNIFORM,
    WEFT_PROPOSAL_UNIFORM /* p(c) = 1 / classes */
} weft_class_proposal;

typedef struct weft_sampled_softmax_options {
    size_t struct_size;
    const char *name;                    /* default "sampled_softmaxN" */
    const weft_initialiser *initialiser; /* of the weight; default U(±1/sqrt(width)) */
    weft_class_proposal proposal;        /* default WEFT_PROPOSAL_LOG_UNIFORM */
    bool bias;                           /* default false */
    /* Default NULL: the layer creates its weight. Otherwise a parameter f32 (classes, width) that only embeddings and this layer use, such
     * as the table of an embedding (weight tying); the initialiser must then be unset. */
    weft_tensor *weight;
} weft_sampled_softmax_options;
#define WEFT_SAMPLED_SOFTMAX_OPTIONS_INIT .struct_size = sizeof(weft_sampled_softmax_options)
/* classes: 2 or more; samples: 1 to 2^24. options NULL means all defaults. */
WEFT_API weft_sampled_softmax *weft_sampled_softmax_layer(weft_graph *graph, int64_t width, int64_t classes,
    int64_t samples, const weft_sampled_softmax_options *options);
/* The loss above, an f32 of rank 0. */
WEFT_API weft_tensor *weft_sampled_softmax_loss(
    weft_sampled_softmax *softmax, weft_tensor *x, weft_tensor *labels);
/* x (..., width) → weight·x + bias for all classes, (..., classes). No gradient reaches the parameters, because they are updated by
 * rows. */
WEFT_API weft_tensor *weft_sampled_softmax_logits(weft_sampled_softmax *softmax, weft_tensor *x);

/* ---- MACH: merged-average classifiers via hashing (Medini et al. 2019) ----
 * Each of `groups` small classifiers has `buckets` outputs, and its own random hash function of the class: classifier r learns the
 * bucket h_r(label). The memory of the output layer is groups·buckets·width instead of classes·width numbers. The probability of a class
 * is estimated without bias from the mean over the classifiers of the probability of the class's bucket:
 *     score(c) = (mean over r of p_r[h_r(c)] - 1 / buckets) · buckets / (buckets - 1)
 * The hash functions are those of simple tabulation (Zobrist 1970, Pătraşcu and Thorup 2011): the sum modulo `buckets` of two random
 * numbers, one for class / m and one for class mod m, m = ceil(sqrt(classes)). They are 3-independent, and take 2·m numbers each.
 *
 * Parameters: "machN.weight" (groups·buckets, width) and, unless no_bias is set, "machN.bias" (groups·buckets), both
 * U(±1/sqrt(width)). */
typedef struct weft_mach weft_mach;

typedef struct weft_mach_options {
    size_t struct_size;
    const char *name; /* default "machN" */
    /* Of the hash functions; a program that loads a layer's parameters must give the seed that they were trained with. Default 0. */
    uint64_t seed;
    bool no_bias; /* default false */
} weft_mach_options;
#define WEFT_MACH_OPTIONS_INIT .struct_size = sizeof(weft_mach_options)
/* classes: 2 or more; groups: 1 to 4096; buckets: 2 to 2^24. options NULL means all defaults. */
WEFT_API weft_mach *weft_mach_layer(weft_graph *graph, int64_t width, int64_t classes, int64_t groups,
    int64_t buckets, const weft_mach_options *options);
/* The sum over the classifiers of the cross-entropy of the label's bucket, as if each were trained alone. */
WEFT_API weft_tensor *weft_mach_loss(weft_mach *mach, weft_tensor *x, weft_tensor *labels);
/* x (..., width) → the softmax of each classifier, (..., groups, buckets). */
WEFT_API weft_tensor *weft_mach_probabilities(weft_mach *mach, weft_tensor *x);
/* The bucket of the class `label` in classifier `group`, h_group(label); -1 if mach is NULL or there is no such group or class. */
WEFT_API int64_t weft_mach_bucket(const weft_mach *mach, int64_t group, int64_t label);
/* The k classes with the largest scores of each row, computed on the host from `rows` results (groups, buckets) of
 * weft_mach_probabilities: → classes (rows, k), in the order of falling score, and of equal scores the smaller class first; and their
 * scores (rows, k), unless NULL. Takes time for rows·classes·groups additions, and memory for 16·groups·buckets floats; several threads
 * may call it at once. A row of NaN gives -1. Errors: WEFT_ERROR_ARGUMENT (a pointer is NULL, k is not in 1 .. classes),
 * WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_mach_top(const weft_mach *mach, const float *probabilities, size_t rows, size_t k,
    int32_t *classes, float *scores);

#ifdef __cplusplus
}
#endif
#endif
