/* The kernel files embedded in the library; WEFT_KERNEL_DIR replaces them file by file for kernel work. */
#ifndef WI_KERNEL_SOURCE_H
#define WI_KERNEL_SOURCE_H

#include "base/log.h"
#include "base/memory.h"

typedef struct wi_kernel_file {
    const char *name;            /* "gemm_cpu.cl" */
    const char *path;            /* below cl_kernels: "product/gemm_cpu.cl" */
    const unsigned char *packed; /* as gzip has it */
    size_t packed_bytes, bytes;  /* bytes: of the text */
    const char *key;             /* a hash of the text and of all that it includes */
} wi_kernel_file;

/* Generated at build time; ends with a row of NULLs. */
extern const wi_kernel_file wi_kernel_files[];

/* The text of a file, NUL-terminated; release it with wi_release. */
weft_status wi_kernel_file_text(char **text, const wi_kernel_file *file, const weft_allocator *allocator);

/* Appends the text of a kernel file, from WEFT_KERNEL_DIR when that is set and has it at the same path, and
 * nobody else may have written it. A line
 * #include "NAME" of it becomes the text of the kernel file NAME, which has an include guard: drivers see one text.
 * Unknown name, files that include each other: WEFT_ERROR_INTERNAL. */
weft_status wi_kernel_source_append(wi_text *source, const char *name);

/* Appends a line that stands for the text, #include "NAME" and the file's key, until wi_kernel_source_expand: so sources are compared
 * and hashed without the text. With WEFT_KERNEL_DIR, whose files may change, it
 * appends the text itself. */
weft_status wi_kernel_source_include(wi_text *source, const char *name);

/* Appends a text in which each line #include "NAME" becomes the text of that kernel file. */
weft_status wi_kernel_source_expand(wi_text *source, const char *text, size_t bytes);

/* Logs the first file of WEFT_KERNEL_DIR that is not used because it, or its folder, is not the user's own or others may
 * write to it (trusted_file.h), and a folder that has no kernel file. */
void wi_kernel_source_check(const wi_log *log);

#endif
