/* Host name, process number and time of day of POSIX (contract in host.h). */
#include "base/host.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void wi_host_name(char *name, size_t capacity) {
    static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !*host || strspn(host, usual) != strlen(host))
        strcpy(host, "localhost");
    snprintf(name, capacity, "%s", host);
}

long wi_process_number(void) {
    return (long)getpid();
}

double wi_day_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
