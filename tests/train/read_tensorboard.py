"""Reads event files with TensorBoard's reader; the folder is that of check_tensorboard.sh."""
import os
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

bad = 0


def expect(what, got, wanted):
    global bad
    if got != wanted:
        print(f"{what}: {got}, expected {wanted}")
        bad += 1


def read(folder):
    kinds = ("scalars", "histograms", "images", "tensors", "compressedHistograms")
    events = EventAccumulator(os.path.join(sys.argv[1], folder), size_guidance={kind: 0 for kind in kinds})
    events.Reload()
    return events


def plugin_of(events, tag):
    return events.SummaryMetadata(tag).plugin_data.plugin_name


loop = read("loop")
losses = loop.Scalars("loss/training")
expect("steps", [e.step for e in losses], list(range(1, 21)))
expect("loss goes down", losses[-1].value < losses[0].value, True)
expect("histogram", loop.Histograms("linear1/weight")[-1].histogram_value.num, 32.0)
expect("buckets", sum(loop.Histograms("scores/all")[-1].histogram_value.bucket), 64.0)
image = loop.Images("plane")[-1]
expect("image", (image.width, image.height, image.encoded_image_string[:4]), (8, 8, b"\x89PNG"))
expect("text", loop.Tensors("notes")[-1].tensor_proto.string_val[0], b"two classes of **points**")
expect("plugins", (plugin_of(loop, "notes"), plugin_of(loop, "points")), ("text", "pr_curves"))
expect("curve", len(loop.Tensors("points")[-1].tensor_proto.float_val), 6 * 127)
nodes = {node.name: node for node in loop.Graph().node}
expect("inputs of nodes are nodes", all(i in nodes for n in nodes.values() for i in n.input), True)
weight = nodes["linear1/weight"].attr["_output_shapes"].list.shape[0]
expect("shape", [dim.size for dim in weight.dim], [16, 2])
metadata = loop.summary_metadata["_hparams_/session_start_info"].plugin_data.content
session = plugin_data_pb2.HParamsPluginData.FromString(metadata).session_start_info
expect("settings", (session.hparams["optimizer"].string_value, session.hparams["learning_rate"].number_value), ("adam", 0.01))

trainer = read("trainer")
expect("steps of the trainer", [e.step for e in trainer.Scalars("loss/step")], list(range(1, 7)))
expect("epochs of the trainer", [e.step for e in trainer.Scalars("loss/validation")], [2, 4, 6])

resumed = read("resumed")
expect("epochs of the resumed run", [e.step for e in resumed.Scalars("loss/training")], [45, 90, 135])
expect("numbers of its epochs", [e.value for e in resumed.Scalars("run/epoch")], [1.0, 2.0, 3.0])
sys.exit(bad > 0)
