/* What blocks of C in the documents use without declaring it (check_pages.sh): a page says in words what these are. */
#ifndef WEFT_SHOWN_NAMES_H
#define WEFT_SHOWN_NAMES_H
#include <stdio.h>
#include <weft/weft.h>

extern weft_status status;
extern weft_context *context;
extern weft_graph *graph;
extern weft_snapshot *snapshot;
extern weft_plan *plan;
extern weft_dataset *dataset, *digits;
extern weft_trainer *trainer;
extern weft_tensor *a, *b, *x, *label, *loss, *task_loss, *other_loss, *update, *token, *next_token;
extern weft_tensor *parameters[2], *gradients[2];
extern size_t count;
extern float images[32][64], now;
extern int32_t labels[32];
extern bool found;

#endif
