"""Values by a formula of a name and an index, which tests/nn/model_values.h computes alike, so that goldens of networks need
not hold them.
"""
import math

import numpy as np
import torch


def rounded(number):
    """To 9 digits, which is more than the tests compare."""
    return float(f"{number:.9g}")


def hashed(name, count):
    """count numbers in [-1, 1), multiples of 2^-23: FNV-1a of the name, MurmurHash3's finaliser of each index."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 & 0xFFFFFFFF
    h = np.arange(count, dtype=np.uint32)
    h *= np.uint32(0x9E3779B1)
    h ^= np.uint32(seed)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> np.uint32(shift)
        h *= np.uint32(factor)
    h ^= h >> np.uint32(16)
    return (h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def value_of(name, shape, shift):
    """Matrices and windows: U(±sqrt(3)·sqrt(2 / fan_in)). Vectors: weights and variances 1 + U(±0.1), means U(±0.1),
    biases shift + U(±0.1)."""
    count = int(np.prod(shape))
    v = hashed(name, count)
    if len(shape) > 1:
        v *= np.float32(math.sqrt(6.0 / (count // shape[0])))
    else:
        v *= np.float32(0.1)
        is_mean, is_one = name.endswith(".running_mean"), name.endswith((".weight", ".running_var"))
        v += np.float32(0 if is_mean else 1 if is_one else shift)
    return torch.from_numpy(v.reshape(shape))
