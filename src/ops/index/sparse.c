/* Products of a sparse matrix, given by lists of rows, columns and values, and a dense one: the rows of the dense matrix are gathered,
 * multiplied, and added by index. The gradients are computed in the same way. */
#include "ops/index/index.h"
#include "ops/op_table.h"

static bool is_line(const weft_tensor *x, const weft_tensor *like) {
    return x->shape.rank == 1 && x->shape.dims[0] == like->shape.dims[0];
}

static weft_tensor *build_sparse_matmul(
    weft_tensor *rows, weft_tensor *columns, weft_tensor *values, int64_t size, weft_tensor *dense) {
    weft_tensor *const inputs[] = {rows, columns, dense, values ? values : dense};
    weft_graph *const graph = wi_inputs_graph("sparse_matmul", inputs, 4);
    char text[4][WI_SHAPE_TEXT];
    if (!graph) return NULL;
    if (rows->dtype != WEFT_I32 || columns->dtype != WEFT_I32 || !wi_dtype_is_float(dense->dtype) ||
        (values && values->dtype != dense->dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "sparse_matmul: rows %s, columns %s, values %s and dense %s: expected i32 rows and columns, and "
            "values and dense of one dtype, a float; weft_cast converts",
            weft_dtype_name(rows->dtype), weft_dtype_name(columns->dtype),
            weft_dtype_name(values ? values->dtype : dense->dtype), weft_dtype_name(dense->dtype));
    if (dense->shape.rank < 1 || rows->shape.rank != 1 || !is_line(columns, rows) ||
        (values && !is_line(values, rows)))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "sparse_matmul: rows %s, columns %s, values %s and dense %s: expected rows, columns and values "
            "(E), "
            "and dense (C, ...)",
            wi_shape_print(rows->graph, &rows->shape, text[0]),
            wi_shape_print(columns->graph, &columns->shape, text[1]),
            wi_shape_print(graph, values ? &values->shape : &rows->shape, text[2]),
            wi_shape_print(dense->graph, &dense->shape, text[3]));
    weft_tensor *terms = wi_wide(weft_index_select(dense, 0, columns));
    if (values && terms) terms = weft_mul(terms, wi_beside_rows(wi_wide(values), terms->shape.rank));
    weft_tensor *const sum = weft_index_sum(terms, 0, rows, size);
    return sum ? weft_cast(sum, dense->dtype) : NULL;
}

weft_tensor *weft_sparse_matmul(
    weft_tensor *rows, weft_tensor *columns, weft_tensor *values, int64_t size, weft_tensor *dense) {
    return WI_CALL(rows, "weft_sparse_matmul", build_sparse_matmul(rows, columns, values, size, dense));
}

static weft_tensor *build_sparse_rows(weft_tensor *starts, weft_tensor *columns) {
    weft_tensor *const inputs[] = {starts, columns};
    weft_graph *const graph = wi_inputs_graph("sparse_rows", inputs, 2);
    char text[WI_SHAPE_TEXT], text_columns[WI_SHAPE_TEXT];
    if (!graph) return NULL;
    if (starts->dtype != WEFT_I32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "sparse_rows: starts are i32, not %s; weft_cast converts", weft_dtype_name(starts->dtype));
    if (starts->shape.rank != 1 || columns->shape.rank != 1 || starts->shape.dims[0] < 2)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "sparse_rows: starts %s and columns %s, expected (rows + 1) and (E)",
            wi_shape_print(starts->graph, &starts->shape, text),
            wi_shape_print(columns->graph, &columns->shape, text_columns));
    return wi_bags_of_places(columns, weft_slice(starts, 0, 0, starts->shape.dims[0] - 1));
}

weft_tensor *weft_sparse_rows(weft_tensor *starts, weft_tensor *columns) {
    return WI_CALL(starts, "weft_sparse_rows", build_sparse_rows(starts, columns));
}
