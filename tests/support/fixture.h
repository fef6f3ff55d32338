/* What every test of this library begins with: a context, assertions that print the error line, numbers.
 *
 * Include this first: cmocka.h needs the headers before it in this order. */
#ifndef TEST_FIXTURE_H
#define TEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <weft/weft.h>

/* The program's context: the device of $WEFT_DEVICE (else the best), opened once. */
weft_context *test_context(void);
/* The program's own folder, made at the first call, and a path in it (valid until the next call). */
const char *test_folder(void);
const char *test_path(const char *name);
/* Closes the context, deletes the folder; what main returns. (An exit handler would come after the drivers'
 * own.) */
int test_finish(int failed);
/* With $WEFT_TEST_INDICES=64 the indices of all kernels have 64 bits.
 *
 * A context of its own on the same device, for tests that need other options; the caller releases it. */
weft_context *test_context_open(weft_context_options options);
/* A graph of its own in test_context(). */
weft_graph *test_graph(void);
/* $WEFT_TEST_REDUCED is set: tiny shapes and few cases, for interpreters of OpenCL. */
bool test_reduced(void);
/* $WEFT_TEST_CASES is not set, or a pattern (with * and ?) of this name of a test or case: those alone run, whatever their
 * sizes. */
bool test_selects(const char *name);
/* It is set. */
bool test_selects_some(void);
/* Does the device flush float32 numbers below 2^-126 to zero? */
bool test_device_flushes(void);
/* Does it lose the sign of zeros, and x / 0 (WI_QUIRK_LOOSE_EDGES)? Such results are not judged there, and a
 * line says so once. */
bool test_device_loose(void);

/* Fails the test with the library's error line unless the call returned WEFT_OK. */
#define assert_weft_ok(call) test_assert_status((call), WEFT_OK, #call, __FILE__, __LINE__)
/* Fails unless the call returned this code and its line holds every one of the given texts. */
#define assert_weft_fails(status, call, ...)                                                                 \
    test_assert_fails((call), (status), #call, __FILE__, __LINE__, (const char *const[]){__VA_ARGS__, NULL})
void test_assert_status(weft_status got, weft_status wanted, const char *what, const char *file, int line);
void test_assert_fails(weft_status got, weft_status wanted, const char *what, const char *file, int line,
    const char *const *texts);

/* ---- deterministic numbers: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014) ---- */
typedef struct test_random {
    uint64_t state;
} test_random;
test_random test_random_named(const char *name, uint64_t number); /* its own sequence for every name */
uint64_t test_random_bits(test_random *random);
double test_random_between(test_random *random, double low, double high);
int64_t test_random_below(test_random *random, int64_t bound); /* 0 .. bound - 1 */

#endif
