/* Which devices a user means: of this machine as everywhere (gpu, cpu, a part of a driver's name or of a device's own, 0:1),
 * of the data sheets by a part of the name. */
#ifndef ADVISE_MATCH_H
#define ADVISE_MATCH_H

#include <stdbool.h>

/* Does the selector mean the device at this place ("0:1") of the machine? Others may be meant, too. */
bool advise_selects(const char *selector, const char *place);
/* Is the text that device? selector: of a device of this machine; "": it is one of a data sheet, all of which are of GPUs. */
bool advise_is_of(const char *text, const char *name, const char *selector);
/* Is it one of this machine or of a data sheet? */
bool advise_is_anywhere(const char *text);

#endif
