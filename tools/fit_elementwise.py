#!/usr/bin/env python3
"""Fits the polynomials of cl_kernels/elementwise and prints them with their errors, and its tables.

Weighted least squares in 60 digits at Chebyshev nodes, weighted so that the error is relative to the function, which
comes within a fifth of the best polynomial; coefficients are rounded to float32 one after another, the lowest first, and
those that remain are fitted again. Needs mpmath.
"""
import struct

from mpmath import asin, atan, cos, erf, erfc, exp, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.dps = 60


def float32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def from_bits(bits):
    return mpf(struct.unpack("f", struct.pack("I", bits))[0])


def bits_of(x):
    return struct.unpack("I", struct.pack("f", float(x)))[0]


def nodes(low, high, count):
    return [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def solve(wanted, weight, variable, low, high, degree):
    """The coefficients, lowest first, and the largest error of wanted(x) ~ P(variable(x)) times weight(x)."""
    xs = nodes(mpf(low), mpf(high), 4 * degree + 40)
    ws, ts = [weight(x) for x in xs], [variable(x) for x in xs]
    rest = [wanted(x) for x in xs]
    coefficients = []
    for first in range(degree + 1):
        rows = matrix(len(xs), degree + 1 - first)
        right = matrix(len(xs), 1)
        for i, x in enumerate(xs):
            right[i] = rest[i] * ws[i]
            for k in range(first, degree + 1):
                rows[i, k - first] = ws[i] * ts[i] ** k
        c = float32(lu_solve(rows, right)[0])
        coefficients.append(c)
        rest = [r - c * t**first for r, t in zip(rest, ts)]
    return coefficients, max(abs(r * w) for r, w in zip(rest, ws))


def fit(name, wanted, weight, variable, low, high, degree):
    """wanted(x) ~ P(variable(x)), the error times weight(x) small."""
    coefficients, worst = solve(wanted, weight, variable, low, high, degree)
    print(f"{name}: error {float(worst):.2g}")
    for c in reversed(coefficients):
        print(f"    {float(c):.9e}f")


half_ln2 = log(2) / 2
fit("exp: (exp(r) - 1 - r) / r^2", lambda r: (exp(r) - 1 - r) / r**2, lambda r: r**2, lambda r: r, -half_ln2, half_ln2, 4)
fit("log: (log(1 + f) - f + f^2/2) / f^3", lambda f: (log(1 + f) - f + f * f / 2) / f**3, lambda f: f**3 / log(1 + f),
    lambda f: f, sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1, 8)
fit("log2: (2 atanh(s) - 2 s) / log(2) / s^3", lambda s: (log((1 + s) / (1 - s)) - 2 * s) / log(2) / s**3, lambda s: s**2,
    lambda s: s * s, "1e-9", 0.1716, 3)
fit("softplus: (log(1 + e) - t) / t^3, t = e / (1 + e / 2)", lambda t: (log((2 + t) / (2 - t)) - t) / t**3,
    lambda t: t**3 / log((2 + t) / (2 - t)), lambda t: t * t, "1e-6", 0.6667, 4)
fit("sin: (sin(r) - r) / r^3", lambda r: (sin(r) - r) / r**3, lambda r: r**3 / sin(r), lambda r: r * r, "1e-9", 0.8, 3)
fit("cos: (cos(r) - 1 + r^2/2) / r^4", lambda r: (cos(r) - 1 + r * r / 2) / r**4, lambda r: r**4 / cos(r), lambda r: r * r,
    "1e-9", 0.8, 2)
fit("asin: (asin(s) - s) / s^3", lambda s: (asin(s) - s) / s**3, lambda s: s**3 / asin(s), lambda s: s * s, "1e-9", 0.5, 4)
fit("atan: (atan(q) - q) / q^3", lambda q: (atan(q) - q) / q**3, lambda q: q**3 / atan(q), lambda q: q * q, "1e-9", 1, 8)
fit("erf: -log(erfc(x)) / x", lambda x: -log(erfc(x)) / x, lambda x: x * erfc(x) / erf(x), lambda x: x, "1e-9", 4, 9)


def normal_tail(x):
    return exp(x * x / 2) * erfc(x / sqrt(mpf(2))) / 2 * (x + 4)


fit("gelu: exp(x^2/2) erfc(x/sqrt(2)) / 2 (x + 4), t = (4 - x) / (4 + x)", normal_tail, lambda x: 1 / normal_tail(x),
    lambda x: (4 - x) / (4 + x), 0, 15, 8)

# ---- tables of sixteen, where a register holds them ----

EDGES = [from_bits(0x3F330000 + (k << 19)) for k in range(17)]
PARTS = list(zip(EDGES, EDGES[1:]))


def print_table(name, values):
    print(f"{name}:")
    for i in range(0, 16, 4):
        print("    " + ", ".join(values[i : i + 4]) + ",")


def in_digits(values):
    return [f"{float(float32(x)):.9e}f" for x in values]


def off_grid(x):
    """The distance of the nearest float, in units of the last place."""
    near = bits_of(x)
    return abs(x - from_bits(near)) / abs(from_bits(near + 1) - from_bits(near))


def inverse(low, high):
    """1 / c for c near the middle, such that log(c) and log2(c) are nearly floats."""
    if low < 1 < high:
        return mpf(1)
    middle = bits_of(2 / (low + high))
    near = [from_bits(middle + i) for i in range(-3000, 3001)]
    return min(near, key=lambda x: max(off_grid(-log(x)), off_grid(-log(x, 2))))


def coarse_inverse(low, high, scale):
    """scale / c of so few digits that m · scale / c - scale is a float for every m in the part."""
    if low < 1 < high:
        return scale
    step = mpf(1) / (16 if high <= 1 else 32)
    middle = mp.nint(2 * scale / (low + high) / step)
    return min([(middle + i) * step for i in (-1, 0, 1)], key=lambda x: off_centre(low, high, x, scale))


def off_centre(low, high, x, scale):
    return max(abs(low * x - scale), abs(high * x - scale))


inverses = [inverse(low, high) for low, high in PARTS]
print_table("log, 1 / c", in_digits(inverses))
print_table("log, log(c)", in_digits(-log(x) for x in inverses))
print_table("log, log2(c)", in_digits(-log(x, 2) for x in inverses))
reach = max(off_centre(low, high, x, 1) for (low, high), x in zip(PARTS, inverses))
print(f"log, largest f: {float(reach):.4f}")
fit("log with a table: (log(1 + f) - f) / f^2", lambda f: (log(1 + f) - f) / f**2, lambda f: f, lambda f: f, -reach, reach, 2)
fit("log2 with a table: log2(1 + f) / f", lambda f: log(1 + f, 2) / f, lambda f: 1, lambda f: f, -reach, reach, 3)

scale = mpf(23) / 16
inverses = [coarse_inverse(low, high, scale) for low, high in PARTS]
highs = [mp.nint(log(scale / x, 2) * 2**16) / 2**16 for x in inverses]
print_table("pow, s / c", in_digits(inverses))
print_table("pow, log2(c), high", in_digits(highs))
print_table("pow, log2(c), low", in_digits(log(scale / x, 2) - high for x, high in zip(inverses, highs)))
reach = max(off_centre(low, high, x, scale) for (low, high), x in zip(PARTS, inverses))
print(f"pow, largest f: {float(reach):.4f}, below 1/16")
fit("pow with tables: (log2(1 + f / s) - f) / f", lambda f: (log(1 + f / scale, 2) - f) / f, lambda f: 1, lambda f: f, -reach,
    reach, 4)
print_table("2^(k/16) less k/16 in the exponent", [f"0x{bits_of(mpf(2) ** (mpf(k) / 16)) - (k << 19):08X}" for k in range(16)])
fit("pow with tables: (2^r - 1) / r", lambda r: (2**r - 1) / r, lambda r: r, lambda r: r, -mpf(1) / 32, mpf(1) / 32, 2)
third = log(2) / 32
fit("exp with a table: (exp(r) - 1 - r) / r^2", lambda r: (exp(r) - 1 - r) / r**2, lambda r: r * r, lambda r: r, -third, third,
    1)

HALF = mpf(1) / 30
MIDDLES = [1 + mpf(k) / 15 for k in range(16)]
inverses = [inverse(x - HALF, x + HALF) for x in MIDDLES]
print_table("softplus, 1 / c", in_digits(inverses))
print_table("softplus, log(c)", in_digits(-log(x) for x in inverses))
fit("softplus with a table: (log(1 + f) - f) / f^2", lambda f: (log(1 + f) - f) / f**2, lambda f: f, lambda f: f, "-0.0317",
    HALF, 2)


def tail(u):
    """The normal distribution below 1 - u times exp((u - 1)^2 / 2)."""
    return exp((u - 1) ** 2 / 2) * erfc((u - 1) / sqrt(mpf(2))) / 2


# Quarters of the octaves from 1 to 16, in the order of the lowest two bits of the exponent and the highest two of the rest.
QUARTERS = [(mpf(2) ** k * (4 + i) / 4, mpf(2) ** k * (5 + i) / 4) for k in (1, 2, 3, 0) for i in range(4)]
DEGREE = 5
fits = [solve(tail, lambda u: 1 / tail(u), lambda u, c=(low + high) / 2: u - c, low, high, DEGREE) for low, high in QUARTERS]
print(f"gelu with tables: error {max(float(worst) for _, worst in fits):.2g}")
for k in range(DEGREE, -1, -1):
    print_table(f"gelu, coefficients {k}", in_digits(c[k] for c, _ in fits))
