#!/usr/bin/env python3
"""Writes fruit.csv beside itself: measures of made-up fruit. Usage: make_fruit.py"""
import csv
import os
import random

# kind: mean and deviation of mass (g), width (cm), height / width, colour (0 green .. 1 red), sugar (degrees Brix)
KINDS = {
    "apple": ((165, 28), (7.3, 0.5), (0.95, 0.04), (0.70, 0.16), (12.5, 1.3)),
    "lemon": ((128, 26), (6.3, 0.6), (1.35, 0.10), (0.42, 0.05), (7.5, 0.8)),
    "mandarin": ((84, 13), (5.9, 0.4), (0.78, 0.05), (0.60, 0.05), (11.2, 1.1)),
    "orange, navel": ((210, 34), (7.9, 0.5), (1.02, 0.04), (0.57, 0.05), (11.6, 1.0)),
}

random.seed(20)
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fruit.csv")
with open(path, "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["kind", "mass_g", "width_cm", "height_cm", "colour", "sugar_brix"])
    for _ in range(480):
        kind = random.choice(list(KINDS))
        mass, width, ratio, colour, sugar = (random.gauss(*numbers) for numbers in KINDS[kind])
        table.writerow([kind, round(mass), f"{width:.1f}", f"{width * ratio:.1f}", f"{min(max(colour, 0), 1):.2f}",
                        f"{sugar:.1f}"])
