/* See posix_calls.h. */
#ifndef SYS_RESOURCE_H
#define SYS_RESOURCE_H
typedef unsigned long long rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
#define RLIM_INFINITY ((rlim_t)-1)
enum { RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_CPU };
#endif
