/* Preloaded by the tests of builds with sanitizers: libraries stay loaded to the end. What a driver's library
 * holds when its loader unloads it (Mesa's software rasterizer: 128 bytes) would count as lost otherwise,
 * from a module that no longer has a name by which leaks.supp could know it. */
#include <dlfcn.h>

__attribute__((visibility("default"))) int dlclose(void *handle) {
    (void)handle;
    return 0;
}
