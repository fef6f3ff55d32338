/* What is printed of a random program is a program: it compiles without a warning, runs, and prints the numbers that the program has. */
#include "support/fixture.h"

#include "random/random_program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 3, MOST = 40000, TRIES = 400 };

/* Does it have all that a text may have? Its numbers are not random. */
static bool is_rich(const program *p) {
    bool shown = false, random = false;
    for (int i = 0; i < p->count; i++) {
        shown = shown || (p->values[i].shown && p->values[i].source.dtype == WEFT_F32);
        random = random || program_is_random(p, i);
    }
    return shown && !random && p->loss_count > 1 && p->second && p->minimizes && p->free_batch;
}

/* The program of those drawn that has most in it, with text that is not too long. */
static char *drawn_text(program *p, oracle_sizes *sizes) {
    const program_options options = {.seed = SEED, .format = WEFT_F32};
    for (uint64_t i = 0; i < TRIES; i++) {
        const f64_mark mark = f64_pool_mark();
        assert_true(program_draw(p, test_context(), &options, i));
        f64_pool_release(mark);
        *sizes = program_sizes(p, test_context());
        char *const text = is_rich(p) ? program_text(p, sizes) : NULL;
        if (text && strlen(text) < MOST) return text;
        free(text);
    }
    fail_msg("no program of %d has all that a text may have", TRIES);
    return NULL;
}

static void write_text(const char *path, const char *text) {
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Compiles and runs the text; its output stands in `out`. */
static void run_text(const char *text, char *out, size_t capacity) {
    char source[512], command[4096];
    snprintf(source, sizeof source, "%s", test_path("program.c"));
    write_text(source, text);
    snprintf(command, sizeof command,
        "%s -std=c11 -Wall -Wextra -Werror -I'%s/include' '%s' -o '%s.out' %s -lm", WEFT_CC, WEFT_SOURCE_DIR,
        source, source, WEFT_LIBRARY);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "'%s.out'", source);
    FILE *const pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, capacity - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

/* The outputs of f32 as the oracle has them. */
static void compare(const program *p, const oracle_sizes *sizes, const char *out) {
    f64_array *values[PROGRAM_VALUES];
    for (int i = 0; i < p->count; i++)
        if (!p->values[i].is_call) values[i] = program_source_values(p, i, sizes);
    program_evaluate(p, sizes, values, 0, 0);
    for (int i = 0; i < p->count; i++) {
        if (!p->values[i].shown || p->values[i].source.dtype != WEFT_F32) continue;
        program_result result = {0};
        char name[16];
        snprintf(name, sizeof name, "\nv%d:", i);
        const char *at = strstr(out, i == 0 ? name + 1 : name);
        float *const got = calloc(values[i]->count + 1, sizeof *got);
        assert_true(at && got);
        at = strchr(at, ':') + 1;
        for (size_t k = 0; k < values[i]->count; k++) got[k] = strtof(at, (char **)&at);
        if (!program_judge(name + 1, WEFT_F32, got, values[i], &result)) fail_msg("%s", result.line);
        free(got);
    }
}

static void test_printed_program(void **state) {
    (void)state;
    static program p;
    static char out[1 << 20] = "\n";
    oracle_sizes sizes;
    const f64_mark mark = f64_pool_mark();
    char *const text = drawn_text(&p, &sizes);
    run_text(text, out + 1, sizeof out - 1);
    compare(&p, &sizes, out);
    assert_non_null(strstr(out, "\ngradient of v"));
    assert_non_null(strstr(out, "\nsecond gradient of v"));
    free(text);
    f64_pool_release(mark);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_printed_program)};
    return test_finish(cmocka_run_group_tests_name("text of random programs", tests, NULL, NULL));
}
