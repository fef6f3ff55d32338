/* See advise_match.h. */
#include "advise_match.h"
#include "cl/device_list.h"
#include "cl/known_devices.h"
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

bool advise_is_of(const char *text, const char *name, const char *selector) {
    if (selector[0]) return advise_selects(text, selector);
    return strcmp(text, "gpu") == 0 || wi_contains_any_case(name, text);
}

bool advise_is_anywhere(const char *text) {
    size_t count = 0;
    bool found = false;
    (void)weft_device_count(&count);
    for (size_t i = 0; i < count && !found; i++) {
        weft_device_info info;
        found = weft_device_get(i, &info) == WEFT_OK && advise_is_of(text, info.name, info.selector);
    }
    const wi_known_device *known;
    for (int i = 0; !found && (known = wi_known_device_row(i)) != NULL; i++)
        found = known->title && advise_is_of(text, known->title, "");
    return found;
}
