/* Functions for the recognisers of ops that are written by parts. */
#include "ops/parts.h"

bool wi_parts_note(wi_recognised *found, weft_tensor *part) {
    if (found->part_count == WI_MOST_PARTS) return false;
    found->parts[found->part_count++] = part;
    return true;
}

bool wi_parts_number(const weft_tensor *x, double *number) {
    int power;
    return wi_is_constant(x, number, &power) && power == 0;
}
