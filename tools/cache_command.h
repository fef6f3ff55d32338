/* `weft cache`: compiled kernels as a file. */
#ifndef CACHE_COMMAND_H
#define CACHE_COMMAND_H

/* The words after `weft cache`. Returns the exit status. */
int weft_cache(int argc, char **argv);

#endif
