/* weft/indexing.h: ops that gather, replace and add up elements and rows by index; sparse matrices; embeddings. ops.h
 * includes this header, and its rules for axes, dtypes and errors hold here, too. */
#ifndef WEFT_INDEXING_H
#define WEFT_INDEXING_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- indexing: indices are i32 in [0, size of the axis) ----
 * An element at an index out of range is read as 0, and is not written or added. The next weft_plan_read or
 * weft_plan_wait of the plan then returns WEFT_ERROR_ARGUMENT, with the position of the first such index. Indices have
 * no gradient. */
/* For axis 1: y[i][j][k] = x[i][index[i][j][k]][k]. index has the rank of x; its other axes are at most as long as
 * those of x. y has the shape of index. Any dtype. */
WEFT_API weft_tensor *weft_gather(weft_tensor *x, int axis, weft_tensor *index);
/* For axis 1: y[i][j][k] = x[i][index[j]][k]. index has any rank; its axes take the place of the axis of x, as in an
 * embedding, which is axis 0 of the table. Any dtype. */
WEFT_API weft_tensor *weft_index_select(weft_tensor *x, int axis, weft_tensor *index);
/* For axis 1: y = x, then y[i][index[j]][k] = source[i][j][k]. index (n); if an index appears twice, the last one
 * counts. source has the dtype and shape of x, but n elements along the axis. Any dtype. weft_assign(x,
 * weft_index_copy(x, ...)) of a parameter or state writes only the rows, in place, unless the result is an output of
 * the plan, too, or another output still reads the old x. */
WEFT_API weft_tensor *weft_index_copy(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* For axis 1: y = x, then y[i][index[i][j][k]][k] += source[i][j][k]; index has the shape of source. The sum has the
 * order of j, so that every run gives the same bits. Floats or i32. */
WEFT_API weft_tensor *weft_scatter_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* For axis 1: y = x, then y[i][index[j]][k] += source[i][j][k]; index has rank 1. Floats or i32. */
WEFT_API weft_tensor *weft_index_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* weft_scatter_add and weft_index_add to zeros, with `size` elements along the axis (WEFT_BATCH * k is allowed). */
WEFT_API weft_tensor *weft_scatter_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
WEFT_API weft_tensor *weft_index_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
typedef enum weft_scatter_kind {
    WEFT_SCATTER_SUM,
    WEFT_SCATTER_MEAN, /* floats only */
    WEFT_SCATTER_MAX,  /* PyTorch's amax; NaN if an element is NaN */
    WEFT_SCATTER_MIN   /* PyTorch's amin */
} weft_scatter_kind;
/* For axis 1: y[i][r][k] is the sum, mean, maximum or minimum of x[i][r][k] and of all source[i][j][k] with
 * index[i][j][k] = r; index has the shape of source. With include_self false, x is only used where no index is r.
 * Elements that tie, also those of x, share the gradient of a maximum or minimum evenly. As torch.scatter_reduce.
 * Floats or i32. WEFT_ERROR_ARGUMENT: kind is not a weft_scatter_kind. */
WEFT_API weft_tensor *weft_scatter_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self);
/* weft_scatter_reduce with an index of rank 1, as in weft_index_add. As torch.index_reduce. */
WEFT_API weft_tensor *weft_index_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self);

/* ---- sparse matrices: lists of E entries in any order; entries of the same row and column are added ---- */
/* y[r] = sum of values[e]·dense[columns[e]] over all e with rows[e] = r: the product of a sparse matrix (size, C), as
 * lists of coordinates (COO), with dense (C, ...) → (size, ...), as torch.sparse.mm. rows and columns: i32 (E), inputs
 * or constants; values: (E) of the dtype of dense, or NULL for ones. size may be WEFT_BATCH * k. values and dense have
 * gradients, which are computed without a dense (size, C) matrix. An index out of range is an error of the next read or
 * wait. */
WEFT_API weft_tensor *weft_sparse_matmul(
    weft_tensor *rows, weft_tensor *columns, weft_tensor *values, int64_t size, weft_tensor *dense);
/* The rows for weft_sparse_matmul from a matrix in compressed rows (CSR) → i32 (E). starts: i32 (rows + 1), the
 * positions in columns (E) at which the rows begin, followed by E. */
WEFT_API weft_tensor *weft_sparse_rows(weft_tensor *starts, weft_tensor *columns);

/* Gathers rows of a table (vocabulary, width), floats, by tokens i32 (...) → (..., width). A token outside of the
 * vocabulary gives a row of zeros and no gradient, and is an error of the next read or wait. weft_embedding in nn.h
 * also creates the table. */
WEFT_API weft_tensor *weft_embedding_with(weft_tensor *table, weft_tensor *tokens);
/* weft_embedding_with, but the row `padding` gets no gradient; a negative number counts from the end of the table. */
WEFT_API weft_tensor *weft_embedding_padded_with(weft_tensor *table, weft_tensor *tokens, int64_t padding);

typedef enum weft_bag_mode { WEFT_BAG_MEAN, WEFT_BAG_SUM, WEFT_BAG_MAX } weft_bag_mode;
typedef struct weft_bag_options {
    size_t struct_size;
    weft_bag_mode mode; /* default WEFT_BAG_MEAN */
    /* i32 (bags): the position in tokens (n) at which each bag begins; the first is 0, and none is less than the one
     * before. Default NULL: a bag is the last axis of tokens. */
    weft_tensor *offsets;
    /* With WEFT_BAG_SUM: a factor for each row, of the table's dtype and the tokens' shape. Default NULL: 1. */
    weft_tensor *weights;
    bool padded;     /* default false; true: the token `padding` is left out of all bags */
    int64_t padding; /* a negative number counts from the end of the table */
} weft_bag_options;
#define WEFT_BAG_OPTIONS_INIT .struct_size = sizeof(weft_bag_options)
/* table (vocabulary, width), tokens i32 (..., n) → (..., width): the mean, the sum, or element by element the maximum
 * of the rows of each bag of n tokens, as torch.nn.functional.embedding_bag. With offsets, tokens (n) → (bags, width).
 * A bag without tokens gives zeros. options NULL means all defaults. Errors: WEFT_ERROR_SHAPE (tokens of one axis
 * without offsets, weights of another shape than tokens), WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (weights in another
 * mode, padding outside of the table). A token outside of the table or before the first offset is an error of the next
 * read or wait. */
WEFT_API weft_tensor *weft_embedding_bag_with(
    weft_tensor *table, weft_tensor *tokens, const weft_bag_options *options);

#ifdef __cplusplus
}
#endif
#endif
