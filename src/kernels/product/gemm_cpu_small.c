/* Small matrix products on class cpu: a kernel that is compiled quickly. See cl_kernels/product/gemm_cpu_small.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"

/* ROWS: rows of A that are multiplied at once. DEPTH: the largest k. WORTH_AN_ITEM: multiply-adds of a work-item, about. */
enum { ROWS, DEPTH };
enum { COLUMNS = 16, WORTH_AN_ITEM = 1 << 17 };

static const char *const parameters[] = {[ROWS] = "WEFT_SMALL_ROWS", [DEPTH] = "WEFT_SMALL_DEPTH", NULL};
static const wi_variant variants[] = {{"f32", {[ROWS] = 4, [DEPTH] = 512}}, {0}};

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product) && site->product->k <= site->values[DEPTH] &&
           wi_gemm_multiplications(site->product) <= INT64_C(1) << 40;
}

/* How C is divided: a work-item computes `strip` rows of a panel of COLUMNS columns. */
typedef struct wi_cut {
    int64_t panels, strip, strips;
} wi_cut;

static wi_cut cut_of(const wi_gemm_shape *shape, const int *p) {
    const int64_t work = shape->batch * shape->m * shape->n * shape->k;
    const int64_t tiles = wi_divide_up(shape->m, p[ROWS]);
    wi_cut cut = {.panels = wi_divide_up(shape->n, COLUMNS)};
    const int64_t wanted = wi_divide_up(wi_divide_up(work, WORTH_AN_ITEM), cut.panels * shape->batch);
    cut.strip = wi_divide_up(tiles, wi_max64(1, wi_min64(wanted, tiles))) * p[ROWS];
    cut.strips = wi_divide_up(shape->m, cut.strip);
    return cut;
}

/* Each step of k copies a vector of B, at once or element by element, and then takes the latency of one multiply-add per tile,
 * because there are only ROWS sums. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const wi_cut cut = cut_of(shape, p);
    const double copy = shape->b_column == 1 && shape->n >= COLUMNS ? 10.0 : 40.0;
    const double tiles = (double)wi_divide_up(cut.strip, p[ROWS]);
    const double items = (double)(cut.panels * cut.strips * shape->batch);
    const double vectors = items * (double)shape->k * (copy + 9.0 * tiles);
    return wi_work_seconds(site->device, &(wi_work){.operations = 2.0 * COLUMNS * vectors,
                                             .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
                                             .groups = items,
                                             .launches = 1,
                                             .build_seconds = 0.1});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const wi_cut cut = cut_of(shape, site->values);
    wi_kernel_launch *const launch =
        wi_gemm_launch_items(plan, "small", cut.strips, cut.panels, shape->batch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k, cut.strip));
    wi_gemm_add_strides(launch, shape);
    return WEFT_OK;
}

const wi_implementation wi_gemm_cpu_small = {.name = "cpu_small",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_small.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
