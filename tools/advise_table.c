/* See advise_table.h. */
#include "advise_table.h"
#include <stdio.h>
#include <string.h>

enum { LEAST_WIDTH = 22, MOST_WIDTH = 72 };

void advise_row_title(char title[2 * ADVISE_TEXT], const advise_row *row) {
    snprintf(title, 2 * ADVISE_TEXT, "%s%s%s", row->selector, row->selector[0] ? " " : "", row->name);
}

int advise_title_width(const advise_row *rows, size_t count, int least) {
    int width = least;
    for (size_t i = 0; i < count; i++) {
        char title[2 * ADVISE_TEXT];
        advise_row_title(title, &rows[i]);
        const int wanted = (int)strlen(title) + 1;
        if (wanted > width) width = wanted;
    }
    return width < MOST_WIDTH ? width : MOST_WIDTH;
}

static size_t find_row(advise_table *table, const advise_row *row) {
    size_t at = 0;
    while (at < table->row_count &&
           (table->rows[at].threads != row->threads || table->rows[at].expected != row->expected ||
               strcmp(table->rows[at].name, row->name) != 0 ||
               strcmp(table->rows[at].selector, row->selector) != 0))
        at++;
    if (at == table->row_count && at < TABLE_ROWS) table->rows[table->row_count++] = *row;
    return at;
}

void advise_table_add(advise_table *table, const char *network, const advise_row *rows, size_t count) {
    if (table->network_count == TABLE_NETWORKS) return;
    table->networks[table->network_count] = network;
    for (size_t i = 0; i < count; i++) {
        const size_t row = find_row(table, &rows[i]);
        if (row < TABLE_ROWS && rows[i].failure[0] == '\0')
            table->steps[row][table->network_count] = rows[i].step;
    }
    table->network_count++;
}

/* Measured rows come first. */
static void print_rows(const advise_table *table, int width, bool expected) {
    for (size_t i = 0; i < table->row_count; i++) {
        const advise_row *const row = &table->rows[i];
        if (row->expected != expected) continue;
        char name[2 * ADVISE_TEXT], threads[24] = "-";
        advise_row_title(name, row);
        if (row->threads > 0) snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
        printf("%-*.*s%6s", width, width - 1, name, threads);
        for (size_t k = 0; k < table->network_count; k++) {
            if (table->steps[i][k] > 0)
                printf("%11.2f", 1e3 * table->steps[i][k]);
            else
                printf("%11s", "-");
        }
        printf("%s\n", expected ? "  expected" : "");
    }
}

void advise_table_print(const advise_table *table) {
    const int width = advise_title_width(table->rows, table->row_count, LEAST_WIDTH);
    printf("%-*s%6s", width, "ms per step", "units");
    for (size_t k = 0; k < table->network_count; k++) printf("%11s", table->networks[k]);
    printf("\n");
    print_rows(table, width, false);
    print_rows(table, width, true);
}
