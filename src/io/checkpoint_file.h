/* Checkpoint files: safetensors with a checksum, a format version and the fingerprint of a network in the metadata.
 *
 * Writing is done in two halves, so that only the first needs the thread that trains: wi_checkpoint_image_fill copies
 * everything into host memory, as the file will be; wi_checkpoint_image_write, which any thread may call, adds the
 * checksum and writes the file, whole or not at all.
 *
 * The metadata begins with weft.checksum, 32 hexadecimal digits of XXH3-128 over the whole file with zeros in place of
 * the digits. That stays so in all versions of the format; anything else may change with weft.checkpoint. */
#ifndef WI_CHECKPOINT_FILE_H
#define WI_CHECKPOINT_FILE_H

#include "io/safetensors.h"
#include "io/saved_list.h"

/* Format 1 had tensors of checkpoints under their names without WI_RESERVED_PREFIX. */
enum { WI_CHECKPOINT_FORMAT = 2, WI_CHECKPOINT_FIRST_FORMAT = 1 };

typedef struct wi_checkpoint_image {
    const weft_allocator *allocator;
    unsigned char *bytes;
    size_t size, capacity;
} wi_checkpoint_image;

void wi_checkpoint_image_clear(wi_checkpoint_image *image);
/* Checksum, versions and fingerprint of the first `weights` entries: to be called on a list before all other notes. */
weft_status wi_checkpoint_note_head(wi_saved_list *list, size_t weights);
/* Takes the memory that a list like this one needs, so that the first fill does not. */
weft_status wi_checkpoint_image_reserve(wi_checkpoint_image *image, const char *path, wi_saved_list *list);
/* path is for errors. Memory is allocated if the image is larger than any before it. */
weft_status wi_checkpoint_image_fill(wi_checkpoint_image *image, const char *path, wi_saved_list *list);
/* Removes what killed processes left of the file, writes it durably, and changes nothing if that fails. */
weft_status wi_checkpoint_image_write(wi_checkpoint_image *image, const char *path);

/* A checkpoint in memory, checked as a whole. */
typedef struct wi_checkpoint_file {
    wi_safetensors table;
    const char *path; /* the caller's */
    char *bytes;
    uint64_t format;
    const weft_allocator *allocator;
} wi_checkpoint_file;

/* Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT: not a checkpoint, damaged, of a newer version. Cleared after one. */
weft_status wi_checkpoint_open(wi_checkpoint_file *file, const weft_allocator *allocator, const char *path);
void wi_checkpoint_close(wi_checkpoint_file *file);

/* The tensor of this name of WI_CHECKPOINT_FORMAT, in a file of any format; NULL: there is none. */
wi_saved_tensor *wi_checkpoint_tensor(const wi_checkpoint_file *file, const char *name);
/* Values of the metadata. find: NULL when there is none; the others report an error that names the key. */
const char *wi_checkpoint_find(const wi_checkpoint_file *file, const char *key);
weft_status wi_checkpoint_count(const wi_checkpoint_file *file, const char *key, uint64_t *value);
weft_status wi_checkpoint_number(const wi_checkpoint_file *file, const char *key, double *value);

/* Finds every entry of the list in the file, with its shape and dtype. Tensors of the file that no entry names are
 * errors, unless their name begins with one of the prefixes (ended by NULL; names of WI_CHECKPOINT_FORMAT). One line lists what differs; nothing is
 * changed. */
extern const char
    *const wi_checkpoint_others[]; /* of a trainer and of the caller, for readers that take neither */
weft_status wi_checkpoint_match(
    wi_checkpoint_file *file, const wi_saved_list *list, const char *const *ignored);
/* Writes every entry of a list that matched. */
weft_status wi_checkpoint_apply(const wi_checkpoint_file *file, const wi_saved_list *list);

#endif
