#!/usr/bin/env python3
"""Fits the polynomials of cl_kernels/elementwise.clh and prints them with their errors.

Weighted least squares in 60 digits at Chebyshev nodes, weighted so that the error is relative to the function, which
comes within a fifth of the best polynomial; coefficients are rounded to float32 one after another, the lowest first, and
those that remain are fitted again. Needs mpmath.
"""
import struct

from mpmath import asin, atan, cos, erf, erfc, exp, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.dps = 60


def float32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def nodes(low, high, count):
    return [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def fit(name, wanted, weight, variable, low, high, degree):
    """wanted(x) ~ P(variable(x)), the error times weight(x) small."""
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
    worst = max(abs(r * w) for r, w in zip(rest, ws))
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
