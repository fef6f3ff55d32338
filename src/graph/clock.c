/* Clocks: the numbers of updates, and the windows of runs over which gradients are accumulated. */
#include "graph/weft_graph.h"

uint64_t wi_clock_update(const wi_clock *clock) {
    return clock->runs == 0 ? 1 : (clock->runs - 1) / clock->every + 1;
}

void wi_clock_run(wi_clock *clock) {
    clock->held = clock->runs % clock->every + 1;
    clock->runs += clock->ends ? clock->every - clock->held + 1 : 1;
    clock->ends = false;
}

void wi_accumulation_goes_on(weft_graph *graph) {
    for (size_t i = 0; i < graph->clock_count; i++) graph->clocks[i].ends = false;
}
