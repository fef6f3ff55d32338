#!/usr/bin/env python3
"""Writes image_golden.json: images resized and normalised by PyTorch as torchvision does it.

Each case: channels, the sizes, the pixels, what interpolate(mode="bilinear", antialias=True) gives before it is
rounded, and (round(that) / 255 - mean) / deviation. Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_image_golden.py > tests/golden/image_golden.json
"""
import json

import torch

torch.manual_seed(11)
MEAN = [0.485, 0.456, 0.406]
DEVIATION = [0.229, 0.224, 0.225]
SIZES = [((9, 7), (4, 5)), ((5, 4), (11, 9)), ((6, 20), (7, 3)), ((1, 1), (3, 2)), ((8, 8), (8, 3)), ((30, 2), (1, 1))]


def numbers(tensor):
    return [float(f"{x:.9g}") for x in tensor.reshape(-1).tolist()]


cases = []
for source, size in SIZES:
    image = torch.randint(0, 256, (1, 3, *source))
    resized = torch.nn.functional.interpolate(image.float(), size=size, mode="bilinear", antialias=True)
    mean, deviation = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(DEVIATION).view(3, 1, 1)
    normalised = (resized.round() / 255 - mean) / deviation
    cases.append({"from": source, "to": size, "pixels": image.reshape(-1).tolist(), "resized": numbers(resized),
                  "normalised": numbers(normalised)})
print(json.dumps({"mean": MEAN, "deviation": DEVIATION, "cases": cases}))
