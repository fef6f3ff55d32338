/* Rights on files of Windows, for the files whose names end with _windows.c. */
#ifndef WI_TRUSTED_OWNER_H
#define WI_TRUSTED_OWNER_H

#include "base/status.h"
#include <windows.h>

/* Rights for a new file or folder that the user and the system have, and nobody else. */
typedef struct wi_private_rights {
    SECURITY_ATTRIBUTES *attributes; /* for CreateFileW and CreateDirectoryW */
    SECURITY_ATTRIBUTES own;
    SECURITY_DESCRIPTOR descriptor;
    ACL *list;
} wi_private_rights;

/* Fills *rights; wi_private_rights_end frees what they hold. False: errno says why. */
bool wi_private_rights_begin(wi_private_rights *rights);
void wi_private_rights_end(wi_private_rights *rights);

#endif
