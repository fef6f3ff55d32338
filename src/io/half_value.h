/* 16-bit floating-point numbers of files, little-endian, as float: exact. */
#ifndef WI_HALF_VALUE_H
#define WI_HALF_VALUE_H

float wi_f16_value(const unsigned char *bytes);  /* IEEE 754 binary16 */
float wi_bf16_value(const unsigned char *bytes); /* the upper half of a binary32 */

#endif
