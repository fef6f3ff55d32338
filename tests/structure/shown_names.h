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
extern weft_dataset *all, *dataset, *digits;
extern weft_trainer *trainer;
extern weft_optimizer_state *optimizer;
extern weft_tensor *a, *b, *x, *y, *mask, *rows, *columns, *numbers, *table, *label, *loss, *task_loss,
    *other_loss, *update, *token, *next_token;
extern weft_tensor *parameters[2], *gradients[2];
extern size_t count;
extern int64_t out, hidden, classes, dims[4], axes[2];
extern float images[32][64], now, rate;
extern int32_t labels[32];
extern bool found, keep;
extern weft_recurrent_options options;
extern weft_image_options augmented;

#endif
