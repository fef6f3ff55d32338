/* The check of labels (src/ops/loss/label.c): each step that computes a label reports the label if it is out of range. */
#include "ops/op_table.h"
#include "plan/emit/expression.h"
#include <inttypes.h>

/* If no label is ignored, the kernel gets 0 as the ignored label, which is never out of range. */
void wi_emit_label_check(wi_emitter *e, const weft_tensor *node, int label) {
    const wi_label_attributes *const own = &node->attributes->label;
    const int slot = wi_value_of_node(e->partition, node)->fault;
    const int64_t most = INT64_C(1) << 31, count = own->count < most ? own->count : most;
    wi_emit_argument(e, WI_ARGUMENT_FAULT, slot, 0, 0);
    wi_text_append(&e->text,
        "weft_check_label(t%d, %s, %" PRId64 "u, (int)(%" PRId64 "), faults%d, fault%d);\n", label,
        e->tail ? "lanes" : "WEFT_LANES", count, own->ignored < INT32_MIN ? 0 : own->ignored, slot, slot);
}
