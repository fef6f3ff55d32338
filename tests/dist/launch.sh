# What scripts share that start processes by mpirun; sourced with the program and the folder of the test in $program and $folder.
if ! command -v mpirun >/dev/null || ! [ -e "$(dirname "$program")/../libweft-openmpi.so" ]; then
    echo "skipped: Open MPI (openmpi-bin, libopenmpi-dev) is not installed"
    exit 77
fi
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
# As root, with more processes than cores, and without what containers do not allow.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader
export OMPI_MCA_btl_vader_single_copy_mechanism=none

fail() {
    echo "$1"
    [ -z "${2-}" ] || cat "$2"
    exit 1
}

# together PROCESSES ARGUMENT...: the output goes to "out", messages to "messages". The launcher is $mpirun.
mpirun=mpirun
together() {
    processes=$1
    shift
    "$mpirun" --bind-to none -n "$processes" "$program" "$@" >out 2>messages
}
