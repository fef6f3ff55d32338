/* Public functions by the ops that they are: weft_conv2d, conv2d, conv_layer and conv_strided are the op conv. */
#ifndef OP_NAME_H
#define OP_NAME_H

#include <stdbool.h>

/* Is the function, with or without weft_, a form of the op, or the op one of the function's? A form has dimensions (1d, 2d, 3d), and
 * words for what it takes (_with, _axes, ...), behind the name. */
bool op_name_matches(const char *function, const char *op);

#endif
