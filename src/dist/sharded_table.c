/* Tables whose rows are divided among processes (contract in weft/sharded_table.h).
 *
 * Each process has a graph of its own with its rows, and two plans for each power of two of rows: one gathers rows, the other
 * updates them by the gradient of sum(rows · gradients), which is `gradients`. A list of rows that is shorter than a plan's batch
 * is filled with the number of one more row, `spare`, whose gradient is 0 and which belongs to no row of the table.
 *
 *     this process   rows, in the order of their owners -->  owner   gathers, or updates
 *                    values, or gradients              <->                                   */
#include "base/draws.h"
#include "base/options.h"
#include "dist/group.h"
#include "graph/weft_graph.h"
#include "plan/compiled_plan.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/plan.h>
#include <weft/sharded_table.h>

enum { SMALLEST = 64, SIZES = 25, LISTS = 7 }; /* plans of 2^6 to 2^30 rows */

/* Lists with a number for each process: rows that are sent and received, and the bytes of an exchange. */
typedef struct counts {
    size_t *sent, *received, *sent_bytes, *received_bytes, *at, *all;
} counts;

struct weft_sharded_table {
    weft_context *context;
    const weft_allocator *allocator;
    weft_distributed *job; /* NULL: the table is not divided */
    weft_graph *graph;
    weft_tensor *index, *gradients, *values, *update; /* inputs and outputs of the plans */
    weft_plan *gathers[SIZES], *updates[SIZES];
    int64_t rows, width;
    size_t rank, ranks;
    int32_t spare;
    size_t *lists; /* memory of `counts` */
    /* Memory of the passages, which grows with them. */
    int32_t *outgoing_rows, *incoming_rows; /* numbers in the memory of their owner */
    float *own, *theirs;                    /* numbers of outgoing_rows and of incoming_rows */
    size_t capacities[4];
};

/* The data of one call that gathers or updates rows. */
typedef struct passage {
    weft_sharded_table *table;
    const int32_t *rows;
    size_t count, incoming,
        capacity; /* rows of this call, rows of this process that others ask for, batch size of the plan */
    counts n;
} passage;

/* ---- creation ---- */

/* Initialises the rows of this process. The random numbers of a row depend on the row's number in the whole table, not on the process. */
static weft_status fill(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    const weft_sharded_table *const t = self->user;
    const size_t width = (size_t)t->width;
    const bool fixed = self->a == self->b && self->c == 0;
    const wi_draws how = {.seed = t->context->seed,
        .stream = 0x7ab1e,
        .last = UINT32_MAX, /* a number that no node uses for its random numbers */
        .normal = self->c != 0,
        .scale = self->c != 0 ? self->b : self->b - self->a,
        .add = self->a};
    const int64_t local = weft_tensor_dimension(variable, 0);
    for (int64_t i = 0; i < local; i++) {
        const uint64_t row = (uint64_t)i * t->ranks + t->rank;
        if (fixed)
            for (size_t k = 0; k < width; k++) values[(size_t)i * width + k] = self->a;
        else
            wi_draw(&how, row * width, width, values + (size_t)i * width);
    }
    return WEFT_OK;
}

static weft_status check(int64_t rows, int64_t width, const weft_sharded_table_options *options) {
    static const char call[] = "weft_sharded_table_create";
    const weft_initialiser *const first = options->initialiser;
    if (rows < 1 || rows > INT32_MAX || width < 1 || width > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "%s: rows is %" PRId64 " and width is %" PRId64 ", expected 1 to 2147483647 for both", call, rows,
            width);
    if (first && first->kind != WEFT_INIT_CONSTANT && first->kind != WEFT_INIT_UNIFORM &&
        first->kind != WEFT_INIT_NORMAL)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: the initialiser must be constant, uniform or normal", call);
    if (first && ((first->kind == WEFT_INIT_UNIFORM && !wi_uniform_exists(first->a, first->b)) ||
                     (first->kind == WEFT_INIT_NORMAL && !wi_normal_exists(first->a, first->b))))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "%s: the numbers %g and %g of the initialiser do not define a distribution", call,
            (double)first->a, (double)first->b);
    if (options->optimizer.clip_norm > 0)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "%s: the optimizer has clip_norm, but a process knows only the gradients of its own rows", call);
    return WEFT_OK;
}

/* The initialiser of the rows. Its field c says whether `given` is a normal or a uniform distribution. */
static weft_initialiser initialiser_of(weft_sharded_table *t, const weft_initialiser *given) {
    const float bound = 1.0f / sqrtf((float)t->width);
    weft_initialiser made = {.kind = WEFT_INIT_CUSTOM, .a = -bound, .b = bound, .fill = fill, .user = t};
    if (given) made.a = given->a, made.b = given->kind == WEFT_INIT_CONSTANT ? given->a : given->b;
    if (given && given->kind == WEFT_INIT_NORMAL) made.c = 1;
    return made;
}

static weft_status build(weft_sharded_table *t, const weft_sharded_table_options *options) {
    const weft_initialiser first = initialiser_of(t, options->initialiser);
    const weft_optimizer rule = options->optimizer.kind ? options->optimizer : weft_sgd(0.01f);
    const char *const name = options->name ? options->name : "table";
    const int64_t dims[] = {t->spare + INT64_C(1), t->width}, wide[] = {WEFT_BATCH, t->width};
    WI_TRY(weft_graph_create(&t->graph, t->context));
    weft_tensor *const rows = weft_parameter_shape(t->graph, name, first, 2, dims);
    if (rows) WI_TRY(weft_sparse_updates(t->graph, name, true));
    t->index = weft_input_shape(t->graph, "rows", WEFT_I32, 1, wide);
    t->gradients = weft_input_shape(t->graph, "gradients", WEFT_F32, 2, wide);
    t->values = weft_embedding_with(rows, t->index);
    t->update = weft_train_step(weft_sum(weft_mul(t->values, t->gradients)), rule, NULL);
    return weft_graph_status(t->graph);
}

/* Before rows are exchanged, the processes check that all were called with the same sizes and options. */
static weft_status compare(weft_sharded_table *t, weft_status status) {
    char text[96];
    if (!t->job) return status;
    WI_TRY(wi_group_meet(t->job, WI_MEET_TABLE, status));
    snprintf(text, sizeof text, "rows: %" PRId64 "\nwidth: %" PRId64 "\n", t->rows, t->width);
    return wi_group_compare(t->job, "weft_sharded_table_create", text);
}

weft_status weft_sharded_table_create(weft_sharded_table **table, weft_context *context, int64_t rows,
    int64_t width, const weft_sharded_table_options *given) {
    weft_sharded_table_options options;
    if (table) *table = NULL;
    WI_TRY(WI_OPTIONS(&options, given, "weft_sharded_table_create", WEFT_SHARDED_TABLE_OPTIONS_INIT));
    if (!table || !context)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_sharded_table_create: table and context must not be NULL");
    WI_TRY(check(rows, width, &options));
    weft_sharded_table *const t = wi_allocate(context->allocator, sizeof *t);
    if (!t) return WEFT_ERROR_MEMORY;
    const size_t rank = weft_distributed_rank(options.job), ranks = weft_distributed_size(options.job);
    *t = (weft_sharded_table){.context = weft_context_retain(context),
        .allocator = context->allocator,
        .job = weft_distributed_retain(options.job),
        .rows = rows,
        .width = width,
        .rank = rank,
        .ranks = ranks,
        .spare = (int32_t)((rows + (int64_t)(ranks - rank) - 1) / (int64_t)ranks)};
    t->lists = wi_allocate_array(t->allocator, LISTS * ranks + ranks * ranks, sizeof *t->lists);
    const weft_status status = compare(t, t->lists ? build(t, &options) : WEFT_ERROR_MEMORY);
    if (status != WEFT_OK) {
        char kept[WI_ERROR_LINE];
        wi_error_save(kept, sizeof kept);
        weft_sharded_table_release(t);
        wi_error_restore(kept);
        return status;
    }
    *table = t;
    return WEFT_OK;
}

void weft_sharded_table_release(weft_sharded_table *table) {
    if (!table) return;
    for (size_t i = 0; i < SIZES; i++)
        weft_plan_release(table->gathers[i]), weft_plan_release(table->updates[i]);
    weft_graph_release(table->graph);
    weft_distributed_release(table->job);
    wi_release(table->allocator, table->lists);
    wi_release(table->allocator, table->outgoing_rows);
    wi_release(table->allocator, table->incoming_rows);
    wi_release(table->allocator, table->own);
    wi_release(table->allocator, table->theirs);
    weft_context *const context = table->context;
    wi_release(table->allocator, table);
    weft_context_release(context);
}

weft_graph *weft_sharded_table_graph(const weft_sharded_table *table) {
    return table ? table->graph : NULL;
}

/* ---- lists of rows ---- */

static counts counts_of(const weft_sharded_table *t) {
    size_t *const l = t->lists, n = t->ranks;
    return (counts){l, l + n, l + 2 * n, l + 3 * n, l + 4 * n, l + LISTS * n};
}

/* Fails if the rows of a call need an exchange of 2^31 bytes or more. */
static weft_status check_bytes(const weft_sharded_table *t, const char *call, size_t rows) {
    if (rows <= (size_t)INT32_MAX / ((size_t)t->width * sizeof(float))) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "%s: %zu rows of %" PRId64 " numbers are 2 GB or more: name them in several calls", call, rows,
        t->width);
}

static weft_status count_rows(passage *p, const char *call) {
    const weft_sharded_table *const t = p->table;
    memset(p->n.sent, 0, t->ranks * sizeof *p->n.sent);
    for (size_t i = 0; i < p->count; i++) {
        if (p->rows[i] < 0 || p->rows[i] >= t->rows)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: row %zu of the list is %" PRId32 ", not in 0..%" PRId64, call,
                i, p->rows[i], t->rows - 1);
        p->n.sent[(size_t)p->rows[i] % t->ranks]++;
    }
    return check_bytes(t, call, p->count);
}

/* Computes where the rows of each owner (the process that has the row) begin in the list of outgoing rows. */
static void begin_owners(const passage *p) {
    p->n.at[0] = 0;
    for (size_t r = 1; r < p->table->ranks; r++) p->n.at[r] = p->n.at[r - 1] + p->n.sent[r - 1];
}

/* Writes the outgoing rows, and if `gradients` is not NULL also their gradients, in the order of their owners. */
static void sort_rows(const passage *p, const float *gradients) {
    const size_t width = (size_t)p->table->width, ranks = p->table->ranks;
    begin_owners(p);
    for (size_t i = 0; i < p->count; i++) {
        const size_t place = p->n.at[(size_t)p->rows[i] % ranks]++;
        p->table->outgoing_rows[place] = p->rows[i] / (int32_t)ranks;
        if (gradients)
            memcpy(p->table->own + place * width, gradients + i * width, width * sizeof *gradients);
    }
}

/* Writes the elements of the outgoing rows to `values`, in the order of the caller's list. */
static void restore_order(const passage *p, float *values) {
    const size_t width = (size_t)p->table->width, ranks = p->table->ranks;
    begin_owners(p);
    for (size_t i = 0; i < p->count; i++) {
        const size_t place = p->n.at[(size_t)p->rows[i] % ranks]++;
        memcpy(values + i * width, p->table->own + place * width, width * sizeof *values);
    }
}

/* ---- exchanges ---- */

static weft_status exchange(const passage *p, size_t bytes, const void *sent, const size_t *sent_counts,
    void *received, const size_t *received_counts) {
    const weft_sharded_table *const t = p->table;
    for (size_t r = 0; r < t->ranks; r++) {
        p->n.sent_bytes[r] = sent_counts[r] * bytes;
        p->n.received_bytes[r] = received_counts[r] * bytes;
    }
    if (t->ranks > 1) return wi_group_exchange(t->job, sent, p->n.sent_bytes, received, p->n.received_bytes);
    if (p->count) memcpy(received, sent, p->count * bytes);
    return WEFT_OK;
}

/* Exchanges the numbers of rows that each process asks each other process for. */
static weft_status exchange_counts(passage *p) {
    const weft_sharded_table *const t = p->table;
    if (t->ranks > 1) WI_TRY(wi_group_gather_equal(t->job, p->n.sent, t->ranks * sizeof(size_t), p->n.all));
    p->incoming = 0;
    for (size_t r = 0; r < t->ranks; r++) {
        p->n.received[r] = t->ranks > 1 ? p->n.all[r * t->ranks + t->rank] : p->count;
        p->incoming += p->n.received[r];
    }
    for (p->capacity = SMALLEST; p->capacity < p->incoming;) p->capacity *= 2;
    return WEFT_OK;
}

static weft_status reserve(const passage *p) {
    weft_sharded_table *const t = p->table;
    const size_t row = (size_t)t->width * sizeof(float), out = p->count + 1, in = p->capacity;
    size_t *const c = t->capacities;
    WI_TRY(wi_grow(t->allocator, (void **)&t->outgoing_rows, &c[0], out, sizeof *t->outgoing_rows));
    WI_TRY(wi_grow(t->allocator, (void **)&t->incoming_rows, &c[1], in, sizeof *t->incoming_rows));
    WI_TRY(wi_grow(t->allocator, (void **)&t->own, &c[2], out, row));
    return wi_grow(t->allocator, (void **)&t->theirs, &c[3], in, row);
}

static weft_status meet(const passage *p, weft_status status) {
    return wi_group_meet(p->table->job, WI_MEET_TABLE, status);
}

/* Sends the rows to their owners. */
static weft_status send_rows(passage *p, const char *call, const float *gradients) {
    p->n = counts_of(p->table);
    WI_TRY(meet(p, count_rows(p, call)));
    WI_TRY(exchange_counts(p));
    const weft_status fits = check_bytes(p->table, call, p->incoming);
    WI_TRY(meet(p, fits == WEFT_OK ? reserve(p) : fits));
    sort_rows(p, gradients);
    for (size_t i = p->incoming; i < p->capacity; i++) p->table->incoming_rows[i] = p->table->spare;
    return exchange(
        p, sizeof(int32_t), p->table->outgoing_rows, p->n.sent, p->table->incoming_rows, p->n.received);
}

/* ---- plans ---- */

static weft_status plan_of(const passage *p, weft_plan **plans, weft_tensor *output, weft_plan **plan) {
    size_t size = 0;
    while (((size_t)SMALLEST << size) < p->capacity) size++;
    if (size >= SIZES) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_sharded_table: more than 2^30 rows of one process");
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)p->capacity};
    /* On the first device: others would get the whole table in each update. */
    const wi_plan_devices first = {.of = p->table->context->devices, .count = 1};
    if (!plans[size]) WI_TRY(wi_plan_create_on(&plans[size], &output, 1, &options, &first));
    *plan = plans[size];
    return WEFT_OK;
}

static weft_status gather_own(const passage *p) {
    weft_sharded_table *const t = p->table;
    const size_t bytes = p->capacity * (size_t)t->width * sizeof(float);
    weft_plan *plan = NULL;
    WI_TRY(plan_of(p, t->gathers, t->values, &plan));
    const weft_value values[] = {{t->index, p->table->incoming_rows, p->capacity * sizeof(int32_t)},
        {t->values, p->table->theirs, bytes}};
    return weft_plan_step(plan, values, 2);
}

static weft_status update_own(const passage *p) {
    weft_sharded_table *const t = p->table;
    const size_t width = (size_t)t->width, bytes = p->capacity * width * sizeof(float);
    weft_plan *plan = NULL;
    memset(p->table->theirs + p->incoming * width, 0, (p->capacity - p->incoming) * width * sizeof(float));
    WI_TRY(plan_of(p, t->updates, t->update, &plan));
    const weft_value values[] = {{t->index, p->table->incoming_rows, p->capacity * sizeof(int32_t)},
        {t->gradients, p->table->theirs, bytes}};
    return weft_plan_step(plan, values, 2);
}

/* ---- the two calls ---- */

static weft_status check_call(
    const weft_sharded_table *table, const char *call, const void *rows, const void *data, size_t count) {
    if (table && ((rows && data) || count == 0)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s must not be NULL", call, table ? "rows and data" : "table");
}

static weft_status gather(passage *p, const char *call, float *values) {
    const size_t bytes = (size_t)p->table->width * sizeof(float);
    WI_TRY(send_rows(p, call, NULL));
    WI_TRY(meet(p, gather_own(p)));
    WI_TRY(exchange(p, bytes, p->table->theirs, p->n.received, p->table->own, p->n.sent));
    restore_order(p, values);
    return WEFT_OK;
}

weft_status weft_sharded_table_gather(
    weft_sharded_table *table, const int32_t *rows, size_t count, float *values) {
    static const char call[] = "weft_sharded_table_gather";
    WI_TRY(check_call(table, call, rows, values, count));
    passage p = {.table = table, .rows = rows, .count = count};
    return gather(&p, call, values);
}

static weft_status update(passage *p, const char *call, const float *gradients) {
    const size_t bytes = (size_t)p->table->width * sizeof(float);
    WI_TRY(send_rows(p, call, gradients));
    WI_TRY(exchange(p, bytes, p->table->own, p->n.sent, p->table->theirs, p->n.received));
    return meet(p, update_own(p));
}

weft_status weft_sharded_table_update(
    weft_sharded_table *table, const int32_t *rows, size_t count, const float *gradients) {
    static const char call[] = "weft_sharded_table_update";
    WI_TRY(check_call(table, call, rows, gradients, count));
    passage p = {.table = table, .rows = rows, .count = count};
    return update(&p, call, gradients);
}
