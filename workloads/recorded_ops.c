/* Cases recorded from PyTorch become expressions (contract in recorded_expression.h). */
#include "recorded_expression.h"
#include "recorded_json.h"
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <weft/normalization.h>

static int number(const cJSON *object, const char *name) {
    return (int)cJSON_GetNumberValue(member(object, name));
}

static float real(const cJSON *object, const char *name) {
    const cJSON *const item = member(object, name);
    return item ? (float)item->valuedouble : 0;
}

static weft_tensor *build_elementwise(const char *op, weft_tensor *const *x) {
#define WI_MAP1(name, ...)                                                                                   \
    if (strcmp(op, #name) == 0) return weft_##name(x[0]);
#define WI_MAP2(name, ...)                                                                                   \
    if (strcmp(op, #name) == 0) return weft_##name(x[0], x[1]);
#define WI_MAP3(name, ...)                                                                                   \
    if (strcmp(op, #name) == 0) return weft_##name(x[0], x[1], x[2]);
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"
    return NULL;
}

static weft_tensor *build_with_numbers(const char *op, const cJSON *c, weft_tensor *const *x) {
    const double first = cJSON_GetNumberValue(cJSON_GetArrayItem(member(c, "numbers"), 0));
    const double second = cJSON_GetNumberValue(cJSON_GetArrayItem(member(c, "numbers"), 1));
    if (strcmp(op, "prelu") == 0) return weft_prelu(x[0], x[1]);
    if (strcmp(op, "clamp") == 0) return weft_clamp(x[0], first, second);
    if (strcmp(op, "hardtanh") == 0) return weft_hardtanh(x[0], first, second);
    if (strcmp(op, "leaky_relu") == 0) return weft_leaky_relu(x[0], first);
    if (strcmp(op, "glu") == 0) return weft_glu(x[0], number(c, "axis"));
    if (strcmp(op, "elu") == 0) return weft_elu(x[0], first);
    if (strcmp(op, "add_number") == 0) return weft_add_number(x[0], first);
    if (strcmp(op, "sub_number") == 0) return weft_sub_number(x[0], first);
    if (strcmp(op, "mul_number") == 0) return weft_mul_number(x[0], first);
    if (strcmp(op, "div_number") == 0) return weft_div_number(x[0], first);
    if (strcmp(op, "pow_number") == 0) return weft_pow_number(x[0], first);
    if (strcmp(op, "number_sub") == 0) return weft_number_sub(first, x[0]);
    if (strcmp(op, "number_div") == 0) return weft_number_div(first, x[0]);
    if (strcmp(op, "number_pow") == 0) return weft_number_pow(first, x[0]);
    if (strcmp(op, "number_remainder") == 0) return weft_number_remainder(first, x[0]);
    if (strcmp(op, "remainder_number") == 0) return weft_remainder_number(x[0], first);
    if (strcmp(op, "floor_divide_number") == 0) return weft_floor_divide_number(x[0], first);
    if (strcmp(op, "maximum_number") == 0) return weft_maximum_number(x[0], first);
    if (strcmp(op, "minimum_number") == 0) return weft_minimum_number(x[0], first);
    if (strcmp(op, "equal_number") == 0) return weft_equal_number(x[0], first);
    if (strcmp(op, "not_equal_number") == 0) return weft_not_equal_number(x[0], first);
    if (strcmp(op, "less_number") == 0) return weft_less_number(x[0], first);
    if (strcmp(op, "less_equal_number") == 0) return weft_less_equal_number(x[0], first);
    if (strcmp(op, "greater_number") == 0) return weft_greater_number(x[0], first);
    if (strcmp(op, "greater_equal_number") == 0) return weft_greater_equal_number(x[0], first);
    return NULL;
}

static weft_tensor *build_movement(const char *op, const cJSON *c, weft_tensor *const *x, size_t count) {
    int64_t list[WEFT_MAX_RANK + 1];
    const int length = whole_list(member(c, "list"), list), axis = number(c, "axis");
    int order[WEFT_MAX_RANK];
    for (int i = 0; i < length; i++) order[i] = (int)list[i];
    if (strcmp(op, "reshape") == 0) return weft_reshape_shape(x[0], length, list);
    if (strcmp(op, "permute") == 0) return weft_permute_axes(x[0], length, order);
    if (strcmp(op, "transpose") == 0) return weft_transpose(x[0]);
    if (strcmp(op, "flatten") == 0) return weft_flatten(x[0]);
    if (strcmp(op, "expand") == 0) return weft_expand(x[0], length, list);
    if (strcmp(op, "flatten_axes") == 0) return weft_flatten_axes(x[0], order[0], order[1]);
    if (strcmp(op, "squeeze") == 0) return weft_squeeze_axes(x[0], list);
    if (strcmp(op, "unsqueeze") == 0) return weft_unsqueeze(x[0], axis);
    if (strcmp(op, "swap_axes") == 0) return weft_swap_axes(x[0], order[0], order[1]);
    if (strcmp(op, "move_axis") == 0) return weft_move_axis(x[0], order[0], order[1]);
    if (strcmp(op, "channels_last") == 0) return weft_channels_last(x[0]);
    if (strcmp(op, "channels_first") == 0) return weft_channels_first(x[0]);
    if (strcmp(op, "stack") == 0) return weft_stack(x, count, axis);
    if (strcmp(op, "flip") == 0) return weft_flip_axes(x[0], list);
    if (strcmp(op, "tile") == 0) return weft_tile(x[0], length, list);
    if (strcmp(op, "diagonal") == 0) return weft_diagonal(x[0], number(c, "start"), order[0], order[1]);
    if (strcmp(op, "slice") == 0) return weft_slice(x[0], axis, number(c, "start"), number(c, "end"));
    if (strcmp(op, "unfold") == 0) return weft_unfold(x[0], axis, list[0], list[1]);
    if (strcmp(op, "concat") == 0) return weft_concat(x, count, axis);
    if (strcmp(op, "cast") == 0) return weft_cast(weft_cast(x[0], WEFT_F16), WEFT_F32);
    return NULL;
}

/* Inputs: the table, tokens, and offsets or weights. */
static weft_tensor *build_bag(const cJSON *c, weft_tensor *const *x) {
    const bool offsets = member(c, "offsets") != NULL;
    return weft_embedding_bag_with(x[0], x[1],
        &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = (weft_bag_mode)number(c, "mode"),
            .offsets = offsets ? x[2] : NULL, .weights = x[offsets ? 3 : 2],
            .padded = member(c, "padding") != NULL, .padding = number(c, "padding")});
}

static weft_tensor *build_index(const char *op, const cJSON *c, weft_tensor *const *x) {
    const int axis = number(c, "axis"), size = number(c, "start");
    const weft_scatter_kind kind = (weft_scatter_kind)number(c, "mode");
    const bool keep = cJSON_IsTrue(member(c, "keep"));
    if (strcmp(op, "scatter_reduce") == 0) return weft_scatter_reduce(x[0], axis, x[1], x[2], kind, keep);
    if (strcmp(op, "index_reduce") == 0) return weft_index_reduce(x[0], axis, x[1], x[2], kind, keep);
    if (strcmp(op, "sparse_matmul") == 0) return weft_sparse_matmul(x[0], x[1], x[2], size, x[3]);
    if (strcmp(op, "sparse_rows") == 0) return weft_sparse_rows(x[0], x[1]);
    if (strcmp(op, "gather") == 0) return weft_gather(x[0], axis, x[1]);
    if (strcmp(op, "index_select") == 0) return weft_index_select(x[0], axis, x[1]);
    if (strcmp(op, "scatter_add") == 0) return weft_scatter_add(x[0], axis, x[1], x[2]);
    if (strcmp(op, "scatter_sum") == 0) return weft_scatter_sum(x[0], axis, x[1], size);
    if (strcmp(op, "index_add") == 0) return weft_index_add(x[0], axis, x[1], x[2]);
    if (strcmp(op, "index_copy") == 0) return weft_index_copy(x[0], axis, x[1], x[2]);
    if (strcmp(op, "index_sum") == 0) return weft_index_sum(x[0], axis, x[1], size);
    if (strcmp(op, "embedding_bag_with") == 0) return build_bag(c, x);
    if (strcmp(op, "embedding") == 0)
        return member(c, "padding") ? weft_embedding_padded_with(x[0], x[1], number(c, "padding"))
                                    : weft_embedding_with(x[0], x[1]);
    return NULL;
}

static weft_tensor *build_reduction(const char *op, const cJSON *c, weft_tensor *const *x) {
    int64_t axes[WEFT_MAX_RANK + 1];
    (void)whole_list(member(c, "axes"), axes);
    const bool keep = cJSON_IsTrue(member(c, "keep"));
    const int correction = number(c, "correction"), order = number(c, "order");
    if (strcmp(op, "min") == 0) return weft_min_axes(x[0], axes, keep);
    if (strcmp(op, "argmin") == 0) return weft_argmin_axes(x[0], axes, keep);
    if (strcmp(op, "prod") == 0) return weft_prod_axes(x[0], axes, keep);
    if (strcmp(op, "var") == 0) return weft_var_with(x[0], correction, axes, keep);
    if (strcmp(op, "std") == 0) return weft_std_with(x[0], correction, axes, keep);
    if (strcmp(op, "norm") == 0) return weft_norm_with(x[0], order ? order : (double)INFINITY, axes, keep);
    if (strcmp(op, "normalize") == 0)
        return weft_normalize(x[0], order ? order : (double)INFINITY, number(c, "axis"),
            cJSON_GetNumberValue(member(c, "value")));
    if (strcmp(op, "logsumexp") == 0) return weft_logsumexp_axes(x[0], axes, keep);
    if (strcmp(op, "any") == 0) return weft_any_axes(x[0], axes, keep);
    if (strcmp(op, "all") == 0) return weft_all_axes(x[0], axes, keep);
    if (strcmp(op, "count_nonzero") == 0) return weft_count_nonzero_axes(x[0], axes, keep);
    return NULL;
}

/* The second of the parts. */
static weft_tensor *build_split(
    const char *op, const cJSON *c, weft_tensor *x, const int64_t *list, int length) {
    weft_tensor *parts[WEFT_MAX_RANK];
    const int axis = number(c, "axis");
    const weft_status status = strcmp(op, "split") == 0
                                   ? weft_split(x, axis, (size_t)list[0], parts)
                                   : weft_split_sizes(x, axis, list, (size_t)length, parts);
    return status == WEFT_OK ? parts[1] : NULL;
}

static weft_tensor *build_longer(const char *op, const cJSON *c, weft_tensor *const *x) {
    int64_t list[WEFT_MAX_RANK + 1];
    const int length = whole_list(member(c, "list"), list), start = number(c, "start"),
              axis = number(c, "axis");
    if (strncmp(op, "split", 5) == 0) return build_split(op, c, x[0], list, length);
    if (strcmp(op, "slice_step") == 0) return weft_slice_step(x[0], axis, start, number(c, "end"), list[0]);
    if (strcmp(op, "roll") == 0)
        return weft_roll(weft_roll(x[0], (int)list[0], list[1]), (int)list[2], list[3]);
    if (strcmp(op, "pad") == 0)
        return weft_pad(x[0], list, list + length / 2, (weft_pad_mode)number(c, "mode"),
            cJSON_GetNumberValue(member(c, "value")));
    return NULL;
}

static weft_tensor *build_mask(const recorded_case *r, weft_graph *graph, weft_tensor *const *x) {
    const cJSON *const c = r->json;
    const char *const op = r->op;
    const weft_dtype dtype = r->format.dtype;
    int64_t list[WEFT_MAX_RANK + 1];
    const int length = whole_list(member(c, "list"), list), start = number(c, "start");
    if (strcmp(op, "tril") == 0) return weft_tril(x[0], start);
    if (strcmp(op, "triu") == 0) return weft_triu(x[0], start);
    if (strcmp(op, "masked_fill") == 0) return weft_masked_fill(x[0], x[1], start);
    if (strcmp(op, "one_hot") == 0) return weft_one_hot(x[0], start, WEFT_I32);
    if (strcmp(op, "arange") == 0) return weft_arange(graph, dtype, start, number(c, "end"), (double)list[0]);
    if (strcmp(op, "full") == 0) return weft_full(graph, dtype, start, length, list);
    if (strcmp(op, "eye") == 0) return weft_eye(graph, dtype, list[0], list[1]);
    return NULL;
}

static weft_tensor *build_product(const char *op, const cJSON *c, weft_tensor *const *x) {
    if (strcmp(op, "outer") == 0) return weft_outer(x[0], x[1]);
    if (strcmp(op, "dot") == 0) return weft_dot(x[0], x[1]);
    if (strcmp(op, "mv") == 0) return weft_mv(x[0], x[1]);
    if (strcmp(op, "bilinear_with") == 0) return weft_bilinear_with(x[0], x[1], x[2], x[3]);
    if (strcmp(op, "einsum") == 0)
        return weft_einsum(cJSON_GetStringValue(member(c, "equation")), x[0], x[1]);
    return NULL;
}

static weft_tensor *build_along(const char *op, const cJSON *c, weft_tensor *const *x) {
    const int axis = number(c, "axis"), k = number(c, "start");
    const bool flag = cJSON_IsTrue(member(c, "keep"));
    if (strcmp(op, "cumsum") == 0) return weft_cumsum(x[0], axis);
    if (strcmp(op, "cumprod") == 0) return weft_cumprod(x[0], axis);
    if (strcmp(op, "linear_scan") == 0) return weft_linear_scan(x[0], x[1], axis, false);
    if (strcmp(op, "argsort") == 0) return weft_argsort(x[0], axis, flag);
    if (strcmp(op, "sort") == 0) return weft_sort(x[0], axis, flag);
    if (strcmp(op, "topk_indices") == 0) return weft_topk_indices(x[0], k, axis, flag);
    if (strcmp(op, "topk") == 0) return weft_topk(x[0], k, axis, flag);
    return NULL;
}

static weft_tensor *build_other(const char *op, const cJSON *c, weft_tensor *const *x) {
    int64_t axes[WEFT_MAX_RANK + 1];
    (void)whole_list(member(c, "axes"), axes);
    const bool keep = cJSON_IsTrue(member(c, "keep"));
    if (strcmp(op, "sum") == 0) return weft_sum_axes(x[0], axes, keep);
    if (strcmp(op, "mean") == 0) return weft_mean_axes(x[0], axes, keep);
    if (strcmp(op, "size") == 0) return weft_size(x[0], number(c, "axis"));
    if (strcmp(op, "masked_mean") == 0) return weft_masked_mean_axes(x[0], x[1], axes, keep);
    if (strcmp(op, "max") == 0) return weft_max_axes(x[0], axes, keep);
    if (strcmp(op, "argmax") == 0) return weft_argmax_axes(x[0], axes, keep);
    if (strcmp(op, "matmul") == 0) return weft_matmul(x[0], x[1]);
    if (strcmp(op, "linear_with") == 0) return weft_linear_with(x[0], x[1], x[2]);
    if (strcmp(op, "attention") == 0)
        return weft_attention(x[0], x[1], x[2],
            &(weft_attention_options){
                WEFT_ATTENTION_OPTIONS_INIT, .mask = x[3], .causal = cJSON_IsTrue(member(c, "causal"))});
    if (strcmp(op, "softmax") == 0) return weft_softmax(x[0], number(c, "axis"));
    if (strcmp(op, "log_softmax") == 0) return weft_log_softmax(x[0], number(c, "axis"));
    return NULL;
}

static void real_list(const cJSON *array, double *list) {
    const cJSON *item;
    cJSON_ArrayForEach(item, array) *list++ = item->valuedouble;
}

static weft_tensor *build_pool(const char *op, const cJSON *c, weft_tensor *const *x) {
    int64_t sizes[WEFT_MAX_RANK + 1];
    const struct {
        const char *name;
        size_t field;
    } fields[] = {{"window", offsetof(weft_pool_options, windows)},
        {"stride", offsetof(weft_pool_options, strides)}, {"padding", offsetof(weft_pool_options, paddings)},
        {"dilation", offsetof(weft_pool_options, dilations)}};
    weft_pool_options o = {WEFT_POOL_OPTIONS_INIT, .ceil_mode = cJSON_IsTrue(member(c, "ceil")),
        .exclude_padding = cJSON_IsTrue(member(c, "exclude")),
        .divisor = member(c, "divisor") ? number(c, "divisor") : 0};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const int count = whole_list(member(c, fields[i].name), sizes);
        memcpy((char *)&o + fields[i].field, sizes, (size_t)(count < 3 ? count : 3) * sizeof *sizes);
    }
    (void)whole_list(member(c, "sizes"), sizes);
    if (strcmp(op, "max_pool") == 0) return weft_max_pool(x[0], &o);
    if (strcmp(op, "avg_pool") == 0) return weft_avg_pool(x[0], &o);
    if (strcmp(op, "lp_pool") == 0) return weft_lp_pool(x[0], cJSON_GetNumberValue(member(c, "p")), &o);
    if (strcmp(op, "adaptive_max_pool") == 0) return weft_adaptive_max_pool(x[0], sizes);
    if (strcmp(op, "adaptive_avg_pool") == 0) return weft_adaptive_avg_pool(x[0], sizes);
    if (strcmp(op, "global_max_pool") == 0) return weft_global_max_pool(x[0]);
    if (strcmp(op, "global_avg_pool") == 0) return weft_global_avg_pool(x[0]);
    return NULL;
}

static weft_tensor *build_resample(const cJSON *c, weft_tensor *x) {
    weft_resample_options o = {WEFT_RESAMPLE_OPTIONS_INIT,
        .mode = cJSON_IsTrue(member(c, "linear")) ? WEFT_RESAMPLE_LINEAR : WEFT_RESAMPLE_NEAREST,
        .align_corners = cJSON_IsTrue(member(c, "corners"))};
    int64_t sizes[WEFT_MAX_RANK + 1];
    const int count = whole_list(member(c, "sizes"), sizes);
    for (int i = 0; i < count && i < 3; i++) o.sizes[i] = sizes[i];
    real_list(member(c, "factors"), o.factors);
    return weft_resample(x, &o);
}

static weft_tensor *build_image(const char *op, const cJSON *c, weft_tensor *const *x) {
    const int start = number(c, "start");
    if (strcmp(op, "resample") == 0) return build_resample(c, x[0]);
    if (strcmp(op, "max_pool2d") == 0) return weft_max_pool2d(x[0], start);
    if (strcmp(op, "avg_pool2d") == 0) return weft_avg_pool2d(x[0], start);
    if (strcmp(op, "upsample_nearest") == 0) return weft_upsample_nearest(x[0], start);
    if (strcmp(op, "upsample_linear") == 0)
        return weft_upsample_linear(x[0], start, cJSON_IsTrue(member(c, "corners")));
    if (strcmp(op, "pixel_shuffle") == 0) return weft_pixel_shuffle(x[0], start);
    if (strcmp(op, "pixel_unshuffle") == 0) return weft_pixel_unshuffle(x[0], start);
    if (strcmp(op, "local_response_norm") == 0) {
        double n[3] = {0};
        real_list(member(c, "numbers"), n);
        return weft_local_response_norm(x[0], start, n[0], n[1], n[2]);
    }
    return build_pool(op, c, x);
}

#define IS(name) (strcmp(op, name) == 0)

static void read_axes(int64_t to[3], const cJSON *array) {
    int64_t list[WEFT_MAX_RANK + 1];
    const int count = whole_list(array, list);
    for (int i = 0; i < count && i < 3; i++) to[i] = list[i];
}

static weft_tensor *build_conv(const char *op, const cJSON *c, weft_tensor *const *x) {
    weft_conv_options options = {WEFT_CONV_OPTIONS_INIT};
    read_axes(options.strides, member(c, "stride"));
    read_axes(options.dilations, member(c, "dilation"));
    read_axes(options.paddings, member(c, "padding"));
    read_axes(options.output_paddings, member(c, "output_padding"));
    options.groups = number(c, "groups");
    if (IS("conv_with")) return weft_conv_with(x[0], x[1], x[2], &options);
    if (IS("conv_transpose_with")) return weft_conv_transpose_with(x[0], x[1], x[2], &options);
    return NULL;
}

/* A list of numbers as a constant; NULL for an empty or missing one. */
static weft_tensor *constant_list(weft_graph *graph, const cJSON *array) {
    float values[16];
    int64_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) values[count++] = (float)item->valuedouble;
    return count ? weft_array(graph, WEFT_F32, values, 1, &count) : NULL;
}

static weft_tensor *build_class_loss(const char *op, const cJSON *c, weft_tensor *const *x) {
    const float n = real(c, "number");
    weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT};
    options.class_weights = constant_list(weft_tensor_graph(x[0]), member(c, "class_weights"));
    if (member(c, "reduction")) options.reduction = (weft_loss_reduction)number(c, "reduction");
    if (IS("multi_margin")) return weft_multi_margin_loss(x[0], x[1], n, number(c, "p"), &options);
    options.ignore = weft_tensor_dtype(x[1]) == WEFT_I32;
    options.ignored_label = member(c, "ignored") ? number(c, "ignored") : -100;
    if (IS("nll")) return weft_nll_loss(x[0], x[1], &options);
    options.label_smoothing = n;
    if (IS("sequence_cross_entropy")) return weft_sequence_cross_entropy_loss(x[0], x[1], x[2], &options);
    return IS("cross_entropy") ? weft_cross_entropy_loss(x[0], x[1], &options) : NULL;
}

static weft_tensor *build_loss(const char *op, const cJSON *c, weft_tensor *const *x) {
    const float n = real(c, "number");
    const bool flag = cJSON_IsTrue(member(c, "flag")), log_input = cJSON_IsTrue(member(c, "log_input"));
    weft_loss_options options = {WEFT_LOSS_OPTIONS_INIT};
    if (member(c, "reduction")) options.reduction = (weft_loss_reduction)number(c, "reduction");
    weft_tensor *const list = constant_list(weft_tensor_graph(x[0]), member(c, "class_weights"));
    if (IS("mse")) return weft_mse_loss(x[0], x[1], &options);
    if (IS("l1")) return weft_l1_loss(x[0], x[1], &options);
    if (IS("huber")) return weft_huber_loss(x[0], x[1], n, &options);
    if (IS("smooth_l1")) return weft_smooth_l1_loss(x[0], x[1], n, &options);
    if (IS("poisson_nll")) return weft_poisson_nll_loss(x[0], x[1], log_input, flag, &options);
    if (IS("gaussian_nll")) return weft_gaussian_nll_loss(x[0], x[1], x[2], flag, &options);
    if (IS("bce")) return weft_bce_loss(x[0], x[1], &options);
    if (IS("bce_with_logits")) return weft_bce_with_logits_loss(x[0], x[1], list, &options);
    if (IS("kl_div")) return weft_kl_div_loss(x[0], x[1], flag, &options);
    if (IS("triplet_margin"))
        return weft_triplet_margin_loss(x[0], x[1], x[2], n, number(c, "p"), flag, &options);
    if (IS("cosine_similarity")) return weft_cosine_similarity(x[0], x[1], number(c, "axis"), 1e-8f);
    return NULL;
}

/* Losses against 1 and -1, which the file has as i32. */
static weft_tensor *build_sign_loss(const char *op, const cJSON *c, weft_tensor *const *x, size_t count) {
    const float n = real(c, "number");
    weft_loss_options options = {WEFT_LOSS_OPTIONS_INIT};
    if (member(c, "reduction")) options.reduction = (weft_loss_reduction)number(c, "reduction");
    weft_tensor *const signs = count ? weft_cast(x[count - 1], weft_tensor_dtype(x[0])) : NULL;
    if (IS("hinge")) return weft_hinge_loss(x[0], signs, &options);
    if (IS("soft_margin")) return weft_soft_margin_loss(x[0], signs, &options);
    if (IS("hinge_embedding")) return weft_hinge_embedding_loss(x[0], signs, n, &options);
    if (IS("margin_ranking")) return weft_margin_ranking_loss(x[0], x[1], signs, n, &options);
    if (IS("cosine_embedding")) return weft_cosine_embedding_loss(x[0], x[1], signs, n, &options);
    return NULL;
}

static weft_tensor *build_ctc(const char *op, const cJSON *c, weft_tensor *const *x) {
    if (!IS("ctc")) return NULL;
    const weft_ctc_loss_options options = {WEFT_CTC_LOSS_OPTIONS_INIT,
        .reduction = (weft_loss_reduction)number(c, "reduction"), .blank = number(c, "blank"),
        .zero_infinity = cJSON_IsTrue(member(c, "zero_infinity"))};
    return weft_ctc_loss(weft_log_softmax(x[0], 2), x[1], x[2], x[3], &options);
}

static weft_tensor *build_norm(const char *op, const cJSON *c, weft_tensor *const *x, size_t count) {
    const int of = number(c, "start");
    weft_tensor *const weight = count > 1 ? x[1] : NULL, *const bias = count > 2 ? x[2] : NULL;
    if (IS("batch_norm")) return weft_batch_norm_with(x[0], weight, bias, NULL, 1e-5f);
    if (IS("instance_norm")) return weft_instance_norm_with(x[0], weight, bias, NULL, 1e-5f);
    if (IS("group_norm")) return weft_group_norm_with(x[0], of, weight, bias, 1e-5f);
    if (IS("layer_norm")) return weft_layer_norm_with(x[0], of, weight, bias, 1e-5f);
    return IS("rms_norm") ? weft_rms_norm_with(x[0], of, weight, 1e-5f) : NULL;
}

/* y (of a sequence), h and c (of an LSTM) side by side. */
static weft_tensor *build_recurrent(const char *op, weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], x[4], NULL};
    const weft_sequence_options o = {WEFT_SEQUENCE_OPTIONS_INIT, .h0 = x[5], .c0 = x[6]};
    weft_recurrent r = {NULL, NULL, NULL};
    if (IS("lstm")) r = weft_lstm_with(x[0], &w, &o);
    if (IS("gru")) r = weft_gru_with(x[0], &w, &o);
    if (IS("rnn")) r = weft_rnn_with(x[0], &w, &o);
    if (IS("lstm_cell")) r = weft_lstm_cell(x[0], x[5], x[6], &w);
    if (IS("gru_cell")) r = weft_gru_cell(x[0], x[5], &w, false);
    if (IS("rnn_cell")) r = weft_rnn_cell(x[0], x[5], &w, false);
    weft_tensor *parts[3];
    size_t count = 0;
    if (r.y) parts[count++] = weft_flatten_axes(r.y, 1, 2);
    if (r.h) parts[count++] = r.h;
    if (r.c) parts[count++] = r.c;
    return count > 0 ? weft_concat(parts, count, 1) : NULL;
}

weft_tensor *recorded_expression(const recorded_case *r, weft_graph *graph, weft_tensor *const *x) {
    const cJSON *const json = r->json;
    const size_t count = r->input_count;
    weft_tensor *y = build_elementwise(r->op, x);
    if (!y) y = build_with_numbers(r->op, json, x);
    if (!y) y = build_movement(r->op, json, x, count);
    if (!y) y = build_index(r->op, json, x);
    if (!y) y = build_reduction(r->op, json, x);
    if (!y) y = build_longer(r->op, json, x);
    if (!y) y = build_mask(r, graph, x);
    if (!y) y = build_product(r->op, json, x);
    if (!y) y = build_along(r->op, json, x);
    if (!y) y = build_other(r->op, json, x);
    if (!y) y = build_image(r->op, json, x);
    if (!y) y = build_loss(r->op, json, x);
    if (!y) y = build_sign_loss(r->op, json, x, count);
    if (!y) y = build_class_loss(r->op, json, x);
    if (!y) y = build_ctc(r->op, json, x);
    if (!y) y = build_norm(r->op, json, x, count);
    if (!y) y = build_conv(r->op, json, x);
    return y ? y : build_recurrent(r->op, x);
}
