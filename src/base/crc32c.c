/* CRC-32C by a table of the remainders of four bits, which is small and fast enough for event files. */
#include "base/crc32c.h"

uint32_t wi_crc32c(const void *bytes, size_t count) {
    static const uint32_t table[16] = {0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
        0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB,
        0xE330A81A, 0xF36E6F75};
    const unsigned char *const data = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc = table[(crc ^ data[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ (uint32_t)data[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}
