/* What a step reads and writes, as ranges of bytes of storages (accesses.c). */
#ifndef WI_ACCESSES_H
#define WI_ACCESSES_H

#include "plan/layout/loops.h"

/* The smallest range of bytes of a storage that contains all bytes which the step reads in the storage, or all which it writes there. The
 * storage is not part of another storage. */
typedef struct wi_access {
    int storage;
    bool writes;
    int64_t first, end;
} wi_access;

typedef struct wi_step_accesses {
    wi_access *of;
    int count;
} wi_step_accesses;

enum { WI_MOST_ACCESSES = WI_MAX_OPERANDS + 2 };

wi_access wi_access_of(const wi_partition *p, int value, bool writes);
bool wi_accesses_meet(const wi_access *a, const wi_access *b);
/* Lists the accesses of the step. accesses->of has room for WI_MOST_ACCESSES. */
void wi_find_accesses(const wi_loops *loops, int step, wi_step_accesses *accesses);

#endif
