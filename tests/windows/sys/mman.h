/* See posix_calls.h. */
#ifndef SYS_MMAN_H
#define SYS_MMAN_H
enum { PROT_NONE, PROT_READ, PROT_WRITE, _SC_PAGESIZE };
static inline long sysconf(int name) {
    return name == _SC_PAGESIZE ? 4096 : -1;
}
__declspec(dllimport) int __stdcall VirtualProtect(void *, size_t, unsigned long, unsigned long *);
static inline int mprotect(void *pages, size_t bytes, int how) {
    unsigned long before;
    return VirtualProtect(pages, bytes, how == PROT_NONE ? 0x01 : 0x04, &before) ? 0 : -1;
}
#endif
