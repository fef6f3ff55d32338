/* Included by every test of this library: a context, assertions that print the error line, random numbers.
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
/* A folder of this test program, created at the first call, and the path of a file in it (valid until the next call). */
const char *test_folder(void);
const char *test_path(const char *name);
/* Closes the context and deletes the folder. main returns the result. (An exit handler would run after those of the
 * drivers.) */
int test_finish(int failed);
/* Opens another context on the same device, for tests that need other options; the caller releases it. With
 * $WEFT_TEST_INDICES=64, all kernels of its plans have 64-bit indices. */
weft_context *test_context_open(weft_context_options options);
/* Creates a graph in test_context(). */
weft_graph *test_graph(void);
/* Whether $WEFT_TEST_REDUCED is set: tiny shapes and few cases, for interpreters of OpenCL such as Oclgrind. */
bool test_reduced(void);
/* Whether the test or case of this name is to run: $WEFT_TEST_CASES is not set, or its pattern (with * and ?) matches the name. Cases that
 * the pattern selects run even with $WEFT_TEST_REDUCED. */
bool test_selects(const char *name);
/* Whether $WEFT_TEST_CASES is set. */
bool test_selects_some(void);
/* Whether the device flushes float32 numbers below 2^-126 to zero. */
bool test_device_flushes(void);
/* Whether the device loses the sign of zeros and computes x / 0 wrongly (WI_QUIRK_LOOSE_EDGES). Tests then do not check
 * such results; a line says so once. */
bool test_device_loose(void);

/* Fails the test with the library's error line unless the call returned WEFT_OK. */
#define assert_weft_ok(call) test_assert_status((call), WEFT_OK, #call, __FILE__, __LINE__)
/* Fails unless the call returned this code and the error line contains each of the given texts. */
#define assert_weft_fails(status, call, ...)                                                                 \
    test_assert_fails((call), (status), #call, __FILE__, __LINE__, (const char *const[]){__VA_ARGS__, NULL})
void test_assert_status(weft_status got, weft_status wanted, const char *what, const char *file, int line);
void test_assert_fails(weft_status got, weft_status wanted, const char *what, const char *file, int line,
    const char *const *texts);

/* ---- deterministic numbers: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014) ---- */
typedef struct test_random {
    uint64_t state;
} test_random;
test_random test_random_named(
    const char *name, uint64_t number); /* another sequence for each name and number */
uint64_t test_random_bits(test_random *random);
double test_random_between(test_random *random, double low, double high);
int64_t test_random_below(test_random *random, int64_t bound); /* 0 .. bound - 1 */

#endif
