/* What rules may ask about the pass that applies them (contract in rewrite.h). */
#include "graph/rewrite.h"
#include "graph/weft_graph.h"

const wi_rewritten *wi_rewrite_known(const wi_rewrite *rewrite, const weft_tensor *node) {
    return node->rewritten.pass == rewrite->graph->rewrite_passes ? &node->rewritten : NULL;
}

bool wi_rewrite_is_kept(const wi_rewrite *rewrite, const weft_tensor *node) {
    const wi_rewritten *const note = wi_rewrite_known(rewrite, node);
    return note && note->kept;
}

uint32_t wi_rewrite_readers(const wi_rewrite *rewrite, const weft_tensor *node) {
    const wi_rewritten *const note = wi_rewrite_known(rewrite, node);
    return note ? note->readers : 0;
}

bool wi_rewrite_has_one_reader(const wi_rewrite *rewrite, const weft_tensor *node) {
    return wi_rewrite_readers(rewrite, node) == 1 && !wi_rewrite_is_kept(rewrite, node);
}

weft_tensor **wi_rewrite_drawn(wi_rewrite *rewrite, uint32_t stream) {
    return &rewrite->drawn[stream];
}

size_t wi_rewrite_effect_on(const wi_rewrite *rewrite, const weft_tensor *variable) {
    size_t i = rewrite->first_effect;
    while (i < rewrite->root_count && rewrite->roots[i]->inputs[0] != variable) i++;
    return i;
}

weft_tensor *wi_rewrite_value(const wi_rewrite *rewrite, weft_tensor *variable) {
    const size_t found = wi_rewrite_effect_on(rewrite, variable);
    return found < rewrite->root_count ? rewrite->roots[found]->inputs[1] : variable;
}
