/* Scans for their kernels. */
#ifndef WI_SCAN_H
#define WI_SCAN_H

/* attributes.flags */
enum {
    WI_SCAN_AFTER = 0,   /* the state after an element */
    WI_SCAN_BEFORE = 1,  /* the state before it */
    WI_SCAN_DELAYED = 2, /* linear_scan: the factor of the element before is used */
    WI_SCAN_FORM = 3,
    WI_SCAN_BACKWARDS = 4
};

#endif
