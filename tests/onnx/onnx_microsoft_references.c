/* See onnx_microsoft_references.h. */
#include "onnx_microsoft_references.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An input that no node has. */
enum { NO_INPUT = MICROSOFT_INPUTS - 1 };

static const microsoft_node *now;
static microsoft_input *in;
static microsoft_output *out;

/* ---- what references share ---- */

/* Element k of an input; one with fewer elements is repeated, and an absent one is 0. */
static double at(size_t input, size_t k) {
    return in[input].count > 0 ? in[input].data[k % in[input].count] : 0;
}

static double *result(size_t index, size_t count) {
    assert_true(count <= MICROSOFT_MOST);
    out[index].count = count;
    return out[index].data;
}

/* A number of an attribute. */
static double real(const char *name, size_t index, double otherwise) {
    char key[32];
    snprintf(key, sizeof key, "%s=", name);
    const char *found = strstr(now->attributes, key);
    if (!found) return otherwise;
    for (found += strlen(key); index > 0; index--) found = strchr(found, ',') + 1;
    return atof(found);
}

static bool says(const char *text) {
    return strstr(now->attributes, text) != NULL;
}

static bool is_op(const char *name) {
    return strcmp(now->op, name) == 0;
}

static double dot(const double *a, size_t a_step, const double *b, size_t b_step, size_t count) {
    double sum = 0;
    for (size_t k = 0; k < count; k++) sum += a[k * a_step] * b[k * b_step];
    return sum;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* Makes an input (q - zero) · scale. */
static void dequantise(size_t input, size_t scale, size_t zero) {
    for (size_t k = 0; k < in[input].count; k++)
        in[input].data[k] = (in[input].data[k] - at(zero, k)) * at(scale, k);
}

/* The first output as 8 bits, not rounded. */
static void quantise(size_t scale) {
    const double low = in[scale + 1].type == ONNX_INT8 ? -128 : 0;
    out[0].is_whole = true;
    for (size_t k = 0; k < out[0].count; k++)
        out[0].data[k] = fmin(fmax(out[0].data[k] / at(scale, 0) + at(scale + 1, 0), low), low + 255);
}

/* An input as 8 bits store it that reach from its least to its largest element. */
static void store(size_t input) {
    double low = 0, high = 0;
    for (size_t k = 0; k < in[input].count; k++) {
        low = fmin(low, at(input, k));
        high = fmax(high, at(input, k));
    }
    const double scale = (high - low) / 255, zero = rint(-low / scale);
    for (size_t k = 0; k < in[input].count; k++)
        in[input].data[k] = (fmin(fmax(rint(at(input, k) / scale) + zero, 0), 255) - zero) * scale;
}

/* ---- references ---- */

static void gelu(void) {
    double *const y = result(0, in[0].count);
    for (size_t k = 0; k < in[0].count; k++) {
        const double x = at(0, k) + at(1, k);
        y[k] = is_op("QuickGelu")  ? x * sigmoid(real("alpha", 0, 1.702) * x)
               : is_op("FastGelu") ? x / 2 * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
                                   : x / 2 * (1 + erf(x / sqrt(2)));
    }
}

/* (batch, rows, depth) · (batch, depth, columns); each may be transposed. */
static void fused_matmul(void) {
    const bool a = says("transA=1"), b = says("transB=1");
    const size_t rows = in[0].dims[a ? 2 : 1], depth = in[0].dims[a ? 1 : 2], columns = in[1].dims[b ? 1 : 2];
    double *const y = result(0, in[0].dims[0] * rows * columns);
    for (size_t k = 0; k < out[0].count; k++) {
        const size_t batch = k / columns / rows, i = k / columns % rows, j = k % columns;
        y[k] = real("alpha", 0, 1) *
               dot(in[0].data + batch * rows * depth + i * (a ? 1 : depth), a ? rows : 1,
                   in[1].data + batch * depth * columns + j * (b ? depth : 1), b ? 1 : columns, depth);
    }
}

static double activated(double x) {
    const double first = real("activation_params", 0, 0);
    if (says("activation=Relu")) return fmax(x, 0);
    if (says("activation=Tanh")) return tanh(x);
    if (says("activation=Sigmoid")) return sigmoid(x);
    if (says("activation=LeakyRelu")) return x < 0 ? first * x : x;
    if (says("activation=Clip")) return fmin(fmax(x, first), real("activation_params", 1, 0));
    if (says("activation=HardSigmoid")) return fmin(fmax(first * x + real("activation_params", 1, 0), 0), 1);
    return x;
}

static void fused_conv(void) {
    const size_t *const d = in[0].dims, *const w = in[1].dims, depth = w[1] * w[2] * w[3];
    const size_t top = (size_t)real("pads", 0, 0), left = (size_t)real("pads", 1, 0),
                 rows = d[2] + top + (size_t)real("pads", 2, 0) - w[2] + 1,
                 columns = d[3] + left + (size_t)real("pads", 3, 0) - w[3] + 1;
    double *const y = result(0, d[0] * w[0] * rows * columns);
    for (size_t k = 0; k < out[0].count; k++) {
        const size_t m = k / columns / rows % w[0], n = k / columns / rows / w[0];
        double sum = at(2, m) + at(3, k);
        for (size_t i = 0; i < depth; i++) {
            const size_t c = i / w[3] / w[2], row = k / columns % rows + i / w[3] % w[2] - top,
                         column = k % columns + i % w[3] - left; /* below 0: a large number */
            if (row < d[2] && column < d[3])
                sum += at(1, m * depth + i) * at(0, ((n * d[1] + c) * d[2] + row) * d[3] + column);
        }
        y[k] = activated(sum);
    }
}

/* The first output: the norm of x, with the inputs weight and shift. */
static void norm(const double *x, size_t count, size_t weight, size_t shift, bool has_mean) {
    const size_t width = in[weight].count;
    double *const y = result(0, count);
    for (size_t k = 0; k < count; k++) {
        const double *const row = x + k / width * width, one = 1;
        const double mean = has_mean ? dot(row, 1, &one, 0, width) / (double)width : 0;
        const double var = dot(row, 1, row, 1, width) / (double)width - mean * mean;
        y[k] = (x[k] - mean) / sqrt(var + real("epsilon", 0, 1e-12)) * at(weight, k) + at(shift, k);
    }
}

static void skip_norm(void) {
    const bool simple = is_op("SkipSimplifiedLayerNormalization");
    double *const sum = result(1, in[0].count);
    for (size_t k = 0; k < in[0].count; k++) sum[k] = at(0, k) + at(1, k) + at(simple ? 3 : 4, k);
    norm(sum, in[0].count, 2, simple ? NO_INPUT : 3, !simple);
}

static void embed_norm(void) {
    const size_t width = in[5].count, count = in[0].count * width;
    double *const sum = result(1, count);
    for (size_t k = 0; k < count; k++) {
        const size_t token = k / width, c = k % width;
        const double place = in[8].count > 0 ? at(8, token) : (double)(token % in[0].dims[1]);
        sum[k] = at(2, (size_t)at(0, token) * width + c) + at(3, (size_t)place * width + c) +
                 (in[1].count > 0 ? at(4, (size_t)at(1, token) * width + c) : 0);
    }
    norm(sum, count, 5, 6, true);
}

/* q, k (examples, queries or keys, width) and v (..., v_width), with heads side by side, an input that masks keys, and a bias. */
static void attend(const double *const qkv[3], const size_t sizes[3], size_t width, size_t v_width,
    size_t mask, size_t bias) {
    const size_t heads = (size_t)real("num_heads", 0, 0), d = width / heads, queries = sizes[1],
                 keys = sizes[2];
    double *const y = result(0, sizes[0] * queries * v_width);
    for (size_t r = 0; r < out[0].count; r++) {
        const size_t c = r % v_width, head = c / (v_width / heads), i = r / v_width % queries,
                     n = r / v_width / queries;
        double total = 0, sum = 0;
        for (size_t j = 0; j < keys; j++) {
            const double score =
                real("scale", 0, 1 / sqrt((double)d)) * dot(qkv[0] + (n * queries + i) * width + head * d, 1,
                                                            qkv[1] + (n * keys + j) * width + head * d, 1,
                                                            d) +
                at(bias, ((n * heads + head) * queries + i) * keys + j) +
                (in[mask].count > 0 && at(mask, n * keys + j) == 0 ? real("mask_filter_value", 0, -10000)
                                                                   : 0);
            const double weight = says("unidirectional=1") && j > i ? 0 : exp(score);
            total += weight;
            sum += weight * qkv[2][(n * keys + j) * v_width + c];
        }
        y[r] = sum / total;
    }
}

static void attention(void) {
    static double parts[3][MICROSOFT_MOST];
    const size_t width = in[1].dims[1] / 3, depth = in[1].dims[0], tokens = in[0].count / depth;
    for (size_t p = 0; p < 3; p++)
        for (size_t k = 0; k < tokens * width; k++)
            parts[p][k] =
                at(2, p * width + k % width) +
                dot(in[0].data + k / width * depth, 1, in[1].data + p * width + k % width, 3 * width, depth);
    attend((const double *const[]){parts[0], parts[1], parts[2]},
        (const size_t[]){in[0].dims[0], in[0].dims[1], in[0].dims[1]}, width, width, 3, 5);
}

static void multi_head(void) {
    size_t begin = 0;
    for (size_t p = 0; p < 3; begin += in[p++].dims[2])
        for (size_t k = 0; k < in[p].count; k++) in[p].data[k] += at(3, begin + k % in[p].dims[2]);
    attend((const double *const[]){in[0].data, in[1].data, in[2].data},
        (const size_t[]){in[0].dims[0], in[0].dims[1], in[1].dims[1]}, in[0].dims[2], in[2].dims[2], 4, 5);
}

/* (n, heads, length, d), or (n, length, heads · d). */
static void rotary(void) {
    const bool split = in[0].rank == 4;
    const size_t half = in[2].dims[1], heads = (size_t)real("num_heads", 0, 1),
                 d = split ? in[0].dims[3] : in[0].dims[2] / heads, length = in[0].dims[split ? 2 : 1];
    double *const y = result(0, in[0].count);
    memcpy(y, in[0].data, in[0].count * sizeof *y);
    for (size_t v = 0; v < in[0].count / d; v++) {
        const size_t l = split ? v % length : v / heads % length,
                     n = split ? v / length / in[0].dims[1] : v / heads / length;
        const double place = in[1].rank == 1 ? at(1, 0) + (double)l : at(1, n * length + l);
        for (size_t e = 0; e < half; e++) {
            const size_t a = v * d + (says("interleaved=1") ? 2 * e : e),
                         b = a + (says("interleaved=1") ? 1 : half), angle = (size_t)place * half + e;
            y[a] = at(2, angle) * at(0, a) - at(3, angle) * at(0, b);
            y[b] = at(3, angle) * at(0, a) + at(2, angle) * at(0, b);
        }
    }
}

static void quantised_two(void) {
    double *const y = result(0, in[0].count);
    dequantise(0, 1, 2);
    dequantise(3, 4, 5);
    for (size_t k = 0; k < in[0].count; k++)
        y[k] = is_op("QLinearAdd") ? at(0, k) + at(3, k) : at(0, k) * at(3, k);
    quantise(6);
}

static void quantised_one(void) {
    double *const y = result(0, in[0].count);
    dequantise(0, 1, 2);
    for (size_t k = 0; k < in[0].count; k++) {
        const double x = at(0, k);
        y[k] = is_op("QLinearSigmoid") ? sigmoid(x) : x < 0 ? real("alpha", 0, 0.01) * x : x;
    }
    quantise(3);
}

static void quantised_pool(void) {
    const size_t *const d = in[0].dims, high = (size_t)real("kernel_shape", 0, (double)d[2]),
                        wide = (size_t)real("kernel_shape", 1, (double)d[3]);
    const size_t left = (size_t)real("pads", 1, 0), rows = d[2] - high + 1, columns = d[3] + left - wide + 1;
    double *const y = result(0, d[0] * d[1] * rows * columns);
    dequantise(0, 1, 2);
    for (size_t k = 0; k < out[0].count; k++) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < high * wide; i++) {
            const size_t row = k / columns % rows + i / wide, column = k % columns + i % wide - left;
            if (column >= d[3]) continue;
            sum += at(0, (k / columns / rows * d[2] + row) * d[3] + column);
            count++;
        }
        y[k] = sum / count;
    }
    quantise(3);
}

/* Two parts, along the axis 1 of 3. */
static void quantised_concat(void) {
    const size_t first = in[2].dims[1] * in[2].dims[2], both = first + in[5].dims[1] * in[5].dims[2];
    double *const y = result(0, in[2].dims[0] * both);
    dequantise(2, 3, 4);
    dequantise(5, 6, 7);
    for (size_t k = 0; k < out[0].count; k++)
        y[k] = k % both < first ? at(2, k / both * first + k % both)
                                : at(5, k / both * (both - first) + k % both - first);
    quantise(0);
}

static void quantised_matmul(void) {
    const bool dynamic = is_op("DynamicQuantizeMatMul");
    const size_t depth = in[1].dims[0], columns = in[1].dims[1];
    double *const y = result(0, in[0].count / depth * columns);
    if (dynamic)
        store(0);
    else
        dequantise(0, 2, 4);
    dequantise(1, dynamic ? 2 : 3, dynamic ? 3 : 5);
    for (size_t k = 0; k < out[0].count; k++)
        y[k] = dot(in[0].data + k / columns * depth, 1, in[1].data + k % columns, columns, depth) +
               at(dynamic ? 4 : 6, k);
}

/* Weights (directions, n, 4 · hidden), with scales and zero points for each direction, or for each of its columns. */
static void dequantise_gates(size_t input, size_t scale) {
    const size_t columns = in[input].dims[2], all = in[input].dims[1] * columns;
    for (size_t k = 0; k < in[input].count; k++) {
        const size_t own = k / all * columns + k % columns;
        const size_t s = in[scale].rank == 1 ? k / all : own, z = in[scale + 1].rank == 1 ? k / all : own;
        in[input].data[k] = (in[input].data[k] - at(scale + 1, z)) * at(scale, s);
    }
}

/* A step of an LSTM with x in the direction d; h and c become the next ones. Gates are in the order i, o, f, c. */
static void step(const double *x, size_t d, double *h, double *c) {
    const size_t depth = in[1].dims[1], hidden = in[2].dims[1], all = 4 * hidden;
    double g[32];
    for (size_t j = 0; j < all; j++)
        g[j] = at(3, 2 * d * all + j) + at(3, (2 * d + 1) * all + j) +
               dot(x, 1, in[1].data + d * depth * all + j, all, depth) +
               dot(h, 1, in[2].data + d * hidden * all + j, all, hidden);
    for (size_t j = 0; j < hidden; j++) {
        const size_t peephole = 3 * d * hidden + j;
        const double i = sigmoid(g[j] + at(7, peephole) * c[j]),
                     f = sigmoid(g[2 * hidden + j] + at(7, peephole + 2 * hidden) * c[j]);
        c[j] = f * c[j] + i * tanh(g[3 * hidden + j]);
        h[j] = sigmoid(g[hidden + j] + at(7, peephole + hidden) * c[j]) * tanh(c[j]);
    }
}

static void lstm(void) {
    const size_t steps = in[0].dims[0], batch = in[0].dims[1], depth = in[0].dims[2], hidden = in[2].dims[1],
                 directions = in[1].dims[0], states = directions * batch * hidden;
    double *const y = result(0, steps * states), *const h = result(1, states), *const c = result(2, states);
    store(0);
    dequantise_gates(1, 8);
    dequantise_gates(2, 10);
    memset(y, 0, steps * states * sizeof *y);
    for (size_t k = 0; k < states; k++) h[k] = at(5, k), c[k] = at(6, k);
    for (size_t r = 0; r < directions * batch; r++) {
        const size_t n = r % batch, length = in[4].count > 0 ? (size_t)at(4, n) : steps;
        for (size_t s = 0; s < length; s++) {
            const size_t t = r >= batch || says("direction=reverse") ? length - 1 - s : s;
            step(in[0].data + (t * batch + n) * depth, r / batch, h + r * hidden, c + r * hidden);
            memcpy(y + t * states + r * hidden, h + r * hidden, hidden * sizeof *y);
        }
    }
}

/* ---- all ---- */

static const struct {
    const char *op;
    void (*compute)(void);
} references[] = {{"Gelu", gelu}, {"FastGelu", gelu}, {"BiasGelu", gelu}, {"QuickGelu", gelu},
    {"FusedMatMul", fused_matmul}, {"FusedConv", fused_conv}, {"SkipLayerNormalization", skip_norm},
    {"SkipSimplifiedLayerNormalization", skip_norm}, {"EmbedLayerNormalization", embed_norm},
    {"Attention", attention}, {"MultiHeadAttention", multi_head}, {"RotaryEmbedding", rotary},
    {"QLinearAdd", quantised_two}, {"QLinearMul", quantised_two}, {"QLinearSigmoid", quantised_one},
    {"QLinearLeakyRelu", quantised_one}, {"QLinearAveragePool", quantised_pool},
    {"QLinearGlobalAveragePool", quantised_pool}, {"QLinearConcat", quantised_concat},
    {"MatMulIntegerToFloat", quantised_matmul}, {"DynamicQuantizeMatMul", quantised_matmul},
    {"DynamicQuantizeLSTM", lstm}};

void microsoft_compute(microsoft_node *node) {
    size_t i = 0;
    now = node;
    in = node->in;
    out = node->out;
    while (!is_op(references[i].op)) i++;
    references[i].compute();
}
