/* The table of known devices (contract in known_devices.h). */
#include "cl/known_devices.h"
#include "cl/opened_device.h"
#include "cl/quirks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* `part` is compared with whole words ("A100" is not in "A1000"), except at an end with a star. Special rows come
 * first: "RTX 3060 Ti" before "RTX 3060". Figures of devices are the makers', at boost clocks. Figures of architectures
 * are what their devices have in common: lanes from the makers' descriptions, and a typical bandwidth from data sheets. */
#define DEVICE(name)          .level = WI_KNOWN_DEVICE, .part = (name)
#define ARCHITECTURE(name)    .level = WI_KNOWN_ARCHITECTURE, .part = (name)
#define VENDOR(name)          .level = WI_KNOWN_VENDOR, .part = (name)
#define TITLE(name, of, from) .title = (name), .architecture = (of), .source = (from)
/* Facts by their names in wi_known_facts. */
#define FIGURES(...) .facts = {__VA_ARGS__}

static const wi_known_device rows[] = {
    /* ---- devices of NVIDIA ---- */
    {DEVICE("T4"), TITLE("NVIDIA T4", "sm_75", "NVIDIA T4 data sheet"),
        FIGURES(.units = 40, .teraflops = 8.1, .gigabytes_second = 320, .gibibytes = 16, .no_display = 1)},
    {DEVICE("P100-SXM2"),
        FIGURES(.units = 56, .teraflops = 10.6, .gigabytes_second = 732, .gibibytes = 16, .no_display = 1)},
    {DEVICE("P100"),
        FIGURES(.units = 56, .teraflops = 9.3, .gigabytes_second = 732, .gibibytes = 16, .no_display = 1)},
    {DEVICE("V100-SXM2"), TITLE("NVIDIA V100-SXM2", "sm_70", "NVIDIA V100 data sheet"),
        FIGURES(.units = 80, .teraflops = 15.7, .gigabytes_second = 900, .gibibytes = 16, .no_display = 1)},
    {DEVICE("V100"),
        FIGURES(.units = 80, .teraflops = 14.0, .gigabytes_second = 900, .gibibytes = 16, .no_display = 1)},
    {DEVICE("A10"), FIGURES(.units = 72, .teraflops = 31.2, .gigabytes_second = 600, .gibibytes = 24,
                        .engine = 4, .no_display = 1)},
    {DEVICE("A30"), FIGURES(.units = 56, .teraflops = 10.3, .gigabytes_second = 933, .gibibytes = 24,
                        .engine = 16, .no_display = 1)},
    {DEVICE("A40"),
        FIGURES(.units = 84, .teraflops = 37.4, .gigabytes_second = 696, .gibibytes = 48, .engine = 4)},
    {DEVICE("A100 80GB"), FIGURES(.units = 108, .teraflops = 19.5, .gigabytes_second = 1935, .gibibytes = 80,
                              .engine = 16, .no_display = 1)},
    {DEVICE("A100-SXM4-80GB"), FIGURES(.units = 108, .teraflops = 19.5, .gigabytes_second = 2039,
                                   .gibibytes = 80, .engine = 16, .no_display = 1)},
    {DEVICE("A100"), TITLE("NVIDIA A100 PCIe", "sm_80", "NVIDIA A100 data sheet"),
        FIGURES(.units = 108, .teraflops = 19.5, .gigabytes_second = 1555, .gibibytes = 40, .engine = 16,
            .no_display = 1)},
    {DEVICE("A800"), FIGURES(.units = 108, .teraflops = 19.5, .gigabytes_second = 1935, .gibibytes = 80,
                         .engine = 16, .no_display = 1)},
    {DEVICE("L4"), TITLE("NVIDIA L4", "sm_89", "NVIDIA L4 data sheet"),
        FIGURES(.units = 58, .teraflops = 30.3, .gigabytes_second = 300, .gibibytes = 24, .engine = 4,
            .no_display = 1)},
    {DEVICE("L40S"),
        FIGURES(.units = 142, .teraflops = 91.6, .gigabytes_second = 864, .gibibytes = 48, .engine = 4)},
    {DEVICE("L40"), FIGURES(.units = 142, .teraflops = 90.5, .gigabytes_second = 864, .gibibytes = 48)},
    {DEVICE("H100 PCIe"), TITLE("NVIDIA H100 PCIe", "sm_90", "NVIDIA H100 data sheet"),
        FIGURES(.units = 114, .teraflops = 51.0, .gigabytes_second = 2000, .gibibytes = 80, .engine = 15,
            .no_display = 1)},
    {DEVICE("H100"), TITLE("NVIDIA H100 SXM", "sm_90", "NVIDIA H100 data sheet"),
        FIGURES(.units = 132, .teraflops = 66.9, .gigabytes_second = 3350, .gibibytes = 80, .engine = 15,
            .no_display = 1)},
    {DEVICE("H800"), FIGURES(.units = 132, .teraflops = 66.9, .gigabytes_second = 3350, .gibibytes = 80,
                         .engine = 15, .no_display = 1)},
    {DEVICE("H200"), FIGURES(.units = 132, .teraflops = 66.9, .gigabytes_second = 4800, .gibibytes = 141,
                         .engine = 15, .no_display = 1)},
    {DEVICE("GH200"), FIGURES(.units = 132, .teraflops = 66.9, .gigabytes_second = 4000, .gibibytes = 96,
                          .engine = 15, .no_display = 1)},
    {DEVICE("B200"), FIGURES(.units = 148, .teraflops = 75, .gigabytes_second = 7700, .gibibytes = 180,
                         .engine = 30, .no_display = 1)},
    {DEVICE("GB200"), FIGURES(.units = 148, .teraflops = 80, .gigabytes_second = 8000, .gibibytes = 186,
                          .engine = 31, .no_display = 1)},
    {DEVICE("Tesla"), FIGURES(.no_display = 1)},
    {DEVICE("RTX 3060 Ti"), FIGURES(.units = 38, .teraflops = 16.2, .gigabytes_second = 448, .gibibytes = 8)},
    {DEVICE("RTX 3060"),
        TITLE("NVIDIA RTX 3060", "sm_86", "NVIDIA Ampere GA10x whitepaper, GeForce RTX 3060 specifications"),
        FIGURES(.units = 28, .teraflops = 12.7, .gigabytes_second = 360, .gibibytes = 12)},
    {DEVICE("RTX 3080 Ti"),
        FIGURES(.units = 80, .teraflops = 34.1, .gigabytes_second = 912, .gibibytes = 12)},
    {DEVICE("RTX 3080"), FIGURES(.units = 68, .teraflops = 29.8, .gigabytes_second = 760, .gibibytes = 10)},
    {DEVICE("RTX 3090 Ti"),
        FIGURES(.units = 84, .teraflops = 40.0, .gigabytes_second = 1008, .gibibytes = 24)},
    {DEVICE("RTX 3090"), FIGURES(.units = 82, .teraflops = 35.6, .gigabytes_second = 936, .gibibytes = 24)},
    {DEVICE("RTX 4090"), TITLE("NVIDIA RTX 4090", "sm_89", "NVIDIA Ada GPU architecture whitepaper"),
        FIGURES(.units = 128, .teraflops = 82.6, .gigabytes_second = 1008, .gibibytes = 24)},
    {DEVICE("RTX 5090"),
        FIGURES(.units = 170, .teraflops = 104.8, .gigabytes_second = 1792, .gibibytes = 32)},
    /* ---- devices of AMD ---- */
    {DEVICE("RX 6600 XT"), FIGURES(.units = 16, .teraflops = 10.6, .gigabytes_second = 256, .gibibytes = 8)},
    {DEVICE("RX 6600"), TITLE("AMD RX 6600", "gfx1032", "AMD Radeon RX 6600 specifications"),
        FIGURES(.units = 14, .teraflops = 8.9, .gigabytes_second = 224, .gibibytes = 8)},
    {DEVICE("RX 7900 XTX"), TITLE("AMD RX 7900 XTX", "gfx1100", "AMD Radeon RX 7900 XTX specifications"),
        FIGURES(.units = 48, .teraflops = 61.4, .gigabytes_second = 960, .gibibytes = 24)},
    {DEVICE("RX 7900 XT"), FIGURES(.units = 42, .teraflops = 51.6, .gigabytes_second = 800, .gibibytes = 20)},
    {DEVICE("RX 9070 XT"), FIGURES(.units = 32, .teraflops = 48.7, .gigabytes_second = 640, .gibibytes = 16)},
    {DEVICE("MI210"), TITLE("AMD Instinct MI210", "gfx90a", "AMD Instinct MI210 data sheet"),
        FIGURES(.units = 104, .teraflops = 22.6, .gigabytes_second = 1638, .gibibytes = 64, .no_display = 1)},
    {DEVICE("MI250X"), FIGURES(.units = 110, .teraflops = 23.9, .gigabytes_second = 1638, .gibibytes = 64,
                           .no_display = 1)}, /* the figures are for each of the card's two devices */
    {DEVICE("MI300X"), TITLE("AMD Instinct MI300X", "gfx942", "AMD Instinct MI300X data sheet"),
        FIGURES(.units = 304, .teraflops = 163.4, .gigabytes_second = 5300, .gibibytes = 192,
            .no_display = 1)},
    {DEVICE("Instinct"), FIGURES(.no_display = 1)},
    /* Mesa counts compute units, AMD's driver counts pairs of them: github.com/ProjectPhysX/OpenCL-Benchmark/issues/7 */
    {DEVICE("radeonsi, navi*"), FIGURES(.parts = 2)},
    {DEVICE("radeonsi, gfx1*"), FIGURES(.parts = 2)},
    /* ---- devices of Intel ---- */
    {DEVICE("A380"), TITLE("Intel Arc A380", "ip_12.56", "Intel ARK, Arc A380: 8 Xe-cores at 2.0 GHz"),
        FIGURES(.units = 8, .teraflops = 4.1, .gigabytes_second = 186, .gibibytes = 6)},
    {DEVICE("A770"), TITLE("Intel Arc A770", "ip_12.55", "Intel ARK, Arc A770: 32 Xe-cores at 2.1 GHz"),
        FIGURES(.units = 32, .teraflops = 17.2, .gigabytes_second = 560, .gibibytes = 16)},
    {DEVICE("B580"),
        FIGURES(.units = 20, .teraflops = 13.7, .gigabytes_second = 456, .gibibytes = 12, .parts = 8)},
    {DEVICE("B570"),
        FIGURES(.units = 18, .teraflops = 11.5, .gigabytes_second = 380, .gibibytes = 10, .parts = 8)},
    {DEVICE("Data Center GPU Max 1550"), FIGURES(.units = 128, .teraflops = 52.4, .gigabytes_second = 3277,
                                             .gibibytes = 128, .no_display = 1)},
    {DEVICE("Data Center GPU Max*"), FIGURES(.parts = 8, .engine = 16, .no_display = 1)},
    {DEVICE("Data Center GPU*"), FIGURES(.no_display = 1)},
    {DEVICE("*HD Graphics 5*"), FIGURES(.parts = 8, .lanes = 64)},
    {DEVICE("*HD Graphics 6*"), FIGURES(.parts = 8, .lanes = 64)},
    /* ---- architectures of NVIDIA, by compute capability ---- */
    {ARCHITECTURE("sm_5"), FIGURES(.lanes = 128, .unit_gigabytes = 15, .f64 = 1.0 / 32)},
    {ARCHITECTURE("sm_60"), FIGURES(.lanes = 64, .unit_gigabytes = 13, .f64 = 1.0 / 2)},
    {ARCHITECTURE("sm_6"), FIGURES(.lanes = 128, .unit_gigabytes = 16, .f64 = 1.0 / 32)},
    {ARCHITECTURE("sm_70"), FIGURES(.lanes = 64, .issues = 2, .unit_gigabytes = 11, .f64 = 1.0 / 2)},
    {ARCHITECTURE("sm_7"), FIGURES(.lanes = 64, .issues = 2, .unit_gigabytes = 9, .f64 = 1.0 / 32)},
    {ARCHITECTURE("sm_80"),
        FIGURES(.lanes = 64, .issues = 2, .unit_gigabytes = 15, .f64 = 1.0 / 2, .engine = 16)},
    {ARCHITECTURE("sm_8"), FIGURES(.lanes = 128, .unit_gigabytes = 10, .f64 = 1.0 / 64, .engine = 2)},
    {ARCHITECTURE("sm_9"), FIGURES(.lanes = 128, .unit_gigabytes = 25, .f64 = 1.0 / 2, .engine = 15)},
    {ARCHITECTURE("sm_10"), FIGURES(.lanes = 128, .unit_gigabytes = 52, .f64 = 1.0 / 2, .engine = 30)},
    {ARCHITECTURE("sm_12"), FIGURES(.lanes = 128, .unit_gigabytes = 11, .f64 = 1.0 / 64, .engine = 2)},
    /* ---- architectures of AMD, as its drivers name devices; units of RDNA are pairs of compute units ---- */
    {ARCHITECTURE("gfx906"), FIGURES(.lanes = 64, .unit_gigabytes = 17, .f64 = 1.0 / 2)},
    {ARCHITECTURE("gfx908"),
        FIGURES(.lanes = 64, .unit_gigabytes = 10, .f64 = 1.0 / 2, .engine = 8, .no_display = 1)},
    {ARCHITECTURE("gfx90a"),
        FIGURES(.lanes = 64, .unit_gigabytes = 16, .f64 = 1, .engine = 8, .no_display = 1)},
    {ARCHITECTURE("gfx90"), FIGURES(.lanes = 64, .unit_gigabytes = 7.6, .f64 = 1.0 / 16)},
    {ARCHITECTURE("gfx94"),
        FIGURES(.lanes = 128, .unit_gigabytes = 17, .f64 = 1.0 / 2, .engine = 8, .no_display = 1)},
    {ARCHITECTURE("gfx950"),
        FIGURES(.lanes = 128, .unit_gigabytes = 31, .f64 = 1.0 / 2, .engine = 16, .no_display = 1)},
    {ARCHITECTURE("gfx103"), FIGURES(.lanes = 128, .unit_gigabytes = 13, .f64 = 1.0 / 16)},
    {ARCHITECTURE("gfx10"), FIGURES(.lanes = 128, .unit_gigabytes = 22, .f64 = 1.0 / 16)},
    {ARCHITECTURE("gfx11"), FIGURES(.lanes = 256, .unit_gigabytes = 19, .f64 = 1.0 / 32, .engine = 2)},
    {ARCHITECTURE("gfx12"), FIGURES(.lanes = 256, .unit_gigabytes = 20, .f64 = 1.0 / 32, .engine = 4)},
    /* ---- architectures of Intel, by version: 9 and 11 Gen9 and Gen11, 12.5 Xe-HPG, 12.6 Xe-HPC, 12.7 Meteor Lake and
     * Arrow Lake, 20 Xe2, 12 other Xe ---- */
    {ARCHITECTURE("ip_9."), FIGURES(.parts = 8, .lanes = 64, .unit_gigabytes = 11)},
    {ARCHITECTURE("ip_11."), FIGURES(.parts = 8, .lanes = 64, .unit_gigabytes = 6)},
    {ARCHITECTURE("ip_12.5"), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 18, .engine = 8)},
    {ARCHITECTURE("ip_12.6"), FIGURES(.parts = 8, .lanes = 128, .unit_gigabytes = 25, .engine = 16)},
    {ARCHITECTURE("ip_12.7"), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 13, .engine = 8)},
    {ARCHITECTURE("ip_20.4"), FIGURES(.parts = 8, .lanes = 128, .unit_gigabytes = 17, .engine = 8)},
    {ARCHITECTURE("ip_20."), FIGURES(.parts = 8, .lanes = 128, .unit_gigabytes = 22, .engine = 8)},
    {ARCHITECTURE("ip_12."), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 9)},
    /* ---- vendors, for facts that no row above has. Intel's driver counts vector engines. near_bytes: the data port of
     * a subslice reads 64 bytes a clock ("The Compute Architecture of Intel Processor Graphics Gen9"). ---- */
    {VENDOR("NVIDIA"),
        FIGURES(.lanes = 128, .unit_gigabytes = 10, .f64 = 1.0 / 64, .group = 1024, .local_kibibytes = 48)},
    {VENDOR("Advanced Micro"),
        FIGURES(.lanes = 64, .unit_gigabytes = 10, .group = 1024, .local_kibibytes = 64)},
    {VENDOR("AMD"), FIGURES(.lanes = 64, .unit_gigabytes = 10, .group = 1024, .local_kibibytes = 64)},
    {VENDOR("Intel"), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 9, .near_bytes = 64, .group = 1024,
                          .local_kibibytes = 64, .few_registers = 1)},
};

enum { ROWS = sizeof rows / sizeof *rows, FACTS = sizeof(wi_known_facts) / sizeof(double) };

const wi_known_device *wi_known_device_row(int index) {
    return index < ROWS ? &rows[index] : NULL;
}

/* Whether `part`, without stars, is at position `at` of the text. begins, ends: a word must begin or end there. */
static bool stands_at(const char *text, size_t at, const char *part, size_t length, bool begins, bool ends) {
    if (strncasecmp(text + at, part, length) != 0) return false;
    return (!begins || at == 0 || !isalnum((unsigned char)text[at - 1])) &&
           (!ends || !isalnum((unsigned char)text[at + length]));
}

static bool has_words(const char *text, const char *part) {
    const bool begins = part[0] != '*', ends = part[strlen(part) - 1] != '*';
    const char *const first = begins ? part : part + 1;
    const size_t length = strlen(first) - (ends ? 0 : 1);
    for (size_t at = 0; text && strlen(text + at) >= length; at++)
        if (stands_at(text, at, first, length, begins, ends)) return true;
    return false;
}

static bool fits(const wi_known_device *row, const wi_capabilities *caps) {
    switch (row->level) {
    case WI_KNOWN_DEVICE: return has_words(caps->name, row->part) || has_words(caps->board, row->part);
    case WI_KNOWN_ARCHITECTURE: return strncmp(caps->architecture, row->part, strlen(row->part)) == 0;
    case WI_KNOWN_VENDOR: return has_words(caps->vendor, row->part);
    default: return false;
    }
}

wi_known_facts wi_known_facts_of(const wi_capabilities *caps, wi_known_level *level) {
    double found[FACTS] = {0}, own[FACTS];
    wi_known_facts facts;
    *level = WI_KNOWN_NOT;
    for (int i = 0; i < ROWS; i++) {
        if (!fits(&rows[i], caps)) continue;
        if (*level == WI_KNOWN_NOT) *level = rows[i].level;
        memcpy(own, &rows[i].facts, sizeof own);
        for (int k = 0; k < FACTS; k++)
            if (found[k] <= 0.0) found[k] = own[k];
    }
    memcpy(&facts, found, sizeof facts);
    return facts;
}

wi_capabilities wi_known_capabilities(const wi_known_device *known) {
    wi_known_level level;
    wi_capabilities caps = {.device_class = WEFT_CLASS_GPU,
        .type = CL_DEVICE_TYPE_GPU,
        .name = known->title,
        .vendor = known->title,
        .own_memory = true};
    snprintf(caps.architecture, sizeof caps.architecture, "%s", known->architecture);
    const wi_known_facts facts = wi_known_facts_of(&caps, &level);
    caps.compute_units = (cl_uint)(facts.units * (facts.parts > 0.0 ? facts.parts : 1.0));
    caps.max_work_group_size = (size_t)facts.group;
    for (int i = 0; i < 3; i++) caps.max_work_item_sizes[i] = caps.max_work_group_size;
    caps.local_memory = (cl_ulong)(facts.local_kibibytes * 1024.0);
    caps.quirks = facts.few_registers > 0.0 ? WI_QUIRK_FEW_REGISTERS : 0;
    return caps;
}

void wi_device_estimate_as_known(wi_device *device, const wi_known_device *known) {
    const wi_capabilities caps = wi_known_capabilities(known);
    device->profile = wi_device_profile_of(&caps);
    device->profile.library_gemm = false;
}
