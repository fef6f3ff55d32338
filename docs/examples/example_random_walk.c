/* Parts of a batch: a random walk is a batch with as many examples as the walk has steps, and each place learns its value from the
 * place that follows (R. S. Sutton 1988). x[1:] of a batch is weft_slice, and weft_concat adds a row; docs/from-pytorch.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { PLACES = 5, MOST = 100, WALKS = 2000 };

/* Steps to the left or right from the middle, until one leaves; a walk that leaves to the right pays 1. */
static int walk(float seen[MOST][PLACES], float *paid, unsigned *random) {
    int steps = 0;
    memset(seen, 0, MOST * sizeof *seen);
    for (int at = PLACES / 2; at >= 0 && at < PLACES && steps < MOST; steps++) {
        seen[steps][at] = 1;
        *random = *random * 1664525u + 1013904223u;
        at += *random >> 31 ? 1 : -1;
        *paid = at == PLACES;
    }
    return steps;
}

int main(void) {
    static float seen[MOST][PLACES];
    float paid = 0, values[PLACES];
    unsigned random = 1;
    weft_context *context = NULL;
    weft_plan *plans[MOST + 1] = {NULL}; /* by number of steps */
    weft_status status = weft_context_create(&context, NULL);
    if (status) goto done;

    weft_graph *graph = weft_context_graph(context);
    weft_tensor *place = weft_input(graph, "place", WEFT_F32, PLACES); /* (batch, PLACES) */
    weft_tensor *end = weft_input_shape(graph, "end", WEFT_F32, 2, (const int64_t[]){1, 1});
    weft_tensor *table = weft_parameter(graph, "values", weft_fill(0.5f), PLACES, 1);
    weft_tensor *value = weft_matmul(place, table);                     /* (batch, 1) */
    weft_tensor *later[] = {weft_slice(value, 0, 1, WEFT_END), end};    /* (batch - 1, 1), (1, 1) */
    weft_tensor *target = weft_stop_gradient(weft_concat(later, 2, 0)); /* (batch, 1) again */
    weft_tensor *loss = weft_sum(weft_square(weft_sub(value, target)));
    const weft_optimizer rule = weft_sgd(0.01f);
    weft_tensor *update = weft_optimizer_minimize(weft_optimizer_create(graph, &rule), loss, NULL);

    for (int i = 0; i < WALKS && !status; i++) {
        const int steps = walk(seen, &paid, &random);
        const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = steps};
        if (!plans[steps]) status = weft_plan_create(&plans[steps], &update, 1, &size);
        const weft_value in[] = {{place, seen, (size_t)steps * sizeof *seen}, {end, &paid, sizeof paid}};
        if (!status) status = weft_plan_step(plans[steps], in, 2);
    }
    if (!status) status = weft_tensor_read(table, values, sizeof values);
    int wrong = 0;
    for (int i = 0; i < PLACES && !status; i++) {
        printf("%.2f of %d/6\n", (double)values[i], i + 1);
        wrong += fabsf(values[i] - (float)(i + 1) / 6) > 0.05f;
    }
    if (wrong) fprintf(stderr, "%d values are wrong\n", wrong);
done:
    if (status) fprintf(stderr, "%s\n", weft_last_error());
    for (int i = 0; i <= MOST; i++) weft_plan_release(plans[i]);
    weft_context_release(context);
    return status || wrong;
}
