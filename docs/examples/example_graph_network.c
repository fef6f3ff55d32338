/* Layers with names, steps of cells, sizes, kept axes, and what graph networks add up by index. Shapes stand behind the calls. */
#include <stdio.h>
#include <weft/weft.h>

static void layers(weft_graph *graph) {
    weft_tensor *image = weft_input(WEFT_HERE(graph), "image", WEFT_F32, 3, 16, 16); /* (batch, 3, 16, 16) */
    weft_tensor *h = weft_conv2d(image, 8, 3, .stride = 2, .padding = 1, .no_bias = true, .name = "stem");
    h = weft_max_pool2d(h, 3, .stride = 2, .padding = 1);   /* (batch, 8, 4, 4) */
    h = weft_conv_transpose2d(h, 4, 4, 2, 1, .name = "up"); /* (batch, 4, 8, 8) */
    (void)weft_linear(weft_flatten(h), 10, .name = "head"); /* (batch, 10) */
}

/* What these stand for, and what C++ calls. */
static void layers_by_options(weft_graph *graph) {
    weft_tensor *x = weft_input(graph, "rows", WEFT_F32, 6),
                *line = weft_input(graph, "line", WEFT_F32, 2, 9);
    weft_tensor *plane = weft_input(graph, "plane", WEFT_F32, 2, 8, 8);
    weft_tensor *volume = weft_input(graph, "volume", WEFT_F32, 2, 6, 6, 6);
    const weft_conv_layer_options same = {WEFT_CONV_LAYER_OPTIONS_INIT, .same = true};
    const weft_pool_options half = {WEFT_POOL_OPTIONS_INIT, .stride = 2};
    (void)weft_bilinear_layer(x, x, 3, WEFT_WITH(linear, .no_bias = true));
    (void)weft_conv1d_layer(line, 4, 3, &same), (void)weft_conv3d_layer(volume, 4, 3, &same);
    weft_tensor *h = weft_conv2d_layer(plane, 4, 3, &same); /* (batch, 4, 8, 8) */
    h = weft_add(weft_max_pool2d_with(h, 2, &half), weft_avg_pool2d_with(h, 2, &half));
    (void)weft_conv_transpose2d_layer(h, 2, 2, 2, 0, NULL); /* (batch, 2, 8, 8) */
}

static void steps(weft_graph *graph) {
    weft_tensor *x = weft_input(graph, "step", WEFT_F32, 6); /* (batch, 6) */
    weft_recurrent state = weft_lstm_cell_layer(x, 8, NULL, NULL, WEFT_WITH(cell, .name = "first"));
    weft_tensor *g = weft_gru_cell_layer(x, 8, state.h, NULL).h;
    (void)weft_rnn_cell_layer(g, 8, state.h, NULL); /* (batch, 8) */
}

static void numbers_and_axes(weft_graph *graph) {
    weft_tensor *x = weft_input(graph, "numbers", WEFT_F32, 6); /* (batch, 6) */
    weft_tensor *left = weft_add(weft_number_sub(1, x), weft_number_pow(2, x));
    left = weft_add(left, weft_number_div(1, weft_number_remainder(5, weft_add_number(weft_abs(x), 1))));
    (void)weft_div(weft_sum(left), weft_cast(weft_size(x, 0), WEFT_F32)); /* by the batch */
    weft_tensor *kept[] = {weft_sum_keep(x, 1), weft_mean_keep(x, 1), weft_max_keep(x, 1),
        weft_min_keep(x, 1), weft_prod_keep(x, 1), weft_var_keep(x, 1), weft_std_keep(x, 1),
        weft_norm_keep(x, 1), weft_logsumexp_keep(x, 1)}; /* (batch, 1) each */
    (void)weft_concat(kept, 9, 1), (void)weft_sub(weft_argmax_keep(x, 1), weft_argmin_keep(x, 1));
    (void)weft_where(weft_logical_or(weft_any_keep(x, 1), weft_all_keep(x, 1)), x, weft_neg(x));
    (void)weft_count_nonzero_keep(x, 1);
}

static void messages(weft_graph *graph) { /* 5 nodes, 12 edges */
    const int64_t edges[] = {12}, rows[] = {6};
    weft_tensor *from = weft_input_shape(graph, "from", WEFT_I32, 1, edges),
                *to = weft_input_shape(graph, "to", WEFT_I32, 1, edges),
                *starts = weft_input_shape(graph, "starts", WEFT_I32, 1, rows);
    weft_tensor *nodes = weft_parameter(graph, "nodes", weft_zeros(), 5, 4);
    weft_tensor *sums = weft_sparse_matmul(to, from, NULL, 5, nodes); /* (5, 4) */
    weft_tensor *csr = weft_sparse_matmul(weft_sparse_rows(starts, from), from, NULL, 5, nodes);
    weft_tensor *sent = weft_index_select(nodes, 0, from); /* (12, 4) */
    weft_tensor *most = weft_index_reduce(nodes, 0, to, sent, WEFT_SCATTER_MAX, false);
    weft_tensor *each = weft_expand(weft_unsqueeze(to, 1), 2, (const int64_t[]){12, 4});
    weft_tensor *mean = weft_scatter_reduce(nodes, 0, each, sent, WEFT_SCATTER_MEAN, true);
    (void)weft_add(weft_add(sums, csr), weft_add(most, mean));
}

int main(void) {
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) {
        weft_graph *graph = weft_context_graph(context);
        layers(graph), layers_by_options(graph), steps(graph), numbers_and_axes(graph), messages(graph);
        status =
            weft_graph_status(weft_graph_here(graph, NULL, 0)); /* the first error of any of these lines */
    }
    if (status) fprintf(stderr, "graph network: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
