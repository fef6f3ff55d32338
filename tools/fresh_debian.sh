# Functions for scripts that try Weft on a fresh Debian, which debootstrap makes in a folder. Needs root and debootstrap. A script sets `name`, its
# own name for messages, and calls enter_namespace before anything else.

fail() {
    echo "$name: $*" >&2
    exit 1
}

# enter_namespace ARGUMENT...: runs the script again, with these arguments, in a mount namespace, in which its mounts end with it, however it ends.
enter_namespace() {
    [ "$(id -u)" -eq 0 ] || fail "must run as root"
    for program in debootstrap unshare; do
        command -v "$program" >/dev/null || fail "$program is not installed"
    done
    [ -n "${WEFT_FRESH_INSIDE-}" ] || WEFT_FRESH_INSIDE=1 exec unshare --mount --propagation private "$0" "$@"
}

# make_debian SUITE FOLDER: a minimal system of bookworm or trixie in the empty FOLDER, from the Debian mirror that this machine's apt uses.
# WEFT_FRESH_DIR keeps the minimal system there for the next time; a copy of it is used.
make_debian() {
    local suite=$1 work=$2 base=${WEFT_FRESH_DIR:-$2} mirror log file
    chmod 755 "$work" # it is the new system's root, which every user of it may pass
    if [ ! -e "$base/etc/debian_version" ]; then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Component: main' | sed -n '/security/!{p;q}')
        echo "$name: bootstrapping $suite from ${mirror:=http://deb.debian.org/debian}"
        log=$(mktemp)
        debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$log" || { tail -n 20 "$log" >&2; fail "debootstrap failed"; }
        rm -f "$log"
    fi
    grep -q "^VERSION_CODENAME=$suite\$" "$base/etc/os-release" || fail "$base is not $suite"
    [ "$base" = "$work" ] || cp -a "$base/." "$work"
    for file in /etc/apt/apt.conf.d/*proxy*; do
        [ ! -e "$file" ] || cp "$file" "$work/etc/apt/apt.conf.d/"
    done
    cp /etc/resolv.conf /etc/hosts "$work/etc/"
    echo force-unsafe-io >"$work/etc/dpkg/dpkg.cfg.d/throw-away" # dpkg need not wait for the disk
    mount --bind /dev "$work/dev"
    mount -t proc proc "$work/proc"
    mount --bind /sys "$work/sys"
}

# in_debian FOLDER COMMAND: the command, for bash, in the root of the system in FOLDER.
in_debian() {
    chroot "$1" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} bash -ec "$2"
}

# remove_debian FOLDER
remove_debian() {
    umount -l "$1/proc" "$1/sys" "$1/dev" 2>/dev/null || true
    rm -rf --one-file-system "$1"
}
