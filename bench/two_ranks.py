#!/usr/bin/env python3
"""Training steps of two processes with one core each, beside one process with two cores: the same batch on the same cores.

usage: two_ranks.py [--weft build/release/bin/weft] [--rounds 5] [--steps 5] [--batch NETWORK=N]... [NETWORK]...
Measures ResNet-56 and LSTM by default, both sides in turn by `weft bench scale`, and prints the medians of the rounds' ratios, with two
processes over one: of the step's time, and of the processor time of all threads, which says more where other programs run. Fails where
the ratio of the times is above 1.15. --batch gives the examples of both processes together, by default the batch of the network.
"""
import argparse, json, os, statistics, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = 1.15
BATCHES = {"ResNet-56": 128, "LSTM": 128, "digits-CNN": 32, "VGG-16": 16}
ap = argparse.ArgumentParser()
ap.add_argument("networks", nargs="*", default=["ResNet-56", "LSTM"])
ap.add_argument("--weft", default=ROOT / "build/release/bin/weft")
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--steps", type=int, default=5)
ap.add_argument("--batch", action="append", default=[])
a = ap.parse_args()
BATCHES |= {name: int(count) for name, count in (text.split("=") for text in a.batch)}


def measure(network, ranks):
    """The measured object of a job in which `ranks` processes share the batch and two cores."""
    threads = str(2 // ranks)
    environment = os.environ | {"POCL_MAX_PTHREAD_COUNT": threads, "POCL_CPU_MAX_CU_COUNT": threads, "OMPI_MCA_rmaps_base_oversubscribe": "1",
                                "OMPI_MCA_hwloc_base_binding_policy": "none"}
    command = ["mpirun", "-n", ranks, a.weft, "bench", "scale", "--json", "--steps", a.steps, "--batch", BATCHES[network] // ranks, network]
    run = subprocess.run([str(x) for x in command], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout.splitlines()[0])


def compare(network):
    ratios, processor = [], []
    for i in range(a.rounds):
        two, one = measure(network, 2), measure(network, 1)
        ratios.append(two["step_ms"] / one["step_ms"])
        processor.append(2 * two["processor_ms"] / one["processor_ms"])
        print(f"{network}: {two['step_ms']:.1f} ms with two processes ({two['exchange_ms']:.1f} ms of exchange alone, "
              f"{two['exposed_ms']:.1f} ms exposed), {one['step_ms']:.1f} ms with one: {ratios[-1]:.3f}; processor {processor[-1]:.3f}", flush=True)
    median = statistics.median(ratios)
    print(f"{network}: median of {a.rounds} rounds: {median:.3f}; processor {statistics.median(processor):.3f}", flush=True)
    return median <= ALLOWED


good = [compare(network) for network in a.networks]
print("load at the end:", *os.getloadavg())
sys.exit(not all(good))
