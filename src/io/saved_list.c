/* Lists of the tensors and metadata of a file (contract in saved_list.h). */
#include "io/saved_list.h"
#include "base/platform.h"
#include "graph/variable_names.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void wi_saved_list_init(wi_saved_list *list, const weft_allocator *allocator) {
    *list = (wi_saved_list){0};
    wi_arena_init(&list->arena, allocator);
}

void wi_saved_list_empty(wi_saved_list *list) {
    wi_arena_clear(&list->arena);
    list->count = list->pair_count = 0;
}

void wi_saved_list_clear(wi_saved_list *list) {
    const weft_allocator *const allocator = list->arena.allocator;
    wi_arena_clear(&list->arena);
    wi_release(allocator, list->entries);
    wi_release(allocator, list->pairs);
    *list = (wi_saved_list){0};
}

weft_status wi_saved_list_add(wi_saved_list *list, const char *prefix, const wi_saved_entry *entry) {
    const size_t capacity = strlen(prefix) + strlen(entry->name) + 1;
    char *const name = wi_arena_take(&list->arena, capacity);
    if (!name) return WEFT_ERROR_MEMORY;
    snprintf(name, capacity, "%s%s", prefix, entry->name);
    WI_TRY(wi_grow(list->arena.allocator, (void **)&list->entries, &list->capacity, list->count + 1,
        sizeof *list->entries));
    list->entries[list->count] = *entry;
    list->entries[list->count++].name = name;
    return WEFT_OK;
}

wi_saved_entry wi_saved_entry_of(weft_tensor *variable) {
    wi_saved_entry entry = {.name = weft_tensor_name(variable),
        .dtype = variable->dtype,
        .rank = variable->shape.rank,
        .bytes = variable->variable->bytes,
        .variable = variable};
    for (int axis = 0; axis < entry.rank; axis++) entry.dims[axis] = variable->shape.dims[axis];
    return entry;
}

weft_status wi_saved_list_add_variable(wi_saved_list *list, weft_tensor *variable) {
    const wi_saved_entry entry = wi_saved_entry_of(variable);
    return wi_saved_list_add(list, "", &entry);
}

weft_status wi_saved_list_note(wi_saved_list *list, const char *key, const char *format, ...) {
    char value[256];
    wi_locale locale;
    va_list arguments;
    wi_locale_enter(&locale);
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    wi_locale_leave(&locale);
    return wi_saved_list_note_text(list, key, value);
}

weft_status wi_saved_list_note_text(wi_saved_list *list, const char *key, const char *value) {
    const wi_saved_pair pair = {wi_arena_string(&list->arena, key), wi_arena_string(&list->arena, value)};
    if (!pair.key || !pair.value) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_grow(list->arena.allocator, (void **)&list->pairs, &list->pair_capacity, list->pair_count + 1,
        sizeof *list->pairs));
    list->pairs[list->pair_count++] = pair;
    return WEFT_OK;
}

weft_status wi_saved_list_add_state(wi_saved_list *list, wi_host_state *state, size_t number) {
    char name[64];
    const size_t bytes = state->size(state);
    snprintf(name, sizeof name, "%s.%zu", state->kind, number);
    const wi_saved_entry entry = {.name = name,
        .dtype = WEFT_U8,
        .rank = 1,
        .dims = {(int64_t)bytes},
        .bytes = bytes,
        .state = state,
        .is_optional = true};
    return wi_saved_list_add(list, WI_RESERVED_PREFIX, &entry);
}

bool wi_saved_entry_is_divided(const wi_saved_entry *entry) {
    return !entry->variable && !entry->state && !entry->host && entry->bytes;
}

weft_status wi_saved_entry_check(const wi_saved_entry *entry) {
    if (!wi_saved_entry_is_divided(entry)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE,
        "'%s' is divided among several processes (shard_optimizer), so that only the checkpoints of its "
        "trainer "
        "have it; set the trainer's option checkpoint",
        entry->name);
}

weft_status wi_saved_entry_read(const wi_saved_entry *entry, void *data) {
    WI_TRY(wi_saved_entry_check(entry));
    if (entry->variable) return wi_variable_read(entry->variable, entry->offset, data, entry->bytes);
    if (entry->state) entry->state->save(entry->state, data);
    if (!entry->state && entry->bytes) memcpy(data, entry->host, entry->bytes);
    return WEFT_OK;
}

weft_status wi_saved_entry_write(const wi_saved_entry *entry, const void *data) {
    WI_TRY(wi_saved_entry_check(entry));
    if (entry->variable) return wi_variable_write(entry->variable, entry->offset, data, entry->bytes);
    if (entry->state) return entry->state->load(entry->state, data, entry->bytes);
    if (entry->bytes) memcpy(entry->host, data, entry->bytes);
    return WEFT_OK;
}
