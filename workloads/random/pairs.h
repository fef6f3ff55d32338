/* Pairs of an op's attribute, in a class of values, and a class of sizes: which of them programs have met. */
#ifndef RANDOM_PAIRS_H
#define RANDOM_PAIRS_H

#include "random/random_program.h"

enum { PAIRS_OF_CALL = 48 };

/* The numbers that stand for the pairs of a call whose largest input has so many elements; returns how many there are. An attribute is
 * what the op's line of C names: an input that may be absent, a size, an axis, a switch, a number, the length of a list, a text. */
int program_pairs_of(const oracle_call *call, int64_t elements, uint64_t *pairs);
/* How many of the call's pairs are not covered yet. */
int program_pairs_missing(const program_pairs *pairs, const oracle_call *call, int64_t elements);
/* Notes the pairs of a call, which was drawn; as part of a program that runs, they are covered. Nothing is noted where there is no memory. */
void program_pairs_note(program_pairs *pairs, const oracle_call *call, int64_t elements, bool covered);

#endif
