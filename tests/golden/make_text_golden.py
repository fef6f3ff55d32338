"""Records text_golden.json: the losses of two-layer language models over 20 windows of a text, in PyTorch.

Run in the root of the tree with a Python that has torch (Debian: python3-torch):
    /usr/bin/python3 tests/golden/make_text_golden.py

The first weights come from a formula in exact arithmetic (golden_weights.py), the tokens from one in integers;
tests/train/test_text_golden.c computes both alike, so that the file holds the curves alone. Truncated backpropagation
through time: the text lies in 4 streams, a step takes the next 12 tokens of each and the state the step before left.
"""
import json

import torch

from golden_weights import weights

WORDS, EMBEDDING, HIDDEN, STREAMS, STEPS, WINDOWS = 50, 24, 32, 4, 12, 20
RATE, MOMENTUM = 0.5, 0.9


def tokens():
    """Now a token that follows from the one before it, now any, the first ones often."""
    token, bits, text = 0, 1, []
    for _ in range(STREAMS * STEPS * WINDOWS + 1):
        text.append(token)
        bits = (bits * 1664525 + 1013904223) & 0xFFFFFFFF
        any_token = (bits >> 24) ** 2 * WORDS >> 16
        token = (token + 1) % 8 if bits >> 16 & 7 else any_token
    return torch.tensor(text)


def curve(kind):
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](EMBEDDING, HIDDEN, 2, batch_first=True)
    embedding, linear = torch.nn.Embedding(WORDS, EMBEDDING), torch.nn.Linear(HIDDEN, WORDS)
    parameters = [*embedding.parameters(), *layer.parameters(), *linear.parameters()]
    with torch.no_grad():
        for number, p in enumerate(parameters):
            p.copy_(weights(number, tuple(p.shape), 1.0 if number == 0 else 0.1875))
    optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM)
    text, length = tokens(), STEPS * WINDOWS
    seen, following = text[:-1].view(STREAMS, length), text[1:].view(STREAMS, length)
    state, losses = None, []
    for at in range(0, length, STEPS):
        y, state = layer(embedding(seen[:, at:at + STEPS]), state)
        state = tuple(s.detach() for s in state) if kind == "lstm" else state.detach()
        loss = torch.nn.functional.cross_entropy(
            linear(y).reshape(-1, WORDS), following[:, at:at + STEPS].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    with open("tests/golden/text_golden.json", "w") as file:
        json.dump({"torch": torch.__version__, "lstm": curve("lstm"), "gru": curve("gru")}, file, indent=1)
        file.write("\n")
