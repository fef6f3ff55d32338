/* The encoding of sizes that only plans know (*open* sizes) as numbers of the host.
 *
 * A file calculates with the sizes of its inputs (Shape, Gather, Mul, Concat), and the host follows it with doubles. What depends on a
 * size that only plans know is an open number: a double above all numbers of files, which stands for a polynomial in the table of the
 * graph (graph/sizes.h). wi_onnx_calculate_open (onnx_fold.h) calculates with open numbers.
 *
 * In lists of whole numbers (wi_onnx_get_sizes), open numbers are handles of graph/sizes.h, in which the batch is a symbol as others are,
 * so that no open size is mistaken for the -1 of a reshape or for an end that counts from behind. wi_onnx_dimension makes the dimension
 * of a shape of it. */
#ifndef WI_ONNX_SIZES_H
#define WI_ONNX_SIZES_H

#include "graph/sizes.h"

/* Does the number depend on an open size? */
bool wi_onnx_is_open(double number);
/* The polynomial of an open number or of a whole one; false: it has none. */
bool wi_onnx_polynomial(const weft_graph *graph, double number, wi_polynomial *p);
/* The number of a polynomial; NAN: there is no memory. */
double wi_onnx_from_polynomial(weft_graph *graph, const wi_polynomial *p);
/* A dimension of a tensor of Weft as a number of the host; NAN: it has none. */
double wi_onnx_from_size(weft_graph *graph, int64_t dimension);
/* The number of a list: handles for open sizes, other numbers as they are, and INT64_MAX or INT64_MIN for numbers beyond ±2^40. *good is
 * false if there is none. */
int64_t wi_onnx_to_size(weft_graph *graph, double number, bool *good);
/* Is the number of a list an open size? */
bool wi_onnx_is_symbol(int64_t size);
/* The dimension of a shape, from the number of a list; and the reverse, for a dimension of a tensor. */
int64_t wi_onnx_dimension(weft_graph *graph, int64_t size);
int64_t wi_onnx_symbol(weft_graph *graph, int64_t dimension);

#endif
