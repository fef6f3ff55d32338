/* Findings of self-tests on a device: kernels that compute right, and kernels in quarantine with the reason.
 *
 * A device has one list; callers choose the names. In the cache folder the list is one entry, for the device, driver,
 * platform and version of Weft, so that kernels are tested again on another driver. It is read when a name is first
 * looked up, and written at each new finding; findings that other processes have added meanwhile are kept. If it cannot
 * be kept, kernels are tested again in the next process. */
#ifndef WI_FINDINGS_H
#define WI_FINDINGS_H

#include "cl/opened_device.h"

typedef struct wi_finding {
    char *name;
    char *fault; /* why the kernel is in quarantine; NULL: it computes right */
    bool noted;  /* the log of this process has the fault */
} wi_finding;

/* NULL: the name is not known. Valid until the next wi_findings_add. */
wi_finding *wi_findings_find(wi_device *device, const char *name);
/* Replaces the finding for the name. Copies the texts, in which tabs and line breaks become spaces. fault may be NULL. */
void wi_findings_add(wi_device *device, const char *name, const char *fault);
/* All findings, *count of them; NULL if there are none. */
const wi_finding *wi_findings_all(wi_device *device, size_t *count);
/* Frees the list; only device_open.c calls this. */
void wi_findings_close(wi_device *device);

#endif
