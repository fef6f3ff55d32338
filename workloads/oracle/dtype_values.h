/* Numbers in the memory of every dtype, from and to float64: written for the tests, apart from the library.
 */
#ifndef ORACLE_DTYPE_VALUES_H
#define ORACLE_DTYPE_VALUES_H

#include <stddef.h>
#include <stdint.h>
#include <weft/graph.h>

/* Rounds to the nearest number that the dtype has, ties to even; integers truncate toward zero; bool is != 0.
 */
void f64_to_dtype(weft_dtype dtype, const double *from, size_t count, void *to);
void f64_from_dtype(weft_dtype dtype, const void *from, size_t count, double *to);
/* Floats of a sign, exponent and fraction that are narrower than f32. */
typedef struct f64_narrow_format {
    weft_dtype dtype;
    int exponent_bits, fraction_bits;
} f64_narrow_format;

const f64_narrow_format *f64_narrow_formats(size_t *count);
/* IEEE 754 binary16, and the upper half of binary32. */
uint16_t f64_half_of(double value);
double f64_half_value(uint16_t bits);
uint16_t f64_bfloat_of(double value);
double f64_bfloat_value(uint16_t bits);

#endif
