/* 16-bit floats of files as float (contract in half_value.h). */
#include "io/half_value.h"
#include <stdint.h>
#include <string.h>

float wi_f16_value(const unsigned char *bytes) {
    const uint32_t half = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
    const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
    uint32_t bits = sign | (exponent + 112u) << 23 | fraction << 13;
    if (exponent == 31u) bits = sign | 0x7f800000u | fraction << 13;
    float value = 0.0f;
    if (exponent == 0u) { /* zero and subnormals: fraction · 2^-24 */
        value = (float)fraction * 5.9604644775390625e-8f;
        return sign ? -value : value;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

float wi_bf16_value(const unsigned char *bytes) {
    const uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
    float value = 0.0f;
    memcpy(&value, &bits, sizeof value);
    return value;
}
