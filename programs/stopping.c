/* See stopping.h. */
#include "stopping.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 2, BY_SIGNAL = 128 };
static const int numbers[SIGNALS] = {SIGINT, SIGTERM};

static weft_trainer *active;
static volatile sig_atomic_t received;

static void take_signal(int number) {
    if (received) _exit(BY_SIGNAL + number);
    received = number;
    (void)weft_trainer_stop(active);
}

static void set_handlers(void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) (void)sigaction(numbers[i], &action, NULL);
}

weft_checkpoint_every stopping_interval(const option *every) {
    const size_t count = option_count_of(every);
    const char unit = every->text[strlen(every->text) - 1];
    if (unit == 'e') return (weft_checkpoint_every){.epochs = count};
    if (unit == 's') return (weft_checkpoint_every){.seconds = (double)count};
    return (weft_checkpoint_every){.steps = count};
}

weft_status stopping_begin(weft_trainer *trainer, const option *checkpoint, const option *resume) {
    weft_training_info info;
    bool found = false;
    if (!checkpoint->text) return WEFT_OK;
    if (resume->text) {
        const weft_status status = weft_trainer_resume(trainer, checkpoint->text, &found);
        if (status) return status;
        weft_trainer_get_info(trainer, &info);
        if (found) printf("continuing after step %zu\n", info.steps);
    }
    active = trainer;
    set_handlers(take_signal);
    return WEFT_OK;
}

int stopping_end(const weft_trainer *trainer, const char *program) {
    weft_training_info info;
    if (!active) return 0;
    set_handlers(SIG_DFL);
    active = NULL;
    if (!received) return 0;
    weft_trainer_get_info(trainer, &info);
    fprintf(stderr, "%s: stopped by signal %d after step %zu; --resume continues\n", program, (int)received,
        info.steps);
    return BY_SIGNAL + received;
}
