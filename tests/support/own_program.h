/* An op whose cases are no rows of its family's table may have a program of its own, test_<op>.c. */
#ifndef OWN_PROGRAM_H
#define OWN_PROGRAM_H

#include <stdbool.h>

/* Does tests/ops have the op's program, and does the program hold the text? "" is held by every program. */
bool own_program_holds(const char *op, const char *text);

#endif
