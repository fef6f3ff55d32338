/* What a process that compiles kernels (process/compile_process.c) reads from standard input. Reader and writer are of one build and one
 * machine, so numbers are stored as they are in memory.
 *
 * The request begins with a wi_compile_head. Records follow, each a wi_compile_record with what its kind says. Programs and memories are
 * numbered from 0 in their order, and precede the kernels that use them. */
#ifndef WI_COMPILE_REQUEST_H
#define WI_COMPILE_REQUEST_H

#include <stdint.h>

#define WI_COMPILE_PROGRAM "weft-compile"

enum { WI_COMPILE_MAGIC = 0x57434d31, WI_COMPILE_MOST_BYTES = 8 /* of a scalar argument */ };

typedef struct wi_compile_head {
    uint32_t magic;
    uint32_t platform, device; /* in the lists of clGetPlatformIDs and clGetDeviceIDs */
    char name[128];            /* of the device */
} wi_compile_head;

typedef enum wi_compile_kind {
    WI_COMPILE_SOURCE = 1, /* a program: `first` bytes of source, `second` bytes of options */
    WI_COMPILE_MEMORY,     /* a buffer of `first` bytes */
    WI_COMPILE_KERNEL      /* `first` bytes of the kernel's name, a wi_compile_kernel, `second` arguments */
} wi_compile_kind;

typedef struct wi_compile_record {
    uint64_t kind, first, second;
} wi_compile_record;

typedef struct wi_compile_kernel {
    uint32_t program, dimensions;
    uint64_t local[3];
} wi_compile_kernel;

typedef struct wi_compile_argument {
    int32_t memory; /* number of the buffer; -1: a scalar; -2: no buffer */
    uint32_t bytes; /* of a scalar */
    unsigned char value[WI_COMPILE_MOST_BYTES];
} wi_compile_argument;

#endif
