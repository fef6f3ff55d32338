/* The rows that a mask selects, as an index of fixed length, for layers that compute only some of their rows. Kernel: select_rows.cl. */
#include "ops/index/index.h"

const wi_op wi_op_select_rows = {.name = "adaptive_softmax",
    .kind = WI_KERNEL,
    .zero_gradient = true,
    .contiguous = 1,
    .fault = "a cluster has more labels than its capacity",
    .fault_index = "of the labels"};

weft_tensor *wi_chosen_rows(weft_tensor *mask, int64_t most) {
    const wi_shape shape = {.rank = 1, .dims = {most}};
    return mask ? wi_node(mask->graph, &wi_op_select_rows, &mask, 1, WEFT_I32, &shape, NULL) : NULL;
}
