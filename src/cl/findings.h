/* What self-tests found on a device: which kernels compute right, and which are in quarantine and why.
 *
 * A device owns one list, under names that its users make. On disk it is one entry of the cache folder, under a key of
 * device, driver, platform and version of Weft, so that another driver is tested anew. It is read when the first name is
 * asked for, and written when something was found; a process that writes it keeps what others have added since. What
 * cannot be kept is tested again next time. */
#ifndef WI_FINDINGS_H
#define WI_FINDINGS_H

#include "cl/opened_device.h"

typedef struct wi_finding {
    char *name;
    char *fault; /* why it is in quarantine; NULL: it computes right */
    bool noted;  /* this process has logged the fault */
} wi_finding;

/* NULL: not known. Valid until the next call of wi_findings_add. */
wi_finding *wi_findings_find(wi_device *device, const char *name);
/* Replaces what is known of the name. Tabs and line breaks in both texts become spaces. */
void wi_findings_add(wi_device *device, const char *name, const char *fault);
/* All; *count of them. */
const wi_finding *wi_findings_all(wi_device *device, size_t *count);
/* For the device's life. */
void wi_findings_close(wi_device *device);

#endif
