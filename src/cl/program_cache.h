/* The program cache's life, for the context only; its use is in program.h. */
#ifndef WI_PROGRAM_CACHE_H
#define WI_PROGRAM_CACHE_H

#include "cl/opened_device.h"

typedef struct wi_program_cache wi_program_cache;

weft_status wi_program_cache_open(wi_device *device);
void wi_program_cache_close(wi_device *device);
/* Ends a program that is not worth saving. The caller's pointer is void afterwards; NULL is fine. */
void wi_program_forget(wi_device *device, struct wi_program *program);

#endif
