/* Recurrent scans and their gradients on class gpu: work-groups multiply rows of states in local memory by packed weights. Either
 * each group walks through all steps with its rows, in one launch, or groups share the columns of a step, with one launch per
 * product of a step: whichever is expected to be faster. recurrent_engine_gpu.c uses all of this except the tiles. See
 * cl_kernels/recurrent/recurrent_gpu.cl. */
#include "kernels/recurrent/recurrent_gpu.h"
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include <math.h>

/* A work-group has ACROSS x SLICES items. It computes ROWS rows and ACROSS quads of columns at once; DEPTH steps of k of its rows
 * are in local memory, and later the sums of SPREAD rows. PREPARE: items of a group that packs weights and sets states.
 * MOST_STEPS: the most steps of k of a slice in a block (recurrent_tile_gpu.clh). */
enum { ROWS, ACROSS, SLICES, DEPTH, SPREAD, PREPARE };
enum { QUAD = 4, MOST_GATES = 4, MOST_STEPS = 16 };

static const char *const parameters[] = {[ROWS] = "WEFT_R_ROWS",
    [ACROSS] = "WEFT_R_ACROSS",
    [SLICES] = "WEFT_R_SLICES",
    [DEPTH] = "WEFT_R_DEPTH",
    [SPREAD] = "WEFT_R_SPREAD",
    [PREPARE] = "WEFT_R_PREPARE",
    NULL};

/* With eight rows per group each weight that is read is used for eight rows. With fewer rows and 512 items, more groups can walk
 * through time, and a group has enough items to hide its own waits. With groups of 256 items, the local memory of a unit suffices
 * for two groups. The last variants are for devices whose groups have at most 64 items. The product of a gradient has as many
 * columns as there are units, and its k is several times as large as that of a scan. Of variants with the same rows, the one with
 * the largest groups is first. */
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

/* The portable kernels: groups of one item. */
static const wi_variant naive_variants[] = {{"one", TILE(2, 1, 1, 16, 1)}, {0}};

/* Local memory holds a tile of states, with a quad of padding for every eight steps, or the sums of all slices; and the number of
 * the step. */
static wi_limits limits(const int *p) {
    const int64_t items = (int64_t)p[ACROSS] * p[SLICES];
    const int64_t tile = p[DEPTH] / 8 * (8 * p[ROWS] + QUAD), sums = items * p[SPREAD] * QUAD;
    return (wi_limits){.group = (size_t)items,
        .items = {(size_t)wi_max64(items, p[PREPARE]), 1},
        .local_bytes = (size_t)(wi_max64(tile, sums) + QUAD) * sizeof(float)};
}

/* A product of states and weights. Its columns are packed as quads: element e of quad q is column q * quad + e * element if e <
 * each, and otherwise zero. In the unpacked weights a column begins at first + column * across, and its numbers are `down`
 * apart. */
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

/* The number of gates of a step's first product. */
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

/* The product of a projection, or of a GRU's third gate. */
static product second_product(const wi_recurrent *s) {
    const int64_t from = s->back ? s->a.width : s->a.units, to = s->back ? s->a.units : s->a.width;
    product p = plain(s->projects ? s->wr : s->w, from, to, !s->back);
    p.first = s->projects ? 0 : 2 * s->a.units * s->a.width;
    return p;
}

/* ---- how the work is divided ---- */

/* The profile's `hiding_groups` counts groups of this many items, or of fewer items if the device does not allow such groups. */
enum { GROUP_ITEMS = 256 };

static double hiding_items(const wi_device_profile *device) {
    return (double)(device->hiding_groups * wi_min64(GROUP_ITEMS, (int64_t)device->max_group));
}

/* The time of a launch in which `across` groups share the columns of each block of rows, and each group computes its chunks
 * `repeated` times. Other groups of the unit, or other items of a large group, hide the waits of an item, so the speed of a unit
 * depends on the number of its items. Weights are read at the bandwidth of the unit's cache while other weights are
 * multiplied. */
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

/* Groups walk through all steps if this takes at most WALKING_MARGIN times as long as sharing each step: estimates are inexact,
 * and launches also take the host's time. The estimate of sharing is multiplied by the margin, so that it is also comparable with
 * the estimate of a variant with other rows that walks. */
#define WALKING_MARGIN 1.1

/* Seconds of all steps. *walk: does each group walk through all steps? Then fewer groups work, but there is only one launch. */
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

/* SPARE: an upper bound of the units that rounding up to whole blocks and chunks adds. With it, an unsigned int can count the quads
 * of up to 64 GiB of packed weights. */
enum { SPARE = 4096 };

bool wi_recurrent_groups_fit(const wi_kernel_site *site) {
    const wi_recurrent s = wi_recurrent_of(site);
    const int64_t widest = wi_max64(s.a.units, s.a.width);
    const double side = (double)(widest + SPARE);
    return side * side <= UINT32_MAX && s.batch * MOST_GATES * widest <= INT32_MAX;
}

/* ---- launches ---- */

enum { PACKED_AT_ONCE = 16 }; /* bytes that an item writes */

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

static void add_phases(const wi_recurrent *s, const wi_recurrent_groups *groups, wi_kernel_plan *plan,
    int phases, int64_t across) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, s->back ? "back" : "forward", across * groups->items, groups->items);
    launch->dimensions = 2;
    launch->whole = 1u << 0; /* a group computes every across-th chunk */
    launch->global[1] = (size_t)wi_divide_up(s->batch, groups->rows);
    wi_recurrent_walk_arguments(s, launch, phases);
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

static wi_recurrent scan_of(const wi_kernel_site *site, product *products) {
    const wi_recurrent s = wi_recurrent_of(site);
    products[0] = first_product(&s);
    if (s.second) products[1] = second_product(&s);
    return s;
}

void wi_recurrent_groups_prepare(
    const wi_kernel_site *site, const wi_recurrent_groups *groups, wi_kernel_plan *plan) {
    product products[2];
    wi_recurrent s = scan_of(site, products);
    wi_recurrent_begin(&s, plan);
    pack(&s, groups, products, plan);
    if (!s.back) {
        const int64_t states = s.batch * wi_max64(s.a.units, s.a.width);
        wi_recurrent_prepare_arguments(&s, wi_kernel_launch_1d(plan, "prepare", states, groups->prepare), 0);
    }
    add_steps(&s, groups, products, plan);
}

double wi_recurrent_groups_seconds(const wi_kernel_site *site, const wi_recurrent_groups *groups) {
    product products[2];
    bool walk;
    const wi_recurrent s = scan_of(site, products);
    return seconds_of(&s, groups, products, &walk);
}

/* ---- in f32 ---- */

/* The share of multiply-adds among the instructions of an item's loop. In a step of k an item also reads weights and the states
 * of its rows, and executes about one more instruction. */
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

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_recurrent_groups groups = groups_of(site->values);
    wi_recurrent_groups_prepare(site, &groups, plan);
    return WEFT_OK;
}

/* If the device allows a variant with the same rows and larger groups, a variant with small groups gets the same estimate as that
 * variant, and is not chosen. By its own estimate more small groups could share a step, but then each step would be a launch. */
static double cost(const wi_kernel_site *site) {
    const bool back = site->node->op == &wi_op_recurrent_back;
    const wi_variant *largest = back ? gradient_variants : forward_variants;
    while (largest->values[ROWS] != site->values[ROWS]) largest++;
    const wi_limits wanted = limits(largest->values);
    const bool has =
        site->device->max_group >= wanted.group && site->device->local_bytes >= wanted.local_bytes;
    const wi_recurrent_groups groups = groups_of(has ? largest->values : site->values);
    return wi_recurrent_groups_seconds(site, &groups);
}

static double naive_cost(const wi_kernel_site *site) {
    const wi_recurrent_groups groups = groups_of(site->values);
    return wi_recurrent_groups_seconds(site, &groups);
}

#define RECORD(spelling, op)                                                                                 \
    .name = (spelling), .ops = {&(op)}, .file = "recurrent_gpu.cl", .headers = wi_recurrent_headers,         \
    .parameters = parameters, .accepts = wi_recurrent_groups_fit, .prepare = prepare
#define GPU .cost = cost, .needs = {.classes = WI_ON_GPU, .limits = limits}
#define NAIVE                                                                                                \
    .variants = naive_variants, .cost = naive_cost, .margin = wi_last_resort_margin,                         \
    .needs = {.without = WI_QUIRK_SINGLE_ITEMS, .limits = limits}

const wi_implementation wi_recurrent_gpu = {
    RECORD("recurrent_forward_gpu", wi_op_recurrent_forward), GPU, .variants = forward_variants};
const wi_implementation wi_recurrent_gpu_gradient = {
    RECORD("recurrent_back_gpu", wi_op_recurrent_back), GPU, .variants = gradient_variants};
const wi_implementation wi_recurrent_naive = {
    RECORD("recurrent_forward_naive", wi_op_recurrent_forward), NAIVE};
const wi_implementation wi_recurrent_naive_gradient = {
    RECORD("recurrent_back_naive", wi_op_recurrent_back), NAIVE};
