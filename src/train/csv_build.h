/* A table on its way into a dataset, for the files that do it: fields become columns, texts become categories. */
#ifndef WI_CSV_BUILD_H
#define WI_CSV_BUILD_H

#include "io/csv.h"
#include "train/dataset.h"

typedef struct wi_csv_category {
    const char *text;
    int32_t number;
} wi_csv_category;

/* A column of the dataset in the making. */
typedef struct wi_csv_chosen {
    weft_csv_column spec;
    size_t *fields;
    size_t count;
    bool fixed;                  /* the categories were given */
    wi_csv_category *categories; /* sorted by text once they are complete */
    size_t category_count, category_capacity;
} wi_csv_chosen;

typedef struct wi_csv_builder {
    const weft_allocator *allocator;
    const weft_csv_options *options;
    wi_csv table;
    wi_csv_form form;
    wi_arena arena;
    wi_name *like; /* the columns of options->like */
    wi_csv_chosen *columns;
    size_t count;
    const char **cells; /* of the row at hand */
    size_t kept;        /* rows */
    bool *keep;         /* of each row */
} wi_csv_builder;

/* In errors: its name in quotes, or its number. */
void wi_csv_field_name(const wi_csv_builder *b, size_t field, char text[128]);
weft_status wi_csv_check_form(const char *call, const wi_csv_form *form);
/* The kinds of columns that are a field each: as the dataset `like` has it, numbers, or categories. An error: a column of
 * categories of which nine in ten cells are numbers, or are in another form. */
weft_status wi_csv_find_kinds(wi_csv_builder *b);

/* Takes the categories of the options, or of the dataset that this one is to be like. */
weft_status wi_csv_give_categories(const wi_csv_builder *b, wi_csv_chosen *column);
/* Adds the texts of the row at hand to the columns whose categories were not given. */
weft_status wi_csv_gather_categories(wi_csv_builder *b);
/* Each text once, numbered in order. */
void wi_csv_number_categories(wi_csv_chosen *column);
/* The number of a text; -1: it is none of the categories. */
int32_t wi_csv_find_category(const wi_csv_chosen *column, const char *text);
weft_status wi_csv_hand_over_categories(const wi_csv_builder *b, weft_dataset *dataset);

#endif
