/* Tensors of the caller in a checkpoint. A *blob* is one of dtype WEFT_U8 and rank 1. */
#ifndef WI_CHECKPOINT_EXTRAS_H
#define WI_CHECKPOINT_EXTRAS_H

#include "io/checkpoint_file.h"
#include <weft/io.h>

/* Adds the extras to the list as "weft.extra.NAME". Errors: WEFT_ERROR_ARGUMENT, WEFT_ERROR_SHAPE. */
weft_status wi_list_extras(wi_saved_list *list, const weft_checkpoint_extra *extras, size_t count);
/* wi_list_extras for loading: a WEFT_U8 extra of rank 1 gets the size that it has in the file, unless the caller's memory is smaller. */
weft_status wi_list_extras_of(
    wi_saved_list *list, const wi_checkpoint_file *file, const weft_checkpoint_extra *extras, size_t count);
/* After loading: sets dims[0] of WEFT_U8 extras of rank 1 to their sizes in the file. The extras are the last entries of the list. */
void wi_extras_take_sizes(const wi_saved_list *list, weft_checkpoint_extra *extras, size_t count);

#endif
