/* Compiled programs: memory cache in front of disk cache in front of the compiler.
 *
 * Key: hash (XXH3 128) of source, options, device name, driver, platform, Weft version. Disk entries carry a
 * magic, the key and a checksum; they are written to a temporary name and renamed; a damaged or foreign entry
 * is rebuilt; a source that the compiler refuses is remembered in memory and on disk with the log, until
 * wi_disk_cache_forget_failures; any other failure of a build is not, since it may pass. A full or read-only disk is a
 * logged warning, never an error. Several processes may share one folder. */
#ifndef WI_PROGRAM_H
#define WI_PROGRAM_H

#include "cl/disk_cache.h"

typedef struct wi_program wi_program; /* owned by the device until it is closed */

typedef struct wi_program_stats {
    size_t built, loaded, reused; /* compiled from source / from disk / found in memory */
    size_t interrupted;           /* builds that failed, but not by the compiler's verdict on the source */
    size_t undeclared;            /* built without builtins.clh, which does not declare what they call */
    size_t pieces_added, pieces_reused; /* new to all programs / taken from one */
    double seconds;                     /* spent compiling and loading */
} wi_program_stats;

/* The program for source, in which kernel files are included (wi_kernel_source_include), + options ("" or NULL: none beyond the
 * defaults). On WEFT_ERROR_BUILD the line holds
 * `what`, and the head of the log; the whole log goes to the log callback. An error that is not
 * CL_BUILD_PROGRAM_FAILURE has the status of wi_cl_check. */
weft_status wi_program_get(
    wi_program **program, wi_device *device, const char *what, const char *source, const char *options);
/* ---- pieces: source that stands for itself, as a kernel with its helpers ----
 *
 * Programs are put together from pieces. The device knows which of its programs, in memory or on disk, has which, so
 * that a piece is compiled once, whatever program it is asked for in. */

enum { WI_PIECE_NAME = 24 };
/* What the names of a piece's kernels begin with, of the hash of its text. */
void wi_piece_name(char name[WI_PIECE_NAME], wi_cache_key text);

/* text, before: hashes (wi_text_key) of the piece, and of what stands before it in every program that has it. */
weft_status wi_program_piece_key(
    wi_cache_key *key, const wi_device *device, wi_cache_key before, wi_cache_key text);
/* A program that has the piece; NULL: none is known. */
weft_status wi_program_find_piece(
    wi_program **program, wi_device *device, const char *what, wi_cache_key piece);
weft_status wi_program_add_piece(wi_device *device, const wi_program *program, wi_cache_key piece);

/* ---- kernels ---- */

/* A kernel object of its own, arguments unset; the caller releases it. */
weft_status wi_program_kernel(cl_kernel *kernel, wi_program *program, const char *name);
/* To be called once the program's kernels ran: some drivers compile as late as that. Saves the binaries that
 * are not on disk yet. */
void wi_programs_save(wi_device *device);
/* The same, but not where the driver keeps compiled kernels itself and would compile each anew for a binary
 * (WI_QUIRK_OWN_CACHE). */
void wi_programs_keep(wi_device *device);
const wi_program_stats *wi_programs_stats(const wi_device *device);

#endif
