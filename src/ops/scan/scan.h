/* Scans for their kernels. */
#ifndef WI_SCAN_H
#define WI_SCAN_H

/* attributes.scan.form, as scan.cl numbers them. */
typedef enum wi_scan_form {
    WI_SCAN_AFTER,  /* the state after an element */
    WI_SCAN_BEFORE, /* the state before it */
    WI_SCAN_DELAYED /* linear_scan: the factor of the element before is used */
} wi_scan_form;

#endif
