/* There are no plug-ins for MPI on Windows (contract in group.h). */
#include "dist/group.h"

weft_status wi_plug_in_load(const wi_transport **transport) {
    *transport = NULL;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "distributed: Weft has no plug-in for MPI on Windows");
}
