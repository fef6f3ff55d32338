/* What makers say of devices: for predictions on devices that are not here. */
#ifndef DEVICE_SHEETS_H
#define DEVICE_SHEETS_H

#include <stddef.h>
#include <stdint.h>

typedef struct device_sheet {
    const char *name;
    int64_t units;           /* that work on groups: multiprocessors, compute units, Xe-cores */
    double teraflops;        /* f32 operations a second, without matrix units, / 1e12 */
    double gigabytes_second; /* of its memory */
    double gibibytes;        /* of memory */
    const char *source;
} device_sheet;

extern const device_sheet device_sheets[];
extern const size_t device_sheet_count;

#endif
