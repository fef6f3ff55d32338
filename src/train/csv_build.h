/* The conversion of a CSV table to a dataset (csv_dataset.c, csv_rows.c, csv_kinds.c, csv_categories.c): one or more fields of the
 * table become a column of the dataset, and texts become numbers of categories. */
#ifndef WI_CSV_BUILD_H
#define WI_CSV_BUILD_H

#include "io/csv.h"
#include "train/dataset.h"

typedef struct wi_csv_category {
    const char *text;
    int32_t number;
} wi_csv_category;

/* A column of the future dataset. */
typedef struct wi_csv_chosen {
    weft_csv_column spec;
    size_t *fields; /* indices in the table */
    size_t count;   /* of fields */
    bool fixed;     /* the categories come from the options or the dataset `like` */
    wi_csv_category
        *categories; /* sorted by text when they are complete; the builder's arena has the texts */
    size_t category_count, category_capacity;
    /* Until then: a hash table with open addressing; the index of a category + 1, or 0 for a free slot. */
    int32_t *slots;
    size_t slot_count;
} wi_csv_chosen;

typedef struct wi_csv_builder {
    const weft_allocator *allocator;
    weft_csv_options options;
    wi_csv table;
    wi_csv_walk walk; /* over the table, while the dataset is built */
    wi_csv_form form;
    wi_arena arena;
    wi_name *like; /* the columns of options.like */
    wi_csv_chosen *columns;
    size_t count;
    size_t kept; /* number of rows that become examples */
} wi_csv_builder;

/* weft_dataset_open_csv. in_memory: reads all numbers into memory, whatever the context's option data_limit is. */
weft_status wi_csv_dataset_open(weft_dataset **dataset, weft_context *context, const char *path,
    const weft_csv_options *options, bool in_memory);
/* Creates the dataset of a builder whose categories are complete. in_memory: its numbers are read now. Otherwise they stay
 * in the file, the dataset takes over the builder, and *builder becomes NULL. */
weft_status wi_csv_create_dataset(
    weft_dataset **dataset, weft_context *context, wi_csv_builder **builder, bool in_memory);
void wi_csv_builder_release(wi_csv_builder *builder); /* NULL is allowed */
/* Fails with a line that names the current row of a walk and a field. */
weft_status wi_csv_bad_cell(const wi_csv_builder *b, const wi_csv_walk *walk, size_t field, const char *what);
/* Whether a cell of a column has no value. */
bool wi_csv_lacks_value(const wi_csv_chosen *column, const char *cell);

/* text: the name of a field in quotes, or its index, for errors. */
void wi_csv_field_name(const wi_csv_builder *b, size_t field, char text[128]);
/* WEFT_ERROR_ARGUMENT: a decimal or thousands mark that is not allowed. */
weft_status wi_csv_check_form(const char *call, const wi_csv_form *form);
/* Sets the kinds of columns that consist of one field: the kind that the column has in the dataset `like`; otherwise
 * numbers, if all cells are numbers; otherwise categories. WEFT_ERROR_FORMAT: some cells are not numbers, but nine in
 * ten cells are numbers, perhaps in another form. */
weft_status wi_csv_find_kinds(wi_csv_builder *b);

/* Sets the categories of a column to those of the options or of the dataset `like`, if they have any. */
weft_status wi_csv_set_given_categories(wi_csv_builder *b, wi_csv_chosen *column);
/* Adds the texts of the current row to the categories of columns that are not `fixed`. */
weft_status wi_csv_gather_categories(wi_csv_builder *b);
/* Sorts the gathered texts, and numbers them in this order. */
void wi_csv_number_categories(const wi_csv_builder *b, wi_csv_chosen *column);
/* The number of a text; -1: the text is not a category. */
int32_t wi_csv_find_category(const wi_csv_chosen *column, const char *text);
/* Copies the categories of all columns into the dataset. */
weft_status wi_csv_copy_categories(const wi_csv_builder *b, weft_dataset *dataset);

#endif
