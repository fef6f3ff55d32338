/* Properties of the code of an elementwise op. */
#include "plan/layout/loops.h"
#include <string.h>

bool wi_code_calls(const char *code) {
    return code && strstr(code, "weft_");
}
