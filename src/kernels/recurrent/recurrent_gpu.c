/* Recurrent scans where groups multiply tiles in local memory: recurrent_gpu.cl. The weights are packed first.
 * Either a group walks through the whole time with its rows, in one launch, or groups share the columns of a step,
 * which is a launch then, or two where a step has two products: what is expected to take less. */
#include "base/integers.h"
#include "kernels/cost.h"
#include "kernels/recurrent/recurrent_kernels.h"

/* A work-group has ACROSS x SLICES items, and takes ROWS rows and ACROSS quads of columns at once; DEPTH steps of k
 * of its rows are in local memory; PREPARE items prepare. The device alone decides which variant it is, so a
 * program has one. ROWS, SLICES, BLOCK and PITCH are those of recurrent_tile_gpu.clh. */
enum { ACROSS, DEPTH, PREPARE };
enum { ROWS = 8, SLICES = 4, BLOCK = 16, PITCH = 3, QUAD = 4, MOST_GATES = 4 };

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

static int64_t padded_quads(const wi_recurrent *s, int64_t quads) {
    return wi_divide_up(quads, s->site->values[ACROSS]) * s->site->values[ACROSS];
}

static int64_t padded_depth(int64_t depth) {
    return (wi_divide_up(depth, BLOCK) + 1) * BLOCK;
}

static int64_t packed_numbers(const wi_recurrent *s, const product *p) {
    return padded_depth(p->depth) * padded_quads(s, p->quads) * QUAD;
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

static int64_t chunks_of(const wi_recurrent *s, int64_t quads) {
    return wi_divide_up(quads, s->site->values[ACROSS]);
}

/* A launch in which each of the rows' groups is cut into so many, and all of them take `chunks` chunks. */
static double launch_seconds(const wi_recurrent *s, const product *p, int64_t across, int64_t repeated) {
    const double rows = (double)wi_divide_up(s->batch, ROWS), sums = ROWS * QUAD * s->site->values[ACROSS];
    const double chunks = (double)(wi_divide_up(chunks_of(s, p->quads), across) * across * repeated);
    const wi_work work = {.operations = 2.0 * rows * chunks * sums * (double)p->depth,
        .groups = rows * (double)across,
        .launches = 0};
    return wi_work_seconds(s->site->device, &work);
}

/* Whether groups walk through the whole time: no launches, but fewer groups work. */
static bool walks(const wi_recurrent *s, const product *products) {
    double together = 0, apart = 0;
    for (int i = 0; i < (s->second ? 2 : 1); i++) {
        together += launch_seconds(s, &products[i], 1, s->iterations);
        apart +=
            (double)s->iterations * (launch_seconds(s, &products[i], chunks_of(s, products[i].quads), 1) +
                                        s->site->device->launch_seconds);
    }
    return together <= apart;
}

/* Indices within a step have 32 bits. */
static bool counts_with_ints(const wi_kernel_site *site, bool back) {
    const wi_recurrent s = wi_recurrent_of(site, back);
    return s.batch * MOST_GATES * wi_max64(s.a.units, s.a.width) <= INT32_MAX;
}

static bool accepts_forward(const wi_kernel_site *site) {
    return counts_with_ints(site, false);
}

static bool accepts_gradient(const wi_kernel_site *site) {
    return counts_with_ints(site, true);
}

/* ---- launches ---- */

static void add_pack(const wi_recurrent *s, const product *p, int64_t at, wi_kernel_plan *plan) {
    const int64_t items = padded_depth(p->depth) * padded_quads(s, p->quads);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "pack", items, s->site->values[PREPARE]);
    wi_kernel_input(launch, p->input);
    wi_kernel_scratch(launch, at);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(p->depth, p->quads, p->columns, p->quad, p->element, p->each));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(p->first, p->across, p->down));
}

static void pack(wi_recurrent *s, const product *products, wi_kernel_plan *plan) {
    s->packed = packed_numbers(s, &products[0]);
    const size_t bytes =
        (size_t)(s->packed + (s->second ? packed_numbers(s, &products[1]) : 0)) * sizeof(float);
    add_pack(s, &products[0], 0, plan);
    if (s->second) add_pack(s, &products[1], s->packed, plan);
    plan->scratch_bytes = bytes;
    wi_kernel_packs(plan, 1u << s->w | (s->projects ? 1u << s->wr : 0), bytes);
}

/* phases: 1 the first product of a step, 2 the second, 3 both. */
static void add_phases(const wi_recurrent *s, wi_kernel_plan *plan, int phases, int64_t groups) {
    const int *const p = s->site->values;
    const int64_t items = p[ACROSS] * SLICES;
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, s->back ? "back" : "forward", groups * items, items);
    launch->dimensions = 2;
    launch->whole = 1u << 0; /* a group takes every so manyth chunk */
    launch->global[1] = (size_t)wi_divide_up(s->batch, ROWS);
    launch->local[1] = 1;
    if (s->back)
        wi_recurrent_back_arguments(s, launch, phases);
    else
        wi_recurrent_forward_arguments(s, launch, phases);
}

static void add_steps(wi_recurrent *s, const product *products, wi_kernel_plan *plan) {
    const int first = plan->count;
    const bool whole = walks(s, products);
    s->steps = whole ? s->iterations : 1;
    if (whole) {
        add_phases(s, plan, s->second ? 3 : 1, 1);
        return;
    }
    for (int i = 0; i < (s->second ? 2 : 1); i++) add_phases(s, plan, i + 1, chunks_of(s, products[i].quads));
    wi_kernel_repeat(plan, first, s->iterations);
}

static wi_recurrent begin(const wi_kernel_site *site, bool back, product *products, wi_kernel_plan *plan) {
    wi_recurrent s = wi_recurrent_of(site, back);
    products[0] = first_product(&s);
    if (s.second) products[1] = second_product(&s);
    wi_recurrent_begin(&s, plan);
    pack(&s, products, plan);
    return s;
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    product products[2];
    wi_recurrent s = begin(site, false, products, plan);
    wi_recurrent_prepare_arguments(&s,
        wi_kernel_launch_1d(plan, "prepare", s.batch * wi_max64(s.a.units, s.a.width), site->values[PREPARE]),
        0);
    add_steps(&s, products, plan);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    product products[2];
    wi_recurrent s = begin(site, true, products, plan);
    add_steps(&s, products, plan);
    return WEFT_OK;
}

const wi_implementation wi_recurrent_gpu = {.name = "recurrent_forward_gpu",
    .ops = {&wi_op_recurrent_forward},
    .file = "recurrent_gpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .accepts = accepts_forward,
    .prepare = prepare_forward};

const wi_implementation wi_recurrent_gpu_gradient = {.name = "recurrent_back_gpu",
    .ops = {&wi_op_recurrent_back},
    .file = "recurrent_gpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .accepts = accepts_gradient,
    .prepare = prepare_gradient};
