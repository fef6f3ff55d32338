/* Which devices a selector matches, and which of them is best (contract in device_list.h). */
#include "cl/device_list.h"

#include <ctype.h>
#include <string.h>

static bool begins_any_case(const char *text, const char *part) {
    for (; *part != '\0'; text++, part++) {
        if (tolower((unsigned char)*text) != tolower((unsigned char)*part)) return false;
    }
    return true;
}

bool wi_contains_any_case(const char *text, const char *part) {
    for (const char *at = text;; at++) {
        if (begins_any_case(at, part)) return true;
        if (*at == '\0') return false;
    }
}

bool wi_is_device_position(const char *selector) {
    const size_t platform = strspn(selector, "0123456789");
    if (platform == 0 || selector[platform] != ':') return false;
    const char *const device = selector + platform + 1;
    const size_t digits = strspn(device, "0123456789");
    return digits > 0 && device[digits] == '\0';
}

static bool equal_any_case(const char *a, const char *b) {
    return strlen(a) == strlen(b) && begins_any_case(a, b);
}

/* What a selector matches, from weak to strong. Only devices with the strongest match found in the list are selected. A
 * driver's name is stronger than a device's, because devices of PoCL have the processor's name and vendor. */
typedef enum fit { FITS_NOT, FITS_VENDOR, FITS_NAME, FITS_DRIVER, FITS_EXACTLY } fit;

/* PoCL 3.1 has "PoCL" only in the versions of its platform and device. */
static bool names_driver(const wi_device_entry *entry, const char *selector) {
    const char *const texts[] = {
        entry->info.platform, entry->platform_version, entry->platform_vendor, entry->info.opencl};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (wi_contains_any_case(texts[i], selector)) return true;
    }
    return false;
}

static fit fit_of(const wi_device_entry *entry, const char *selector) {
    const weft_device_info *const info = &entry->info;
    if (equal_any_case(selector, "gpu")) return info->is_gpu ? FITS_EXACTLY : FITS_NOT;
    if (equal_any_case(selector, "cpu")) return info->is_cpu ? FITS_EXACTLY : FITS_NOT;
    if (names_driver(entry, selector)) return FITS_DRIVER;
    if (wi_contains_any_case(info->name, selector)) return FITS_NAME;
    return wi_contains_any_case(info->vendor, selector) ? FITS_VENDOR : FITS_NOT;
}

static fit best_fit(const wi_device_list *list, const char *selector) {
    fit best = FITS_VENDOR;
    for (size_t i = 0; i < list->count && selector && !wi_is_device_position(selector); i++) {
        if (list->entries[i].status != WEFT_OK) continue;
        const fit own = fit_of(&list->entries[i], selector);
        if (own > best) best = own;
    }
    return best;
}

static bool fits(const wi_device_entry *entry, const char *selector, fit best) {
    if (!selector) return true;
    if (wi_is_device_position(selector)) return strcmp(entry->info.selector, selector) == 0;
    if (entry->status != WEFT_OK)
        /* This may be the device that was meant: if no other can be opened, its error is reported. */
        return true;
    return fit_of(entry, selector) == best;
}

static int kind_rank(const weft_device_info *info) {
    return info->is_gpu ? 2 : info->is_cpu ? 1 : 0;
}

/* Clock cycles of all compute units, to compare devices. Some drivers do not know the clock rate and report 0. */
static uint64_t cycles(const weft_device_info *info) {
    enum { USUAL_MHZ = 1000 };
    return (uint64_t)info->compute_units * (info->clock_mhz > 0 ? info->clock_mhz : USUAL_MHZ);
}

/* Whether a is tried before b. Otherwise equal devices keep the loader's order. */
static bool better(const wi_device_entry *a, const wi_device_entry *b) {
    if (a->usable != b->usable) return a->usable;
    if (kind_rank(&a->info) != kind_rank(&b->info)) return kind_rank(&a->info) > kind_rank(&b->info);
    return cycles(&a->info) > cycles(&b->info);
}

static void sort_best_first(wi_device_list *list) {
    for (size_t i = 1; i < list->count; i++) {
        const wi_device_entry entry = list->entries[i];
        size_t place = i;
        for (; place > 0 && better(&entry, &list->entries[place - 1]); place--)
            list->entries[place] = list->entries[place - 1];
        list->entries[place] = entry;
    }
}

static weft_status fail_none(const wi_device_list *list, const char *selector) {
    if (list->count == 0)
        WI_FAIL(WEFT_ERROR_NO_DEVICE,
            "no OpenCL device on this machine: install an OpenCL driver (pocl-opencl-icd runs on any CPU)");
    wi_text names;
    wi_text_init(&names, list->allocator);
    for (size_t i = 0; i < list->count; i++) {
        const weft_device_info *const info = &list->entries[i].info;
        wi_text_append(&names, "%s%s %s (%s)", i > 0 ? ", " : "", info->selector, info->name, info->platform);
    }
    weft_status status = WEFT_ERROR_MEMORY;
    if (!names.failed)
        status = wi_fail(
            WEFT_ERROR_NO_DEVICE, "no device matches the selector '%s'; available: %s", selector, names.data);
    wi_text_clear(&names);
    return status;
}

weft_status wi_device_list_select(wi_device_list *list, const char *selector) {
    const fit best = best_fit(list, selector);
    size_t fitting = 0;
    for (size_t i = 0; i < list->count; i++) fitting += fits(&list->entries[i], selector, best);
    if (fitting == 0) return fail_none(list, selector);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (fits(&list->entries[i], selector, best)) list->entries[kept++] = list->entries[i];
    }
    list->count = kept;
    sort_best_first(list);
    return WEFT_OK;
}

void wi_device_list_remove(wi_device_list *list, cl_device_id device) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].device != device) list->entries[kept++] = list->entries[i];
    list->count = kept;
}
