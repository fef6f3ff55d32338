#ifndef WI_MAX_DEVICES_H
#define WI_MAX_DEVICES_H

enum { WI_MAX_DEVICES = 8 }; /* the most devices of a context */

#endif
