/* An op whose test cases are not in the table of its family may have a separate test program, test_<op>.c. */
#ifndef OWN_PROGRAM_H
#define OWN_PROGRAM_H

#include <stdbool.h>

/* Whether tests/ops has the op's program, and its source contains the text ("": any source). */
bool own_program_holds(const char *op, const char *text);

#endif
