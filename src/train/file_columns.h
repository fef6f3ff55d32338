/* Datasets whose columns are in files that have a block of equal size for each example, as NumPy's and IDX files do. */
#ifndef WI_FILE_COLUMNS_H
#define WI_FILE_COLUMNS_H

#include "io/npy.h"
#include "train/dataset.h"

/* A column. The source owns the file. */
typedef struct wi_file_column {
    wi_data_file file;
    wi_npy npy;       /* the numbers in the file; npy.rank >= 1, and the array is in order */
    bool is_fraction; /* bytes become f32 in [0, 1] */
} wi_file_column;

/* Creates a dataset of these columns. columns: their descriptions. The dataset becomes the owner of the files, and their structs are
 * zeroed; after an error, the caller closes the files whose structs are not zeroed. */
weft_status wi_file_columns_open(weft_dataset **dataset, weft_context *context, wi_file_column *files,
    size_t examples, const weft_column *columns, size_t count);

#endif
