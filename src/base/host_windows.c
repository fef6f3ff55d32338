/* Host name, process number and time of day of Windows (contract in host.h). */
#include "base/host.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

/* The name of NetBIOS may have characters that host names do not have. */
void wi_host_name(char *name, size_t capacity) {
    static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    char host[256] = "";
    DWORD size = sizeof host;
    if (!GetComputerNameExA(ComputerNameDnsHostname, host, &size) || !*host ||
        strspn(host, usual) != strlen(host))
        strcpy(host, "localhost");
    snprintf(name, capacity, "%s", host);
}

long wi_process_number(void) {
    return (long)GetCurrentProcessId();
}

/* Windows counts 100 ns since 1601. */
double wi_day_seconds(void) {
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    const uint64_t ticks = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
    return 1e-7 * (double)(ticks - 116444736000000000u);
}
