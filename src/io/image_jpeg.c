/* JPEG through libjpeg-turbo (contract in image_file.h).
 *
 * libjpeg reports errors by a function that must not return: ours writes the line and jumps back to `decode`,
 * which is the only place that calls setjmp. Everything that the jump could lose is in `reading`, outside of
 * the functions that it leaves. Truncated data and invalid codes, which libjpeg replaces by grey with a warning, are
 * errors here; superfluous bytes between markers are not. */
#ifdef WEFT_WITH_JPEG
#include "io/image_file.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
/* the library's headers want size_t and FILE before them */
#include <jpeglib.h>

#include <jerror.h>

/* Limits of the scans of a progressive image. libjpeg visits all pixels for each scan, but a scan may have only a few
 * bytes, so that a small file with many scans could take very long to decode. */
enum { MAX_SCANS = 1000, SCANS_OF_LARGEST = 32 };

typedef struct reading {
    struct jpeg_error_mgr errors; /* first: libjpeg hands back a pointer to it */
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    jmp_buf back;
    wi_picture *picture;
    const char *name;
    const unsigned char *data;
    size_t bytes;
    uint64_t max_pixels;
    unsigned char *row; /* of CMYK */
    weft_status status;
} reading;

static reading *reading_of(j_common_ptr common) {
    return (reading *)(void *)common->err;
}

static void fail_at(j_common_ptr common) {
    reading *const r = reading_of(common);
    char message[JMSG_LENGTH_MAX];
    common->err->format_message(common, message);
    if (r->status == WEFT_OK) {
        const bool memory = common->err->msg_code == JERR_OUT_OF_MEMORY;
        r->status = wi_fail(memory ? WEFT_ERROR_MEMORY : WEFT_ERROR_FORMAT,
            "'%s': the JPEG image is damaged or of an unsupported kind: %s", r->name, message);
    }
    longjmp(r->back, 1);
}

/* level: -1 for a warning, else a trace. */
static void judge_warning(j_common_ptr common, int level) {
    if (level >= 0) return;
    switch (common->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: fail_at(common); break;
    default: break;
    }
}

static void ignore_message(j_common_ptr common) {
    (void)common;
}

static void count_scans(j_common_ptr common) {
    reading *const r = reading_of(common);
    const uint64_t pixels = (uint64_t)r->jpeg.image_height * r->jpeg.image_width;
    const uint64_t scans = r->jpeg.input_scan_number > 0 ? (uint64_t)r->jpeg.input_scan_number : 0;
    if (scans <= MAX_SCANS && scans * pixels / SCANS_OF_LARGEST <= r->max_pixels) return;
    r->status = wi_fail(WEFT_ERROR_FORMAT,
        "'%s': the JPEG image of %u x %u pixels has %" PRIu64
        " scans or more; allowed are at most %d scans, and at most %d times max_pixels over all scans",
        r->name, r->jpeg.image_width, r->jpeg.image_height, scans, MAX_SCANS, SCANS_OF_LARGEST);
    longjmp(r->back, 1);
}

/* Adobe's files hold CMYK inverted; R = (255 - C)·(255 - K) / 255, rounded. */
static void rgb_of_cmyk(unsigned char *rgb, const unsigned char *cmyk, int64_t width, bool inverted) {
    const unsigned flip = inverted ? 0 : 255;
    for (int64_t x = 0; x < width; x++) {
        const unsigned key = cmyk[4 * x + 3] ^ flip;
        for (int64_t c = 0; c < 3; c++)
            rgb[3 * x + c] = (unsigned char)(((cmyk[4 * x + c] ^ flip) * key + 127) / 255);
    }
}

static void read_rows(reading *r) {
    struct jpeg_decompress_struct *const jpeg = &r->jpeg;
    const bool cmyk = jpeg->out_color_space == JCS_CMYK;
    while (jpeg->output_scanline < jpeg->output_height) {
        unsigned char *const target =
            r->picture->pixels + (size_t)jpeg->output_scanline * jpeg->output_width * 3;
        JSAMPROW row = cmyk ? r->row : target;
        (void)jpeg_read_scanlines(jpeg, &row, 1);
        if (cmyk) rgb_of_cmyk(target, r->row, jpeg->output_width, jpeg->saw_Adobe_marker);
    }
}

static void read_image(reading *r) {
    struct jpeg_decompress_struct *const jpeg = &r->jpeg;
    jpeg_mem_src(jpeg, r->data, (unsigned long)r->bytes);
    (void)jpeg_read_header(jpeg, TRUE);
    r->status = wi_picture_resize(r->picture, r->name, jpeg->image_height, jpeg->image_width, r->max_pixels);
    if (r->status != WEFT_OK) return;
    const bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    if (cmyk && !(r->row = wi_allocate_array(r->picture->allocator, jpeg->image_width, 4))) {
        r->status = WEFT_ERROR_MEMORY;
        return;
    }
    (void)jpeg_start_decompress(jpeg);
    read_rows(r);
    (void)jpeg_finish_decompress(jpeg);
}

static void decode(reading *r) {
    if (setjmp(r->back)) return; /* the error is recorded */
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.progress = &r->progress;
    read_image(r);
}

weft_status wi_picture_decode_jpeg(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels) {
    reading r = {.picture = picture, .name = name, .data = data, .bytes = bytes, .max_pixels = max_pixels};
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = fail_at;
    r.errors.emit_message = judge_warning;
    r.errors.output_message = ignore_message;
    r.progress.progress_monitor = count_scans;
    decode(&r);
    jpeg_destroy_decompress(&r.jpeg);
    wi_release(picture->allocator, r.row);
    return r.status;
}
#else
typedef int wi_without_jpeg; /* a file must not be empty */
#endif
