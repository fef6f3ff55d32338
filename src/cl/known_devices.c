/* The table of devices (contract in known_devices.h). */
#include "cl/known_devices.h"
#include "cl/opened_device.h"
#include "cl/quirks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A part stands for whole words ("A100" is not in "A1000"), but where it begins or ends with a star. What is special comes first:
 * "RTX 3060 Ti" before "RTX 3060". Figures of devices are the makers' at boost clocks. Those of architectures are what their devices have
 * in common: lanes by the makers' descriptions, memory as a middle of their data sheets. */
#define DEVICE(name)          .level = WI_KNOWN_DEVICE, .part = (name)
#define ARCHITECTURE(name)    .level = WI_KNOWN_ARCHITECTURE, .part = (name)
#define VENDOR(name)          .level = WI_KNOWN_VENDOR, .part = (name)
#define TITLE(name, of, from) .title = (name), .architecture = (of), .source = (from)
/* Of a whole device: units, teraflops, gigabytes a second, gibibytes. */
#define FIGURES(...) .facts = {__VA_ARGS__}

static const wi_known_device rows[] = {
    /* ---- devices: NVIDIA's ---- */
    {DEVICE("T4"), TITLE("NVIDIA T4", "sm_75", "NVIDIA T4 data sheet"),
        FIGURES(40, 8.1, 320, 16, .no_display = 1)},
    {DEVICE("P100"), FIGURES(56, 9.3, 732, 16, .no_display = 1)},
    {DEVICE("V100"), FIGURES(80, 14.0, 900, 16, .no_display = 1)},
    {DEVICE("A10"), FIGURES(72, 31.2, 600, 24, .engine = 4, .no_display = 1)},
    {DEVICE("A30"), FIGURES(56, 10.3, 933, 24, .engine = 16, .no_display = 1)},
    {DEVICE("A40"), FIGURES(84, 37.4, 696, 48, .engine = 4)},
    {DEVICE("A100 80GB"), FIGURES(108, 19.5, 1935, 80, .engine = 16, .no_display = 1)},
    {DEVICE("A100-SXM4-80GB"), FIGURES(108, 19.5, 2039, 80, .engine = 16, .no_display = 1)},
    {DEVICE("A100"), TITLE("NVIDIA A100 PCIe", "sm_80", "NVIDIA A100 data sheet"),
        FIGURES(108, 19.5, 1555, 40, .engine = 16, .no_display = 1)},
    {DEVICE("A800"), FIGURES(108, 19.5, 1935, 80, .engine = 16, .no_display = 1)},
    {DEVICE("L4"), TITLE("NVIDIA L4", "sm_89", "NVIDIA L4 data sheet"),
        FIGURES(58, 30.3, 300, 24, .engine = 4, .no_display = 1)},
    {DEVICE("L40S"), FIGURES(142, 91.6, 864, 48, .engine = 4)},
    {DEVICE("L40"), FIGURES(142, 90.5, 864, 48)},
    {DEVICE("H100 PCIe"), TITLE("NVIDIA H100 PCIe", "sm_90", "NVIDIA H100 data sheet"),
        FIGURES(114, 51.0, 2000, 80, .engine = 15, .no_display = 1)},
    {DEVICE("H100"), TITLE("NVIDIA H100 SXM", "sm_90", "NVIDIA H100 data sheet"),
        FIGURES(132, 66.9, 3350, 80, .engine = 15, .no_display = 1)},
    {DEVICE("H800"), FIGURES(132, 66.9, 3350, 80, .engine = 15, .no_display = 1)},
    {DEVICE("H200"), FIGURES(132, 66.9, 4800, 141, .engine = 15, .no_display = 1)},
    {DEVICE("GH200"), FIGURES(132, 66.9, 4000, 96, .engine = 15, .no_display = 1)},
    {DEVICE("B200"), FIGURES(148, 80, 8000, 180, .engine = 28, .no_display = 1)},
    {DEVICE("GB200"), FIGURES(148, 80, 8000, 180, .engine = 28, .no_display = 1)},
    {DEVICE("Tesla"), FIGURES(.no_display = 1)},
    {DEVICE("RTX 3060 Ti"), FIGURES(38, 16.2, 448, 8)},
    {DEVICE("RTX 3060"),
        TITLE("NVIDIA RTX 3060", "sm_86", "NVIDIA Ampere GA10x whitepaper, GeForce RTX 3060 specifications"),
        FIGURES(28, 12.7, 360, 12)},
    {DEVICE("RTX 3080 Ti"), FIGURES(80, 34.1, 912, 12)},
    {DEVICE("RTX 3080"), FIGURES(68, 29.8, 760, 10)},
    {DEVICE("RTX 3090"), FIGURES(82, 35.6, 936, 24)},
    {DEVICE("RTX 4090"), TITLE("NVIDIA RTX 4090", "sm_89", "NVIDIA Ada GPU architecture whitepaper"),
        FIGURES(128, 82.6, 1008, 24)},
    {DEVICE("RTX 5090"), FIGURES(170, 104.8, 1792, 32)},
    /* ---- AMD's ---- */
    {DEVICE("RX 6600 XT"), FIGURES(16, 10.6, 256, 8)},
    {DEVICE("RX 6600"), TITLE("AMD RX 6600", "gfx1032", "AMD Radeon RX 6600 specifications"),
        FIGURES(14, 8.9, 224, 8)},
    {DEVICE("RX 7900 XTX"), TITLE("AMD RX 7900 XTX", "gfx1100", "AMD Radeon RX 7900 XTX specifications"),
        FIGURES(48, 61.4, 960, 24)},
    {DEVICE("RX 7900 XT"), FIGURES(42, 51.6, 800, 20)},
    {DEVICE("RX 9070 XT"), FIGURES(32, 48.7, 640, 16)},
    {DEVICE("MI210"), TITLE("AMD Instinct MI210", "gfx90a", "AMD Instinct MI210 data sheet"),
        FIGURES(104, 22.6, 1638, 64, .no_display = 1)},
    {DEVICE("MI250X"), FIGURES(110, 23.9, 1638, 64, .no_display = 1)}, /* each of its two devices */
    {DEVICE("MI300X"), TITLE("AMD Instinct MI300X", "gfx942", "AMD Instinct MI300X data sheet"),
        FIGURES(304, 163.4, 5300, 192, .no_display = 1)},
    {DEVICE("Instinct"), FIGURES(.no_display = 1)},
    /* Mesa counts compute units, of which AMD's driver counts pairs: github.com/ProjectPhysX/OpenCL-Benchmark/issues/7 */
    {DEVICE("radeonsi, navi*"), FIGURES(.parts = 2)},
    {DEVICE("radeonsi, gfx1*"), FIGURES(.parts = 2)},
    /* ---- Intel's ---- */
    {DEVICE("A380"), TITLE("Intel Arc A380", "ip_12.56", "Intel ARK, Arc A380: 8 Xe-cores at 2.0 GHz"),
        FIGURES(8, 4.1, 186, 6)},
    {DEVICE("A770"), TITLE("Intel Arc A770", "ip_12.55", "Intel ARK, Arc A770: 32 Xe-cores at 2.1 GHz"),
        FIGURES(32, 17.2, 560, 16)},
    {DEVICE("B580"), FIGURES(20, 13.7, 456, 12, .parts = 8)},
    {DEVICE("B570"), FIGURES(18, 11.5, 380, 10, .parts = 8)},
    {DEVICE("Data Center GPU Max 1550"), FIGURES(128, 52.4, 3277, 128, .no_display = 1)},
    {DEVICE("Data Center GPU Max*"), FIGURES(.parts = 8, .engine = 16, .no_display = 1)},
    {DEVICE("Data Center GPU*"), FIGURES(.no_display = 1)},
    {DEVICE("*HD Graphics 5*"), FIGURES(.parts = 8, .lanes = 64)},
    {DEVICE("*HD Graphics 6*"), FIGURES(.parts = 8, .lanes = 64)},
    /* ---- architectures: NVIDIA's, by compute capability ---- */
    {ARCHITECTURE("sm_60"), FIGURES(.lanes = 64, .unit_gigabytes = 13, .f64 = 1.0 / 2)},
    {ARCHITECTURE("sm_70"), FIGURES(.lanes = 64, .unit_gigabytes = 11, .f64 = 1.0 / 2)},
    {ARCHITECTURE("sm_7"), FIGURES(.lanes = 64, .unit_gigabytes = 9, .f64 = 1.0 / 32)},
    {ARCHITECTURE("sm_80"), FIGURES(.lanes = 64, .unit_gigabytes = 15, .f64 = 1.0 / 2, .engine = 16)},
    {ARCHITECTURE("sm_8"), FIGURES(.lanes = 128, .unit_gigabytes = 10, .f64 = 1.0 / 64, .engine = 2)},
    {ARCHITECTURE("sm_9"), FIGURES(.lanes = 128, .unit_gigabytes = 25, .f64 = 1.0 / 2, .engine = 15)},
    {ARCHITECTURE("sm_10"), FIGURES(.lanes = 128, .unit_gigabytes = 54, .f64 = 1.0 / 2, .engine = 28)},
    {ARCHITECTURE("sm_12"), FIGURES(.lanes = 128, .unit_gigabytes = 11, .f64 = 1.0 / 64, .engine = 2)},
    /* ---- AMD's, as its drivers name devices; RDNA's units are pairs ---- */
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
    /* ---- Intel's, by its version: Gen9 and Gen11, Xe-HPG, Xe-HPC, Meteor Lake and Arrow Lake, Xe2, the others of Xe ---- */
    {ARCHITECTURE("ip_9."), FIGURES(.parts = 8, .lanes = 64, .unit_gigabytes = 11)},
    {ARCHITECTURE("ip_11."), FIGURES(.parts = 8, .lanes = 64, .unit_gigabytes = 6)},
    {ARCHITECTURE("ip_12.5"), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 18, .engine = 8)},
    {ARCHITECTURE("ip_12.6"), FIGURES(.parts = 8, .lanes = 128, .unit_gigabytes = 25, .engine = 16)},
    {ARCHITECTURE("ip_12.7"), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 13, .engine = 8)},
    {ARCHITECTURE("ip_20.4"), FIGURES(.parts = 8, .lanes = 128, .unit_gigabytes = 17, .engine = 8)},
    {ARCHITECTURE("ip_20."), FIGURES(.parts = 8, .lanes = 128, .unit_gigabytes = 22, .engine = 8)},
    {ARCHITECTURE("ip_12."), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 9)},
    /* ---- vendors: of what is newer or older than all of these. Intel counts vector engines; the data port of a subslice reads 64
     * bytes a clock ("The Compute Architecture of Intel Processor Graphics Gen9"). ---- */
    {VENDOR("NVIDIA"),
        FIGURES(.lanes = 128, .unit_gigabytes = 10, .f64 = 1.0 / 64, .group = 1024, .local_kibibytes = 48)},
    {VENDOR("Advanced Micro"),
        FIGURES(.lanes = 64, .unit_gigabytes = 10, .group = 256, .local_kibibytes = 64)},
    {VENDOR("AMD"), FIGURES(.lanes = 64, .unit_gigabytes = 10, .group = 256, .local_kibibytes = 64)},
    {VENDOR("Intel"), FIGURES(.parts = 16, .lanes = 128, .unit_gigabytes = 9, .near_bytes = 64, .group = 1024,
                          .local_kibibytes = 64, .few_registers = 1)},
};

enum { ROWS = sizeof rows / sizeof *rows, FACTS = sizeof(wi_known_facts) / sizeof(double) };

const wi_known_device *wi_known_device_row(int index) {
    return index < ROWS ? &rows[index] : NULL;
}

/* Does the part stand at this place of the text? A star is no letter of it. */
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
        .local_memory_is_real = true,
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
