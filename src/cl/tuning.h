/* The tuning database's life, for the context only; its use is in program.h. */
#ifndef WI_TUNING_H
#define WI_TUNING_H

#include "cl/opened_device.h"

typedef struct wi_tuning wi_tuning;

weft_status wi_tuning_open(wi_device *device);
void wi_tuning_close(wi_device *device);

#endif
