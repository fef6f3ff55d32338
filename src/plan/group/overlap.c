/* Finds values of one storage that have elements in common. */
#include "plan/group/partition.h"

wi_span wi_span_of(const wi_value *value) {
    const int64_t offset = value->layout->offset.general;
    wi_span s = {offset, offset + 1};
    for (int i = 0; i < value->extent->rank; i++) {
        const int64_t reach = (value->extent->dims[i].general - 1) * value->layout->strides[i].general;
        *(reach < 0 ? &s.first : &s.end) += reach;
    }
    return s;
}

bool wi_values_overlap(const wi_partition *p, int a, int b) {
    if (b < 0 || wi_base_storage(p, a) != wi_base_storage(p, b)) return false;
    const wi_span one = wi_span_of(&p->values[a]), other = wi_span_of(&p->values[b]);
    return one.first < other.end && other.first < one.end;
}
