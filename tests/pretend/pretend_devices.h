/* Answers of pretended devices. */
#ifndef PRETEND_DEVICES_H
#define PRETEND_DEVICES_H

#include "pretend_layer.h"

/* Items of a group, and along each dimension: of kernels that require so many, and of others. */
size_t pretend_most_items(const pretend_device *d, bool required);

/* Before each program where there are none. */
extern const char pretend_no_extensions[];

/* Has the device an answer of its own to this query? */
bool pretend_answers(const pretend_device *d, cl_device_info what);
/* As clGetDeviceInfo answers what it has one to. */
cl_int pretend_answer(
    const pretend_device *d, cl_device_info what, size_t size, void *value, size_t *size_ret);

#endif
