/* Compiled programs, in memory, in the cache folder, or built by the driver's compiler.
 *
 * A program's key is a hash (XXH3, 128 bits) of source, options, device, driver, platform and version of Weft. A source
 * that the compiler rejects is remembered with the log, in memory and on disk, until wi_disk_cache_forget_failures;
 * other failures are not, because they may not occur again. Damaged entries of the folder are built again. A full or
 * read-only disk is a warning in the log, never an error. disk_cache.h has the rules of the folder. */
#ifndef WI_PROGRAM_H
#define WI_PROGRAM_H

#include "cl/disk_cache.h"

typedef struct wi_program wi_program; /* owned by the device, until it is closed */

typedef struct wi_program_stats {
    size_t built, loaded, reused; /* compiled from source / loaded from disk / found in memory */
    size_t interrupted;           /* failed builds whose source the compiler did not reject */
    size_t undeclared;            /* built without builtins.clh, which lacks a function that is called */
    size_t pieces_added, pieces_reused; /* pieces that were compiled / found in a program */
    double seconds;                     /* spent on building and loading */
} wi_program_stats;

/* Returns the program of a source, which may contain lines of wi_kernel_source_include. options are added to the
 * default ones; NULL: none. WEFT_ERROR_BUILD if the build fails: the message has `what` and the beginning of the build
 * log, and the log callback gets the whole log. If the driver's error is another than CL_BUILD_PROGRAM_FAILURE, the
 * status is that of wi_cl_check. */
weft_status wi_program_get(
    wi_program **program, wi_device *device, const char *what, const char *source, const char *options);
/* ---- pieces ----
 *
 * A piece is source that is compiled as a unit: a kernel with its functions. Programs are composed of pieces. The
 * device knows which of its programs, in memory or on disk, contains a piece, so that each piece is compiled once. */

/* The key of a piece. text and before: hashes (wi_text_key) of the piece, and of what precedes it in each program. */
weft_status wi_program_piece_key(
    wi_cache_key *key, const wi_device *device, wi_cache_key before, wi_cache_key text);
/* A program that contains the piece, loaded from disk if necessary. *program is NULL if there is none. */
weft_status wi_program_find_piece(
    wi_program **program, wi_device *device, const char *what, wi_cache_key piece);
/* Notes that the program contains the piece. */
weft_status wi_program_add_piece(wi_device *device, const wi_program *program, wi_cache_key piece);

/* ---- kernels ---- */

/* Creates a kernel object, whose arguments the caller sets; the caller releases it. */
weft_status wi_program_kernel(cl_kernel *kernel, wi_program *program, const char *name);
/* Saves the binaries that are not on disk yet. To be called when the kernels have run, because some drivers compile
 * only then. */
void wi_programs_save(wi_device *device);
/* Whether the driver keeps compiled kernels itself, on disk, and would compile each again to return a binary
 * (WI_QUIRK_OWN_CACHE). */
bool wi_driver_keeps_kernels(const wi_device *device);
/* As wi_programs_save, except on drivers that keep compiled kernels themselves. */
void wi_programs_keep(wi_device *device);
/* Saves as wi_programs_save, and gives the places of all pieces on disk, which stay valid until a piece is added. */
struct wi_piece_place;
void wi_programs_places(wi_device *device, const struct wi_piece_place **places, size_t *count);
/* Adds the places of pieces whose programs are on disk, and saves them. Errors: WEFT_ERROR_MEMORY. */
weft_status wi_programs_add_places(wi_device *device, const struct wi_piece_place *places, size_t count);
const wi_program_stats *wi_programs_stats(const wi_device *device);

#endif
