/* Random numbers of neighbouring elements (contract in draws.h).
 *
 * The functions for eight lanes have the operations of philox.h in the same order, and therefore the same bits. The
 * library is compiled for the oldest processors of its architecture, so that each fmaf of philox.h is a function call;
 * with AVX2 and FMA one instruction computes fma for eight elements. */
#include "base/draws.h"
#include "base/philox.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define WITH_AVX2
#define ON_AVX2 __attribute__((target("avx2,fma")))
#endif

/* ---- eight elements at once, with AVX2 and FMA ---- */

enum { LANES = 8 };

#ifdef WITH_AVX2
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

ON_AVX2 static inline void multiply(__m256i *low, __m256i *high, __m256i a, uint32_t by) {
    const __m256i b = _mm256_set1_epi32((int)by);
    const __m256i even = _mm256_mul_epu32(a, b), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

ON_AVX2 static inline __m256i xor3(__m256i a, __m256i b, uint32_t key) {
    return _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_set1_epi32((int)key));
}

/* words: the first two words that Philox gives for each of the elements index to index + 7. index is a multiple of 8,
 * so that only the lower half of the counter differs between the lanes. */
ON_AVX2 static inline void words8(const wi_draws *how, uint64_t index, __m256i words[2]) {
    __m256i counter[4] = {
        _mm256_add_epi32(_mm256_set1_epi32((int)(uint32_t)index), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        _mm256_set1_epi32((int)(uint32_t)(index >> 32)), _mm256_set1_epi32((int)how->stream),
        _mm256_set1_epi32((int)how->last)};
    uint32_t key0 = (uint32_t)how->seed, key1 = (uint32_t)(how->seed >> 32);
    for (int round = 0; round < 10; round++) {
        __m256i low0, high0, low1, high1;
        multiply(&low0, &high0, counter[0], 0xD2511F53u);
        multiply(&low1, &high1, counter[2], 0xCD9E8D57u);
        counter[0] = xor3(high1, counter[1], key0);
        counter[1] = low1;
        counter[2] = xor3(high0, counter[3], key1);
        counter[3] = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    words[0] = counter[0];
    words[1] = counter[1];
}

/* The polynomial factors[0] * x^(count-1) + ... + factors[count-1]. */
ON_AVX2 static inline __m256 polynomial8(const float *factors, int count, __m256 x) {
    __m256 p = _mm256_set1_ps(factors[0]);
    for (int i = 1; i < count; i++) p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(factors[i]));
    return p;
}

ON_AVX2 static inline __m256 log8(__m256 x) {
    static const float factors[] = {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
        1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f, -0.5f};
    const __m256i root = _mm256_set1_epi32(0x3F3504F3);
    const __m256i shifted = _mm256_sub_epi32(_mm256_castps_si256(x), root);
    const __m256i bits = _mm256_add_epi32(_mm256_and_si256(shifted, _mm256_set1_epi32(0x007FFFFF)), root);
    const __m256 f = _mm256_sub_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(1.0f));
    const __m256 p = polynomial8(factors, 10, f),
                 exponent = _mm256_cvtepi32_ps(_mm256_srai_epi32(shifted, 23));
    return _mm256_fmadd_ps(
        exponent, _mm256_set1_ps(0.693147180559945f), _mm256_fmadd_ps(p, _mm256_mul_ps(f, f), f));
}

ON_AVX2 static inline __m256 sqrt8(__m256 x) {
    const __m256i half_bits = _mm256_srli_epi32(_mm256_castps_si256(x), 1);
    __m256 y = _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(0x5F3759DF), half_bits));
    const __m256 half = _mm256_mul_ps(_mm256_set1_ps(0.5f), x);
    for (int i = 0; i < 4; i++)
        y = _mm256_mul_ps(y, _mm256_fnmadd_ps(half, _mm256_mul_ps(y, y), _mm256_set1_ps(1.5f)));
    return _mm256_mul_ps(x, y);
}

ON_AVX2 static inline __m256 cos8(__m256i angle) {
    static const float even[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f, -0.5f,
        1.0f},
                       odd[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    const __m256i quarter = _mm256_srli_epi32(_mm256_add_epi32(angle, _mm256_set1_epi32(1 << 21)), 22);
    const __m256i rest = _mm256_sub_epi32(angle, _mm256_slli_epi32(quarter, 22));
    const __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(rest), _mm256_set1_ps(3.745070282923929e-7f));
    const __m256 square = _mm256_mul_ps(x, x);
    const __m256 c = polynomial8(even, 5, square);
    const __m256 s = _mm256_fmadd_ps(polynomial8(odd, 3, square), _mm256_mul_ps(square, x), x);
    const __m256 is_odd = _mm256_castsi256_ps(_mm256_slli_epi32(quarter, 31));
    const __m256i next = _mm256_add_epi32(quarter, _mm256_set1_epi32(1));
    const __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(next, 1), 31);
    return _mm256_xor_ps(_mm256_blendv_ps(c, s, is_odd), _mm256_castsi256_ps(sign));
}

ON_AVX2 static inline __m256 uniform8(const __m256i words[2]) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(words[0], 8)), _mm256_set1_ps(0x1p-24f));
}

ON_AVX2 static inline __m256 normal8(const __m256i words[2]) {
    const __m256i above = _mm256_add_epi32(_mm256_srli_epi32(words[0], 8), _mm256_set1_epi32(1));
    const __m256 u = _mm256_mul_ps(_mm256_cvtepi32_ps(above), _mm256_set1_ps(0x1p-24f));
    const __m256 radius = sqrt8(_mm256_mul_ps(_mm256_set1_ps(-2.0f), log8(u)));
    return _mm256_mul_ps(radius, cos8(_mm256_srli_epi32(words[1], 8)));
}

ON_AVX2 static void draw_eights(const wi_draws *how, uint64_t first, size_t count, float *values) {
    const __m256 scale = _mm256_set1_ps(how->scale), add = _mm256_set1_ps(how->add);
    for (size_t i = 0; i < count; i += LANES) {
        __m256i words[2];
        words8(how, first + i, words);
        const __m256 number = how->normal ? normal8(words) : uniform8(words);
        _mm256_storeu_ps(values + i, _mm256_fmadd_ps(number, scale, add));
    }
}
#else
static bool has_avx2(void) {
    return false;
}

static void draw_eights(const wi_draws *how, uint64_t first, size_t count, float *values) {
    (void)how, (void)first, (void)count, (void)values;
}
#endif

/* ---- any number of elements ---- */

static float draw_one(const wi_draws *how, uint64_t index) {
    uint32_t words[4] = {(uint32_t)index, (uint32_t)(index >> 32), how->stream, how->last};
    wi_philox(words, how->seed);
    const float number = how->normal ? wi_normal_of(words[0], words[1]) : wi_uniform_of(words[0]);
    return wi_fmaf(number, how->scale, how->add);
}

void wi_draw(const wi_draws *how, uint64_t first, size_t count, float *values) {
    size_t done = 0;
    while (done < count && (first + done) % LANES != 0) {
        values[done] = draw_one(how, first + done);
        done++;
    }
    const size_t eights = has_avx2() ? (count - done) / LANES * LANES : 0;
    if (eights > 0) draw_eights(how, first + done, eights, values + done);
    for (done += eights; done < count; done++) values[done] = draw_one(how, first + done);
}
