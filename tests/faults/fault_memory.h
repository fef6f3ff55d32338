/* Host memory that fails on demand: malloc, calloc, realloc, free, mmap and munmap of the whole process.
 *
 * Allocations of Weft and of the parsers that it uses (cJSON, libpng, libjpeg, zlib) may fail, those of the C library on
 * their behalf too; those inside an OpenCL call never do (fault_layer.h knows). The same blocks are kept in a table until
 * they are freed, so that a leak is found in any build, and known by where it was allocated. */
#ifndef FAULT_MEMORY_H
#define FAULT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* To be called once, before anything else here. */
void fault_memory_open(void);
/* The nth allocation from now on fails, and with `lasting` all that follow; 0: none does. */
void fault_memory_arm(long nth, bool lasting);
/* Whether one has failed since; where the first was asked for (an address of code). */
bool fault_memory_hit(void);
long fault_memory_asked(void); /* allocations since it was armed */
const void *fault_memory_site(void);
/* Whether an address is of code of Weft, of a parser or of the test; of the C library. */
bool fault_memory_is_ours(const void *code);
bool fault_memory_is_library(const void *code);
/* The number of blocks that are not freed; those since the last mark are printed, and how many bytes are mapped more. */
size_t fault_memory_live(void);
void fault_memory_mark(void);
size_t fault_memory_print_leaks(void);
/* A thread of Weft's runs fault_memory_run_thread with what fault_memory_thread returns (of the last 256 threads). */
void *fault_memory_run_thread(void *user);
void *fault_memory_thread(void *(*function)(void *), void *argument);
/* "file+0x1234", for addr2line; valid until the next call. */
const char *fault_memory_name(const void *code);

#endif
