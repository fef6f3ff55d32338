/* Checkpoint files: safetensors with a checksum, a format version and the fingerprint of a network in the metadata.
 *
 * Writing has two parts, of which only the first runs on the training thread: wi_checkpoint_image_fill copies the
 * contents of the future file to host memory; wi_checkpoint_image_write, which any thread may call, adds the checksum
 * and writes the file, completely or not at all.
 *
 * The metadata begins with weft.checksum, 32 hexadecimal digits of XXH3-128 over the whole file with zeros in place of
 * the digits. This holds in all versions of the format; anything else may change with the number weft.checkpoint. */
#ifndef WI_CHECKPOINT_FILE_H
#define WI_CHECKPOINT_FILE_H

#include "io/safetensors.h"
#include "io/saved_list.h"

/* In format 1, the names of tensors that are not weights lack WI_RESERVED_PREFIX. */
enum { WI_CHECKPOINT_FORMAT = 2, WI_CHECKPOINT_FIRST_FORMAT = 1 };

/* The contents of a future file. */
typedef struct wi_checkpoint_image {
    const weft_allocator *allocator;
    unsigned char *bytes;
    size_t size, capacity;
} wi_checkpoint_image;

void wi_checkpoint_image_clear(wi_checkpoint_image *image);
/* Adds the first metadata of a checkpoint: checksum, versions, and the fingerprint of the network, a hash of the first
 * `weights` entries. Must be called before other metadata is added. */
weft_status wi_checkpoint_note_head(wi_saved_list *list, size_t weights);
/* Allocates the memory for a list like this one, so that wi_checkpoint_image_fill need not. */
weft_status wi_checkpoint_image_reserve(wi_checkpoint_image *image, const char *path, wi_saved_list *list);
/* Fills the image with the header and the contents of the list. Allocates memory only if the image is larger than any
 * before. path: for errors. */
weft_status wi_checkpoint_image_fill(wi_checkpoint_image *image, const char *path, wi_saved_list *list);
/* Writes the file and syncs it to the disk. Also removes temporary files for this path that killed processes left.
 * After an error, an older file at the path is unchanged. */
weft_status wi_checkpoint_image_write(wi_checkpoint_image *image, const char *path);

/* A checkpoint in memory, after all checks of the file. */
typedef struct wi_checkpoint_file {
    wi_safetensors table;
    const char *path; /* not copied */
    char *bytes;
    uint64_t format;
    const weft_allocator *allocator;
} wi_checkpoint_file;

/* path must outlive the file. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT: not a checkpoint, damaged, of a newer
 * version. After an error the file is closed. */
weft_status wi_checkpoint_open(wi_checkpoint_file *file, const weft_allocator *allocator, const char *path);
void wi_checkpoint_close(wi_checkpoint_file *file);

/* The tensor that has this name in WI_CHECKPOINT_FORMAT, in a file of any format; NULL: there is none. */
wi_saved_tensor *wi_checkpoint_tensor(const wi_checkpoint_file *file, const char *name);
/* Values of the metadata. If the file lacks the key, wi_checkpoint_find returns NULL, and the other functions return
 * WEFT_ERROR_FORMAT with a message that names the key. */
const char *wi_checkpoint_find(const wi_checkpoint_file *file, const char *key);
weft_status wi_checkpoint_count(const wi_checkpoint_file *file, const char *key, uint64_t *value);
weft_status wi_checkpoint_number(const wi_checkpoint_file *file, const char *key, double *value);

/* Prefixes of the tensors of trainers and callers, for wi_checkpoint_match. */
extern const char *const wi_checkpoint_others[];
/* Compares names, shapes and dtypes of the list with the file. A tensor of the file without an entry is an error,
 * unless its name begins with an element of `ignored` (ended by NULL, in WI_CHECKPOINT_FORMAT). Errors:
 * WEFT_ERROR_FORMAT, WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE; the line lists the differences. */
weft_status wi_checkpoint_match(
    wi_checkpoint_file *file, const wi_saved_list *list, const char *const *ignored);
/* Writes the file's tensors to the entries of a list that matched; entries that the file lacks get their initial value. */
weft_status wi_checkpoint_apply(const wi_checkpoint_file *file, const wi_saved_list *list);

#endif
