/* The list of ops in docs/number-formats.md says of each op what mixed precision does with it: as the registry and the op
 * table have it. */
#include "kernels/registry.h"
#include "ops/op_table.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

enum { TEXT = 1 << 16, OPS = 512 };

static char section[TEXT];
static const wi_op *ops[OPS];
static size_t op_count;

static int read_section(void **state) {
    char path[512];
    (void)state;
    snprintf(path, sizeof path, "%s/docs/number-formats.md", WEFT_SOURCE_DIR);
    FILE *const file = fopen(path, "r");
    if (!file) return -1;
    static char text[TEXT];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *const begin = strstr(text, "\n### Ops in mixed precision\n");
    const char *const end = begin ? strstr(begin + 5, "\n### ") : NULL;
    if (!end) return -1;
    memcpy(section, begin, (size_t)(end - begin));
    return 0;
}

static void add_op(const wi_op *op) {
    for (size_t i = 0; i < op_count; i++)
        if (strcmp(ops[i]->name, op->name) == 0) return;
    assert_true(op_count < OPS);
    ops[op_count++] = op;
}

/* The second and third column of the op's row. */
static void describe(const wi_op *op, char text[64]) {
    const bool narrow = op->kind == WI_PRODUCT ||
                        (wi_kernels_accept_format(op, WEFT_BF16) && wi_kernels_accept_format(op, WEFT_F16));
    const bool bf16 = wi_kernels_multiply(op, WEFT_BF16), f16 = wi_kernels_multiply(op, WEFT_F16);
    snprintf(text, 64, "| %s | %s |", narrow ? "16 bits" : "f32",
        bf16 && f16 ? "bf16, f16"
        : bf16      ? "bf16"
                    : "f32");
}

static void check_row(const char *name, const char *columns) {
    char quoted[96];
    snprintf(quoted, sizeof quoted, "`%s`", name);
    const char *const found = strstr(section, quoted);
    if (!found) {
        fail_msg("number-formats.md does not list %s, which is %s", quoted, columns);
        return;
    }
    if (strstr(found + 1, quoted)) fail_msg("number-formats.md lists %s twice", quoted);
    const char *const end = strchr(found, '\n'), *const at = strstr(found, columns);
    if (!at || at > end) fail_msg("number-formats.md: %s is in another row than that of %s", quoted, columns);
}

static void kernels_are_listed_as_they_are(void **state) {
    (void)state;
    op_count = 0;
    for (const wi_family *family = wi_families; *family; family++)
        for (int i = 0; (*family)[i]; i++)
            for (int k = 0; k < WI_IMPLEMENTATION_OPS && (*family)[i]->ops[k]; k++)
                add_op((*family)[i]->ops[k]);
    assert_true(op_count > 20);
    for (size_t i = 0; i < op_count; i++) {
        char columns[64];
        describe(ops[i], columns);
        check_row(ops[i]->name, columns);
    }
}

#define WI_MAP1(name, ...) &wi_op_##name,
#define WI_MAP2(name, ...) &wi_op_##name,
#define WI_MAP3(name, ...) &wi_op_##name,
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
static const wi_op *const maps[] = {
#include "ops/op_list.h"
};

static void elementwise_ops_are_listed_as_they_are(void **state) {
    (void)state;
    size_t precise = 0;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        char quoted[96];
        snprintf(quoted, sizeof quoted, "`%s`", maps[i]->name);
        if (maps[i]->precise)
            check_row(maps[i]->name, "| f32, up to the next contraction | f32 |");
        else if (strstr(section, quoted))
            fail_msg("number-formats.md lists %s, which is like other elementwise ops", quoted);
        precise += maps[i]->precise;
    }
    assert_true(precise >= 2);
    assert_non_null(strstr(section, "| other elementwise ops, views, `concat` | 16 bits | f32 |"));
}

/* Each name in the list is that of an op. */
static void nothing_else_is_listed(void **state) {
    size_t listed = 0, precise = 0;
    (void)state;
    for (const char *at = strstr(section, "| `"); at; at = strstr(at + 1, "`, `")) listed++;
    for (const char *line = strchr(section + 1, '\n'); line; line = strchr(line + 1, '\n'))
        listed += strncmp(line, "\n| `", 4) == 0;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) precise += maps[i]->precise;
    assert_int_equal(listed, op_count + precise + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_listed_as_they_are),
        cmocka_unit_test(elementwise_ops_are_listed_as_they_are),
        cmocka_unit_test(nothing_else_is_listed),
    };
    return test_finish(cmocka_run_group_tests(tests, read_section, NULL));
}
