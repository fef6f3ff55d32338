/* See stopping.h. */
#include "stopping.h"
#include "console.h"
#include "progress.h"
#include <signal.h>
#include <stdio.h>

enum { BY_SIGNAL = 128 };

static weft_trainer *active;
static volatile sig_atomic_t received;

static void take_signal(int number) {
    if (received) console_exit(BY_SIGNAL + number);
    received = number;
    if (active) (void)weft_trainer_stop(active);
}

void stopping_begin(weft_trainer *trainer) {
    active = trainer;
    console_listen(take_signal);
}

bool stopping_wanted(void) {
    return received != 0;
}

int stopping_end(const command_line *line, size_t step) {
    console_listen(NULL);
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
    if (!status && weft_trainer_events(trainer) && weft_events_flush(weft_trainer_events(trainer)))
        fprintf(stderr, "%s: events are missing: %s\n", line->program, weft_last_error());
    weft_trainer_get_info(trainer, &info);
    const int ended = stopping_end(line, info.steps);
    if (!status) *stopped = ended;
    return status;
}
