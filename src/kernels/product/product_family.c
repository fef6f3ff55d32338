/* The implementations of matrix products. */
#include "kernels/registry.h"

#ifdef WEFT_WITH_CLBLAST
#define CLBLAST(ROW) ROW(wi_gemm_clblast)
#else
#define CLBLAST(ROW)
#endif

/* If two implementations are equally fast, the first is chosen. The portable implementation is the last. */
#define PRODUCTS(ROW)                                                                                        \
    ROW(wi_gemm_cpu_small)                                                                                   \
    ROW(wi_gemm_cpu_amx)                                                                                     \
    ROW(wi_gemm_cpu_amx_parts)                                                                               \
    ROW(wi_gemm_mma)                                                                                         \
    ROW(wi_gemm_mma_split)                                                                                   \
    ROW(wi_gemm_mma_parts)                                                                                   \
    ROW(wi_gemm_mma_parts_split)                                                                             \
    ROW(wi_gemm_wmma)                                                                                        \
    ROW(wi_gemm_wmma_split)                                                                                  \
    ROW(wi_gemm_wmma_parts)                                                                                  \
    ROW(wi_gemm_wmma_parts_split)                                                                            \
    ROW(wi_gemm_wmma12)                                                                                      \
    ROW(wi_gemm_wmma12_split)                                                                                \
    ROW(wi_gemm_wmma12_parts)                                                                                \
    ROW(wi_gemm_wmma12_parts_split)                                                                          \
    ROW(wi_gemm_mfma)                                                                                        \
    ROW(wi_gemm_mfma_split)                                                                                  \
    ROW(wi_gemm_mfma_parts)                                                                                  \
    ROW(wi_gemm_mfma_parts_split)                                                                            \
    ROW(wi_gemm_xmx8)                                                                                        \
    ROW(wi_gemm_xmx8_split)                                                                                  \
    ROW(wi_gemm_xmx8_parts)                                                                                  \
    ROW(wi_gemm_xmx8_parts_split)                                                                            \
    ROW(wi_gemm_xmx16)                                                                                       \
    ROW(wi_gemm_xmx16_split)                                                                                 \
    ROW(wi_gemm_xmx16_parts)                                                                                 \
    ROW(wi_gemm_xmx16_parts_split)                                                                           \
    ROW(wi_gemm_cpu_row)                                                                                     \
    ROW(wi_gemm_cpu_thin)                                                                                    \
    ROW(wi_gemm_cpu_direct)                                                                                  \
    ROW(wi_gemm_cpu)                                                                                         \
    ROW(wi_gemm_rows_gpu)                                                                                    \
    ROW(wi_gemm_rows_split_gpu)                                                                              \
    ROW(wi_gemm_gpu)                                                                                         \
    ROW(wi_gemm_split_gpu)                                                                                   \
    CLBLAST(ROW)                                                                                             \
    ROW(wi_gemm_naive)

#define DECLARATION(implementation) extern const wi_implementation implementation;
#define ENTRY(implementation)       &(implementation),
PRODUCTS(DECLARATION)
const wi_implementation *const wi_product_family[] = {PRODUCTS(ENTRY) NULL};
