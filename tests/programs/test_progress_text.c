/* What programs show of a training: the line with the bar fits into any width, and the curve shows what the losses did. */
/* test quick once */
#include "progress_text.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>

static const progress_state full = {.unit = "epoch",
    .number = 3,
    .last = 20,
    .share = 0.5,
    .rate = 812.4,
    .left = 12,
    .what = "loss",
    .loss = 0.12345,
    .best = 0.975,
    .is_share = true};

/* Columns on a terminal: a character of several bytes is one, a sequence that sets the colour is none. */
static int columns_of(const char *text) {
    int columns = 0;
    for (; *text; text++) {
        if (*text == '\033')
            text += strcspn(text, "m");
        else
            columns += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return columns;
}

static const char *line_of(progress_state state, progress_style style) {
    static char text[PROGRESS_ROOM];
    progress_line(text, &state, &style);
    assert_true(style.width == 0 || columns_of(text) <= style.width);
    assert_null(strchr(text, '\n'));
    return text;
}

static void the_line_shows_what_has_room(void **state) {
    (void)state;
    static const struct {
        int width;
        const char *line;
    } cases[] = {
        {0, "epoch  3/20   812 steps/s  12 s left  loss 0.1235  best 97.50 %"},
        {200,
            "epoch  3/20  [####################                    ]   812 steps/s  12 s left  loss 0.1235  "
            "best 97.50 %"},
        {80, "epoch  3/20  [######       ]   812 steps/s  12 s left  loss 0.1235  best 97.50 %"},
        {79, "epoch  3/20  [######      ]   812 steps/s  12 s left  loss 0.1235  best 97.50 %"},
        {40, " 3/20  [###    ]  12 s left  loss 0.1235"},
        {39, " 3/20  [###   ]  12 s left  loss 0.1235"},
        {20, " 3/20  loss 0.1235"},
        {10, " 3/20"},
        {1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(line_of(full, (progress_style){.width = cases[i].width}), cases[i].line);
    for (int width = 1; width <= 300; width++) {
        (void)line_of(full, (progress_style){.width = width, .utf8 = true, .colours = true});
        (void)line_of(full, (progress_style){.width = width});
    }
}

static void what_is_not_known_is_left_out(void **state) {
    (void)state;
    const progress_style style = {.width = 50};
    progress_state first = {
        .unit = "step", .number = 1, .last = 1500, .left = NAN, .what = "distance", .loss = NAN, .best = NAN};
    assert_string_equal(line_of(first, style), "step    1/1500  [                                ]");
    first.loss = -1e-5, first.share = 1, first.left = 3725;
    assert_string_equal(line_of(first, style), "step    1/1500  1:02:05 left  distance -1.00e-05");
    first.left = 61.2, first.loss = 1234, first.number = 1500;
    assert_string_equal(line_of(first, style), "step 1500/1500  1:02 left  distance 1234.0000");
    first.left = 3e7, first.loss = INFINITY, first.rate = 0.25;
    assert_string_equal(line_of(first, (progress_style){.width = 0}),
        "step 1500/1500  0.25 steps/s  347 days left  distance inf");
}

static void blocks_have_eighths(void **state) {
    (void)state;
    progress_state part = {
        .unit = "step", .number = 1, .last = 2, .left = NAN, .what = "distance", .loss = NAN, .best = NAN};
    const progress_style style = {.width = 21, .utf8 = true}, coloured = {21, true, true};
    part.share = 7.5 / 14; /* of 14 columns: 7 and 4 eighths */
    assert_string_equal(line_of(part, style), "1/2  [███████▌      ]");
    assert_string_equal(line_of(part, coloured), "1/2  [\033[36m███████▌\033[0m      ]");
    part.share = 1;
    assert_string_equal(line_of(part, style), "1/2  [██████████████]");
}

static progress_history history_of(const double *values, size_t count) {
    progress_history history = {0};
    for (size_t i = 0; i < count; i++) progress_history_add(&history, values[i]);
    return history;
}

static void the_curve_falls_with_the_loss(void **state) {
    (void)state;
    const double values[] = {8, 6, 4, 2, 2, 2, 2, 1};
    const progress_history history = history_of(values, 8);
    char text[PROGRESS_ROOM];
    progress_curve(text, &history, "loss", &(progress_style){.width = 19});
    assert_string_equal(text, "         8 **      \n"
                              "            *      \n"
                              "            **     \n"
                              "             *     \n"
                              "             **    \n"
                              "              *    \n"
                              "              *****\n"
                              "         1        *\n"
                              "           loss\n");
    progress_curve(text, &history, "loss", &(progress_style){.width = 19, .utf8 = true});
    assert_int_equal(columns_of(text), 5 * 20 + 16);
    assert_memory_equal(text, "         8 ⢹⡀", strlen("         8 ⢹⡀"));
}

static void a_few_values_are_no_curve(void **state) {
    (void)state;
    const double one[] = {1, NAN, INFINITY};
    const progress_history none = {0}, single = history_of(one, 3);
    char text[PROGRESS_ROOM];
    progress_curve(text, &none, "loss", &(progress_style){.width = 80});
    assert_string_equal(text, "");
    progress_curve(text, &single, "loss", &(progress_style){.width = 80});
    assert_string_equal(text, "");
    const progress_history two = history_of((const double[]){1, 1}, 2);
    progress_curve(text, &two, "loss", &(progress_style){.width = 15});
    assert_string_equal(text, "");
    progress_curve(text, &two, "loss", &(progress_style){.width = 80});
    assert_non_null(strstr(text, "         1 *****"));
}

static void wide_ranges_are_logarithmic(void **state) {
    (void)state;
    const progress_history history = history_of((const double[]){100, 10, 1, NAN, 0.1}, 5);
    char text[PROGRESS_ROOM];
    progress_curve(text, &history, "loss up to step 5", &(progress_style){.width = 80});
    assert_non_null(strstr(text, "loss up to step 5, logarithmic\n"));
    progress_curve(text, &history, "loss up to step 5", &(progress_style){.width = 30});
    assert_non_null(strstr(text, "loss up to step 5\n"));
}

/* Any number of values is kept as means of neighbours. */
static void long_histories_are_bounded(void **state) {
    (void)state;
    progress_history history = {0};
    for (size_t i = 0; i < 100000; i++) progress_history_add(&history, (double)i);
    assert_in_range(history.count, PROGRESS_VALUES / 2, PROGRESS_VALUES);
    assert_int_equal(history.each, 512);
    for (size_t i = 0; i < history.count; i++)
        assert_true(fabs(history.values[i] - (512.0 * (double)i + 255.5)) < 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_shows_what_has_room),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(blocks_have_eighths),
        cmocka_unit_test(the_curve_falls_with_the_loss),
        cmocka_unit_test(a_few_values_are_no_curve),
        cmocka_unit_test(wide_ranges_are_logarithmic),
        cmocka_unit_test(long_histories_are_bounded),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
