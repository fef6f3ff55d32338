/* Ranks that are threads (contract in thread_ranks.h). What a rank sends is copied to a box of the receiver. The n-th exchange of a rank matches
 * the n-th of the others, and gathers likewise, as MPI matches them. */
#include "support/thread_ranks.h"
#include "dist/group.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parcel {
    struct parcel *next;
    size_t number, bytes;
    unsigned char data[];
} parcel;

typedef enum traffic { EXCHANGE, GATHER, TRAFFICS } traffic;

static struct {
    pthread_mutex_t lock;
    size_t ranks;
    parcel *boxes[TRAFFICS][THREAD_RANKS][THREAD_RANKS]; /* [kind][sender][receiver] */
} post = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct { size_t rank, ranks, begun[TRAFFICS]; } own = {0, 1, {0}};

struct wi_transport_work {
    traffic kind;
    size_t number;
    unsigned char *to[THREAD_RANKS];
    size_t bytes[THREAD_RANKS];
    bool arrived[THREAD_RANKS];
};

/* A failed assertion of cmocka jumps to the main thread, so that ranks end the program instead. */
static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "thread_ranks: rank %zu: %s\n", own.rank, what);
    abort();
}

/* ---- parcels ---- */

static void send(traffic kind, size_t number, size_t to, const void *data, size_t bytes) {
    parcel *const sent = malloc(sizeof *sent + bytes);
    check(sent != NULL, "no memory");
    sent->number = number;
    sent->bytes = bytes;
    if (bytes) memcpy(sent->data, data, bytes);
    parcel **const box = &post.boxes[kind][own.rank][to];
    sent->next = *box;
    *box = sent;
}

/* Takes the parcel of the sender with this number; false: it has not been sent yet. */
static bool take(wi_transport_work *work, size_t from) {
    parcel **at = &post.boxes[work->kind][from][own.rank];
    while (*at && (*at)->number != work->number) at = &(*at)->next;
    parcel *const found = *at;
    if (!found) return false;
    if (found->bytes == work->bytes[from] && found->bytes) memcpy(work->to[from], found->data, found->bytes);
    const bool fits = found->bytes == work->bytes[from];
    *at = found->next;
    free(found);
    check(fits, "another rank sends another number of bytes");
    return true;
}

/* ---- the transport ---- */

static bool begin(
    wi_transport_work **work, traffic kind, void *receive, const size_t *bytes, const size_t *at) {
    wi_transport_work *const made = calloc(1, sizeof *made);
    check(made != NULL, "no memory");
    made->kind = kind;
    made->number = own.begun[kind]++;
    for (size_t r = 0; r < own.ranks; r++) {
        made->to[r] = (unsigned char *)receive + at[r];
        made->bytes[r] = bytes[r];
    }
    *work = made;
    return true;
}

static bool exchange(wi_transport_work **work, const void *data, const size_t *send_bytes,
    const size_t *send_at, void *receive, const size_t *receive_bytes, const size_t *receive_at, char *line) {
    (void)line;
    begin(work, EXCHANGE, receive, receive_bytes, receive_at);
    pthread_mutex_lock(&post.lock);
    for (size_t r = 0; r < own.ranks; r++)
        send(EXCHANGE, (*work)->number, r, (const unsigned char *)data + send_at[r], send_bytes[r]);
    pthread_mutex_unlock(&post.lock);
    return true;
}

static bool gather(wi_transport_work **work, const void *data, void *receive, const size_t *bytes,
    const size_t *at, char *line) {
    (void)line;
    begin(work, GATHER, receive, bytes, at);
    pthread_mutex_lock(&post.lock);
    for (size_t r = 0; r < own.ranks; r++) send(GATHER, (*work)->number, r, data, bytes[own.rank]);
    pthread_mutex_unlock(&post.lock);
    return true;
}

static bool test(wi_transport_work *work, bool *finished, char *line) {
    (void)line;
    *finished = true;
    pthread_mutex_lock(&post.lock);
    for (size_t r = 0; r < own.ranks; r++) {
        if (!work->arrived[r]) work->arrived[r] = take(work, r);
        *finished = *finished && work->arrived[r];
    }
    pthread_mutex_unlock(&post.lock);
    if (*finished) free(work);
    return true;
}

static void leave(bool whole) {
    (void)whole;
}

static const wi_transport transport = {.version = WI_TRANSPORT_VERSION,
    .name = "threads",
    .leave = leave,
    .exchange = exchange,
    .gather = gather,
    .test = test};

weft_distributed *thread_ranks_join(weft_context *context) {
    if (own.ranks == 1) return NULL;
    weft_distributed *const job = wi_allocate(context->allocator, sizeof *job);
    check(job != NULL, "no memory");
    *job = (weft_distributed){.context = weft_context_retain(context),
        .allocator = context->allocator,
        .transport = &transport,
        .rank = own.rank,
        .size = own.ranks,
        .timeout = 120};
    atomic_init(&job->references, 1);
    check(wi_group_reserve(job) == WEFT_OK, "no memory");
    return job;
}

/* ---- threads ---- */

typedef struct start {
    size_t rank;
    thread_rank_function *function;
    void *user;
} start;

static void *run_rank(void *data) {
    const start *const it = data;
    own.rank = it->rank;
    own.ranks = post.ranks;
    it->function(it->rank, post.ranks, it->user);
    return NULL;
}

static void empty_boxes(void) {
    for (size_t k = 0; k < TRAFFICS; k++)
        for (size_t i = 0; i < THREAD_RANKS * THREAD_RANKS; i++) {
            parcel **const box = &post.boxes[k][i / THREAD_RANKS][i % THREAD_RANKS];
            while (*box) {
                parcel *const next = (*box)->next;
                free(*box);
                *box = next;
            }
        }
}

void thread_ranks_run(size_t ranks, thread_rank_function *function, void *user) {
    pthread_t threads[THREAD_RANKS];
    start starts[THREAD_RANKS];
    check(ranks >= 1 && ranks <= THREAD_RANKS, "too many ranks");
    if (ranks == 1) {
        function(0, 1, user);
        return;
    }
    post.ranks = ranks;
    for (size_t r = 0; r < ranks; r++) {
        starts[r] = (start){r, function, user};
        check(pthread_create(&threads[r], NULL, run_rank, &starts[r]) == 0, "no thread");
    }
    for (size_t r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
    empty_boxes();
}
