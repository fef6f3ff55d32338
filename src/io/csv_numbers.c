/* Numbers in cells of tables (contract in csv.h): a cell is converted to the form of C, which strtod reads. */
#include "io/csv.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 512 /* a longer cell is not a number */ };

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static size_t skip_digits(const char *text) {
    return strspn(text, "0123456789");
}

/* strtod also reads texts that are not numbers in a table, such as hexadecimal numbers and NaN(...). */
static bool is_decimal(const char *text) {
    text += *text == '+' || *text == '-';
    if (strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0) return true;
    size_t digits = skip_digits(text);
    text += digits;
    if (*text == '.') {
        const size_t fraction = skip_digits(++text);
        digits += fraction;
        text += fraction;
    }
    if (digits == 0) return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '+' || *text == '-';
        const size_t exponent = skip_digits(text);
        if (exponent == 0) return false;
        text += exponent;
    }
    return *text == '\0';
}

/* text: the cell without blanks around it. false: it is too long. */
static bool trimmed(const char *cell, char *text, size_t capacity) {
    while (is_blank(*cell)) cell++;
    size_t length = strlen(cell);
    while (length && is_blank(cell[length - 1])) length--;
    if (length >= capacity) return false;
    memcpy(text, cell, length);
    text[length] = '\0';
    return true;
}

/* Converts a number in place: the decimal mark becomes a point, and thousands marks are removed. false: a thousands
 * mark is not followed by three digits, or there is a point that is neither of the marks. */
static bool to_c_form(const wi_csv_form *form, char *text) {
    const char decimal = form->decimal ? form->decimal : '.';
    const char *from = text + (*text == '+' || *text == '-');
    char *to = text + (from - text);
    bool grouped = false;
    for (;;) {
        const size_t digits = skip_digits(from);
        const bool more = form->thousands && from[digits] == form->thousands;
        if ((grouped && digits != 3) || (!grouped && more && (digits == 0 || digits > 3))) return false;
        memmove(to, from, digits);
        from += digits, to += digits;
        if (!more) break;
        grouped = true;
        from++;
    }
    if (*from == decimal)
        *to++ = '.', from++;
    else if (*from == '.')
        return false;
    memmove(to, from, strlen(from) + 1);
    return true;
}

bool wi_csv_number(const wi_csv_form *form, const char *cell, double *value) {
    char text[LONGEST];
    if (!trimmed(cell, text, sizeof text) || !to_c_form(form, text) || !is_decimal(text)) return false;
    *value = strtod(text, NULL);
    return true;
}

bool wi_csv_is_whole(const wi_csv_form *form, const char *cell) {
    char text[LONGEST];
    if (!trimmed(cell, text, sizeof text) || !to_c_form(form, text)) return false;
    const char *const digits = text + (*text == '+' || *text == '-');
    return *digits && digits[skip_digits(digits)] == '\0';
}

/* ---- other forms ---- */

static const wi_csv_form forms[WI_CSV_FORMS] = {
    {'.', 0}, {'.', ','}, {',', 0}, {',', '.'}, {'.', ' '}, {',', ' '}, {'.', '\''}};

unsigned wi_csv_forms_of(const char *cell) {
    unsigned found = 0;
    double value = 0;
    for (unsigned i = 0; i < WI_CSV_FORMS; i++)
        if (wi_csv_number(&forms[i], cell, &value)) found |= 1u << i;
    return found;
}

/* Is the cell a number with one sign before or after it, such as "12 %" or "$5"? */
static bool has_sign(const char *cell) {
    static const char *const signs[] = {"%", "$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"};
    char text[LONGEST];
    if (!trimmed(cell, text, sizeof text)) return false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const size_t length = strlen(text), sign = strlen(signs[i]);
        if (length <= sign) continue;
        if (strncmp(text, signs[i], sign) == 0) return wi_csv_forms_of(text + sign) != 0;
        if (strcmp(text + length - sign, signs[i]) != 0) continue;
        text[length - sign] = '\0';
        return wi_csv_forms_of(text) != 0;
    }
    return false;
}

bool wi_csv_is_almost_number(const char *cell) {
    return wi_csv_forms_of(cell) != 0 || has_sign(cell);
}

const char *wi_csv_forms_hint(unsigned found) {
    const bool comma = found & 1u << 2, thousands = found & 1u << 1;
    if (comma && thousands) return "the option decimal = ',' or thousands = ',' reads such numbers";
    if (comma) return "the option decimal = ',' reads such numbers";
    if (thousands) return "the option thousands = ',' reads such numbers";
    if (found & 1u << 3) return "the options decimal = ',' and thousands = '.' read such numbers";
    if (found & 1u << 4) return "the option thousands = ' ' reads such numbers";
    if (found & 1u << 5) return "the options decimal = ',' and thousands = ' ' read such numbers";
    if (found & 1u << 6) return "the option thousands = '\\'' reads such numbers";
    return found & 1u ? "the default of the options decimal and thousands reads such numbers" : NULL;
}

bool wi_csv_is_missing(const char *cell) {
    static const char *const marks[] = {"", "na", "n/a", "nan", "null", "none", "?"};
    char text[8];
    if (!trimmed(cell, text, sizeof text)) return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcasecmp(text, marks[i]) == 0) return true;
    return false;
}
