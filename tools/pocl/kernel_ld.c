/* Stands in the place of `ld` where PoCL links a kernel (COMPILER_PATH, where PoCL's clang looks first).
 *
 * Each kernel becomes a shared object of its own, which PoCL has linked with the libraries of C, of mathematics and of the compiler. Reading
 * their symbols takes ld nine tenths of its time, and hardly a kernel calls a function of theirs. An object without undefined symbols is
 * linked without them here: its code is the same, as there is nothing in it to resolve. All others, and whatever else is to be linked, go to ld
 * as they came. */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The whole file, or NULL. */
static unsigned char *read_file(const char *path, size_t *size) {
    FILE *const file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    if (!file) return NULL;
    const long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (end > 0) bytes = malloc((size_t)end);
    rewind(file);
    if (bytes && fread(bytes, (size_t)end, 1, file) != 1) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    *size = bytes ? (size_t)end : 0;
    return bytes;
}

static bool inside(size_t size, uint64_t offset, uint64_t length) {
    return offset <= size && length <= size - offset;
}

/* Has a table of symbols one that is defined elsewhere? The first entry of each table is empty. */
static bool names_others(const unsigned char *bytes, size_t size, const Elf64_Shdr *table) {
    if (!inside(size, table->sh_offset, table->sh_size)) return true;
    for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, bytes + table->sh_offset + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF) return true;
    }
    return false;
}

/* An object of 64 bits with a table of symbols, all of which it defines. */
static bool stands_alone(const unsigned char *bytes, size_t size) {
    Elf64_Ehdr head;
    bool found = false;
    if (size < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_type != ET_REL)
        return false;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        const uint64_t at = head.e_shoff + (uint64_t)i * sizeof section;
        if (!inside(size, at, sizeof section)) return false;
        memcpy(&section, bytes + at, sizeof section);
        if (section.sh_type != SHT_SYMTAB) continue;
        if (names_others(bytes, size, &section)) return false;
        found = true;
    }
    return found;
}

/* PoCL's names of a kernel's object end so. */
static bool is_kernel(const char *name) {
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".so.o") == 0;
}

/* Is what is linked one kernel, which needs no library? */
static bool needs_no_library(char **arguments) {
    const char *kernel = NULL;
    for (; *arguments; arguments++) {
        const size_t length = strlen(*arguments);
        if (is_kernel(*arguments) && kernel) return false;
        if (is_kernel(*arguments))
            kernel = *arguments;
        else if (**arguments != '-' && length > 2 && strcmp(*arguments + length - 2, ".o") == 0)
            return false;
    }
    size_t size = 0;
    unsigned char *const bytes = kernel ? read_file(kernel, &size) : NULL;
    const bool alone = bytes && stands_alone(bytes, size);
    free(bytes);
    return alone;
}

static void leave_out_libraries(char **arguments) {
    char **kept = arguments;
    for (; *arguments; arguments++)
        if (strncmp(*arguments, "-l", 2) != 0 && strncmp(*arguments, "-L", 2) != 0) *kept++ = *arguments;
    *kept = NULL;
}

int main(int count, char **arguments) {
    if (count > 0 && needs_no_library(arguments)) leave_out_libraries(arguments);
    execv(WEFT_LINKER, arguments);
    perror(WEFT_LINKER);
    return EXIT_FAILURE;
}
