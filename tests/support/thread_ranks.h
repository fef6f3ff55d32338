/* Processes that train together, simulated by threads of one process: each is a rank with a job and a context of its own. */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <weft/weft.h>

enum { THREAD_RANKS = 4 };

/* Runs on each rank's thread. job: NULL if there is only one rank. */
typedef void thread_rank_function(size_t rank, size_t ranks, void *user);
/* Calls the function in `ranks` threads at the same time, or in this one if there is only one rank. */
void thread_ranks_run(size_t ranks, thread_rank_function *function, void *user);
/* The job of the calling thread, which the caller releases; NULL: the thread is alone. The test fails where there is none. */
weft_distributed *thread_ranks_join(weft_context *context);

#endif
