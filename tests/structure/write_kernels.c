/* Writes the source of every kernel of class gpu that the registry can select, for compilers of GPUs that are not here
 * (tools/gpu-proofs).
 *
 * Usage: write_kernels FOLDER     FOLDER/<implementation>.<variant>.<file>, one for each variant of each
 *                                 implementation, with its parameters and the epilogue of a template that stands alone;
 *                                 <variant>.<value> for each value of a macro that plans choose by a site's sizes;
 *                                 <variant>.<value>.dropped of attention whose weights are dropped;
 *                                 <variant>.index64 of templates whose indices have 32 bits elsewhere (kernels/index_type.h)
 *
 *                                 loops.clh, quads.clh: what stands before generated kernels, and before those of maps and
 *                                 epilogues that have a quad of elements at once
 *
 * The folder must exist. Prints the names of the files with kernels.
 */
#include "base/memory.h"
#include "cl/kernel_source.h"
#include "kernels/registry.h"
#include <stdio.h>
#include <string.h>

static int write_file(const char *path, const wi_text *source) {
    FILE *const file = fopen(path, "wb");
    if (!file) return 0;
    const size_t length = strlen(source->data), written = fwrite(source->data, 1, length, file);
    return fclose(file) == 0 && written == length;
}

/* What the program of a plan has before its kernels (cl/program.c). */
static void append_profile(wi_text *source, int lanes) {
    const wi_device_profile *const gpu = wi_device_kind_named("gpu");
    wi_text_append(source, "#define WEFT_LANES %d\n#define WEFT_GROUP %d\n", lanes, gpu->group);
}

/* What stands before generated kernels, with functions of elementwise ops. */
static int write_prefix(const char *folder, const char *name, int lanes) {
    char path[4096];
    wi_text source;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    wi_text_init(&source, NULL);
    append_profile(&source, lanes);
    int good = wi_kernel_source_append(&source, "common.clh") == WEFT_OK;
    good = good && wi_kernel_source_append(&source, "padding.clh") == WEFT_OK;
    good = good && wi_kernel_source_append(&source, "elementwise.clh") == WEFT_OK && !source.failed;
    good = good && write_file(path, &source);
    wi_text_clear(&source);
    if (!good) fprintf(stderr, "%s cannot be written\n", path);
    return good;
}

/* Macros that plans choose by a site's sizes: a variant of the kernels of a file, and the values that it is chosen for. */
typedef struct size_macro {
    const char *file, *variant, *name;
    int values[5]; /* ends with 0 */
    bool dropped;  /* of attention with dropped weights, WEFT_DROP */
} size_macro;

static const size_macro size_macros[] = {
    {"attention_gpu.cl", "wide", "WEFT_ATTENTION_WIDTH", {128, 256}, false},
    {"attention_gpu.cl", "wide", "WEFT_ATTENTION_WIDTH", {256}, true},
    {"attention_gpu.cl", "widest", "WEFT_ATTENTION_WIDTH", {256}, false},
    {"attention_gpu.cl", "256", "WEFT_ATTENTION_WIDTH", {32, 64}, false},
    {"attention_gpu.cl", "64", "WEFT_ATTENTION_WIDTH", {32, 64, 128, 256}, false},
    {"conv_depthwise_gpu.cl", "f32", "WEFT_DEPTHWISE_STRIDE", {1, 2}, false},
    {"conv_depthwise_gpu.cl", "long", "WEFT_DEPTHWISE_TRANSPOSED", {1}, false},
    {"conv_weight_depthwise_gpu.cl", "f32", "WEFT_DEPTHWISE_STRIDE", {1, 2}, false}};

/* value: of a macro; without one the template's default. index: the type of indices. *indexed: has the source such? */
static int write_indexed(const char *folder, const wi_implementation *implementation,
    const wi_variant *variant, const size_macro *macro, int value, const char *index, bool *indexed) {
    const wi_kernel_plan plan = {.headers = implementation->headers,
        .parameters = implementation->parameters,
        .values = variant->values};
    char name[256], path[4096];
    wi_text source;
    char suffix[32] = "";
    if (macro) snprintf(suffix, sizeof suffix, ".%d%s", value, macro->dropped ? ".dropped" : "");
    if (strcmp(index, "long") == 0) strcat(suffix, ".index64");
    snprintf(name, sizeof name, "%s.%s%s.%s", implementation->name,
        variant->name && variant->name[0] ? variant->name : "only", suffix, implementation->file);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    wi_text_init(&source, NULL);
    const wi_device_profile *const gpu = wi_device_kind_named("gpu");
    append_profile(&source, implementation->quads ? gpu->loops.map_elements : gpu->lanes);
    int good = wi_kernel_source_append(&source, "common.clh") == WEFT_OK;
    wi_kernel_macros_define(&plan, &source);
    if (macro) wi_text_append(&source, "#define %s %d\n", macro->name, value);
    if (macro && macro->dropped) wi_text_append(&source, "#define WEFT_DROP 1\n");
    wi_text_append(&source, "#define WEFT_INDEX %s\n", index);
    const size_t begin = source.length;
    for (int i = 0; plan.headers && plan.headers[i]; i++)
        good = good && wi_kernel_source_append(&source, plan.headers[i]) == WEFT_OK;
    good = good && wi_kernel_source_append(&source, implementation->file) == WEFT_OK && !source.failed;
    *indexed = good && strstr(source.data + begin, "WEFT_INDEX") != NULL;
    good = good && write_file(path, &source);
    wi_text_clear(&source);
    if (good)
        printf("%s\n", name);
    else
        fprintf(stderr, "%s cannot be written\n", path);
    return good;
}

static int write_source(const char *folder, const wi_implementation *implementation,
    const wi_variant *variant, const size_macro *macro, int value) {
    bool indexed;
    const int good = write_indexed(folder, implementation, variant, macro, value, "int", &indexed);
    return good &&
           (!indexed || write_indexed(folder, implementation, variant, macro, value, "long", &indexed));
}

static int write_variant(
    const char *folder, const wi_implementation *implementation, const wi_variant *variant) {
    int good = 1, found = 0;
    for (size_t i = 0; i < sizeof size_macros / sizeof *size_macros; i++) {
        const size_macro *const macro = &size_macros[i];
        if (strcmp(macro->file, implementation->file) != 0 || strcmp(macro->variant, variant->name) != 0)
            continue;
        for (const int *value = macro->values; *value; value++, found++)
            good = write_source(folder, implementation, variant, macro, *value) && good;
    }
    return found > 0 ? good : write_source(folder, implementation, variant, NULL, 0);
}

/* The trial of asynchronous copies (cl/async_copies.c), which no implementation names. */
static int write_probe(const char *folder) {
    char path[4096];
    wi_text source;
    snprintf(path, sizeof path, "%s/async_probe.cl", folder);
    wi_text_init(&source, NULL);
    append_profile(&source, wi_device_kind_named("gpu")->lanes);
    int good = wi_kernel_source_append(&source, "common.clh") == WEFT_OK;
    good = good && wi_kernel_source_append(&source, "async_probe.cl") == WEFT_OK && !source.failed;
    good = good && write_file(path, &source);
    wi_text_clear(&source);
    printf("%s", good ? "async_probe.cl\n" : "");
    return good;
}

static int is_of_gpus(const wi_implementation *implementation) {
    const unsigned classes = implementation->needs.classes;
    return implementation->file && (classes == 0 || classes & WI_ON_GPU);
}

int main(int argc, char **argv) {
    int good = 1;
    if (argc != 2) {
        fprintf(stderr, "usage: write_kernels FOLDER\n");
        return 2;
    }
    const wi_device_profile *const gpu = wi_device_kind_named("gpu");
    good = write_prefix(argv[1], "loops.clh", gpu->lanes) && good;
    good = write_prefix(argv[1], "quads.clh", gpu->loops.map_elements) && good;
    good = write_probe(argv[1]) && good;
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_variant *variant;
            if (!is_of_gpus((*family)[i])) continue;
            for (int v = 0; (variant = wi_implementation_variant((*family)[i], v)) != NULL; v++)
                good = write_variant(argv[1], (*family)[i], variant) && good;
        }
    }
    return !good;
}
