/* The data of a page (contract in page_json.h). */
#include "train/page/page_json.h"
#include "base/utf8.h"
#include "io/png_write.h"

#include <math.h>
#include <string.h>

void wi_page_write_string(wi_text *text, const char *string) {
    const char *const end = string + strlen(string);
    wi_text_append_bytes(text, "\"", 1);
    while (string < end) {
        const size_t length = wi_utf8_length(string, (size_t)(end - string));
        const bool is_plain = length > 0 && (unsigned char)*string >= ' ' && !strchr("\"\\<", *string);
        if (is_plain)
            wi_text_append_bytes(text, string, length);
        else
            wi_text_append(text, "\\u%04x", length ? (unsigned)(unsigned char)*string : 0xfffdu);
        string += length ? length : 1;
    }
    wi_text_append_bytes(text, "\"", 1);
}

void wi_page_write_number(wi_text *text, double number) {
    if (isfinite(number))
        wi_text_append(text, "%.7g", number);
    else
        wi_text_append(text, "null");
}

void wi_page_write_settings(
    wi_text *text, const char *name, const weft_hyperparameter *settings, size_t count) {
    text->length = 0;
    wi_text_append(text, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        wi_text_append(text, "%s[", i ? "," : "");
        wi_page_write_string(text, settings[i].name);
        wi_text_append(text, settings[i].text ? "," : ",\"");
        if (settings[i].text)
            wi_page_write_string(text, settings[i].text);
        else
            wi_text_append(text, "%.7g\"", settings[i].number);
        wi_text_append(text, "]");
    }
    wi_text_append(text, "]");
}

void wi_page_write_base64(wi_text *text, const unsigned char *data, size_t bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        char four[] = "====";
        unsigned group = 0;
        const size_t count = bytes - i < 3 ? bytes - i : 3;
        for (size_t k = 0; k < 3; k++) group = group << 8 | (k < count ? data[i + k] : 0u);
        for (size_t k = 0; k <= count; k++) four[k] = digits[group >> (18 - 6 * k) & 63];
        wi_text_append_bytes(text, four, 4);
    }
}

/* ---- network ---- */

static int64_t elements_of(const wi_event_node *node) {
    int64_t count = 1;
    for (int i = 0; i < node->rank; i++) count *= node->dims[i];
    return count;
}

/* The script of the page groups the nodes to layers. Constants and other sources without parameters are left out. */
void wi_page_write_network(wi_text *text, const wi_event_graph *graph) {
    enum { MOST_NODES = 2000 };
    int64_t parameters = 0;
    size_t listed = 0;
    text->length = 0;
    wi_text_append(text, ",\"nodes\":[");
    for (size_t i = 0; i < graph->count; i++) {
        const wi_event_node *const node = &graph->nodes[i];
        const int64_t count = node->is_parameter ? elements_of(node) : 0;
        const char *const texts[] = {node->name, node->op, node->shape};
        parameters += count;
        if (node->input_count == 0 && !count && strcmp(node->op, "input") != 0) continue;
        if (listed == MOST_NODES) continue;
        listed++;
        wi_text_append(text, listed > 1 ? ",[" : "[");
        for (size_t k = 0; k < 3; k++) {
            wi_page_write_string(text, texts[k]);
            wi_text_append(text, ",");
        }
        wi_text_append(text, "%lld]", (long long)count);
    }
    wi_text_append(text, "],\"parameters\":%lld", (long long)parameters);
}

/* ---- mistakes ---- */

/* LARGEST_MATRIX: the most classes for which the whole confusion matrix is written. For more classes, the LISTED most frequent confusions are
 * listed. */
enum { LARGEST_MATRIX = 64, LISTED = 40 };

static void write_matrix(wi_text *text, const wi_event_mistakes *m) {
    wi_text_append(text, ",\"counts\":[");
    for (size_t i = 0; i < m->classes * m->classes; i++)
        wi_text_append(text, "%s%u%s",
            i % m->classes ? ","
            : i            ? ",["
                           : "[",
            (unsigned)m->counts[i], (i + 1) % m->classes ? "" : "]");
    wi_text_append(text, "]");
}

/* The list is sorted while it is filled: a count moves up to its place, and the smallest falls out. */
static void write_pairs(wi_text *text, const wi_event_mistakes *m) {
    size_t found[LISTED + 1], count = 0;
    for (size_t i = 0; i < m->classes * m->classes; i++) {
        if (!m->counts[i] || i % (m->classes + 1) == 0) continue;
        size_t at = count;
        for (; at > 0 && m->counts[found[at - 1]] < m->counts[i]; at--) found[at] = found[at - 1];
        found[at] = i;
        count += count < LISTED;
    }
    wi_text_append(text, ",\"pairs\":[");
    for (size_t i = 0; i < count; i++)
        wi_text_append(text, "%s[%zu,%zu,%u]", i ? "," : "", found[i] / m->classes, found[i] % m->classes,
            (unsigned)m->counts[found[i]]);
    wi_text_append(text, "]");
}

static void write_names(wi_text *text, const wi_event_mistakes *m) {
    wi_text_append(text, ",\"names\":[");
    for (size_t i = 0; m->names && i < m->classes; i++) {
        wi_text_append(text, "%s", i ? "," : "");
        wi_page_write_string(text, m->names[i]);
    }
    wi_text_append(text, "]");
}

static weft_status write_picture(wi_text *text, const wi_event_mistakes *m, const unsigned char *pixels) {
    wi_text png;
    wi_text_init(&png, text->allocator);
    const weft_status status = wi_png_write(&png, &(wi_png_image){pixels, m->height, m->width, m->channels});
    wi_text_append(text, ",\"png\":\"");
    if (status == WEFT_OK) wi_page_write_base64(text, (const unsigned char *)png.data, png.length);
    wi_text_append(text, "\"");
    wi_text_clear(&png);
    return status;
}

static weft_status write_example(wi_text *text, const wi_event_mistakes *m, const wi_event_mistake *example) {
    wi_text_append(text,
        "%s{\"index\":%zu,\"label\":%d,\"predicted\":%d,\"loss\":", example == m->worst ? "" : ",",
        example->index, (int)example->label, (int)example->predicted);
    wi_page_write_number(text, example->loss);
    wi_text_append(text, ",\"probability\":");
    wi_page_write_number(text, example->probability);
    if (example->pixels) WI_TRY(write_picture(text, m, example->pixels));
    wi_text_append(text, "}");
    return WEFT_OK;
}

weft_status wi_page_write_mistakes(wi_text *text, const wi_event_mistakes *mistakes, size_t step) {
    text->length = 0;
    wi_text_append(
        text, ",\"rows\":[%zu,%zu],\"confusion\":{\"step\":%zu", mistakes->wrong, mistakes->rows, step);
    write_names(text, mistakes);
    if (mistakes->classes <= LARGEST_MATRIX)
        write_matrix(text, mistakes);
    else
        write_pairs(text, mistakes);
    wi_text_append(text, "},\"examples\":[");
    for (size_t i = 0; i < mistakes->count; i++) WI_TRY(write_example(text, mistakes, &mistakes->worst[i]));
    wi_text_append(text, "]");
    return WEFT_OK;
}

/* ---- profile ---- */

void wi_page_write_profile(wi_text *text, const wi_event_profile *profile, size_t step) {
    const weft_profile_info *const info = &profile->info;
    double listed = 0.0;
    text->length = 0;
    wi_text_append(text,
        ",\"profile\":{\"step\":%zu,\"wall\":%.6g,\"device\":%.6g,\"enqueue\":%.6g,\"flops\":%.6g,\"bytes\":%"
        ".6g,"
        "\"rows\":[",
        step, info->wall_seconds, info->device_seconds, info->enqueue_seconds, info->flops, info->bytes);
    for (size_t i = 0; i < profile->count; i++) {
        const weft_profile_row *const row = &profile->rows[i];
        const char *const texts[] = {row->kind, row->ops, row->shape, row->implementation};
        wi_text_append(text, "%s[", i ? "," : "");
        for (size_t k = 0; k < 4; k++) {
            wi_page_write_string(text, texts[k]);
            wi_text_append(text, ",");
        }
        wi_text_append(text, "%zu,%.4g,%.4g,%.4g]", row->launches, row->seconds, row->flops, row->bytes);
        listed += row->seconds;
    }
    wi_text_append(text, "]");
    if (info->rows > profile->count)
        wi_text_append(
            text, ",\"left\":[%zu,%.4g]", info->rows - profile->count, info->device_seconds - listed);
    wi_text_append(text, "}");
}

/* ---- all ---- */

static void write_curve(
    wi_text *text, const wi_page_curve *curve, const wi_page_point *points, size_t count) {
    wi_text_append(text, "{\"tag\":");
    wi_page_write_string(text, curve->tag);
    wi_text_append(text, ",\"every\":%zu,\"points\":[", curve->every);
    for (size_t i = 0; i < count; i++)
        wi_text_append(text, i ? ",[%zu,%.7g,%.7g]" : "[%zu,%.7g,%.7g]", points[i].step, points[i].time,
            points[i].value);
    wi_text_append(text, "]");
    if (curve->not_finite)
        wi_text_append(text, ",\"bad\":[%zu,%zu]", curve->not_finite, curve->first_not_finite);
    wi_text_append(text, "}");
}

static void write_curves(wi_text *text, const wi_page_history *history) {
    wi_text_append(text, ",\"curves_left_out\":%d,\"curves\":[", history->curves_left_out > 0);
    for (size_t i = 0; i < history->curve_count; i++) {
        const wi_page_curve *const curve = &history->curves[i];
        wi_page_point *const points =
            wi_allocate_array(history->allocator, wi_page_curve_size(curve), sizeof *points);
        text->failed = text->failed || !points;
        if (text->failed) return;
        wi_text_append(text, "%s", i ? ",\n" : "\n");
        write_curve(text, curve, points, wi_page_curve_points(curve, points));
        wi_release(history->allocator, points);
    }
    wi_text_append(text, "]");
}

static void write_albums(wi_text *text, const wi_page_history *history) {
    wi_text_append(text, ",\"pictures\":[");
    for (size_t i = 0; i < history->album_count; i++) {
        const wi_page_album *const album = &history->albums[i];
        wi_text_append(text, "%s{\"tag\":", i ? ",\n" : "\n");
        wi_page_write_string(text, album->tag);
        wi_text_append(text, ",\"shots\":[");
        for (size_t k = 0; k < album->count; k++) {
            wi_text_append(text, "%s{\"step\":%zu,\"png\":\"", k ? "," : "", album->shots[k].step);
            wi_text_append_bytes(text, album->shots[k].png, album->shots[k].bytes);
            wi_text_append(text, "\"}");
        }
        wi_text_append(text, "]}");
    }
    wi_text_append(text, "]");
}

static void write_texts(wi_text *text, const wi_page_history *history) {
    wi_text_append(text, ",\"texts\":[");
    for (size_t i = 0; i < history->text_count; i++) {
        wi_text_append(text, "%s{\"step\":%zu,\"tag\":", i ? "," : "", history->texts[i].step);
        wi_page_write_string(text, history->texts[i].tag);
        wi_text_append(text, ",\"text\":");
        wi_page_write_string(text, history->texts[i].text);
        wi_text_append(text, "}");
    }
    wi_text_append(text, "]");
}

static void append(wi_text *text, const wi_text *member) {
    text->failed = text->failed || member->failed;
    if (member->length) wi_text_append_bytes(text, member->data, member->length);
}

void wi_page_write_data(wi_text *text, const wi_page_history *history) {
    wi_text_append(text, "{\"state\":\"%s\",\"began\":%.3f,\"updated\":%.3f",
        history->has_ended ? "ended" : "running", history->began, history->updated);
    append(text, &history->facts);
    append(text, &history->settings);
    write_curves(text, history);
    append(text, &history->mistakes);
    write_albums(text, history);
    append(text, &history->profile);
    append(text, &history->network);
    write_texts(text, history);
    wi_text_append(text, "}");
}
