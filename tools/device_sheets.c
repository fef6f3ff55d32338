/* See device_sheets.h. Peaks are the makers' at boost clocks. */
#include "device_sheets.h"

const device_sheet device_sheets[] = {
    {"NVIDIA T4", 40, 8.1, 320, 16, "NVIDIA T4 data sheet"},
    {"NVIDIA RTX 3060", 28, 12.7, 360, 12, "NVIDIA Ampere GA10x whitepaper, GeForce RTX 3060 specifications"},
    {"NVIDIA RTX 4090", 128, 82.6, 1008, 24, "NVIDIA Ada GPU architecture whitepaper"},
    {"NVIDIA L4", 58, 30.3, 300, 24, "NVIDIA L4 data sheet"},
    {"NVIDIA A100 PCIe", 108, 19.5, 1555, 40, "NVIDIA A100 data sheet"},
    {"NVIDIA H100 PCIe", 114, 51.0, 2000, 80, "NVIDIA H100 data sheet"},
    {"AMD RX 6600", 28, 8.9, 224, 8, "AMD Radeon RX 6600 specifications"},
    {"AMD Instinct MI210", 104, 22.6, 1638, 64, "AMD Instinct MI210 data sheet"},
    {"Intel Arc A380", 8, 4.1, 186, 6, "Intel ARK, Arc A380: 8 Xe-cores at 2.0 GHz"},
    {"Intel Arc A770", 32, 17.2, 560, 16, "Intel ARK, Arc A770: 32 Xe-cores at 2.1 GHz"},
};
const size_t device_sheet_count = sizeof device_sheets / sizeof *device_sheets;
