/* See scale_measure.h. A step is that of a trainer, whose examples are copies of a few random numbers, so that loading them costs little. */
#include "scale_measure.h"
#include "base/median.h"
#include "base/platform.h"
#include "cl/launch.h"
#include "train/dataset.h"
#include "train/trainer_shared.h"
#include <string.h>
#include <time.h>

enum { WARM_STEPS = 2, MOST_STEPS = 10000, ROUNDS = 5, MESSAGES = 4, ADDED_FLOATS = 1 << 22 };

/* ---- the dataset ---- */

/* Example i begins at another place of numbers that are twice as long as an example. */
typedef struct pool {
    wi_source base;
    size_t bytes; /* of an example */
    unsigned char *numbers;
} pool;

static weft_status load_example(
    const wi_source *source, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const pool *const p = (const pool *)source;
    (void)workspace;
    memcpy(targets[0], p->numbers + example->index * 7919 % (p->bytes / sizeof(float)) * sizeof(float),
        p->bytes);
    return WEFT_OK;
}

static void destroy_pool(wi_source *source) {
    wi_release(NULL, ((pool *)source)->numbers);
    wi_release(NULL, source);
}

static uint32_t next_random(uint32_t *bits) {
    *bits = *bits * 1664525u + 1013904223u;
    return *bits >> 8;
}

static weft_status create_pool(pool **made, const bench_network *network) {
    size_t count = 1;
    uint32_t bits = 12345;
    for (int i = 0; i < network->rank; i++) count *= (size_t)network->dims[i];
    pool *const p = wi_allocate(NULL, sizeof *p);
    uint32_t *const numbers = wi_allocate_array(NULL, 2 * count, sizeof *numbers);
    if (!p || !numbers) {
        wi_release(NULL, p);
        wi_release(NULL, numbers);
        return WEFT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < 2 * count; i++) {
        const uint32_t random = next_random(&bits);
        const float real = (float)random * 0x1p-23f - 1.0f;
        memcpy(&numbers[i], &real, sizeof real);
        if (network->vocabulary) numbers[i] = random % (uint32_t)network->vocabulary;
    }
    *p = (pool){.bytes = count * sizeof *numbers, .numbers = (unsigned char *)numbers};
    wi_source_init(&p->base, 1, load_example, destroy_pool);
    *made = p;
    return WEFT_OK;
}

static weft_status create_dataset(
    weft_dataset **dataset, weft_context *context, const bench_network *network, size_t examples) {
    const int64_t labels = bench_network_labels(network);
    weft_column columns[2];
    uint32_t bits = 54321;
    pool *p = NULL;
    bench_network_columns(network, columns);
    WI_TRY(create_pool(&p, network));
    const weft_status status =
        wi_dataset_create_from_source(dataset, context, &p->base, examples, columns, 2);
    wi_source_release(&p->base);
    if (status != WEFT_OK) return status;
    int32_t *const label = wi_dataset_data(*dataset, 1);
    for (size_t i = 0; i < examples * (size_t)labels; i++)
        label[i] = (int32_t)(next_random(&bits) % (uint32_t)network->classes);
    return WEFT_OK;
}

/* ---- steps ---- */

typedef struct recorder {
    weft_context *context;
    const weft_trainer *trainer;
    size_t count, first;               /* first: the step from which on steps are measured */
    double before, exposed, processor; /* when the step began, and what was exposed and computed until then */
    double *steps, *exposures, *computations; /* seconds of each measured step */
    weft_status status;
} recorder;

/* Seconds since the trainer was created in which this process only waited for the exchange of gradients, or added them up. */
static double exposed_seconds(const weft_trainer *trainer) {
    double all, exposed;
    wi_shards_exchange_seconds(&trainer->shards[0], &all, &exposed);
    return exposed;
}

/* The device is waited for, as a trainer of one shard would enqueue further steps. */
static bool record_step(void *user, const weft_epoch *state) {
    recorder *const r = user;
    r->status = wi_queue_finish(wi_context_device(r->context));
    const double now = wi_clock_seconds(), exposed = exposed_seconds(r->trainer),
                 processor = (double)clock() / CLOCKS_PER_SEC;
    if (state->step > r->first) {
        r->steps[r->count] = now - r->before;
        r->computations[r->count] = processor - r->processor;
        r->exposures[r->count++] = exposed - r->exposed;
    }
    r->before = now;
    r->exposed = exposed;
    r->processor = processor;
    return r->status == WEFT_OK;
}

static weft_status run_steps(scale_step *measured, weft_graph *graph, weft_distributed *job,
    const scale_wanted *wanted, recorder *record) {
    weft_trainer *trainer = NULL;
    weft_dataset *dataset = NULL;
    weft_status status;
    const size_t ranks = weft_distributed_size(job), batch = ranks * (size_t)wanted->batch;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .batch = batch, .keep_order = true,
        .optimizer = bench_network_optimizer(wanted->network), .gradient_shards = ranks * wanted->shards,
        .distributed = job, .on_step = record_step, .user = record, .not_finite = WEFT_NOT_FINITE_CONTINUE};
    WI_TRY_DONE(
        create_dataset(&dataset, record->context, wanted->network, (WARM_STEPS + wanted->steps) * batch));
    WI_TRY_DONE(weft_trainer_create(&trainer, bench_network_loss(graph, wanted->network), &options));
    record->trainer = trainer;
    WI_TRY_DONE(weft_trainer_run(trainer, dataset));
    WI_TRY_DONE(record->status);
    const size_t floats = trainer->shards[0].sum.floats;
    measured->bytes = floats ? (double)(floats * sizeof(float)) : bench_parameter_bytes(graph);
    measured->step = wi_median(record->steps, record->count);
    measured->exposed = wi_median(record->exposures, record->count);
    measured->processor = wi_median(record->computations, record->count);
done:
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    return status;
}

static weft_status measure_steps(
    scale_step *measured, weft_context *context, weft_distributed *job, const scale_wanted *wanted) {
    weft_graph *graph = NULL;
    recorder record = {.context = context, .first = WARM_STEPS};
    double *const values = wi_allocate_array(NULL, 3 * wanted->steps, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    record.steps = values;
    record.exposures = values + wanted->steps;
    record.computations = values + 2 * wanted->steps;
    weft_status status = weft_graph_create(&graph, context);
    if (status == WEFT_OK) status = run_steps(measured, graph, job, wanted, &record);
    weft_graph_release(graph);
    wi_release(NULL, values);
    return status;
}

/* ---- the exchange alone ---- */

static weft_status time_sum(double *seconds, weft_distributed *job, wi_sum *sum) {
    const float *result;
    WI_TRY(job ? weft_distributed_wait(job) : WEFT_OK);
    const double began = wi_clock_seconds();
    for (size_t i = 0; i < sum->own.count; i++) WI_TRY(wi_sum_begin(sum, i));
    WI_TRY(wi_sum_finish(sum, &result));
    *seconds = wi_clock_seconds() - began;
    return WEFT_OK;
}

/* One sum before those that are measured makes the system find the memory. */
static weft_status time_sums(
    double *seconds, weft_distributed *job, wi_sum *sum, size_t shards, size_t floats) {
    double times[ROUNDS];
    const wi_sum_options options = {.shards = shards, .floats = floats};
    WI_TRY(wi_sum_init(sum, job, NULL, &options));
    for (size_t i = 0; i < sum->own.count * floats; i++) sum->slots[i] = 1;
    for (int i = -1; i < ROUNDS; i++) WI_TRY(time_sum(&times[i < 0 ? 0 : i], job, sum));
    *seconds = wi_median(times, ROUNDS);
    return WEFT_OK;
}

static weft_status measure_sum(double *seconds, weft_distributed *job, size_t shards, size_t floats) {
    wi_sum sum;
    const weft_status status = time_sums(seconds, job, &sum, shards, floats);
    wi_sum_clear(&sum);
    return status;
}

weft_status scale_measure_step(
    scale_step *measured, weft_context *context, weft_distributed *job, const scale_wanted *wanted) {
    const size_t ranks = weft_distributed_size(job);
    *measured = (scale_step){.ranks = ranks, .shards = wanted->shards};
    WI_TRY(measure_steps(measured, context, job, wanted));
    if (ranks == 1) return WEFT_OK;
    return measure_sum(
        &measured->exchange, job, ranks * wanted->shards, (size_t)measured->bytes / sizeof(float));
}

/* ---- the link ---- */

typedef struct exchange {
    weft_distributed *job;
    unsigned char *own, *all;
    size_t *lists; /* four of a number for each rank */
} exchange;

static weft_status send(const exchange *e, size_t from, size_t to, size_t bytes) {
    char line[WI_TRANSPORT_LINE] = "";
    wi_transport_work *work = NULL;
    const size_t ranks = e->job->size;
    size_t *const sends = e->lists, *const send_at = sends + ranks, *const receives = send_at + ranks;
    memset(e->lists, 0, 4 * ranks * sizeof *e->lists);
    if (e->job->rank == from) sends[to] = bytes;
    if (e->job->rank == to) receives[from] = bytes;
    if (!e->job->transport->exchange(&work, e->own, sends, send_at, e->all, receives, receives + ranks, line))
        WI_FAIL(WEFT_ERROR_PEER, "distributed: %s", line);
    return wi_group_wait(e->job, work);
}

/* From rank 0 to rank 1 and back; the others send nothing. */
static weft_status ping_pong(const exchange *e, size_t bytes) {
    WI_TRY(send(e, 0, 1, bytes));
    return send(e, 1, 0, bytes);
}

static weft_status gather(const exchange *e, size_t bytes) {
    return wi_group_gather_equal(e->job, e->own, bytes, e->all);
}

/* The seconds of one call in the quickest of several rounds of calls, as the model is one of the link, and not of what else the machine does. */
static weft_status time_calls(
    double *seconds, const exchange *e, weft_status (*call)(const exchange *e, size_t bytes), size_t bytes) {
    double times[ROUNDS];
    const size_t repeats = bytes < (1 << 22) / 50 ? 50 : (1 << 22) / bytes + 1;
    WI_TRY(call(e, bytes));
    for (int i = 0; i < ROUNDS; i++) {
        WI_TRY(weft_distributed_wait(e->job));
        const double began = wi_clock_seconds();
        for (size_t k = 0; k < repeats; k++) WI_TRY(call(e, bytes));
        times[i] = (wi_clock_seconds() - began) / (double)repeats;
    }
    (void)wi_median(times, ROUNDS); /* sorts */
    *seconds = times[0];
    return WEFT_OK;
}

/* Bytes that a rank receives; gathers divide them by the number of ranks. */
static const size_t message_bytes[MESSAGES] = {1 << 12, 1 << 16, 1 << 20, 1 << 24};

static weft_status measure_messages(scale_link *link, const exchange *e) {
    const double others = (double)(e->job->size - 1);
    scale_message pings[MESSAGES], gathers[MESSAGES];
    double unused;
    for (int i = 0; i < MESSAGES; i++) {
        const size_t share = message_bytes[i] / e->job->size + 1;
        WI_TRY(time_calls(&pings[i].seconds, e, ping_pong, message_bytes[i]));
        WI_TRY(time_calls(&gathers[i].seconds, e, gather, share));
        pings[i] = (scale_message){(double)message_bytes[i], pings[i].seconds / 2};
        gathers[i] = (scale_message){(double)share, gathers[i].seconds / others};
    }
    scale_link_fit(&link->latency, &unused, pings, MESSAGES);
    scale_link_fit(&unused, &link->bandwidth, gathers, MESSAGES);
    return WEFT_OK;
}

/* A sum over two shards of one process reads and writes the numbers of both. */
static weft_status measure_adding(scale_link *link, weft_distributed *job) {
    double seconds;
    WI_TRY(job ? weft_distributed_wait(job) : WEFT_OK);
    WI_TRY(measure_sum(&seconds, NULL, 2, ADDED_FLOATS));
    link->adding = 2.0 * ADDED_FLOATS * sizeof(float) / seconds;
    return WEFT_OK;
}

weft_status scale_measure_link(scale_link *link, weft_distributed *job) {
    const size_t ranks = weft_distributed_size(job), most = message_bytes[MESSAGES - 1];
    *link = (scale_link){0};
    WI_TRY(measure_adding(link, job));
    if (ranks == 1) return WEFT_OK;
    exchange e = {.job = job,
        .own = wi_allocate(NULL, most),
        .all = wi_allocate(NULL, most + ranks),
        .lists = wi_allocate_array(NULL, 4 * ranks, sizeof *e.lists)};
    weft_status status = WEFT_ERROR_MEMORY;
    if (e.own && e.all && e.lists) {
        memset(e.own, 1, most);
        status = measure_messages(link, &e);
    }
    wi_release(NULL, e.own);
    wi_release(NULL, e.all);
    wi_release(NULL, e.lists);
    return status;
}
