/* Meetings and exchanges of a job (contract in group.h). */
#include "dist/group.h"
#include "base/platform.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char *const meeting_names[WI_MEETINGS] = {[WI_MEET_LEAVE] = "leaves the job",
    [WI_MEET_WAIT] = "calls weft_distributed_wait",
    [WI_MEET_BROADCAST] = "calls weft_distributed_broadcast",
    [WI_MEET_GATHER] = "calls weft_distributed_gather",
    [WI_MEET_SUM] = "calls weft_distributed_sum",
    [WI_MEET_TABLE] = "uses a sharded table",
    [WI_MEET_COMPARE] = "begins a run",
    [WI_MEET_SYNCHRONISE] = "calls weft_distributed_synchronise",
    [WI_MEET_PASS] = "begins a pass over a dataset",
    [WI_MEET_STEP] = "begins a step",
    [WI_MEET_RESULTS] = "ends a step",
    [WI_MEET_PARAMETERS] = "exchanges what it has updated"};

/* ---- waiting ---- */

enum { SPINS = 2000, STOP_SECONDS = 5 };
static const double longest_sleep = 1e-3;

static weft_status lose(weft_distributed *group, const char *line) {
    if (!group->is_over) snprintf(group->over, sizeof group->over, "%s", line);
    group->is_over = true;
    WI_FAIL(WEFT_ERROR_PEER, "%s", line);
}

/* The reason to stop waiting for other processes; NULL: there is none yet. */
static const char *why_stop(const weft_distributed *group, double waited, double stopped) {
    if (waited > group->timeout) return "the timeout is over";
    if (stopped > STOP_SECONDS) return "the program was asked to stop";
    return NULL;
}

weft_status wi_group_test(weft_distributed *group, wi_transport_work *work, bool *finished) {
    char line[WI_TRANSPORT_LINE] = "", text[WI_TRANSPORT_LINE + 64];
    if (group->is_over) WI_FAIL(WEFT_ERROR_PEER, "%s", group->over);
    if (group->transport->test(work, finished, line)) return WEFT_OK;
    snprintf(text, sizeof text, "distributed: rank %zu of %zu: %s", group->rank, group->size, line);
    return lose(group, text);
}

/* Polls without sleeping at first, because most exchanges finish within microseconds; then sleeps longer each time, so that processes on
 * one core do not take processor time from each other. */
weft_status wi_group_wait(weft_distributed *group, wi_transport_work *work) {
    const double began = wi_clock_seconds();
    double sleeps = 20e-6, stopped_at = 0;
    for (size_t tries = 0;; tries++) {
        bool finished = false;
        WI_TRY(wi_group_test(group, work, &finished));
        if (finished) return WEFT_OK;
        if (tries < SPINS) continue;
        const double now = wi_clock_seconds();
        const bool stops = group->stops && atomic_load(group->stops);
        if (stops && stopped_at <= 0) stopped_at = now;
        const char *const why = why_stop(group, now - began, stops ? now - stopped_at : 0);
        if (why) {
            char text[160];
            snprintf(text, sizeof text,
                "distributed: rank %zu of %zu has waited %.0f s for other processes, and %s; one of them may "
                "have died",
                group->rank, group->size, now - began, why);
            return lose(group, text);
        }
        wi_clock_sleep(sleeps);
        sleeps = sleeps * 2 < longest_sleep ? sleeps * 2 : longest_sleep;
    }
}

weft_status wi_group_gather(weft_distributed *group, const void *own, const size_t *bytes, void *all) {
    char line[WI_TRANSPORT_LINE] = "";
    wi_transport_work *work = NULL;
    size_t *const at = group->lists;
    at[0] = 0;
    for (size_t r = 1; r < group->size; r++) at[r] = at[r - 1] + bytes[r - 1];
    if (!group->transport->gather(&work, own, all, bytes, at, line)) return lose(group, line);
    return wi_group_wait(group, work);
}

weft_status wi_group_collect(weft_distributed *group, const void *own, const size_t *bytes, void *all) {
    char line[WI_TRANSPORT_LINE] = "";
    wi_transport_work *work = NULL;
    size_t *const sent = group->lists, *const sent_at = sent + group->size,
                  *const received = sent_at + group->size, *const received_at = received + group->size;
    for (size_t r = 0, at = 0; r < group->size; at += bytes[r++]) {
        sent[r] = r == 0 ? bytes[group->rank] : 0;
        sent_at[r] = 0;
        received[r] = group->rank == 0 ? bytes[r] : 0;
        received_at[r] = group->rank == 0 ? at : 0;
    }
    if (!group->transport->exchange(&work, own, sent, sent_at, all, received, received_at, line))
        return lose(group, line);
    return wi_group_wait(group, work);
}

weft_status wi_group_gather_equal(weft_distributed *group, const void *own, size_t bytes, void *all) {
    if (group->size == 1) return memcpy(all, own, bytes), WEFT_OK;
    size_t *const list = group->lists + group->size;
    for (size_t r = 0; r < group->size; r++) list[r] = bytes;
    return wi_group_gather(group, own, list, all);
}

/* Broadcasts in several exchanges if necessary, because an exchange has fewer than 2^31 bytes. */
weft_status wi_group_broadcast(weft_distributed *group, void *data, size_t bytes, size_t from) {
    enum { PIECE = 1 << 28 };
    weft_status status = WEFT_OK;
    if (group->size == 1) return WEFT_OK;
    size_t *const list = group->lists + group->size;
    unsigned char *const sent = wi_allocate(group->allocator, bytes < PIECE ? bytes + 1 : PIECE);
    for (size_t r = 0; r < group->size; r++) list[r] = 0;
    for (size_t done = 0; done < bytes && sent && status == WEFT_OK; done += list[from]) {
        list[from] = bytes - done < PIECE ? bytes - done : PIECE;
        memcpy(sent, (unsigned char *)data + done, list[from]);
        status = wi_group_gather(group, sent, list, (unsigned char *)data + done);
    }
    if (!sent) status = WEFT_ERROR_MEMORY;
    wi_release(group->allocator, sent);
    return status;
}

weft_status wi_group_exchange(weft_distributed *group, const void *send, const size_t *send_bytes,
    void *receive, const size_t *receive_bytes) {
    char line[WI_TRANSPORT_LINE] = "";
    wi_transport_work *work = NULL;
    size_t *const send_at = group->lists, *const receive_at = group->lists + group->size;
    send_at[0] = receive_at[0] = 0;
    for (size_t r = 1; r < group->size; r++) {
        send_at[r] = send_at[r - 1] + send_bytes[r - 1];
        receive_at[r] = receive_at[r - 1] + receive_bytes[r - 1];
    }
    if (!group->transport->exchange(
            &work, send, send_bytes, send_at, receive, receive_bytes, receive_at, line))
        return lose(group, line);
    return wi_group_wait(group, work);
}

/* ---- meetings ---- */

typedef struct message {
    uint32_t what, status;
    char line[248]; /* the beginning of the error message */
} message;

static message own_message(wi_meeting what, weft_status status) {
    message own = {.what = (uint32_t)what, .status = (uint32_t)status};
    if (status != WEFT_OK) snprintf(own.line, sizeof own.line, "%s", weft_last_error());
    return own;
}

/* Finds the first rank that has failed, or that is in a meeting for another purpose than this process, and returns the error. */
static weft_status find_failure(weft_distributed *group, const message *all, wi_meeting what) {
    char text[WI_ERROR_LINE];
    for (size_t r = 0; r < group->size; r++) {
        if (all[r].status == WEFT_OK) continue;
        snprintf(text, sizeof text, "distributed: rank %zu failed: %.*s", r, (int)sizeof all[r].line - 1,
            all[r].line);
        return lose(group, text);
    }
    for (size_t r = 0; r < group->size; r++) {
        if (all[r].what == (uint32_t)what) continue;
        const char *const other = all[r].what < WI_MEETINGS ? meeting_names[all[r].what] : NULL;
        snprintf(text, sizeof text, "distributed: rank %zu %s, but rank %zu %s", r,
            other ? other : "does something unknown", group->rank, meeting_names[what]);
        return lose(group, text);
    }
    return WEFT_OK;
}

weft_status wi_group_meet(weft_distributed *group, wi_meeting what, weft_status status) {
    if (!group || group->size == 1) return status;
    if (group->is_over && status == WEFT_OK) WI_FAIL(WEFT_ERROR_PEER, "%s", group->over);
    if (group->is_over) return status;
    char kept[WI_ERROR_LINE];
    wi_error_save(kept, sizeof kept);
    const message own = own_message(what, status);
    message *const all = group->messages;
    weft_status met = wi_group_gather_equal(group, &own, sizeof own, all);
    if (met == WEFT_OK) met = find_failure(group, all, what);
    if (status == WEFT_OK) return met;
    wi_error_restore(kept);
    return status;
}

weft_status wi_group_any(weft_distributed *group, bool *flag) {
    bool *const all = group->messages;
    if (group->size == 1) return WEFT_OK;
    WI_TRY(wi_group_gather_equal(group, flag, sizeof *flag, all));
    for (size_t r = 0; r < group->size; r++) *flag = *flag || all[r];
    return WEFT_OK;
}

weft_status wi_group_reserve(weft_distributed *group) {
    group->lists = wi_allocate_array(group->allocator, 4 * group->size, sizeof *group->lists);
    group->messages = wi_allocate_array(group->allocator, group->size, sizeof(message));
    return group->lists && group->messages ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* ---- comparing ---- */

/* Advances both texts to the first line in which they differ. */
static void find_difference(const char **a, const char **b) {
    for (;;) {
        const size_t one = strcspn(*a, "\n"), other = strcspn(*b, "\n");
        if (one != other || memcmp(*a, *b, one) != 0 || !(*a)[one]) return;
        *a += one + 1;
        *b += other + 1;
    }
}

static weft_status fail_difference(
    weft_distributed *group, const char *what, size_t rank, const char *first, const char *other) {
    char text[WI_ERROR_LINE];
    find_difference(&first, &other);
    snprintf(text, sizeof text, "%s: rank %zu differs from rank 0: \"%.*s\" instead of \"%.*s\"", what, rank,
        (int)(strcspn(other, "\n") < 160 ? strcspn(other, "\n") : 160), other,
        (int)(strcspn(first, "\n") < 160 ? strcspn(first, "\n") : 160), first);
    (void)lose(group, text);
    return wi_fail(WEFT_ERROR_ARGUMENT, "%s", text);
}

/* Gathers and compares the texts. lengths[r]: bytes of the text of rank r, including its final NUL. */
static weft_status compare_texts(
    weft_distributed *group, const char *what, const char *text, const size_t *lengths) {
    size_t total = 0;
    for (size_t r = 0; r < group->size; r++) total += lengths[r];
    char *const all = wi_allocate(group->allocator, total);
    if (!all) return WEFT_ERROR_MEMORY;
    weft_status status = wi_group_gather(group, text, lengths, all);
    const char *other = all;
    for (size_t r = 0; r < group->size && status == WEFT_OK; other += lengths[r++])
        if (strcmp(all, other) != 0) status = fail_difference(group, what, r, all, other);
    wi_release(group->allocator, all);
    return status;
}

weft_status wi_group_compare(weft_distributed *group, const char *what, const char *text) {
    typedef struct sized {
        uint64_t digest, bytes;
    } sized;
    if (group->size == 1) return WEFT_OK;
    const sized own = {XXH3_64bits(text, strlen(text)), strlen(text) + 1};
    sized *const all = wi_allocate_array(group->allocator, group->size, sizeof *all);
    size_t *const lengths = wi_allocate_array(group->allocator, group->size, sizeof *lengths);
    weft_status status =
        all && lengths ? wi_group_gather_equal(group, &own, sizeof own, all) : WEFT_ERROR_MEMORY;
    bool equal = status == WEFT_OK;
    for (size_t r = 0; r < group->size && status == WEFT_OK; r++) {
        lengths[r] = (size_t)all[r].bytes;
        equal = equal && all[r].digest == all[0].digest && all[r].bytes == all[0].bytes;
    }
    if (status == WEFT_OK && !equal) status = compare_texts(group, what, text, lengths);
    wi_release(group->allocator, all);
    wi_release(group->allocator, lengths);
    return status;
}
