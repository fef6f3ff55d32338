/* What the kernels of Winograd's convolutions share: the header of their templates. */
#ifndef WI_CONV_WINOGRAD_H
#define WI_CONV_WINOGRAD_H

extern const char *const wi_conv_winograd_headers[];

#endif
