/* Calls with options for files, or for what a program sends to other processes; test_options.c tries them. */
#ifndef OPTIONS_OUTPUTS_H
#define OPTIONS_OUTPUTS_H

#include <weft/weft.h>

weft_status call_events(const void *given);
weft_status call_png(const void *given);
weft_status call_records(const void *given);
weft_status call_distributed(const void *given);

#endif
