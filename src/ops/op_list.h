/* The table of ops. It generates the descriptors, gradients and public functions of elementwise ops, the list of names, and the list of
 * what tests must cover.
 *
 * To use the table, define the five macros and include it. Columns of an elementwise row:
 *   name          weft_<name> is the public function
 *   types         NUMERIC f32 or i32 → the same; FLOAT f32 → f32; PRECISE the same, but mixed precision stores the result in
 *                 f32; COMPARE f32 or i32 → bool; WHERE bool and two of f32 or i32 → the latter; LOGIC bool → bool
 *   float, int    the value as a formula of the inputs A, B, C (elementwise/formulas.h), for f32 and for i32 inputs (NULL: the dtype is
 *                 not supported); CALL("name", ...) is weft_<name> of cl_kernels/elementwise
 *   da, db, dc    gradients of the inputs, as expressions of a, b, c, the result y and its gradient g */

/* clang-format off */
/*      name           types    float                                        int                         da, db, dc */
WI_MAP2(add,           NUMERIC, ADD(A, B),                                   ADD(A, B),                  g, g)
WI_MAP2(sub,           NUMERIC, SUB(A, B),                                   SUB(A, B),                  g, weft_neg(g))
WI_MAP2(mul,           NUMERIC, MUL(A, B),                                   MUL(A, B),                  weft_mul(g, b), weft_mul(g, a))
WI_MAP2(div,           FLOAT,   DIV(A, B),                                   NULL,                       weft_div(g, b), weft_neg(weft_div(weft_mul(g, y), b)))
WI_MAP1(neg,           NUMERIC, NEG(A),                                      NEG(A),                     weft_neg(g))
WI_MAP2(maximum,       NUMERIC, IF(OR(AT_LEAST(A, B), BUILTIN("isnan", A)), A, B), BUILTIN("max", A, B),       share_of_maximum(g, a, b), share_of_maximum(g, b, a))
WI_MAP3(where,         WHERE,   IF(MASK(A), B, C),
                                                                             IF(MASK(A), B, C),          NULL, weft_where(a, g, weft_number(g, 0)), weft_where(a, weft_number(g, 0), g))
WI_MAP1(exp,           PRECISE, CALL("exp", A),                              NULL,                       weft_mul(g, y))
WI_MAP1(log,           PRECISE, CALL("log", A),                              NULL,                       weft_div(g, a))
WI_MAP1(sqrt,          FLOAT,   SQRT(A),                                     NULL,                       weft_div(weft_mul(g, weft_number(g, 0.5)), y))
WI_MAP1(tanh,          FLOAT,   CALL("tanh", A),                             NULL,                       weft_mul(g, weft_sub(weft_number(y, 1), weft_square(y))))
WI_MAP1(sigmoid,       FLOAT,   CALL("sigmoid", A),                          NULL,                       weft_mul(g, weft_mul(y, weft_sub(weft_number(y, 1), y))))
WI_MAP1(relu,          FLOAT,   IF(LESS(A, NUMBER(0)), NUMBER(0), A),
                                                                             NULL,                       weft_where(weft_less(weft_number(y, 0), y), g, weft_number(g, 0)))
WI_MAP1(square,        NUMERIC, MUL(A, A),                                   MUL(A, A),                  weft_mul(g, weft_mul(a, weft_number(a, 2))))
WI_MAP2(equal,         COMPARE, TRUTH(EQUAL(A, B)),                          TRUTH(EQUAL(A, B)),         NULL, NULL)
WI_MAP2(less,          COMPARE, TRUTH(LESS(A, B)),                           TRUTH(LESS(A, B)),          NULL, NULL)
WI_MAP2(less_equal,    COMPARE, TRUTH(AT_MOST(A, B)),                        TRUTH(AT_MOST(A, B)),       NULL, NULL)

/*      name           types    float                                int             da, db */
WI_MAP2(minimum,       NUMERIC, IF(OR(AT_MOST(A, B), BUILTIN("isnan", A)), A, B), BUILTIN("min", A, B),       share_of_maximum(g, b, a), share_of_maximum(g, a, b))
WI_MAP2(pow,           FLOAT,   CALL("pow", A, B),
                                                                             NULL,                       pow_base_gradient(g, a, b), pow_exponent_gradient(g, a, b, y))
WI_MAP2(remainder,     NUMERIC, CALL("remainder_f", A, B),                   CALL("remainder_i", A, B),  g, weft_neg(weft_mul(g, weft_floor(weft_div(a, b)))))
WI_MAP2(fmod,          NUMERIC, BUILTIN("copysign", CALL("remainder_f", BUILTIN("fabs", A), BUILTIN("fabs", B)), A), CALL("fmod_i", A, B), g, weft_neg(weft_mul(g, weft_trunc_divide(a, b))))
WI_MAP2(floor_divide,  NUMERIC, CALL("floor_divide_f", A, B),                CALL("floor_divide_i", A, B), NULL, NULL)
WI_MAP2(trunc_divide,  NUMERIC, BUILTIN("trunc", DIV(A, B)),                 CALL("trunc_divide_i", A, B), NULL, NULL)
WI_MAP2(atan2,         FLOAT,   CALL("atan2", A, B),                         NULL,                       atan2_slope(g, a, b, b), weft_neg(atan2_slope(g, a, b, a)))
WI_MAP1(abs,           NUMERIC, BUILTIN("fabs", A),                          BUILTIN("max", A, NEG(A)),  weft_mul(g, weft_sign(a)))
WI_MAP1(sign,          NUMERIC, IF(MORE(A, NUMBER(0)), NUMBER(1), IF(LESS(A, NUMBER(0)), NUMBER(-1), NUMBER(0))), BUILTIN("clamp", A, NUMBER(-1), NUMBER(1)), NULL)
WI_MAP1(floor,         NUMERIC, BUILTIN("floor", A),                         A,                          NULL)
WI_MAP1(ceil,          NUMERIC, BUILTIN("ceil", A),                          A,                          NULL)
WI_MAP1(round,         NUMERIC, BUILTIN("rint", A),                          A,                          NULL)
WI_MAP1(trunc,         NUMERIC, BUILTIN("trunc", A),                         A,                          NULL)
WI_MAP1(rsqrt,         FLOAT,   DIV(NUMBER(1), SQRT(A)),
                                                                             NULL,                       weft_mul(g, weft_mul(weft_number(y, -0.5), weft_mul(y, weft_square(y)))))
WI_MAP1(reciprocal,    FLOAT,   DIV(NUMBER(1), A),                           NULL,                       weft_neg(weft_mul(g, weft_square(y))))
WI_MAP1(exp2,          PRECISE, CALL("exp2", A),
                                                                             NULL,                       weft_mul(g, weft_mul(y, weft_number(y, 0.69314718055994531))))
WI_MAP1(expm1,         PRECISE, CALL("expm1", A),                            NULL,                       weft_mul(g, weft_exp(a)))
WI_MAP1(log2,          PRECISE, CALL("log2", A),
                                                                             NULL,                       weft_div(weft_mul(g, weft_number(g, 1.4426950408889634)), a))
WI_MAP1(log1p,         PRECISE, CALL("log1p", A),                            NULL,                       weft_div(g, weft_add(a, weft_number(a, 1))))
WI_MAP1(sin,           FLOAT,   CALL("sin", A),                              NULL,                       weft_mul(g, weft_cos(a)))
WI_MAP1(cos,           FLOAT,   CALL("cos", A),                              NULL,                       weft_neg(weft_mul(g, weft_sin(a))))
WI_MAP1(tan,           FLOAT,   CALL("tan", A),                              NULL,                       weft_mul(g, weft_add(weft_square(y), weft_number(y, 1))))
WI_MAP1(asin,          FLOAT,   CALL("asin", A),                             NULL,                       weft_div(g, other_side(a)))
WI_MAP1(acos,          FLOAT,   CALL("acos", A),                             NULL,                       weft_neg(weft_div(g, other_side(a))))
WI_MAP1(atan,          FLOAT,   CALL("atan2", A, NUMBER(1)),                 NULL,                       weft_div(g, weft_add(weft_square(a), weft_number(a, 1))))
WI_MAP1(sinh,          FLOAT,   BUILTIN("copysign", IF(MORE(BUILTIN("fabs", A), NUMBER(1)), SUB(HALF_EXP(BUILTIN("fabs", A)), DIV(NUMBER(0.25), HALF_EXP(BUILTIN("fabs", A)))), HALF(ADD(EXPM1_OF_SIZE, DIV(EXPM1_OF_SIZE, ADD(EXPM1_OF_SIZE, NUMBER(1)))))), A),
                                                                             NULL,                       weft_mul(g, weft_cosh(a)))
WI_MAP1(cosh,          FLOAT,   ADD(HALF_EXP(BUILTIN("fabs", A)), DIV(NUMBER(0.25), HALF_EXP(BUILTIN("fabs", A)))),
                                                                             NULL,                       weft_mul(g, weft_sinh(a)))
WI_MAP1(asinh,         FLOAT,   BUILTIN("copysign", IF(MORE(BUILTIN("fabs", A), NUMBER(LARGE)), LOG_OF_DOUBLE(BUILTIN("fabs", A)), CALL("log1p", ADD(BUILTIN("fabs", A), DIV(MUL(A, A), ADD(NUMBER(1), SQRT(ADD(NUMBER(1), MUL(A, A)))))))), A),
                                                                             NULL,                       weft_div(g, weft_sqrt(weft_add(weft_square(a), weft_number(a, 1)))))
WI_MAP1(acosh,         FLOAT,   IF(MORE(A, NUMBER(LARGE)), LOG_OF_DOUBLE(A), CALL("log1p", ADD(SUB(A, NUMBER(1)), MUL(SQRT(SUB(A, NUMBER(1))), SQRT(ADD(A, NUMBER(1))))))),
                                                                             NULL,                       weft_div(g, weft_sqrt(weft_sub(weft_square(a), weft_number(a, 1)))))
WI_MAP1(atanh,         FLOAT,   BUILTIN("copysign", HALF(CALL("log1p", DIV(ADD(BUILTIN("fabs", A), BUILTIN("fabs", A)), SUB(NUMBER(1), BUILTIN("fabs", A))))), A),
                                                                             NULL,                       weft_div(g, weft_sub(weft_number(a, 1), weft_square(a))))
WI_MAP1(erf,           FLOAT,   CALL("erf", A),
                                                                             NULL,                       weft_mul(g, weft_mul(weft_number(a, 1.1283791670955126), weft_exp(weft_neg(weft_square(a))))))
WI_MAP1(gelu,          FLOAT,   CALL("gelu", A),                             NULL,                       weft_mul(g, gelu_slope(a)))
WI_MAP1(gelu_tanh,     FLOAT,   CALL("gelu_tanh", A),                        NULL,                       weft_mul(g, gelu_tanh_slope(a)))
WI_MAP1(silu,          FLOAT,   MUL(A, CALL("sigmoid", A)),                  NULL,                       weft_mul(g, silu_slope(a)))
WI_MAP1(softplus,      FLOAT,   CALL("softplus", A),                         NULL,                       weft_mul(g, weft_sigmoid(a)))
WI_MAP1(logsigmoid,    FLOAT,   NEG(CALL("softplus", NEG(A))),               NULL,                       weft_mul(g, weft_sigmoid(weft_neg(a))))
WI_MAP1(softsign,      FLOAT,   DIV(A, ADD(NUMBER(1), BUILTIN("fabs", A))),
                                                                             NULL,                       weft_div(g, weft_square(weft_add(weft_abs(a), weft_number(a, 1)))))
WI_MAP1(mish,          FLOAT,   CALL("mish", A),                             NULL,                       weft_mul(g, mish_slope(a)))
WI_MAP1(selu,          FLOAT,   MUL(NUMBER(1.0507009873554805), IF(MORE(A, NUMBER(0)), A, MUL(NUMBER(1.6732632423543772), CALL("expm1", A)))),
                                                                             NULL,                       weft_mul(g, selu_slope(a)))
WI_MAP1(relu6,         FLOAT,   IF(LESS(A, NUMBER(0)), NUMBER(0), IF(MORE(A, NUMBER(6)), NUMBER(6), A)), NULL,                       between(a, 0, 6, g))
WI_MAP1(hardsigmoid,   FLOAT,   IF(LESS(A, NUMBER(-3)), NUMBER(0), IF(MORE(A, NUMBER(3)), NUMBER(1), MUL(ADD(A, NUMBER(3)), NUMBER(1 / 6.0)))),
                                                                             NULL,                       between(a, -3, 3, weft_mul(g, weft_number(g, 1 / 6.0))))
WI_MAP1(hardswish,     FLOAT,   MUL(A, MUL(IF(LESS(A, NUMBER(-3)), NUMBER(0), IF(MORE(A, NUMBER(3)), NUMBER(6), ADD(A, NUMBER(3)))), NUMBER(1 / 6.0))),
                                                                             NULL,                       weft_mul(g, hardswish_slope(a)))
WI_MAP2(not_equal,     COMPARE, TRUTH(UNEQUAL(A, B)),                        TRUTH(UNEQUAL(A, B)),       NULL, NULL)
WI_MAP2(greater,       COMPARE, TRUTH(MORE(A, B)),                           TRUTH(MORE(A, B)),          NULL, NULL)
WI_MAP2(greater_equal, COMPARE, TRUTH(AT_LEAST(A, B)),                       TRUTH(AT_LEAST(A, B)),      NULL, NULL)
WI_MAP1(isnan,         COMPARE, TRUTH(BUILTIN("isnan", A)),                  NUMBER(0),                  NULL)
WI_MAP1(isinf,         COMPARE, TRUTH(BUILTIN("isinf", A)),                  NUMBER(0),                  NULL)
WI_MAP1(isfinite,      COMPARE, TRUTH(BUILTIN("isfinite", A)),               NUMBER(1),                  NULL)
WI_MAP2(logical_and,   LOGIC,   NULL,                                        AND(A, B),                  NULL, NULL)
WI_MAP2(logical_or,    LOGIC,   NULL,                                        OR(A, B),                   NULL, NULL)
WI_MAP2(logical_xor,   LOGIC,   NULL,                                        XOR(A, B),                  NULL, NULL)
WI_MAP1(logical_not,   LOGIC,   NULL,                                        XOR(A, NUMBER(1)),          NULL)

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
WI_NODE(unfold)      /* unfold.c */
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
WI_FUNCTION_ROW(normalize)   /* norms.c */
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
WI_FUNCTION_ROW(glu)
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
WI_FUNCTION_ROW(floor_divide_number)
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
