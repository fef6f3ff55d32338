/* A copy in host memory of the parameters and named states, which are also the contents of a file of weights. */
#ifndef WI_SNAPSHOT_H
#define WI_SNAPSHOT_H

#include "io/saved_list.h"

typedef struct wi_snapshot {
    weft_graph *graph; /* not retained */
    unsigned char *data;
    size_t bytes;
    bool taken;
} wi_snapshot;

/* Allocates the memory, so that take and restore allocate nothing. Variables that are created later are not part of the snapshot. */
weft_status wi_snapshot_prepare(wi_snapshot *snapshot, weft_graph *graph);
void wi_snapshot_clear(wi_snapshot *snapshot);
weft_status wi_snapshot_take(wi_snapshot *snapshot);
/* Adds the copies as "weft.best.NAME". */
weft_status wi_snapshot_list(const wi_snapshot *snapshot, wi_saved_list *list);
weft_status wi_snapshot_restore(const wi_snapshot *snapshot); /* WEFT_ERROR_STATE before the first take */

#endif
