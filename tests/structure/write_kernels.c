/* Writes the source of every kernel of class gpu that the registry can select, for compilers of GPUs that are not here
 * (tools/gpu-proofs).
 *
 * Usage: write_kernels FOLDER     FOLDER/<implementation>.<variant>.<file>, one for each variant of each
 *                                 implementation, with its parameters and the epilogue of a template that stands alone
 *
 * The folder must exist. Prints the names of the files.
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
static void append_profile(wi_text *source) {
    const wi_device_profile *const gpu = wi_device_kind_named("gpu");
    wi_text_append(source, "#define WEFT_LANES %d\n#define WEFT_GROUP %d\n", gpu->lanes, gpu->group);
}

static int write_variant(
    const char *folder, const wi_implementation *implementation, const wi_variant *variant) {
    const wi_kernel_plan plan = {.headers = implementation->headers,
        .parameters = implementation->parameters,
        .values = variant->values};
    char name[256], path[4096];
    wi_text source;
    snprintf(name, sizeof name, "%s.%s.%s", implementation->name,
        variant->name && variant->name[0] ? variant->name : "only", implementation->file);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    wi_text_init(&source, NULL);
    append_profile(&source);
    int good = wi_kernel_source_append(&source, "common.clh") == WEFT_OK;
    wi_kernel_macros_define(&plan, &source);
    good = good && wi_kernel_headers_append(&plan, &source) == WEFT_OK;
    good = good && wi_kernel_source_append(&source, implementation->file) == WEFT_OK && !source.failed;
    good = good && write_file(path, &source);
    wi_text_clear(&source);
    if (good)
        printf("%s\n", name);
    else
        fprintf(stderr, "%s cannot be written\n", path);
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
