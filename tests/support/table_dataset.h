/* Datasets from tables, for tests of them. */
#ifndef TABLE_DATASET_H
#define TABLE_DATASET_H

#include <weft/io.h>
#include <weft/train.h>

/* Writes a file of the program's own folder; its path, valid until the next call. */
const char *table_write(const char *name, const char *text);
/* Of a CSV file with this text, which is right. */
weft_dataset *table_open_csv(const char *text, weft_csv_options options);
/* Of a column with this dtype, the number of an example. */
float table_f32(const weft_dataset *dataset, size_t column, size_t example);
int32_t table_i32(const weft_dataset *dataset, size_t column, size_t example);

#endif
