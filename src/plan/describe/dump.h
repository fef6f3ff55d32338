/* Dumps the results of passes as text for people: WEFT_DUMP=pass[,pass] or WEFT_DUMP=all.
 *
 * The text of a pass is written to the file plan-<n>-<pass>.txt in WEFT_DUMP_DIR, by default the current folder; n counts the plans of a
 * context from 0. Existing files are replaced. The text has no addresses, times or device names, so that the dumps of two plans can be
 * compared line by line. */
#ifndef WI_DUMP_H
#define WI_DUMP_H

#include "plan/run/launches.h"

struct weft_plan;

typedef enum wi_plan_pass {
    WI_PASS_REWRITES,
    WI_PASS_ORDER,
    WI_PASS_PARTITION,
    WI_PASS_SELECT, /* part of the partition, dumped separately */
    WI_PASS_LOOPS,
    WI_PASS_SCHEDULE,
    WI_PASS_CODE,
    WI_PASS_MATERIALISE,
    WI_PASS_MEMORY,
    WI_PASS_LAUNCHES,
    WI_PASSES
} wi_plan_pass;

const char *wi_pass_name(wi_plan_pass pass);

/* The passes of a plan that are dumped. */
typedef struct wi_dump {
    unsigned passes; /* bit i is set if pass i is dumped */
    int number;      /* number of the plan in its context */
} wi_dump;

/* Reads WEFT_DUMP; the name of an unknown pass is an error. */
weft_status wi_dump_begin(wi_dump *dump, weft_context *context);
/* Writes the file of the pass if the pass is dumped. */
weft_status wi_dump_pass(const struct weft_plan *plan, wi_plan_pass pass);

/* ---- the texts (dump_nodes.c, dump_steps.c, dump_memory.c) ---- */
void wi_dump_rewrites(const wi_node_order *order, wi_text *text);
void wi_dump_order(const wi_node_order *order, wi_text *text);
void wi_dump_partition(const wi_partition *p, wi_text *text);
void wi_dump_selection(const wi_partition *p, wi_text *text);
void wi_dump_loops(const wi_loops *loops, wi_text *text);
void wi_dump_code(const wi_code *code, wi_text *text);
void wi_dump_schedule(const wi_schedule *schedule, wi_text *text);
void wi_dump_runs(const wi_materialised *runs, wi_text *text);
void wi_dump_placement(const wi_placement *placement, wi_text *text);
void wi_dump_launches(const wi_launches *launches, wi_text *text);

#endif
