"""Sequence to sequence with attention (D. Bahdanau et al. 2015, M. Luong et al. 2015)
writes words backwards."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from program_support import (
    DATA,
    LONGEST,
    TOKENS,
    TrainingLoop,
    Words,
    add_training_arguments,
)

BATCH_SIZE, HIDDEN = 64, 64


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True)

    def forward(self, word, letters):
        packed = pack_padded_sequence(
            self.embedding(word),
            letters.sum(dim=1),
            batch_first=True,
            enforce_sorted=False,
        )
        outputs, state = self.gru(packed)
        outputs, _ = pad_packed_sequence(
            outputs, batch_first=True, total_length=LONGEST
        )
        return outputs, state


class AttentionDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.combine = nn.Linear(2 * HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, TOKENS)

    def forward(self, given, encoded, state, letters):
        h, state = self.gru(self.embedding(given), state)
        mask = letters.unsqueeze(1)
        seen = F.scaled_dot_product_attention(h, encoded, encoded, attn_mask=mask)
        return self.out(torch.tanh(self.combine(torch.cat((h, seen), dim=2))))


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = AttentionDecoder()

    def forward(self, word, given):
        letters = word != 0
        encoded, state = self.encoder(word, letters)
        return self.decoder(given, encoded, state, letters)


def write_words(model, words):
    """Letter by letter, each given what was written so far."""
    word, given, wanted = words.draw(BATCH_SIZE)
    with torch.no_grad():
        for t in range(LONGEST + 1):
            written = model(word, given).argmax(dim=2)
            given[:, 1:] = written[:, :-1]
    right = ((written == wanted) | (wanted < 0)).all(dim=1).sum().item()
    print(f"{right} of {BATCH_SIZE} words are written backwards")


def main():
    parser = argparse.ArgumentParser(description="Learns to write words backwards.")
    parser.add_argument(
        "--data",
        metavar="FILE",
        default=DATA / "text/alice.txt",
        help="a text, for its words",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=600, help="updates (default: 600)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    words = Words(args.data)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        word, given, wanted = words.draw(BATCH_SIZE)
        logits = model(word, given)
        loss = criterion(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        if loop.every(100):
            print(f"step {step:4d}: loss {loss.item():.3f}")
    write_words(model, words)


if __name__ == "__main__":
    main()
