/* What stands in a plan for a tensor of the caller: the inputs and outputs of public calls. */
#ifndef WI_PLAN_TENSORS_H
#define WI_PLAN_TENSORS_H

#include "plan/compiled_plan.h"

/* The next part's value and size; NULL for one that nothing reads. false: there is none. */
bool wi_plan_find_part(const weft_plan *plan, const weft_tensor *tensor, bool output, size_t part,
    const wi_value **value, size_t *bytes);
/* call: the public function, for errors. */
weft_status wi_plan_check_bytes(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, size_t own, size_t bytes);
/* What the caller brings for an input or output of the plan. */
weft_status wi_plan_check_host(const weft_plan *plan, const char *call, const weft_tensor *tensor,
    bool output, const void *data, size_t bytes);
/* The one value behind an input or output, for calls that take or give its memory. */
weft_status wi_plan_find_value(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, bool output, const wi_value **value);
/* The device that the value's memory is on. */
wi_device *wi_plan_device_of(const weft_plan *plan, const wi_value *value);
/* After the last run; *offset in bytes. */
cl_mem wi_plan_memory_of(const weft_plan *plan, const wi_value *value, size_t *offset);
/* bind.c: sets the arguments of kernels after an input's memory has become another. */
weft_status wi_plan_rebind(weft_plan *plan, int place);

#endif
