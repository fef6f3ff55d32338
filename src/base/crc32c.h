/* The checksum CRC-32C (Castagnoli; RFC 3720, appendix B.4). */
#ifndef WI_CRC32C_H
#define WI_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t wi_crc32c(const void *bytes, size_t count);

#endif
