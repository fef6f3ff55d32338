/* weft/distributed.h: several processes that train together, on one machine or on the machines of a cluster.
 *
 * The processes run the same program, started by the launcher of an MPI library (mpirun, srun). Each opens the job, and gives it to its
 * trainers (weft_trainer_options.distributed), which divide each batch among the processes: see weft_trainer_options.gradient_shards. A
 * rank is the number of a process, from 0.
 *
 * All processes call the functions of this header, and weft_trainer_run and weft_trainer_evaluate with such a trainer, in the same order.
 * If one process fails or leaves, calls in the others end with WEFT_ERROR_PEER and a line that names its rank; the job is then over, and
 * every further call fails. A process that is killed ends the job through the launcher. Only one thread at a time may use a job.
 *
 * Weft uses the implementation of MPI that started the process: Open MPI or MPICH. libweft itself needs neither. On Windows,
 * weft_distributed_open returns WEFT_ERROR_UNSUPPORTED. Errors of all calls, besides those that they name: WEFT_ERROR_ARGUMENT (the job or
 * the data is NULL), WEFT_ERROR_MEMORY, WEFT_ERROR_PEER. */
#ifndef WEFT_DISTRIBUTED_H
#define WEFT_DISTRIBUTED_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_distributed weft_distributed;

typedef struct weft_distributed_options {
    size_t struct_size;
    /* A pointer to the MPI_Comm of a program that has initialised MPI itself with MPI_THREAD_SERIALIZED or more, and that
     * finalises it after the job was released. The communicator is duplicated. Default NULL: Weft initialises MPI, unless
     * the program has, and all processes of the launcher join; Weft then finalises MPI when the process ends, if all have
     * left the job by then. */
    const void *communicator;
    /* How long a call waits for the other processes, in seconds; then it fails. Default 1800. */
    double timeout;
} weft_distributed_options;
#define WEFT_DISTRIBUTED_OPTIONS_INIT .struct_size = sizeof(weft_distributed_options)

/* options NULL means all defaults. The context is retained. Errors: WEFT_ERROR_UNSUPPORTED (there is no plug-in for the library, or the
 * library is not installed; the line names its package); WEFT_ERROR_STATE (the launcher started several processes that do not know of
 * each other, or MPI was finalised before); WEFT_ERROR_PEER. */
WEFT_API weft_status weft_distributed_open(
    weft_distributed **job, weft_context *context, const weft_distributed_options *options);
WEFT_API weft_distributed *weft_distributed_retain(weft_distributed *job);
/* The last release leaves the job, and waits until all processes do so. NULL is allowed. */
WEFT_API void weft_distributed_release(weft_distributed *job);

WEFT_API size_t weft_distributed_rank(const weft_distributed *job); /* 0 for NULL */
WEFT_API size_t weft_distributed_size(const weft_distributed *job); /* processes; 1 for NULL */

/* Waits until all processes have called it. */
WEFT_API weft_status weft_distributed_wait(weft_distributed *job);
/* Every process gets the bytes of rank `from`. */
WEFT_API weft_status weft_distributed_broadcast(weft_distributed *job, void *data, size_t bytes, size_t from);
/* own: `bytes` bytes of this process; all: on return, the `bytes` bytes of each process, in the order of their ranks. */
WEFT_API weft_status weft_distributed_gather(weft_distributed *job, const void *own, size_t bytes, void *all);
/* Adds up `count` numbers of all processes, element by element and in the order of ranks: all get the same bits. For the gradients of a
 * training loop that the program writes itself. */
WEFT_API weft_status weft_distributed_sum(weft_distributed *job, float *values, size_t count);
/* Parameters, states, and the states of optimizers get the values that they have in rank 0. The graphs of all processes must have the same
 * parameters and states. */
WEFT_API weft_status weft_distributed_synchronise(weft_distributed *job, weft_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
