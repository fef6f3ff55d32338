/* Functions whose results reach weights, with the same bits on every system: C libraries round exp, log, pow and cos
 * differently, and MinGW's fmaf rounds twice. They use additions, multiplications and divisions alone, which IEEE 754
 * rounds exactly. Errors are below three units in the last place. */
#ifndef WI_PORTABLE_MATH_H
#define WI_PORTABLE_MATH_H

double wi_math_exp(double x);
double wi_math_log(double x);           /* x > 0, not subnormal; 0 gives -infinity, below 0 gives NaN */
double wi_math_pow(double x, double y); /* x >= 0; a power of an x below 0 is NaN unless y is whole */
double wi_math_cos(double x);           /* |x| < 1e5 */

float wi_fmaf(float x, float y, float z); /* x·y + z, rounded once */

#endif
