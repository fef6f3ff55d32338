/* weft tune: chooses the fastest kernels for networks on a device, within a time. */
#ifndef WEFT_TUNE_H
#define WEFT_TUNE_H

/* Returns the exit status. */
int weft_tune(int argc, char **argv);

#endif
