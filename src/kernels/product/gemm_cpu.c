/* The matrix product on cpu-class devices: one launch, split into equal blocks of C. See
 * cl_kernels/gemm_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* A tile is ROWS x COLUMNS: 13 x 2 vectors of sums, 2 of B and the broadcasts of A fill the 32 registers of
 * AVX-512; 13 also divides powers of two with little rest (64 = 5 x 13 - 1, 128 = 10 x 13 - 2). DEPTH: most steps
 * of k between two packings of B; STRIP, PANELS: most rows and panels of COLUMNS of a work-item; PREFETCH, PACK_PREFETCH:
 * steps of k that B is prefetched ahead, as its rows often lie a page apart, where no processor's own prefetcher
 * follows. */
enum { ROWS, COLUMNS, DEPTH, STRIP, PANELS, PREFETCH, PACK_PREFETCH };

static const char *const parameters[] = {[ROWS] = "WEFT_GEMM_ROWS",
    [COLUMNS] = "WEFT_GEMM_COLUMNS",
    [DEPTH] = "WEFT_GEMM_DEPTH",
    [STRIP] = "WEFT_GEMM_STRIP",
    [PANELS] = "WEFT_GEMM_PANELS",
    [PREFETCH] = "WEFT_GEMM_PREFETCH",
    [PACK_PREFETCH] = "WEFT_GEMM_PACK_PREFETCH",
    NULL};

static const wi_variant variants[] = {{"f32", {[ROWS] = 13,
                                                  [COLUMNS] = 32,
                                                  [DEPTH] = 256,
                                                  [STRIP] = 520,
                                                  [PANELS] = 8,
                                                  [PREFETCH] = 4,
                                                  [PACK_PREFETCH] = 12}},
    {0}};

/* Added to every launch. Products of 128x128x128 to 144x144x144 took 13 to 18 us longer than estimated without it; the whole
 * difference would leave small products to slower kernels. */
#define START_SECONDS 3e-6
#define BUILD_SECONDS 0.45
#define WASTE         1.2 /* of the multiplications of large products */

/* How C is cut: a work-item owns `tiles` x ROWS rows and `panels` x COLUMNS columns. */
typedef struct wi_cut {
    int64_t tiles, panels;
} wi_cut;

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape);
}

/* Cycles of one work-item, roughly: what was measured on an AVX-512 core, where a multiplication that never waits takes
 * `waste` 1. */
static double item_cost(const wi_gemm_shape *shape, const int *p, wi_cut cut, double waste) {
    const double multiply = waste * (double)(cut.tiles * cut.panels * p[ROWS]);
    const double per_column = shape->b_column == 1 ? 0.15 : shape->b_row == 1 ? 0.45 : 2.0;
    const double per_row = shape->a_column == 1 ? 0.15 : shape->a_row == 1 ? 0.25 : 2.0;
    const double copy =
        per_column * (double)(cut.panels * p[COLUMNS]) + per_row * (double)(cut.tiles * p[ROWS]);
    const double fixed = 2000.0 + 60.0 * (double)(cut.tiles * cut.panels);
    return (multiply + copy) * (double)shape->k + fixed;
}

/* Seconds. More than one work-item wakes other threads, which costs more than a few microseconds of work are worth. */
static double cut_cost(
    const wi_gemm_shape *shape, const int *p, wi_cut cut, double waste, const wi_device_profile *device) {
    const int64_t strips = wi_divide_up(shape->m, cut.tiles * p[ROWS]),
                  spans = wi_divide_up(shape->n, cut.panels * p[COLUMNS]);
    const int64_t items = strips * spans * shape->batch;
    const double wake = items > 1 ? device->wake_seconds : 0.0, cycle = 2.0 * wi_vector_seconds(device);
    return wake + (double)wi_divide_up(items, device->units) * item_cost(shape, p, cut, waste) * cycle;
}

/* The cheapest cut: every width, and every height that divides the rows evenly. */
static wi_cut best_cut(const wi_gemm_shape *shape, const int *p, const wi_device_profile *device) {
    const int64_t tiles = wi_divide_up(shape->m, p[ROWS]), panels = wi_divide_up(shape->n, p[COLUMNS]);
    const int64_t fewest = wi_divide_up(tiles, p[STRIP] / p[ROWS]);
    wi_cut best = {wi_divide_up(tiles, fewest), 1};
    double least = cut_cost(shape, p, best, 1.0, device);
    for (int64_t wide = 1; wide <= p[PANELS] && wide <= panels; wide++) {
        for (int64_t strips = fewest; strips <= tiles && strips <= fewest + 8 * device->units; strips++) {
            const wi_cut next = {wi_divide_up(tiles, strips), wide};
            const double seconds = cut_cost(shape, p, next, 1.0, device);
            if (seconds >= least) continue;
            best = next;
            least = seconds;
        }
    }
    return best;
}

/* A stride that no element needs may as well be the fast one. */
static wi_gemm_shape view_of(const wi_gemm_shape *shape) {
    wi_gemm_shape view = *shape;
    if (view.n == 1) view.b_column = 1;
    return view;
}

/* A and B are packed by the item that multiplies them: nothing hides the way from memory. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape view = view_of(site->product);
    const wi_device_profile *const device = site->device;
    const wi_cut cut = best_cut(&view, site->values, device);
    const double b = wi_gemm_bytes(&view, WI_GEMM_B), others = wi_gemm_bytes(&view, WI_GEMM_A | WI_GEMM_C);
    return START_SECONDS + device->launch_seconds + wi_build_fraction(device, BUILD_SECONDS) +
           cut_cost(&view, site->values, cut, WASTE, device) + wi_traffic_seconds(device, b, others);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const wi_gemm_shape view = view_of(shape);
    const wi_cut cut = best_cut(&view, p, site->device);
    const int64_t strip = cut.tiles * p[ROWS], span = cut.panels * p[COLUMNS];
    const size_t global[] = {(size_t)wi_divide_up(view.m, strip), (size_t)wi_divide_up(view.n, span),
        (size_t)view.batch},
                 local[] = {1, 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "block", global, local);
    const int64_t sizes[] = {
        view.m, view.n, view.k, strip, span, wi_divide_up(view.k, wi_divide_up(view.k, p[DEPTH]))};
    for (int i = 0; i < 6; i++) wi_kernel_int(launch, sizes[i]);
    wi_gemm_add_strides(launch, &view);
    /* Half of the code each: what a product does not need takes most of the time to compile. */
    wi_kernel_macro_int(plan, "WEFT_GEMM_A_ROWS", view.a_column == 1);
    wi_kernel_macro_int(plan, "WEFT_GEMM_B_ROWS", view.b_column == 1);
    wi_kernel_macro_int(plan, "WEFT_GEMM_B_COLUMNS", view.b_column != 1 && view.b_row == 1);
    return WEFT_OK;
}

const wi_implementation wi_gemm_cpu = {.name = "cpu_block",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
