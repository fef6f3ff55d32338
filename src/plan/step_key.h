/* Keys of steps: what is found for one step serves all that are alike, as the layers of a network are. A key has all that
 * the answer depends on, and nothing that only tells two layers apart: which values they are, and where in memory. An
 * implementation is chosen for exact sizes; code has sizes as arguments, and depends on little of them, so that its keys
 * serve plans of other lengths and batches, too (known_code.h). */
#ifndef WI_STEP_KEY_H
#define WI_STEP_KEY_H

#include "base/key_map.h"
#include "plan/loops.h"

/* What the choice of an implementation and its preparation see of a step, and the device that it is on. */
void wi_key_add_site(wi_key_map *map, const wi_device *device, const wi_kernel_site *site);
/* What the code of a loop, or of an epilogue, is made from, beside its device. */
void wi_key_add_code(wi_key_map *map, const wi_loops *loops, const wi_step *step);

#endif
