"""Style transfer (L. Gatys et al. 2016): the pixels of an image learn to have the
features of a digit and the correlations of features of a pattern, through a network
with random weights that does not change."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments

SIZE, WIDTH = 32, 16


class Features(nn.Module):
    """What a network sees at three sizes of the image."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv2d(WIDTH, 2 * WIDTH, 3, padding=1)
        self.conv3 = nn.Conv2d(2 * WIDTH, 4 * WIDTH, 3, padding=1)

    def forward(self, image):
        x1 = F.relu(self.conv1(image))
        x2 = F.relu(self.conv2(F.avg_pool2d(x1, 2)))
        x3 = F.relu(self.conv3(F.avg_pool2d(x2, 2)))
        return [x1, x2, x3]


def gram_matrix(x):
    """How often features of the image come together."""
    x = x.flatten(2)
    return x @ x.mT / x.shape[2]


def squared_distance(a, b):
    return (a - b).square().sum()


def make_pattern():
    """Slanted stripes."""
    row = torch.arange(SIZE)[:, None]
    column = torch.arange(SIZE)
    return (0.5 + 0.5 * torch.sin(0.9 * (row + column))).view(1, 1, SIZE, SIZE)


def show_image(image):
    for row in image[0, 0, ::2]:  # characters are twice as high as wide
        print("".join(" .:-=+*#%@"[int(9.99 * p)] for p in row))


def main():
    parser = argparse.ArgumentParser(
        description="Draws a digit in the style of a pattern."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=200, help="updates (default: 200)"
    )
    parser.add_argument(
        "--style",
        type=float,
        metavar="W",
        default=30.0,
        help="how much the style counts (default: 30)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    digit, _ = Digits(args.data, "train").draw(1)
    content = F.interpolate(digit, scale_factor=SIZE // 8, mode="bilinear")
    network = Features().requires_grad_(False)
    noise = nn.init.uniform_(torch.empty(1, 1, SIZE, SIZE))
    drawing = nn.ParameterDict({"image": noise})
    optimizer = torch.optim.Adam(drawing.parameters(), lr=0.03)
    loop = TrainingLoop(
        args, args.steps, network=network, drawing=drawing, optimizer=optimizer
    )
    wanted_content = network(content)[-1]
    wanted_style = [gram_matrix(x) for x in network(make_pattern())]
    for step in loop:
        features = network(drawing["image"])
        content_loss = squared_distance(features[-1], wanted_content)
        style_loss = sum(
            squared_distance(gram_matrix(x), wanted)
            for x, wanted in zip(features, wanted_style)
        )
        loss = content_loss + args.style * style_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            drawing["image"].clamp_(0, 1)
        if step == 1 or loop.every(100):
            print(
                f"step {step:4d}: content {content_loss.item():.3f}, "
                f"style {style_loss.item():.4f}"
            )
    show_image(drawing["image"].detach())


if __name__ == "__main__":
    main()
