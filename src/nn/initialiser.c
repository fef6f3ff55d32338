/* Constructors of initialisers; src/graph draws the numbers when the memory of a parameter is created. */
#include <math.h>
#include <weft/nn.h>

weft_initialiser weft_zeros(void) {
    return weft_fill(0.0f);
}

weft_initialiser weft_fill(float value) {
    return (weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = value};
}

weft_initialiser weft_init_uniform(float low, float high) {
    return (weft_initialiser){.kind = WEFT_INIT_UNIFORM, .a = low, .b = high};
}

weft_initialiser weft_init_normal(float mean, float deviation) {
    return (weft_initialiser){.kind = WEFT_INIT_NORMAL, .a = mean, .b = deviation};
}

weft_initialiser weft_glorot_uniform(void) {
    return (weft_initialiser){.kind = WEFT_INIT_GLOROT_UNIFORM, .a = 1.0f};
}

weft_initialiser weft_glorot_normal(void) {
    return (weft_initialiser){.kind = WEFT_INIT_GLOROT_NORMAL, .a = 1.0f};
}

weft_initialiser weft_he_uniform(void) {
    return (weft_initialiser){.kind = WEFT_INIT_HE_UNIFORM, .a = sqrtf(2.0f)};
}

weft_initialiser weft_he_normal(void) {
    return (weft_initialiser){.kind = WEFT_INIT_HE_NORMAL, .a = sqrtf(2.0f)};
}

weft_initialiser weft_lecun_uniform(void) {
    return (weft_initialiser){.kind = WEFT_INIT_HE_UNIFORM, .a = 1.0f};
}

weft_initialiser weft_lecun_normal(void) {
    return (weft_initialiser){.kind = WEFT_INIT_HE_NORMAL, .a = 1.0f};
}

weft_initialiser weft_init_truncated_normal(float mean, float deviation, float low, float high) {
    return (weft_initialiser){
        .kind = WEFT_INIT_TRUNCATED_NORMAL, .a = mean, .b = deviation, .c = low, .d = high};
}

weft_initialiser weft_init_orthogonal(float gain) {
    return (weft_initialiser){.kind = WEFT_INIT_ORTHOGONAL, .a = gain};
}
