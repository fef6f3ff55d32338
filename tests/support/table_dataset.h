/* Datasets from CSV tables, for tests. */
#ifndef TABLE_DATASET_H
#define TABLE_DATASET_H

#include <weft/io.h>
#include <weft/train.h>

/* Writes the text to a file in test_folder(), and returns its path, valid until the next call. */
const char *table_write(const char *name, const char *text);
/* A dataset from a CSV file with this text, which must be valid. */
weft_dataset *table_open_csv(const char *text, weft_csv_options options);
/* The number of an example in a column, which must have this dtype. */
float table_f32(const weft_dataset *dataset, size_t column, size_t example);
int32_t table_i32(const weft_dataset *dataset, size_t column, size_t example);

#endif
