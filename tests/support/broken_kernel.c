/* See broken_kernel.h. */
#include "support/broken_kernel.h"
#include "cl/kernel_source.h"
#include "support/checks.h"
#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const wi_kernel_file *find(const char *name) {
    const wi_kernel_file *file = wi_kernel_files;
    while (strcmp(file->name, name) != 0) file++;
    return file;
}

bool kernel_has(const char *name, const char *part) {
    char *text;
    assert_ok(wi_kernel_file_text(&text, find(name), NULL));
    const bool has = strstr(text, part) != NULL;
    wi_release(NULL, text);
    return has;
}

void break_kernel(const char *folder, const char *name, const char *part, const char *other) {
    const wi_kernel_file *const file = find(name);
    char path[4096];
    (void)mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(file->path, "/"), file->path);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s", folder, file->path);
    FILE *const out = fopen(path, "w");
    int replaced = 0;
    char *text;
    assert_non_null(out);
    assert_ok(wi_kernel_file_text(&text, file, NULL));
    for (const char *at = text; *at; at++) {
        const bool here = strncmp(at, part, strlen(part)) == 0;
        if (here) fputs(other, out);
        fputc(*at, out);
        replaced += here;
    }
    assert_int_equal(fclose(out), 0);
    wi_release(NULL, text);
    assert_true(replaced > 0);
    setenv("WEFT_KERNEL_DIR", folder, 1);
}

int self_test_setup(void **state) {
    setenv("WEFT_SELF_TEST", "1", 1);
    return scratch_setup(state);
}

int self_test_teardown(void **state) {
    unsetenv("WEFT_KERNEL_DIR");
    unsetenv("WEFT_MATRIX_ENGINES");
    return scratch_teardown(state);
}
