/* Refuses plans whose meaning would depend on the order of their outputs. */
#ifndef WI_CONFLICTS_H
#define WI_CONFLICTS_H

#include "plan/partition.h"

/* No two assignments write the same memory. */
weft_status wi_check_writers(const wi_partition *p);

#endif
