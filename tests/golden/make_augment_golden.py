#!/usr/bin/env python3
"""Writes augment_golden.json: random transforms of images by torchvision, with the random numbers that Weft draws.

The random words are Philox4x32-10 (Salmon et al. 2011); wanted() says what each transform makes of them, and torchvision's
functional forms change the pixels. A case: the transform's fields, the image, the seed and the epoch, and the results of some
examples, as hexadecimal digits of (C, H, W) bytes. "slack": the largest allowed difference of a byte.
A mixture: images, labels, and for each batch the mixed numbers and targets.
Made with torchvision 0.29 and Pillow 13:
    python tests/golden/make_augment_golden.py > tests/golden/augment_golden.json
"""
import json
import math

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment, functional as F

SEED, EPOCH = 0x1234567890, 0x300000002
LINEAR = InterpolationMode.BILINEAR
OPERATIONS = list(autoaugment.RandAugment()._augmentation_space(31, (8, 8)).keys())


def philox(counter, seed):
    c, k = list(counter), [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(example, block, transform=0):
    return philox([example, EPOCH & 0xFFFFFFFF, EPOCH >> 32, transform << 16 | block], SEED)


def below(word, bound):
    return word * bound >> 32


def between(word, low, high):
    return low + (high - low) * word / 2**32


def factor(word, amount):
    low, high = round(max(0.0, 1 - amount) * 65536), round((1 + amount) * 65536)
    return (low + below(word, high - low + 1)) / 65536


def hue_of_tensor(image, turn):
    tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    return Image.fromarray(F.adjust_hue(tensor, turn).permute(1, 2, 0).numpy())


def jitter(image, t, example):
    drawn, swaps, order = words(example, 0), words(example, 1), [0, 1, 2, 3]
    for i in (3, 2, 1):
        j = below(swaps[i], i + 1)
        order[i], order[j] = order[j], order[i]
    for what in order:
        if what == 0 and t["brightness"]:
            image = F.adjust_brightness(image, factor(drawn[0], t["brightness"]))
        if what == 1 and t["contrast"]:
            image = F.adjust_contrast(image, factor(drawn[1], t["contrast"]))
        if what == 2 and t["saturation"]:
            image = F.adjust_saturation(image, factor(drawn[2], t["saturation"]))
        if what == 3 and t["hue"] and image.mode == "RGB":
            most = round(t["hue"] * 65536)
            image = hue_of_tensor(image, (below(drawn[3], 2 * most + 1) - most) / 65536)
    return image


def erase(image, t, example):
    array = np.asarray(image).copy()
    height, width = array.shape[:2]
    if words(example, 0)[0] / 2**32 >= t["probability"]:
        return image
    for attempt in range(1, 11):
        w = words(example, attempt)
        area = height * width * between(w[0], t["least_area"], t["most_area"])
        ratio = math.exp(between(w[1], math.log(t["least_ratio"]), math.log(t["most_ratio"])))
        h, v = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if h < height and v < width:
            top, left = below(w[2], height - h + 1), below(w[3], width - v + 1)
            tensor = torch.from_numpy(array.reshape(height, width, -1)).permute(2, 0, 1)
            erased = F.erase(tensor, top, left, h, v, torch.tensor(t["fill"], dtype=torch.uint8))
            return Image.fromarray(erased.permute(1, 2, 0).numpy().reshape(array.shape))
    return image


def rand_augment(image, t, example):
    policy = autoaugment.RandAugment(interpolation=LINEAR)
    space = policy._augmentation_space(31, (image.height, image.width))
    for i in range(t["operations"]):
        w = words(example, i)
        name = OPERATIONS[below(w[0], 14)]
        magnitudes, signed = space[name]
        magnitude = float(magnitudes[t["magnitude"]]) if magnitudes.ndim else 0.0
        if signed and w[1] >> 31:
            magnitude = -magnitude
        image = autoaugment._apply_op(image, name, magnitude, interpolation=LINEAR, fill=t["fill"])
    return image


def wanted(image, t, example):
    kind, first = t["kind"], words(example, 0)[0]
    if kind == "rotation":
        return F.rotate(image, between(first, t["least"], t["most"]), LINEAR, fill=t["fill"])
    if kind == "grey":
        return F.to_grayscale(image, 3) if first / 2**32 < t["probability"] else image
    return {"jitter": jitter, "erasing": erase, "rand_augment": rand_augment}[kind](image, t, example)


def picture(generator, channels, height, width):
    """Smooth, with noise: no byte is rare, and neighbours are alike."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    smooth = 120 + 90 * np.sin(x / 3 + c) * np.cos(y / 4 - c) + generator.integers(-40, 41, (height, width, channels))
    array = np.clip(smooth, 0, 255).astype(np.uint8)
    array[0, 0], array[-1, -1] = 0, 255
    return array


def digits(array):
    return np.moveaxis(array.reshape(*array.shape[:2], -1), 2, 0).astype(np.uint8).tobytes().hex()


def examples_of_operations(signs):
    """The first example of each of RandAugment's operations, with `signs` also of each sign."""
    first = {}
    for example in range(200):
        w = words(example, 0)
        first.setdefault((below(w[0], 14), signs and w[1] >> 31), example)
    return sorted(e for (operation, sign), e in first.items() if operation > 0 and not (sign and operation > 9))


def make_case(generator, transform, size=(3, 9, 7), examples=range(5), slack=1):
    array = picture(generator, *size)
    image = Image.fromarray(array[:, :, 0] if size[0] == 1 else array)
    results = [digits(np.asarray(wanted(image, transform, i))) for i in examples]
    return {"transform": transform, "size": size, "slack": slack, "examples": list(examples), "pixels": digits(array), "results": results}


def jitter_of(brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0):
    return dict(kind="jitter", brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)


def erasing(probability, fill, least_ratio=0.3, most_ratio=3.3):
    return dict(kind="erasing", probability=probability, fill=fill, least_area=0.02, most_area=0.33,
                least_ratio=least_ratio, most_ratio=most_ratio)


def augmenting(operations, magnitude, fill):
    return dict(kind="rand_augment", operations=operations, magnitude=magnitude, fill=fill)


def make_cases(g):
    rotation = dict(kind="rotation", least=-30.0, most=30.0, fill=0)
    return [
        make_case(g, rotation),
        make_case(g, dict(rotation, least=-360.0, most=360.0, fill=200), (1, 8, 8), range(6)),
        make_case(g, dict(rotation, most=-29.0, fill=77), (3, 1, 5), range(2)),
        make_case(g, dict(kind="grey", probability=0.5), slack=0),
        make_case(g, jitter_of(brightness=0.7), slack=0),
        make_case(g, jitter_of(contrast=1.5), slack=0),
        make_case(g, jitter_of(contrast=0.5), (1, 6, 5), range(3), slack=0),
        make_case(g, jitter_of(saturation=2.5), slack=0),
        make_case(g, jitter_of(hue=0.5), examples=range(8)),
        make_case(g, jitter_of(0.4, 0.4, 0.4, 0.1), examples=range(12), slack=3),
        make_case(g, erasing(0.75, 9), examples=range(8), slack=0),
        make_case(g, erasing(1.0, 255, 6.0, 9.0), (1, 5, 9), slack=0),
        make_case(g, augmenting(1, 9, 0), (3, 11, 24), examples_of_operations(True)),
        make_case(g, augmenting(1, 30, 50), (3, 16, 17), examples_of_operations(False)),
        make_case(g, augmenting(3, 17, 50), (1, 17, 18), range(6), slack=4),
    ]


# ---- mixtures ----


def beta(batch, alpha):
    for attempt in range(64):
        w = words(batch, attempt)
        u, v = (w[0] + 0.5) / 2**32, (w[1] + 0.5) / 2**32
        if alpha >= 0.5:
            inner = u ** (2 / (2 * alpha - 1)) if alpha > 0.5 else 0.0
            value = 0.5 + 0.5 * math.cos(2 * math.pi * v) * math.sqrt(1 - inner)
            break
        x, y = u ** (1 / alpha), v ** (1 / alpha)
        if x + y <= 1:
            value = x / (x + y)
            break
    return round(value * 65536) / 65536


def mixed(images, labels, batch, kind, alpha, classes):
    """torchvision.transforms.v2.MixUp and CutMix, with drawn numbers."""
    n, _, height, width = images.shape
    weight, rolled = beta(batch, alpha), images.roll(1, 0)
    targets = torch.nn.functional.one_hot(labels, classes).float()
    if kind == "mixup":
        result = rolled.mul(1 - weight).add(images.mul(weight))
    else:
        w, r = words(batch, 64), 0.5 * math.sqrt(1 - weight)
        x, y, half_x, half_y = below(w[0], width), below(w[1], height), int(r * width), int(r * height)
        x1, y1, x2, y2 = max(x - half_x, 0), max(y - half_y, 0), min(x + half_x, width), min(y + half_y, height)
        weight, result = 1 - (x2 - x1) * (y2 - y1) / (width * height), images.clone()
        result[..., y1:y2, x1:x2] = rolled[..., y1:y2, x1:x2]
    targets = targets.roll(1, 0).mul(1 - weight).add(targets.mul(weight))
    return {"numbers": [float(f"{x:.8g}") for x in result.reshape(-1).tolist()],
            "targets": [float(f"{x:.8g}") for x in targets.reshape(-1).tolist()],
            "labels": (labels if weight >= 0.5 else labels.roll(1, 0)).tolist()}


def make_mixture(generator, kind, alpha, size=(2, 5, 6), examples=7, batch=3, classes=4):
    pixels = generator.integers(0, 256, (examples, *size))
    labels = torch.from_numpy(generator.integers(0, classes, examples))
    images = torch.from_numpy(pixels).float() / 255
    batches = [mixed(images[i:i + batch], labels[i:i + batch], i // batch, kind, alpha, classes)
               for i in range(0, examples, batch)]
    return {"kind": kind, "alpha": alpha, "size": size, "examples": examples, "batch": batch, "classes": classes,
            "labels": labels.tolist(), "pixels": pixels.astype(np.uint8).tobytes().hex(), "batches": batches}


g = np.random.default_rng(20)
print(json.dumps({"seed": SEED, "epoch": EPOCH, "cases": make_cases(g), "mixtures": [
    make_mixture(g, "mixup", 1.0), make_mixture(g, "mixup", 0.2), make_mixture(g, "mixup", 0.5, examples=4),
    make_mixture(g, "cutmix", 1.0, (3, 8, 7)), make_mixture(g, "cutmix", 4.0)]}))
