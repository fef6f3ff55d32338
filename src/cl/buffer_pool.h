/* The pool's life, for the context only. */
#ifndef WI_BUFFER_POOL_H
#define WI_BUFFER_POOL_H

#include "cl/context.h"

typedef struct wi_buffer_pool wi_buffer_pool;

weft_status wi_buffer_pool_open(weft_context *context, size_t limit); /* bytes; 0: no limit */
void wi_buffer_pool_close(weft_context *context);

#endif
