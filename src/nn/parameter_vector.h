/* The parameters of a vector (vectors.h) as a list, for callers that read and write them repeatedly. */
#ifndef WI_PARAMETER_VECTOR_H
#define WI_PARAMETER_VECTOR_H

#include "ops/op_table.h"
#include <weft/vectors.h>

/* *chosen: the parameters that match `names` and are not frozen; the caller releases the list unless the call fails.
 * *size: the number of elements of all of them. Errors: those of weft_vector_size. */
weft_status wi_vector_parameters(
    weft_graph *graph, const char *names, weft_tensor ***chosen, size_t *count, size_t *size);
size_t wi_elements_of(const weft_tensor *parameter);
/* Copy all parameters of a list, one after the other, to or from `data`; both wait for the device. */
weft_status wi_vector_get(weft_tensor *const *parameters, size_t count, float *data);
weft_status wi_vector_set(weft_tensor *const *parameters, size_t count, const float *data);

#endif
