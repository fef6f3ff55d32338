"""Two LSTM cells, one above the other, learn to continue sine waves. L-BFGS trains
them, which takes all waves at once."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import TrainingLoop, add_training_arguments

WAVES, SEEN, FUTURE, HIDDEN = 24, 40, 20, 24


def draw_waves(count, length):
    """Sine waves that begin anywhere."""
    begin = 40 * torch.rand(count, 1)
    return torch.sin((begin + torch.arange(length)) / 4)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, HIDDEN)
        self.lstm2 = nn.LSTMCell(HIDDEN, HIDDEN)
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, wave, future=0):
        """The number after each number of the wave, and how it goes on after its end."""
        outputs = []
        state1 = state2 = None
        for t in range(wave.shape[1] + future):
            x = wave[:, t : t + 1] if t < wave.shape[1] else outputs[-1]
            state1 = self.lstm1(x, state1)
            state2 = self.lstm2(state1[0], state2)
            outputs.append(self.linear(state2[0]))
        return torch.cat(outputs, dim=1)


def main():
    parser = argparse.ArgumentParser(description="Learns to continue sine waves.")
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=20,
        help="of L-BFGS (default: 20)",
    )
    parser.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        default=10,
        help="of each step, at most (default: 10)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    waves = draw_waves(WAVES, SEEN + 1)
    model = Sequence()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.2, max_iter=args.iterations)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(waves[:, :-1]), waves[:, 1:])
        loss.backward()
        return loss

    for step in loop:
        loss = optimizer.step(closure)
        if loop.every(5):
            print(f"step {step:3d}: loss {loss.item():.5f}")

    waves = draw_waves(WAVES, SEEN + FUTURE)
    with torch.no_grad():
        found = model(waves[:, :SEEN], FUTURE - 1)[:, SEEN - 1 :]
    away = F.l1_loss(found, waves[:, SEEN:]).item()
    print(f"{FUTURE} numbers of waves that it has not seen are within {away:.3f}")


if __name__ == "__main__":
    main()
