/* One case: a program in which one thing fails, and everything that must hold afterwards. */
#ifndef FAULT_CASE_H
#define FAULT_CASE_H

#include "fault_kind.h"
#include "fault_subject.h"

typedef enum fault_outcome {
    FAULT_UNTOUCHED, /* there is no nth call */
    FAULT_RETURNED,  /* the program ended with the right error, and went on when nothing failed any more */
    FAULT_TOLERATED, /* it did not, and the result is the right one */
    FAULT_WRONG      /* it was printed what */
} fault_outcome;

typedef struct fault_setting {
    const fault_kind *kind;
    const fault_subject *subject;
    const char *folder;    /* of this process */
    fault_world reference; /* that nothing failed in */
} fault_setting;

/* Prepares the program and computes the reference. False: it was printed what failed. */
bool fault_case_prepare(fault_setting *setting);
/* last: there is no nth call. */
fault_outcome fault_case_run(const fault_setting *setting, size_t series, long nth, bool *last);

#endif
