/* A training for kill_and_resume.sh: goes on from the newest checkpoint in FOLDER, or begins, and at its end saves the state
 * of the graph as OUT.
 * Usage: interrupted_training FOLDER OUT */
#include "support/fixture.h"
#include "support/resumed_training.h"
#include <stdio.h>

int main(int argc, char **argv) {
    weft_training_info info;
    bool found = false;
    if (argc != 3) return fprintf(stderr, "usage: interrupted_training FOLDER OUT\n"), 2;
    resumed_training *const t = resumed_training_make(RESUMED_LONG, argv[1]);
    weft_status status = weft_trainer_resume(t->trainer, argv[1], &found);
    weft_trainer_get_info(t->trainer, &info);
    if (status == WEFT_OK) status = weft_trainer_run(t->trainer, t->data);
    if (status == WEFT_OK) status = weft_checkpoint_save(t->graph, argv[2], NULL, 0);
    if (status != WEFT_OK) fprintf(stderr, "interrupted_training: %s\n", weft_last_error());
    printf("from step %zu\n", info.steps);
    resumed_training_end(t);
    return test_finish(status != WEFT_OK);
}
