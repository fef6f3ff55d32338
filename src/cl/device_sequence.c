/* Opening the devices of a list (contract in device_sequence.h). */
#include "cl/device_sequence.h"
#include "base/platform.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 256, MOST_PARTS = 4096 };

/* One entry of a list: SELECTOR, or SELECTOR/PARTS. */
typedef struct entry {
    char selector[MOST_TEXT];
    unsigned parts; /* 0: the whole device */
} entry;

static const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

/* Where the number of sub-devices begins in the text of this length; NULL: it has none, and a slash is part of a name. */
static const char *find_parts(const char *text, size_t length) {
    size_t digits = 0;
    while (digits < length && strchr("0123456789", text[length - digits - 1])) digits++;
    return digits > 0 && digits + 1 < length && text[length - digits - 1] == '/' ? text + length - digits
                                                                                 : NULL;
}

static weft_status read_entry(entry *e, const char *text, size_t length, const char *list) {
    while (length > 0 && strchr(" \t", text[length - 1])) length--;
    const char *const parts = find_parts(text, length);
    const size_t selector = parts ? (size_t)(parts - text) - 1 : length;
    const unsigned long count = parts ? strtoul(parts, NULL, 10) : 0;
    if (selector == 0 || selector >= MOST_TEXT)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: a selector in the list of devices '%.200s' is %s",
            list, selector ? "too long" : "empty");
    if (parts && (count == 0 || count > MOST_PARTS))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: '%.*s' asks for %lu sub-devices, expected 1 to %d",
            (int)length, text, count, MOST_PARTS);
    snprintf(e->selector, sizeof e->selector, "%.*s", (int)selector, text);
    e->parts = (unsigned)count;
    return WEFT_OK;
}

/* Names the device in the message of its error. */
static weft_status name_entry(const entry *e, const char *list, weft_status status) {
    char line[WI_ERROR_LINE];
    if (status == WEFT_ERROR_MEMORY) return status;
    wi_error_save(line, sizeof line);
    return wi_fail(status, "device '%s' of the list '%.200s': %s", e->selector, list, line);
}

static weft_status open_parts(weft_context *context, const weft_context_options *given, const entry *e) {
    weft_context_options options = *given;
    wi_device_place place = {
        .taken = context->devices, .taken_count = context->device_count, .parts = e->parts};
    options.device = e->selector;
    for (; place.part < (e->parts ? e->parts : 1); place.part++) {
        place.index = context->device_count;
        WI_TRY(wi_context_open_at(context, &options, &place));
    }
    return WEFT_OK;
}

/* Opens all devices of an entry, or none. */
static weft_status open_entry(
    weft_context *context, const weft_context_options *options, const entry *e, const char *list) {
    const int before = context->device_count;
    const weft_status status = open_parts(context, options, e);
    if (status == WEFT_OK) return WEFT_OK;
    while (context->device_count > before) wi_device_close(context->devices[--context->device_count]);
    (void)name_entry(e, list, status);
    if (!options->skip_failed_devices || status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_ARGUMENT)
        return status;
    wi_log_line(&context->log, WEFT_LOG_WARNING, "training goes on without a device: %s", weft_last_error());
    return WEFT_OK;
}

static weft_status open_list(weft_context *context, const weft_context_options *options, const char *list) {
    for (const char *text = skip_blanks(list);;) {
        const size_t length = strcspn(text, ",");
        entry e;
        WI_TRY(read_entry(&e, text, length, list));
        WI_TRY(open_entry(context, options, &e, list));
        if (text[length] == '\0') break;
        text = skip_blanks(text + length + 1);
    }
    if (context->device_count > 0) return wi_error_restore(""), WEFT_OK;
    WI_FAIL(WEFT_ERROR_NO_DEVICE, "no device of the list '%.200s' can be used; the last one: %s", list,
        weft_last_error());
}

/* A selector in the environment is a list if it has what only a list has. */
static const char *list_in_environment(const weft_context_options *options) {
    const char *const text = wi_environment("WEFT_DEVICE");
    if (options->device || options->cl_context || !text) return NULL;
    return strchr(text, ',') || find_parts(text, strlen(text)) ? text : NULL;
}

weft_status wi_context_open_devices(weft_context *context, const weft_context_options *options) {
    const char *const list = options->devices ? options->devices : list_in_environment(options);
    return list ? open_list(context, options, list) : wi_context_open_device(context, options);
}
