/* Numbers in the memory of every dtype, from and to float64: written for the tests, apart from the library.
 */
#ifndef TEST_DTYPE_VALUES_H
#define TEST_DTYPE_VALUES_H

#include <stddef.h>
#include <stdint.h>
#include <weft/graph.h>

/* Rounds to the nearest number that the dtype has, ties to even; integers truncate toward zero; bool is != 0.
 */
void test_to_dtype(weft_dtype dtype, const double *from, size_t count, void *to);
void test_from_dtype(weft_dtype dtype, const void *from, size_t count, double *to);
/* Floats of a sign, exponent and fraction that are narrower than f32. */
typedef struct test_narrow_format {
    weft_dtype dtype;
    int exponent_bits, fraction_bits;
} test_narrow_format;

const test_narrow_format *test_narrow_formats(size_t *count);
/* IEEE 754 binary16, and the upper half of binary32. */
uint16_t test_half_of(double value);
double test_half_value(uint16_t bits);
uint16_t test_bfloat_of(double value);
double test_bfloat_value(uint16_t bits);

#endif
