/* The sums of a product's tile stay in registers while they are added up: what PoCL's compiler makes of the innermost loop of
 * gemm_cpu_direct.cl has neither moves between vector registers nor vectors on the stack. It is the kernel of class cpu that
 * is closest to the registers' number: 24 sums, 4 vectors of B and one of A of 32, and nearly all of those for addresses where an
 * epilogue reads, as the gradient of relu6 does here.
 *
 * The machine code is read from the driver's cache, by objdump. */
/* test slow */
#undef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/quirks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8192, LINE = 512, SUMS = 24, CHANNELS = 32, WIDER = 64, SIZE = 14, BATCH = 4 };

/* ---- machine code ---- */

typedef struct instruction {
    unsigned long address, target; /* of a jump; else 0 */
    bool adds, moves, spills;
} instruction;

/* The instructions of one function; there is room for those of the longest kernel. */
static instruction code[MOST];
static int length;
static int loops_found;

/* Is what stands behind the first comma a register, as what stands before it is? */
static bool is_move(const char *text) {
    const char *const comma = strchr(text, ',');
    return strncmp(text, "vmov", 4) == 0 && comma && comma[1] == '%' && !strchr(text, '(');
}

static void note_instruction(const char *line) {
    char *text = NULL;
    const unsigned long address = strtoul(line, &text, 16);
    if (*text != ':' || length == MOST) return;
    text += 1 + strspn(text + 1, " \t");
    const char *const operand = text + strcspn(text, " ");
    const bool stack = strstr(text, "(%rsp") || strstr(text, "(%rbp");
    code[length++] = (instruction){.address = address,
        .target = *text == 'j' ? strtoul(operand, NULL, 16) : 0,
        .adds = strncmp(text, "vfmadd", 6) == 0,
        .moves = is_move(text),
        .spills = *text == 'v' && stack};
}

/* The first instruction of the loop that the jump at `last` closes; -1: it is no jump back. */
static int loop_begin(int last) {
    if (!code[last].target || code[last].target > code[last].address) return -1;
    int first = last;
    while (first > 0 && code[first].address > code[last].target) first--;
    return code[first].address == code[last].target ? first : -1;
}

static bool has_loop(int first, int last) {
    for (int i = first; i < last; i++)
        if (loop_begin(i) >= first) return true;
    return false;
}

static void check_loop(int first, int last) {
    int adds = 0, moves = 0, spills = 0;
    for (int i = first; i <= last; i++) {
        adds += code[i].adds;
        moves += code[i].moves;
        spills += code[i].spills;
    }
    if (adds < SUMS) return;
    loops_found++;
    print_message("a loop of %d multiply-adds: %d moves, %d vectors on the stack\n", adds, moves, spills);
    assert_int_equal(moves, 0);
    assert_int_equal(spills, 0);
}

static void check_function(void) {
    for (int last = 0; last < length; last++) {
        const int first = loop_begin(last);
        if (first >= 0 && !has_loop(first, last)) check_loop(first, last);
    }
    length = 0;
}

static void check_kernels(const char *folder) {
    char line[LINE];
    (void)snprintf(
        line, sizeof line, "find '%s' -name '*_rows.so' -exec objdump -d --no-show-raw-insn {} +", folder);
    FILE *const listing = popen(line, "r");
    assert_non_null(listing);
    while (fgets(line, sizeof line, listing)) {
        if (*line == ' ') {
            note_instruction(line);
        } else if (strchr(line, '<')) {
            check_function();
        }
    }
    check_function();
    assert_int_equal(pclose(listing), 0);
}

/* ---- a network whose gradient has that kernel ---- */

static void run_network(void) {
    static const float image[BATCH * CHANNELS * SIZE * SIZE];
    weft_graph *const graph = test_graph();
    weft_plan *plan = NULL;
    weft_tensor *outputs[WEFT_MAX_UPDATES];
    size_t updates = 0;
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, CHANNELS, SIZE, SIZE);
    weft_tensor *const wide = weft_relu6(weft_batch_norm(weft_conv2d(x, WIDER, 1)));
    weft_tensor *const loss = weft_mse(weft_conv2d(wide, CHANNELS, 1), x);
    const weft_optimizer sgd = weft_sgd(0.1f);
    assert_weft_ok(weft_minimize(loss, &sgd, outputs, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(
        &plan, outputs, updates, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    assert_weft_ok(weft_plan_write(plan, x, image, sizeof image));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_wait(plan));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Why the machine code says nothing here; NULL: it does. */
static const char *reason_to_skip(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    const wi_device *const device = wi_context_device(test_context());
    if (!(device->caps.quirks & WI_QUIRK_OWN_CACHE))
        return "the driver does not keep compiled kernels in files";
    if (device->caps.device_class != WEFT_CLASS_CPU) return "kernels of class gpu have other loops";
    if (!__builtin_cpu_supports("avx512f") || getenv("POCL_KERNELLIB_NAME"))
        return "tiles are taken in parts without AVX-512";
    return system("objdump --version > /dev/null") == 0 ? NULL : "there is no objdump";
#else
    return "this is for processors with AVX-512";
#endif
}

static void sums_stay_in_registers(void **state) {
    (void)state;
    assert_int_equal(setenv("POCL_CACHE_DIR", test_folder(), 1), 0);
    const char *const reason = reason_to_skip();
    if (reason) {
        print_message("skipped: %s\n", reason);
        skip();
    }
    run_network();
    check_kernels(test_folder());
    assert_true(loops_found > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_stay_in_registers)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
