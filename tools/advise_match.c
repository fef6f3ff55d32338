/* See advise_match.h. */
#include "advise_match.h"
#include "cl/device_list.h"
#include <string.h>

bool advise_selects(const char *selector, const char *place) {
    wi_device_list list;
    bool found = false;
    const bool fits =
        wi_device_list_read(&list, NULL) == WEFT_OK && wi_device_list_select(&list, selector) == WEFT_OK;
    for (size_t i = 0; fits && i < list.count && !found; i++)
        found = list.entries[i].status == WEFT_OK && strcmp(list.entries[i].info.selector, place) == 0;
    wi_device_list_clear(&list);
    return found;
}

bool advise_names(const char *text, const char *name) {
    return wi_contains_any_case(name, text);
}
