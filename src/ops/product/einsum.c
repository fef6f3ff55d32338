/* einsum of one or two operands by other ops: diagonals of repeated labels, sums over labels that only one operand has, then a matrix
 * product of (batch labels, rows, contracted) and (batch labels, contracted, columns), or an elementwise product if no label is
 * contracted.
 *
 * Labels are numbers in the order of implicit outputs: the axes of an ellipsis from right to left, then A to Z, then a to z. */
#include "ops/op_table.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DOTS = WEFT_MAX_RANK, LABELS = DOTS + 52, MOST_OPERANDS = 2 };

/* The labels of an operand or of the output. `dots` is the position of an ellipsis; -1: there is none. */
typedef struct term {
    int labels[WEFT_MAX_RANK], characters[WEFT_MAX_RANK];
    int rank, dots;
} term;

typedef struct einsum {
    weft_graph *graph;
    const char *equation, *at; /* at: the next character */
    term terms[MOST_OPERANDS + 1];
    int operand_count;
    weft_tensor *operands[MOST_OPERANDS];
    int64_t sizes[LABELS]; /* 0: the label is in no operand */
} einsum;

/* ---- reading the equation ---- */

static char letter_of(int label) {
    return (char)(label < DOTS ? '.' : label < DOTS + 26 ? 'A' + label - DOTS : 'a' + label - DOTS - 26);
}

static bool fail_at(const einsum *e, const char *where, const char *what) {
    wi_graph_fail(e->graph, WEFT_ERROR_ARGUMENT, "einsum: '%s', character %d: %s", e->equation,
        (int)(where - e->equation) + 1, what);
    return false;
}

static bool read_label(einsum *e, term *t) {
    const unsigned char c = (unsigned char)*e->at;
    if (strncmp(e->at, "...", 3) == 0) {
        if (t->dots >= 0) return fail_at(e, e->at, "a second ellipsis");
        t->dots = t->rank;
        e->at += 3;
        return true;
    }
    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
        return fail_at(e, e->at, "expected a letter, ..., a comma or ->");
    if (t->rank == WEFT_MAX_RANK) return fail_at(e, e->at, "more labels than the highest rank");
    t->characters[t->rank] = (int)(e->at - e->equation) + 1;
    t->labels[t->rank++] = DOTS + (c <= 'Z' ? c - 'A' : 26 + c - 'a');
    e->at++;
    return true;
}

/* Reads up to a comma, an arrow or the end. */
static bool read_term(einsum *e, term *t) {
    t->dots = -1;
    for (;;) {
        while (*e->at == ' ') e->at++;
        if (*e->at == '\0' || *e->at == ',' || strncmp(e->at, "->", 2) == 0) return true;
        if (!read_label(e, t)) return false;
    }
}

static bool read_equation(einsum *e, bool *has_output) {
    e->at = e->equation;
    for (;; e->at++) {
        if (e->operand_count == MOST_OPERANDS) return fail_at(e, e->at - 1, "more than two operands");
        if (!read_term(e, &e->terms[e->operand_count++])) return false;
        if (*e->at != ',') break;
    }
    *has_output = *e->at == '-';
    if (!*has_output) return true;
    e->at += 2;
    if (!read_term(e, &e->terms[MOST_OPERANDS])) return false;
    return *e->at == '\0' || fail_at(e, e->at, "unexpected characters after the output");
}

/* ---- sizes of labels ---- */

static int find(const term *t, int label) {
    for (int i = 0; i < t->rank; i++) {
        if (t->labels[i] == label) return i;
    }
    return -1;
}

/* Replaces the ellipsis of a term by `count` labels. */
static void expand_dots(term *t, int count) {
    if (t->dots < 0) return;
    const size_t behind = (size_t)(t->rank - t->dots);
    memmove(t->labels + t->dots + count, t->labels + t->dots, behind * sizeof *t->labels);
    memmove(t->characters + t->dots + count, t->characters + t->dots, behind * sizeof *t->characters);
    for (int i = 0; i < count; i++) {
        t->labels[t->dots + i] = DOTS - count + i;
        t->characters[t->dots + i] = 0;
    }
    t->rank += count;
}

static bool fail_size(const einsum *e, int operand, int axis, int64_t size) {
    const term *t = &e->terms[operand];
    char text[WI_SHAPE_TEXT], text_size[WI_SHAPE_TEXT];
    wi_graph_fail(e->graph, WEFT_ERROR_SHAPE,
        "einsum: '%s', character %d: axis %d of operand %d, %s, does not fit size %s of label '%c'",
        e->equation, t->characters[axis], axis, operand,
        wi_shape_print(e->operands[operand]->graph, &e->operands[operand]->shape, text),
        wi_shape_print(e->graph, &(wi_shape){.rank = 1, .dims = {size}}, text_size),
        letter_of(t->labels[axis]));
    return false;
}

/* Sizes broadcast between operands. A label that is repeated in an operand means a diagonal, and needs equal sizes. */
static bool bind_operand(einsum *e, int operand) {
    term *t = &e->terms[operand];
    const wi_shape *shape = &e->operands[operand]->shape;
    char text[WI_SHAPE_TEXT];
    const int more = shape->rank - t->rank;
    if (more < 0 || (more > 0 && t->dots < 0)) {
        wi_graph_fail(e->graph, WEFT_ERROR_SHAPE, "einsum: '%s' has %d labels for operand %d, %s",
            e->equation, t->rank, operand, wi_shape_print(e->graph, shape, text));
        return false;
    }
    expand_dots(t, more);
    for (int axis = 0; axis < t->rank; axis++) {
        int64_t *size = &e->sizes[t->labels[axis]];
        const int first = find(t, t->labels[axis]);
        if (shape->dims[first] != shape->dims[axis]) return fail_size(e, operand, axis, shape->dims[first]);
        if (*size == 0 || *size == 1)
            *size = shape->dims[axis];
        else if (shape->dims[axis] != *size && shape->dims[axis] != 1)
            return fail_size(e, operand, axis, *size);
    }
    return true;
}

/* The output of an equation without an arrow: the ellipsis, then the labels that occur once, sorted. */
static bool imply_output(einsum *e) {
    term *out = &e->terms[MOST_OPERANDS];
    for (int label = 0; label < LABELS; label++) {
        int count = 0;
        for (int i = 0; i < e->operand_count; i++) {
            for (int axis = 0; axis < e->terms[i].rank; axis++) count += e->terms[i].labels[axis] == label;
        }
        if (count == 0 || (label >= DOTS && count > 1)) continue;
        if (out->rank == WEFT_MAX_RANK) {
            wi_graph_fail(e->graph, WEFT_ERROR_SHAPE, "einsum: the result of '%s' has a rank above %d",
                e->equation, WEFT_MAX_RANK);
            return false;
        }
        out->labels[out->rank++] = label;
    }
    return true;
}

static bool bind_output(einsum *e) {
    term *out = &e->terms[MOST_OPERANDS];
    int dots = 0;
    while (dots < DOTS && e->sizes[DOTS - 1 - dots] != 0) dots++;
    if (out->dots >= 0 && out->rank + dots > WEFT_MAX_RANK)
        return fail_at(e, e->at, "the result has more axes than the highest rank");
    expand_dots(out, dots);
    for (int axis = 0; axis < out->rank; axis++) {
        const char *where = e->equation + out->characters[axis] - 1;
        if (e->sizes[out->labels[axis]] == 0) return fail_at(e, where, "no operand has this label");
        if (find(out, out->labels[axis]) != axis)
            return fail_at(e, where, "the output has this label already");
    }
    return true;
}

/* ---- one operand ---- */

static void remove_axis(term *t, int axis) {
    t->rank--;
    for (int i = axis; i < t->rank; i++) t->labels[i] = t->labels[i + 1];
}

static weft_tensor *take_diagonals(weft_tensor *x, term *t) {
    for (int axis = 0; axis < t->rank;) {
        const int label = t->labels[axis], first = find(t, label);
        if (first == axis) {
            axis++;
            continue;
        }
        x = weft_diagonal(x, 0, first, axis);
        remove_axis(t, axis);
        remove_axis(t, first);
        t->labels[t->rank++] = label;
        axis = 0;
    }
    return x;
}

/* Removes an axis of size 1 whose label has a larger size in the other operand. */
static weft_tensor *drop_ones(const einsum *e, weft_tensor *x, term *t) {
    for (int axis = t->rank - 1; x && axis >= 0; axis--) {
        if (x->shape.dims[axis] != 1 || e->sizes[t->labels[axis]] == 1) continue;
        x = weft_squeeze_axes(x, (const int64_t[]){axis, WEFT_END});
        remove_axis(t, axis);
    }
    return x;
}

/* Sums over the labels that neither the other operand (NULL: none) nor the output has. */
static weft_tensor *sum_own(const einsum *e, weft_tensor *x, term *t, const term *other) {
    int64_t axes[WEFT_MAX_RANK + 1];
    int count = 0, kept = 0;
    for (int axis = 0; axis < t->rank; axis++) {
        const int label = t->labels[axis];
        if (find(&e->terms[MOST_OPERANDS], label) < 0 && (!other || find(other, label) < 0))
            axes[count++] = axis;
        else
            t->labels[kept++] = label;
    }
    axes[count] = WEFT_END;
    t->rank = kept;
    return count ? weft_sum_axes(x, axes, false) : x;
}

/* Permutes the axes of x into the order of `wanted`, with axes of size 1 for labels that x does not have. */
static weft_tensor *arrange(weft_tensor *x, const term *t, const term *wanted) {
    if (!x) return NULL;
    int order[WEFT_MAX_RANK], count = 0;
    wi_shape shape = {.rank = wanted->rank};
    for (int i = 0; i < wanted->rank; i++) {
        const int axis = find(t, wanted->labels[i]);
        shape.dims[i] = axis < 0 ? 1 : x->shape.dims[axis];
        if (axis >= 0) order[count++] = axis;
    }
    x = weft_permute_axes(x, count, order);
    return x ? weft_reshape_shape(x, shape.rank, shape.dims) : NULL;
}

/* ---- two operands ---- */

/* Labels in both operands and the output (batch), only in the first or second operand (rows, columns), or not in the output. */
typedef struct groups {
    term batch, rows, columns, contracted;
} groups;

static void append(term *to, const term *from) {
    for (int i = 0; i < from->rank; i++) to->labels[to->rank++] = from->labels[i];
}

static groups sort_labels(const einsum *e, const term *a, const term *b) {
    const term *out = &e->terms[MOST_OPERANDS];
    groups g = {0};
    for (int i = 0; i < out->rank; i++) {
        const int label = out->labels[i];
        term *to = find(a, label) < 0 ? &g.columns : find(b, label) < 0 ? &g.rows : &g.batch;
        to->labels[to->rank++] = label;
    }
    for (int i = 0; i < a->rank; i++) {
        if (find(out, a->labels[i]) < 0) g.contracted.labels[g.contracted.rank++] = a->labels[i];
    }
    return g;
}

/* The size of the group's axes merged into one. False: it would be a power of the batch, and the error is recorded. */
static bool merged_size(const einsum *e, const term *group, int64_t *size) {
    wi_shape shape = {.rank = group->rank};
    int power;
    for (int i = 0; i < group->rank; i++) shape.dims[i] = e->sizes[group->labels[i]];
    wi_shape_count(e->graph, &shape, size, &power);
    if (power == 1) *size = -*size;
    if (power <= 1) return true;
    wi_graph_fail(
        e->graph, WEFT_ERROR_SHAPE, "einsum: '%s' would need a dimension of batch^%d", e->equation, power);
    return false;
}

/* An operand as matrices: (batch labels..., first, second). */
static weft_tensor *as_matrices(
    const einsum *e, weft_tensor *x, const term *t, const groups *g, const term *first, const term *second) {
    term wanted = {0};
    wi_shape shape = {0};
    append(&wanted, &g->batch);
    for (int i = 0; i < g->batch.rank; i++) shape.dims[shape.rank++] = e->sizes[g->batch.labels[i]];
    append(&wanted, first);
    append(&wanted, second);
    if (!merged_size(e, first, &shape.dims[shape.rank++]) ||
        !merged_size(e, second, &shape.dims[shape.rank++]))
        return NULL;
    x = arrange(x, t, &wanted);
    return x ? weft_reshape_shape(x, shape.rank, shape.dims) : NULL;
}

static weft_tensor *multiply(const einsum *e, weft_tensor *a, term *ta, weft_tensor *b, term *tb) {
    const term *out = &e->terms[MOST_OPERANDS];
    groups g = sort_labels(e, ta, tb);
    /* The labels that come first in the output must be the rows, because products are stored row-major. */
    if (g.rows.rank && g.columns.rank && find(out, g.columns.labels[0]) < find(out, g.rows.labels[0]))
        return multiply(e, b, tb, a, ta);
    term result = {0};
    append(&result, &g.batch);
    append(&result, &g.rows);
    append(&result, &g.columns);
    weft_tensor *y;
    if (g.contracted.rank == 0) {
        y = weft_mul(arrange(a, ta, &result), arrange(b, tb, &result));
    } else if (g.rows.rank == 0 && g.columns.rank == 0) {
        term all = result;
        append(&all, &g.contracted);
        y = weft_mul(arrange(a, ta, &all), arrange(b, tb, &all));
        y = sum_own(e, y, &all, NULL);
    } else {
        wi_shape shape = {.rank = result.rank};
        for (int i = 0; i < result.rank; i++) shape.dims[i] = e->sizes[result.labels[i]];
        y = weft_matmul(as_matrices(e, a, ta, &g, &g.rows, &g.contracted),
            as_matrices(e, b, tb, &g, &g.contracted, &g.columns));
        y = y ? weft_reshape_shape(y, shape.rank, shape.dims) : NULL;
    }
    return arrange(y, &result, out);
}

/* ---- the public function ---- */

static bool check_operands(einsum *e, weft_tensor *b) {
    if ((e->operand_count == 2) != (b != NULL)) {
        wi_graph_fail(e->graph, WEFT_ERROR_ARGUMENT, "einsum: '%s' has %d operand%s, but %d given",
            e->equation, e->operand_count, e->operand_count == 1 ? "" : "s", b ? 2 : 1);
        return false;
    }
    for (int i = 0; i < e->operand_count; i++) {
        if (wi_dtype_is_float(e->operands[i]->dtype)) continue;
        wi_graph_fail(e->graph, WEFT_ERROR_DTYPE, "einsum: takes %s, but operand %d is %s",
            wi_dtypes_text(WI_TAKES_FLOATS), i, weft_dtype_name(e->operands[i]->dtype));
        return false;
    }
    return true;
}

static weft_tensor *build_einsum(const char *equation, weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    weft_graph *graph = wi_inputs_graph("einsum", inputs, b ? 2 : 1);
    if (!graph) return NULL;
    if (!equation) return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "einsum: equation is NULL");
    einsum e = {.graph = graph, .equation = equation, .operands = {a, b}};
    bool has_output = false;
    if (!read_equation(&e, &has_output) || !check_operands(&e, b)) return NULL;
    for (int i = 0; i < e.operand_count; i++) {
        if (!bind_operand(&e, i)) return NULL;
    }
    if (!(has_output ? bind_output(&e) : imply_output(&e))) return NULL;
    term *first = &e.terms[0], *second = e.operand_count == 2 ? &e.terms[1] : NULL;
    a = drop_ones(&e, take_diagonals(a, first), first);
    if (second) b = drop_ones(&e, take_diagonals(b, second), second);
    a = sum_own(&e, a, first, second);
    if (!second) return arrange(a, first, &e.terms[MOST_OPERANDS]);
    b = sum_own(&e, b, second, first);
    return multiply(&e, a, first, b, second);
}

weft_tensor *weft_einsum(const char *equation, weft_tensor *a, weft_tensor *b) {
    return WI_CALL(a, "weft_einsum", build_einsum(equation, a, b));
}
