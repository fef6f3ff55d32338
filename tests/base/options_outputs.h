/* Calls with options for what a program writes, or sends to other processes; test_options.c tries them. */
#ifndef OPTIONS_OUTPUTS_H
#define OPTIONS_OUTPUTS_H

#include <weft/weft.h>

weft_status call_events(const void *given);
weft_status call_png(const void *given);
weft_status call_distributed(const void *given);

#endif
