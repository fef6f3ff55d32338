/* Assignments that a run does after all others (weft_assign_after): a second plan, which runs behind the first one. So each
 * of its values reads what the first one has left in the variables, whatever that did in place. */
#ifndef WI_AFTER_H
#define WI_AFTER_H

#include "plan/compiled_plan.h"

/* weft_plan_create without a reference to the graph, of outputs among which such assignments may be. */
weft_status wi_plan_create_with_after(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);

#endif
