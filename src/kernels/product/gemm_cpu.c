/* The matrix product on class cpu: one launch, cut into equal blocks of C. See cl_kernels/product/gemm_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <math.h>

/* A tile is ROWS x COLUMNS: its 13 x 2 vectors of sums, 2 vectors of B and the broadcasts of A fill the 32 registers of AVX-512.
 * Multiples of 13 are little more than powers of two (64 = 5 x 13 - 1, 128 = 10 x 13 - 2). DEPTH: the most steps of k that a
 * work-item packs at once for PANELS panels of COLUMNS columns; for more panels it packs fewer steps. DEEPER * DEPTH: the most
 * steps of a turned product with fewer panels. STRIP: the most rows whose sums are in private memory with PANELS panels.
 * PREFETCH: how many steps of k ahead B is prefetched, because its rows are often a page apart, and processors prefetch nothing
 * across pages. */
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

/* Seconds that are added to every launch. Products of 128x128x128 to 144x144x144 took 13 to 18 us longer than the rest of the
 * estimate. If all of this difference were added, slower kernels would be chosen for small products. */
#define START_SECONDS 3e-6
#define BUILD_SECONDS 0.45
#define WASTE         1.2 /* the time of large products, as a multiple of the time of their multiply-adds */

/* How C is divided: a work-item computes `tiles` x ROWS rows and `panels` x COLUMNS columns, and packs `depth` steps of k at once.
 * turned: it computes C's transpose, and A and B have changed places. */
typedef struct wi_cut {
    int64_t tiles, panels, depth;
    bool turned;
} wi_cut;

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product);
}

/* The steps of k in a block; all blocks have about the same size. With few panels there is room for more steps. Then the rows of
 * A are copied in longer pieces, which is faster. */
static int64_t depth_of(const wi_gemm_shape *shape, const int *p, int64_t panels, bool turned) {
    const int64_t room = p[PANELS] * p[DEPTH] / panels, most = turned ? p[DEEPER] * p[DEPTH] : p[DEPTH];
    return wi_divide_up(shape->k, wi_divide_up(shape->k, wi_min64(most, room)));
}

/* The most tiles of rows whose sums fit in private memory. */
static int64_t most_tiles(const int *p, int64_t panels) {
    return wi_min64(p[STRIP], p[STRIP] * p[PANELS] / panels) / p[ROWS];
}

/* Rows of a work-item. A turned product is stored in whole vectors along its rows. */
static int64_t strip_of(const int *p, wi_cut cut) {
    const int64_t rows = cut.tiles * p[ROWS];
    return cut.turned ? rows / 16 * 16 : rows;
}

/* Does the first tile copy B while it multiplies, which hides the time of the copy? It does if the rows of B are contiguous.
 * Other layouts are copied before. */
static bool packs_on_the_way(const wi_gemm_shape *shape) {
    return shape->b_column == 1;
}

/* Cycles of one work-item, from measurements on a core with AVX-512. waste: 1 if multiplications never wait. */
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

/* A processor's hardware prefetcher reads about this many bytes too many, behind the end of a work-item's part of each row of B. */
#define FETCHED_BEHIND 1024.0

/* The seconds of a division of the work. More than one work-item wakes other threads, which takes longer than a few microseconds of work. */
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

/* The least number of strips into which `all` tiles must be divided so that each strip has fewer than `tiles` tiles. */
static int64_t strips_of_fewer(int64_t all, int64_t tiles) {
    return tiles > 1 ? wi_divide_up(all, tiles - 1) : all + 1;
}

/* Finds the cheapest division that takes less than `least` seconds, and returns its seconds. Tries each width with each height that
 * divides the rows evenly. Contiguous rows of B allow wider parts, because memory is fast along them. */
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

/* A turned product exchanges A and B in the kernel, which needs both in the same format. All rows of A share the cost of
 * transposing B: with more than MOST_ROWS rows, the gain is less than the time in which the planner tries the divisions. */
static bool may_turn(const wi_kernel_site *site, const wi_gemm_shape *shape) {
    enum { MOST_ROWS = 128 };
    return shape->m <= MOST_ROWS && shape->b_row == 1 && shape->b_column != 1 && shape->a_column == 1 &&
           site->formats[0] == site->formats[1];
}

/* If the columns of B are contiguous, B would have to be transposed. It may be cheaper to compute C's transpose, whose right
 * factor is A, and to transpose the result. */
static wi_cut best_cut(const wi_kernel_site *site, wi_gemm_shape *shape) {
    wi_cut best = {0};
    const double least = better_cut(&best, INFINITY, shape, site->values, site->device, false);
    const wi_gemm_shape turned = wi_gemm_transpose_of(shape);
    if (may_turn(site, shape)) better_cut(&best, least, &turned, site->values, site->device, true);
    if (best.turned) *shape = turned;
    return best;
}

/* The shape with a column stride of 1 for B if B has only one column: the stride is then never used. */
static wi_gemm_shape view_of(const wi_gemm_shape *shape) {
    wi_gemm_shape view = *shape;
    if (view.n == 1) view.b_column = 1;
    return view;
}

/* Each item packs A and B itself. Memory traffic is hidden only if tiles after the first request the next block of B. */
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
    const int *const p = site->values;
    wi_gemm_shape view = view_of(site->product);
    const wi_cut cut = best_cut(site, &view);
    const int64_t strip = strip_of(p, cut), span = cut.panels * p[COLUMNS];
    wi_kernel_launch *const launch = wi_gemm_launch_items(
        plan, "block", wi_divide_up(view.m, strip), wi_divide_up(view.n, span), view.batch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(view.m, view.n, view.k, strip, span, cut.depth));
    wi_gemm_add_strides(launch, &view);
    /* Without these macros most of the time of compiling would be for code that the product does not need. */
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
