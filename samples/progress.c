/* See progress.h. */
#include "progress.h"
#include "console.h"
#include "progress_text.h"
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ERASED_LINE "\r\033[K"
static const double quiet_seconds = 5, redraw_seconds = 0.1;

/* ---- kernels ---- */

static void print_count(size_t done, size_t total, const char *what) {
    if (total == 1)
        fprintf(stderr, "preparing %s", what);
    else
        fprintf(stderr, "preparing: %zu of %zu %s", done, total, what);
}

static void show_on_terminal(size_t done, size_t total, const char *what) {
    fprintf(stderr, ERASED_LINE);
    if (done < total) print_count(done, total, what);
}

static void show_by_lines(size_t done, size_t total, const char *what) {
    static double last; /* of the operation: its begin, or its last line */
    const double now = console_seconds();
    if (done > 0 && now - last < quiet_seconds) return;
    if (done > 0) print_count(done, total, what), fprintf(stderr, "\n");
    last = now;
}

void show_compiling(void *user, size_t done, size_t total, const char *what) {
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* contexts of several threads: one of them is shown */
    (void)user;
    if (atomic_flag_test_and_set(&busy)) return;
    (console_is_terminal() ? show_on_terminal : show_by_lines)(done, total, what);
    atomic_flag_clear(&busy);
}

/* ---- a training ---- */

/* The training that is shown; a program has one at a time. */
static struct {
    bool begun, drawn;  /* drawn: a bar stands on the terminal */
    double began, last; /* times: of the first step that was shown, of the last line */
    double first;       /* steps that were done then */
    const char *what;   /* the loss is called */
    double loss, best;
    bool is_share, is_epochs;
    size_t ended; /* the last epoch, or step */
    progress_history losses;
} now;

static void begin(double done) {
    if (now.begun) return;
    now.begun = true;
    now.began = now.last = console_seconds();
    now.first = done;
    now.what = "loss";
    now.loss = now.best = (double)NAN;
}

static void draw(const progress_state *state) {
    char line[PROGRESS_ROOM];
    const bool terminal = console_is_terminal();
    const progress_style style = {.width = terminal ? console_width() - 1 : 0,
        .utf8 = terminal && console_is_utf8(),
        .colours = console_has_colours()};
    progress_line(line, state, &style);
    fprintf(stderr, terminal ? ERASED_LINE "%s" : "%s\n", line);
    now.drawn = terminal;
}

/* Shows the state unless it was shown just now. done, all: steps of the whole training. */
static void show(progress_state state, double done, double all) {
    begin(done);
    const double time = console_seconds(), passed = time - now.began;
    if (time - now.last < (console_is_terminal() ? redraw_seconds : quiet_seconds)) return;
    now.last = time;
    state.share = done / all;
    state.rate = passed > 0 ? (done - now.first) / passed : 0;
    state.left = state.rate > 0 ? (all - done) / state.rate : (double)NAN;
    state.what = now.what;
    state.loss = now.loss;
    state.best = now.best;
    state.is_share = now.is_share;
    draw(&state);
}

bool show_step(void *user, const weft_epoch *e) {
    const double steps = (double)e->steps_per_epoch;
    (void)user;
    begin((double)e->epoch * steps + (double)e->step_in_epoch);
    if (!isnan(e->loss)) now.loss = e->loss;
    show((progress_state){.unit = "epoch", .number = e->epoch + 1, .last = e->epochs},
        (double)e->epoch * steps + (double)e->step_in_epoch, (double)e->epochs * steps);
    return true;
}

/* What is watched, else the accuracy or the loss of the validation, else the accuracy. */
static void note_best(const weft_epoch *e) {
    const bool is_validated = !isnan(e->validation_loss);
    const double accuracy = is_validated ? e->validation_accuracy : e->accuracy;
    now.is_share = e->best_epoch == SIZE_MAX && !isnan(accuracy);
    if (e->best_epoch != SIZE_MAX)
        now.best = e->best;
    else if (now.is_share)
        now.best = now.best > accuracy ? now.best : accuracy;
    else if (is_validated)
        now.best = now.best < e->validation_loss ? now.best : e->validation_loss;
}

void note_epoch(const weft_epoch *e) {
    begin((double)(e->epoch + 1) * (double)e->steps_per_epoch);
    hide_progress();
    now.loss = e->loss;
    now.is_epochs = true;
    now.ended = e->epoch + 1;
    note_best(e);
    progress_history_add(&now.losses, e->loss);
}

static int count_digits(size_t number) {
    return snprintf(NULL, 0, "%zu", number);
}

bool show_epoch(void *user, const weft_epoch *e) {
    (void)user;
    note_epoch(e);
    printf("epoch %*zu/%zu  ", count_digits(e->epochs), e->epoch + 1, e->epochs);
    printf(fabs(e->loss) < 1e-3 ? "loss %.2e" : "loss %.4f", e->loss);
    if (!isnan(e->accuracy)) printf("  training %.2f %%", 100 * e->accuracy);
    if (!isnan(e->validation_accuracy))
        printf("  test %.2f %%", 100 * e->validation_accuracy);
    else if (!isnan(e->validation_loss))
        printf("  validation %.4f", e->validation_loss);
    printf("  %.2f s%s\n", e->seconds, e->best_epoch == e->epoch ? "  best" : "");
    return true;
}

void show_loop(size_t step, size_t last, const char *what, double loss) {
    begin((double)step);
    now.what = what;
    now.ended = step;
    if (!isnan(loss)) now.loss = loss, progress_history_add(&now.losses, loss);
    show((progress_state){.unit = "step", .number = step, .last = last}, (double)step, (double)last);
}

void hide_progress(void) {
    if (now.drawn) fprintf(stderr, ERASED_LINE);
    now.drawn = false;
}

void end_progress(void) {
    char text[PROGRESS_ROOM], caption[64];
    const progress_style style = {.width = console_width() - 1, .utf8 = console_is_utf8()};
    hide_progress();
    snprintf(
        caption, sizeof caption, "%.20s up to %s %zu", now.what, now.is_epochs ? "epoch" : "step", now.ended);
    progress_curve(text, &now.losses, caption, &style);
    if (console_is_terminal()) fprintf(stderr, "%s", text);
    memset(&now, 0, sizeof now);
}

const char *step_time(const weft_training_info *info, bool json) {
    static char text[48];
    const double milliseconds = 1e3 * info->median_step_seconds;
    text[0] = 0;
    if (milliseconds > 0)
        snprintf(text, sizeof text, json ? ", \"step_ms\": %.4f" : ", %.3f ms a step", milliseconds);
    return text;
}
