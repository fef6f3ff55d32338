/* What a process that compiles kernels (process/compile_process_posix.c) reads from standard input. Reader and writer are of one build and one
 * machine, so numbers are stored as they are in memory.
 *
 * The request begins with a wi_compile_head. Records follow, each a wi_compile_record with what its kind says. Programs and buffers have
 * numbers that differ from one another and from 0; programs precede their kernels. */
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
    WI_COMPILE_KERNEL /* `first` bytes of the kernel's name, a wi_compile_size, `second` wi_compile_argument */
} wi_compile_kind;

typedef struct wi_compile_record {
    uint64_t kind, program, first, second;
} wi_compile_record;

typedef struct wi_compile_size {
    uint64_t dimensions, local[3];
} wi_compile_size;

typedef struct wi_compile_argument {
    uint64_t buffer; /* 0: a scalar, or NULL if it has no bytes */
    uint64_t bytes;
    unsigned char value[WI_COMPILE_MOST_BYTES];
} wi_compile_argument;

#endif
