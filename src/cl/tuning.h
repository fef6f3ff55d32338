/* The tuning database's life, for the context only; its use is in program.h. */
#ifndef WI_TUNING_H
#define WI_TUNING_H

#include "cl/context.h"

typedef struct wi_tuning wi_tuning;

weft_status wi_tuning_open(weft_context *context);
void wi_tuning_close(weft_context *context);

#endif
