/* The pool's life, for the context only. */
#ifndef WI_BUFFER_POOL_H
#define WI_BUFFER_POOL_H

#include "cl/opened_device.h"

typedef struct wi_buffer_pool wi_buffer_pool;

weft_status wi_buffer_pool_open(wi_device *device, size_t limit); /* bytes; 0: no limit */
void wi_buffer_pool_close(wi_device *device);

#endif
