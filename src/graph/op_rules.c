/* The search for the rules of an op, and for ops that are written by parts (contract in op_rules.h). */
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

const wi_recogniser *wi_recognise(weft_tensor *y, wi_recognised *found) {
    for (const wi_recogniser *known = wi_recognisers; known->root; known++) {
        if (known->root != y->op) continue;
        *found = (wi_recognised){0};
        if (known->find(y, found) && found->node && found->node != y) return known;
    }
    return NULL;
}

static uint32_t reads(const weft_tensor *node, const weft_tensor *input) {
    uint32_t times = 0;
    for (int i = 0; i < node->input_count; i++) times += node->inputs[i] == input;
    return times;
}

uint32_t wi_reads_of_part(const weft_tensor *y, const wi_recognised *found, const weft_tensor *part) {
    uint32_t times = reads(y, part);
    for (int i = 0; i < found->part_count; i++) times += reads(found->parts[i], part);
    return times;
}
