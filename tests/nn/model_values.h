/* Values by a formula of a name and an index, the same as in tests/golden/make_model_golden.py. */
#ifndef TEST_MODEL_VALUES_H
#define TEST_MODEL_VALUES_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <weft/weft.h>

/* FNV-1a. */
static inline uint32_t model_seed(const char *name) {
    uint32_t seed = UINT32_C(2166136261);
    for (const char *c = name; *c; c++) seed = (seed ^ (uint8_t)*c) * UINT32_C(16777619);
    return seed;
}

/* In [-1, 1), a multiple of 2^-23: MurmurHash3's finaliser. */
static inline float model_hashed(uint32_t seed, uint32_t index) {
    uint32_t h = (index * UINT32_C(0x9E3779B1)) ^ seed;
    h = (h ^ h >> 16) * UINT32_C(0x85EBCA6B);
    h = (h ^ h >> 13) * UINT32_C(0xC2B2AE35);
    h ^= h >> 16;
    return (float)(h >> 8) * 0x1p-23f - 1.0f;
}

static inline size_t model_count(const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count;
}

static inline bool model_ends(const char *name, const char *end) {
    const size_t length = strlen(name), last = strlen(end);
    return length >= last && strcmp(name + length - last, end) == 0;
}

/* Matrices and windows: U(±sqrt(3)·sqrt(2 / fan_in)). Vectors: weights and variances 1 + U(±0.1), means U(±0.1), biases
 * shift + U(±0.1). */
static inline void model_values(const weft_tensor *tensor, const char *name, float shift, float *values) {
    const size_t count = model_count(tensor);
    const uint32_t seed = model_seed(name);
    const bool is_vector = weft_tensor_rank(tensor) == 1;
    const double fan_in = is_vector ? 1 : (double)(count / (size_t)weft_tensor_dimension(tensor, 0));
    const bool is_mean = model_ends(name, ".running_mean");
    const bool is_one = model_ends(name, ".weight") || model_ends(name, ".running_var");
    const float factor = is_vector ? 0.1f : (float)sqrt(6.0 / fan_in);
    const float middle = !is_vector || is_mean ? 0.0f : is_one ? 1.0f : shift;
    for (size_t i = 0; i < count; i++) values[i] = model_hashed(seed, (uint32_t)i) * factor + middle;
}

/* "image3": U(±sqrt(3)). */
static inline void model_image(const char *name, float *values, size_t count) {
    const uint32_t seed = model_seed(name);
    for (size_t i = 0; i < count; i++) values[i] = model_hashed(seed, (uint32_t)i) * (float)sqrt(3.0);
}

static inline void model_labels(int32_t *labels, size_t batch, int step, int classes) {
    for (size_t i = 0; i < batch; i++) labels[i] = (int32_t)((7 * (int)i + 3 * step + 3) % classes);
}

#endif
