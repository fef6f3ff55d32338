/* Every public expression with extreme integers, an argument or a dimension at a time: a tensor, or one line. Sanitizers see
 * what overflows on the way. */
#include "support/fixture.h"
#include "support/public_calls.h"

#include <math.h>
#include <string.h>

static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 61), INT32_MIN, -1000003, -1, 0,
    1, 1000003, INT32_MAX, INT64_C(1) << 32, INT64_C(1) << 40, (INT64_C(1) << 61) - 1, INT64_C(1) << 61,
    INT64_C(1) << 62, INT64_MAX - 1, INT64_MAX};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

/* Gives what is usual, except for one integer or two. */
typedef struct replaced {
    int asked; /* integers so far */
    int at[2]; /* which of them are replaced; -1: none */
    int64_t by[2];
} replaced;

static int64_t whole(call_source *self, int64_t usual) {
    replaced *const r = self->user;
    const int which = r->asked++;
    return which == r->at[0] ? r->by[0] : which == r->at[1] ? r->by[1] : usual;
}

static double number(call_source *self, double usual) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e38, 0x1p63, 5e-324, -0.0, 0, -1};
    const int64_t which = whole(self, INT64_C(7) << 52); /* a number that is not among the extremes */
    const uint64_t of = (uint64_t)which % (sizeof odd / sizeof *odd);
    return which == INT64_C(7) << 52 ? usual : odd[of];
}

static weft_tensor *tensor(call_source *self, weft_dtype dtype, int rank, const int64_t *dims) {
    int64_t own[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) own[i] = whole(self, dims[i]);
    return weft_input_shape(self->graph, "x", dtype, rank, own);
}

static int wrong, calls;

/* Returns how many integers the call took. */
static int call_once(const public_call *call, replaced r) {
    weft_graph *const graph = test_graph();
    call_source source = {graph, whole, number, tensor, &r};
    weft_tensor *const result = call->make(&source);
    const weft_status status = weft_graph_status(graph);
    const bool usual = r.at[0] < 0, refused = status != WEFT_OK;
    /* Nothing to join is no error: there is no graph that could keep it. */
    const bool nothing = !usual && !result && !refused && strstr("concat stack split", call->name);
    const bool good = usual ? result && !refused : (result == NULL) == refused || nothing;
    if (!good || status == WEFT_ERROR_INTERNAL || (refused && !*weft_last_error())) {
        wrong++;
        print_error("%s with integer %d = %lld, %d = %lld: %s, '%s', %s\n", call->name, r.at[0],
            (long long)r.by[0], r.at[1], (long long)r.by[1], weft_status_name(status), weft_last_error(),
            result ? "a tensor" : "NULL");
    }
    weft_graph_release(graph);
    calls++;
    return r.asked;
}

static const replaced none = {.at = {-1, -1}};

static void one_extreme(void **state) {
    (void)state;
    wrong = calls = 0;
    for (size_t i = 0; i < public_call_count; i++) {
        const int integers = call_once(&public_calls[i], none);
        for (int at = 0; at < integers; at++)
            for (int k = 0; k < EXTREMES; k++)
                call_once(&public_calls[i], (replaced){.at = {at, -1}, .by = {extremes[k]}});
    }
    assert_int_equal(wrong, 0);
    assert_true(calls > 8000);
}

static void two_extremes(void **state) {
    static const int64_t some[] = {INT64_MIN, -3, INT32_MAX, INT64_C(1) << 39, INT64_MAX};
    enum { SOME = sizeof some / sizeof *some };
    (void)state;
    wrong = calls = 0;
    for (size_t i = 0; i < public_call_count; i++) {
        const int integers = call_once(&public_calls[i], none);
        for (int a = 1; a < integers; a++)
            for (int b = 0; b < a; b++)
                for (int k = 0; k < SOME * SOME; k++)
                    call_once(
                        &public_calls[i], (replaced){.at = {a, b}, .by = {some[k / SOME], some[k % SOME]}});
    }
    assert_int_equal(wrong, 0);
    assert_true(calls > 50000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_extreme), cmocka_unit_test(two_extremes)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
