/* Multiplies two matrices: a graph with two inputs, a plan that computes their product, one run. */
#include "command_line.h"
#include "progress.h"
#include <stdio.h>
#include <weft/weft.h>

int main(int argc, char **argv) {
    command_line line = {.program = "matmul", .purpose = "Multiplies two matrices."};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    const float a[2 * 3] = {1, 2, 3, 4, 5, 6};
    const float b[3 * 2] = {7, 8, 9, 10, 11, 12};
    float c[2 * 2];
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    weft_context *context = NULL;
    weft_plan *plan = NULL;
    weft_status status;

    if ((status = weft_context_create(&context, &shown)) != WEFT_OK) goto done;
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *left = weft_input_shape(graph, "a", WEFT_F32, 2, (const int64_t[]){2, 3});
    weft_tensor *right = weft_input_shape(graph, "b", WEFT_F32, 2, (const int64_t[]){3, 2});
    weft_tensor *product = weft_matmul(left, right);

    if ((status = weft_plan_create(&plan, &product, 1, NULL)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, left, a, sizeof a)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, right, b, sizeof b)) != WEFT_OK) goto done;
    if ((status = weft_plan_run(plan)) != WEFT_OK) goto done;
    if ((status = weft_plan_read(plan, product, c, sizeof c)) != WEFT_OK) goto done;
    printf("(1 2 3)   ( 7  8)   (%3g %3g)\n", (double)c[0], (double)c[1]);
    printf("(4 5 6) x ( 9 10) = (%3g %3g)\n", (double)c[2], (double)c[3]);
    printf("          (11 12)\n");

done:
    if (status != WEFT_OK) fprintf(stderr, "matmul: %s\n", weft_last_error());
    weft_plan_release(plan);
    weft_context_release(context);
    return status != WEFT_OK;
}
