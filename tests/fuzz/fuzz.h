/* What every fuzz target begins with.
 *
 * A target hands the bytes to a reader in memory of their exact size, so that a sanitizer sees reads past the end. What
 * it asserts holds for every input: a reader returns a valid object, or an error with a line. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <weft/weft.h>

/* The target: libFuzzer's, and replay.c's, entry. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program with the line's place if the condition does not hold; in every build. */
#define fuzz_assert(condition) fuzz_check((condition), #condition, __FILE__, __LINE__)
void fuzz_check(bool holds, const char *condition, const char *file, int line);
/* An error has a line, and only an error. */
void fuzz_check_status(weft_status status);

/* A context without a device, for readers that need only its allocator; never released. */
weft_context *fuzz_context(void);
/* The path of a regular file with this content, valid until the next call with the same number (0 or 1). */
const char *fuzz_file(int number, const void *data, size_t size);
/* The path of an empty folder of the program's own. */
const char *fuzz_folder(void);

/* Cuts numbers off the end of the bytes, so that seeds begin as files do. 0 when nothing is left. */
uint8_t fuzz_take_byte(const uint8_t *data, size_t *size);
/* A number below bound (1 to 256). */
unsigned fuzz_take_below(const uint8_t *data, size_t *size, unsigned bound);

#endif
