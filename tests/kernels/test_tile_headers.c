/* One program has tiles whose sub-groups read rows of A together and tiles whose items read their own: the files that
 * precede a template are there once for each, and where numbers of A are in a block must be of the template that
 * follows them. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/kernel_source.h"
#include "cl/program.h"
#include "kernels/product/gemm_tile_gpu.h"
#include <string.h>

static const char *const parameters[] = {WI_TILE_NAMES, NULL};

typedef struct tile {
    int values[WI_TILE_PARAMETERS];
    const char *next; /* from a step of k to the next in a block of A, in numbers */
} tile;

static const tile together = {{8, 16, 8, 4, 8, 8}, "WEFT_GEMM_ROWS"},
                  alone = {{16, 16, 4, 4, 16, 0}, "4 * WEFT_GEMM_PITCH(WEFT_GEMM_HEIGHT)"};

/* Compiles if the macros are those of the tile. */
static void append(wi_text *source, const tile *own, const char *name) {
    static const char *const headers[] = {"alone.clh", "gemm_tile_gpu.clh", NULL};
    const wi_kernel_plan plan = {.headers = headers, .parameters = parameters, .values = own->values};
    wi_kernel_macros_define(&plan, source);
    wi_text_append(source, "#define WEFT_NAME(suffix) %s_##suffix\n", name);
    assert_weft_ok(wi_kernel_headers_include(&plan, source));
    wi_text_append(source, "WEFT_REQUIRE(%s, WEFT_GEMM_NEXT_A == %s);\n", name, own->next);
    wi_text_append(source, "#undef WEFT_NAME\n");
    wi_kernel_macros_undefine(&plan, source);
}

static void build(const tile *first, const tile *second) {
    wi_device *const device = wi_context_device(test_context());
    wi_program *program;
    wi_text source;
    wi_text_init(&source, NULL);
    assert_weft_ok(wi_kernel_source_append(&source, "common.clh"));
    append(&source, first, "first");
    append(&source, second, "second");
    wi_text_append(&source, "__kernel void none(void) {}\n");
    assert_false(source.failed);
    assert_weft_ok(wi_program_get(&program, device, "tiles", source.data, NULL));
    wi_text_clear(&source);
}

static void tiles_have_their_own_rows(void **state) {
    (void)state;
    build(&together, &alone);
    build(&alone, &together);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_have_their_own_rows)};
    return test_finish(cmocka_run_group_tests_name("tile headers", tests, NULL, NULL));
}
