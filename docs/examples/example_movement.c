/* Movement, indexing, products and random numbers, each once. */
#include <stdio.h>
#include <weft/weft.h>

static void views(weft_tensor *x) {                                                    /* (batch, 3, 4) */
    weft_tensor *flat = weft_flatten(x), *back = weft_reshape(flat, WEFT_BATCH, 3, 4); /* (batch, 12) */
    weft_tensor *named = weft_reshape_shape(back, 3, (const int64_t[]){WEFT_BATCH, 4, 3});
    weft_tensor *turned = weft_add(weft_transpose(back), weft_permute(back, 0, 2, 1)); /* (batch, 4, 3) */
    turned = weft_add(turned, weft_permute_axes(back, 3, (const int[]){0, 2, 1}));
    turned = weft_add(turned, weft_add(weft_swap_axes(back, 1, 2), weft_move_axis(back, 1, 2)));
    weft_tensor *line = weft_flatten_axes(weft_unsqueeze(turned, 0), 2, 3); /* (1, batch, 12) */
    line = weft_add(weft_squeeze(line, 0), weft_squeeze_axes(line, (const int64_t[]){0, WEFT_END}));
    (void)weft_expand(weft_sum(line), 3, (const int64_t[]){2, 3, 4}), (void)weft_add(named, turned);
    (void)weft_slice(x, 2, 1, WEFT_END),
        (void)weft_slice_step(x, 2, 0, 4, 2); /* (batch, 3, 3), (batch, 3, 2) */
    (void)weft_add(weft_flip(x, 1, 2), weft_flip_axes(x, (const int64_t[]){1, WEFT_END}));
    (void)weft_unfold(x, 2, 2, 1);   /* windows of two elements: one more axis */
    (void)weft_diagonal(x, 1, 1, 2); /* (batch, 3) */
}

static weft_status parts(weft_tensor *x) { /* (batch, 3, 4) */
    weft_tensor *equal[2], *sizes[2];
    const int64_t wanted[] = {1, 3}, before[] = {0, 1, 2}, after[] = {0, 0, 1}, repeats[] = {1, 2};
    weft_status status = weft_split(x, 2, 2, equal);
    if (!status) status = weft_split_sizes(x, 2, wanted, 2, sizes);
    if (status) return status;
    (void)weft_stack(equal, 2, 1), (void)weft_concat(sizes, 2, 2); /* (batch, 2, 3, 2), (batch, 3, 4) */
    (void)weft_pad(x, before, after, WEFT_PAD_REFLECT, 0);         /* (batch, 4, 7) */
    (void)weft_roll(x, 2, -1), (void)weft_tile(x, 2, repeats);     /* (batch, 3, 4), (batch, 3, 8) */
    (void)weft_add(weft_tril(x, 0), weft_triu(x, 1));
    return WEFT_OK;
}

static void images(weft_tensor *image) { /* (batch, 4, 6, 6) */
    (void)weft_channels_first(weft_channels_last(image));
}

static void made(weft_graph *graph, weft_tensor *labels) { /* i32 (batch) */
    const int64_t dims[] = {3, 4};
    (void)weft_mul(weft_full(graph, WEFT_F32, 0.5, 2, dims), weft_eye(graph, WEFT_F32, 3, 4));
    (void)weft_mul(
        weft_one_hot(labels, 10, WEFT_F32), weft_arange(graph, WEFT_F32, 0, 10, 1)); /* (batch, 10) */
    (void)weft_mul(weft_uniform(graph, 0, 1, 2, dims), weft_dropout(weft_normal(graph, 0, 1, 2, dims), 0.5f));
    (void)weft_categorical(weft_normal(graph, 0, 1, 2, dims), 0.8, 3, 0.95); /* i32 (3) */
    (void)weft_categorical_with(weft_normal(graph, 0, 1, 2, dims), WEFT_WITH(categorical, .min_p = 0.1f));
}

static void indexing(
    weft_graph *graph, weft_tensor *x, weft_tensor *tokens) { /* (batch, 3, 4); i32 (batch) */
    weft_tensor *order = weft_array(graph, WEFT_I32, (const int32_t[]){2, 0}, 1, (const int64_t[]){2});
    weft_tensor *two = weft_index_select(x, 1, order); /* (batch, 2, 4) */
    (void)weft_add(weft_index_add(x, 1, order, two), weft_index_copy(x, 1, order, two));
    (void)weft_index_sum(two, 1, order, 5); /* (batch, 5, 4) */
    weft_tensor *places = weft_argsort(x, 2, true);
    (void)weft_add(weft_scatter_add(x, 2, places, x), weft_scatter_sum(x, 2, places, 4));
    weft_tensor *table = weft_parameter(graph, "table", weft_init_normal(0, 1), 100, 8);
    (void)weft_add(
        weft_embedding_with(table, tokens), weft_embedding_padded_with(table, tokens, 0)); /* (batch, 8) */
    weft_tensor *begins = weft_array(graph, WEFT_I32, (const int32_t[]){0, 2}, 1, (const int64_t[]){2});
    (void)weft_embedding_bag_with(table, tokens, /* (2, 8): of the first two tokens, and of the others */
        &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = WEFT_BAG_SUM, .offsets = begins});
}

static void products(weft_graph *graph, weft_tensor *x) { /* (batch, 3, 4) */
    weft_tensor *weight = weft_parameter(graph, "weight", weft_glorot_uniform(), 5, 4),
                *bias = weft_parameter(graph, "bias", weft_zeros(), 5),
                *pairs = weft_parameter(graph, "pairs", weft_glorot_normal(), 5, 4, 4),
                *a = weft_parameter(graph, "a", weft_he_normal(), 3, 4),
                *b = weft_parameter(graph, "b", weft_fill(1), 4);
    (void)weft_matmul(x, weft_transpose(x));                               /* (batch, 3, 3) */
    (void)weft_linear_with(x, weight, bias);                               /* (batch, 3, 5) */
    (void)weft_bilinear_with(x, x, pairs, bias);                           /* (batch, 3, 5) */
    (void)weft_outer(b, weft_mv(a, b));                                    /* (4, 3) */
    (void)weft_mul(weft_dot(b, b), weft_einsum("bij,kj->bik", x, weight)); /* (batch, 3, 5) */
}

int main(void) {
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) {
        weft_graph *graph = weft_context_graph(context);
        weft_tensor *x = weft_input(graph, "x", WEFT_F32, 3, 4),
                    *tokens = weft_input(graph, "tokens", WEFT_I32);
        views(x), images(weft_input(graph, "image", WEFT_F32, 4, 6, 6)), made(graph, tokens);
        indexing(graph, x, tokens), products(graph, x);
        status = parts(x);
        if (!status) status = weft_graph_status(graph);
    }
    if (status) fprintf(stderr, "movement: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
