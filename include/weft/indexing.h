/* weft/indexing.h: elements and rows picked, replaced and reduced by index, sparse matrices, embeddings. ops.h includes it.
 *
 * Errors are those of the graph (graph.h): WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE (shapes that do not match, an axis that does
 * not exist), WEFT_ERROR_ARGUMENT (a number outside of the range that is given here). */
#ifndef WEFT_INDEXING_H
#define WEFT_INDEXING_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- indexing: indices are i32 in [0, size of the axis) ----
 * An index out of range reads as 0 and adds nothing; the next weft_plan_read or weft_plan_wait of the plan
 * returns WEFT_ERROR_ARGUMENT with the position of the first one. No gradient flows to indices. */
/* y[i][j][k] = x[i][index[i][j][k]][k] for axis 1. index has the rank of x, and at most the size of x along
 * the other axes; y has the shape of index and the dtype of x, which may be any. */
WEFT_API weft_tensor *weft_gather(weft_tensor *x, int axis, weft_tensor *index);
/* y[i][j][k] = x[i][index[j]][k] for axis 1: the axes of index replace the axis (with rank 1 the rank stays
 * the same; any other rank is allowed: an embedding is axis 0 of its weights). Any dtype. */
WEFT_API weft_tensor *weft_index_select(weft_tensor *x, int axis, weft_tensor *index);
/* y = x, then y[i][index[j]][k] = source[i][j][k] for axis 1. index: i32 (n); where it names a row twice the last one
 * counts. source: of the dtype and shape of x, but with n elements along the axis. Any dtype. NULL after an error:
 * WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE; an index out of range is an error of the next read or wait. weft_assign(x, weft_index_copy(x, ...)) of a parameter or state is done in place, unless another
 * output of the plan still reads the old x: its cost is that of the rows. */
WEFT_API weft_tensor *weft_index_copy(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* y = x, then y[i][index[i][j][k]][k] += source[i][j][k] for axis 1; index has the shape of source. Summed in
 * the order of j, so that every run gives the same result. A float or i32. */
WEFT_API weft_tensor *weft_scatter_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* y = x, then y[i][index[j]][k] += source[i][j][k] for axis 1; index has rank 1. A float or i32. */
WEFT_API weft_tensor *weft_index_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* The same two with zeros for x: the axis of the result has `size` elements (WEFT_BATCH * k is allowed). */
WEFT_API weft_tensor *weft_scatter_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
WEFT_API weft_tensor *weft_index_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
typedef enum weft_scatter_kind {
    WEFT_SCATTER_SUM,
    WEFT_SCATTER_MEAN, /* floats only */
    WEFT_SCATTER_MAX,  /* PyTorch's amax; NaN if an element is NaN */
    WEFT_SCATTER_MIN   /* PyTorch's amin */
} weft_scatter_kind;
/* y[i][r][k] = the sum, mean, largest or smallest of x[i][r][k] and all source[i][j][k] with index[i][j][k] = r, for axis 1;
 * index has the shape of source, as in weft_scatter_add. include_self false: without x, which stands where no index
 * does. The gradient of a largest or smallest number is shared evenly among the equal ones, x's included. As
 * torch.scatter_reduce. NULL after an error: WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE, WEFT_ERROR_ARGUMENT (no such kind). */
WEFT_API weft_tensor *weft_scatter_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self);
/* The same with an index (n) of rank 1, as in weft_index_add, and torch.index_reduce. */
WEFT_API weft_tensor *weft_index_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self);

/* ---- sparse matrices: E entries as lists, in any order; equal places add up ---- */
/* y[r] = sum of values[e]·dense[columns[e]] over all e with rows[e] = r: the product of a sparse matrix (size, C) in
 * coordinates with dense (C, ...) → (size, ...), as torch.sparse.mm. rows and columns: i32 (E), inputs or constants; values:
 * (E) of the dtype of dense, or NULL for ones. size may be WEFT_BATCH * k. Gradients reach values and dense, without a
 * dense matrix. An index out of range is an error of the next read or wait. NULL after an error: WEFT_ERROR_SHAPE,
 * WEFT_ERROR_DTYPE. */
WEFT_API weft_tensor *weft_sparse_matmul(
    weft_tensor *rows, weft_tensor *columns, weft_tensor *values, int64_t size, weft_tensor *dense);
/* The row of each entry of a matrix in compressed rows (CSR): starts i32 (rows + 1), where each row begins in columns (E), and E
 * → i32 (E), for weft_sparse_matmul. */
WEFT_API weft_tensor *weft_sparse_rows(weft_tensor *starts, weft_tensor *columns);

/* Rows of a table (vocabulary, width), f32, selected by tokens i32 (...) → (..., width). A token outside of
 * the vocabulary gives a row of zeros and no gradient, and is an error of the next read or wait.
 * weft_embedding in nn.h creates the table, too. */
WEFT_API weft_tensor *weft_embedding_with(weft_tensor *table, weft_tensor *tokens);
/* The same, but the row `padding` gets no gradient; a negative number counts from the end. */
WEFT_API weft_tensor *weft_embedding_padded_with(weft_tensor *table, weft_tensor *tokens, int64_t padding);

typedef enum weft_bag_mode { WEFT_BAG_MEAN, WEFT_BAG_SUM, WEFT_BAG_MAX } weft_bag_mode;
typedef struct weft_bag_options {
    size_t struct_size;
    weft_bag_mode mode; /* default WEFT_BAG_MEAN */
    /* i32 (bags): where in tokens (n) each bag begins: 0, then as much or more. Default NULL: a bag is the last axis. */
    weft_tensor *offsets;
    /* Factors of the rows, of the table's dtype and the tokens' shape, for WEFT_BAG_SUM. Default NULL: none. */
    weft_tensor *weights;
    bool padded;     /* default false */
    int64_t padding; /* with `padded`: this token is in no bag; a negative number counts from the end */
} weft_bag_options;
#define WEFT_BAG_OPTIONS_INIT .struct_size = sizeof(weft_bag_options)
/* table (vocabulary, width), tokens i32 (..., n) → (..., width): of the rows of each n tokens the mean, the sum or the
 * largest elements, as torch.nn.functional.embedding_bag gives them. With offsets, tokens (n) → (bags, width). A bag without
 * tokens gives zeros. Errors: WEFT_ERROR_SHAPE (tokens of one axis without offsets, weights of another shape than tokens),
 * WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (weights in another mode, padding outside of the table); a token outside of the
 * table or before the first offset is an error of the next read or wait. */
WEFT_API weft_tensor *weft_embedding_bag_with(
    weft_tensor *table, weft_tensor *tokens, const weft_bag_options *options);

#ifdef __cplusplus
}
#endif
#endif
