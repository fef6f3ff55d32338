/* What the code of an elementwise op says about itself. */
#include "plan/layout/loops.h"
#include <string.h>

bool wi_code_calls(const char *code) {
    return code && strstr(code, "weft_");
}
