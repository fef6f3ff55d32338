/* The kernel files, which are embedded in the library. For work on kernels, files of the folder WEFT_KERNEL_DIR replace
 * them. */
#ifndef WI_KERNEL_SOURCE_H
#define WI_KERNEL_SOURCE_H

#include "base/log.h"
#include "base/packed_text.h"

typedef struct wi_kernel_file {
    const char *name; /* "gemm_cpu.cl" */
    const char *path; /* path below cl_kernels: "product/gemm_cpu.cl" */
    wi_packed_text text;
    const char *key; /* a hash of the text and of all files that it includes */
} wi_kernel_file;

/* Generated at build time; a row of NULLs ends the array. */
extern const wi_kernel_file wi_kernel_files[];

/* *text: the text of a file, with a NUL at its end; the caller releases it with wi_release. Errors: WEFT_ERROR_MEMORY. */
weft_status wi_kernel_file_text(char **text, const wi_kernel_file *file, const weft_allocator *allocator);

/* Appends the text of a kernel file: that of WEFT_KERNEL_DIR if the folder has a file at this path that nobody else can
 * have written, otherwise the embedded one. Lines #include "NAME" are replaced by the text of the kernel file NAME,
 * which has an include guard, so that drivers get a single text. Errors: WEFT_ERROR_INTERNAL for an unknown name or
 * files that include each other, WEFT_ERROR_MEMORY, WEFT_ERROR_FILE. */
weft_status wi_kernel_source_append(wi_text *source, const char *name);

/* Appends the line #include "NAME" with the file's key, which wi_kernel_source_expand later replaces by the text:
 * sources can then be compared and hashed without the text. If WEFT_KERNEL_DIR is set, whose files may change, it
 * appends the text itself. */
weft_status wi_kernel_source_include(wi_text *source, const char *name);

/* Appends a text, with its lines #include "NAME" replaced by the texts of the kernel files. */
weft_status wi_kernel_source_expand(wi_text *source, const char *text, size_t bytes);

/* Logs a warning if WEFT_KERNEL_DIR has no kernel file, or one that is not used because others than the user may be
 * able to write to the file or its folder (trusted_file.h). */
void wi_kernel_source_check(const wi_log *log);

#endif
