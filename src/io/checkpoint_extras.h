/* Tensors of the caller in a checkpoint. */
#ifndef WI_CHECKPOINT_EXTRAS_H
#define WI_CHECKPOINT_EXTRAS_H

#include "io/checkpoint_file.h"
#include <weft/io.h>

/* Adds the extras as "weft.extra.NAME". Errors: a name, dtype or shape that is not one. */
weft_status wi_list_extras(wi_saved_list *list, const weft_checkpoint_extra *extras, size_t count);
/* The same for loading: blobs get the size that they have in the file, if there is room for it. */
weft_status wi_list_extras_of(
    wi_saved_list *list, const wi_checkpoint_file *file, const weft_checkpoint_extra *extras, size_t count);
/* After loading: the sizes of blobs. */
void wi_extras_take_sizes(const wi_saved_list *list, weft_checkpoint_extra *extras, size_t count);

#endif
