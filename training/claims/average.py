"""Averages int8 models of one shape: their matrices are read back, averaged and quantised again.

usage: python3 average.py OUT.onnx HEAT MODEL.onnx:HEAT...

HEAT after a model undoes the temperature that its logits were divided by; the first HEAT is that of the average. Needs onnx.
"""
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def values_of(model) -> dict[str, np.ndarray]:
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def whole(values: dict[str, np.ndarray], name: str) -> np.ndarray:
    stem = name.removesuffix("_quantized")
    return (values[name].astype(np.float32) - values[f"{stem}_zero_point"].astype(np.float32)) * values[f"{stem}_scale"]


def quantised(matrix: np.ndarray, like: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """uint8 with a zero point for whole tables, int8 without one for each column of the other matrices, as onnxruntime does."""
    stem = name.removesuffix("_quantized")
    scale, zero = like[f"{stem}_scale"], like[f"{stem}_zero_point"]
    if like[name].dtype == np.uint8:
        step = np.float32((max(0, matrix.max()) - min(0, matrix.min())) / 255)
        at = np.round(-min(0, matrix.min()) / step)
        return {name: np.clip(np.round(matrix / step + at), 0, 255).astype(np.uint8), f"{stem}_scale": step.reshape(scale.shape), f"{stem}_zero_point": np.array(at, dtype=np.uint8).reshape(zero.shape)}
    step = np.abs(matrix).max(axis=None if scale.size == 1 else 0) / np.float32(127)
    return {name: np.clip(np.round(matrix / step), -127, 127).astype(np.int8), f"{stem}_scale": np.asarray(step, dtype=np.float32).reshape(scale.shape)}


def main() -> None:
    out, heat = sys.argv[1], float(sys.argv[2])
    given = [argument.rsplit(":", 1) for argument in sys.argv[3:]]
    models = [(onnx.load(file), float(own)) for file, own in given]
    tables = [(values_of(model), own) for model, own in models]
    first = tables[0][0]
    new = {}
    for name, value in first.items():
        if name.endswith("_quantized"):
            mean = np.mean([whole(values, name) * (own / heat if name.startswith("last.") else 1) for values, own in tables], 0)
            new |= quantised(mean, first, name)
        elif value.dtype == np.float32 and not name.endswith("_scale") and name.split(".")[0] in ("bert", "middle", "last"):
            new[name] = np.mean([values[name] * (own / heat if name.startswith("last.") else 1) for values, own in tables], 0).astype(np.float32)
    for each in models[0][0].graph.initializer:
        if each.name in new:
            each.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(new[each.name]), each.name))
    onnx.save(models[0][0], out)


if __name__ == "__main__":
    main()
