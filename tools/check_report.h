/* `weft check --report FILE`: what a user attaches to a bug report. It has the versions, all devices with their drivers,
 * limits and extensions, everything that the check prints, and what was tuned; no names of users, machines or folders. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "base/status.h"
#include <weft/device.h>

/* Opens the file and describes machine and devices. */
weft_status check_report_begin(const char *path);
/* What a device's tuning file says. */
void check_report_tuning(weft_context *context);
/* Closes it; an error names the file that could not be written. */
weft_status check_report_end(void);

/* To stdout, and to the report where one is open. */
void check_line(const char *format, ...) WI_PRINTF(1, 2);

#endif
