#!/usr/bin/env python3
"""Two of the networks of seven_torch.py in tinygrad (0.14), on its OpenCL backend, as a peer of `weft bench seven`.

usage: DEV=CL two_tinygrad.py --only FCN-R|AlexNet-R [--steps N] [--batch N]
One step = forward + backward + plain SGD at 1e-3, float32, compiled by TinyJit; random inputs already on the device. The
first two steps trace and compile, and are not timed. Prints one line: NAME BATCH median_ms min_ms first_step_s
"""
import argparse, statistics, time
from tinygrad import Context, Device, Tensor, TinyJit, nn

ap = argparse.ArgumentParser()
ap.add_argument("--only", required=True, choices=["FCN-R", "AlexNet-R"])
ap.add_argument("--steps", type=int, default=3)
ap.add_argument("--batch", type=int, default=1024)
a = ap.parse_args()


class FCN:
    shape = (784,)

    def __init__(self):
        dims = (784, 2048, 4096, 1024, 10)
        self.layers = [nn.Linear(i, o) for i, o in zip(dims, dims[1:])]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).sigmoid()
        return self.layers[-1](x)


class AlexNet:
    shape = (3, 32, 32)

    def __init__(self):
        self.c = [nn.Conv2d(3, 32, 5, padding=2), nn.Conv2d(32, 32, 5, padding=2), nn.Conv2d(32, 64, 5, padding=2)]
        self.last = nn.Linear(64 * 3 * 3, 10)

    def __call__(self, x):
        x = self.c[0](x).max_pool2d(3, 2).relu()
        x = self.c[1](x).relu().max_pool2d(3, 2)
        x = self.c[2](x).relu().avg_pool2d(3, 2)
        return self.last(x.flatten(1))


net = FCN() if a.only == "FCN-R" else AlexNet()
rule = nn.optim.SGD(nn.state.get_parameters(net), lr=1e-3)
x = Tensor.rand(a.batch, *net.shape).realize()
label = Tensor.randint(a.batch, high=10).realize()


@TinyJit
def step():
    with Context(TRAINING=1):
        rule.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(label).backward()
        return loss.realize(*rule.schedule_step())


times = []
for _ in range(a.steps + 2):
    begin = time.perf_counter()
    step().item()
    Device[Device.DEFAULT].synchronize()
    times.append(time.perf_counter() - begin)
run = times[2:]
print(f"{a.only:12s} {a.batch:5d} {statistics.median(run) * 1e3:10.2f} ms median {min(run) * 1e3:10.2f} ms min "
      f"{times[0]:8.1f} s first")
