"""First weights from a formula in exact arithmetic (multiples of 2^-23 times a power of two), which golden_weight() of
tests/support/golden_file.h computes alike, so that files of curves need not hold them.
"""
import numpy
import torch


def weights(number, shape, scale):
    """Element i of tensor `number`: the finaliser of MurmurHash3 over i + 2^20 · number, its upper 24 bits in -1..1."""
    h = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint32) + numpy.uint32(number << 20)
    h ^= h >> numpy.uint32(16)
    h *= numpy.uint32(0x85EBCA6B)
    h ^= h >> numpy.uint32(13)
    h *= numpy.uint32(0xC2B2AE35)
    h ^= h >> numpy.uint32(16)
    values = ((h >> numpy.uint32(8)).astype(numpy.float64) / 2.0**23 - 1.0) * scale
    return torch.from_numpy(values.astype(numpy.float32).reshape(shape))
