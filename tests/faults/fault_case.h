/* One case: a program in which one thing fails, and everything that must hold afterwards. */
#ifndef FAULT_CASE_H
#define FAULT_CASE_H

#include "fault_kind.h"
#include "fault_subject.h"

enum { FAULT_SERIES = 512 };

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
    /* By series, while nothing fails: the calls in all; those before the step `again`; those from it on in a context in which
     * all of it was done before. */
    struct {
        long all, before, used;
    } calls[FAULT_SERIES];
} fault_setting;

/* Cases that follow each other in one context, each from the step `again` on. */
typedef struct fault_chain {
    fault_world world;
    long objects; /* that the program had before */
    int cases;    /* so far; 0: there is no context */
} fault_chain;

/* Prepares the program and computes the reference. False: it was printed what failed. */
bool fault_case_prepare(fault_setting *setting);
/* last: there is no nth call. */
fault_outcome fault_case_run(const fault_setting *setting, size_t series, long nth, bool *last);
/* The nth call is behind the first steps, and a used context makes as many calls of the function: the call fails in the same
 * place in a chain. */
bool fault_case_fits_chain(const fault_setting *setting, size_t series, long nth);
/* The same case in a chain, which is begun where it is not. What is left is looked for at the chain's end, which returns
 * false if there is something. */
fault_outcome fault_chain_run(const fault_setting *setting, fault_chain *chain, size_t series, long nth);
bool fault_chain_end(const fault_setting *setting, fault_chain *chain, size_t series, long nth);

#endif
