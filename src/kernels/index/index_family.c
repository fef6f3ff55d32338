/* The implementations of ops that read and add up by index. */
#include "kernels/registry.h"

extern const wi_implementation wi_gather, wi_index_select, wi_scatter_sum, wi_index_lists_cpu,
    wi_index_segments_gpu, wi_index_scatter, wi_index_copy, wi_select_rows_kernel, wi_segment_lists_cpu,
    wi_segment_lists_gpu, wi_segment_sum_rows;

/* The first implementation that accepts a site is chosen. For index_sum two implementations for axis 0 precede the one for every
 * axis. */
const wi_implementation *const wi_index_family[] = {&wi_gather, &wi_index_select, &wi_scatter_sum,
    &wi_index_lists_cpu, &wi_index_segments_gpu, &wi_index_scatter, &wi_index_copy, &wi_select_rows_kernel,
    &wi_segment_lists_cpu, &wi_segment_lists_gpu, &wi_segment_sum_rows, NULL};
