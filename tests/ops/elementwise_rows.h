/* The elementwise ops in float64, one row an op: that is the whole test of a further one.
 *
 * No include guard: define ROW, then include.
 *   op        weft_<op> is the function under test
 *   kind      FLOAT1 FLOAT2 f32; NUMBER1 NUMBER2 f32 and i32; COMPARE two f32 or i32 → bool, no gradient;
 *             CHOOSE bool, then two of f32 or i32
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
/* clang-format on */

#undef ROW
