/* The matrix product on cpu-class devices: one launch, split into equal blocks of C. See
 * cl_kernels/product/gemm_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <math.h>

/* A tile is ROWS x COLUMNS: 13 x 2 vectors of sums, 2 of B and the broadcasts of A fill the 32 registers of
 * AVX-512; 13 also divides powers of two with little rest (64 = 5 x 13 - 1, 128 = 10 x 13 - 2). DEPTH: most steps
 * of k between two packings of PANELS panels of COLUMNS, of more panels fewer; DEEPER: so many times DEPTH are the most of fewer
 * panels; STRIP: most rows whose sums wait, with PANELS panels; PREFETCH: steps of k that B is prefetched ahead, as its rows
 * often lie a page apart, where no processor's own prefetcher follows. */
enum { ROWS, COLUMNS, DEPTH, DEEPER, STRIP, PANELS, PREFETCH };

static const char *const parameters[] = {[ROWS] = "WEFT_GEMM_ROWS",
    [COLUMNS] = "WEFT_GEMM_COLUMNS",
    [DEPTH] = "WEFT_GEMM_DEPTH",
    [DEEPER] = "WEFT_GEMM_DEEPER",
    [STRIP] = "WEFT_GEMM_STRIP",
    [PANELS] = "WEFT_GEMM_PANELS",
    [PREFETCH] = "WEFT_GEMM_PREFETCH",
    NULL};

static const wi_variant variants[] = {{"f32", {[ROWS] = 13,
                                                  [COLUMNS] = 32,
                                                  [DEPTH] = 256,
                                                  [DEEPER] = 4,
                                                  [STRIP] = 520,
                                                  [PANELS] = 8,
                                                  [PREFETCH] = 4}},
    {0}};

/* Added to every launch. Products of 128x128x128 to 144x144x144 took 13 to 18 us longer than estimated without it; the whole
 * difference would leave small products to slower kernels. */
#define START_SECONDS 3e-6
#define BUILD_SECONDS 0.45
#define WASTE         1.2 /* of the multiplications of large products */

/* How C is cut: a work-item owns `tiles` x ROWS rows and `panels` x COLUMNS columns, and packs `depth` steps of k at once.
 * turned: rows and columns are those of C's transpose, and A and B have changed places. */
typedef struct wi_cut {
    int64_t tiles, panels, depth;
    bool turned;
} wi_cut;

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape);
}

/* Steps of k that `panels` panels have room for, in blocks of one size. Where A's rows are copied from memory once, for few
 * panels, long pieces of them are faster. */
static int64_t depth_of(const wi_gemm_shape *shape, const int *p, int64_t panels, bool turned) {
    const int64_t room = p[PANELS] * p[DEPTH] / panels, most = turned ? p[DEEPER] * p[DEPTH] : p[DEPTH];
    return wi_divide_up(shape->k, wi_divide_up(shape->k, wi_min64(most, room)));
}

/* Tiles of rows whose sums have room beside one another. */
static int64_t most_tiles(const int *p, int64_t panels) {
    return wi_min64(p[STRIP], p[STRIP] * p[PANELS] / panels) / p[ROWS];
}

/* Rows of a work-item. What is turned is stored in whole vectors along them. */
static int64_t strip_of(const int *p, wi_cut cut) {
    const int64_t rows = cut.tiles * p[ROWS];
    return cut.turned ? rows / 16 * 16 : rows;
}

/* B's rows are copied by the first tile's multiplications, which hide it; other layouts are before them. */
static bool packs_on_the_way(const wi_gemm_shape *shape) {
    return shape->b_column == 1;
}

/* Cycles of one work-item, roughly: what was measured on an AVX-512 core, where a multiplication that never waits takes
 * `waste` 1. */
static double item_cost(const wi_gemm_shape *shape, const int *p, wi_cut cut, double waste) {
    const double blocks = (double)wi_divide_up(shape->k, cut.depth), cells = (double)(cut.tiles * cut.panels);
    const double multiply = waste * cells * p[ROWS];
    const double per_column = packs_on_the_way(shape) ? 0.05 : shape->b_row == 1 ? 0.45 : 2.0;
    const double per_row = shape->a_column == 1 ? 0.15 : shape->a_row == 1 ? 0.25 : 2.0;
    const double copy =
        per_column * (double)(cut.panels * p[COLUMNS]) + per_row * (double)(cut.tiles * p[ROWS]);
    const double turn_back = cut.turned ? 0.6 * cells * p[ROWS] * p[COLUMNS] : 0.0;
    return (multiply + copy) * (double)shape->k + turn_back + 2000.0 + 60.0 * cells * blocks;
}

/* A processor that follows a row of B fetches about this much behind a work-item's end, for no one. */
#define FETCHED_BEHIND 1024.0

/* Seconds. More than one work-item wakes other threads, which costs more than a few microseconds of work are worth. */
static double cut_cost(
    const wi_gemm_shape *shape, const int *p, wi_cut cut, double waste, const wi_device_profile *device) {
    const int64_t strips = wi_divide_up(shape->m, strip_of(p, cut)),
                  spans = wi_divide_up(shape->n, cut.panels * p[COLUMNS]);
    const int64_t items = strips * spans * shape->batch;
    const double wake = items > 1 ? device->wake_seconds : 0.0, cycle = 2.0 * wi_vector_seconds(device);
    const double behind = packs_on_the_way(shape) && spans > 1
                              ? FETCHED_BEHIND * (double)(strips * spans) / (double)shape->n / sizeof(float)
                              : 0.0;
    return wake + (double)wi_divide_up(items, device->units) * item_cost(shape, p, cut, waste) * cycle +
           behind * wi_traffic_seconds(device, wi_gemm_bytes(shape, WI_GEMM_B), 0.0);
}

/* The fewest strips of fewer tiles than these, of which `tiles` fill all rows. */
static int64_t strips_of_fewer(int64_t all, int64_t tiles) {
    return tiles > 1 ? wi_divide_up(all, tiles - 1) : all + 1;
}

/* The cheapest cut of a product, or of its transpose, if it takes less than `least` seconds: every width, and every height that
 * divides the rows evenly, once. Rows of B are wider than what other layouts take, since memory is fast along them. */
static double better_cut(wi_cut *best, double least, const wi_gemm_shape *shape, const int *p,
    const wi_device_profile *device, bool turned) {
    const int64_t tiles = wi_divide_up(shape->m, p[ROWS]), panels = wi_divide_up(shape->n, p[COLUMNS]);
    const int64_t widest = wi_min64(panels, packs_on_the_way(shape) ? 4 * p[PANELS] : p[PANELS]);
    for (int64_t wide = 1; wide <= widest; wide += wide < p[PANELS] ? 1 : wide) {
        const int64_t fewest = wi_divide_up(tiles, most_tiles(p, wide));
        const int64_t depth = depth_of(shape, p, wide, turned);
        const int64_t most = wi_min64(tiles, fewest + 8 * device->units);
        wi_cut next = {.panels = wide, .depth = depth, .turned = turned};
        for (int64_t strips = fewest; strips <= most; strips = strips_of_fewer(tiles, next.tiles)) {
            next.tiles = wi_divide_up(tiles, strips);
            if (strip_of(p, next) == 0) continue;
            const double seconds = cut_cost(shape, p, next, 1.0, device);
            if (seconds >= least) continue;
            *best = next;
            least = seconds;
        }
    }
    return least;
}

static wi_gemm_shape transpose_of(const wi_gemm_shape *shape) {
    wi_gemm_shape turned = *shape;
    turned.m = shape->n;
    turned.n = shape->m;
    turned.a_batch = shape->b_batch;
    turned.a_row = shape->b_column;
    turned.a_column = shape->b_row;
    turned.b_batch = shape->a_batch;
    turned.b_row = shape->a_column;
    turned.b_column = shape->a_row;
    return turned;
}

/* The kernel changes the places of A and B, which are read in one format then. The rows of A share what the
 * transposition of B costs: with more than MOST_ROWS the gain does not pay for the time in which the planner tries each
 * cut. */
static bool may_turn(const wi_kernel_site *site, const wi_gemm_shape *shape) {
    enum { MOST_ROWS = 128 };
    return shape->m <= MOST_ROWS && shape->b_row == 1 && shape->b_column != 1 && shape->a_column == 1 &&
           site->formats[0] == site->formats[1];
}

/* Where columns of B are contiguous, transposing B may cost more than to compute C's transpose, whose right side is A, and to
 * transpose that at the end. */
static wi_cut best_cut(const wi_kernel_site *site, wi_gemm_shape *shape) {
    wi_cut best = {0};
    const double least = better_cut(&best, INFINITY, shape, site->values, site->device, false);
    const wi_gemm_shape turned = transpose_of(shape);
    if (may_turn(site, shape)) better_cut(&best, least, &turned, site->values, site->device, true);
    if (best.turned) *shape = turned;
    return best;
}

/* A stride that no element needs may as well be the fast one. */
static wi_gemm_shape view_of(const wi_gemm_shape *shape) {
    wi_gemm_shape view = *shape;
    if (view.n == 1) view.b_column = 1;
    return view;
}

/* A and B are packed by the item that multiplies them: nothing hides the way from memory, but where tiles after the first
 * request the next block of B. */
static double cost(const wi_kernel_site *site) {
    wi_gemm_shape view = view_of(site->product);
    const wi_device_profile *const device = site->device;
    const wi_cut cut = best_cut(site, &view);
    const double b = wi_gemm_bytes(&view, WI_GEMM_B), others = wi_gemm_bytes(&view, WI_GEMM_A | WI_GEMM_C);
    const double multiply = cut_cost(&view, site->values, cut, WASTE, device),
                 traffic = wi_traffic_seconds(device, b, others);
    const bool hides = packs_on_the_way(&view) && cut.tiles > 1 && view.k > cut.depth;
    return START_SECONDS + device->launch_seconds + wi_build_fraction(device, BUILD_SECONDS) +
           (hides ? fmax(multiply, traffic) : multiply + traffic);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    wi_gemm_shape view = view_of(shape);
    const wi_cut cut = best_cut(site, &view);
    const int64_t strip = strip_of(p, cut), span = cut.panels * p[COLUMNS];
    const size_t global[] = {(size_t)wi_divide_up(view.m, strip), (size_t)wi_divide_up(view.n, span),
        (size_t)view.batch},
                 local[] = {1, 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "block", global, local);
    const int64_t sizes[] = {view.m, view.n, view.k, strip, span, cut.depth};
    wi_kernel_ints(launch, sizes, 6);
    wi_gemm_add_strides(launch, &view);
    /* Half of the code each: what a product does not need takes most of the time to compile. */
    wi_kernel_macro_int(plan, "WEFT_GEMM_TURNED", cut.turned);
    wi_kernel_macro_int(plan, "WEFT_GEMM_A_ROWS", view.a_column == 1);
    wi_kernel_macro_int(plan, "WEFT_GEMM_B_ROWS", view.b_column == 1);
    wi_kernel_macro_int(plan, "WEFT_GEMM_B_COLUMNS", view.b_column != 1 && view.b_row == 1);
    return WEFT_OK;
}

static const char *const headers[] = {"gemm_cpu_requests.clh", NULL};

const wi_implementation wi_gemm_cpu = {.name = "cpu_block",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
