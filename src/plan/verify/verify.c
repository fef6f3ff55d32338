/* Says whether the verifier is on; helpers of its files (contract in verify.h). */
#include "plan/verify/verify.h"
#include "cl/environment.h"
#include "plan/compiled_plan.h"

bool wi_verify_is_on(void) {
    if (wi_switch_value(WI_SWITCH_VERIFY)) return wi_switch_is(WI_SWITCH_VERIFY, "1");
#ifdef NDEBUG
    return false;
#else
    return true;
#endif
}

weft_status wi_verify_fail(wi_plan_pass pass, const char *thing, size_t index, const char *invariant) {
    WI_FAIL(
        WEFT_ERROR_INTERNAL, "plan verifier: %s: %s %zu: %s", wi_pass_name(pass), thing, index, invariant);
}

size_t wi_verify_room(const wi_partition *p, int storage) {
    size_t offset = 0;
    for (; p->storages[storage].alias >= 0; storage = p->storages[storage].alias)
        offset += p->storages[storage].alias_offset;
    return p->storages[storage].bytes - offset;
}

void wi_verify_reach(
    const wi_layout *layout, const wi_size *dims, int rank, size_t element, int64_t *first, int64_t *end) {
    *first = *end = layout->offset.actual;
    for (int d = 0; d < rank; d++) {
        const int64_t reach = (dims[d].actual - 1) * layout->strides[d].actual;
        *(reach < 0 ? first : end) += reach;
    }
    *first *= (int64_t)element;
    *end = (*end + 1) * (int64_t)element;
}
