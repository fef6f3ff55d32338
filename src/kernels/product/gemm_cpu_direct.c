/* The matrix product on cpu-class devices where rows of A are contiguous: B packed, then one launch over
 * strips of C. See cl_kernels/gemm_cpu_direct.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* A tile is ROWS x VECTORS: 6 x 4 vectors of sums, 4 of B and the broadcasts of A fill most of the 32 registers of
 * AVX-512. STEPS: of k that a work-item packs. */
enum { ROWS, VECTORS, STEPS };

const char *const wi_gemm_direct_parameters[] = {
    [ROWS] = "WEFT_DIRECT_TILE", [VECTORS] = "WEFT_DIRECT_VECTORS", [STEPS] = "WEFT_DIRECT_STEPS", NULL};

const wi_variant wi_gemm_direct_variants[] = {{"f32", {[ROWS] = 6, [VECTORS] = 4, [STEPS] = 64}}, {0}};

/* STRIP: most tiles of a work-item; TOGETHER: floats of B that stay in a core's own cache; SMALL: multiply-adds that
 * are not worth waking another core. */
enum { STRIP = 84, TOGETHER = 1 << 17, SMALL = 1 << 18 };

int64_t wi_gemm_direct_columns(const int *p) {
    return 16 * p[VECTORS];
}

/* Fewest rows and multiply-adds that pay for packing B with a launch of its own; most floats of B. */
enum { LEAST = 96, LEAST_WORK = 1 << 20, PACKED = 1 << 23 };

bool wi_gemm_direct_accepts(const wi_gemm_shape *shape) {
    const int64_t most = INT32_MAX - 4096;
    return wi_gemm_fits_int(shape) && shape->a_column == 1 && shape->k > 0 && shape->k <= most / 256 &&
           shape->n <= most / 4 && (double)shape->batch * (double)shape->n <= most;
}

/* How C is cut: a work-item owns `strip` tiles and `span` panels, `together` of them at once. */
typedef struct wi_cut {
    int64_t strip, strips, span, spans, together;
} wi_cut;

static wi_cut cut_of(const wi_gemm_shape *shape, const int *p, int64_t units) {
    const int64_t tiles = wi_divide_up(shape->m, p[ROWS]),
                  panels = wi_divide_up(shape->n, wi_gemm_direct_columns(p));
    const bool large = (double)shape->m * (double)shape->n * (double)shape->k * (double)shape->batch > SMALL;
    wi_cut cut = {.span = panels};
    /* Few rows: each core has columns of its own, so that B is read once. */
    if (large && tiles < 8 * units) cut.span = wi_divide_up(panels, wi_min64(panels, units));
    cut.spans = wi_divide_up(panels, cut.span);
    const int64_t groups = wi_divide_up(cut.span * wi_gemm_direct_columns(p) * shape->k, TOGETHER);
    cut.together = wi_divide_up(cut.span, wi_min64(groups, cut.span));
    const int64_t others = cut.spans * shape->batch;
    cut.strips = wi_divide_up(tiles, STRIP);
    while (
        large && cut.strips < tiles && (cut.strips * others < 2 * units || cut.strips * others % units != 0))
        cut.strips++;
    cut.strip = wi_divide_up(tiles, cut.strips);
    cut.strips = wi_divide_up(tiles, cut.strip);
    return cut;
}

weft_status wi_gemm_direct_prepare(const wi_device_profile *device, const wi_gemm_shape *shape, int64_t width,
    int64_t column_step, wi_kernel_plan *plan) {
    const int *const p = plan->values;
    const int64_t units = device->units;
    const int64_t vectors = wi_divide_up(shape->n, 16),
                  panels = wi_divide_up(shape->n, wi_gemm_direct_columns(p));
    const wi_cut cut = cut_of(shape, p, units);
    plan->scratch_bytes = (size_t)(shape->batch * vectors * 16 * shape->k) * sizeof(float);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "pack", panels, 1);
    launch->dimensions = 3;
    launch->global[1] = (size_t)wi_divide_up(shape->k, p[STEPS]);
    launch->global[2] = (size_t)shape->batch;
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_int(launch, shape->n);
    wi_kernel_int(launch, shape->k);
    wi_kernel_long(launch, shape->b_batch);
    wi_kernel_long(launch, shape->b_row);
    wi_kernel_long(launch, shape->b_column);
    launch = wi_kernel_launch_1d(plan, "rows", cut.strips, 1);
    launch->dimensions = 3;
    launch->global[1] = (size_t)cut.spans;
    launch->global[2] = (size_t)shape->batch;
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    const int64_t numbers[] = {shape->m, shape->n, shape->k, cut.strip * p[ROWS], cut.span, cut.together,
        width, column_step == 0, column_step};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) wi_kernel_int(launch, numbers[i]);
    wi_kernel_long(launch, shape->a_batch);
    wi_kernel_long(launch, shape->a_row);
    return WEFT_OK;
}

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_direct_accepts(site->product);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_direct_prepare(site->device, shape, shape->m, 0, plan);
}

/* Where it is faster than packing B in each work-item: measured with `weft bench gemm` on AVX-512. Packed B
 * is memory of its own. */
static bool pays(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double packed = (double)shape->batch * (double)shape->n * (double)shape->k;
    return shape->m >= LEAST && packed * (double)shape->m >= LEAST_WORK && packed <= PACKED;
}

const wi_implementation wi_gemm_cpu_direct = {.name = "cpu_direct",
    .ops = {&wi_op_matmul},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_direct.cl",
    .parameters = wi_gemm_direct_parameters,
    .variants = wi_gemm_direct_variants,
    .accepts = accepts,
    .pays = pays,
    .prepare = prepare};
