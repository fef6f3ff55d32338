/* `weft devices`: in which number formats a device computes, and which matrix engines it has. */
#ifndef DEVICE_FORMATS_H
#define DEVICE_FORMATS_H

#include <weft/weft.h>

/* Opens the device for it. What is emulated is computed in f32. */
weft_status device_formats_show(const weft_device_info *info);

#endif
