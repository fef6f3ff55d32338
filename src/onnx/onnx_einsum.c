/* Einsum of ONNX. weft_einsum has at most two operands. If there are more, the first two are replaced by their product until two remain. */
#include "onnx/onnx_build.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPERANDS = 16, MOST_LABELS = 32, EQUATION = 256 };

typedef struct equation {
    char labels[MOST_OPERANDS + 1][MOST_LABELS]; /* of the operands, and then of the result */
    int operands;
} equation;

/* Appends labels for the `axes` axes that an ellipsis stands for. They are letters that the equation does not use; the last axis has the
 * first of them, so that ellipses of different ranks broadcast. */
static bool add_ellipsis(char *labels, size_t *count, int axes, const char *unused) {
    if (axes < 0 || axes > WEFT_MAX_RANK || (size_t)axes > strlen(unused) ||
        *count + (size_t)axes >= MOST_LABELS)
        return false;
    for (int i = axes - 1; i >= 0; i--) labels[(*count)++] = unused[i];
    return true;
}

/* Reads the labels of one term, up to `end`. axes: the number of axes that its ellipsis stands for. */
static bool read_term(char *labels, const char *text, const char *end, int axes, const char *unused) {
    size_t count = 0;
    for (; text < end; text++) {
        if (isspace((unsigned char)*text)) continue;
        if (end - text >= 3 && strncmp(text, "...", 3) == 0) {
            if (!add_ellipsis(labels, &count, axes, unused)) return false;
            text += 2;
        } else if (isalpha((unsigned char)*text) && count + 1 < MOST_LABELS)
            labels[count++] = *text;
        else
            return false;
    }
    labels[count] = '\0';
    return true;
}

/* The number of labels that a term has besides its ellipsis; -1: it has no ellipsis. */
static int count_beside(const char *text, const char *end) {
    int count = 0;
    bool dots = false;
    for (; text < end; text++) {
        count += isalpha((unsigned char)*text) != 0;
        dots = dots || *text == '.';
    }
    return dots ? count : -1;
}

/* The labels of the result of an equation without an arrow: the axes of the ellipsis, and then the labels that occur once, sorted. */
static bool add_result(equation *e, const char *all, int axes, const char *unused) {
    char *const result = e->labels[e->operands];
    size_t count = 0;
    if (!add_ellipsis(result, &count, axes, unused)) return false;
    for (int c = 'A'; c <= 'z'; c++) {
        const char *const first = strchr(all, c);
        if (isalpha(c) && first && !strchr(first + 1, c) && count + 1 < MOST_LABELS)
            result[count++] = (char)c;
    }
    result[count] = '\0';
    return true;
}

static bool read_equation(equation *e, const char *text, weft_tensor *const *x, int operands) {
    char unused[64] = "";
    const char *const arrow = strstr(text, "->"), *const last = arrow ? arrow : text + strlen(text);
    const char *begin = text;
    int most = 0;
    for (int c = 'A'; c <= 'z'; c++)
        if (isalpha(c) && !strchr(text, c)) unused[strlen(unused)] = (char)c;
    e->operands = operands;
    for (int i = 0; i < operands; i++) {
        const char *const comma = memchr(begin, ',', (size_t)(last - begin)), *const end =
                                                                                  comma ? comma : last;
        const int beside = count_beside(begin, end), axes = beside < 0 ? 0 : weft_tensor_rank(x[i]) - beside;
        most = axes > most ? axes : most;
        if (!read_term(e->labels[i], begin, end, axes, unused) || (comma != NULL) != (i + 1 < operands) ||
            (int)strlen(e->labels[i]) != weft_tensor_rank(x[i]))
            return false;
        begin = end + 1;
    }
    if (arrow) return read_term(e->labels[operands], arrow + 2, text + strlen(text), most, unused);
    char all[EQUATION];
    snprintf(all, sizeof all, "%.*s", (int)(last - text), text);
    return add_result(e, all, most, unused);
}

/* Replaces operands i - 1 and i by their product. It keeps the labels that later operands or the result have. */
static weft_tensor *join(equation *e, weft_tensor *a, weft_tensor *b, int i) {
    char pair[4 * MOST_LABELS], kept[WEFT_MAX_RANK + 1] = "";
    const char *const both[] = {e->labels[i - 1], e->labels[i]};
    for (int side = 0; side < 2; side++)
        for (const char *label = both[side]; *label; label++) {
            bool needed = false;
            for (int later = i + 1; later <= e->operands; later++)
                needed = needed || strchr(e->labels[later], *label);
            if (!needed || strchr(kept, *label)) continue;
            if (strlen(kept) == WEFT_MAX_RANK) return NULL;
            kept[strlen(kept)] = *label;
        }
    snprintf(pair, sizeof pair, "%s,%s->%s", both[0], both[1], kept);
    snprintf(e->labels[i], MOST_LABELS, "%s", kept);
    return weft_einsum(pair, a, b);
}

static weft_tensor *build_einsum(wi_onnx_import *n, wi_onnx_node *node) {
    char text[EQUATION];
    equation e = {0};
    weft_tensor *x[MOST_OPERANDS];
    const WiOnnx__AttributeProto *const attribute = wi_onnx_attribute(node, "equation");
    const int operands = (int)node->n_input;
    if (!attribute || attribute->s.len >= sizeof text || operands < 1 || operands > MOST_OPERANDS)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its equation is missing or too long");
    for (int i = 0; i < operands; i++) x[i] = wi_onnx_get(n, node, (size_t)i);
    if (n->status != WEFT_OK) return NULL;
    if (attribute->s.len > 0) memcpy(text, attribute->s.data, attribute->s.len);
    text[attribute->s.len] = '\0';
    if (operands <= 2) return weft_einsum(text, x[0], operands == 2 ? x[1] : NULL);
    if (!read_equation(&e, text, x, operands))
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its equation does not match its operands");
    weft_tensor *y = x[0];
    for (int i = 1; i < operands - 1 && y; i++) y = join(&e, y, x[i], i);
    snprintf(
        text, sizeof text, "%s,%s->%s", e.labels[operands - 2], e.labels[operands - 1], e.labels[operands]);
    return y ? weft_einsum(text, y, x[operands - 1])
             : wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "a product of two operands has too many axes");
}

const wi_onnx_op wi_onnx_einsum_ops[] = {{"Einsum", .build = build_einsum}, {0}};
