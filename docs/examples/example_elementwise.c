/* Elementwise ops, comparisons, reductions, scans and sorting, each once. Shapes stand behind the calls. */
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

static void arithmetic(weft_tensor *x, weft_tensor *y) { /* both (batch, 6) */
    weft_tensor *z = weft_add(weft_div(x, weft_maximum_number(weft_square(y), 1)), weft_neg(y));
    z = weft_add(weft_maximum(z, x), weft_minimum(z, y));
    z = weft_add(
        weft_remainder(z, weft_number(z, 3)), weft_remainder_number(z, 2)); /* the sign of the divisor */
    z = weft_sub(weft_floor_divide(z, weft_number(z, 3)), weft_floor_divide_number(z, 2)); /* rounded down */
    z = weft_add(z, weft_add(weft_fmod(x, z), weft_trunc_divide(x, z)));                   /* toward zero */
    z = weft_add(weft_abs(z), weft_mul(weft_sign(x), weft_sub_number(x, 0.5)));
    z = weft_add(weft_floor(z), weft_sub(weft_ceil(x), weft_add(weft_round(y), weft_trunc(y))));
    z = weft_div_number(weft_minimum_number(weft_clamp(z, -1, 1), 0.75), 2);
    (void)weft_masked_fill(z, weft_isnan(z), 0);
}

static void functions(weft_tensor *x) { /* (batch, 6) */
    weft_tensor *positive = weft_add_number(weft_square(x), 1),
                *inner = weft_div(x, positive); /* within -1 .. 1 */
    weft_tensor *powers = weft_add(weft_pow(positive, x), weft_pow_number(positive, 1.5));
    weft_tensor *roots =
        weft_add(weft_sqrt(positive), weft_add(weft_rsqrt(positive), weft_reciprocal(positive)));
    weft_tensor *growth = weft_add(weft_exp(inner), weft_add(weft_exp2(inner), weft_expm1(inner)));
    weft_tensor *logs = weft_add(weft_log(positive), weft_add(weft_log2(positive), weft_log1p(positive)));
    weft_tensor *angles = weft_add(weft_sin(x), weft_add(weft_cos(x), weft_tan(inner)));
    weft_tensor *back =
        weft_add(weft_asin(inner), weft_add(weft_acos(inner), weft_add(weft_atan(x), weft_atan2(x, inner))));
    weft_tensor *curves = weft_add(weft_add(weft_sinh(inner), weft_cosh(inner)),
        weft_add(weft_asinh(x), weft_add(weft_acosh(positive), weft_atanh(inner))));
    weft_tensor *parts[] = {powers, roots, growth, logs, angles, back, curves, weft_erf(x)};
    (void)weft_stack(parts, 8, 0); /* (8, batch, 6) */
}

static void activations(weft_tensor *x, weft_graph *graph) { /* (batch, 6) */
    weft_tensor *slopes = weft_parameter(graph, "slopes", weft_fill(0.25f), 6);
    weft_tensor *all[] = {weft_relu(x), weft_tanh(x), weft_sigmoid(x), weft_gelu(x), weft_gelu_tanh(x),
        weft_silu(x), weft_mish(x), weft_softplus(x), weft_softsign(x), weft_selu(x), weft_relu6(x),
        weft_hardsigmoid(x), weft_hardswish(x), weft_elu(x, 1), weft_leaky_relu(x, 0.01),
        weft_prelu(x, slopes), weft_hardtanh(x, -1, 1), weft_logsigmoid(x)};
    (void)weft_concat(all, sizeof all / sizeof *all, 1); /* (batch, 18·6) */
    (void)weft_glu(x, 1);                                /* (batch, 3) */
}

static void comparisons(weft_tensor *x, weft_tensor *y) { /* bool (batch, 6) */
    weft_tensor *between = weft_logical_and(weft_less(x, y), weft_greater_equal(x, weft_neg(y)));
    weft_tensor *other =
        weft_logical_or(weft_less_equal(x, y), weft_logical_xor(weft_greater(x, y), weft_equal(x, y)));
    weft_tensor *numbers = weft_logical_and(weft_isfinite(x), weft_logical_not(weft_isinf(y)));
    weft_tensor *against = weft_logical_or(weft_equal_number(x, 0), weft_not_equal_number(y, 1));
    against = weft_logical_or(against, weft_logical_or(weft_less_number(x, 1), weft_less_equal_number(x, 1)));
    against =
        weft_logical_or(against, weft_logical_or(weft_greater_number(x, 1), weft_greater_equal_number(x, 1)));
    weft_tensor *all = weft_logical_and(weft_logical_and(between, other), weft_logical_and(numbers, against));
    (void)weft_where(
        weft_logical_and(all, weft_not_equal(x, y)), x, weft_cast(weft_cast(y, WEFT_I32), WEFT_F32));
}

static void reductions(weft_tensor *x) { /* (batch, 6) */
    const int64_t last[] = {-1, WEFT_END};
    weft_tensor *whole[] = {weft_sum(x), weft_mean(x), weft_max(x), weft_min(x), weft_prod(x), weft_var(x),
        weft_std(x), weft_norm(x), weft_logsumexp(x)}; /* rank 0 */
    weft_tensor *rows[] = {weft_sum_axes(x, last, false), weft_mean_axes(x, last, false),
        weft_max_axes(x, last, false), weft_min_axes(x, last, false), weft_prod_axes(x, last, false),
        weft_var_axes(x, last, false), weft_std_axes(x, last, false), weft_var_with(x, 0, last, false),
        weft_std_with(x, 0, last, false), weft_norm_axes(x, last, false),
        weft_norm_with(x, INFINITY, last, false), weft_logsumexp_axes(x, last, false)};
    weft_tensor *counts[] = {weft_argmax(x, 1), weft_argmax_axes(x, last, false), weft_argmin(x, 1),
        weft_argmin_axes(x, last, false), weft_count_nonzero(x, 1), weft_count_nonzero_axes(x, last, false)};
    weft_tensor *some = weft_logical_or(weft_any(x, 1), weft_any_axes(x, last, false));
    (void)weft_logical_and(some, weft_logical_or(weft_all(x, 1), weft_all_axes(x, last, false)));
    (void)weft_stack(whole, 9, 0), (void)weft_stack(rows, 12, 0), (void)weft_stack(counts, 6, 0);
}

static void scans_and_sorting(weft_tensor *x) { /* (batch, 6) */
    weft_tensor *sums =
        weft_add(weft_cumsum(x, 1), weft_cumsum_with(x, 1, true, false)); /* without x[j] itself */
    weft_tensor *products = weft_add(weft_cumprod(x, 1), weft_cumprod_with(x, 1, false, true));
    weft_tensor *returns = weft_linear_scan(weft_number(x, 0.99), x, 1, true);               /* discounted */
    weft_tensor *best = weft_topk(x, 2, 1, true), *which = weft_topk_indices(x, 2, 1, true); /* (batch, 2) */
    (void)weft_add(sums, weft_add(products, returns)), (void)weft_sub(best, weft_gather(x, 1, which));
    (void)weft_normalize(best, 2, 1, 1e-12),
        (void)weft_topk_indices(x, 1, 0, true); /* along the batch: (1, 6) */
    (void)weft_sub(weft_sort(x, 1, false), weft_gather(x, 1, weft_argsort(x, 1, false)));
}

int main(void) {
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) {
        weft_graph *graph = weft_context_graph(context);
        weft_tensor *x = weft_input(graph, "x", WEFT_F32, 6), *y = weft_input(graph, "y", WEFT_F32, 6);
        arithmetic(x, y), functions(x), activations(x, graph), comparisons(x, y), reductions(x),
            scans_and_sorting(x);
        status = weft_graph_status(graph); /* the first error of any of these lines */
    }
    if (status) fprintf(stderr, "elementwise: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
