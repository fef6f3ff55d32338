/* The one table of ops. It yields the descriptors, gradients and public functions of elementwise ops, the
 * list of names, and what the tests must cover.
 *
 * No include guard: define the five macros, then include. Columns of an elementwise row:
 *   name          weft_<name> is the public function
 *   types         NUMERIC f32 or i32 → the same; FLOAT f32 → f32; COMPARE f32 or i32 → bool;
 *                 WHERE bool and two of f32 or i32 → the latter
 *   float, int    the value in OpenCL C over a, b, c, for f32 and for i32 inputs (NULL: not for that dtype);
 *                 WF and WI are the float and int types of common.clh, comparisons end in WEFT_BOOL
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
WI_MAP1(exp,        FLOAT,   "exp(a)",                              NULL,           weft_mul(g, y))
WI_MAP1(log,        FLOAT,   "log(a)",                              NULL,           weft_div(g, a))
WI_MAP1(sqrt,       FLOAT,   "sqrt(a)",                             NULL,           weft_div(weft_mul(g, weft_number(g, 0.5)), y))
WI_MAP1(tanh,       FLOAT,   "tanh(a)",                             NULL,           weft_mul(g, weft_sub(weft_number(y, 1), weft_square(y))))
WI_MAP1(sigmoid,    FLOAT,   "1.0f / (1.0f + exp(-a))",             NULL,           weft_mul(g, weft_mul(y, weft_sub(weft_number(y, 1), y))))
WI_MAP1(relu,       FLOAT,   "select(a, (WF)(0.0f), a < 0.0f)",     NULL,           weft_where(weft_less(weft_number(y, 0), y), g, weft_number(g, 0)))
WI_MAP1(square,     NUMERIC, "a * a",                               "a * a",        weft_mul(g, weft_mul(a, weft_number(a, 2))))
WI_MAP2(equal,      COMPARE, "WEFT_BOOL(a == b)",                   "WEFT_BOOL(a == b)", NULL, NULL)
WI_MAP2(less,       COMPARE, "WEFT_BOOL(a < b)",                    "WEFT_BOOL(a < b)",  NULL, NULL)
WI_MAP2(less_equal, COMPARE, "WEFT_BOOL(a <= b)",                   "WEFT_BOOL(a <= b)", NULL, NULL)

/*      name            the file of its family has the descriptor wi_op_<name> */
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
WI_NODE(softmax)     /* softmax.c */
WI_NODE(log_softmax)
WI_NODE(reshape)     /* movement.c */
WI_NODE(permute)
WI_NODE(expand)
WI_NODE(slice)
WI_NODE(concat)
WI_NODE(gather)      /* index.c */
WI_NODE(index_select)
WI_NODE(scatter_sum)
WI_NODE(index_sum)
WI_NODE(uniform)     /* random.c */
WI_NODE(normal)
WI_NODE(dropout)
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

/*          name        built from the above, without a descriptor */
WI_FUNCTION_ROW(mean)        /* reduce.c */
WI_FUNCTION_ROW(any)
WI_FUNCTION_ROW(all)
WI_FUNCTION_ROW(count_nonzero)
WI_FUNCTION_ROW(linear_with) /* matmul.c */
WI_FUNCTION_ROW(scatter_add) /* index.c */
WI_FUNCTION_ROW(index_add)
WI_FUNCTION_ROW(transpose)   /* movement.c */
WI_FUNCTION_ROW(flatten)
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

/* clang-format on */

#undef WI_MAP1
#undef WI_MAP2
#undef WI_MAP3
#undef WI_NODE
#undef WI_FUNCTION_ROW
