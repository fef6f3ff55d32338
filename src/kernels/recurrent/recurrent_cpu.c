/* Recurrent scans where a work-item multiplies tiles of registers: recurrent_cpu.cl. The weights are packed
 * first, and a work-item goes through the whole time with its rows, unless the rows are few and the weights
 * large: then the units are shared out, in one launch whose work-items wait for each other (`helped`), or in a
 * launch for each step. By a matrix engine, recurrent_cpu_amx.cl, rows are always shared out. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/cost.h"
#include "kernels/recurrent/recurrent_arguments.h"

/* PANEL: units, columns of the packed weights. ROWS of the states in a tile of registers; FEW in a smaller one.
 * LINE: words of a cache line. */
enum { PANEL, ROWS, FEW, LINE };

static const char *const parameters[] = {
    [PANEL] = "WEFT_R_PANEL", [ROWS] = "WEFT_R_ROWS", [FEW] = "WEFT_R_FEW", [LINE] = "WEFT_R_LINE", NULL};

/* Those that recurrent_cpu_amx.cl shares with it have the same values there. */
static const wi_variant variants[] = {{"f32", {[PANEL] = 32, [ROWS] = 13, [FEW] = 4, [LINE] = 16}}, {0}};

/* In cycles: a launch with the wake of the cores; a step in which work-items wait for each other, and each
 * LINE of states that they then read from another core; one row of a panel in tiles of 1, FEW and ROWS rows. */
static const double launch_cycles = 40000, meeting_cycles = 1500, line_cycles = 30,
                    tile_cycles[] = {4, 8, 13};

/* Of the engine: rows, columns and steps of k of a block; seconds of rounding and copying one of the left matrix. */
enum { BLOCK = 32, BLOCK_WORDS = BLOCK * BLOCK / 2 };
static const double copy_seconds = 120e-9, build_seconds = 0.5;

typedef struct work {
    wi_recurrent s;
    bool engine;
    double seconds;      /* of the products of all steps */
    bool whole;          /* one launch goes through all steps */
    bool helped;         /* so do work-items that share the units */
    int64_t packed_both; /* elements of w and wr, packed */
    int64_t state; /* words behind the packed weights: of helped ones; of the engine, its left matrices */
    int64_t rooms; /* behind them: what goes from step to step of helped ones */
} work;

/* ---- how the work is cut ---- */

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

/* A step's products take panels of the weights times all blocks of k, for each 32 rows. */
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

static work work_of(const wi_kernel_site *site, bool back, bool engine) {
    work w = {.s = wi_recurrent_of(site, back), .engine = engine};
    if (engine)
        cut_rows(&w);
    else
        cut_units(&w);
    pack(&w);
    return w;
}

/* ---- arguments ---- */

/* Two buffers. What a step leaves to the next, c or in the gradient dh and dc, all but the last: in the
 * result, where helped work-items, of which every step has a room of its own, do not need more than is kept
 * there. And the words of helped ones. */
static void rooms_and_state(const work *w, wi_kernel_launch *launch) {
    if (w->rooms > 0)
        wi_kernel_scratch(launch, w->packed_both + w->state);
    else
        wi_kernel_result(launch);
    wi_kernel_scratch(launch, w->state > 0 ? w->packed_both : 0);
}

/* Items `first` and behind of packing, `count` of them: panels, then rows' first states. lines: words that they set to 0. */
static void add_prepare(const work *w, wi_kernel_plan *plan, int64_t first, int64_t count, int64_t lines) {
    const wi_recurrent *const s = &w->s;
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "prepare", count, 1);
    wi_recurrent_prepare_arguments(s, launch, wi_divide_up(s->batch, s->site->device->units));
    rooms_and_state(w, launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(lines, first));
}

/* Panels of weights that stay as they are have a launch of their own, which a plan runs once. */
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

static wi_kernel_launch *launch_phase(const wi_recurrent *s, wi_kernel_plan *plan, const char *suffix) {
    const int64_t columns = wi_divide_up(wi_max64(s->a.units, s->a.width), s->site->values[PANEL]);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, suffix, wi_divide_up(s->batch, s->rows), 1);
    launch->dimensions = 2;
    launch->global[1] = (size_t)wi_divide_up(columns, s->blocks);
    return launch;
}

static void add_forward(const work *w, wi_kernel_plan *plan, int phases) {
    const wi_recurrent *const s = &w->s;
    wi_kernel_launch *const launch = launch_phase(s, plan, "forward");
    wi_recurrent_forward_arguments(s, launch, phases);
    wi_kernel_long(launch, s->states_apart ? 0 : s->batch * s->a.h);
    rooms_and_state(w, launch);
    wi_kernel_int(launch, w->helped);
}

static void add_back(const work *w, wi_kernel_plan *plan, int phases) {
    const wi_recurrent *const s = &w->s;
    const int64_t n = s->batch, dh0 = n * (s->a.dx + s->a.sums + s->a.out);
    wi_kernel_launch *const launch = launch_phase(s, plan, "back");
    wi_recurrent_back_arguments(s, launch, phases);
    wi_kernel_long(launch, s->states_apart ? 0 : dh0);
    wi_kernel_long(launch, n * s->a.dh0);
    wi_kernel_long(launch, s->states_apart ? n * (s->a.dh0 + s->a.dc0) : 0);
    rooms_and_state(w, launch);
    wi_kernel_int(launch, w->helped);
}

/* ---- both ---- */

/* All steps in one launch, or the launches of a step, repeated. */
static void add_steps(const work *w, wi_kernel_plan *plan) {
    void (*const add)(const work *, wi_kernel_plan *, int) = w->s.back ? add_back : add_forward;
    const int first = plan->count;
    add(w, plan, w->whole ? 3 : 1);
    if (w->s.second && !w->whole) add(w, plan, 2);
    wi_kernel_repeat(plan, first, wi_divide_up(w->s.iterations, w->s.steps));
}

static weft_status fill(const wi_kernel_site *site, wi_kernel_plan *plan, bool back, bool engine) {
    const work w = work_of(site, back, engine);
    wi_recurrent_begin(&w.s, plan);
    plan->scratch_bytes = (size_t)(w.packed_both + w.state + w.rooms) * sizeof(float);
    prepare(&w, plan);
    add_steps(&w, plan);
    return WEFT_OK;
}

static double cost(const wi_kernel_site *site, bool back, bool engine) {
    return wi_build_fraction(site->device, build_seconds) + work_of(site, back, engine).seconds;
}

/* The record of a scan or its gradient, and what it needs. */
#define IMPLEMENTATION(record, is_back, is_engine, ...)                                                      \
    static weft_status record##_prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {                  \
        return fill(site, plan, is_back, is_engine);                                                         \
    }                                                                                                        \
    static double record##_cost(const wi_kernel_site *site) {                                                \
        return cost(site, is_back, is_engine);                                                               \
    }                                                                                                        \
    const wi_implementation record = {.parameters = parameters,                                              \
        .variants = variants,                                                                                \
        .cost = record##_cost,                                                                               \
        .prepare = record##_prepare,                                                                         \
        __VA_ARGS__};

/* ---- by a matrix engine ---- */

static const char *const engine_headers[] = {"amx.clh", "elementwise.clh", "recurrent.clh", NULL};
static const wi_formats engine_formats[] = {{WI_ANY_STORAGE, WEFT_BF16, WEFT_F32}};

#define ENGINE                                                                                               \
    .file = "recurrent_cpu_amx.cl", .headers = engine_headers, .formats = engine_formats, .format_count = 1, \
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16}, .accepts = wi_kernel_op_is_f32
#define UNITS .file = "recurrent_cpu.cl", .headers = wi_recurrent_headers, .needs = {.classes = WI_ON_CPU}

IMPLEMENTATION(
    wi_recurrent_amx, false, true, .name = "recurrent_forward_amx", .ops = {&wi_op_recurrent_forward}, ENGINE)
IMPLEMENTATION(wi_recurrent_amx_gradient, true, true, .name = "recurrent_back_amx",
    .ops = {&wi_op_recurrent_back}, ENGINE)
IMPLEMENTATION(
    wi_recurrent_cpu, false, false, .name = "recurrent_forward_cpu", .ops = {&wi_op_recurrent_forward}, UNITS)
IMPLEMENTATION(wi_recurrent_cpu_gradient, true, false, .name = "recurrent_back_cpu",
    .ops = {&wi_op_recurrent_back}, UNITS)
