/* The tuner's choices for a device: the kernel for each site, and kernels that must not be tried at a site.
 *
 * A tuning file is text. A line consists of fields that are separated by tabs:
 *
 *     weft tuning 1
 *     device  NAME  PLATFORM  DRIVER  VERSION OF WEFT  CLASS
 *     choice  SITE  KERNEL  SECONDS  SECONDS OF THE BUILT-IN CHOICE
 *     bad     SITE  KERNEL  WHY
 *
 * The lines after a `device` line, up to the next, are the section of this device; sections of other devices are
 * skipped. Tuning files can be merged by concatenation, because the last line for a site wins. If any line is damaged,
 * nothing of the file is used, and the log says so.
 *
 * A device reads src/cl/built_in_choices.txt first, then the file that its context names, then "tuning.txt" of the
 * cache folder. In the built-in list NAME is the name of a device, board, architecture or vendor, and PLATFORM, DRIVER
 * and VERSION only say where the choices were measured. */
#ifndef WI_CHOICES_H
#define WI_CHOICES_H

#include "base/memory.h"
#include "cl/opened_device.h"

typedef struct wi_choice {
    char *site, *kernel;
    char *fault;           /* why the kernel must not be used; NULL: the kernel is chosen */
    double seconds, usual; /* times of the chosen kernel and of the built-in choice */
    bool noted;            /* the log already says that the kernel cannot be used */
    bool built_in;         /* from the built-in list, so that it is not saved */
} wi_choice;

/* file: the context's tuning_file; NULL: $WEFT_TUNING, if it is set. Files are read when a choice is first looked up. */
weft_status wi_choices_open(wi_device *device, const char *file);
void wi_choices_close(wi_device *device);

/* If `used` is false, wi_choices_find finds nothing from now on. A new device uses its choices. */
void wi_choices_use(wi_device *device, bool used);
/* The choice for a site; NULL: none. Valid until the next wi_choices_set. */
wi_choice *wi_choices_find(wi_device *device, const char *site);
/* Why the kernel must not be tried at the site; NULL: it may be. */
const char *wi_choices_fault(wi_device *device, const char *site, const char *kernel);
/* All choices and faults, *count of them; valid until the next wi_choices_set. */
const wi_choice *wi_choices_all(wi_device *device, size_t *count);
/* Replaces the choice for choice->site or, if choice->fault is set, the fault of the kernel at the site. Copies the
 * texts. */
weft_status wi_choices_set(wi_device *device, const wi_choice *choice);
/* Appends the `device` line. */
void wi_choices_append_device(const wi_device *device, wi_text *text);
/* Appends the `device` line, and a line for each choice and fault that is not built in. */
void wi_choices_append(wi_device *device, wi_text *text);
/* Replaces this device's section in a file, NULL: in "tuning.txt" of the cache folder. Errors: WEFT_ERROR_STATE (no
 * cache folder), WEFT_ERROR_FORMAT (another kind of file, which does not change), WEFT_ERROR_FILE, WEFT_ERROR_MEMORY. */
weft_status wi_choices_save(wi_device *device, const char *file);
/* The text of src/cl/built_in_choices.txt. */
extern const char wi_built_in_choices[];
/* Uses the lines of a built-in list for the device's vendor, architecture and name. */
void wi_choices_take_built_in(wi_device *device, const char *text);
/* Uses the lines of a tuning file for this device. Overwrites the text; name is for the log. */
void wi_choices_take(wi_device *device, char *text, const char *name);

#endif
