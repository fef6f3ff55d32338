/* Kernels of bundles (bundles.h): a template's function for one work-item, with arguments from a table.
 *
 * Each group finds its row by halving, and counts its items from the row's first group. */
#include "plan/code.h"

static bool is_pointer(wi_kernel_argument_kind kind) {
    return kind == WI_KERNEL_INPUT || kind == WI_KERNEL_RESULT || kind == WI_KERNEL_SCRATCH;
}

static void append_bundle(wi_text *source, const wi_kernel_launch *launch) {
    const int group = (int)launch->local[0], row = WI_BUNDLE_FACTS + launch->argument_count;
    wi_text_append(source,
        "__kernel WEFT_ITEMS(%d) void WEFT_NAME(%s_bundle)(\n"
        "__global const long *rows, const long rows_offset, const int count",
        group, launch->suffix);
    for (int i = 0; i < launch->argument_count; i++)
        if (is_pointer(launch->arguments[i].kind)) wi_text_append(source, ", __global void *p%d", i);
    wi_text_append(source,
        ") {\nconst long group = (long)get_group_id(0);\nint first = 0, after = count;\n"
        "rows += rows_offset;\nwhile (after - first > 1) {\nconst int middle = (first + after) / 2;\n"
        "if (rows[middle * %d] <= group)\nfirst = middle;\nelse\nafter = middle;\n}\nrows += first * %d;\n"
        "const int3 size = (int3)((int)rows[1], (int)rows[2], (int)rows[3]);\n"
        "const int item = (int)((group - rows[0]) * %d) + (int)get_local_id(0), line = item / size.x;\n"
        "WEFT_NAME(%s_item)((int3)(item %% size.x, line %% size.y, line / size.y), size",
        row, row, group, launch->suffix);
    for (int i = 0; i < launch->argument_count; i++) {
        const wi_kernel_argument_kind kind = launch->arguments[i].kind;
        if (is_pointer(kind))
            wi_text_append(source, ", p%d, rows[%d]", i, WI_BUNDLE_FACTS + i);
        else
            wi_text_append(
                source, kind == WI_KERNEL_INT ? ", (int)rows[%d]" : ", rows[%d]", WI_BUNDLE_FACTS + i);
    }
    wi_text_append(source, ");\n}\n");
}

void wi_code_bundles(const wi_kernel_plan *kernel, wi_text *source) {
    for (int i = 0; i < kernel->count; i++)
        if (kernel->launches[i]->bundles) append_bundle(source, kernel->launches[i]);
}
