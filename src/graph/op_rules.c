/* The search for the rules of an op (contract in op_rules.h). */
#include "graph/op_rules.h"
#include "graph/weft_graph.h"

static const wi_op_rules *find(const wi_op *op) {
    static const wi_op_rules none = {0};
    for (size_t i = 0; wi_all_rules[i]; i++)
        for (const wi_op_rules *rules = wi_all_rules[i]; rules->op; rules++)
            if (rules->op == op) return rules;
    return &none;
}

const wi_op_rules *wi_rules_of(weft_graph *graph, const wi_op *op) {
    wi_known_rules *const known = &graph->rules[(uintptr_t)op / sizeof *op % WI_KNOWN_RULES];
    if (known->op != op) *known = (wi_known_rules){op, find(op)};
    return known->rules;
}
