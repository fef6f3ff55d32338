/* The values and the memory that belong to a tensor passed to a public function: an input or output of the plan. */
#ifndef WI_PLAN_TENSORS_H
#define WI_PLAN_TENSORS_H

#include "plan/compiled_plan.h"

/* Finds the part with this number, counted from 0, of a tensor that is divided into several buffers; other tensors have part 0 only.
 * *value: NULL if no step reads the part of an input. *bytes: its size. False: there is no such part. */
bool wi_plan_find_part(const weft_plan *plan, const weft_tensor *tensor, bool output, size_t part,
    const wi_value **value, size_t *bytes);
/* Fails unless `bytes` is `expected`, the size of the tensor. call: name of the public function, for the message. */
weft_status wi_plan_check_bytes(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, size_t expected, size_t bytes);
/* Checks the arguments of a public function that copies an input or output to or from host memory. */
weft_status wi_plan_check_host(const weft_plan *plan, const char *call, const weft_tensor *tensor,
    bool output, const void *data, size_t bytes);
/* Finds the single value of an input or output, for functions that need its device memory. Fails if the tensor is divided into several
 * buffers. */
weft_status wi_plan_find_value(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, bool output, const wi_value **value);
/* The device with the value's memory. */
wi_device *wi_plan_device_of(const weft_plan *plan, const wi_value *value);
/* The value's memory after the last step of a run. *offset: bytes to the value's first element. */
cl_mem wi_plan_memory_of(const weft_plan *plan, const wi_value *value, size_t *offset);
/* bind.c: sets the kernel arguments again after an input was bound to other memory. */
weft_status wi_plan_rebind(weft_plan *plan, int place);

#endif
