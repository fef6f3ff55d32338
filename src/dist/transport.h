/* The interface between Weft and the libraries by which processes exchange data. Each library has a plug-in, a shared object that exports
 * wi_transport_of_plug_in, so that libweft needs none of them, and so that one libweft serves implementations of MPI whose binary
 * interfaces differ. A plug-in includes only this header of Weft, and knows nothing of tensors and sums: it moves bytes.
 *
 * All processes begin the same exchanges in the same order, and the same gathers in the same order; but a process may begin an exchange before
 * a gather that another process begins after it. Only one thread at a time calls functions. Ranks are processes, numbered from 0. A function
 * that fails writes one line to `line` (WI_TRANSPORT_LINE bytes) and returns false. */
#ifndef WI_TRANSPORT_H
#define WI_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

enum { WI_TRANSPORT_VERSION = 2, WI_TRANSPORT_LINE = 512 };

/* An exchange in progress; the plug-in allocates and frees it. */
typedef struct wi_transport_work wi_transport_work;

typedef struct wi_transport {
    int version;      /* WI_TRANSPORT_VERSION of the header that the plug-in was compiled with */
    const char *name; /* "Open MPI" */
    /* Joins the job to which this process belongs. communicator: a pointer to an MPI_Comm of the caller; NULL: all processes of the job. */
    bool (*join)(const void *communicator, size_t *rank, size_t *size, char *line);
    /* Leaves the job. whole: all ranks do so; false: some may have died, and the others are waited for, but not for long: a launcher may kill
     * all as soon as one ends, before they have shown why. */
    void (*leave)(bool whole);
    /* Begins an exchange. `bytes` and `at` have an entry per rank: rank r gets send_bytes[r] bytes from send + send_at[r] of this rank,
     * and this rank stores receive_bytes[r] bytes of rank r from receive + receive_at[r] on. Each number is below 2^31. The memory must
     * stay valid, and the sent bytes must not change, until the work is finished. */
    bool (*exchange)(wi_transport_work **work, const void *send, const size_t *send_bytes,
        const size_t *send_at, void *receive, const size_t *receive_bytes, const size_t *receive_at,
        char *line);
    /* Begins a gather: every rank receives bytes[r] bytes of each rank r. `send` has the bytes of this rank. */
    bool (*gather)(wi_transport_work **work, const void *send, void *receive, const size_t *bytes,
        const size_t *at, char *line);
    /* Sets *finished, without waiting. Finished and failed work is freed. */
    bool (*test)(wi_transport_work *work, bool *finished, char *line);
} wi_transport;

typedef const wi_transport *wi_transport_function(void);
#define WI_TRANSPORT_SYMBOL "wi_transport_of_plug_in"

#endif
