/* The graph API: bytes become calls of public expressions with any arguments, over inputs and each other's results.
 * Each ends in a tensor or in an error with a line; what is small is then planned, up to the code of its kernels,
 * which is not compiled. */
#include "fuzz.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include "support/public_calls.h"
#include <math.h>
#include <stdio.h>

enum { MOST_CALLS = 12, KEPT = 16, MOST_NUMBERS = 4096 };

typedef struct bytes {
    const uint8_t *data;
    size_t size;
    weft_tensor *kept[KEPT]; /* results so far */
    size_t count;
    int inputs;
} bytes;

static unsigned below(bytes *b, unsigned bound) {
    return b->size ? fuzz_take_below(b->data, &b->size, bound) : 0;
}

/* Mostly what is usual: else few calls would get past their first argument. */
static int64_t whole(call_source *self, int64_t usual) {
    static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 61), INT32_MIN, -7, -1, 0, 1, 2,
        3, 8, 64, 1000003, INT32_MAX, INT64_C(1) << 32, INT64_C(1) << 40, INT64_C(1) << 61, INT64_C(1) << 62,
        INT64_MAX, WEFT_LENGTH, WEFT_LENGTH - 1, 2 * WEFT_LENGTH};
    bytes *const b = self->user;
    const unsigned choice = below(b, 64);
    return choice < sizeof odd / sizeof *odd ? odd[choice] : usual;
}

static double number(call_source *self, double usual) {
    static const double odd[] = {
        NAN, INFINITY, -INFINITY, 1e300, -1e300, 5e-324, -0.0, 0, -1, 0.5, 2, 0x1p63};
    bytes *const b = self->user;
    const unsigned choice = below(b, 48);
    return choice < sizeof odd / sizeof *odd ? odd[choice] : usual;
}

static weft_tensor *tensor(call_source *self, weft_dtype dtype, int rank, const int64_t *dims) {
    bytes *const b = self->user;
    const unsigned choice = below(b, 64);
    if (choice == 63) return NULL;
    if (choice < 40 && choice < b->count) return b->kept[choice];
    int64_t own[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) own[i] = choice < 48 ? dims[i] : whole(self, dims[i]);
    char name[16];
    snprintf(name, sizeof name, "in%d", b->inputs++);
    if (choice > 60) dtype = (weft_dtype)below(b, 8);
    return weft_input_shape(self->graph, name, dtype, rank, own);
}

static size_t numbers_in(const weft_tensor *t, int64_t batch, int64_t length) {
    const int64_t values[] = {0, length};
    const wi_given given = {values, 2, 0, batch};
    int missing;
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(t); i++) {
        const int64_t dim = wi_dim_at(t->graph, weft_tensor_dimension(t, i), &given, &missing);
        const size_t size = dim < 0 ? (size_t)-dim * (size_t)batch : (size_t)dim;
        if (size == 0 || size > MOST_NUMBERS || count > MOST_NUMBERS / size) return 0;
        count *= size;
    }
    return count;
}

/* A graph with an error keeps it: no call makes anything any more, and every plan is refused. */
static void check_failed(weft_graph *graph, weft_status status) {
    weft_plan *plan = NULL;
    weft_tensor *const none = weft_constant(graph, WEFT_F32, 1);
    fuzz_assert(status != WEFT_ERROR_INTERNAL && *weft_last_error());
    fuzz_assert(!none);
    fuzz_assert(weft_plan_create(&plan, (weft_tensor *const[]){none}, 1, NULL) != WEFT_OK && !plan);
}

static void check_plan(bytes *b) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)below(b, 4) + 1,
        .inference = below(b, 2) == 1, .length = (int64_t)below(b, 5) + 1, .compile_late = true,
        .memory_limit = (size_t)1 << 23};
    weft_plan *plan = NULL;
    weft_tensor *outputs[KEPT];
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        if (numbers_in(b->kept[i], options.batch, options.length)) outputs[count++] = b->kept[i];
    const weft_status status = weft_plan_create(&plan, outputs, count, &options);
    fuzz_check_status(status);
    fuzz_assert((status == WEFT_OK) == (plan != NULL));
    if (status == WEFT_ERROR_INTERNAL) fprintf(stderr, "%s\n", weft_last_error());
    fuzz_assert(status != WEFT_ERROR_INTERNAL);
    weft_plan_release(plan);
}

static weft_context *opened(void) {
    static weft_context *context;
    const weft_context_options options = {
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "", .memory_limit = (size_t)1 << 24};
    if (!context) fuzz_check_status(weft_context_create(&context, &options));
    fuzz_assert(context != NULL);
    return context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = {.data = data, .size = size};
    call_source source = {.whole = whole, .number = number, .tensor = tensor, .user = &b};
    fuzz_check_status(weft_graph_create(&source.graph, opened()));
    weft_status status = WEFT_OK;
    for (int i = 0; i < MOST_CALLS && b.size && status == WEFT_OK; i++) {
        const unsigned row = below(&b, 256) % (unsigned)public_call_count;
        weft_tensor *const result = public_calls[row].make(&source);
        status = weft_graph_status(source.graph);
        if (result && status != WEFT_OK)
            fprintf(stderr, "%s: %s\n", public_calls[row].name, weft_last_error());
        fuzz_assert(!(result && status != WEFT_OK));
        if (result && b.count < KEPT) b.kept[b.count++] = result;
    }
    if (status != WEFT_OK)
        check_failed(source.graph, status);
    else if (b.count)
        check_plan(&b);
    weft_graph_release(source.graph);
    return 0;
}
