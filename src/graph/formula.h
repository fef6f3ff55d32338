/* The computation of an elementwise op for one element, as a tree of operations. The planner computes the cost of the
 * op from the tree (wi_formula_cost), and generates the code for each number format (plan/emit/formula_code.c). */
#ifndef WI_FORMULA_H
#define WI_FORMULA_H

#include <stdbool.h>

typedef enum wi_formula_kind {
    WI_FORMULA_INPUT,        /* input number `input` of the node */
    WI_FORMULA_NUMBER,       /* `number` */
    WI_FORMULA_NEGATE,       /* -x */
    WI_FORMULA_BINARY,       /* x `name` y, an operator; a comparison sets all bits of a lane to 0 or to 1 */
    WI_FORMULA_DIVIDE,       /* x / y */
    WI_FORMULA_TRUTH,        /* 1 in lanes where the mask x is set, else 0 */
    WI_FORMULA_SELECT,       /* y in lanes where the mask z is set, else x */
    WI_FORMULA_BUILTIN,      /* `name`(x, ...), a function of OpenCL C that takes about one instruction */
    WI_FORMULA_SLOW_BUILTIN, /* the same, for a built-in function that is as slow as a FUNCTION */
    WI_FORMULA_FUNCTION      /* `name`(x, ...), a function of cl_kernels/elementwise */
} wi_formula_kind;

typedef struct wi_formula {
    wi_formula_kind kind;
    int input;
    double number;
    const char *name;
    const struct wi_formula *of[3]; /* operands x, y, z; NULL: none */
} wi_formula;

/* The cost of operations, in any unit. */
typedef struct wi_formula_prices {
    int simple, division, function;
} wi_formula_prices;

int wi_formula_cost(const wi_formula *formula, const wi_formula_prices *prices);
/* Does the formula call a function of cl_kernels/elementwise? The formula may be NULL. */
bool wi_formula_calls(const wi_formula *formula);

#endif
