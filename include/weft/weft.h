/* weft/weft.h: the whole public interface. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/base.h>
#include <weft/device.h>

#endif
