/* Preloaded by tools/run-oclgrind: no buffer is freed. Oclgrind 21.10 gives the address of a freed one to the next, and
 * does not forget which of its bytes were initialised and how many there were: of a longer buffer all the others count
 * as uninitialised, whatever kernels write there. */
__attribute__((visibility("default"))) int clReleaseMemObject(void *memory) {
    (void)memory;
    return 0;
}
