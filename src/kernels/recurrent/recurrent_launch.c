/* The launches of recurrent scans (nodes: recurrent_scan.c). The kernels of both classes take the same
 * arguments. On cpu-class devices the weights are packed first, and a work-item goes through the whole time
 * with its rows, unless the rows are few and the weights large: then every step is a launch that shares out
 * the units to the cores. On gpu-class devices every step is a launch, or two where a step has two products.
 */
#include "base/integers.h"
#include "kernels/families.h"
#include "ops/recurrent/recurrent_scan.h"

enum { PANEL = 32, ROWS = 13, FEW = 4, LINE = 16 };     /* as in recurrent_cpu.cl */
enum { GROUP = 16, GPU_ROWS = 32, PREPARE_GROUP = 64 }; /* as in recurrent_gpu.cl */

/* In cycles: a launch with the wake of the cores; a step in which work-items wait for each other, and each
 * LINE of states that they then read from another core; one row of a panel in tiles of 1, 4 and 13 rows. */
static const double launch_cycles = 40000, meeting_cycles = 1500, line_cycles = 30,
                    tile_cycles[] = {4, 8, 13};

typedef struct scan {
    const wi_kernel_site *site;
    const weft_tensor *node;
    wi_cell cell;
    wi_scan_parts a;
    bool cpu, back, projects, kept, second; /* second: each step has a second product */
    bool whole;                             /* one launch goes through all steps */
    bool helped;                            /* so do work-items that share the units */
    int w, wr, lengths;                     /* inputs */
    int64_t batch, gates;
    int64_t rows, blocks; /* of a work-item; a block is PANEL units */
    int64_t turns, steps; /* in all, and of one launch */
    int64_t panels, panels_r;
    int64_t state, rooms; /* of helped ones, behind the packed weights: words, what goes from step to step */
} scan;

static scan scan_of(const wi_kernel_site *site, bool back) {
    const weft_tensor *node = site->node;
    const wi_attributes *attributes = &node->attributes;
    scan s = {.site = site,
        .node = node,
        .cell = (wi_cell)attributes->power,
        .back = back,
        .cpu = site->device->device_class == WEFT_CLASS_CPU,
        .kept = attributes->step == 0};
    s.w = wi_scan_index(node, back ? WI_BACK_W : WI_SCAN_W);
    s.wr = wi_scan_index(node, back ? WI_BACK_WR : WI_SCAN_WR);
    s.lengths = wi_scan_index(node, back ? WI_BACK_LENGTHS : WI_SCAN_LENGTHS);
    s.projects = s.wr >= 0;
    s.second = s.projects || s.cell == WI_CELL_GRU_RESET_FIRST;
    s.gates = wi_cell_gates(s.cell);
    s.a = wi_scan_parts_of(s.cell, attributes->before[0], attributes->start, site->inputs[s.w].dims[1].actual,
        s.projects, s.kept);
    const int64_t row =
        back ? s.a.dx + s.a.sums + s.a.out + s.a.dh0 + s.a.dc0 : s.a.h + s.a.c + s.a.gates + s.a.more;
    s.batch = site->result.dims[0].actual / row;
    return s;
}

/* ---- how the work is cut ---- */

static double rows_cost(int64_t rows) {
    const int64_t rest = rows % ROWS;
    const double last = rest == 0 ? 0 : tile_cycles[rest == 1 ? 0 : rest <= FEW ? 1 : 2];
    return (double)(rows / ROWS) * tile_cycles[2] + last;
}

static void cut(scan *s, int64_t turns) {
    const int64_t units = wi_max64(1, s->site->device->units), slices = wi_min64(units, s->batch);
    const int64_t all = wi_divide_up(wi_max64(s->a.units, s->a.width), PANEL);
    const int64_t blocks = wi_divide_up(all, units), rows = wi_divide_up(s->batch, slices);
    const double panel_rows = (double)(s->gates * s->a.units * s->a.width) / PANEL;
    const double by_rows = panel_rows * rows_cost(rows),
                 by_units = panel_rows * rows_cost(s->batch) * (double)blocks / (double)all,
                 meeting = meeting_cycles + line_cycles * (double)(s->batch * s->a.width) / LINE;
    s->helped = s->cpu && !s->second && turns > 1 && blocks < all && by_units + meeting < by_rows;
    s->whole = s->helped || (s->cpu && by_rows <= by_units + launch_cycles);
    s->turns = turns;
    s->steps = s->whole ? turns : 1;
    s->rows = s->whole && !s->helped ? rows : s->batch;
    s->blocks = s->whole && !s->helped ? all : blocks;
    if (!s->helped) return;
    const int64_t c = s->cell == WI_CELL_LSTM ? s->a.units : 0;
    s->state = LINE * (1 + wi_divide_up(all, blocks));
    if (s->back)
        s->rooms = turns * s->batch * (s->a.width + c);
    else if (!s->kept)
        s->rooms = (turns + 1) * s->batch * c;
}

/* ---- arguments ---- */

static void add_ints(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}

static void add_longs(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_long(launch, numbers[i]);
}

#define INTS(launch, ...)                                                                                    \
    add_ints(launch, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define LONGS(launch, ...)                                                                                   \
    add_longs(                                                                                               \
        launch, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* An input, or anything of the same type where there is none. */
static void optional_input(const scan *s, wi_kernel_launch *launch, int index) {
    wi_kernel_input(launch, index >= 0 ? index : s->w);
}

/* Whether there are lengths, and they; the kernel's parameter is then of ints. */
static void lengths_input(const scan *s, wi_kernel_launch *launch) {
    wi_kernel_int(launch, s->lengths >= 0);
    optional_input(s, launch, s->lengths);
}

static int64_t packed_size(const scan *s) {
    return s->panels * PANEL * (s->back ? s->gates * s->a.units : s->a.width);
}

/* The weights as the products read them: packed, or where they lie. */
static void weights_input(const scan *s, wi_kernel_launch *launch) {
    if (s->cpu) {
        wi_kernel_scratch(launch, 0);
        wi_kernel_scratch(launch, packed_size(s));
    } else {
        wi_kernel_input(launch, s->w);
        optional_input(s, launch, s->wr);
    }
}

static int64_t both_packed_size(const scan *s) {
    return packed_size(s) + s->panels_r * PANEL * (s->back ? s->a.width : s->a.units);
}

/* Two buffers. What a step leaves to the next, c or in the gradient dh and dc, all but the last: in the
 * result, where helped work-items, of which every step has a room of its own, do not need more than is kept
 * there. And the words of helped ones. */
static void rooms_and_state(const scan *s, wi_kernel_launch *launch) {
    if (s->rooms > 0)
        wi_kernel_scratch(launch, both_packed_size(s) + s->state);
    else
        wi_kernel_result(launch);
    wi_kernel_scratch(launch, s->helped ? both_packed_size(s) : 0);
}

/* The states before the first step, the lengths' check, and on cpu-class devices the packed weights. */
static void prepare(scan *s, wi_kernel_plan *plan) {
    const int64_t units = wi_divide_up(s->a.units, PANEL), widths = wi_divide_up(s->a.width, PANEL);
    s->panels = s->back ? widths : units * s->gates;
    s->panels_r = s->projects ? (s->back ? units : widths) : 0;
    if (s->cpu) plan->scratch_bytes = (size_t)(both_packed_size(s) + s->state + s->rooms) * sizeof(float);
    if (s->back && !s->cpu) return;
    const int64_t rows = s->cpu ? wi_divide_up(s->batch, wi_max64(1, s->site->device->units)) : 1;
    const int64_t slices = s->back ? 0 : wi_divide_up(s->batch, rows);
    const int64_t items =
        s->cpu ? s->panels + s->panels_r + slices : s->batch * wi_max64(s->a.units, s->a.width);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "prepare", items, s->cpu ? 1 : PREPARE_GROUP);
    const int h0 = s->back ? -1 : wi_scan_index(s->node, WI_SCAN_H0),
              c0 = s->back ? -1 : wi_scan_index(s->node, WI_SCAN_C0);
    wi_kernel_input(launch, s->w);
    optional_input(s, launch, s->wr);
    if (s->cpu)
        weights_input(s, launch);
    else
        for (int i = 0; i < 2; i++) wi_kernel_result(launch); /* not touched */
    wi_kernel_int(launch, (h0 >= 0 ? 1 : 0) + (c0 >= 0 ? 2 : 0));
    optional_input(s, launch, h0);
    optional_input(s, launch, c0);
    lengths_input(s, launch);
    wi_kernel_result(launch);
    if (s->back)
        wi_kernel_result(launch); /* not touched */
    else
        wi_kernel_faults(launch);
    const wi_scan_parts *a = &s->a;
    INTS(launch, s->panels, s->panels_r, a->steps, s->batch, a->units, a->width, rows, !s->back);
    const int64_t c_first = s->kept || s->rooms > 0 ? a->steps * a->units : 0;
    LONGS(launch, s->batch * (s->node->attributes.axis ? a->steps * a->width : 0),
        s->batch * (c_first + (s->rooms > 0 ? 0 : a->h)));
    if (!s->cpu) return;
    rooms_and_state(s, launch);
    wi_kernel_int(launch, s->state / LINE);
}

static wi_kernel_launch *launch_phase(const scan *s, wi_kernel_plan *plan, const char *suffix, int phase) {
    const int64_t columns = wi_divide_up(wi_max64(s->a.units, s->a.width), PANEL);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, wi_divide_up(s->batch, s->rows), 1);
    launch->dimensions = 2;
    launch->global[1] = (size_t)wi_divide_up(columns, s->blocks);
    if (s->cpu) return launch;
    const bool to_width = s->back == (phase == 1); /* columns of the product: P rather than H */
    launch->local[0] = launch->local[1] = GROUP;
    launch->global[0] = (size_t)(wi_divide_up(to_width ? s->a.width : s->a.units, GROUP) * GROUP);
    launch->global[1] = (size_t)(wi_divide_up(s->batch, GPU_ROWS) * GROUP);
    return launch;
}

static void macros(const scan *s, wi_kernel_plan *plan) {
    wi_kernel_macro_int(plan, "WEFT_CELL", s->cell);
    wi_kernel_macro_int(plan, "WEFT_PROJECT", s->projects);
    wi_kernel_macro_int(plan, "WEFT_KEEP", s->kept);
    wi_kernel_macro_int(plan, "WEFT_BACK", s->back);
}

static void count_flops(const scan *s, wi_kernel_plan *plan) {
    const int64_t products = s->gates * s->a.units * s->a.width + (s->projects ? s->a.units * s->a.width : 0);
    plan->flops = 2.0 * (double)(s->batch * s->a.steps) * (double)products;
}

/* ---- forward ---- */

static void add_forward(const scan *s, wi_kernel_plan *plan, int phases) {
    const wi_scan_parts *a = &s->a;
    const int64_t n = s->batch, one = s->kept ? 1 : 0;
    const int bias = wi_scan_index(s->node, WI_SCAN_BIAS);
    wi_kernel_launch *launch = launch_phase(s, plan, "forward", phases);
    wi_kernel_input(launch, wi_scan_index(s->node, WI_SCAN_X));
    wi_kernel_int(launch, bias >= 0);
    optional_input(s, launch, bias);
    lengths_input(s, launch);
    wi_kernel_result(launch);
    weights_input(s, launch);
    wi_kernel_turn(launch);
    INTS(launch, s->steps, phases, a->steps, n, a->units, a->width, s->rows, s->blocks,
        s->node->attributes.axis, s->node->attributes.axis2);
    LONGS(launch, n * a->h, (s->kept || s->rooms > 0 ? 1 : 0) * n * a->units, n * (a->h + a->c),
        one * n * (a->gates / a->steps), n * (a->h + a->c + a->gates), one * n * a->units);
    if (!s->cpu) return;
    wi_kernel_long(launch, s->rooms > 0 ? 0 : n * a->h);
    rooms_and_state(s, launch);
    wi_kernel_int(launch, s->helped);
}

/* ---- the gradient ---- */

static void add_back(const scan *s, wi_kernel_plan *plan, int phases) {
    const wi_scan_parts *a = &s->a;
    const int64_t n = s->batch, dh0 = n * (a->dx + a->sums + a->out), dc0 = dh0 + n * a->dh0;
    const bool has_y = s->node->attributes.flags & WI_BACK_HAS_DY;
    const int dh = wi_scan_index(s->node, WI_BACK_DH), dc = wi_scan_index(s->node, WI_BACK_DC);
    wi_kernel_launch *launch = launch_phase(s, plan, "back", phases);
    wi_kernel_input(launch, WI_BACK_Y);
    wi_kernel_int(launch, (has_y ? 1 : 0) + (dh >= 0 ? 2 : 0) + (dc >= 0 ? 4 : 0));
    wi_kernel_input(launch, WI_BACK_DY);
    optional_input(s, launch, dh);
    optional_input(s, launch, dc);
    lengths_input(s, launch);
    wi_kernel_result(launch);
    weights_input(s, launch);
    wi_kernel_turn(launch);
    INTS(launch, s->steps, s->turns, phases, a->steps, n, a->units, a->width, s->rows, s->blocks,
        s->node->attributes.axis, s->node->attributes.axis2);
    LONGS(launch, n * a->h, n * (a->h + a->c), a->sums ? n * a->dx : 0, n * (a->dx + a->sums), dh0, dc0);
    for (int i = 0; i < 3; i++)
        wi_kernel_long(launch, has_y ? s->site->layouts[WI_BACK_DY].strides[i].actual : 0);
    if (!s->cpu) return;
    if (s->rooms > 0)
        LONGS(launch, 0, n * a->dh0, n * (a->dh0 + a->dc0));
    else
        LONGS(launch, dh0, dc0 - dh0, 0);
    rooms_and_state(s, launch);
    wi_kernel_int(launch, s->helped);
}

/* ---- both ---- */

/* All steps in one launch, or the launches of a step, repeated. */
static void add_steps(const scan *s, wi_kernel_plan *plan) {
    void (*const add)(const scan *, wi_kernel_plan *, int) = s->back ? add_back : add_forward;
    const int first = plan->count;
    add(s, plan, s->whole ? 3 : 1);
    if (s->second && !s->whole) add(s, plan, 2);
    wi_kernel_repeat(plan, first, wi_divide_up(s->turns, s->steps));
}

static weft_status fill(scan s, wi_kernel_plan *plan, int64_t turns) {
    cut(&s, turns);
    macros(&s, plan);
    count_flops(&s, plan);
    prepare(&s, plan);
    add_steps(&s, plan);
    return WEFT_OK;
}

static weft_status forward_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const scan s = scan_of(site, false);
    return fill(s, plan, s.a.steps);
}

/* The last turn is dh0, where it is wanted. */
static weft_status back_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const scan s = scan_of(site, true);
    return fill(s, plan, s.a.steps + (s.node->attributes.flags & WI_BACK_WANTS_DH0 ? 1 : 0));
}

static const char *const headers[] = {"elementwise.clh", "recurrent.clh", NULL};

static const wi_implementation forward_cpu = {.name = "recurrent_forward_cpu",
    .ops = {&wi_op_recurrent_forward},
    .needs = {.classes = WI_ON_CPU},
    .file = "recurrent_cpu.cl",
    .headers = headers,
    .prepare = forward_kernel};
static const wi_implementation forward_gpu = {.name = "recurrent_forward_gpu",
    .ops = {&wi_op_recurrent_forward},
    .needs = {.classes = WI_ON_GPU},
    .file = "recurrent_gpu.cl",
    .headers = headers,
    .prepare = forward_kernel};
static const wi_implementation back_cpu = {.name = "recurrent_back_cpu",
    .ops = {&wi_op_recurrent_back},
    .needs = {.classes = WI_ON_CPU},
    .file = "recurrent_cpu.cl",
    .headers = headers,
    .prepare = back_kernel};
static const wi_implementation back_gpu = {.name = "recurrent_back_gpu",
    .ops = {&wi_op_recurrent_back},
    .needs = {.classes = WI_ON_GPU},
    .file = "recurrent_gpu.cl",
    .headers = headers,
    .prepare = back_kernel};

const wi_implementation *const wi_recurrent_family[] = {
    &forward_cpu, &forward_gpu, &back_cpu, &back_gpu, NULL};
