/* See stopping.h. */
#include "stopping.h"
#include "progress.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 2, BY_SIGNAL = 128 };
static const int numbers[SIGNALS] = {SIGINT, SIGTERM};

static weft_trainer *active;
static volatile sig_atomic_t received;

static void take_signal(int number) {
    if (received) {
        if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\n", 1);
        _exit(BY_SIGNAL + number);
    }
    received = number;
    if (active) (void)weft_trainer_stop(active);
}

static void set_handlers(void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) (void)sigaction(numbers[i], &action, NULL);
}

void stopping_begin(weft_trainer *trainer) {
    active = trainer;
    set_handlers(take_signal);
}

bool stopping_wanted(void) {
    return received != 0;
}

int stopping_end(const command_line *line, size_t step) {
    set_handlers(SIG_DFL);
    active = NULL;
    end_progress();
    if (!received) return 0;
    fprintf(stderr, "%s: stopped by signal %d after step %zu%s\n", line->program, (int)received, step,
        line->checkpoint ? "; --resume continues" : "");
    return BY_SIGNAL + received;
}

weft_status stopping_run(
    weft_trainer *trainer, weft_dataset *dataset, const command_line *line, int *stopped) {
    weft_training_info info;
    weft_status status = WEFT_OK;
    bool found = false;
    *stopped = 0;
    if (line->resume) status = weft_trainer_resume(trainer, line->checkpoint, &found);
    if (status) return status;
    weft_trainer_get_info(trainer, &info);
    if (found) printf("continuing after step %zu\n", info.steps);
    stopping_begin(trainer);
    status = weft_trainer_run(trainer, dataset);
    weft_trainer_get_info(trainer, &info);
    const int ended = stopping_end(line, info.steps);
    if (!status) *stopped = ended;
    return status;
}
