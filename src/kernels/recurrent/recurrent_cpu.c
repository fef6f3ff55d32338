/* Recurrent scans where a work-item multiplies tiles of registers: recurrent_cpu.cl. The weights are packed
 * first, and a work-item goes through the whole time with its rows, unless the rows are few and the weights
 * large: then the units are shared out, in one launch whose work-items wait for each other (`helped`), or in a
 * launch for each step. */
#include "base/integers.h"
#include "kernels/recurrent/recurrent_kernels.h"

/* PANEL: units, columns of the packed weights. ROWS of the states in a tile of registers; FEW in a smaller one.
 * LINE: words of a cache line. */
enum { PANEL, ROWS, FEW, LINE };

static const char *const parameters[] = {
    [PANEL] = "WEFT_R_PANEL", [ROWS] = "WEFT_R_ROWS", [FEW] = "WEFT_R_FEW", [LINE] = "WEFT_R_LINE", NULL};

static const wi_variant variants[] = {{"f32", {[PANEL] = 32, [ROWS] = 13, [FEW] = 4, [LINE] = 16}}, {0}};

/* In cycles: a launch with the wake of the cores; a step in which work-items wait for each other, and each
 * LINE of states that they then read from another core; one row of a panel in tiles of 1, FEW and ROWS rows. */
static const double launch_cycles = 40000, meeting_cycles = 1500, line_cycles = 30,
                    tile_cycles[] = {4, 8, 13};

typedef struct work {
    wi_recurrent s;
    bool whole;           /* one launch goes through all steps */
    bool helped;          /* so do work-items that share the units */
    int64_t packed_both;  /* elements of w and wr, packed */
    int64_t state, rooms; /* of helped ones, behind the packed weights: words, what goes from step to step */
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

static void cut(work *w) {
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
}

static void pack(work *w) {
    wi_recurrent *const s = &w->s;
    const int64_t panel = s->site->values[PANEL];
    const int64_t units = wi_divide_up(s->a.units, panel), widths = wi_divide_up(s->a.width, panel);
    s->panels = s->back ? widths : units * s->gates;
    s->panels_r = s->projects ? (s->back ? units : widths) : 0;
    s->packed = s->panels * panel * (s->back ? s->gates * s->a.units : s->a.width);
    w->packed_both = s->packed + s->panels_r * panel * (s->back ? s->a.width : s->a.units);
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
    wi_kernel_scratch(launch, w->helped ? w->packed_both : 0);
}

static void add_prepare(const work *w, wi_kernel_plan *plan) {
    const wi_recurrent *const s = &w->s;
    const int64_t rows = wi_divide_up(s->batch, s->site->device->units);
    const int64_t slices = s->back ? 0 : wi_divide_up(s->batch, rows);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "prepare", s->panels + s->panels_r + slices, 1);
    wi_recurrent_prepare_arguments(s, launch, rows);
    rooms_and_state(w, launch);
    wi_kernel_int(launch, w->state / s->site->values[LINE]);
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

static weft_status fill(const wi_kernel_site *site, wi_kernel_plan *plan, bool back) {
    work w = {.s = wi_recurrent_of(site, back)};
    cut(&w);
    pack(&w);
    wi_recurrent_begin(&w.s, plan);
    plan->scratch_bytes = (size_t)(w.packed_both + w.state + w.rooms) * sizeof(float);
    add_prepare(&w, plan);
    add_steps(&w, plan);
    return WEFT_OK;
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return fill(site, plan, false);
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return fill(site, plan, true);
}

const wi_implementation wi_recurrent_cpu = {.name = "recurrent_forward_cpu",
    .ops = {&wi_op_recurrent_forward},
    .file = "recurrent_cpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_CPU},
    .prepare = prepare_forward};

const wi_implementation wi_recurrent_cpu_gradient = {.name = "recurrent_back_cpu",
    .ops = {&wi_op_recurrent_back},
    .file = "recurrent_cpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_CPU},
    .prepare = prepare_gradient};
