/* A C11 program outside the tree that uses an installed Weft. */
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

int main(void) {
    char expected[32];
    snprintf(
        expected, sizeof expected, "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
    size_t devices = 0;
    if (weft_device_count(&devices) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    printf("C11: weft %s, %zu devices\n", weft_version(), devices);
    return strcmp(expected, weft_version()) != 0;
}
