"""What gpu-proofs holds compiled kernels of class gpu against: each bar is of files and a kernel by patterns, and of targets."""
import fnmatch

# Cores: what is held of a whole step of k of the default product and of the default convolutions, of each target: the least
# share of multiply-adds, and the least occupancy. All of their loads from global memory have 128 bits, and all that they
# multiply is read 128 bits at a time.
KERNELS_OF_CORES = [("gpu_tiled", "gemm_tiles"), ("gpu_split", "gemm_tiles"), ("conv_gpu", "conv_tiles"), ("split_gpu", "conv_tiles"), ("conv_gpu_weight", "conv_weight_tiles"),
                    ("winograd_gpu", "conv_winograd_products")]
BARS_OF_CORES = [("large", "sm_[89]?", 0.80, 0.25), ("large", "sm_100", 0.80, 0.25), ("large", "gfx90a", 0.80, 0.25),
                 ("large", "gfx942", 0.80, 0.25), ("large", "gfx1[12]??", 0.70, 0.25)]
BARS_OF_OLDER_CORES = [("large", "gfx900", 0.80, 0.20), ("large", "gfx1030", 0.80, 0.50), ("large", "sm_75", 0.80, 0.50)]
# Debian 12's clang 15, which the short form takes, makes ten instructions more of the weights' gradient for CDNA than clang 19: 0.787.
OLD_COMPILER = {("conv_gpu_weight", "gfx90a"): 0.78}
CORES = [(f"{name}.{variant}.*", kernel, target, OLD_COMPILER.get((name, target), share), occupancy)
         for name, kernel in KERNELS_OF_CORES for variant, target, share, occupancy in BARS_OF_CORES + BARS_OF_OLDER_CORES]
# By asynchronous copies: nothing else reads a factor, or writes it into local memory.
BARS_OF_COPIES = (0.85, 0.83, 0.82, 0.82, 0.82)
CORES += [(f"{name}.async.*", kernel, target, share, 0.25)
          for (name, kernel), share in zip(KERNELS_OF_CORES, BARS_OF_COPIES) for target in ("sm_[89]?", "sm_100")]
# Of `tall` in products, and of `quarter` in convolutions.
WITH_QUARTERS = ("conv_gpu", "split_gpu", "conv_gpu_weight")
BARS_OF_INTEL = [("tall", "dg2", (0.66, 0.66, 0.70, 0.70, 0.69, 0.68)), ("together", "dg2", (0.77, 0.77, 0.75, 0.75, 0.75, 0.77)),
                 ("tall", "bmg", (0.71, 0.70, 0.71, 0.71, 0.69, 0.73)), ("tall", "pvc", (0.58, 0.57, 0.63, 0.60, 0.61, 0.59))]
CORES += [(f"{name}.{'quarter' if variant == 'tall' and name in WITH_QUARTERS else variant}.*", kernel, target, share, 0.25)
          for variant, target, shares in BARS_OF_INTEL for (name, kernel), share in zip(KERNELS_OF_CORES, shares)]
# Intel's compiler makes vectors of the sums of these tiles, if it may (gemm_tile_gpu.clh), and then they have 0.36 to 0.55.
CORES += [("conv_gpu.small.*", "conv_tiles", "bmg", 0.60, 1.0), ("conv_gpu.small.*", "conv_tiles", "pvc", 0.47, 1.0),
          ("gpu_tiled.low.*", "gemm_tiles", "bmg", 0.69, 1.0), ("gpu_tiled.low.*", "gemm_tiles", "pvc", 0.57, 1.0)]
# Of 24 and 32 rows, with several quads on their way to registers. AMD's gfx9 has a group in one sub-group, without barriers, by which a
# step of k is found: its loops are held below.
BARS_OF_ROWS = [("rows24", "sm_*", 0.75, 0.25), ("rows32", "sm_*", 0.81, 0.18), ("rows24", "gfx1*", 0.65, 0.37), ("rows32", "gfx1*", 0.78, 0.37)]
CORES += [(f"{name}.{tile}.*", "gemm_tiles", target, share, occupancy) for name in ("gpu_rows", "gpu_rows_split")
          for tile, target, share, occupancy in BARS_OF_ROWS]
# Convolutions in tiles of a quarter's size, with 4 x 8 sums an item; of NVIDIA's GPUs the registers of conv_gpu, too.
QUARTERS = [("sm_*", 0.80, 0.37), ("gfx9*", 0.80, 0.40), ("gfx1[01]??", 0.80, 0.50), ("gfx12??", 0.78, 0.50)]
CORES += [("conv_gpu.quarter.*", "conv_tiles", target, share, occupancy) for target, share, occupancy in QUARTERS]
CORES += [("split_gpu.quarter.*", "conv_tiles", target, min(share, 0.79), min(occupancy, 0.31)) for target, share, occupancy in QUARTERS]
MOST_REGISTERS = [("conv_gpu.quarter.*", "conv_tiles", "sm_*", 80), ("conv_gpu_weight.quarter.*", "conv_weight_tiles", "sm_*", 80)]

# Generated epilogues of the networks' products and convolutions, by rows and columns of an item.
CORES += [("8x8.*.epilogues.cl", "epilogue_tiles", target, share, occupancy) for _, target, share, occupancy in BARS_OF_CORES]
CORES += [("4x8.*.epilogues.cl", "epilogue_tiles", target, share, occupancy) for target, share, occupancy in QUARTERS]
MOST_REGISTERS += [("4x8.*.epilogues.cl", "epilogue_tiles", "sm_*", 80)]

# Weights' gradients in tiles of a quarter's size. Debian 12's clang 15 makes nine instructions more for CDNA (0.72).
QUARTERS_OF_WEIGHTS = [("sm_*", 0.76, 0.31), ("gfx90a", 0.71, 0.30), ("gfx900", 0.73, 0.30), ("gfx942", 0.73, 0.30),
                       ("gfx1[01]??", 0.75, 0.50), ("gfx12??", 0.71, 0.50)]
CORES += [("conv_gpu_weight.quarter.*", "conv_weight_tiles", *bar) for bar in QUARTERS_OF_WEIGHTS]

# Main loops: the least share of multiply-adds, and the kernels' least occupancy.
OF_ATTENTION = ("attention_forward", "attention_backward")
LOOPS = [("attention_gpu.*", name, "*", 0.6, 0.0) for name in OF_ATTENTION]
# Of attention in groups of 256 items.
BARS_OF_HEADS = [("sm_75", 0.50), ("sm_86", 0.33), ("sm_[89]0", 0.25), ("sm_100", 0.25), ("gfx900", 0.20), ("gfx90a", 0.25), ("gfx942", 0.25), ("gfx10*", 0.37),
                 ("gfx1[12]*", 0.50)]
LOOPS += [(f"attention_gpu.{variant}.*", name, target, 0.8, occupancy) for name in OF_ATTENTION for variant in ("256", "wide")
          for target, occupancy in BARS_OF_HEADS]
# Of recurrent scans in f32, by rows of a group: 0.65 forward and 0.5 of the gradient at least. What PVC's compiler puts beside messages, for the
# hardware's sake, is counted.
BARS_OF_SCANS = [("rows8", "*", (0.83, 0.87, 0.80, 0.77, 0.88)), ("64", "*", (0.83, 0.87, 0.80, 0.68, 0.83)),
                 ("rows4*", "*", (0.79, 0.82, 0.75, 0.70, 0.83)),
                 ("rows2*", "recurrent_forward", (0.69, 0.73, 0.66, 0.65, 0.79)), ("rows2*", "recurrent_back", (0.69, 0.73, 0.66, 0.60, 0.79))]
LOOPS += [(f"recurrent_*_gpu.{variant}.*", name, target, share, 0.0) for name in ("recurrent_forward", "recurrent_back")
          for variant, kernel, shares in BARS_OF_SCANS if fnmatch.fnmatch(name, kernel)
          for target, share in zip(("gfx*", "sm_*", "dg2", "pvc", "bmg"), shares)]
LOOPS += [(f"{name}.{tile}.*", "gemm_tiles", "gfx9*", share, 0.20) for name in ("gpu_rows", "gpu_rows_split")
          for tile, share in (("rows24", 0.80), ("rows32", 0.85))]
# Depthwise convolutions of stride 1 and 2: a row of taps, whose form for borders is counted, too, and a tile of weights' gradients. All that they
# read has 128 bits.
DEPTHWISE = [("depthwise_gpu.f32.1.*", "conv_depthwise", (0.28, 0.40, 0.38)), ("depthwise_gpu.f32.2.*", "conv_depthwise", (0.23, 0.33, 0.31)),
             ("depthwise_gpu_weight.f32.1.*", "conv_weight_sums", (0.32, 0.31, 0.28)), ("depthwise_gpu_weight.f32.2.*", "conv_weight_sums", (0.27, 0.25, 0.24))]
LOOPS += [(pattern, kernel, target, share, 0.18) for pattern, kernel, shares in DEPTHWISE for target, share in zip(("gfx*", "sm_*", "dg2"), shares)]
LOOPS += [("recurrent_*_gpu.rows8.*", name, target, 0.0, occupancy) for name in ("recurrent_forward", "recurrent_back")
          for target, occupancy in (("sm_75", 0.50), ("sm_86", 0.33), ("sm_[89]0", 0.25), ("sm_100", 0.25))]
# The files of these variants differ by direction: a plan takes one kernel of each.
ONE_WAY = [(f"recurrent_{way}_gpu.rows[24]{items}.*", other) for items in ("", "_256")
           for way, other in (("forward", "recurrent_back"), ("back", "recurrent_forward"))]

# Products by matrix engines: the least number of its instructions in the main loop, and the least occupancy. Fewer are the mark of
# fragments that are not in registers. Records with splits have the bars of those without. gpu_mfma.large has 200 registers by Debian 12's clang 15, and 136 by clang 19 (0.37).
MATRICES = [("gpu_mma.large.*", 32, 0.12), ("gpu_mma.small.*", 16, 0.25), ("gpu_wmma.large.*", 16, 0.50),
            ("gpu_wmma12.large.*", 16, 0.56), ("gpu_wmma*.small.*", 8, 0.50), ("gpu_mfma.large.*", 16, 0.25),
            ("gpu_mfma.small.*", 4, 0.62), ("gpu_xmx*", 8, 1.0)]
MATRICES_OF_PARTS = [("gpu_mma_parts.large.*", 48, 0.12), ("gpu_mma_parts.small.*", 24, 0.18), ("gpu_wmma*_parts.large.*", 12, 0.50),
                     ("gpu_wmma*_parts.small.*", 12, 0.37), ("gpu_mfma_parts.large.*", 6, 0.25), ("gpu_mfma_parts.small.*", 3, 0.37),
                     ("gpu_xmx*_parts.small.*", 6, 1.0)]
# Of three parts, six products; a loop holds one step of k, as it does for Intel's GPUs above.
MATRICES_OF_PARTS += [("gpu_mma_parts.six*", 48, 0.12), ("gpu_wmma*_parts.six*", 24, 0.25), ("gpu_mfma_parts.six.*", 12, 0.12),
                      ("gpu_mfma_parts.six_small.*", 6, 0.25), ("gpu_xmx*_parts.six.*", 12, 1.0)]

# Convolutions by matrix engines: forward and the image's gradient, and the weight's gradient.
MATRICES += [("conv_mma*.large.*", 32, 0.12), ("conv_mma*.small.*", 16, 0.25), ("conv_wmma.large.*", 16, 0.43), ("conv_wmma.small.*", 8, 0.56),
             ("conv_wmma_weight.large.*", 16, 0.56), ("conv_wmma_weight.small.*", 8, 0.56), ("conv_wmma12*.large.*", 16, 0.56),
             ("conv_wmma12*.small.*", 8, 0.75), ("conv_mfma*.large.*", 16, 0.25), ("conv_mfma*.small.*", 4, 0.62),
             ("conv_xmx*.large.*", 8, 1.0), ("conv_xmx*.small.*", 4, 1.0)]
# Of these the most registers, where occupancy does not say: one work-group fits with 129 as with 255. Of six products by MFMA clang 19
# takes 196 and 120, clang 15 what stands here.
REGISTERS = [("conv_mma*.large.*", 168), ("conv_mma*.small.*", 128), ("conv_wmma.large.*", 216), ("conv_wmma_weight.large.*", 168),
             ("conv_wmma12*.large.*", 168), ("gpu_mma_parts.six*", 218), ("gpu_wmma_parts.six*", 248), ("gpu_wmma12_parts.six*", 200),
             ("gpu_mfma_parts.six.*", 232), ("gpu_mfma_parts.six_small.*", 152), ("gpu_xmx*_parts.six.*", 128)]
# Recurrent scans by matrix engines; both of their kernels.
MATRICES += [("recurrent_forward_gpu_mma.*", 8, 0.12), ("recurrent_forward_gpu_wmma*.*", 4, 0.50), ("recurrent_forward_gpu_mfma.*", 8, 0.12),
             ("recurrent_forward_gpu_xmx*.*", 4, 1.0)]
# The same of attention by matrix engines, of heads up to 32, 64 and 128 wide. Both products are counted; panels of a head are a
# loop inside.
BARS_OF_ATTENTION = {("forward", "gpu_mma"): [(16, 0.25), (24, 0.25), (20, 0.25)], ("backward", "gpu_mma"): [(16, 0.25), (12, 0.25), (10, 0.25)],
                     ("forward", "gpu_wmma*"): [(8, 0.31), (12, 0.25), (10, 0.25)], ("backward", "gpu_wmma*"): [(8, 0.43), (12, 0.25), (10, 0.25)],
                     ("forward", "gpu_mfma"): [(8, 0.25), (16, 0.25), (32, 0.25)], ("backward", "gpu_mfma"): [(12, 0.37), (24, 0.37), (48, 0.25)],
                     ("forward", "gpu_xmx*"): [(8, 1.0), (6, 1.0), (10, 1.0)], ("backward", "gpu_xmx8"): [(4, 1.0), (6, 1.0), (10, 1.0)],
                     ("backward", "gpu_xmx16"): [(8, 1.0), (6, 1.0), (10, 1.0)]}
MATRICES_OF_ATTENTION = [(f"attention_{kernel}", f"attention_*{engine}.{head}.*", *bar) for (kernel, engine), bars in BARS_OF_ATTENTION.items()
                         for head, bar in zip((32, 64, 128), bars)]

# Files whose kernels may divide in 64 bits, which GPUs make of about a hundred instructions, and why.
WIDE_DIVISIONS = [("*.index64.*", "kernels for 2^30 elements or more, whose indices have 64 bits (src/kernels/index_type.h)")]

# Kernels that multiply little: what is printed of them is the mix of instructions of their inner loops, or of all of a kernel that has no loop.
MIXES = [("*pool*.pool.cl", "pool_*", False), ("*.scan.cl", "scan_*", False), ("order_gpu.*", "sort_*", False),
         ("winograd_gpu.*", "conv_winograd_pixels", True), ("winograd_gpu.*", "conv_winograd_weights", True),
         ("winograd_gpu.*", "conv_winograd_results", True)]
