/* A job: the processes that train together, and how they exchange data.
 *
 * Exchanges match by their order, so all processes must make the same ones. Each sequence of exchanges begins with a meeting, a small
 * exchange of a fixed size that says what the process is about to do, and whether it has failed. A process that fails therefore goes on to
 * the next meeting, where all others learn of it; between meetings it sends what it has. */
#ifndef WI_GROUP_H
#define WI_GROUP_H

#include "cl/context.h"
#include "dist/transport.h"
#include <stdatomic.h>
#include <weft/distributed.h>

/* What a meeting is for. */
typedef enum wi_meeting {
    WI_MEET_LEAVE = 1,
    WI_MEET_WAIT,
    WI_MEET_BROADCAST,
    WI_MEET_GATHER,
    WI_MEET_SUM,
    WI_MEET_TABLE,
    WI_MEET_COMPARE,
    WI_MEET_SYNCHRONISE,
    WI_MEET_PASS,
    WI_MEET_STEP,
    WI_MEET_RESULTS,
    WI_MEET_PARAMETERS,
    WI_MEETINGS
} wi_meeting;

struct weft_distributed {
    weft_context *context;
    const weft_allocator *allocator;
    const wi_transport *transport; /* NULL: this process is alone (tests) */
    size_t rank, size;
    double timeout;
    bool is_over;             /* a process has failed or left: no further exchange is possible */
    char over[WI_ERROR_LINE]; /* why */
    const atomic_bool
        *stops; /* while set and true, a wait for other processes ends after a few seconds; may be NULL */
    size_t *
        lists; /* four lists of a number per process, and `messages`: for exchanges, so that steps allocate nothing */
    void *messages;
    atomic_int references;
};
/* Allocates the lists for `size` processes. */
weft_status wi_group_reserve(weft_distributed *group);

/* All processes do the same thing next. status: WEFT_OK, or the error of this process, whose message is the last error. If a process has
 * failed, every process gets an error: its own, or WEFT_ERROR_PEER with the message of the first rank that failed. */
weft_status wi_group_meet(weft_distributed *group, wi_meeting what, weft_status status);
/* Between meetings, or within one that has succeeded: */
/* Sets *finished, without waiting. */
weft_status wi_group_test(weft_distributed *group, wi_transport_work *work, bool *finished);
/* Waits for the work. */
weft_status wi_group_wait(weft_distributed *group, wi_transport_work *work);
/* own: bytes[rank] bytes; all: bytes[r] bytes of each rank r, one after the other. */
weft_status wi_group_gather(weft_distributed *group, const void *own, const size_t *bytes, void *all);
/* As wi_group_gather, but only rank 0 gets `all`. */
weft_status wi_group_collect(weft_distributed *group, const void *own, const size_t *bytes, void *all);
/* The same number of bytes of each rank. */
weft_status wi_group_gather_equal(weft_distributed *group, const void *own, size_t bytes, void *all);
/* *flag becomes true if it is true in any process. */
weft_status wi_group_any(weft_distributed *group, bool *flag);
weft_status wi_group_broadcast(weft_distributed *group, void *data, size_t bytes, size_t from);
/* Rank r gets send_bytes[r] bytes of this rank, and this rank receive_bytes[r] of rank r; both lie in the order of the ranks, one after the
 * other. Below 2^31 bytes in all. */
weft_status wi_group_exchange(weft_distributed *group, const void *send, const size_t *send_bytes,
    void *receive, const size_t *receive_bytes);
/* Compares texts of lines "name: value". WEFT_ERROR_ARGUMENT, on all processes: a line differs; the message names the rank and the line.
 * what: the call, for the message. */
weft_status wi_group_compare(weft_distributed *group, const char *what, const char *text);

/* The plug-in of the implementation of MPI that started this process, or that the program has loaded. */
weft_status wi_plug_in_load(const wi_transport **transport);

#endif
