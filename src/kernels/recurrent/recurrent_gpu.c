/* Recurrent scans where groups multiply rows of states in local memory: recurrent_gpu.cl. The weights are packed first.
 * Either a group walks through the whole time with its rows, in one launch, or groups share the columns of a step,
 * which is a launch then, or two where a step has two products: what is expected to take less. All but what a group is serves
 * recurrent_engine_gpu.c, too. */
#include "kernels/recurrent/recurrent_gpu.h"
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include <math.h>

/* A work-group has ACROSS x SLICES items, and takes ROWS rows and ACROSS quads of columns at once; DEPTH steps of k
 * of its rows are in local memory, and then the sums of SPREAD rows at once; PREPARE items prepare. MOST_STEPS: of k, of a slice, in a
 * block (recurrent_tile_gpu.clh). */
enum { ROWS, ACROSS, SLICES, DEPTH, SPREAD, PREPARE };
enum { QUAD = 4, MOST_GATES = 4, MOST_STEPS = 16 };

static const char *const parameters[] = {[ROWS] = "WEFT_R_ROWS",
    [ACROSS] = "WEFT_R_ACROSS",
    [SLICES] = "WEFT_R_SLICES",
    [DEPTH] = "WEFT_R_DEPTH",
    [SPREAD] = "WEFT_R_SPREAD",
    [PREPARE] = "WEFT_R_PREPARE",
    NULL};

/* Eight rows, of which a weight serves each; fewer rows, and 512 items, so that more groups may walk through time, and each hides its
 * own waits; fewer rows where groups have at most 256 items, two of which share a unit's local memory; and what groups of 64 items can
 * have. The product of a gradient has as many columns as there are units, and several times the depth. Of tiles with as many rows the one of
 * the largest groups comes first. */
#define TILE(rows, across, slices, depth, spread)                                                            \
    {                                                                                                        \
        [ROWS] = (rows), [ACROSS] = (across), [SLICES] = (slices), [DEPTH] = (depth), [SPREAD] = (spread),   \
        [PREPARE] = (across) * (slices) < 64 ? (across) * (slices) : 64                                      \
    }
#define EIGHT TILE(8, 64, 4, 256, 4)
static const wi_variant forward_variants[] = {{"rows8", EIGHT}, {"rows4", TILE(4, 128, 4, 256, 4)},
    {"rows2", TILE(2, 128, 4, 256, 2)}, {"rows4_256", TILE(4, 64, 4, 256, 2)},
    {"rows2_256", TILE(2, 64, 4, 256, 2)}, {"64", TILE(8, 16, 4, 128, 4)},
    {"rows4_64", TILE(4, 16, 4, 256, 4)}, {0}};
static const wi_variant gradient_variants[] = {{"rows8", EIGHT}, {"rows4", TILE(4, 64, 8, 1024, 4)},
    {"rows2", TILE(2, 64, 8, 1024, 2)}, {"rows4_256", TILE(4, 32, 8, 512, 2)},
    {"rows2_256", TILE(2, 32, 8, 512, 2)}, {"64", TILE(8, 16, 4, 128, 4)},
    {"rows4_64", TILE(4, 16, 4, 256, 4)}, {0}};

/* Of the portable ones: an item alone. */
static const wi_variant naive_variants[] = {{"one", TILE(2, 1, 1, 16, 1)}, {0}};

/* Local memory has a tile of the states, with a quad of padding for eight steps of a slice, or sums of all slices, and the number of the
 * step. */
static wi_limits limits(const int *p) {
    const int64_t items = (int64_t)p[ACROSS] * p[SLICES];
    const int64_t tile = p[DEPTH] / 8 * (8 * p[ROWS] + QUAD), sums = items * p[SPREAD] * QUAD;
    return (wi_limits){.group = (size_t)items,
        .items = {(size_t)wi_max64(items, p[PREPARE]), 1},
        .local_bytes = (size_t)(wi_max64(tile, sums) + QUAD) * sizeof(float)};
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

/* Items of a unit's group that the profile's `hiding_groups` counts: fewer where the device has no such groups. */
enum { GROUP_ITEMS = 256 };

static double hiding_items(const wi_device_profile *device) {
    return (double)(device->hiding_groups * wi_min64(GROUP_ITEMS, (int64_t)device->max_group));
}

/* A launch in which each of the rows' groups is cut into `across`, and their chunks are taken `repeated` times. Groups of a unit hide
 * each other's waits, and a large group its own: the speed of a unit goes with its items. Weights come at the speed of the units' own
 * memory while others are multiplied. */
static double launch_seconds(const wi_recurrent *s, const wi_recurrent_groups *groups, const product *p,
    int64_t across, int64_t repeated) {
    const wi_device_profile *const device = s->site->device;
    const int64_t count = wi_divide_up(s->batch, groups->rows) * across;
    const double rounds = (double)wi_divide_up(count, device->units),
                 numbers = (double)(wi_divide_up(chunks_of(groups, p->quads), across) * repeated * QUAD *
                                    groups->quads * p->depth),
                 hidden = rounds * (double)groups->items / hiding_items(device),
                 speed = device->peak_f32 * groups->share * fmin(1.0, hidden);
    return rounds * fmax(2.0 * numbers * (double)groups->rows / speed,
                        numbers * (double)groups->bytes / device->near_bandwidth);
}

/* How much longer than sharing walking may take: estimates are not so good, and each launch takes the host's time, too. So forms
 * that share are expected to take longer by this, among groups of other rows as well. */
#define WALKING_MARGIN 1.1

/* Of all steps, and whether groups walk through the whole time, with no launches, but fewer of them work; or each step is a launch. A
 * tie walks. */
static double seconds_of(
    const wi_recurrent *s, const wi_recurrent_groups *groups, const product *products, bool *walk) {
    double together = 0.0, apart = 0.0;
    for (int i = 0; i < (s->second ? 2 : 1); i++) {
        const product *const p = &products[i];
        together += launch_seconds(s, groups, p, 1, s->iterations);
        apart += (double)s->iterations * (launch_seconds(s, groups, p, chunks_of(groups, p->quads), 1) +
                                             s->site->device->launch_seconds);
    }
    apart *= WALKING_MARGIN;
    *walk = together <= apart;
    return *walk ? together : apart;
}

/* SPARE: by which blocks and chunks exceed units, at most. An unsigned int counts the quads of packed weights, which are 64 GiB then. */
enum { SPARE = 4096 };

bool wi_recurrent_groups_fit(const wi_kernel_site *site, bool back) {
    const wi_recurrent s = wi_recurrent_of(site, back);
    const int64_t widest = wi_max64(s.a.units, s.a.width);
    const double side = (double)(widest + SPARE);
    return side * side <= UINT32_MAX && s.batch * MOST_GATES * widest <= INT32_MAX;
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

static void add_steps(
    wi_recurrent *s, const wi_recurrent_groups *groups, const product *products, wi_kernel_plan *plan) {
    const int first = plan->count;
    bool walk;
    seconds_of(s, groups, products, &walk);
    s->steps = walk ? s->iterations : 1;
    if (walk) {
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
    bool walk;
    const wi_recurrent s = scan_of(site, back, products);
    return seconds_of(&s, groups, products, &walk);
}

/* ---- in f32 ---- */

/* What of the instructions of an item's loop multiplies: a step of k has a read of weights, reads of the rows' states, and about one
 * instruction more. */
static double share_of(int rows) {
    return 4.0 * rows / (4.0 * rows + fmax(1.0, rows / 4.0) + 2.0);
}

static wi_recurrent_groups groups_of(const int *p) {
    return (wi_recurrent_groups){.items = (int64_t)p[ACROSS] * p[SLICES],
        .rows = p[ROWS],
        .quads = p[ACROSS],
        .block = MOST_STEPS * p[SLICES],
        .bytes = sizeof(float),
        .prepare = p[PREPARE],
        .share = share_of(p[ROWS])};
}

static weft_status prepare(const wi_kernel_site *site, bool back, wi_kernel_plan *plan) {
    const wi_recurrent_groups groups = groups_of(site->values);
    wi_recurrent_groups_prepare(site, back, &groups, plan);
    return WEFT_OK;
}

/* Where the device has larger groups of as many rows, small ones cost what these do, and do not serve: more of them may share a step, but
 * each step would be a launch again. */
static double cost(const wi_kernel_site *site, bool back, const wi_variant *variants) {
    const wi_variant *largest = variants;
    while (largest->values[ROWS] != site->values[ROWS]) largest++;
    const wi_limits wanted = limits(largest->values);
    const bool has =
        site->device->max_group >= wanted.group && site->device->local_bytes >= wanted.local_bytes;
    const wi_recurrent_groups groups = groups_of(has ? largest->values : site->values);
    return wi_recurrent_groups_seconds(site, back, &groups);
}

#define WAY(way, back)                                                                                       \
    static bool accepts_##way(const wi_kernel_site *site) {                                                  \
        return wi_recurrent_groups_fit(site, back);                                                          \
    }                                                                                                        \
    static weft_status prepare_##way(const wi_kernel_site *site, wi_kernel_plan *plan) {                     \
        return prepare(site, back, plan);                                                                    \
    }                                                                                                        \
    static double way##_cost(const wi_kernel_site *site) {                                                   \
        return cost(site, back, way##_variants);                                                             \
    }
WAY(forward, false)
WAY(gradient, true)

/* Of a group of one item. */
static double naive_cost(const wi_kernel_site *site) {
    const wi_recurrent_groups groups = groups_of(site->values);
    return wi_recurrent_groups_seconds(site, false, &groups);
}
static double naive_gradient_cost(const wi_kernel_site *site) {
    const wi_recurrent_groups groups = groups_of(site->values);
    return wi_recurrent_groups_seconds(site, true, &groups);
}

#define RECORD(spelling, op, way)                                                                            \
    .name = (spelling), .ops = {&(op)}, .file = "recurrent_gpu.cl", .headers = wi_recurrent_headers,         \
    .parameters = parameters, .accepts = accepts_##way, .prepare = prepare_##way
#define RECORD_OF_GPUS(spelling, op, way)                                                                    \
    {                                                                                                        \
        RECORD(spelling, op, way), .variants = way##_variants, .cost = way##_cost, .needs = {                \
            .classes = WI_ON_GPU,                                                                            \
            .limits = limits                                                                                 \
        }                                                                                                    \
    }
#define NAIVE_RECORD(spelling, op, way, seconds)                                                             \
    {                                                                                                        \
        RECORD(spelling, op, way), .variants = naive_variants, .cost = (seconds),                            \
                                   .margin = wi_last_resort_margin, .needs = {                               \
                                       .without = WI_QUIRK_SINGLE_ITEMS,                                     \
                                       .limits = limits                                                      \
                                   }                                                                         \
    }
const wi_implementation wi_recurrent_gpu =
    RECORD_OF_GPUS("recurrent_forward_gpu", wi_op_recurrent_forward, forward);
const wi_implementation wi_recurrent_gpu_gradient =
    RECORD_OF_GPUS("recurrent_back_gpu", wi_op_recurrent_back, gradient);
const wi_implementation wi_recurrent_naive =
    NAIVE_RECORD("recurrent_forward_naive", wi_op_recurrent_forward, forward, naive_cost);
const wi_implementation wi_recurrent_naive_gradient =
    NAIVE_RECORD("recurrent_back_naive", wi_op_recurrent_back, gradient, naive_gradient_cost);
