"""Checks and runs the ONNX files of a folder, and compares their outputs with the numbers in the JSON files beside them."""
import glob
import json
import sys

import numpy
import onnx
import onnxruntime

TYPES = {"f32": numpy.float32, "i32": numpy.int32, "bool": numpy.bool_}
FEWEST = 380


def array_of(array):
    return numpy.array(array["data"], numpy.float64).astype(TYPES[array["dtype"]]).reshape(array["dims"])


def difference(got, wanted):
    """The largest difference as a share of the largest number; infinite numbers and NaN must be equal."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"the output is {got.dtype} {got.shape}, not {wanted.dtype} {wanted.shape}"
    got, wanted = got.astype(numpy.float64), wanted.astype(numpy.float64)
    finite = numpy.isfinite(wanted)
    if not numpy.array_equal(got[~finite], wanted[~finite], equal_nan=True):
        return "numbers that are not finite differ"
    largest = numpy.abs(wanted[finite]).max(initial=0)
    return numpy.abs(got[finite] - wanted[finite]).max(initial=0) / (largest if largest else 1)


def run(path):
    with open(path[: -len(".onnx")] + ".json", encoding="utf-8") as file:
        case = json.load(file)
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {each.name: array_of(case["inputs"][int(each.name[1:])]) for each in session.get_inputs()}
    found = difference(session.run(None, inputs)[0], array_of(case["output"]))
    return None if not isinstance(found, str) and found <= case.get("near", 1e-5) else found


def main(folder):
    paths, wrong = sorted(glob.glob(folder + "/*.onnx")), 0
    for path in paths:
        try:
            found = run(path)
        except Exception as error:  # of the checker or of the runtime, each with its own type
            found = str(error).replace("\n", " ")
        if found is not None:
            print(f"{path}: {found}")
            wrong += 1
    print(f"{len(paths) - wrong} right, {wrong} wrong")
    return wrong > 0 or len(paths) < FEWEST


sys.exit(main(sys.argv[1]))
