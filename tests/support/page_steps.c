#include "support/page_steps.h"
#include "support/checks.h"
#include <stdio.h>

const char *page_steps(const char *html, const char *tag) {
    static char steps[65536];
    char mark[256];
    size_t used = 0;
    snprintf(mark, sizeof mark, "{\"tag\":\"%s\",\"every\":", tag);
    const char *const curve = strstr(html, mark), *at = curve ? strstr(curve, "\"points\":[") : NULL;
    if (!at) fail_msg("the page has no curve '%s'", tag);
    for (at += strlen("\"points\":["); *at == '['; at = strchr(at, ']') + 1, at += *at == ',') {
        used += (size_t)snprintf(
            steps + used, sizeof steps - used, used ? ",%lu" : "%lu", strtoul(at + 1, NULL, 10));
        assert_true(used < sizeof steps);
    }
    return steps;
}
