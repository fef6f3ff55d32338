/* The matrix product on class cpu with contiguous rows or columns of A: B is packed, then one launch computes strips of C. See
 * cl_kernels/product/gemm_cpu_direct.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"

/* A tile is ROWS x VECTORS: its 6 x 4 vectors of sums, 4 vectors of B and the broadcasts of A fill most of the 32 registers of
 * AVX-512. STEPS: steps of k that a work-item packs. DEPTH: the most steps of k that are multiplied at once: a panel's part then
 * takes half of a near cache of 1 MiB, which two threads may share. GROUP: tiles of A that are copied at once. WAITING: the
 * most tiles of a work-item, and how often the sums of a tile and a panel can wait in private memory for the next part of k. */
enum { ROWS, VECTORS, STEPS, DEPTH, GROUP, WAITING };

const char *const wi_gemm_direct_parameters[] = {[ROWS] = "WEFT_DIRECT_TILE",
    [VECTORS] = "WEFT_DIRECT_VECTORS",
    [STEPS] = "WEFT_DIRECT_STEPS",
    [DEPTH] = "WEFT_DIRECT_DEPTH",
    [GROUP] = "WEFT_DIRECT_GROUP",
    [WAITING] = "WEFT_DIRECT_WAITING",
    NULL};

const wi_variant wi_gemm_direct_variants[] = {
    {"f32", {[ROWS] = 6, [VECTORS] = 4, [STEPS] = 64, [DEPTH] = 2048, [GROUP] = 8, [WAITING] = 84}}, {0}};

/* ABREAST: groups of panels with at most this many floats are multiplied by one tile after the
 * other, so that long rows of C are written at once; each larger panel stays in the near cache until all tiles are multiplied by it.
 * WHOLE: the least distance of A's columns, because copies read vectors, up to 15 elements past a column. SMALL: products with at most
 * this many multiply-adds are too small to wake another core. ITEM: operations that each work-item costs besides its multiply-adds. */
enum { ABREAST = 1 << 15, WHOLE = 16, SMALL = 1 << 18, ITEM = 1 << 16 };

#define WASTE   1.12 /* the time of multiplications, as a multiple of the time of their multiply-adds */
#define COPYING 0.5  /* cycles for each element of A that is copied */

int64_t wi_gemm_direct_columns(const int *p) {
    return 16 * p[VECTORS];
}

bool wi_gemm_direct_accepts(const wi_gemm_shape *shape) {
    const int64_t most = INT32_MAX - 4096;
    return wi_gemm_fits_int(shape) &&
           (shape->a_column == 1 || (shape->a_row == 1 && shape->a_column >= WHOLE)) && shape->k > 0 &&
           shape->k <= most / 256 && shape->n <= most / 4 && (double)shape->batch * (double)shape->n <= most;
}

/* How C is divided: a work-item computes `strip` tiles of rows and `span` panels. It walks along k for `block` tiles and `together`
 * panels at once, in parts of at most `depth` steps. In a part each tile is multiplied by `abreast` panels before the next tile. */
typedef struct wi_cut {
    int64_t strip, strips, span, spans, block, together, abreast, depth;
} wi_cut;

static bool has_few_rows(const wi_gemm_shape *shape, const int *p, int64_t units) {
    return wi_divide_up(shape->m, p[ROWS]) < 8 * units;
}

/* Are tiles of A copied before they are multiplied? */
static bool copies_tiles(const wi_kernel_site *site, const wi_gemm_shape *shape) {
    return shape->a_column != 1 || site->formats[0] != WEFT_F32;
}

/* Tiles that are read in place are cheap to read again for the next panels. Copied tiles are multiplied by all panels, if k has
 * several parts by as many as sums may wait for. */
static wi_cut cut_of(const wi_kernel_site *site, const wi_gemm_shape *shape, const int *p) {
    const int64_t units = site->device->units;
    const int64_t tiles = wi_divide_up(shape->m, p[ROWS]),
                  panels = wi_divide_up(shape->n, wi_gemm_direct_columns(p));
    const bool large = (double)shape->m * (double)shape->n * (double)shape->k * (double)shape->batch > SMALL;
    wi_cut cut = {.span = panels};
    /* With few rows each work-item computes other columns, so that B is read once. There are two work-items per core, as many as
     * if the rows were divided. */
    if (large && has_few_rows(shape, p, units)) cut.span = wi_divide_up(panels, wi_min64(panels, 2 * units));
    cut.spans = wi_divide_up(panels, cut.span);
    cut.depth = wi_divide_up(shape->k, wi_divide_up(shape->k, p[DEPTH]));
    const int64_t others = cut.spans * shape->batch;
    cut.strips = wi_divide_up(tiles, p[WAITING]);
    while (
        large && cut.strips < tiles && (cut.strips * others < 2 * units || cut.strips * others % units != 0))
        cut.strips++;
    cut.strip = wi_divide_up(tiles, cut.strips);
    cut.strips = wi_divide_up(tiles, cut.strip);
    const bool copies = copies_tiles(site, shape);
    cut.abreast = wi_max64(1, ABREAST / (wi_gemm_direct_columns(p) * shape->k));
    cut.block = copies ? wi_min64(p[GROUP], cut.strip) : cut.strip;
    cut.together = !copies ? cut.abreast : cut.depth < shape->k ? p[WAITING] / p[GROUP] : cut.span;
    cut.together = wi_min64(cut.together, cut.span);
    return cut;
}

/* Packing reads B and writes the panels; each cache line that is written is first read. Rows after the last whole tile are
 * multiplied in pairs. */
double wi_gemm_direct_cost(const wi_kernel_site *site, const wi_gemm_shape *shape) {
    const wi_device_profile *const device = site->device;
    const int *const p = site->values;
    const bool fixed = site->fixed & WI_GEMM_RIGHT;
    const wi_cut cut = cut_of(site, shape, p);
    const double b = wi_gemm_bytes(shape, WI_GEMM_B), others = wi_gemm_bytes(shape, WI_GEMM_A | WI_GEMM_C);
    const double transposing = shape->b_column == 1 ? 0.1
                               : shape->b_row == 1  ? 0.25
                                                    : 2.0; /* cycles per element */
    const int64_t vectors = wi_divide_up(shape->n, 16), last = (vectors - 1) % p[VECTORS] + 1,
                  panels = wi_divide_up(vectors, p[VECTORS]);
    const double wide =
        (double)vectors + (last == 1 ? 0.8 : 0.0); /* one vector does not fill the pipelines */
    const double elements = (double)shape->batch * wide * 16.0 * (double)shape->k;
    const double units = (double)device->units, vector = wi_vector_seconds(device);
    const double pack =
        fixed ? 0.0
              : 2.0 * vector * transposing * elements / units + wi_traffic_seconds(device, 3.0 * b, others);
    const int64_t rest = shape->m % p[ROWS];
    const double rows = (double)(shape->m - rest) + 4.0 * (double)wi_divide_up(rest, 2);
    const double copied = copies_tiles(site, shape)
                              ? wi_gemm_bytes(shape, WI_GEMM_A) / sizeof(float) *
                                    (double)(cut.spans * wi_divide_up(cut.span, cut.together))
                              : 0.0;
    const double packed = (double)(panels * shape->batch);
    const double items = (double)(cut.strips * cut.spans * shape->batch);
    return pack + 2.0 * vector * COPYING * copied / units +
           wi_work_seconds(device, &(wi_work){.operations = WASTE * 2.0 * rows * elements +
                                                            ITEM * (items + (fixed ? 0.0 : packed)),
                                       .bytes = b + others,
                                       .groups = items,
                                       .launches = fixed ? 1 : 2,
                                       .build_seconds = 0.45});
}

weft_status wi_gemm_direct_prepare(const wi_kernel_site *site, const wi_gemm_shape *shape, int64_t width,
    int64_t column_step, wi_kernel_plan *plan) {
    const int *const p = plan->values;
    const int64_t vectors = wi_divide_up(shape->n, 16),
                  panels = wi_divide_up(shape->n, wi_gemm_direct_columns(p));
    const wi_cut cut = cut_of(site, shape, p);
    plan->scratch_bytes = (size_t)(shape->batch * vectors * 16 * shape->k) * sizeof(float);
    wi_kernel_launch *launch =
        wi_kernel_launch_3d(plan, "pack", panels, wi_divide_up(shape->k, p[STEPS]), shape->batch);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->n, shape->k));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(shape->b_batch, shape->b_row, shape->b_column));
    wi_kernel_packs(plan, WI_GEMM_RIGHT, plan->scratch_bytes);
    launch = wi_kernel_launch_3d(plan, "rows", cut.strips, cut.spans, shape->batch);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k, cut.strip * p[ROWS], cut.span, cut.block,
                    cut.together, cut.abreast, cut.depth, width, column_step == 0, column_step));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(shape->a_batch, shape->a_row, shape->a_column));
    wi_kernel_macro_int(plan, "WEFT_DIRECT_TURNED", shape->a_column != 1);
    wi_kernel_macro_int(plan, "WEFT_DIRECT_DEEP", cut.depth < shape->k);
    return WEFT_OK;
}

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_direct_accepts(site->product);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    /* Without narrow panels there is less code to compile. */
    if (site->product->n % wi_gemm_direct_columns(plan->values) == 0)
        wi_kernel_macro_int(plan, "WEFT_DIRECT_LAST", plan->values[VECTORS]);
    return wi_gemm_direct_prepare(site, site->product, site->product->m, 0, plan);
}

static double cost(const wi_kernel_site *site) {
    return wi_gemm_direct_cost(site, site->product);
}

const wi_implementation wi_gemm_cpu_direct = {.name = "cpu_direct",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_direct.cl",
    .parameters = wi_gemm_direct_parameters,
    .variants = wi_gemm_direct_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
