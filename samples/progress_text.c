/* See progress_text.h. */
#include "progress_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a line of the state ---- */

enum { FIELD = 48, LEAST_BAR = 6, MOST_BAR = 40, SHORT_WIDTH = 48, PARTS_OF_BLOCK = 8 };
enum { HEAD, BAR, RATE, LEFT, LOSS, BEST, FIELDS }; /* as they stand in the line */

static void write_left(char text[FIELD], double seconds) {
    const long long all = (long long)ceil(seconds);
    if (seconds >= 1e7)
        snprintf(text, FIELD, "%.0f days left", seconds / 86400);
    else if (all >= 3600)
        snprintf(text, FIELD, "%lld:%02lld:%02lld left", all / 3600, all / 60 % 60, all % 60);
    else if (all >= 60)
        snprintf(text, FIELD, "%lld:%02lld left", all / 60, all % 60);
    else
        snprintf(text, FIELD, "%2lld s left", all);
}

static void write_fields(char fields[FIELDS][FIELD], const progress_state *s, const progress_style *style) {
    const bool is_short = style->width > 0 && style->width < SHORT_WIDTH;
    const double size = fabs(s->loss);
    memset(fields, 0, sizeof(char[FIELDS][FIELD]));
    const int digits = snprintf(NULL, 0, "%zu", s->last);
    snprintf(fields[HEAD], FIELD, "%s%s%*zu/%zu", is_short ? "" : s->unit, is_short ? "" : " ", digits,
        s->number, s->last);
    if (s->rate > 0) snprintf(fields[RATE], FIELD, s->rate < 10 ? "%4.2f steps/s" : "%4.0f steps/s", s->rate);
    if (s->left >= 0) write_left(fields[LEFT], s->left);
    if (!isnan(s->loss))
        snprintf(
            fields[LOSS], FIELD, size < 1e-3 || size >= 1e4 ? "%.20s %.2e" : "%.20s %.4f", s->what, s->loss);
    if (!isnan(s->best))
        snprintf(fields[BEST], FIELD, s->is_share ? "best %.2f %%" : "best %.4g",
            s->best * (s->is_share ? 100 : 1));
}

/* The bar of so many columns between brackets: whole blocks, and one of eighths. */
static size_t write_bar(char *text, int columns, double share, const progress_style *style) {
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int eighths = (int)(share * columns * PARTS_OF_BLOCK), whole = eighths / PARTS_OF_BLOCK;
    const char *const part = style->utf8 ? parts[eighths % PARTS_OF_BLOCK] : "";
    char *at = text;
    at += sprintf(at, "[%s", style->colours ? "\033[36m" : "");
    for (int i = 0; i < whole; i++) at += sprintf(at, "%s", style->utf8 ? "█" : "#");
    at += sprintf(at, "%s%s%*s]", part, style->colours ? "\033[0m" : "", columns - whole - (*part != 0), "");
    return (size_t)(at - text);
}

void progress_line(char text[PROGRESS_ROOM], const progress_state *state, const progress_style *style) {
    static const int by_need[] = {HEAD, LOSS, LEFT, BAR, RATE, BEST};
    char fields[FIELDS][FIELD], *at = text;
    int room = style->width, bar = 0;
    bool shown[FIELDS] = {false};
    write_fields(fields, state, style);
    for (int i = 0; i < FIELDS; i++) {
        const int field = by_need[i], gap = i ? 2 : 0;
        const int length = field == BAR ? LEAST_BAR + 2 : (int)strlen(fields[field]);
        shown[field] = style->width == 0 ? field != BAR && length > 0 : length > 0 && length + gap <= room;
        if (shown[field]) room -= length + gap;
    }
    bar = LEAST_BAR + room < MOST_BAR ? LEAST_BAR + room : MOST_BAR;
    text[0] = 0;
    for (int i = 0; i < FIELDS; i++) {
        if (!shown[i]) continue;
        at += sprintf(at, "%s%s", at > text ? "  " : "", fields[i]);
        if (i == BAR) at += write_bar(at, bar, state->share, style);
    }
}

/* ---- the curve ---- */

enum { LABEL = 10, LEAST_CURVE = 8, MOST_CURVE = 60, ROWS = 5, ASCII_ROWS = 8 };
enum { CELL_WIDTH = 2, CELL_HEIGHT = 4 }; /* dots of a Braille character */
static const double log_ratio = 30;

/* Dots, of which several stand in one character. */
typedef struct canvas {
    int columns, rows, cell_width, cell_height;
    unsigned char cells[ASCII_ROWS]
                       [MOST_CURVE]; /* bits of Braille (Unicode, U+2800); in ASCII not 0 for a dot */
} canvas;

void progress_history_add(progress_history *h, double number) {
    if (h->each == 0) h->each = 1;
    h->sum += number;
    if (++h->pending < h->each) return;
    if (h->count == PROGRESS_VALUES) {
        for (size_t i = 0; i < PROGRESS_VALUES / 2; i++)
            h->values[i] = (h->values[2 * i] + h->values[2 * i + 1]) / 2;
        h->count /= 2, h->each *= 2;
        if (h->pending < h->each) return;
    }
    h->values[h->count++] = h->sum / (double)h->pending;
    h->sum = 0, h->pending = 0;
}

static bool find_range(const progress_history *h, double *least, double *most) {
    size_t finite = 0;
    for (size_t i = 0; i < h->count; i++) {
        const double value = h->values[i];
        if (!isfinite(value)) continue;
        *least = finite && *least < value ? *least : value;
        *most = finite && *most > value ? *most : value;
        finite++;
    }
    return finite >= 2;
}

static void set_dot(canvas *c, int x, int y) {
    static const unsigned char bits[CELL_HEIGHT][CELL_WIDTH] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    c->cells[y / c->cell_height][x / c->cell_width] |= bits[y % c->cell_height][x % c->cell_width];
}

/* A value between two neighbours at `at`, from 0 to count - 1. */
static double value_at(const progress_history *h, double at) {
    const size_t before = (size_t)at, after = before + 1 < h->count ? before + 1 : before;
    const double share = at - (double)before;
    return share > 0 ? (1 - share) * h->values[before] + share * h->values[after] : h->values[before];
}

static void draw_curve(canvas *c, const progress_history *h, double least, double most, bool logs) {
    const int width = c->columns * c->cell_width, height = c->rows * c->cell_height;
    const double low = logs ? log(least) : least, high = logs ? log(most) : most;
    int before = -1;
    for (int x = 0; x < width; x++) {
        const double value = value_at(h, (double)x * (double)(h->count - 1) / (width - 1));
        const double share = high > low ? ((logs ? log(value) : value) - low) / (high - low) : 0;
        if (!isfinite(share)) {
            before = -1;
            continue;
        }
        const int y = height - 1 - (int)(share * (height - 1) + 0.5);
        for (int filled = before < 0 ? y : before; filled != y; filled += filled < y ? 1 : -1)
            set_dot(c, x, filled);
        set_dot(c, x, y);
        before = y;
    }
}

static char *write_cell(char *at, unsigned char cell, bool utf8) {
    if (!utf8 || cell == 0) return *at = cell ? '*' : ' ', at + 1;
    *at++ = (char)0xe2; /* U+2800 + cell in UTF-8 */
    *at++ = (char)(0xa0 | cell >> 6);
    *at++ = (char)(0x80 | (cell & 63));
    return at;
}

void progress_curve(char text[PROGRESS_ROOM], const progress_history *history, const char *caption,
    const progress_style *style) {
    const int room = style->width - LABEL - 1;
    double least = 0, most = 0;
    char *at = text;
    text[0] = 0;
    if (!find_range(history, &least, &most) || room < LEAST_CURVE) return;
    canvas c = {.columns = room < MOST_CURVE ? room : MOST_CURVE,
        .rows = style->utf8 ? ROWS : ASCII_ROWS,
        .cell_width = style->utf8 ? CELL_WIDTH : 1,
        .cell_height = style->utf8 ? CELL_HEIGHT : 1};
    const bool logs = least > 0 && most >= log_ratio * least;
    draw_curve(&c, history, least, most, logs);
    for (int row = 0; row < c.rows; row++) {
        if (row == 0 || row == c.rows - 1)
            at += sprintf(at, "%*.4g ", LABEL, row == 0 ? most : least);
        else
            at += sprintf(at, "%*s ", LABEL, "");
        for (int column = 0; column < c.columns; column++)
            at = write_cell(at, c.cells[row][column], style->utf8);
        *at++ = '\n';
    }
    sprintf(at, "%*s %.*s\n", LABEL, "", c.columns, caption);
    if (logs && (int)strlen(caption) + 12 <= c.columns) sprintf(strchr(at, '\n'), ", logarithmic\n");
}
