/* Creating and freeing the programs of a device; program.h has their use. */
#ifndef WI_PROGRAM_CACHE_H
#define WI_PROGRAM_CACHE_H

#include "cl/opened_device.h"

typedef struct wi_program_cache wi_program_cache;

weft_status wi_program_cache_open(wi_device *device);
void wi_program_cache_close(wi_device *device);
/* Frees a program that will not be used again, without saving it. The pointer is then invalid; NULL has no effect. */
void wi_program_forget(wi_device *device, struct wi_program *program);

#endif
