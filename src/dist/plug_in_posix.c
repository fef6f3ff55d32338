/* Finds and loads the plug-in of the implementation of MPI (contract in group.h). */
#include "base/child.h"
#include "base/platform.h"
#include "dist/group.h"
#include <dlfcn.h>
#include <string.h>

enum { PATH_ROOM = WI_PATH_CAPACITY + 64 };

typedef struct implementation {
    const char *file, *name, *package;
    const char *symbol;      /* a symbol of programs that are linked with the implementation */
    const char *variable[2]; /* environment variables, of which its launcher sets at least one */
} implementation;

/* Another launcher, such as srun, may have started a program of either implementation; then Open MPI is tried first. */
static const implementation implementations[] = {
    {"libweft-openmpi.so", "Open MPI", "libopenmpi3", "ompi_mpi_comm_world",
        {"OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess"}},
    {"libweft-mpich.so", "MPICH", "libmpich12", "MPIR_Process", {"MPI_LOCALNRANKS", "HYDI_CONTROL_FD"}},
};
enum { IMPLEMENTATIONS = sizeof implementations / sizeof *implementations };

static bool is_here(const implementation *one) {
    return dlsym(RTLD_DEFAULT, one->symbol) || wi_environment(one->variable[0]) ||
           wi_environment(one->variable[1]);
}

/* RTLD_GLOBAL is needed because Open MPI loads components that use its symbols. */
static void *open_plug_in(const implementation *one) {
    char path[PATH_ROOM];
    return dlopen(wi_find_beside(path, sizeof path, one->file) ? path : one->file, RTLD_NOW | RTLD_GLOBAL);
}

static weft_status load(const implementation *one, const wi_transport **transport) {
    void *const library = open_plug_in(one);
    if (!library) {
        const char *const why = dlerror();
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "distributed: the plug-in for %s cannot be loaded (%s): install %s, and Weft's plug-ins beside "
            "libweft",
            one->name, why ? why : "unknown reason", one->package);
    }
    void *const symbol = dlsym(library, WI_TRANSPORT_SYMBOL);
    wi_transport_function *function;
    memcpy(
        &function, &symbol, sizeof function); /* ISO C has no conversion from object to function pointers */
    *transport = symbol ? function() : NULL;
    if (*transport && (*transport)->version == WI_TRANSPORT_VERSION) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "distributed: '%s' belongs to another version of Weft", one->file);
}

weft_status wi_plug_in_load(const wi_transport **transport) {
    for (size_t i = 0; i < IMPLEMENTATIONS; i++)
        if (is_here(&implementations[i])) return load(&implementations[i], transport);
    if (load(&implementations[0], transport) == WEFT_OK) return WEFT_OK;
    return load(&implementations[1], transport);
}
