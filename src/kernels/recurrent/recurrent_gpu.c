/* Recurrent scans where groups multiply tiles in local memory: recurrent_gpu.cl. The weights are packed first.
 * Either a group walks through the whole time with its rows, in one launch, or groups share the columns of a step,
 * which is a launch then, or two where a step has two products: what is expected to take less. All but what a group is serves
 * recurrent_engine_gpu.c, too. */
#include "kernels/recurrent/recurrent_gpu.h"
#include "base/integers.h"
#include "kernels/cost.h"
#include <math.h>

/* A work-group has ACROSS x SLICES items, and takes ROWS rows and ACROSS quads of columns at once; DEPTH steps of k
 * of its rows are in local memory; PREPARE items prepare. The device alone decides which variant it is, so a
 * program has one. ROWS, SLICES, BLOCK and PITCH are those of recurrent_tile_gpu.clh. */
enum { ACROSS, DEPTH, PREPARE };
enum { ROWS = 8, SLICES = 4, BLOCK = 32, PITCH = 3, QUAD = 4, MOST_GATES = 4 };

static const char *const parameters[] = {
    [ACROSS] = "WEFT_R_ACROSS", [DEPTH] = "WEFT_R_DEPTH", [PREPARE] = "WEFT_R_PREPARE", NULL};

static const wi_variant variants[] = {{"256", {[ACROSS] = 64, [DEPTH] = 256, [PREPARE] = 64}},
    {"64", {[ACROSS] = 16, [DEPTH] = 128, [PREPARE] = 64}}, {0}};

/* Local memory has a tile of the states, or four rows of sums of all slices, and the number of the step. */
static wi_limits limits(const int *p) {
    const int64_t items = (int64_t)p[ACROSS] * SLICES;
    return (wi_limits){.group = (size_t)items,
        .items = {(size_t)wi_max64(items, p[PREPARE]), 1},
        .local_bytes = (size_t)(wi_max64(p[DEPTH] * PITCH, items * 4) + 1) * QUAD * sizeof(float)};
}

/* The weights of a product, and its columns as quads: element e of quad q is column q * quad + e * element, if e is
 * one of `each`. A column's numbers begin at first + column * across, and are `down` apart. */
typedef struct product {
    int input;
    int64_t depth, quads, columns, quad, element, each, first, across, down;
} product;

static int64_t chunks_of(const wi_recurrent_groups *groups, int64_t quads) {
    return wi_divide_up(quads, groups->quads);
}

static int64_t packed_bytes(const wi_recurrent_groups *groups, const product *p) {
    const int64_t depth = (wi_divide_up(p->depth, groups->block) + 1) * groups->block;
    return depth * chunks_of(groups, p->quads) * groups->quads * QUAD * groups->bytes;
}

/* The gates that a step's first product has. */
static int64_t first_gates(const wi_recurrent *s) {
    return s->cell == WI_CELL_GRU_RESET_FIRST ? 2 : s->gates;
}

static product plain(int input, int64_t depth, int64_t columns, bool turned) {
    return (product){.input = input,
        .depth = depth,
        .quads = wi_divide_up(columns, QUAD),
        .columns = columns,
        .quad = QUAD,
        .element = 1,
        .each = QUAD,
        .across = turned ? depth : 1,
        .down = turned ? 1 : columns};
}

static product first_product(const wi_recurrent *s) {
    const int64_t gates = first_gates(s), units = s->a.units;
    if (s->back) return plain(s->w, gates * units, s->a.width, false);
    product p = plain(s->w, s->a.width, gates * units, true);
    if (gates > 1) {
        p.quads = p.element = units;
        p.quad = 1;
        p.each = gates;
    }
    return p;
}

/* Of a projection, or of a GRU's third gate. */
static product second_product(const wi_recurrent *s) {
    const int64_t from = s->back ? s->a.width : s->a.units, to = s->back ? s->a.units : s->a.width;
    product p = plain(s->projects ? s->wr : s->w, from, to, !s->back);
    p.first = s->projects ? 0 : 2 * s->a.units * s->a.width;
    return p;
}

/* ---- how the work is cut ---- */

/* A launch in which each of the rows' groups is cut into `across`, and their chunks are taken `repeated` times. Weights come from the
 * units' own memory while others are multiplied. */
static double launch_seconds(const wi_recurrent *s, const wi_recurrent_groups *groups, const product *p,
    int64_t across, int64_t repeated) {
    const wi_device_profile *const device = s->site->device;
    const double rows = (double)wi_divide_up(s->batch, groups->rows), count = rows * (double)across,
                 columns = (double)(QUAD * groups->quads),
                 chunks = (double)(wi_divide_up(chunks_of(groups, p->quads), across) * repeated),
                 weights = chunks * columns * (double)(p->depth * groups->bytes);
    const wi_work work = {
        .operations = 2.0 * count * chunks * (double)(groups->rows * p->depth) * columns / groups->share,
        .groups = count,
        .launches = 0};
    return fmax(wi_work_seconds(device, &work),
        ceil(count / (double)device->units) * weights / device->near_bandwidth);
}

/* Of all steps: groups walk through the whole time, with no launches, but fewer of them work; or each step is a launch. */
typedef struct forms {
    double together, apart;
} forms;

static forms seconds_of(const wi_recurrent *s, const wi_recurrent_groups *groups, const product *products) {
    forms f = {0};
    for (int i = 0; i < (s->second ? 2 : 1); i++) {
        const product *const p = &products[i];
        f.together += launch_seconds(s, groups, p, 1, s->iterations);
        f.apart += (double)s->iterations * (launch_seconds(s, groups, p, chunks_of(groups, p->quads), 1) +
                                               s->site->device->launch_seconds);
    }
    return f;
}

bool wi_recurrent_groups_fit(const wi_kernel_site *site, bool back) {
    const wi_recurrent s = wi_recurrent_of(site, back);
    return s.batch * MOST_GATES * wi_max64(s.a.units, s.a.width) <= INT32_MAX;
}

/* ---- launches ---- */

/* An item writes 16 bytes. */
enum { PACKED_AT_ONCE = 16 };

static void add_pack(const wi_recurrent_groups *groups, const product *p, int64_t at, wi_kernel_plan *plan) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "pack", packed_bytes(groups, p) / PACKED_AT_ONCE, groups->prepare);
    wi_kernel_input(launch, p->input);
    wi_kernel_scratch(launch, at);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(p->depth, p->quads, p->columns, p->quad, p->element, p->each));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(p->first, p->across, p->down));
}

static void pack(
    wi_recurrent *s, const wi_recurrent_groups *groups, const product *products, wi_kernel_plan *plan) {
    const int64_t first = packed_bytes(groups, &products[0]);
    const size_t bytes = (size_t)(first + (s->second ? packed_bytes(groups, &products[1]) : 0));
    s->packed = first / (int64_t)sizeof(float);
    add_pack(groups, &products[0], 0, plan);
    if (s->second) add_pack(groups, &products[1], s->packed, plan);
    plan->scratch_bytes = bytes;
    wi_kernel_packs(plan, 1u << s->w | (s->projects ? 1u << s->wr : 0), bytes);
}

/* phases: 1 the first product of a step, 2 the second, 3 both. */
static void add_phases(const wi_recurrent *s, const wi_recurrent_groups *groups, wi_kernel_plan *plan,
    int phases, int64_t across) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, s->back ? "back" : "forward", across * groups->items, groups->items);
    launch->dimensions = 2;
    launch->whole = 1u << 0; /* a group takes every so manyth chunk */
    launch->global[1] = (size_t)wi_divide_up(s->batch, groups->rows);
    launch->local[1] = 1;
    if (s->back)
        wi_recurrent_back_arguments(s, launch, phases);
    else
        wi_recurrent_forward_arguments(s, launch, phases);
}

/* A tie walks. */
static void add_steps(
    wi_recurrent *s, const wi_recurrent_groups *groups, const product *products, wi_kernel_plan *plan) {
    const int first = plan->count;
    const forms seconds = seconds_of(s, groups, products);
    const bool whole = seconds.together <= seconds.apart;
    s->steps = whole ? s->iterations : 1;
    if (whole) {
        add_phases(s, groups, plan, s->second ? 3 : 1, 1);
        return;
    }
    for (int i = 0; i < (s->second ? 2 : 1); i++)
        add_phases(s, groups, plan, i + 1, chunks_of(groups, products[i].quads));
    wi_kernel_repeat(plan, first, s->iterations);
}

static wi_recurrent scan_of(const wi_kernel_site *site, bool back, product *products) {
    const wi_recurrent s = wi_recurrent_of(site, back);
    products[0] = first_product(&s);
    if (s.second) products[1] = second_product(&s);
    return s;
}

void wi_recurrent_groups_prepare(
    const wi_kernel_site *site, bool back, const wi_recurrent_groups *groups, wi_kernel_plan *plan) {
    product products[2];
    wi_recurrent s = scan_of(site, back, products);
    wi_recurrent_begin(&s, plan);
    pack(&s, groups, products, plan);
    if (!back) {
        const int64_t states = s.batch * wi_max64(s.a.units, s.a.width);
        wi_recurrent_prepare_arguments(&s, wi_kernel_launch_1d(plan, "prepare", states, groups->prepare), 0);
    }
    add_steps(&s, groups, products, plan);
}

double wi_recurrent_groups_seconds(const wi_kernel_site *site, bool back, const wi_recurrent_groups *groups) {
    product products[2];
    const wi_recurrent s = scan_of(site, back, products);
    const forms seconds = seconds_of(&s, groups, products);
    return fmin(seconds.together, seconds.apart);
}

/* ---- in f32 ---- */

static wi_recurrent_groups groups_of(const int *p) {
    return (wi_recurrent_groups){.items = (int64_t)p[ACROSS] * SLICES,
        .rows = ROWS,
        .quads = p[ACROSS],
        .block = BLOCK,
        .bytes = sizeof(float),
        .prepare = p[PREPARE],
        .share = 1.0};
}

static bool accepts_forward(const wi_kernel_site *site) {
    return wi_recurrent_groups_fit(site, false);
}

static bool accepts_gradient(const wi_kernel_site *site) {
    return wi_recurrent_groups_fit(site, true);
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_recurrent_groups groups = groups_of(site->values);
    wi_recurrent_groups_prepare(site, false, &groups, plan);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_recurrent_groups groups = groups_of(site->values);
    wi_recurrent_groups_prepare(site, true, &groups, plan);
    return WEFT_OK;
}

/* All variants cost what the first does, so that the device alone decides between them. */
static double forward_cost(const wi_kernel_site *site) {
    const wi_recurrent_groups groups = groups_of(variants[0].values);
    return wi_recurrent_groups_seconds(site, false, &groups);
}

static double gradient_cost(const wi_kernel_site *site) {
    const wi_recurrent_groups groups = groups_of(variants[0].values);
    return wi_recurrent_groups_seconds(site, true, &groups);
}

const wi_implementation wi_recurrent_gpu = {.name = "recurrent_forward_gpu",
    .ops = {&wi_op_recurrent_forward},
    .file = "recurrent_gpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .accepts = accepts_forward,
    .cost = forward_cost,
    .prepare = prepare_forward};

const wi_implementation wi_recurrent_gpu_gradient = {.name = "recurrent_back_gpu",
    .ops = {&wi_op_recurrent_back},
    .file = "recurrent_gpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .accepts = accepts_gradient,
    .cost = gradient_cost,
    .prepare = prepare_gradient};
