/* Jobs: opening, releasing and the exchanges of the caller (contract in weft/distributed.h). */
#include "base/options.h"
#include "base/platform.h"
#include "dist/sum.h"
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

/* The number of processes that the launcher has started, from its environment variables; 0: not known. */
static size_t launched(void) {
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *const value = wi_environment(variables[i]);
        if (value) return (size_t)strtoull(value, NULL, 10);
    }
    return 0;
}

/* Fails if MPI reports fewer processes than the launcher has started. srun without a matching MPI plug-in starts processes that each
 * believe to be the only one, and would all train the same model separately. */
static weft_status check_size(const weft_distributed *job, const weft_distributed_options *options) {
    const size_t expected = launched();
    if (options->communicator || job->size > 1 || expected <= 1) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE,
        "distributed: the launcher has started %zu processes, but %s sees only this one: start them by "
        "mpirun, or by "
        "srun with the --mpi=... of this implementation (srun --mpi=list)",
        expected, job->transport->name);
}

static weft_status join(weft_distributed *job, const weft_distributed_options *options) {
    char line[WI_TRANSPORT_LINE] = "";
    WI_TRY(wi_plug_in_load(&job->transport));
    if (!job->transport->join(options->communicator, &job->rank, &job->size, line)) {
        job->transport = NULL;
        WI_FAIL(WEFT_ERROR_STATE, "distributed: %s", line);
    }
    WI_TRY(wi_group_reserve(job));
    return check_size(job, options);
}

weft_status weft_distributed_open(
    weft_distributed **job, weft_context *context, const weft_distributed_options *given) {
    weft_distributed_options options;
    if (job) *job = NULL;
    WI_TRY(WI_OPTIONS(&options, given, "weft_distributed_open", WEFT_DISTRIBUTED_OPTIONS_INIT));
    if (!job || !context)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_distributed_open: job and context must not be NULL");
    if (!(options.timeout >= 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_distributed_open: timeout is %g seconds, expected 0 or more",
            options.timeout);
    weft_distributed *const made = wi_allocate(context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    *made = (weft_distributed){.context = weft_context_retain(context),
        .allocator = context->allocator,
        .size = 1,
        .timeout = options.timeout > 0 ? options.timeout : 1800};
    atomic_init(&made->references, 1);
    const weft_status status = join(made, &options);
    if (status != WEFT_OK) {
        weft_distributed_release(made);
        return status;
    }
    *job = made;
    return WEFT_OK;
}

weft_distributed *weft_distributed_retain(weft_distributed *job) {
    if (job) atomic_fetch_add(&job->references, 1);
    return job;
}

/* If a process has failed, the others do not wait for it: they end without finalising MPI, which the launcher reports. */
void weft_distributed_release(weft_distributed *job) {
    if (!job || atomic_fetch_sub(&job->references, 1) > 1) return;
    char kept[WI_ERROR_LINE];
    wi_error_save(kept, sizeof kept);
    const bool whole = wi_group_meet(job, WI_MEET_LEAVE, WEFT_OK) == WEFT_OK;
    wi_error_restore(kept);
    if (job->transport) job->transport->leave(whole);
    weft_context *const context = job->context;
    wi_release(job->allocator, job->lists);
    wi_release(job->allocator, job->messages);
    wi_release(job->allocator, job);
    weft_context_release(context);
}

size_t weft_distributed_rank(const weft_distributed *job) {
    return job ? job->rank : 0;
}

size_t weft_distributed_size(const weft_distributed *job) {
    return job ? job->size : 1;
}

/* ---- exchanges ---- */

static weft_status check(const weft_distributed *job, const char *call, bool has_data) {
    if (job && has_data) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s is NULL", call, job ? "the data" : "job");
}

weft_status weft_distributed_wait(weft_distributed *job) {
    WI_TRY(check(job, "weft_distributed_wait", true));
    return wi_group_meet(job, WI_MEET_WAIT, WEFT_OK);
}

weft_status weft_distributed_broadcast(weft_distributed *job, void *data, size_t bytes, size_t from) {
    static const char call[] = "weft_distributed_broadcast";
    WI_TRY(check(job, call, data || bytes == 0));
    if (from >= job->size)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: there is no rank %zu among %zu processes", call, from, job->size);
    WI_TRY(wi_group_meet(job, WI_MEET_BROADCAST, WEFT_OK));
    return wi_group_broadcast(job, data, bytes, from);
}

weft_status weft_distributed_gather(weft_distributed *job, const void *own, size_t bytes, void *all) {
    WI_TRY(check(job, "weft_distributed_gather", (own && all) || bytes == 0));
    WI_TRY(wi_group_meet(job, WI_MEET_GATHER, WEFT_OK));
    return bytes ? wi_group_gather_equal(job, own, bytes, all) : WEFT_OK;
}

static weft_status add_up(weft_distributed *job, wi_sum *sum, float *values, size_t count) {
    const float *result = NULL;
    const wi_sum_options options = {.shards = job->size, .floats = count};
    WI_TRY(wi_sum_init(sum, job, job->allocator, &options));
    memcpy(wi_sum_slot(sum, 0), values, count * sizeof *values);
    WI_TRY(wi_sum_begin(sum, 0));
    WI_TRY(wi_sum_finish(sum, &result));
    memcpy(values, result, count * sizeof *values);
    return WEFT_OK;
}

weft_status weft_distributed_sum(weft_distributed *job, float *values, size_t count) {
    WI_TRY(check(job, "weft_distributed_sum", values || count == 0));
    WI_TRY(wi_group_meet(job, WI_MEET_SUM, WEFT_OK));
    if (count == 0 || job->size == 1) return WEFT_OK;
    wi_sum sum;
    const weft_status status = add_up(job, &sum, values, count);
    wi_sum_clear(&sum);
    return status;
}
