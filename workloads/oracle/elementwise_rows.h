/* The elementwise ops in float64, one row an op: that is the whole test of a further one.
 *
 * No include guard: define ROW, then include.
 *   op        weft_<op> is the function under test
 *   kind      FLOAT1 FLOAT2 f32; NUMBER1 NUMBER2 f32 and i32; COMPARE two f32 or i32 → bool, no gradient;
 *             CHOOSE bool, then two of f32 or i32; TEST1 f32 or i32 → bool; LOGIC1 LOGIC2 bool → bool
 *   formula   over a, b, c
 *   low high  the inputs' range, where the formula is smooth enough for finite differences */

/* clang-format off */
/*  op          kind     formula                      low    high */
ROW(add,        NUMBER2, a + b,                       -4,    4)
ROW(sub,        NUMBER2, a - b,                       -4,    4)
ROW(mul,        NUMBER2, a * b,                       -4,    4)
ROW(div,        FLOAT2,  a / b,                       0.5,   4)
ROW(neg,        NUMBER1, -a,                          -4,    4)
ROW(maximum,    NUMBER2, isnan(a) || a > b ? a : b,   -4,    4)
ROW(where,      CHOOSE,  a != 0 ? b : c,              -4,    4)
ROW(exp,        FLOAT1,  exp(a),                      -8,    8)
ROW(log,        FLOAT1,  log(a),                      0.05,  20)
ROW(sqrt,       FLOAT1,  sqrt(a),                     0.05,  20)
ROW(tanh,       FLOAT1,  tanh(a),                     -5,    5)
ROW(sigmoid,    FLOAT1,  1 / (1 + exp(-a)),           -8,    8)
ROW(relu,       FLOAT1,  isnan(a) || a > 0 ? a : 0,   -4,    4)
ROW(square,     NUMBER1, a * a,                       -4,    4)
ROW(equal,      COMPARE, a == b,                      -2,    2)
ROW(less,       COMPARE, a < b,                       -2,    2)
ROW(less_equal, COMPARE, a <= b,                      -2,    2)

/*  op             kind     formula                                                        low    high */
ROW(minimum,       NUMBER2, isnan(a) || a < b ? a : b,                                     -4,    4)
ROW(pow,           FLOAT2,  pow(a, b),                                                     0.2,   4)
ROW(remainder,     NUMBER2, remainder_of(a, b),                                            2.1,   6.5)
ROW(atan2,         FLOAT2,  atan2(a, b),                                                   0.2,   4)
ROW(abs,           NUMBER1, fabs(a),                                                       -4,    4)
ROW(sign,          NUMBER1, (a > 0) - (a < 0),                                             -4,    4)
ROW(floor,         NUMBER1, floor(a),                                                      -4,    4)
ROW(ceil,          NUMBER1, ceil(a),                                                       -4,    4)
ROW(round,         NUMBER1, nearbyint(a),                                                  -4,    4)
ROW(trunc,         NUMBER1, trunc(a),                                                      -4,    4)
ROW(rsqrt,         FLOAT1,  1 / sqrt(a),                                                   0.05,  20)
ROW(reciprocal,    FLOAT1,  1 / a,                                                         0.2,   4)
ROW(exp2,          FLOAT1,  exp2(a),                                                       -9,    9)
ROW(expm1,         FLOAT1,  expm1(a),                                                      -4,    4)
ROW(log2,          FLOAT1,  log2(a),                                                       0.05,  20)
ROW(log1p,         FLOAT1,  log1p(a),                                                      -0.99, 20)
ROW(sin,           FLOAT1,  sin(a),                                                        -9,    9)
ROW(cos,           FLOAT1,  cos(a),                                                        -9,    9)
ROW(tan,           FLOAT1,  tan(a),                                                        -1.3,  1.3)
ROW(asin,          FLOAT1,  asin(a),                                                       -0.99, 0.99)
ROW(acos,          FLOAT1,  acos(a),                                                       -0.99, 0.99)
ROW(atan,          FLOAT1,  atan(a),                                                       -4,    4)
ROW(erf,           FLOAT1,  erf(a),                                                        -3,    3)
ROW(gelu,          FLOAT1,  a * (erfc(-a * 0.70710678118654752440) / 2),                   -6,    6)
ROW(gelu_tanh,     FLOAT1,  a / (1 + exp(-1.5957691216057308 * (a + 0.044715 * a * a * a))), -6,  6)
ROW(silu,          FLOAT1,  a / (1 + exp(-a)),                                             -8,    8)
ROW(softplus,      FLOAT1,  a > 0 ? a + log1p(exp(-a)) : log1p(exp(a)),                    -8,    8)
ROW(softsign,      FLOAT1,  a / (1 + fabs(a)),                                             -4,    4)
ROW(mish,          FLOAT1,  a * tanh(a > 40 ? a : log1p(exp(a))),                          -8,    8)
ROW(selu,          FLOAT1,  1.0507009873554805 * (a > 0 ? a : 1.6732632423543772 * expm1(a)), -4, 4)
ROW(relu6,         FLOAT1,  a < 0 ? 0 : a > 6 ? 6 : a,                                     -4,    9)
ROW(hardsigmoid,   FLOAT1,  a < -3 ? 0 : a > 3 ? 1 : (a + 3) / 6,                          -5,    5)
ROW(hardswish,     FLOAT1,  a * (a < -3 ? 0 : a > 3 ? 1 : (a + 3) / 6),                    -5,    5)
ROW(not_equal,     COMPARE, a != b,                                                        -2,    2)
ROW(greater,       COMPARE, a > b,                                                         -2,    2)
ROW(greater_equal, COMPARE, a >= b,                                                        -2,    2)
ROW(isnan,         TEST1,   isnan(a) != 0,                                                 -2,    2)
ROW(isinf,         TEST1,   isinf(a) != 0,                                                 -2,    2)
ROW(isfinite,      TEST1,   isfinite(a) != 0,                                              -2,    2)
ROW(logical_and,   LOGIC2,  a != 0 && b != 0,                                              0,     1)
ROW(logical_or,    LOGIC2,  a != 0 || b != 0,                                              0,     1)
ROW(logical_xor,   LOGIC2,  (a != 0) != (b != 0),                                          0,     1)
ROW(logical_not,   LOGIC1,  a == 0,                                                        0,     1)
/* clang-format on */

#undef ROW
