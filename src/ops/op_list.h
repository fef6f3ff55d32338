/* The table of ops. It generates the descriptors, gradients and public functions of elementwise ops, the list of names, and the list of
 * what tests must cover.
 *
 * To use the table, define the five macros and include it. Columns of an elementwise row:
 *   name          weft_<name> is the public function
 *   types         NUMERIC f32 or i32 → the same; FLOAT f32 → f32; PRECISE the same, but mixed precision stores the result in
 *                 f32; COMPARE f32 or i32 → bool; WHERE bool and two of f32 or i32 → the latter; LOGIC bool → bool
 *   float, int    the value in OpenCL C over a, b, c, for f32 and for i32 inputs (NULL: the dtype is not supported). WF and WI
 *                 are the float and int types of common.clh; comparisons are wrapped in WEFT_BOOL; weft_<function> is
 *                 defined in cl_kernels/elementwise
 *   da, db, dc    gradients of the inputs, as expressions of a, b, c, the result y and its gradient g */

/* clang-format off */
/*      name        types    float                                  int             da, db, dc */
WI_MAP2(add,        NUMERIC, "a + b",                               "a + b",        g, g)
WI_MAP2(sub,        NUMERIC, "a - b",                               "a - b",        g, weft_neg(g))
WI_MAP2(mul,        NUMERIC, "a * b",                               "a * b",        weft_mul(g, b), weft_mul(g, a))
WI_MAP2(div,        FLOAT,   "a / b",                               NULL,           weft_div(g, b), weft_neg(weft_div(weft_mul(g, y), b)))
WI_MAP1(neg,        NUMERIC, "-a",                                  "-a",           weft_neg(g))
WI_MAP2(maximum,    NUMERIC, "select(b, a, (a >= b) | isnan(a))",   "max(a, b)",    share_of_maximum(g, a, b), share_of_maximum(g, b, a))
WI_MAP3(where,      WHERE,   "select(c, b, -(a))",                  "select(c, b, -(a))",
                                                                                    NULL, weft_where(a, g, weft_number(g, 0)), weft_where(a, weft_number(g, 0), g))
WI_MAP1(exp,        PRECISE, "weft_exp(a)",                         NULL,           weft_mul(g, y))
WI_MAP1(log,        PRECISE, "weft_log(a)",                         NULL,           weft_div(g, a))
WI_MAP1(sqrt,       FLOAT,   "sqrt(a)",                             NULL,           weft_div(weft_mul(g, weft_number(g, 0.5)), y))
WI_MAP1(tanh,       FLOAT,   "weft_tanh(a)",                        NULL,           weft_mul(g, weft_sub(weft_number(y, 1), weft_square(y))))
WI_MAP1(sigmoid,    FLOAT,   "weft_sigmoid(a)",                     NULL,           weft_mul(g, weft_mul(y, weft_sub(weft_number(y, 1), y))))
WI_MAP1(relu,       FLOAT,   "select(a, (WF)(0.0f), a < 0.0f)",     NULL,           weft_where(weft_less(weft_number(y, 0), y), g, weft_number(g, 0)))
WI_MAP1(square,     NUMERIC, "a * a",                               "a * a",        weft_mul(g, weft_mul(a, weft_number(a, 2))))
WI_MAP2(equal,      COMPARE, "WEFT_BOOL(a == b)",                   "WEFT_BOOL(a == b)", NULL, NULL)
WI_MAP2(less,       COMPARE, "WEFT_BOOL(a < b)",                    "WEFT_BOOL(a < b)",  NULL, NULL)
WI_MAP2(less_equal, COMPARE, "WEFT_BOOL(a <= b)",                   "WEFT_BOOL(a <= b)", NULL, NULL)

/*      name           types    float                                int             da, db */
WI_MAP2(minimum,       NUMERIC, "select(b, a, (a <= b) | isnan(a))", "min(a, b)",    share_of_maximum(g, b, a), share_of_maximum(g, a, b))
WI_MAP2(pow,           FLOAT,   "weft_pow(a, b)",                    NULL,           pow_base_gradient(g, a, b), pow_exponent_gradient(g, a, b, y))
WI_MAP2(remainder,     NUMERIC, "weft_remainder_f(a, b)",            "weft_remainder_i(a, b)",
                                                                                     g, weft_neg(weft_mul(g, weft_floor(weft_div(a, b)))))
WI_MAP2(atan2,         FLOAT,   "weft_atan2(a, b)",                  NULL,           atan2_slope(g, a, b, b), weft_neg(atan2_slope(g, a, b, a)))
WI_MAP1(abs,           NUMERIC, "fabs(a)",                           "max(a, -a)",   weft_mul(g, weft_sign(a)))
WI_MAP1(sign,          NUMERIC, "select(select((WF)(0.0f), (WF)(-1.0f), a < 0.0f), (WF)(1.0f), a > 0.0f)",
                                                                     "clamp(a, (WI)(-1), (WI)(1))", NULL)
WI_MAP1(floor,         NUMERIC, "floor(a)",                          "a",            NULL)
WI_MAP1(ceil,          NUMERIC, "ceil(a)",                           "a",            NULL)
WI_MAP1(round,         NUMERIC, "rint(a)",                           "a",            NULL)
WI_MAP1(trunc,         NUMERIC, "trunc(a)",                          "a",            NULL)
WI_MAP1(rsqrt,         FLOAT,   "1.0f / sqrt(a)",                    NULL,           weft_mul(g, weft_mul(weft_number(y, -0.5), weft_mul(y, weft_square(y)))))
WI_MAP1(reciprocal,    FLOAT,   "1.0f / a",                          NULL,           weft_neg(weft_mul(g, weft_square(y))))
WI_MAP1(exp2,          PRECISE, "weft_exp2(a)",                      NULL,           weft_mul(g, weft_mul(y, weft_number(y, 0.69314718055994531))))
WI_MAP1(expm1,         PRECISE, "weft_expm1(a)",                     NULL,           weft_mul(g, weft_exp(a)))
WI_MAP1(log2,          PRECISE, "weft_log2(a)",                      NULL,           weft_div(weft_mul(g, weft_number(g, 1.4426950408889634)), a))
WI_MAP1(log1p,         PRECISE, "weft_log1p(a)",                     NULL,           weft_div(g, weft_add(a, weft_number(a, 1))))
WI_MAP1(sin,           FLOAT,   "weft_sin(a)",                       NULL,           weft_mul(g, weft_cos(a)))
WI_MAP1(cos,           FLOAT,   "weft_cos(a)",                       NULL,           weft_neg(weft_mul(g, weft_sin(a))))
WI_MAP1(tan,           FLOAT,   "weft_tan(a)",                       NULL,           weft_mul(g, weft_add(weft_square(y), weft_number(y, 1))))
WI_MAP1(asin,          FLOAT,   "weft_asin(a)",                      NULL,           weft_div(g, other_side(a)))
WI_MAP1(acos,          FLOAT,   "weft_acos(a)",                      NULL,           weft_neg(weft_div(g, other_side(a))))
WI_MAP1(atan,          FLOAT,   "weft_atan2(a, (WF)(1.0f))",         NULL,           weft_div(g, weft_add(weft_square(a), weft_number(a, 1))))
WI_MAP1(erf,           FLOAT,   "weft_erf(a)",                       NULL,           weft_mul(g, weft_mul(weft_number(a, 1.1283791670955126), weft_exp(weft_neg(weft_square(a))))))
WI_MAP1(gelu,          FLOAT,   "weft_gelu(a)",                      NULL,           weft_mul(g, gelu_slope(a)))
WI_MAP1(gelu_tanh,     FLOAT,   "weft_gelu_tanh(a)",                 NULL,           weft_mul(g, gelu_tanh_slope(a)))
WI_MAP1(silu,          FLOAT,   "a * weft_sigmoid(a)",               NULL,           weft_mul(g, silu_slope(a)))
WI_MAP1(softplus,      FLOAT,   "weft_softplus(a)",                  NULL,           weft_mul(g, weft_sigmoid(a)))
WI_MAP1(softsign,      FLOAT,   "a / (1.0f + fabs(a))",              NULL,           weft_div(g, weft_square(weft_add(weft_abs(a), weft_number(a, 1)))))
WI_MAP1(mish,          FLOAT,   "weft_mish(a)",                      NULL,           weft_mul(g, mish_slope(a)))
WI_MAP1(selu,          FLOAT,   "(WF)(1.0507009873554805f) * select((WF)(1.6732632423543772f) * weft_expm1(a), a, a > 0.0f)",
                                                                     NULL,           weft_mul(g, selu_slope(a)))
WI_MAP1(relu6,         FLOAT,   "select(select(a, (WF)(6.0f), a > 6.0f), (WF)(0.0f), a < 0.0f)",
                                                                     NULL,           between(a, 0, 6, g))
WI_MAP1(hardsigmoid,   FLOAT,   "select(select((a + 3.0f) * 0.16666666666666667f, (WF)(1.0f), a > 3.0f), (WF)(0.0f), a < -3.0f)",
                                                                     NULL,           between(a, -3, 3, weft_mul(g, weft_number(g, 1 / 6.0))))
WI_MAP1(hardswish,     FLOAT,   "a * (select(select(a + 3.0f, (WF)(6.0f), a > 3.0f), (WF)(0.0f), a < -3.0f) * 0.16666666666666667f)",
                                                                     NULL,           weft_mul(g, hardswish_slope(a)))
WI_MAP2(not_equal,     COMPARE, "WEFT_BOOL(a != b)",                 "WEFT_BOOL(a != b)", NULL, NULL)
WI_MAP2(greater,       COMPARE, "WEFT_BOOL(a > b)",                  "WEFT_BOOL(a > b)",  NULL, NULL)
WI_MAP2(greater_equal, COMPARE, "WEFT_BOOL(a >= b)",                 "WEFT_BOOL(a >= b)", NULL, NULL)
WI_MAP1(isnan,         COMPARE, "WEFT_BOOL(isnan(a))",               "(WI)(0)",      NULL)
WI_MAP1(isinf,         COMPARE, "WEFT_BOOL(isinf(a))",               "(WI)(0)",      NULL)
WI_MAP1(isfinite,      COMPARE, "WEFT_BOOL(isfinite(a))",            "(WI)(1)",      NULL)
WI_MAP2(logical_and,   LOGIC,   NULL,                                "a & b",        NULL, NULL)
WI_MAP2(logical_or,    LOGIC,   NULL,                                "a | b",        NULL, NULL)
WI_MAP2(logical_xor,   LOGIC,   NULL,                                "a ^ b",        NULL, NULL)
WI_MAP1(logical_not,   LOGIC,   NULL,                                "a ^ (WI)(1)",  NULL)

/*      name            a file of the family has the descriptor wi_op_<name> */
WI_NODE(cast)        /* elementwise.c */
WI_NODE(sum)         /* reduce.c */
WI_NODE(max)
WI_NODE(argmax)
WI_NODE(min)
WI_NODE(argmin)
WI_NODE(prod)
WI_NODE(var)         /* moments.c */
WI_NODE(std)
WI_NODE(norm)        /* norms.c */
WI_NODE(logsumexp)
WI_NODE(matmul)      /* matmul.c */
WI_NODE(attention)   /* attention.c */
WI_NODE(softmax)     /* softmax.c */
WI_NODE(log_softmax)
WI_NODE(reshape)     /* movement.c */
WI_NODE(permute)     /* permute.c */
WI_NODE(expand)      /* movement.c */
WI_NODE(concat)
WI_NODE(gather)      /* index.c */
WI_NODE(index_select)
WI_NODE(scatter_sum)
WI_NODE(index_sum)
WI_NODE(index_copy)
WI_NODE(embedding)   /* embedding.c */
WI_NODE(slice)       /* slice.c */
WI_NODE(flip)
WI_NODE(diagonal)
WI_NODE(pad)         /* padding.c */
WI_NODE(roll)
WI_NODE(tile)
WI_NODE(cumsum)      /* scan.c */
WI_NODE(cumprod)
WI_NODE(linear_scan)
WI_NODE(argsort)     /* sort.c */
WI_NODE(sort)
WI_NODE(topk_indices)
WI_NODE(topk)
WI_NODE(max_pool)    /* pool.c */
WI_NODE(avg_pool)
WI_NODE(resample)    /* resample.c */
WI_NODE(local_response_norm) /* local_response.c */
WI_NODE(uniform)     /* random.c */
WI_NODE(normal)
WI_NODE(dropout)     /* dropout.c */
WI_NODE(batch_norm)  /* normalization.c */
WI_NODE(instance_norm)
WI_NODE(group_norm)
WI_NODE(layer_norm)  /* normalization_rows.c */
WI_NODE(rms_norm)
WI_NODE(huber)              /* loss_regression.c */
WI_NODE(gaussian_nll)
WI_NODE(bce)                /* loss_probability.c */
WI_NODE(bce_with_logits)
WI_NODE(cross_entropy)      /* loss_class.c */
WI_NODE(nll)
WI_NODE(multi_margin)
WI_NODE(soft_margin)        /* loss_margin.c */
WI_NODE(cosine_similarity)  /* loss_vector.c */
WI_NODE(ctc)                /* loss_ctc.c */
WI_NODE(lstm)               /* recurrent_scan.c */
WI_NODE(gru)
WI_NODE(rnn)

/*          name        created from nodes of other ops, without a descriptor */
WI_FUNCTION_ROW(mean)        /* reduce.c */
WI_FUNCTION_ROW(any)
WI_FUNCTION_ROW(all)
WI_FUNCTION_ROW(count_nonzero)
WI_FUNCTION_ROW(masked_mean) /* masked_mean.c */
WI_FUNCTION_ROW(sequence_cross_entropy) /* loss_sequence.c */
WI_FUNCTION_ROW(linear_with) /* matmul.c */
WI_FUNCTION_ROW(scatter_add) /* index.c */
WI_FUNCTION_ROW(index_add)
WI_FUNCTION_ROW(scatter_reduce) /* scatter_reduce.c */
WI_FUNCTION_ROW(index_reduce)
WI_FUNCTION_ROW(sparse_matmul) /* sparse.c */
WI_FUNCTION_ROW(sparse_rows)
WI_FUNCTION_ROW(embedding_bag_with) /* embedding_bag.c */
WI_FUNCTION_ROW(transpose)   /* permute.c */
WI_FUNCTION_ROW(flatten)     /* movement.c */
WI_FUNCTION_ROW(mse)         /* loss_regression.c */
WI_FUNCTION_ROW(l1)
WI_FUNCTION_ROW(smooth_l1)
WI_FUNCTION_ROW(poisson_nll)
WI_FUNCTION_ROW(kl_div)      /* loss_probability.c */
WI_FUNCTION_ROW(hinge)       /* loss_margin.c */
WI_FUNCTION_ROW(hinge_embedding)
WI_FUNCTION_ROW(margin_ranking)
WI_FUNCTION_ROW(cosine_embedding) /* loss_vector.c */
WI_FUNCTION_ROW(triplet_margin)
WI_FUNCTION_ROW(flatten_axes)
WI_FUNCTION_ROW(squeeze)
WI_FUNCTION_ROW(unsqueeze)
WI_FUNCTION_ROW(swap_axes)
WI_FUNCTION_ROW(move_axis)
WI_FUNCTION_ROW(stack)
WI_FUNCTION_ROW(channels_last) /* channels_last.c */
WI_FUNCTION_ROW(channels_first)
WI_FUNCTION_ROW(slice_step)  /* slice.c */
WI_FUNCTION_ROW(split)
WI_FUNCTION_ROW(conv_with)   /* conv.c */
WI_FUNCTION_ROW(conv_transpose_with)
WI_FUNCTION_ROW(split_sizes)
WI_FUNCTION_ROW(tril)        /* mask.c */
WI_FUNCTION_ROW(triu)
WI_FUNCTION_ROW(masked_fill)
WI_FUNCTION_ROW(one_hot)
WI_FUNCTION_ROW(arange)
WI_FUNCTION_ROW(full)
WI_FUNCTION_ROW(eye)
WI_FUNCTION_ROW(size)        /* axes.c */
WI_FUNCTION_ROW(outer)       /* matmul.c */
WI_FUNCTION_ROW(dot)
WI_FUNCTION_ROW(mv)
WI_FUNCTION_ROW(bilinear_with)
WI_FUNCTION_ROW(lstm_cell)   /* recurrent.c */
WI_FUNCTION_ROW(gru_cell)
WI_FUNCTION_ROW(rnn_cell)
WI_FUNCTION_ROW(einsum)      /* einsum.c */
WI_FUNCTION_ROW(clamp)       /* activation.c */
WI_FUNCTION_ROW(hardtanh)
WI_FUNCTION_ROW(leaky_relu)
WI_FUNCTION_ROW(prelu)
WI_FUNCTION_ROW(elu)
WI_FUNCTION_ROW(max_pool2d)  /* pool_forms.c */
WI_FUNCTION_ROW(avg_pool2d)
WI_FUNCTION_ROW(lp_pool)
WI_FUNCTION_ROW(adaptive_max_pool)
WI_FUNCTION_ROW(adaptive_avg_pool)
WI_FUNCTION_ROW(global_max_pool)
WI_FUNCTION_ROW(global_avg_pool)
WI_FUNCTION_ROW(upsample_nearest) /* resample.c */
WI_FUNCTION_ROW(upsample_linear)
WI_FUNCTION_ROW(pixel_shuffle)    /* pixel_shuffle.c */
WI_FUNCTION_ROW(pixel_unshuffle)
WI_FUNCTION_ROW(dropout_channels) /* dropout.c */
WI_FUNCTION_ROW(add_number)  /* number_forms.c */
WI_FUNCTION_ROW(sub_number)
WI_FUNCTION_ROW(mul_number)
WI_FUNCTION_ROW(div_number)
WI_FUNCTION_ROW(pow_number)
WI_FUNCTION_ROW(number_sub)
WI_FUNCTION_ROW(number_div)
WI_FUNCTION_ROW(number_remainder)
WI_FUNCTION_ROW(number_pow)
WI_FUNCTION_ROW(remainder_number)
WI_FUNCTION_ROW(maximum_number)
WI_FUNCTION_ROW(minimum_number)
WI_FUNCTION_ROW(equal_number)
WI_FUNCTION_ROW(not_equal_number)
WI_FUNCTION_ROW(less_number)
WI_FUNCTION_ROW(less_equal_number)
WI_FUNCTION_ROW(greater_number)
WI_FUNCTION_ROW(greater_equal_number)

/* clang-format on */

#undef WI_MAP1
#undef WI_MAP2
#undef WI_MAP3
#undef WI_NODE
#undef WI_FUNCTION_ROW
