/* The forms of scans, for their kernels. */
#ifndef WI_SCAN_H
#define WI_SCAN_H

/* The values of attributes.scan.form; scan.cl uses the same numbers. */
typedef enum wi_scan_form {
    WI_SCAN_AFTER,  /* the result is the state after an element */
    WI_SCAN_BEFORE, /* the result is the state before it */
    WI_SCAN_DELAYED /* linear_scan: as AFTER, but with the factor of the previous element */
} wi_scan_form;

#endif
