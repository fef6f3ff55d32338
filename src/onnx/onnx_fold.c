/* See onnx_fold.h: the row of an operator, arrays of numbers, and types. */
#include "onnx/onnx_fold.h"
#include <math.h>
#include <string.h>

/* MOST_BYTES: the most bytes of all numbers that the host computes for a file. When they are used up, nodes whose result has more than
 * WI_ONNX_FEW_NUMBERS are left to their builders. */
enum { MOST_BYTES = 1 << 29 };

int wi_onnx_type_number(const wi_onnx_numbers *x) {
    if (x->type > 0) return x->type;
    return x->dtype == WEFT_F32 ? WI_ONNX_FLOAT : x->dtype == WEFT_BOOL ? WI_ONNX_BOOL : WI_ONNX_INT64;
}

bool wi_onnx_is_whole(const wi_onnx_numbers *x) {
    return x->dtype == WEFT_I32;
}

wi_onnx_numbers *wi_onnx_misfit(wi_onnx_import *n, wi_onnx_node *node, const char *what) {
    wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "%s", what);
    return NULL;
}

/* ---- arrays ---- */

static wi_onnx_numbers *shaped(
    wi_onnx_import *n, const wi_onnx_numbers *like, int rank, const int64_t *dims) {
    if (rank > WEFT_MAX_RANK) return NULL;
    wi_onnx_numbers *const made = wi_arena_take(&n->arena, sizeof *made);
    if (!made) return NULL;
    *made = (wi_onnx_numbers){
        .dtype = like->dtype, .type = like->type, .open = like->open, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        made->dims[d] = dims[d];
        if (dims[d] < 0 || dims[d] > WI_ONNX_MOST_NUMBERS) return NULL;
        made->count *= (size_t)dims[d];
        if (made->count > WI_ONNX_MOST_NUMBERS) return NULL;
    }
    return made;
}

wi_onnx_numbers *wi_onnx_new_like(
    wi_onnx_import *n, const wi_onnx_numbers *like, int rank, const int64_t *dims) {
    wi_onnx_numbers *const made = shaped(n, like, rank, dims);
    if (made && made->count > WI_ONNX_FEW_NUMBERS && n->arena.bytes > MOST_BYTES) return NULL;
    if (made) made->data = wi_arena_take(&n->arena, (made->count + 1) * sizeof *made->data);
    return made && made->data ? made : NULL;
}

wi_onnx_numbers *wi_onnx_new(wi_onnx_import *n, int type, int rank, const int64_t *dims) {
    wi_onnx_numbers like = {.type = type};
    return wi_onnx_dtype(&like.dtype, type, "a value") == WEFT_OK ? wi_onnx_new_like(n, &like, rank, dims)
                                                                  : NULL;
}

wi_onnx_numbers *wi_onnx_reshaped(
    wi_onnx_import *n, const wi_onnx_numbers *x, int rank, const int64_t *dims) {
    wi_onnx_numbers *const made = shaped(n, x, rank, dims);
    if (!made || made->count != x->count) return NULL;
    made->data = x->data;
    return made;
}

/* ---- values ---- */

static double wrap(double number, int bits, bool is_signed) {
    const double all = ldexp(1, bits), rest = number - all * floor(number / all);
    return is_signed && rest >= all / 2 ? rest - all : rest;
}

bool wi_onnx_fit_to_type(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_numbers *made) {
    const int type = wi_onnx_type_number(made);
    const wi_onnx_type *const of = wi_onnx_type_of(type);
    for (size_t i = 0; i < made->count; i++) {
        double *const v = &made->data[i];
        if (made->open && wi_onnx_is_open(*v)) continue;
        if (type == WI_ONNX_BOOL) *v = *v != 0;
        if (made->dtype == WEFT_F32) *v = (double)(float)*v;
        if (!of || of->dtype != WEFT_I32) continue;
        if (!(fabs(*v) <= 0x1p53)) {
            wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "the whole number %g is beyond 2^53", *v);
            return false;
        }
        if (of->bits < 64) *v = wrap(*v, of->bits, of->negative);
    }
    return true;
}

bool wi_onnx_closed(
    wi_onnx_node *node, const wi_onnx_numbers *known, const char *attribute, wi_onnx_list *list) {
    *list = known || !attribute ? (wi_onnx_list){0} : wi_onnx_wholes(node, attribute);
    if (known && known->count > sizeof list->of / sizeof *list->of) return false;
    for (size_t i = 0; known && i < known->count; i++) {
        const double number = known->data[i];
        if ((known->open && wi_onnx_is_open(number)) || isnan(number)) return false;
        list->of[list->count++] = number >= 0x1p62    ? INT64_MAX
                                  : number <= -0x1p62 ? INT64_MIN
                                                      : (int64_t)number;
    }
    return true;
}

int wi_onnx_axis_within(wi_onnx_import *n, wi_onnx_node *node, int64_t axis, int rank) {
    const int64_t from_zero = axis < 0 && axis >= -rank ? axis + rank : axis;
    if (from_zero >= 0 && from_zero < rank) return (int)from_zero;
    wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %lld", (long long)axis);
    return -1;
}

int64_t wi_onnx_index_within(wi_onnx_import *n, wi_onnx_node *node, double number, int64_t size) {
    const double from_zero = number < 0 ? number + (double)size : number;
    if (from_zero >= 0 && from_zero < (double)size) return (int64_t)from_zero;
    wi_onnx_fail(
        n, node, WEFT_ERROR_SHAPE, "index %g is outside an axis of size %lld", number, (long long)size);
    return -1;
}

/* ---- positions ---- */

void wi_onnx_position(int rank, const int64_t *dims, size_t i, int64_t *at) {
    for (int d = rank - 1; d >= 0; d--) {
        at[d] = (int64_t)(i % (size_t)dims[d]);
        i /= (size_t)dims[d];
    }
}

size_t wi_onnx_source(const wi_onnx_numbers *x, int rank, const int64_t *at) {
    size_t place = 0;
    for (int d = 0; d < x->rank; d++)
        place = place * (size_t)x->dims[d] + (x->dims[d] == 1 ? 0 : (size_t)at[d + rank - x->rank]);
    return place;
}

bool wi_onnx_broadcast(const wi_onnx_numbers *x, int *rank, int64_t *dims) {
    const int more = x->rank > *rank ? x->rank - *rank : 0;
    memmove(dims + more, dims, (size_t)*rank * sizeof *dims);
    for (int d = 0; d < more; d++) dims[d] = 1;
    *rank += more;
    for (int d = 0; d < x->rank; d++) {
        int64_t *const size = &dims[d + *rank - x->rank];
        if (*size == 1) *size = x->dims[d];
        if (x->dims[d] != 1 && x->dims[d] != *size) return false;
    }
    return true;
}

const wi_onnx_fold_row *wi_onnx_fold_row_in(const wi_onnx_fold_row *list, wi_onnx_node *node) {
    for (const wi_onnx_fold_row *row = list; row->name; row++)
        if (strcmp(row->name, node->op_type) == 0) return row;
    return NULL;
}
