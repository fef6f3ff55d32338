/* The families of implementations, one array a folder (convolutions have two). */
#ifndef WI_FAMILIES_H
#define WI_FAMILIES_H

#include "kernels/registry.h"

extern const wi_implementation *const wi_product_family[],
    *const wi_convolution_family[], *const wi_convolution_weight_family[],
                                        *const wi_recurrent_family[],
                                            *const wi_attention_family[],
                                                *const wi_scan_family[], *const wi_sort_family[],
                                                                             *const wi_index_family[],
                                                                                 *const wi_pooling_family[],
                                                                                     *const wi_loss_family[];

#endif
