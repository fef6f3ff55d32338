"""What the programs of this folder share, as the samples in C share theirs (samples/*.h and *.c without a number):
the options and the loop of a training that is saved and continued, the digits, a pole on a cart, words, a network.
"""

import math
import random
import re
import struct
import zlib
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

DATA = Path(__file__).resolve().parents[2] / "data"


# ---- the loop ----


def add_training_arguments(parser):
    parser.add_argument(
        "--precision",
        choices=["f32", "bf16"],
        default="f32",
        help="of what runs through the network",
    )
    parser.add_argument(
        "--checkpoint", metavar="FILE", help="saves a checkpoint in this file"
    )
    parser.add_argument(
        "--checkpoint-every",
        type=int,
        default=100,
        metavar="N",
        help="steps between two saves",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continues from the checkpoint, if there is one",
    )
    parser.add_argument(
        "--pictures", metavar="DIR", help="folder for PNG files of what a network draws"
    )


class TrainingLoop:
    """`for step in TrainingLoop(args, args.steps, model=model, optimizer=optimizer)` counts steps from 1. What is named has
    state_dict() and load_state_dict(): checkpoints have it, the step, and the state of random numbers.
    """

    def __init__(self, args, steps, **parts):
        self.args, self.steps, self.step, self.parts = args, steps, 0, parts
        if args.precision == "bf16":
            torch.autocast("cpu", torch.bfloat16).__enter__()
        if args.resume and Path(args.checkpoint).exists():
            saved = torch.load(args.checkpoint, weights_only=False)
            self.step = saved["step"]
            torch.set_rng_state(saved["torch"])
            random.setstate(saved["random"])
            for name, part in parts.items():
                part.load_state_dict(saved[name])
            print(f"continuing after step {self.step}")

    def __iter__(self):
        for self.step in range(self.step + 1, self.steps + 1):
            yield self.step
            if self.args.checkpoint and self.every(self.args.checkpoint_every):
                self.save()

    def every(self, steps):
        """In a step: true in one of so many, and in the last one."""
        return self.step == self.steps or self.step % steps == 0

    def save(self):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(
            step=self.step, torch=torch.get_rng_state(), random=random.getstate()
        )
        torch.save(state, self.args.checkpoint)


# ---- digits ----


class Digits:
    """Images (count, 1, 8, 8) from 0 to 1, and their labels."""

    def __init__(self, folder, kind):
        def read(name):
            content = (Path(folder) / f"{kind}-{name}-ubyte").read_bytes()
            rank = content[3]
            dims = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
            return torch.frombuffer(
                bytearray(content[4 + 4 * rank :]), dtype=torch.uint8
            ).reshape(dims)

        self.images, self.labels = (
            read("images-idx3")[:, None] / 255,
            read("labels-idx1").long(),
        )

    def draw(self, count, first=0, last=9):
        """Images from `first` to `last`, and labels that count from `first`."""
        known = ((self.labels >= first) & (self.labels <= last)).nonzero()[:, 0]
        chosen = known[torch.randint(len(known), (count,))]
        return self.images[chosen], self.labels[chosen] - first


def show_digits(images):
    """Shows the first seven images side by side as text."""
    for row in range(8):
        lines = (
            "".join(2 * " .:-=+*#%@"[int(9.99 * p)] for p in image[row])
            for image in images.view(-1, 8, 8)[:7].clamp(0, 1)
        )
        print(" ".join(lines))


def save_digits(args, step, *rows):
    """With --pictures: a grid of the images, or a row of the first 16 of each of several."""
    if not args.pictures:
        return
    columns, rows = (16, rows) if len(rows) > 1 else (8, rows[0].split(8))
    tiles = torch.cat([row.reshape(-1, 8, 8)[:columns] for row in rows]).clamp(0, 1)
    tiles = F.pad(tiles.repeat_interleave(6, 1).repeat_interleave(6, 2), (0, 2, 0, 2))
    image = torch.cat([torch.cat(list(row), 1) for row in tiles.split(columns)])
    lines = (255 * image).round().byte().numpy()

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", lines.shape[1], lines.shape[0], 8, 0, 0, 0, 0)
    packed = zlib.compress(b"".join(b"\0" + line.tobytes() for line in lines))
    Path(args.pictures).mkdir(exist_ok=True)
    (Path(args.pictures) / f"step-{step:06d}.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join([chunk(b"IHDR", header), chunk(b"IDAT", packed), chunk(b"IEND", b"")])
    )


def report_digits(digits, images):
    """Shows images that a network drew, and prints how far they are from the digits that are nearest to them."""
    show_digits(images)
    distance, nearest = torch.cdist(
        images.reshape(-1, 64).float(), digits.images.view(-1, 64)
    ).min(1)
    kinds = len(digits.labels[nearest].unique())
    print(
        f"distance to the nearest real digits {distance.mean():.2f}, which are of {kinds} kinds"
    )


# ---- digits under noise, for unet ----


def draw_strokes(digits, count, deviation):
    """Digits under noise, and where their strokes are."""
    clean, _ = digits.draw(count)
    return clean + deviation * torch.randn(clean.shape), (clean > 0.5).float()


def report_strokes(noisy, strokes, found):
    def overlap(images):
        seen, real = images > 0.5, strokes > 0
        return (seen & real).sum() / (seen | real).sum()

    show_digits(noisy)
    show_digits(found)
    print(
        f"overlap with the strokes {overlap(found):.2f}, by a threshold {overlap(noisy):.2f}"
    )


# ---- a residual network (torchvision has none for images of this size), for finetune ----


class ResidualBlock(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.stride = filters // inputs
        self.c1, self.b1 = nn.Conv2d(
            inputs, filters, 3, self.stride, 1, bias=False
        ), nn.BatchNorm2d(filters)
        self.c2, self.b2 = nn.Conv2d(
            filters, filters, 3, 1, 1, bias=False
        ), nn.BatchNorm2d(filters)

    def forward(self, x):
        y = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
        x = x[:, :, :: self.stride, :: self.stride]
        return F.relu(y + F.pad(x, (0, 0, 0, 0, 0, y.shape[1] - x.shape[1])))


def resnet20():
    """K. He et al. 2016, section 4.2, without the linear layer: images of one channel to 64 features."""
    blocks = [
        ResidualBlock(16 << max(0, i - 1) // 3 if i else 16, 16 << i // 3)
        for i in range(9)
    ]
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 1, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


# ---- a pole on a cart, and a memory of its steps, for dqn ----


class Cart:
    """Steps of 0.02 s; seen: its place and speed, and the pole's angle and speed."""

    def reset(self):
        self.seen = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return torch.tensor(self.seen)

    def step(self, action):
        """What is seen after it, and whether the pole fell, or the cart left its track."""
        x, speed, angle, turning = self.seen
        c, n = math.cos(angle), math.sin(angle)
        push = ((10 if action else -10) + 0.05 * turning**2 * n) / 1.1
        turn = (9.8 * n - c * push) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        change = speed, push - 0.05 * turn * c / 1.1, turning, turn
        self.seen = [a + 0.02 * b for a, b in zip(self.seen, change)]
        return (
            torch.tensor(self.seen),
            abs(self.seen[0]) > 2.4 or abs(self.seen[2]) > 0.2095,
        )

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state["seen"]


class Memory:
    """The last 10,000 steps: what was seen, what was seen next, 1 or 0 where the pole fell, and the action."""

    def __init__(self):
        self.steps = []

    def add(self, *step):
        self.steps = self.steps[-9999:] + [step]

    def draw(self, count):
        columns = zip(*random.choices(self.steps, k=count))
        seen, after, alive, action = (
            torch.stack([torch.as_tensor(x) for x in column]) for column in columns
        )
        return seen, after, alive.float(), action.long()

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state):
        self.steps = state["steps"]


# ---- words and the same words backwards, for seq2seq ----

# Tokens: 0 behind a word, 1 .. 26 letters, 27 the beginning and the end of what is written.
LONGEST, EDGE, TOKENS = 10, 27, 28


class Words:
    """Words of 3 to 10 letters of a file."""

    def __init__(self, path):
        text = Path(path).read_text(errors="replace").lower()
        self.words = [
            word for word in re.findall("[a-z]+", text) if 3 <= len(word) <= LONGEST
        ][:20000]

    def draw(self, count):
        """Words (count, LONGEST), what is given to the writer, and what it shall write (count, LONGEST + 1)."""
        word, given, wanted = (
            torch.zeros(count, LONGEST),
            torch.zeros(count, LONGEST + 1),
            torch.full((count, LONGEST + 1), -100),
        )
        for i in range(count):
            letters = torch.tensor([ord(c) - 96 for c in random.choice(self.words)])
            n = len(letters)
            word[i, :n], wanted[i, :n], wanted[i, n], given[i, 0] = (
                letters,
                letters.flip(0),
                EDGE,
                EDGE,
            )
            given[i, 1 : n + 1] = letters.flip(0)
        return word.long(), given.long(), wanted.long()


# ---- ratings of items by users, for factorise ----

USERS, ITEMS = 200, 150


def draw_ratings(count, unseen=False):
    """Users, items and ratings; each tenth rating is only among the unseen ones."""
    user, item = torch.randint(USERS, (20 * count,)), torch.randint(
        ITEMS, (20 * count,)
    )
    chosen = ((7 * user + 3 * item) % 10 == 0) == unseen
    user, item = user[chosen][:count], item[chosen][:count]
    rating = 3 + sum(
        torch.sin(1.3 * k * user) * torch.cos(2.1 * k * item) for k in (1, 2, 3)
    )
    return user, item, rating
