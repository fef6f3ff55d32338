/* weft check --random: random programs on a device, judged by the oracle. */
#ifndef WEFT_CHECK_RANDOM_H
#define WEFT_CHECK_RANDOM_H

/* The arguments of the command line behind `check`. Prints a line for each program that is wrong, with the program made smaller as C, and at the end how many were judged. Returns 0 when
 * all are right, 1 when one is not or the device cannot be used, and 2 for an argument that is not understood. */
int weft_check_random(int argc, char **argv);

#endif
