/* A job: the processes that train together, and how they exchange data.
 *
 * Exchanges are matched by their order, so all processes must do the same exchanges. Each sequence of exchanges begins with a *meeting*: a
 * small exchange of fixed size in which every process tells the others what it is about to do and whether it has failed. A process that
 * fails between meetings still takes part in the exchanges, with whatever data it has, and reports the error at the next meeting. */
#ifndef WI_GROUP_H
#define WI_GROUP_H

#include "cl/context.h"
#include "dist/transport.h"
#include <stdatomic.h>
#include <weft/distributed.h>

/* The purposes of meetings. */
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
    const wi_transport *transport; /* NULL: the job has only this process (tests) */
    size_t rank, size;
    double timeout;
    bool is_over;             /* a process has failed or left: no further exchange is possible */
    char over[WI_ERROR_LINE]; /* if is_over: the reason */
    const atomic_bool
        *stops; /* if not NULL and *stops is true, a wait for other processes ends after a few seconds */
    size_t *
        lists; /* memory for exchanges, so that steps allocate nothing: four lists with a number per process, and `messages` */
    void *messages;
    atomic_int references;
};
/* Allocates the lists for `size` processes. */
weft_status wi_group_reserve(weft_distributed *group);

/* A meeting: succeeds if all processes call it with the same purpose and WEFT_OK. status: WEFT_OK, or the error of this process, whose
 * message is the thread's last error. If a process has failed, every process gets an error: its own, or WEFT_ERROR_PEER with the message
 * of the first rank that failed. */
weft_status wi_group_meet(weft_distributed *group, wi_meeting what, weft_status status);
/* ---- exchanges, after a meeting that has succeeded ---- */
/* Sets *finished, without waiting. */
weft_status wi_group_test(weft_distributed *group, wi_transport_work *work, bool *finished);
/* Waits for the work. */
weft_status wi_group_wait(weft_distributed *group, wi_transport_work *work);
/* Every process gets the data of all processes. own: bytes[rank] bytes of this process; all: receives bytes[r] bytes of each rank r, one
 * rank after the other. */
weft_status wi_group_gather(weft_distributed *group, const void *own, const size_t *bytes, void *all);
/* As wi_group_gather, but only rank 0 gets `all`. */
weft_status wi_group_collect(weft_distributed *group, const void *own, const size_t *bytes, void *all);
/* Like wi_group_gather, with the same number of bytes from each rank. */
weft_status wi_group_gather_equal(weft_distributed *group, const void *own, size_t bytes, void *all);
/* *flag becomes true if it is true in any process. */
weft_status wi_group_any(weft_distributed *group, bool *flag);
weft_status wi_group_broadcast(weft_distributed *group, void *data, size_t bytes, size_t from);
/* Sends send_bytes[r] bytes to each rank r, and receives receive_bytes[r] bytes from it. `send` and `receive` have the data of the ranks one
 * after the other. At most 2^31 - 1 bytes in all. */
weft_status wi_group_exchange(weft_distributed *group, const void *send, const size_t *send_bytes,
    void *receive, const size_t *receive_bytes);
/* Compares the texts of all processes, which have lines "name: value". If a line differs, returns WEFT_ERROR_ARGUMENT in all processes; the
 * message names the rank and the line. what: the public call, for the message. */
weft_status wi_group_compare(weft_distributed *group, const char *what, const char *text);

/* Loads the plug-in for the implementation of MPI that started this process or that the program is linked with. */
weft_status wi_plug_in_load(const wi_transport **transport);

#endif
