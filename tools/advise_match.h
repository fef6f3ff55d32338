/* Which devices a user means: of this machine as everywhere (gpu, cpu, a part of a driver's name or of a device's own, 0:1),
 * of the data sheets by a part of the name. */
#ifndef ADVISE_MATCH_H
#define ADVISE_MATCH_H

#include <stdbool.h>

/* Does the selector mean the device at this place ("0:1") of the machine? Others may be meant, too. */
bool advise_selects(const char *selector, const char *place);
/* Has the name the text in it, whatever the case of the letters? */
bool advise_names(const char *text, const char *name);

#endif
