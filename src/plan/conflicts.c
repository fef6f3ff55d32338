/* Plans whose meaning would depend on the order of their outputs: two assignments to the same memory. */
#include "plan/conflicts.h"
#include <stdlib.h>

/* The bytes of a storage between which an assignment writes. */
typedef struct written {
    int storage;
    int64_t first, end;
    const weft_tensor *variable;
} written;

static written written_by(const wi_partition *p, const wi_assignment *assignment) {
    const wi_value *const value = &p->values[assignment->variable];
    const int64_t size = (int64_t)weft_dtype_size(value->node->dtype);
    written w = {.storage = wi_base_storage(p, assignment->variable),
        .first = value->layout.offset.general,
        .variable = p->values[value->base].node};
    w.end = w.first + 1;
    for (int i = 0; i < value->extent.rank; i++)
        w.end += (value->extent.dims[i].general - 1) * value->layout.strides[i].general;
    w.first *= size;
    w.end *= size;
    return w;
}

static int by_place(const void *a, const void *b) {
    const written *const x = a, *const y = b;
    if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Only weft_minimize and weft_average_swap assign to all parameters at once. */
static weft_status fail_writers(const weft_tensor *a, const weft_tensor *b) {
    const weft_tensor *const named = a->variable ? a : b;
    if (!named->variable)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "plan: two updates of weft_minimize write the parameters, and a run has no order between them: "
            "use two plans");
    if (!a->variable || !b->variable)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "plan: an update of weft_minimize, which writes every parameter, and an assignment both write "
            "'%s', and a "
            "run has no order between them: use two plans, or make '%s' a state",
            weft_tensor_name(named), weft_tensor_name(named));
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "plan: '%s' is assigned twice in one plan, and a run has no order between them: assign one value, or "
        "use "
        "two plans",
        weft_tensor_name(named));
}

weft_status wi_check_writers(const wi_partition *p) {
    written *const all = wi_arena_take(p->request->arena, (p->assignment_count + 1) * sizeof *all);
    if (!all) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->assignment_count; i++) all[i] = written_by(p, &p->assignments[i]);
    if (p->assignment_count > 1) qsort(all, p->assignment_count, sizeof *all, by_place);
    for (size_t i = 1; i < p->assignment_count; i++) {
        if (all[i - 1].storage == all[i].storage && all[i].first < all[i - 1].end)
            return fail_writers(all[i - 1].variable, all[i].variable);
    }
    return WEFT_OK;
}
