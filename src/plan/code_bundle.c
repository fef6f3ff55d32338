/* Kernels of bundles (bundles.h): a template's function for one work-item or one group, with arguments from a table.
 *
 * Each group finds its row by halving, and counts its items, or itself, from the row's first group. */
#include "plan/code.h"

static bool is_pointer(wi_kernel_argument_kind kind) {
    return kind == WI_KERNEL_INPUT || kind == WI_KERNEL_RESULT || kind == WI_KERNEL_SCRATCH;
}

/* The arguments of a row, after those that say where in it an item or a group is. */
static void append_arguments(wi_text *source, const wi_kernel_launch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        const int at = WI_BUNDLE_FACTS + i;
        if (!is_pointer(launch->arguments[i].kind)) {
            const bool is_int = launch->arguments[i].kind == WI_KERNEL_INT;
            wi_text_append(source, is_int ? ", (int)rows[%d]" : ", rows[%d]", at);
            continue;
        }
        wi_text_append(source, ",\n");
        for (int buffer = 0; buffer < WI_BUNDLE_BUFFERS - 1; buffer++)
            wi_text_append(
                source, "(rows[%d] & %d) == %d ? b%d : ", at, WI_BUNDLE_BUFFERS - 1, buffer, buffer);
        wi_text_append(source, "b%d, rows[%d] >> %d", WI_BUNDLE_BUFFERS - 1, at, WI_BUNDLE_BITS);
    }
}

/* Of items in groups along one dimension. */
static void append_item(wi_text *source, const wi_kernel_launch *launch) {
    const int items = (int)launch->local[0];
    wi_text_append(source,
        "const int3 size = (int3)((int)rows[1], (int)rows[2], (int)rows[3]);\n"
        "const int item = (int)(group - rows[0]) * %d + (int)get_local_id(0), line = item / size.x;\n"
        "WEFT_NAME(%s_item)((int3)(item %% size.x, line %% size.y, line / size.y), size",
        items, launch->suffix);
}

static void append_group(wi_text *source, const wi_kernel_launch *launch) {
    wi_text_append(source,
        "const int across = (int)rows[1] / %d, down = (int)rows[2] / %d;\n"
        "const int number = (int)(group - rows[0]), line = number / across;\n"
        "WEFT_NAME(%s_group)(shared, !WEFT_COMMON_REGISTERS, (int3)(number %% across, line %% down, line / "
        "down)",
        (int)launch->local[0], (int)launch->local[1], launch->suffix);
}

static void append_bundle(wi_text *source, const wi_kernel_launch *launch) {
    const int row = WI_BUNDLE_FACTS + launch->argument_count;
    if (launch->shared)
        wi_text_append(source, "__kernel __attribute__((reqd_work_group_size(%d, %d, %d))) WEFT_NARROW",
            (int)launch->local[0], (int)launch->local[1], (int)launch->local[2]);
    else
        wi_text_append(source, "__kernel WEFT_ITEMS(%d)", (int)launch->local[0]);
    wi_text_append(source,
        " void WEFT_NAME(%s_bundle)(\n__global const long *rows, const long rows_offset, const int count",
        launch->suffix);
    for (int i = 0; i < WI_BUNDLE_BUFFERS; i++) wi_text_append(source, ", __global void *b%d", i);
    wi_text_append(source, ") {\n");
    if (launch->shared) wi_text_append(source, "__local float4 shared[%zu];\n", launch->shared);
    wi_text_append(source,
        "const long group = (long)get_group_id(0);\nint first = 0, after = count;\n"
        "rows += rows_offset;\nwhile (after - first > 1) {\nconst int middle = (first + after) / 2;\n"
        "if (rows[middle * %d] <= group)\nfirst = middle;\nelse\nafter = middle;\n}\nrows += first * %d;\n",
        row, row);
    if (launch->shared)
        append_group(source, launch);
    else
        append_item(source, launch);
    append_arguments(source, launch);
    wi_text_append(source, ");\n}\n");
}

void wi_code_bundles(const wi_kernel_plan *kernel, wi_text *source) {
    for (int i = 0; i < kernel->count; i++)
        if (kernel->launches[i]->bundles) append_bundle(source, kernel->launches[i]);
}
