/* The largest number of devices of a context, for arrays by device index. */
#ifndef WI_MAX_DEVICES_H
#define WI_MAX_DEVICES_H

enum { WI_MAX_DEVICES = 8 };

#endif
