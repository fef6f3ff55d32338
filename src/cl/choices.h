/* What the tuner chose on a device: which kernel serves which sizes, and which must not be tried there.
 *
 * A tuning file is text, lines of fields between tabs:
 *
 *     weft tuning 1
 *     device  NAME  PLATFORM  DRIVER  VERSION OF WEFT  CLASS
 *     choice  SITE  KERNEL  SECONDS  SECONDS OF THE BUILT-IN CHOICE
 *     bad     SITE  KERNEL  WHY
 *
 * The library's own list, src/cl/built_in_choices.txt, has the same form, and is read first. Its NAME is that of a device, or of its board,
 * else of an architecture, else of a vendor, and PLATFORM, DRIVER and VERSION only say where it was measured.
 *
 * Lines after `device` are of it, up to the next. Files are merged by writing one after the other: the last line of a
 * site wins. A device reads the built-in list, then the file that its context names, then "tuning.txt" of the cache folder. Another device's lines are skipped; a file with a line that is none of
 * these is damaged: nothing of it is used, which is logged. */
#ifndef WI_CHOICES_H
#define WI_CHOICES_H

#include "cl/opened_device.h"

typedef struct wi_choice {
    char *site, *kernel;
    char *fault;           /* it is bad, and why; NULL: it is chosen */
    double seconds, usual; /* of what is chosen, and of the built-in choice */
    bool noted;            /* the log says that it cannot serve */
    bool built_in;         /* of the library's list: no file is to keep it */
} wi_choice;

/* file: a context's tuning_file, or NULL; read when a choice is asked for. */
weft_status wi_choices_open(wi_device *device, const char *file);
void wi_choices_close(wi_device *device);

/* Whether choices are found at all; at first they are. */
void wi_choices_use(wi_device *device, bool used);
/* NULL: none. Valid until the next call of wi_choices_set. */
wi_choice *wi_choices_find(wi_device *device, const char *site);
/* Why the kernel must not be tried at the site; NULL: it may. */
const char *wi_choices_fault(wi_device *device, const char *site, const char *kernel);
const wi_choice *wi_choices_all(wi_device *device, size_t *count);
/* Replaces what is known of the site, or of the kernel at the site where there is a fault. */
weft_status wi_choices_set(wi_device *device, const wi_choice *choice);
/* The line of the device. */
void wi_choices_append_device(const wi_device *device, wi_text *text);
/* It, and the choices. */
void wi_choices_append(wi_device *device, wi_text *text);
/* Puts the device's lines at the end of a file, which is replaced whole; NULL: of the cache folder. WEFT_ERROR_FORMAT: the
 * file is none of these, and stays what it is. */
weft_status wi_choices_save(wi_device *device, const char *file);
/* The text of the library's list. */
extern const char wi_built_in_choices[];
/* Takes what a list of that form says of the device, its architecture and its vendor. */
void wi_choices_take_built_in(wi_device *device, const char *text);
/* Takes what a file's text says, which is changed; name is for the log. */
void wi_choices_take(wi_device *device, char *text, const char *name);

#endif
