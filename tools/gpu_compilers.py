"""Compilers of GPUs that need no GPU, and what they say about a kernel: for tools/gpu-proofs.

AMD: clang's amdgcn target with libclc. NVIDIA: clang's nvptx64 target with libclc, then ptxas, and nvdisasm for the
instructions. Intel: ocloc, whose compiler writes its assembly where IGC_ShaderDumpEnable asks for it: spills are in it, arrays in
private memory and local memory are not, and all of its messages to memory count as global.

Multiply-adds are counted: a packed or dual instruction is two. Instructions that only wait, which NVIDIA has as bits of
others, are not counted.

Occupancy is the share of a unit's places for waves (warps, threads) that registers and local memory leave to a kernel:
AMD as clang says it; NVIDIA by the limits of "CUDA C++ Programming Guide", table "Technical Specifications per Compute
Capability"; Intel: all threads with 128 registers, half of them with 256.
"""
import glob
import math
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field


class Missing(Exception):
    """A program or a library that a target needs is not there; the text says which, and how to get it."""


class Broken(Exception):
    """A compiler refused a source; the text is its first lines."""


@dataclass
class Kernel:
    name: str
    registers: int
    spills: int  # bytes of an item that registers could not hold (AMD: registers)
    scratch: int  # bytes of an item in private memory, spills among them
    local: int
    occupancy: float
    loop: dict = field(default_factory=dict)  # of the main loop: instructions by kind
    vendor: str = ""
    body: list = field(default_factory=list)  # lines of its assembly
    wide_divisions: int = 0  # divisions and remainders of 64 bits, where the compiler's own language shows them: not Intel's
    step: dict = field(default_factory=dict)  # of a whole step of k, where it was asked for
    mixes: list = field(default_factory=list)  # of inner loops, or of all of the kernel, where they were asked for


# What an instruction is, by its name: the first that fits; arithmetic: of floats, but for multiply-adds. On NVIDIA's GPUs a half-precision multiply-add of zeros moves a constant. On DG2 a
# matrix instruction of a register by itself, without sums, stands before some others for the hardware's sake.
KINDS = {
    "amd": [("wait", r"s_(waitcnt|delay_alu|nop|clause)"), ("matrix", r"v_(wmma|mfma|smfmac)"), ("multiply", r"v_(pk_|dual_)?(fma|fmac|mac|mad)\w*_f(32|16|64)"),
            ("arithmetic", r"v_(pk_|dual_)?(add|sub|subrev|mul|max|min|cmp)\w*_f(32|16|64)"), ("global128", r"(global|buffer|flat)_\w*(x4|b128)"), ("global", r"(global|buffer|flat|scratch)_(load|store|atomic)"),
            ("local128", r"ds_\w*b128"), ("local", r"ds_")],
    "nvidia": [("matrix", r"[HQID]G?MMA"), ("multiply", r"[FHD]FMA2?\b(?!\S* \S+ -RZ, RZ,)"), ("arithmetic", r"[FHD](ADD|MUL|MNMX|SETP)2?\b"), ("copy128", r"LDGSTS\S*\.128\b"), ("copy", r"LDGSTS\b"), ("global128", r"(LDG|STG)\S*\.128"),
               ("global", r"(LD|ST|LDG|STG|LDL|STL|RED|ATOM\w*)\b"), ("local128", r"(LDS|STS|LDSM)\S*\.(128|M88\.4)"),
               ("local", r"(LDS|STS|LDSM|ATOMS)\b")],
    "intel": [("wait", r"sync\.(nop|all)|dpas\S* \([^)]*\) +(r\d+):f +null:f +\2:"), ("matrix", r"dpas"), ("multiply", r"mad\b.*:f"), ("arithmetic", r"(add|mul|sel|cmp)\b.*:f\b"), ("local", r"(load|store)\S*\.slm|send\S*.*slm"),
              ("global", r"send|load|store")],
}


def kind_of(vendor, instruction):
    for kind, pattern in KINDS[vendor]:
        if re.match(pattern, instruction):
            return kind
    return "other"


def loops_of(lines):
    """Pairs (first, last) of indices into lines, from a label to a jump back to it."""
    labels, loops = {}, []
    for i, line in enumerate(lines):
        label = re.match(r"\s*([.\w$]+):", line)
        if label:
            labels[label.group(1)] = i
            continue
        for word in re.findall(r"[.\w$]+", line):
            if word in labels:
                loops.append((labels[word], i))
    return loops


def count(vendor, lines):
    counts = {}
    for instruction in instructions_of(vendor, lines):
        kind = kind_of(vendor, instruction)
        if kind != "wait":
            counts[kind] = counts.get(kind, 0) + (2 if instruction.startswith("v_pk_") and kind == "multiply" else 1)
    return counts


def main_loop(vendor, lines):
    """The instructions, by kind, of the loop that multiplies most by itself, those of loops inside it once; {}
    without a loop that multiplies. Of a loop and one around it that have as many instructions of a matrix engine, the outer."""
    best, most, span = {}, 0, (0, 0)
    loops = loops_of(lines)
    for first, last in loops:
        own = list(lines[first:last + 1])
        for a, b in loops:
            if (a, b) != (first, last) and a >= first and b <= last:
                own[a - first:b - first + 1] = [""] * (b - a + 1)
        counts = count(vendor, own)
        weight = counts.get("multiply", 0) + 64 * counts.get("matrix", 0)
        around = "matrix" in counts and weight == most and first <= span[0] and last >= span[1]
        if weight > most or around:
            best, most, span = count(vendor, lines[first:last + 1]), weight, (first, last)
    return best


def accesses(counts):
    return sum(number for kind, number in counts.items() if kind.startswith(("global", "local")))


def inner_loops(vendor, lines):
    """The instructions, by kind, of each loop that has no other inside and moves something; what moves most comes first."""
    loops = set(loops_of(lines))
    inner = [count(vendor, lines[first:last + 1]) for first, last in loops
             if not any((a, b) != (first, last) and a >= first and b <= last for a, b in loops)]
    return sorted(filter(accesses, inner), key=lambda counts: (-accesses(counts), sum(counts.values())))


BARRIERS = {"amd": r"\bs_barrier(?!_signal)", "nvidia": r"\bBAR\.", "intel": r"\bsync\.bar"}


def barriers(vendor, lines):
    return sum(bool(re.search(BARRIERS[vendor], line)) for line in lines)


def wide_stores(vendor, lines):
    """Stores of 128 bits into global memory; of Intel's messages nobody sees it."""
    pattern = {"amd": r"\b(global|buffer|flat)_store_(dwordx4|b128)", "nvidia": r"\bSTG\S*\.128"}[vendor]
    return sum(bool(re.search(pattern, line)) for line in lines)


def k_step(vendor, lines, multiplications):
    """The instructions, by kind, of a whole step of a kernel's walk along k, in which an item does so many multiply-adds:
    a loop that multiplies and waits for the group once, the loop inside it as often as it takes; {}: there is none. Of several
    such loops the one that multiplies most for its instructions: others are for what is left of k, whatever lies as it may."""
    loops = [(first, last, count(vendor, lines[first:last + 1]), barriers(vendor, lines[first:last + 1]))
             for first, last in loops_of(lines)]
    best, most = {}, 0
    for first, last, counts, waits in loops:
        if waits != 1 or "multiply" not in counts:
            continue
        inner = [(a, b) for a, b, within, inside in loops if a >= first and b <= last and inside == 0 and "multiply" in within]
        if inner:
            a, b = max(inner, key=lambda loop: loop[1] - loop[0])
            body = count(vendor, lines[a:b + 1])
            rounds = (multiplications - counts["multiply"]) / body["multiply"]
            counts = {kind: counts[kind] + round(rounds) * body.get(kind, 0) for kind in counts}
        share = counts["multiply"] / sum(counts.values())
        if counts["multiply"] == multiplications and share > most:
            best, most = counts, share
    return best


def instructions_of(vendor, lines):
    for line in lines:
        text = re.sub(r"//.*|;\s*[A-Za-z%].*$", "", line).strip() if vendor != "nvidia" else line.strip()
        if vendor == "nvidia":
            text = re.sub(r"^/\*[0-9a-f]+\*/\s*", "", text)
            text = re.sub(r"^@!?U?P\w+\s+", "", text)
        elif vendor == "intel":
            text = re.sub(r"^\([^)]*\)\s*", "", text)
        if not text or text.endswith(":") or text[0] in "./;}":
            continue
        # Two operations that one instruction issues on gfx11 and later.
        yield from (part.strip() for part in text.split("::"))


def run(command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            **options)
    if result.returncode != 0:
        raise Broken("\n".join(result.stdout.splitlines()[:6]) or f"{command[0]} failed")
    return result.stdout


class Toolbox:
    """Where the compilers are: in a folder that --fetch filled, else installed; and whether ptxas is told the size of groups."""

    def __init__(self, folder, tells_group_sizes=False):
        self.folder = folder
        self.tells_group_sizes = tells_group_sizes
        self.environment = dict(os.environ)
        if folder:
            libraries = [f"{folder}/usr/lib/x86_64-linux-gnu", f"{folder}/usr/lib/llvm-19/lib"]
            self.environment["LD_LIBRARY_PATH"] = ":".join(libraries)

    def program(self, *paths):
        for path in paths:
            inside = f"{self.folder}/{path}" if self.folder else ""
            if inside and os.access(inside, os.X_OK):
                return inside
            found = shutil.which(os.path.basename(path)) or ("/" + path if os.access("/" + path, os.X_OK) else None)
            if found:
                return found
        return None

    def clang(self, library):
        """The newest clang that has a libclc of its own version."""
        for version in (19, 16, 15, 14):
            name = self.program(f"usr/lib/llvm-{version}/bin/clang-{version}", f"usr/bin/clang-{version}")
            for root in filter(None, (self.folder, "/")):
                path = os.path.join(root, "usr/lib/clc", library)
                fits = os.path.exists(path) and self.libclc_version(root) == version
                if name and fits:
                    return name, path
        raise Missing(f"no clang with a libclc of its version that has {library} (clang-19 and libclc-19, or --fetch)")

    @staticmethod
    def libclc_version(root):
        documents = glob.glob(os.path.join(root, "usr/share/doc/libclc-[0-9][0-9]"))
        return max((int(path[-2:]) for path in documents), default=0)


def compiler_versions(toolbox):
    """What the compilers that are used say of their versions; of Intel's, which says it only to files, its name."""
    found = []
    try:
        found.append(run([toolbox.clang("amdgcn--amdhsa.bc")[0], "--version"], env=toolbox.environment).splitlines()[0])
    except Missing:
        pass
    ptxas = toolbox.program("nvidia/cu13/bin/ptxas", "usr/local/cuda/bin/ptxas")
    if ptxas:
        found.append("ptxas " + run([ptxas, "--version"]).strip().splitlines()[-1])
    try:
        found.append(os.path.basename(intel_command(toolbox)[-1]))
    except Missing:
        pass
    return found


def group_sizes(toolbox, library, source):
    """The size of kernels' groups, where the source requires one."""
    clang, _ = toolbox.clang(library)
    text = run([clang, "-E", "-P", "-x", "cl", "-cl-std=CL1.2", "-w", source], env=toolbox.environment)
    sizes = {}
    for size, name in re.findall(r"reqd_work_group_size\(([\d\s()*+/<>-]+(?:,[\d\s()*+/<>-]+){2})\)\)\)\s[^{;]*?(\w+)\(\s*__", text):
        x, y, z = (int(eval(part, {"__builtins__": {}})) for part in size.split(","))  # digits and operators alone
        sizes[name] = (x, y, z)
    return sizes


# Of programs for a target, as src/cl/exchange.c gives them to drivers.
EXCHANGES = {"amdgc": "-DWEFT_EXCHANGE_AMD", "nvptx": "-DWEFT_EXCHANGE_NVIDIA"}


def clang_command(toolbox, library, source, result, *target):
    clang, path = toolbox.clang(library)
    return [clang, "-x", "cl", "-cl-std=CL1.2", *target, EXCHANGES[target[1][:5]], "-nogpulib", "-Xclang", "-finclude-default-header", "-Xclang",
            "-mlink-builtin-bitcode", "-Xclang", path, "-O3", "-w", "-S", source, "-o", result]


def wide_divisions(text):
    """Of each kernel, in clang's own language, as a target makes other instructions of them. What divides by a number that the
    compiler knows becomes shifts and multiplications."""
    return {name: len(re.findall(r" = [us](?:div|rem)(?: exact)? i64 \S+, %", body))
            for name, body in re.findall(r"^define .*?kernel .*?@(\w+)\((.*?)^}", text, re.M | re.S)}


# ---- AMD ----

AMD_WAVES = {"gfx90a": 8, "gfx942": 8, "gfx900": 10}  # of a SIMD unit; 16 of the others


def compile_amd(toolbox, target, source, work):
    middle, assembly = f"{work}/{target}.ll", f"{work}/{target}.s"
    options = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}")
    run(clang_command(toolbox, "amdgcn--amdhsa.bc", source, middle, *options) + ["-emit-llvm"], env=toolbox.environment)
    clang, _ = toolbox.clang("amdgcn--amdhsa.bc")
    run([clang, *options, "-nogpulib", "-x", "ir", middle, "-O3", "-Xclang", "-disable-llvm-passes", "-w", "-S", "-o", assembly],
        env=toolbox.environment)
    with open(middle, encoding="utf-8") as file:
        divisions = wide_divisions(file.read())
    text = open(assembly, encoding="utf-8").read()
    records = re.split(r"\n  - ", text[text.index("amdhsa.kernels:"):text.index("amdhsa.target:")])[1:]
    waves, bodies = {}, {}
    for name, body, occupancy in re.findall(r"^(\w+): +; @\1\n(.*?)^; Occupancy: (\d+)", text, re.M | re.S):
        bodies[name], waves[name] = body, int(occupancy)
    for record in records:
        number = {key: int(value) for key, value in re.findall(r"\.(\w+): +(\d+)\s*$", record, re.M)}
        name = re.search(r"^    \.name: +(\w+)", "    " + record, re.M).group(1)
        yield Kernel(name, number["vgpr_count"], number["vgpr_spill_count"], number["private_segment_fixed_size"],
                     number["group_segment_fixed_size"], waves[name] / AMD_WAVES.get(target, 16),
                     main_loop("amd", bodies[name].splitlines()), "amd", bodies[name].splitlines(), divisions.get(name, 0))


# ---- NVIDIA ----

NVIDIA_WARPS = {"sm_75": 32, "sm_86": 48, "sm_89": 48, "sm_120": 48}  # of a multiprocessor; 64 of the others
NVIDIA_LOCAL = {"sm_75": 64, "sm_80": 164, "sm_86": 100, "sm_89": 100}  # KiB; 228 of the others


def nvidia_occupancy(target, registers, local, group):
    most = NVIDIA_WARPS.get(target, 64)
    group_warps = (group + 31) // 32
    by_registers = 65536 // (max(1, (registers + 7) // 8) * 8 * 32) // group_warps
    by_local = NVIDIA_LOCAL.get(target, 228) * 1024 // (local + 1024)
    return min(most, min(by_registers, by_local) * group_warps) / most


def nvidia_bodies(text):
    return {name: body.splitlines() for name, body in re.findall(r"^\.text\.(\w+):\n(.*?)(?=^\s*//-----|\Z)", text, re.M | re.S)}


# libclc has no native_exp2 for NVIDIA's GPUs, and an exp2 that divides, by a call: it takes registers. Drivers are
# taken to compile both to the hardware's instruction, exp2 to the form that keeps subnormal numbers ("PTX ISA", ex2).
NVIDIA_FUNCTIONS = """float __attribute__((overloadable)) native_exp2(float x) {
    float y;
    __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
float4 __attribute__((overloadable)) native_exp2(float4 x) {
    return (float4)(native_exp2(x.x), native_exp2(x.y), native_exp2(x.z), native_exp2(x.w));
}
float __attribute__((overloadable)) exp2(float x) {
    float y;
    __asm__("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
float4 __attribute__((overloadable)) exp2(float4 x) {
    return (float4)(exp2(x.x), exp2(x.y), exp2(x.z), exp2(x.w));
}
"""


def tell_group_sizes(path, sizes):
    """clang leaves out of PTX what a kernel requires, by which ptxas allots registers; a driver may write it."""
    def told(match):
        size = sizes.get(match.group(2))
        return match.group(1) + (".reqntid %d, %d, %d\n" % size if size else "")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(\.entry (\w+)\([^)]*\)\n)", told, text))


def compile_nvidia(toolbox, target, source, work):
    ptxas = toolbox.program("nvidia/cu13/bin/ptxas", "usr/local/cuda/bin/ptxas")
    if not ptxas:
        raise Missing("no ptxas (the Python registry's nvidia-cuda-nvcc, or --fetch)")
    disassembler = toolbox.program("nvidia/cu13/bin/nvdisasm", "usr/local/cuda/bin/nvdisasm")
    ptx, binary, functions = (f"{work}/{target}.{ending}" for ending in ("ptx", "cubin", "h"))
    with open(functions, "w", encoding="utf-8") as text:
        text.write(NVIDIA_FUNCTIONS)
    # PTX of an architecture runs on later ones; clang 19 has names to sm_90.
    front = target if int(target[3:]) <= 90 else "sm_90"
    run(clang_command(toolbox, "nvptx64--nvidiacl.bc", source, ptx, "-target", "nvptx64-nvidia-nvcl", "-Xclang",
                      "-target-cpu", "-Xclang", front, "-include", functions), env=toolbox.environment)
    with open(ptx, encoding="utf-8") as text:
        divisions = {name: len(re.findall(r"\b(?:div|rem)\.[us]64", body))
                     for name, body in re.findall(r"\.entry (\w+)\((.*?)^}", text.read(), re.M | re.S)}
    sizes = group_sizes(toolbox, "nvptx64--nvidiacl.bc", source)
    if toolbox.tells_group_sizes:
        tell_group_sizes(ptx, sizes)
    report = run([ptxas, "-v", f"-arch={target}", ptx, "-o", binary])
    bodies = nvidia_bodies(run([disassembler, "-c", binary])) if disassembler else {}
    pattern = (r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?"
               r"Used (\d+) registers([^\n]*)")
    for name, stack, spill, registers, rest in re.findall(pattern, report, re.S):
        local = re.search(r"(\d+) bytes smem", rest)
        bytes_local = int(local.group(1)) if local else 0
        yield Kernel(name, int(registers), int(spill), int(stack), bytes_local,
                     nvidia_occupancy(target, int(registers), bytes_local, math.prod(sizes.get(name, (64,)))),
                     main_loop("nvidia", bodies.get(name, [])), "nvidia", bodies.get(name, []), divisions.get(name, 0))


# ---- Intel ----

INTEL_FOLDER = "intel"  # of --tools: a program of another Debian, which runs by its own loader and libraries
INTEL_SUB_GROUPS = {"dg2": 8}  # the least that a kernel may require; 16 of the others


def intel_command(toolbox):
    inside = f"{toolbox.folder}/{INTEL_FOLDER}/usr" if toolbox.folder else ""
    programs = glob.glob(f"{inside}/bin/ocloc*")
    if programs:
        libraries = f"{inside}/lib/x86_64-linux-gnu"
        return [f"{libraries}/ld-linux-x86-64.so.2", "--library-path", libraries, max(programs)]
    installed = shutil.which("ocloc")
    if not installed:
        raise Missing("no ocloc (intel-ocloc of Debian 14, or --fetch)")
    return [installed]


def intel_assembly(dump, name, lanes):
    """A kernel that spills may be compiled again: the last attempt counts."""
    chosen = (-1, "")
    for path in glob.glob(f"{dump}/*_simd{lanes}_*.asm"):
        attempt = re.search(r"(?:_(\d))?_simd\d+_", os.path.basename(path)).group(1)
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if re.search(rf"^//\.kernel {name}$", text, re.M):
            chosen = max(chosen, (int(attempt or 0), text))
    return [line for line in chosen[1].splitlines() if not line.startswith("//")]


def compile_intel(toolbox, target, source, work):
    dump = f"{work}/{target}.dump"
    environment = dict(os.environ, IGC_ShaderDumpEnable="1", IGC_DumpToCustomDir=dump)
    command = intel_command(toolbox) + ["compile", "-q", "-file", source, "-device", target, "-output_no_suffix", "-output", target,
                                        "-out_dir", work, "-options",
                                        f"-cl-std=CL1.2 -D WEFT_EXCHANGE_INTEL -D WEFT_SUB_GROUP={INTEL_SUB_GROUPS.get(target, 16)}"]
    run(command, env=environment)
    facts = glob.glob(f"{dump}/*.zeinfo")
    if not facts:
        raise Broken("ocloc says nothing of its kernels: it is older than the one of Debian 14")
    with open(facts[0], encoding="utf-8") as file:
        records = re.split(r"^  - name: +", file.read().split("kernels_misc_info:")[0], flags=re.M)[1:]
    for record in records:
        name = record.split()[0]
        if name.startswith("Intel_Symbol_Table"):
            continue
        number = {key: int(value) for key, value in re.findall(r"^      (\w+): +(\d+)$", record, re.M)}
        lanes, registers = number["simd_size"], number["grf_count"]
        # Sizes are those of a thread, which has so many items.
        spilled, private = (-(-number.get(key, 0) // lanes) for key in ("spill_size", "private_size"))
        body = intel_assembly(dump, name, lanes)
        yield Kernel(name, registers, spilled, spilled + private, number.get("slm_size", 0), 1.0 if registers <= 128 else 0.5,
                     main_loop("intel", body), "intel", body)


COMPILERS = {"gfx": compile_amd, "sm_": compile_nvidia}


def compile_for(toolbox, target, source, work):
    os.makedirs(work, exist_ok=True)
    return list(COMPILERS.get(target[:3], compile_intel)(toolbox, target, source, work))
