/* Event files, which TensorBoard reads (contract in event_sink.h): a sequence of records (TFRecord), each with one
 * message Event. event_message.c writes the messages.
 *
 * A record is the length of its data (8 bytes), the checksum of these bytes, the data, and the checksum of the data;
 * numbers begin with their lowest byte. Source: tensorflow.org, "TFRecord and tf.train.Example". */
#include "base/crc32c.h"
#include "base/host.h"
#include "base/platform.h"
#include "base/system_file.h"
#include "io/output_check.h"
#include "train/event_message.h"
#include "train/event_sink.h"
#include <stdatomic.h>
#include <stdio.h>

enum { BUFFER = 256 << 10 };

typedef struct event_file {
    wi_event_sink base;
    const weft_allocator *allocator;
    wi_line_file *file;
    wi_text path;
    wi_text message, records; /* records: those that are not written to the file yet */
    uint64_t written;         /* bytes of whole records in the file */
    bool is_broken;           /* the file ends with a part of a record, and cannot be truncated */
    bool has_settings;        /* which the table of runs shows as running until the end is written */
} event_file;

static event_file *file_of(wi_event_sink *sink) {
    return (event_file *)(void *)sink;
}

static void put_little_endian(wi_text *text, uint64_t number, int bytes) {
    for (int i = 0; i < bytes; i++) wi_text_append_bytes(text, (const char[]){(char)(number >> 8 * i)}, 1);
}

/* The masked checksum of a record: a checksum of data that contains checksums would be weak otherwise. */
static uint32_t masked(uint32_t crc) {
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static void append_record(wi_text *records, const wi_text *message) {
    const size_t begin = records->length;
    put_little_endian(records, message->length, 8);
    if (records->failed) return;
    put_little_endian(records, masked(wi_crc32c(records->data + begin, 8)), 4);
    wi_text_append_bytes(records, message->data, message->length);
    put_little_endian(records, masked(wi_crc32c(message->data, message->length)), 4);
}

/* Writes the records to the file. If that fails, as on a full disk, the file is truncated after its last whole record, so
 * that later records can follow, and the records are lost. */
static weft_status write_records(event_file *file) {
    const size_t bytes = file->records.length;
    file->records.length = 0;
    if (!wi_file_exists(file->path.data)) /* POSIX systems write on to a removed file */
        WI_FAIL(WEFT_ERROR_FILE, "the event file '%s' was removed", file->path.data);
    if (bytes == 0 || file->is_broken) return WEFT_OK;
    const weft_status status = wi_line_file_write(file->file, file->records.data, bytes);
    if (status == WEFT_OK) {
        file->written += bytes;
        return WEFT_OK;
    }
    char line[WI_ERROR_LINE];
    wi_error_save(line, sizeof line);
    file->is_broken = wi_line_file_cut(file->file, file->written) != WEFT_OK;
    wi_error_restore(line);
    return status;
}

/* Appends the message as a record. The records of a failed append are lost. */
static weft_status add_message(event_file *file) {
    if (!file->message.failed) append_record(&file->records, &file->message);
    if (file->message.failed || file->records.failed) {
        wi_text_clear(&file->message);
        wi_text_clear(&file->records);
        return WEFT_ERROR_MEMORY;
    }
    return file->records.length >= BUFFER ? write_records(file) : WEFT_OK;
}

static weft_status write_event(wi_event_sink *sink, const wi_event *event) {
    event_file *const file = file_of(sink);
    if (event->kind == WI_EVENT_MISTAKES || event->kind == WI_EVENT_PROFILE)
        return WEFT_OK; /* only the HTML page shows these events */
    const int messages = event->kind == WI_EVENT_SETTINGS ? 2 : 1;
    file->has_settings = file->has_settings || event->kind == WI_EVENT_SETTINGS;
    for (int i = 0; i < messages; i++) {
        file->message.length = 0;
        if (event->kind == WI_EVENT_SETTINGS)
            (i == 0 ? wi_event_message_experiment : wi_event_message_session)(&file->message, event);
        else
            wi_event_message(&file->message, event);
        WI_TRY(add_message(file));
    }
    return WEFT_OK;
}

static weft_status flush(wi_event_sink *sink) {
    return write_records(file_of(sink));
}

static void close_file(wi_event_sink *sink) {
    event_file *const file = file_of(sink);
    if (file->has_settings) {
        file->message.length = 0;
        wi_event_message_end(&file->message, wi_day_seconds());
        if (add_message(file) == WEFT_OK)
            (void)write_records(file); /* no caller can receive an error any more */
    }
    wi_line_file_close(file->file);
    wi_text_clear(&file->path);
    wi_text_clear(&file->message);
    wi_text_clear(&file->records);
    wi_release(file->allocator, file);
}

/* Begins the file with the version of the format. A run that continues then says from which step on readers are to
 * forget earlier events. */
static weft_status begin_file(event_file *file, size_t first_step) {
    const double now = wi_day_seconds();
    wi_event_message_version(&file->message, now);
    WI_TRY(add_message(file));
    if (first_step) {
        file->message.length = 0;
        wi_event_message_start(&file->message, now, first_step);
        WI_TRY(add_message(file));
    }
    return write_records(file);
}

/* Two files of one folder have different names: those of one process differ by their number, and others by the second,
 * machine or process. Readers take the files of a folder in the order of their names. */
static weft_status open_file(event_file *file, const wi_event_output *output) {
    static atomic_uint opened;
    char host[64];
    bool is_empty = false;
    wi_text *const path = &file->path;
    wi_host_name(host, sizeof host);
    WI_TRY(wi_folder_output_check(output->path));
    WI_TRY(wi_directory_create(output->path, false));
    wi_text_append(path, "%s/events.out.tfevents.%010.0f.%s.%ld.%u", output->path, wi_day_seconds(), host,
        wi_process_number(), atomic_fetch_add(&opened, 1));
    if (path->failed) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_line_file_open(&file->file, output->allocator, path->data, true, &is_empty));
    const weft_status status = begin_file(file, output->first_step);
    if (status == WEFT_OK) return WEFT_OK;
    wi_line_file_close(file->file);
    file->file = NULL;
    (void)wi_unlink(path->data); /* nothing is in the file */
    return status;
}

weft_status wi_event_file_open(wi_event_sink **sink, const wi_event_output *output) {
    *sink = NULL;
    event_file *const file = wi_allocate(output->allocator, sizeof *file);
    if (!file) return WEFT_ERROR_MEMORY;
    file->base = (wi_event_sink){write_event, flush, close_file};
    file->allocator = output->allocator;
    wi_text_init(&file->path, output->allocator);
    wi_text_init(&file->message, output->allocator);
    wi_text_init(&file->records, output->allocator);
    const weft_status status = open_file(file, output);
    if (status == WEFT_OK)
        *sink = &file->base;
    else
        close_file(&file->base);
    return status;
}
