/* The words of formulas in op_list.h: each is a constant tree (graph/formula.h). A, B and C are the op's inputs. */
#ifndef WI_FORMULAS_H
#define WI_FORMULAS_H

#include "graph/formula.h"

#define FORMULA(...) (&(const wi_formula){__VA_ARGS__})
#define A            FORMULA(.kind = WI_FORMULA_INPUT, .input = 0)
#define B            FORMULA(.kind = WI_FORMULA_INPUT, .input = 1)
#define C            FORMULA(.kind = WI_FORMULA_INPUT, .input = 2)
#define NUMBER(x)    FORMULA(.kind = WI_FORMULA_NUMBER, .number = (x))

#define OPERATOR(operator, x, y) FORMULA(.kind = WI_FORMULA_BINARY, .name = operator, .of = {x, y})
#define ADD(x, y)                OPERATOR("+", x, y)
#define SUB(x, y)                OPERATOR("-", x, y)
#define MUL(x, y)                OPERATOR("*", x, y)
#define DIV(x, y)                FORMULA(.kind = WI_FORMULA_DIVIDE, .name = "/", .of = {x, y})
#define NEG(x)                   FORMULA(.kind = WI_FORMULA_NEGATE, .of = {x})
#define AND(x, y)                OPERATOR("&", x, y)
#define OR(x, y)                 OPERATOR("|", x, y)
#define XOR(x, y)                OPERATOR("^", x, y)

/* Comparisons are masks. TRUTH makes them 0 and 1; IF takes one, and MASK makes one of a bool input. */
#define EQUAL(x, y)               OPERATOR("==", x, y)
#define UNEQUAL(x, y)             OPERATOR("!=", x, y)
#define LESS(x, y)                OPERATOR("<", x, y)
#define MORE(x, y)                OPERATOR(">", x, y)
#define AT_MOST(x, y)             OPERATOR("<=", x, y)
#define AT_LEAST(x, y)            OPERATOR(">=", x, y)
#define TRUTH(mask)               FORMULA(.kind = WI_FORMULA_TRUTH, .of = {mask})
#define MASK(x)                   NEG(x)
#define IF(mask, then, otherwise) FORMULA(.kind = WI_FORMULA_SELECT, .of = {otherwise, then, mask})

#define BUILTIN(function, ...) FORMULA(.kind = WI_FORMULA_BUILTIN, .name = function, .of = {__VA_ARGS__})
#define SQRT(x)                FORMULA(.kind = WI_FORMULA_SLOW_BUILTIN, .name = "sqrt", .of = {x})
#define CALL(function, ...)                                                                                  \
    FORMULA(.kind = WI_FORMULA_FUNCTION, .name = "weft_" function, .of = {__VA_ARGS__})

/* Hyperbolic functions, whose inputs may be so large that exp or a square of them is infinite: exp(x) / 2, as a square of exp(x / 2);
 * exp(|A|) - 1; log(2 x) for x above LARGE, where x² + 1 and x² - 1 round to x². */
#define HALF(x)          MUL(x, NUMBER(0.5))
#define HALF_EXP(x)      MUL(HALF(CALL("exp", HALF(x))), CALL("exp", HALF(x)))
#define EXPM1_OF_SIZE    CALL("expm1", BUILTIN("fabs", A))
#define LARGE            1e9
#define LOG_OF_DOUBLE(x) ADD(CALL("log", x), NUMBER(0.69314718055994531))

#endif
