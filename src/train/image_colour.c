/* Colours of images (contract in image_planes.h). Most changes are a table of the 256 values of a byte. */
#include "train/image_planes.h"

static size_t plane_size(const wi_planes *p) {
    return (size_t)p->height * (size_t)p->width;
}

/* Looks up the bytes of channels first .. end - 1. */
static void look_up(wi_planes *p, int64_t first, int64_t end, const unsigned char table[256]) {
    unsigned char *const pixels = p->pixels + (size_t)first * plane_size(p);
    const size_t count = (size_t)(end - first) * plane_size(p);
    for (size_t i = 0; i < count; i++) pixels[i] = table[pixels[i]];
}

/* Blends all pixels with one value. */
static void blend_all(wi_planes *p, int64_t other, int64_t factor) {
    unsigned char table[256];
    for (int64_t i = 0; i < 256; i++) table[i] = wi_blend(other, i, factor);
    look_up(p, 0, p->channels, table);
}

void wi_planes_brighten(wi_planes *p, int64_t factor) {
    blend_all(p, 0, factor);
}

/* The mean luma, rounded; the mean of all channels unless there are three. */
static int64_t mean_luma(const wi_planes *p) {
    const size_t count = plane_size(p), all = p->channels == 3 ? count : count * (size_t)p->channels;
    const unsigned char *const pixels = p->pixels;
    uint64_t sum = 0;
    for (size_t i = 0; i < all; i++)
        sum += p->channels == 3 ? wi_luma(pixels[i], pixels[i + count], pixels[i + 2 * count]) : pixels[i];
    return (int64_t)((2 * sum + all) / (2 * (uint64_t)all));
}

void wi_planes_contrast(wi_planes *p, int64_t factor) {
    blend_all(p, mean_luma(p), factor);
}

void wi_planes_saturate(wi_planes *p, int64_t factor) {
    if (p->channels != 3) return;
    const size_t count = plane_size(p);
    unsigned char *const red = p->pixels, *const green = red + count, *const blue = green + count;
    for (size_t i = 0; i < count; i++) {
        const int64_t grey = wi_luma(red[i], green[i], blue[i]);
        red[i] = wi_blend(grey, red[i], factor);
        green[i] = wi_blend(grey, green[i], factor);
        blue[i] = wi_blend(grey, blue[i], factor);
    }
}

void wi_planes_grey(wi_planes *p) {
    wi_planes_saturate(p, 0);
}

/* The hue of a pixel in units of 2^-16 of a sixth of a turn, -1 to 5 sixths: 0 is red, 2 green and 4 blue. inverse: 2^24
 * divided by the difference between the largest and the smallest channel. */
static int32_t hue_of(int32_t red, int32_t green, int32_t blue, int32_t most, uint32_t inverse) {
    const int32_t sixth = most == red ? 0 : most == green ? 2 : 4;
    const int32_t difference = most == red ? green - blue : most == green ? blue - red : red - green;
    return sixth * WI_UNIT + difference * (int32_t)inverse / 256;
}

/* HSV: within a sixth of a turn one channel is the largest, one the smallest, and the third rises or falls between both. */
void wi_planes_turn_hue(wi_planes *p, int64_t turn) {
    enum { MOST, LEAST, FALLING, RISING };
    static const unsigned char sixths[6][3] = {{MOST, RISING, LEAST}, {FALLING, MOST, LEAST},
        {LEAST, MOST, RISING}, {LEAST, FALLING, MOST}, {RISING, LEAST, MOST}, {MOST, LEAST, FALLING}};
    if (p->channels != 3) return;
    const size_t count = plane_size(p);
    unsigned char *const red = p->pixels, *const green = red + count, *const blue = green + count;
    const int32_t whole = 6 * WI_UNIT, offset = (int32_t)(turn < 0 ? 6 * turn + whole : 6 * turn);
    uint32_t inverses[256] = {0};
    for (uint32_t i = 1; i < 256; i++) inverses[i] = ((1u << 24) + i / 2) / i;
    for (size_t i = 0; i < count; i++) {
        const int32_t r = red[i], g = green[i], b = blue[i];
        const int32_t upper = r > g ? r : g, lower = r < g ? r : g;
        const int32_t most = upper > b ? upper : b, least = lower < b ? lower : b, range = most - least;
        int32_t hue = hue_of(r, g, b, most, inverses[range]) + offset;
        if (hue < 0) hue += whole;
        if (hue >= whole) hue -= whole;
        const int32_t part = (range * (hue & (WI_UNIT - 1)) + WI_UNIT / 2) >> 16;
        const int32_t values[] = {most, least, most - part, least + part};
        const unsigned char *const from = sixths[hue >> 16];
        red[i] = (unsigned char)values[from[0]];
        green[i] = (unsigned char)values[from[1]];
        blue[i] = (unsigned char)values[from[2]];
    }
}

void wi_planes_solarize(wi_planes *p, int64_t doubled_threshold, int64_t mask) {
    unsigned char table[256];
    for (int64_t i = 0; i < 256; i++)
        table[i] = (unsigned char)((2 * i < doubled_threshold ? i : 255 - i) & mask);
    look_up(p, 0, p->channels, table);
}

void wi_planes_stretch(wi_planes *p, bool equalizes) {
    const int64_t count = (int64_t)plane_size(p);
    for (int64_t c = 0; c < p->channels; c++) {
        int64_t counts[256] = {0}, least = 0, most = 255;
        unsigned char table[256];
        for (int64_t i = 0; i < count; i++) counts[p->pixels[c * count + i]]++;
        while (counts[most] == 0) most--;
        while (counts[least] == 0) least++;
        const int64_t step = equalizes ? (count - counts[most]) / 255 : most - least;
        if (step == 0) continue;
        for (int64_t i = 0, sum = step / 2; i < 256; sum += counts[i++]) {
            const int64_t value = equalizes ? sum / step : (i - least) * 255 / step;
            table[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
        look_up(p, c, c + 1, table);
    }
}
