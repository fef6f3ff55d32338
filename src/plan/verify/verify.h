/* The verifier checks the invariants of each pass's result before the next pass reads the result.
 *
 * The verifier runs in debug builds (NDEBUG is not defined) and if WEFT_VERIFY is 1, as in the tests; WEFT_VERIFY=0 turns it off. A
 * violated invariant is a defect of a pass: WEFT_ERROR_INTERNAL, with a message that names the pass, the step (or value, place, ...) and
 * the invariant. The verifier computes what it needs itself, if it can: for example, it finds live ranges again from the operands. */
#ifndef WI_VERIFY_H
#define WI_VERIFY_H

#include "plan/describe/dump.h"

bool wi_verify_is_on(void);
/* Checks the result of the pass. */
weft_status wi_verify_pass(const struct weft_plan *plan, wi_plan_pass pass);
/* Dumps the result of the pass if WEFT_DUMP names the pass, and checks it if the verifier is on for the plan. */
weft_status wi_plan_end_pass(const struct weft_plan *plan, wi_plan_pass pass);

weft_status wi_verify_order(const wi_node_order *order);
weft_status wi_verify_partition(const wi_partition *p);
weft_status wi_verify_selection(const wi_partition *p);
weft_status wi_verify_loops(const wi_loops *loops);
weft_status wi_verify_code(const wi_code *code);
weft_status wi_verify_schedule(const wi_schedule *schedule);
weft_status wi_verify_runs(const wi_materialised *runs);
weft_status wi_verify_placement(const wi_placement *placement);
weft_status wi_verify_launches(const wi_launches *launches);

/* ---- for the files of the verifier ---- */

/* Returns the error with a message such as "plan verifier: partition: step 3: a member is computed before its inputs". */
weft_status wi_verify_fail(wi_plan_pass pass, const char *thing, size_t index, const char *invariant);
/* Returns an error unless the condition holds; only for functions that return weft_status. */
#define WI_REQUIRE(condition, pass, thing, index, invariant)                                                 \
    do {                                                                                                     \
        if (!(condition)) return wi_verify_fail(pass, thing, (size_t)(index), invariant);                    \
    } while (0)

/* Bytes from the beginning of the storage to the end of the outermost storage that contains it. */
size_t wi_verify_room(const wi_partition *p, int storage);
/* The range of bytes that a layout addresses, from the beginning of its storage: *first inclusive, *end exclusive. element: bytes of an
 * element. */
void wi_verify_reach(
    const wi_layout *layout, const wi_size *dims, int rank, size_t element, int64_t *first, int64_t *end);

#endif
