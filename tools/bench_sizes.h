/* What the benchmarks of an op over several sizes share: the command line, and figures with the device's peak
 * measured beside them. */
#ifndef BENCH_SIZES_H
#define BENCH_SIZES_H

#include "bench_peak.h"
#include "kernels/product/gemm_product.h"
#include <weft/weft.h>

enum { BENCH_NUMBERS = 7 };

typedef struct bench_state {
    weft_context *context;
    bench_peak peak;
    bool json, flag;                /* the options --json and the op's own */
    weft_dtype precision;           /* --precision; f32 */
    weft_matmul_precision products; /* --matmul-precision; highest */
} bench_state;

typedef struct bench_op {
    const char *name, *numbers; /* "conv" and "BATCHxSIZE...", for the usage line */
    const char *flag;           /* an option without a value; NULL: none */
    bool precisions, products;  /* has it --precision, --matmul-precision? */
    const char *header;         /* of the table */
    const int64_t (*usual)[BENCH_NUMBERS];
    int usual_count, passes;
    int least, most;                              /* numbers that a size is given with; the others are 0 */
    bool (*fits)(int64_t *n);                     /* NULL: any */
    bool (*suffix)(int64_t *n, const char *text); /* what follows a size's colon; NULL: nothing may */
    weft_status (*measure)(bench_state *bench, const int64_t *n, int pass); /* and prints its row */
} bench_op;

/* weft bench NAME: its exit status. */
int bench_sizes(const bench_op *op, int argc, char **argv);

/* The median of several rounds; a round times the peak, the work (some runs of it if they are short) and the
 * peak again. share is the median of the rounds' own shares, so that a change of the processor's clock meets
 * both sides of it. */
typedef struct bench_figure {
    double seconds, gflops, peak_gflops, share;
} bench_figure;
weft_status bench_plan_rounds(bench_figure *figure, const bench_state *bench, weft_plan *plan, double flops);
weft_status bench_product_rounds(
    bench_figure *figure, const bench_state *bench, wi_gemm_product *product, double flops);

#endif
