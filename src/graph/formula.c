/* Costs and functions of formulas (contract in formula.h). */
#include "graph/formula.h"
#include <stddef.h>

enum { OPERANDS = 3 };

static int own_cost(wi_formula_kind kind, const wi_formula_prices *prices) {
    switch (kind) {
    case WI_FORMULA_INPUT:
    case WI_FORMULA_NUMBER: return 0;
    case WI_FORMULA_DIVIDE: return prices->division;
    case WI_FORMULA_SLOW_BUILTIN:
    case WI_FORMULA_FUNCTION: return prices->function;
    case WI_FORMULA_NEGATE:
    case WI_FORMULA_BINARY:
    case WI_FORMULA_TRUTH:
    case WI_FORMULA_SELECT:
    case WI_FORMULA_BUILTIN: break;
    }
    return prices->simple;
}

int wi_formula_cost(const wi_formula *formula, const wi_formula_prices *prices) {
    int cost = own_cost(formula->kind, prices);
    for (int i = 0; i < OPERANDS && formula->of[i]; i++) cost += wi_formula_cost(formula->of[i], prices);
    return cost;
}

bool wi_formula_calls(const wi_formula *formula) {
    if (!formula) return false;
    bool calls = formula->kind == WI_FORMULA_FUNCTION;
    for (int i = 0; i < OPERANDS && !calls; i++) calls = wi_formula_calls(formula->of[i]);
    return calls;
}
