/* The parameters of a vector (vectors.h), for those that read and write them again and again. */
#ifndef WI_PARAMETER_VECTOR_H
#define WI_PARAMETER_VECTOR_H

#include "ops/op_table.h"
#include <weft/vectors.h>

/* The caller releases *chosen, unless it fails; *size: all elements. */
weft_status wi_vector_parameters(
    weft_graph *graph, const char *names, weft_tensor ***chosen, size_t *count, size_t *size);
size_t wi_elements_of(const weft_tensor *parameter);
weft_status wi_vector_get(weft_tensor *const *parameters, size_t count, float *data);
weft_status wi_vector_set(weft_tensor *const *parameters, size_t count, const float *data);

#endif
