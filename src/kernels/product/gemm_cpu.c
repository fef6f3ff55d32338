/* The matrix product on cpu-class devices: one launch, split into equal blocks of C. See
 * cl_kernels/gemm_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* As in the kernel file. */
enum { ROWS = 13, COLUMNS = 32, DEPTH = 256, STRIP = 520, PANELS = 8 };

/* How C is cut: a work-item owns `tiles` x ROWS rows and `panels` x COLUMNS columns. */
typedef struct wi_cut {
    int64_t tiles, panels;
} wi_cut;

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape);
}

/* Cycles of one work-item, roughly, for each step of k: what was measured on an AVX-512 core. */
static double item_cost(const wi_gemm_shape *shape, wi_cut cut) {
    const double multiply = (double)(cut.tiles * cut.panels * ROWS);
    const double per_column = shape->b_column == 1 ? 0.15 : shape->b_row == 1 ? 0.45 : 2.0;
    const double per_row = shape->a_column == 1 ? 0.15 : shape->a_row == 1 ? 0.25 : 2.0;
    const double copy = per_column * (double)(cut.panels * COLUMNS) + per_row * (double)(cut.tiles * ROWS);
    const double fixed = 2000.0 + 60.0 * (double)(cut.tiles * cut.panels);
    return (multiply + copy) * (double)shape->k + fixed;
}

/* More than one work-item wakes other threads, which costs more than a few microseconds of work are worth. */
static double cost(const wi_gemm_shape *shape, wi_cut cut, int64_t units) {
    const int64_t strips = wi_divide_up(shape->m, cut.tiles * ROWS),
                  spans = wi_divide_up(shape->n, cut.panels * COLUMNS);
    const int64_t items = strips * spans * shape->batch;
    const double wake = items > 1 ? 6000.0 : 0.0;
    return wake + (double)wi_divide_up(items, units) * item_cost(shape, cut);
}

/* The cheapest cut: every width, and every height that divides the rows evenly. */
static wi_cut best_cut(const wi_gemm_shape *shape, int64_t units) {
    const int64_t tiles = wi_divide_up(shape->m, ROWS), panels = wi_divide_up(shape->n, COLUMNS);
    const int64_t fewest = wi_divide_up(tiles, STRIP / ROWS);
    wi_cut best = {wi_divide_up(tiles, fewest), 1};
    for (int64_t wide = 1; wide <= PANELS && wide <= panels; wide++) {
        for (int64_t strips = fewest; strips <= tiles && strips <= fewest + 8 * units; strips++) {
            const wi_cut next = {wi_divide_up(tiles, strips), wide};
            if (cost(shape, next, units) < cost(shape, best, units)) best = next;
        }
    }
    return best;
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    wi_gemm_shape view = *shape;
    if (view.n == 1) view.b_column = 1; /* a stride that no element needs may as well be the fast one */
    const wi_cut cut = best_cut(&view, site->device->units);
    const int64_t strip = cut.tiles * ROWS, span = cut.panels * COLUMNS;
    const size_t global[] = {(size_t)wi_divide_up(view.m, strip), (size_t)wi_divide_up(view.n, span),
        (size_t)view.batch},
                 local[] = {1, 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "block", global, local);
    const int64_t sizes[] = {
        view.m, view.n, view.k, strip, span, wi_divide_up(view.k, wi_divide_up(view.k, DEPTH))};
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
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu.cl",
    .accepts = accepts,
    .prepare = prepare};
