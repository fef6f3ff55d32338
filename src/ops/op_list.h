/* The one table of ops. It yields the descriptors, gradients and public functions of elementwise ops, the
 * list of names, and what the tests must cover.
 *
 * No include guard: define the five macros, then include. Columns of an elementwise row:
 *   name          weft_<name> is the public function
 *   types         NUMERIC f32 or i32 → the same; FLOAT f32 → f32; COMPARE f32 or i32 → bool;
 *                 WHERE bool and two of f32 or i32 → the latter; LOGIC bool → bool
 *   float, int    the value in OpenCL C over a, b, c, for f32 and for i32 inputs (NULL: not for that dtype);
 *                 WF and WI are the float and int types of common.clh, comparisons end in WEFT_BOOL;
 *                 weft_<function> is one of elementwise.clh
 *   da, db, dc    gradients of the inputs, as expressions over a, b, c, the result y and its gradient g */

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
WI_MAP1(exp,        FLOAT,   "weft_exp(a)",                         NULL,           weft_mul(g, y))
WI_MAP1(log,        FLOAT,   "weft_log(a)",                         NULL,           weft_div(g, a))
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
WI_MAP2(atan2,         FLOAT,   "weft_atan2(a, b)",                  NULL,           weft_div(weft_mul(g, b), sum_of_squares(a, b)), weft_neg(weft_div(weft_mul(g, a), sum_of_squares(a, b))))
WI_MAP1(abs,           NUMERIC, "fabs(a)",                           "max(a, -a)",   weft_mul(g, weft_sign(a)))
WI_MAP1(sign,          NUMERIC, "select(select((WF)(0.0f), (WF)(-1.0f), a < 0.0f), (WF)(1.0f), a > 0.0f)",
                                                                     "clamp(a, (WI)(-1), (WI)(1))", NULL)
WI_MAP1(floor,         NUMERIC, "floor(a)",                          "a",            NULL)
WI_MAP1(ceil,          NUMERIC, "ceil(a)",                           "a",            NULL)
WI_MAP1(round,         NUMERIC, "rint(a)",                           "a",            NULL)
WI_MAP1(trunc,         NUMERIC, "trunc(a)",                          "a",            NULL)
WI_MAP1(rsqrt,         FLOAT,   "1.0f / sqrt(a)",                    NULL,           weft_mul(g, weft_mul(weft_number(y, -0.5), weft_mul(y, weft_square(y)))))
WI_MAP1(reciprocal,    FLOAT,   "1.0f / a",                          NULL,           weft_neg(weft_mul(g, weft_square(y))))
WI_MAP1(exp2,          FLOAT,   "weft_exp2(a)",                      NULL,           weft_mul(g, weft_mul(y, weft_number(y, 0.69314718055994531))))
WI_MAP1(expm1,         FLOAT,   "weft_expm1(a)",                     NULL,           weft_mul(g, weft_add(y, weft_number(y, 1))))
WI_MAP1(log2,          FLOAT,   "weft_log2(a)",                      NULL,           weft_div(weft_mul(g, weft_number(g, 1.4426950408889634)), a))
WI_MAP1(log1p,         FLOAT,   "weft_log1p(a)",                     NULL,           weft_div(g, weft_add(a, weft_number(a, 1))))
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
WI_MAP1(selu,          FLOAT,   "(WF)(1.05070099f) * select((WF)(1.67326324f) * weft_expm1(a), a, a > 0.0f)",
                                                                     NULL,           weft_mul(g, selu_slope(a, y)))
WI_MAP1(relu6,         FLOAT,   "select(select(a, (WF)(6.0f), a > 6.0f), (WF)(0.0f), a < 0.0f)",
                                                                     NULL,           between(a, 0, 6, g))
WI_MAP1(hardsigmoid,   FLOAT,   "select(select((a + 3.0f) * 0.16666667f, (WF)(1.0f), a > 3.0f), (WF)(0.0f), a < -3.0f)",
                                                                     NULL,           between(a, -3, 3, weft_mul(g, weft_number(g, 1 / 6.0))))
WI_MAP1(hardswish,     FLOAT,   "a * (select(select(a + 3.0f, (WF)(6.0f), a > 3.0f), (WF)(0.0f), a < -3.0f) * 0.16666667f)",
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

/*      name            the file of its family has the descriptor wi_op_<name> */
WI_NODE(cast)        /* elementwise.c */
WI_NODE(sum)         /* reduce.c */
WI_NODE(max)
WI_NODE(argmax)
WI_NODE(matmul)      /* matmul.c */
WI_NODE(softmax)     /* softmax.c */
WI_NODE(log_softmax)
WI_NODE(cross_entropy)
WI_NODE(reshape)     /* movement.c */
WI_NODE(permute)
WI_NODE(expand)
WI_NODE(slice)
WI_NODE(concat)
WI_NODE(uniform)     /* random.c */
WI_NODE(normal)
WI_NODE(dropout)

/*          name        built from the above, without a descriptor */
WI_FUNCTION_ROW(mean)        /* reduce.c */
WI_FUNCTION_ROW(linear_with) /* matmul.c */
WI_FUNCTION_ROW(mse)         /* softmax.c */
WI_FUNCTION_ROW(transpose)   /* movement.c */
WI_FUNCTION_ROW(flatten)
WI_FUNCTION_ROW(clamp)       /* activation.c */
WI_FUNCTION_ROW(hardtanh)
WI_FUNCTION_ROW(leaky_relu)
WI_FUNCTION_ROW(prelu)
WI_FUNCTION_ROW(elu)
WI_FUNCTION_ROW(add_number)  /* number_forms.c */
WI_FUNCTION_ROW(sub_number)
WI_FUNCTION_ROW(mul_number)
WI_FUNCTION_ROW(div_number)
WI_FUNCTION_ROW(pow_number)
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
