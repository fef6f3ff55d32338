/* The plug-in for implementations of MPI (contract in transport.h). It is compiled once against each implementation. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "dist/transport.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef WI_MPI_NAME
#error "WI_MPI_NAME is the name of the implementation of MPI"
#endif

struct wi_transport_work {
    MPI_Request request;
    int *numbers; /* counts and offsets, which MPI reads until the exchange is finished */
};

/* The gathers have a communicator of their own, so that they need no fixed order among the exchanges; and so has the end, before which exchanges
 * may remain unfinished. */
static MPI_Comm own = MPI_COMM_NULL, of_gathers = MPI_COMM_NULL, of_leaving = MPI_COMM_NULL;
static bool is_whole = true;
static int unfinished; /* exchanges and gathers in progress */

static bool fail(const char *call, int error, char *line) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    snprintf(line, WI_TRANSPORT_LINE, "%s: %s: %.400s", WI_MPI_NAME, call, text);
    return false;
}

/* Finalises MPI at the end of the process, because MPI cannot be initialised again. Does nothing if ranks may have died, because
 * MPI_Finalize would wait for them. */
static void finalise(void) {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    if (is_whole && !is_finalised) MPI_Finalize();
}

/* Initialises MPI unless the program has done so; a process can initialise MPI only once. */
static bool initialise(char *line) {
    int is_initialised = 0, is_finalised = 0, level = 0;
    MPI_Finalized(&is_finalised);
    if (is_finalised) {
        snprintf(line, WI_TRANSPORT_LINE,
            "%s was finalised before: a process can join a job only once, so keep the object until the "
            "process ends",
            WI_MPI_NAME);
        return false;
    }
    MPI_Initialized(&is_initialised);
    if (is_initialised) return true;
    const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (error != MPI_SUCCESS) return fail("MPI_Init_thread", error, line);
    return atexit(finalise) == 0 || fail("atexit", MPI_ERR_OTHER, line);
}

static bool join(const void *communicator, size_t *rank, size_t *size, char *line) {
    int number = 0, count = 0;
    if (!initialise(line)) return false;
    const MPI_Comm all = communicator ? *(const MPI_Comm *)communicator : MPI_COMM_WORLD;
    is_whole =
        false; /* if the process ends without calling `leave`, MPI is not finalised and the launcher ends the job */
    int error = MPI_Comm_dup(all, &own);
    if (error != MPI_SUCCESS) return fail("MPI_Comm_dup", error, line);
    error = MPI_Comm_dup(own, &of_gathers);
    if (error == MPI_SUCCESS) error = MPI_Comm_dup(own, &of_leaving);
    if (error != MPI_SUCCESS) return fail("MPI_Comm_dup", error, line);
    error = MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(of_gathers, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(of_leaving, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS) error = MPI_Comm_rank(own, &number);
    if (error == MPI_SUCCESS) error = MPI_Comm_size(own, &count);
    if (error != MPI_SUCCESS) return fail("MPI_Comm_size", error, line);
    *rank = (size_t)number;
    *size = (size_t)count;
    return true;
}

/* Waits until all ranks leave, or some may have died. Returns whether all are here and no exchange is unfinished in any of them. */
static bool all_leave(void) {
    enum { TRIES = 2000 };
    static int sent, most; /* MPI may use them after the wait has ended */
    const struct timespec pause = {.tv_nsec = 1000000};
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    sent = unfinished;
    if (MPI_Iallreduce(&sent, &most, 1, MPI_INT, MPI_MAX, of_leaving, &request) != MPI_SUCCESS) return false;
    for (int i = 0; i < TRIES && !done; i++) {
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (!done) nanosleep(&pause, NULL);
    }
    return done && most == 0;
}

static void leave(bool whole) {
    if (own == MPI_COMM_NULL) return;
    is_whole = whole || all_leave();
    if (!is_whole) return;
    MPI_Comm_free(&of_leaving);
    MPI_Comm_free(&of_gathers);
    MPI_Comm_free(&own);
}

/* Allocates a wi_transport_work with copies of `count` lists, each with a number per rank. */
static wi_transport_work *make_work(const size_t *const *lists, size_t count, char *line) {
    int size = 0;
    MPI_Comm_size(own, &size);
    wi_transport_work *const work = malloc(sizeof *work);
    int *const numbers = malloc(count * (size_t)size * sizeof *numbers);
    if (!work || !numbers) {
        free(work);
        free(numbers);
        snprintf(line, WI_TRANSPORT_LINE, "%s: out of host memory", WI_MPI_NAME);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        for (int r = 0; r < size; r++) numbers[i * (size_t)size + (size_t)r] = (int)lists[i][r];
    *work = (wi_transport_work){MPI_REQUEST_NULL, numbers};
    return work;
}

static void free_work(wi_transport_work *work) {
    free(work->numbers);
    free(work);
}

static bool exchange(wi_transport_work **work, const void *send, const size_t *send_bytes,
    const size_t *send_at, void *receive, const size_t *receive_bytes, const size_t *receive_at, char *line) {
    const size_t *const lists[] = {send_bytes, send_at, receive_bytes, receive_at};
    int size = 0;
    MPI_Comm_size(own, &size);
    *work = make_work(lists, 4, line);
    if (!*work) return false;
    int *const n = (*work)->numbers;
    const int error = MPI_Ialltoallv(
        send, n, n + size, MPI_BYTE, receive, n + 2 * size, n + 3 * size, MPI_BYTE, own, &(*work)->request);
    unfinished += error == MPI_SUCCESS;
    if (error == MPI_SUCCESS) return true;
    free_work(*work);
    return fail("MPI_Ialltoallv", error, line);
}

static bool gather(wi_transport_work **work, const void *send, void *receive, const size_t *bytes,
    const size_t *at, char *line) {
    const size_t *const lists[] = {bytes, at};
    int size = 0, rank = 0;
    MPI_Comm_size(own, &size);
    MPI_Comm_rank(own, &rank);
    *work = make_work(lists, 2, line);
    if (!*work) return false;
    int *const n = (*work)->numbers;
    const int error = MPI_Iallgatherv(
        send, n[rank], MPI_BYTE, receive, n, n + size, MPI_BYTE, of_gathers, &(*work)->request);
    unfinished += error == MPI_SUCCESS;
    if (error == MPI_SUCCESS) return true;
    free_work(*work);
    return fail("MPI_Iallgatherv", error, line);
}

static bool test(wi_transport_work *work, bool *finished, char *line) {
    int done = 0;
    const int error = MPI_Test(&work->request, &done, MPI_STATUS_IGNORE);
    *finished = done != 0 || error != MPI_SUCCESS;
    unfinished -= *finished;
    if (*finished) free_work(work);
    return error == MPI_SUCCESS ? true : fail("MPI_Test", error, line);
}

const wi_transport *wi_transport_of_plug_in(void);
__attribute__((visibility("default"))) const wi_transport *wi_transport_of_plug_in(void) {
    static const wi_transport transport = {.version = WI_TRANSPORT_VERSION,
        .name = WI_MPI_NAME,
        .join = join,
        .leave = leave,
        .exchange = exchange,
        .gather = gather,
        .test = test};
    return &transport;
}
