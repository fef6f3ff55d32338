/* Split reductions over k (contract in gemm_splits.h). */
#include "kernels/product/gemm_splits.h"
#include "base/integers.h"
#include "kernels/product/gemm.h"
#include <math.h>

/* MOST_SPLITS: the most splits. LEAST_BLOCKS: the fewest blocks of a split, if there are more than two splits. MOST_SUMS: the
 * most floats of the sums of all splits. */
enum { MOST_SPLITS = 32, LEAST_BLOCKS = 8, MOST_SUMS = 1 << 24 };

bool wi_splitting_fits(const wi_splitting *product, bool split) {
    return !split || (2.0 * product->results <= MOST_SUMS && product->blocks >= 2.0);
}

int64_t wi_splitting_floats(const wi_splitting *product, int64_t splits) {
    return splits > 1 ? splits * (int64_t)product->results : 0;
}

/* If the blocks cannot be divided evenly, all splits take as long as those with the most blocks. */
static double seconds_of(const wi_device_profile *device, const wi_splitting *product, int64_t splits) {
    const double sums = (double)sizeof(float) * (double)wi_splitting_floats(product, splits);
    const double blocks = (double)splits * ceil(product->blocks / (double)splits);
    wi_work work = product->whole;
    if (splits == 1) return wi_work_seconds(device, &work);
    work.operations *= blocks / product->blocks;
    work.groups *= (double)splits;
    work.bytes += sums;
    const wi_work finish = {
        .bytes = sums, .groups = ceil(product->results / (double)device->group), .launches = 1};
    return wi_work_seconds(device, &work) + wi_work_seconds(device, &finish);
}

int64_t wi_splitting_best(const wi_device_profile *device, const wi_splitting *product, bool split) {
    if (!split) return 1;
    const double sums = MOST_SUMS / fmax(product->results, 1.0);
    const int64_t most = (int64_t)fmin(fmin(product->blocks / LEAST_BLOCKS, sums), MOST_SPLITS);
    int64_t best = 2;
    double least = seconds_of(device, product, best);
    for (int64_t splits = 3; splits <= most; splits++) {
        const double seconds = seconds_of(device, product, splits);
        if (seconds >= least) continue;
        best = splits;
        least = seconds;
    }
    return best;
}

double wi_splitting_seconds(const wi_device_profile *device, const wi_splitting *product, bool split) {
    return seconds_of(device, product, wi_splitting_best(device, product, split));
}

/* Estimates assume that all units finish a round of work-groups at the same time. Splits that only fill the last round are
 * therefore estimated too favourably, and are not worth the additional launch. */
double wi_splitting_margin(bool split) {
    return split ? 1.25 : 1.0;
}

void wi_splitting_finish(wi_kernel_plan *plan, const wi_kernel_site *site, const wi_splitting *product,
    int64_t splits, int64_t sums, int64_t rows, int64_t columns) {
    const int64_t results = (int64_t)product->results, lanes = site->quads ? 4 : 1;
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "finish", results / lanes, (int64_t)site->device->group);
    launch->has_epilogue = true;
    wi_kernel_scratch(launch, sums);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(results, splits, rows, columns));
}

void wi_splitting_apply(wi_kernel_plan *plan, wi_kernel_launch *tiles, const wi_kernel_site *site,
    const wi_splitting *product, int64_t splits) {
    const wi_gemm_shape *const shape = site->product;
    tiles->has_epilogue = false;
    tiles->global[2] *= (size_t)splits;
    wi_kernel_scratch(tiles, 0);
    wi_kernel_ints(tiles, WI_KERNEL_NUMBERS(shape->batch, splits));
    wi_splitting_finish(plan, site, product, splits, 0, shape->m, shape->n);
    plan->scratch_bytes = (size_t)wi_splitting_floats(product, splits) * sizeof(float);
}
