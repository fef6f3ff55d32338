/* Recurrent scans and their gradients on class cpu. The weights are packed first. Usually each work-item walks through all steps
 * with some rows of the batch. If the rows are few and the weights are large, work-items share the units instead: in one launch
 * whose work-items wait for each other (`helped`), or in a launch for each step. With the matrix engine AMX
 * (recurrent_cpu_amx.cl), work-items always share the rows. See cl_kernels/recurrent/recurrent_cpu.cl. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/cost.h"
#include "kernels/recurrent/recurrent_arguments.h"

/* PANEL: the columns, which are units, of a panel of packed weights. ROWS: rows of states in a tile of registers. FEW: rows of a
 * smaller tile. LINE: words of a cache line. */
enum { PANEL, ROWS, FEW, LINE };

static const char *const parameters[] = {
    [PANEL] = "WEFT_R_PANEL", [ROWS] = "WEFT_R_ROWS", [FEW] = "WEFT_R_FEW", [LINE] = "WEFT_R_LINE", NULL};

/* Both templates use the same values. */
static const wi_variant variants[] = {{"f32", {[PANEL] = 32, [ROWS] = 13, [FEW] = 4, [LINE] = 16}}, {0}};

/* Estimates in cycles. launch_cycles: a launch that wakes the cores. meeting_cycles: the wait of work-items for each other in a
 * step. line_cycles: a cache line of states that is then read from another core. tile_cycles: one step of k of a panel in tiles
 * of 1, FEW and ROWS rows. */
static const double launch_cycles = 40000, meeting_cycles = 1500, line_cycles = 30,
                    tile_cycles[] = {4, 8, 13};

/* BLOCK: rows, columns or steps of k of a block of the engine. copy_seconds: the time of rounding and copying a block of the left
 * matrix. build_seconds: the time of compiling the kernels. */
enum { BLOCK = 32, BLOCK_WORDS = BLOCK * BLOCK / 2 };
static const double copy_seconds = 120e-9, build_seconds = 0.5;

typedef struct work {
    wi_recurrent s;
    bool engine;
    double seconds; /* time of the products of all steps */
    bool whole;     /* does one launch compute all steps? */
    bool helped;    /* does one launch compute all steps, with work-items that share the units? */
    /* Words of scratch memory, in this order: the packed weights w and wr; the counters by which work-items that share the units
     * wait for each other, or the left operands of the engine's products; the states that these work-items pass from one step to
     * the next. */
    int64_t packed_both;
    int64_t state;
    int64_t rooms;
} work;

/* ---- how the work is divided ---- */

static double rows_cost(int64_t rows, const int *p) {
    const int64_t rest = rows % p[ROWS];
    const double last = rest == 0 ? 0 : tile_cycles[rest == 1 ? 0 : rest <= p[FEW] ? 1 : 2];
    return (double)(rows / p[ROWS]) * tile_cycles[2] + last;
}

static void make_rooms(work *w, int64_t all) {
    const wi_recurrent *const s = &w->s;
    const int64_t c = s->cell == WI_CELL_LSTM ? s->a.units : 0;
    w->state = s->site->values[LINE] * (1 + wi_divide_up(all, s->blocks));
    if (s->back)
        w->rooms = s->iterations * s->batch * (s->a.width + c);
    else if (!s->kept)
        w->rooms = (s->iterations + 1) * s->batch * c;
}

static void cut_units(work *w) {
    wi_recurrent *const s = &w->s;
    const int *const p = s->site->values;
    const int64_t units = s->site->device->units, slices = wi_min64(units, s->batch);
    const int64_t all = wi_divide_up(wi_max64(s->a.units, s->a.width), p[PANEL]);
    const int64_t blocks = wi_divide_up(all, units), rows = wi_divide_up(s->batch, slices);
    const double panel_rows = (double)(s->gates * s->a.units * s->a.width) / p[PANEL];
    const double by_rows = panel_rows * rows_cost(rows, p),
                 by_units = panel_rows * rows_cost(s->batch, p) * (double)blocks / (double)all,
                 meeting = meeting_cycles + line_cycles * (double)(s->batch * s->a.width) / p[LINE];
    w->helped = !s->second && s->iterations > 1 && blocks < all && by_units + meeting < by_rows;
    w->whole = w->helped || by_rows <= by_units + launch_cycles;
    s->steps = w->whole ? s->iterations : 1;
    s->rows = w->whole && !w->helped ? rows : s->batch;
    s->blocks = w->whole && !w->helped ? all : blocks;
    if (w->helped) make_rooms(w, all);
    s->states_apart = w->rooms > 0;
    const double cycles = w->helped ? by_units + meeting : w->whole ? by_rows : by_units + launch_cycles;
    w->seconds = 2.0 * wi_vector_seconds(s->site->device) * (double)s->iterations * cycles;
}

static int64_t blocks_of(int64_t depth) {
    return wi_divide_up(depth, BLOCK);
}

static void cut_rows(work *w) {
    wi_recurrent *const s = &w->s;
    const wi_device_profile *const device = s->site->device;
    const int64_t units = blocks_of(s->a.units), widths = blocks_of(s->a.width);
    const int64_t first = s->cell == WI_CELL_GRU_RESET_FIRST ? 2 : s->gates;
    s->rows = wi_divide_up(s->batch, wi_min64(device->units, s->batch));
    s->blocks = wi_max64(units, widths);
    s->steps = s->iterations;
    w->whole = true;
    const int64_t left = wi_max64((s->back ? first : 1) * units, widths), strips = blocks_of(s->rows);
    w->state = strips * left * BLOCK_WORDS * wi_divide_up(s->batch, s->rows);
    const double products = (double)(units * widths * (s->gates + (s->projects ? 1 : 0))),
                 multiply = 2.0 * BLOCK * BLOCK * BLOCK / device->peak_engine;
    const double copies = (double)(s->second ? 2 * left : left) * copy_seconds;
    w->seconds = (double)(s->iterations * strips) * (products * multiply + copies);
}

static int64_t panel_words(const work *w, int64_t gates, int64_t depth) {
    return w->engine ? BLOCK_WORDS * gates * blocks_of(depth) : w->s.site->values[PANEL] * gates * depth;
}

static void pack(work *w) {
    wi_recurrent *const s = &w->s;
    const int64_t panel = s->site->values[PANEL];
    const int64_t units = wi_divide_up(s->a.units, panel), widths = wi_divide_up(s->a.width, panel);
    s->panels = s->back ? widths : units * s->gates;
    s->panels_r = s->projects ? (s->back ? units : widths) : 0;
    s->packed = s->panels * (s->back ? panel_words(w, s->gates, s->a.units) : panel_words(w, 1, s->a.width));
    w->packed_both = s->packed + s->panels_r * panel_words(w, 1, s->back ? s->a.width : s->a.units);
}

static work work_of(const wi_kernel_site *site, bool engine) {
    work w = {.s = wi_recurrent_of(site), .engine = engine};
    if (engine)
        cut_rows(&w);
    else
        cut_units(&w);
    pack(&w);
    return w;
}

/* ---- arguments ---- */

/* Appends two buffers. The first passes c, or in a gradient dh and dc, from one step to the next. It is the result, or for
 * helped work-items a part of scratch memory with a separate range for each step. The second buffer is `state`. */
static void rooms_and_state(const work *w, wi_kernel_launch *launch) {
    if (w->rooms > 0)
        wi_kernel_scratch(launch, w->packed_both + w->state);
    else
        wi_kernel_result(launch);
    wi_kernel_scratch(launch, w->state > 0 ? w->packed_both : 0);
}

/* Appends a launch of `count` work-items of the kernel "prepare", from number `first` on. The first work-items of the kernel pack
 * a panel each, the others set the initial states of rows. lines: the number of cache lines of `state` that are set to 0. */
static void add_prepare(const work *w, wi_kernel_plan *plan, int64_t first, int64_t count, int64_t lines) {
    const wi_recurrent *const s = &w->s;
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "prepare", count, 1);
    wi_recurrent_prepare_arguments(s, launch, wi_divide_up(s->batch, s->site->device->units));
    rooms_and_state(w, launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(lines, first));
}

/* Fixed weights are packed by a separate launch, which a plan runs only once. */
static void prepare(const work *w, wi_kernel_plan *plan) {
    const wi_recurrent *const s = &w->s;
    const int64_t panels = s->panels + s->panels_r, rows = wi_divide_up(s->batch, s->site->device->units);
    const int64_t slices = s->back ? 0 : wi_divide_up(s->batch, rows);
    const int64_t lines = w->helped ? w->state / s->site->values[LINE] : 0;
    const uint32_t weights = 1u << s->w | (s->projects ? 1u << s->wr : 0);
    const bool once = !s->back && (s->site->fixed & weights) == weights;
    if (once) {
        add_prepare(w, plan, 0, panels, 0);
        wi_kernel_packs(plan, weights, (size_t)w->packed_both * sizeof(float));
    }
    add_prepare(w, plan, once ? panels : 0, (once ? 0 : panels) + slices, lines);
}

static void add_walk(const work *w, wi_kernel_plan *plan, int phases) {
    const wi_recurrent *const s = &w->s;
    const int64_t columns = wi_divide_up(wi_max64(s->a.units, s->a.width), s->site->values[PANEL]);
    const int64_t n = s->batch, dh0 = n * (s->a.dx + s->a.sums + s->a.out);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, s->back ? "back" : "forward", wi_divide_up(n, s->rows), 1);
    launch->dimensions = 2;
    launch->global[1] = (size_t)wi_divide_up(columns, s->blocks);
    wi_recurrent_walk_arguments(s, launch, phases);
    if (s->back)
        wi_kernel_longs(launch, WI_KERNEL_NUMBERS(s->states_apart ? 0 : dh0, n * s->a.dh0,
                                    s->states_apart ? n * (s->a.dh0 + s->a.dc0) : 0));
    else
        wi_kernel_long(launch, s->states_apart ? 0 : n * s->a.h);
    rooms_and_state(w, launch);
    wi_kernel_int(launch, w->helped);
}

/* ---- the records ---- */

static weft_status fill(const wi_kernel_site *site, wi_kernel_plan *plan, bool engine) {
    const work w = work_of(site, engine);
    wi_recurrent_begin(&w.s, plan);
    plan->scratch_bytes = (size_t)(w.packed_both + w.state + w.rooms) * sizeof(float);
    prepare(&w, plan);
    const int first = plan->count;
    add_walk(&w, plan, w.whole ? 3 : 1);
    if (w.s.second && !w.whole) add_walk(&w, plan, 2);
    wi_kernel_repeat(plan, first, wi_divide_up(w.s.iterations, w.s.steps));
    return WEFT_OK;
}

static weft_status prepare_units(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return fill(site, plan, false);
}

static weft_status prepare_engine(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return fill(site, plan, true);
}

static double units_cost(const wi_kernel_site *site) {
    return wi_build_fraction(site->device, build_seconds) + work_of(site, false).seconds;
}

static double engine_cost(const wi_kernel_site *site) {
    return wi_build_fraction(site->device, build_seconds) + work_of(site, true).seconds;
}

static const char *const engine_headers[] = {"amx.clh", "elementwise.clh", "recurrent.clh", NULL};

#define RECORD(spelling, op)                                                                                 \
    .name = (spelling), .ops = {&(op)}, .parameters = parameters, .variants = variants
#define UNITS                                                                                                \
    .file = "recurrent_cpu.cl", .headers = wi_recurrent_headers, .needs = {.classes = WI_ON_CPU},            \
    .cost = units_cost, .prepare = prepare_units
#define ENGINE                                                                                               \
    .file = "recurrent_cpu_amx.cl", .headers = engine_headers, WI_AMX_FORMATS,                               \
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16}, .accepts = wi_kernel_op_is_f32,          \
    .cost = engine_cost, .prepare = prepare_engine

const wi_implementation wi_recurrent_amx = {RECORD("recurrent_forward_amx", wi_op_recurrent_forward), ENGINE};
const wi_implementation wi_recurrent_amx_gradient = {
    RECORD("recurrent_back_amx", wi_op_recurrent_back), ENGINE};
const wi_implementation wi_recurrent_cpu = {RECORD("recurrent_forward_cpu", wi_op_recurrent_forward), UNITS};
const wi_implementation wi_recurrent_cpu_gradient = {
    RECORD("recurrent_back_cpu", wi_op_recurrent_back), UNITS};
