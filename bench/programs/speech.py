"""Connectionist temporal classification (A. Graves et al. 2006): a recurrent network
learns which sounds a recording has, without being told when."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from program_support import TrainingLoop, add_training_arguments

BATCH_SIZE, BANDS, SOUNDS, HIDDEN = 32, 16, 8, 48
# Sounds of a word, and frames of the longest one.
LONGEST, FRAMES = 6, 48


def draw_recordings(count):
    """Spectra (count, FRAMES, BANDS), their lengths, sounds from 1, their number."""
    spectra = 0.2 * torch.randn(count, FRAMES, BANDS)
    words = torch.zeros(count, LONGEST, dtype=torch.long)
    lengths = torch.zeros(count, dtype=torch.long)
    sounds = torch.randint(3, LONGEST + 1, (count,))
    band = torch.arange(BANDS)
    for i in range(count):
        t = 0
        for n in range(sounds[i]):
            words[i, n] = sound = torch.randint(1, SOUNDS + 1, (1,)).item()
            low = torch.exp(-((band - sound) ** 2) / 2)
            high = torch.exp(-((band - 6 - sound * 3 % 10) ** 2) / 2)
            frames = torch.randint(3, 7, (1,)).item()
            spectra[i, t : t + frames] += low + high
            t += frames + torch.randint(1, 3, (1,)).item()
        lengths[i] = t
        spectra[i, t:] = 0
    return spectra, lengths, words, sounds


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(BANDS, HIDDEN, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * HIDDEN, 1 + SOUNDS)

    def forward(self, spectra, lengths):
        packed = pack_padded_sequence(
            spectra, lengths, batch_first=True, enforce_sorted=False
        )
        h, _ = pad_packed_sequence(
            self.gru(packed)[0], batch_first=True, total_length=FRAMES
        )
        return F.log_softmax(self.out(h), dim=2)


def decode(best, length):
    """The most probable classes without repetitions, then without blanks."""
    heard = torch.unique_consecutive(best[:length])
    return heard[heard > 0].tolist()


def test(model):
    spectra, lengths, words, sounds = draw_recordings(BATCH_SIZE)
    with torch.no_grad():
        best = model(spectra, lengths).argmax(dim=2)
    right = sum(
        decode(best[i], lengths[i]) == words[i, : sounds[i]].tolist()
        for i in range(BATCH_SIZE)
    )
    print(f"{right} of {BATCH_SIZE} words that it has not heard are right")


def main():
    parser = argparse.ArgumentParser(description="Learns which sounds words have.")
    parser.add_argument(
        "--steps", type=int, metavar="N", default=300, help="updates (default: 300)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    model = Listener()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CTCLoss()
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        spectra, lengths, words, sounds = draw_recordings(BATCH_SIZE)
        log_probs = model(spectra, lengths).transpose(0, 1)
        loss = criterion(log_probs, words, lengths, sounds)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        if loop.every(100):
            print(f"step {step:4d}: loss {loss.item():.4f}")
    test(model)


if __name__ == "__main__":
    main()
