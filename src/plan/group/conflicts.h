/* Rejects plans whose result would depend on the order of their outputs. */
#ifndef WI_CONFLICTS_H
#define WI_CONFLICTS_H

#include "plan/group/partition.h"

/* Returns WEFT_ERROR_ARGUMENT if two assignments write the same memory; the message names the variable. */
weft_status wi_check_writers(const wi_partition *p);
/* Does the assignment write to the memory of the value, which is a variable or a view of one? */
bool wi_assigns_part(const wi_partition *p, const wi_assignment *assignment, int value);

#endif
