"""A detector of one stage (J. Redmon et al. 2016) finds boxes, discs and crosses: each
cell of a grid says whether the middle of a shape is in it, which shape, and where."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import TrainingLoop, add_training_arguments

BATCH_SIZE, SIZE, CELL, MOST, KINDS = 32, 32, 8, 3, 3
GRID = SIZE // CELL


def draw_scenes(count):
    """Images (count, 1, SIZE, SIZE); for each cell a box (x and y within it, width and
    height) and a kind, or -100."""
    images = 0.2 * torch.randn(count, 1, SIZE, SIZE)
    boxes = torch.zeros(count, GRID, GRID, 4)
    kinds = torch.full((count, GRID, GRID), -100)
    row = torch.arange(SIZE).unsqueeze(1)
    column = torch.arange(SIZE)
    for i in range(count):
        for _ in range(MOST):
            w, h = (6 + 6 * torch.rand(2)).tolist()
            x = w / 2 + (SIZE - w) * torch.rand(1).item()
            y = h / 2 + (SIZE - h) * torch.rand(1).item()
            kind = torch.randint(KINDS, (1,)).item()
            r, c = int(y / CELL), int(x / CELL)
            if kinds[i, r, c] >= 0:
                continue
            kinds[i, r, c] = kind
            boxes[i, r, c] = torch.tensor(
                [x / CELL - c, y / CELL - r, w / SIZE, h / SIZE]
            )
            dx = (column + 0.5 - x).abs() / w
            dy = (row + 0.5 - y).abs() / h
            inside = (dx < 0.5) & (dy < 0.5)
            if kind == 1:
                inside = dx**2 + dy**2 < 0.25
            if kind == 2:
                inside &= (dx < 0.15) | (dy < 0.15)
            images[i, 0, inside] += 1
    return images, boxes, kinds


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(64, 5 + KINDS, 1),
        )

    def forward(self, images):
        found = self.main(images).permute(0, 2, 3, 1)
        box, seen, kind = found.split([4, 1, KINDS], dim=3)
        return box.sigmoid(), seen.squeeze(3), kind


def detection_loss(box, seen, kind, boxes, kinds):
    is_there = kinds >= 0
    off = F.mse_loss(box, boxes, reduction="none").sum(dim=3)
    seen_loss = F.binary_cross_entropy_with_logits(seen, is_there.float())
    kind_loss = F.cross_entropy(kind[is_there], kinds[is_there])
    return 5 * off[is_there].mean() + seen_loss + kind_loss


def list_boxes(box, kind, score):
    """The boxes of one scene, in pixels, where the score is above a half."""
    found = []
    for r, c in (score > 0.5).nonzero().tolist():
        x, y, w, h = box[r, c].tolist()
        corner = (c + x) * CELL - w * SIZE / 2, (r + y) * CELL - h * SIZE / 2
        found.append((score[r, c].item(), kind[r, c].item(), *corner, w * SIZE, h * SIZE))
    return sorted(found, reverse=True)


def same(a, b):
    """Two boxes of one kind whose intersection is above half of their union."""
    _, kind_a, xa, ya, wa, ha = a
    _, kind_b, xb, yb, wb, hb = b
    w = max(0, min(xa + wa, xb + wb) - max(xa, xb))
    h = max(0, min(ya + ha, yb + hb) - max(ya, yb))
    return kind_a == kind_b and w * h > 0.5 * (wa * ha + wb * hb - w * h)


def suppress(boxes):
    """Of boxes that are the same, the one with the highest score."""
    kept = []
    for box in boxes:
        if not any(same(box, other) for other in kept):
            kept.append(box)
    return kept


def test(model):
    images, boxes, kinds = draw_scenes(BATCH_SIZE)
    with torch.no_grad():
        box, seen, kind = model(images)
    score, kind = seen.sigmoid(), kind.argmax(dim=3)
    right = said = there = 0
    for i in range(BATCH_SIZE):
        found = suppress(list_boxes(box[i], kind[i], score[i]))
        real = list_boxes(boxes[i], kinds[i], (kinds[i] >= 0).float())
        right += sum(any(same(a, b) for b in found) for a in real)
        said += len(found)
        there += len(real)
    print(f"{right} of {there} shapes are found, by {said} boxes")


def main():
    parser = argparse.ArgumentParser(description="Learns to find shapes in scenes.")
    parser.add_argument(
        "--steps", type=int, metavar="N", default=600, help="updates (default: 600)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        images, boxes, kinds = draw_scenes(BATCH_SIZE)
        loss = detection_loss(*model(images), boxes, kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(100):
            print(f"step {step:4d}: loss {loss.item():.3f}")
    test(model)


if __name__ == "__main__":
    main()
