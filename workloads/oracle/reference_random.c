/* Random numbers in float64: see reference_random.h. */
#include "oracle/reference_random.h"
#include <math.h>
#include <string.h>

void f64_philox(uint32_t x[4], uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; round++, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
        const uint64_t left = (uint64_t)x[0] * 0xD2511F53, right = (uint64_t)x[2] * 0xCD9E8D57;
        const uint32_t next[4] = {(uint32_t)(right >> 32) ^ x[1] ^ key0, (uint32_t)right,
            (uint32_t)(left >> 32) ^ x[3] ^ key1, (uint32_t)left};
        memcpy(x, next, sizeof next);
    }
}

void f64_random_words(uint64_t seed, uint64_t index, uint32_t stream, uint32_t run, uint32_t words[4]) {
    words[0] = (uint32_t)index;
    words[1] = (uint32_t)(index >> 32);
    words[2] = stream;
    words[3] = run;
    f64_philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
}

double f64_uniform_of(const uint32_t words[4]) {
    return (words[0] >> 8) * 0x1p-24;
}

double f64_normal_of(const uint32_t words[4], double *radius) {
    *radius = sqrt(-2 * log(((words[0] >> 8) + 1) * 0x1p-24));
    return *radius * cos(6.283185307179586 * (words[1] >> 8) * 0x1p-24);
}
