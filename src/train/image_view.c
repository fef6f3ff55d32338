/* Views of images (contract in image_view.h). */
#include "train/image_view.h"
#include <string.h>

wi_image_view wi_view_of(
    const unsigned char *pixels, int64_t channels, int64_t height, int64_t width, bool interleaved) {
    return (wi_image_view){.pixels = pixels,
        .row = (ptrdiff_t)(interleaved ? width * channels : width),
        .column = (ptrdiff_t)(interleaved ? channels : 1),
        .channel = (ptrdiff_t)(interleaved ? 1 : height * width),
        .source_height = height,
        .source_width = width,
        .height = height,
        .width = width};
}

void wi_view_crop(wi_image_view *view, int64_t top, int64_t left, int64_t height, int64_t width) {
    view->top += view->turned ? view->height - (top + height) : top;
    view->left += view->flipped ? view->width - (left + width) : left;
    view->height = height;
    view->width = width;
}

void wi_view_flip(wi_image_view *view) {
    view->flipped = !view->flipped;
}

void wi_view_turn(wi_image_view *view) {
    view->turned = !view->turned;
}

/* Orientations 5 to 8 transpose rows and columns first; 2, 3, 6 and 7 then exchange left and right, and 3, 4, 7 and 8 top
 * and bottom. */
void wi_view_orient(wi_image_view *view, int orientation) {
    if (orientation >= 5) {
        const wi_image_view from = *view;
        view->row = from.column;
        view->column = from.row;
        view->source_height = view->height = from.width;
        view->source_width = view->width = from.height;
    }
    view->flipped = (orientation >> 1) % 2 == 1;
    view->turned = orientation % 4 == 3 || (orientation > 0 && orientation % 4 == 0);
}

bool wi_view_is_whole(const wi_image_view *view) {
    return view->column == 1 && view->row == view->source_width &&
           view->channel == (ptrdiff_t)(view->source_height * view->source_width) && view->top == 0 &&
           view->left == 0 && view->height == view->source_height && view->width == view->source_width &&
           !view->flipped && !view->turned;
}

static void reverse(unsigned char *row, int64_t width) {
    for (int64_t x = 0, other = width - 1; x < other; x++, other--) {
        const unsigned char kept = row[x];
        row[x] = row[other];
        row[other] = kept;
    }
}

void wi_view_row(const wi_image_view *view, int64_t y, int64_t channel, unsigned char *row) {
    const int64_t source_y = view->top + (view->turned ? view->height - 1 - y : y), width = view->width;
    int64_t begin = view->left < 0 ? -view->left : 0, end = view->source_width - view->left;
    if (end > width) end = width;
    if (source_y < 0 || source_y >= view->source_height || begin >= end) {
        memset(row, 0, (size_t)width);
        return;
    }
    memset(row, 0, (size_t)begin);
    memset(row + end, 0, (size_t)(width - end));
    const unsigned char *const from = view->pixels + (ptrdiff_t)source_y * view->row +
                                      (ptrdiff_t)(view->left + begin) * view->column +
                                      (ptrdiff_t)channel * view->channel;
    if (view->column == 1) {
        memcpy(row + begin, from, (size_t)(end - begin));
    } else {
        const ptrdiff_t stride = view->column;
        for (int64_t x = begin; x < end; x++) row[x] = from[(ptrdiff_t)(x - begin) * stride];
    }
    if (view->flipped) reverse(row, width);
}
