/* Chooses the passes that are dumped, and writes their files (contract in dump.h). */
#include "plan/describe/dump.h"
#include "base/platform.h"
#include "cl/context.h"
#include "plan/compiled_plan.h"
#include <stdio.h>
#include <string.h>

static const char *const names[WI_PASSES] = {[WI_PASS_REWRITES] = "rewrites",
    [WI_PASS_ORDER] = "order",
    [WI_PASS_PARTITION] = "partition",
    [WI_PASS_SELECT] = "select",
    [WI_PASS_LOOPS] = "loops",
    [WI_PASS_SCHEDULE] = "schedule",
    [WI_PASS_CODE] = "code",
    [WI_PASS_MATERIALISE] = "materialise",
    [WI_PASS_MEMORY] = "memory",
    [WI_PASS_LAUNCHES] = "launches"};

const char *wi_pass_name(wi_plan_pass pass) {
    return names[pass];
}

static weft_status find_passes(const char *name, size_t length, unsigned *passes) {
    if (length == strlen("all") && strncmp(name, "all", length) == 0) {
        *passes |= (1u << WI_PASSES) - 1;
        return WEFT_OK;
    }
    for (int i = 0; i < WI_PASSES; i++) {
        if (strlen(names[i]) != length || strncmp(name, names[i], length) != 0) continue;
        *passes |= 1u << i;
        return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "WEFT_DUMP: '%.*s' is not a pass; passes are rewrites, order, partition, select, loops, schedule, "
        "code, materialise, memory and launches, and 'all' means every pass",
        (int)(length < 64 ? length : 64), name);
}

weft_status wi_dump_begin(wi_dump *dump, weft_context *context) {
    const char *wanted = wi_environment("WEFT_DUMP");
    *dump = (wi_dump){.number = context->plan_count++};
    while (wanted && *wanted) {
        const size_t length = strcspn(wanted, ",");
        WI_TRY(find_passes(wanted, length, &dump->passes));
        wanted += length + (wanted[length] == ',');
    }
    return WEFT_OK;
}

static void append(const weft_plan *plan, wi_plan_pass pass, wi_text *text) {
    wi_text_append(text, "%s of plan %d: batch %lld, for %s\n", names[pass], plan->dump.number,
        (long long)plan->request.batch, plan->request.inference ? "inference" : "training");
    switch (pass) {
    case WI_PASS_REWRITES: wi_dump_rewrites(&plan->order, text); break;
    case WI_PASS_ORDER: wi_dump_order(&plan->order, text); break;
    case WI_PASS_PARTITION: wi_dump_partition(&plan->partition, text); break;
    case WI_PASS_SELECT: wi_dump_selection(&plan->partition, text); break;
    case WI_PASS_LOOPS: wi_dump_loops(&plan->loops, text); break;
    case WI_PASS_CODE: wi_dump_code(&plan->code, text); break;
    case WI_PASS_SCHEDULE: wi_dump_schedule(&plan->schedule, text); break;
    case WI_PASS_MATERIALISE: wi_dump_runs(&plan->runs, text); break;
    case WI_PASS_MEMORY: wi_dump_placement(&plan->placement, text); break;
    case WI_PASS_LAUNCHES: wi_dump_launches(&plan->launches, text); break;
    case WI_PASSES: break;
    }
}

weft_status wi_dump_pass(const weft_plan *plan, wi_plan_pass pass) {
    if (!(plan->dump.passes >> pass & 1)) return WEFT_OK;
    const char *const folder = wi_environment("WEFT_DUMP_DIR");
    char path[WI_PATH_CAPACITY];
    const int length = snprintf(
        path, sizeof path, "%s/plan-%d-%s.txt", folder ? folder : ".", plan->dump.number, names[pass]);
    if (length >= (int)sizeof path) WI_FAIL(WEFT_ERROR_ARGUMENT, "WEFT_DUMP_DIR: the path is too long");
    wi_text text;
    wi_text_init(&text, plan->request.allocator);
    append(plan, pass, &text);
    const weft_status status =
        text.failed ? WEFT_ERROR_MEMORY : wi_file_write_atomic(path, text.data, text.length);
    wi_text_clear(&text);
    return status;
}
