/* peak.cl: the largest number of multiply-adds a second of a device, for `weft bench`: chains that touch no memory.
 *
 *     chain[i] = chain[i] * factor + shift      i < WEFT_PEAK_CHAINS, many rounds, all in registers
 *
 * Each work-item computes its chains, of WEFT_LANES lanes each. There are enough chains to hide the latency of a multiply-add, and few
 * enough to stay in the registers (without AVX-512, 16 registers of 16 or 32 bytes):
 *
 *     round 0   c0 c1 c2 ...
 *     round 1   c0 c1 c2 ...     each waits only for the one above it
 */
#pragma OPENCL FP_CONTRACT ON

#ifndef WEFT_LANES
#define WEFT_LANES 16
#endif

/* WEFT_PEAK_ROUND: the multiply-adds of a work-item in each of the `rounds`, whatever the number of chains. */
#if WEFT_LANES == 1
#define WEFT_PEAK_ROUND  16
#define WEFT_PEAK_CHAINS 16
typedef float weft_peak_value;
#else
#define WEFT_PEAK_ROUND 20
#if defined(__clang__) && !defined(__AVX512F__) && (defined(__AVX__) || defined(__aarch64__))
#define WEFT_PEAK_CHAINS 6
#elif defined(__clang__) && !defined(__AVX512F__)
#define WEFT_PEAK_CHAINS 3
#else
#define WEFT_PEAK_CHAINS 20
#endif
typedef float16 weft_peak_value;
#endif

__kernel void peak(__global float *result, int rounds, float factor, float shift) {
    weft_peak_value chain[WEFT_PEAK_CHAINS];
    for (int i = 0; i < WEFT_PEAK_CHAINS; ++i)
        chain[i] = (weft_peak_value)((float)i + (float)get_global_id(0));
    for (int round = rounds * WEFT_PEAK_ROUND / WEFT_PEAK_CHAINS; round > 0; --round) {
        __attribute__((opencl_unroll_hint)) for (int i = 0; i < WEFT_PEAK_CHAINS; ++i) chain[i] =
            chain[i] * (weft_peak_value)factor + (weft_peak_value)shift;
    }
    weft_peak_value sum = 0.0f;
    for (int i = 0; i < WEFT_PEAK_CHAINS; ++i) sum += chain[i];
#if WEFT_LANES == 1
    result[get_global_id(0)] = sum;
#else
    vstore16(sum, get_global_id(0), result);
#endif
}
