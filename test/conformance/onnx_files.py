"""The ONNX project's test cases: tensors and graphs from the protobuf wire format, and the archives
of the corpus."""
import csv
import hashlib
import os
import tarfile

import numpy as np

from onnx_weights import fields, varint

# TensorProto.DataType: name in dlc, NumPy's type of its bytes.
DTYPES = {
    1: ("f32", "<f4"), 2: ("u8", "u1"), 3: ("i8", "i1"), 5: ("i16", "<i2"), 6: ("i32", "<i4"),
    7: ("i64", "<i8"), 9: ("bool", "u1"), 10: ("f16", "<f2"), 11: ("f64", "<f8"),
    16: ("bf16", "<u2"), 4: ("u16", "<u2"), 12: ("u32", "<u4"), 13: ("u64", "<u8"), 17: ("f8e4m3fn",
                                                                                         "u1"),
    18: ("f8e4m3fnuz", "u1"), 19: ("f8e5m2", "u1"), 20: ("f8e5m2fnuz", "u1"), 21: ("u4", "u1"),
    22: ("i4", "i1"), 23: ("f4e2m1", "u1"), 24: ("f8e8m0", "u1"), 25: ("u2", "u1"), 26: ("i2", "i1")
}
# Bits of an element where several lie in a byte, the first in the lowest bits.
PACKED = {"u4": 4, "i4": 4, "f4e2m1": 4, "u2": 2, "i2": 2}
PAYLOADS = {
    4: ("<f4", None), 5: (None, np.int32), 7: (None, np.int64), 10: ("<f8", None),
    11: (None, np.uint64)
}


class Unreadable(Exception):
    """Data that dlc has no dtype for."""


def numbers(value):
    """The varints of a repeated field: one, or packed ones."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def read_tensor(message):
    """(name, dtype, array) of a TensorProto; bf16 as its bits."""
    dims, data_type, name, raw, payload, integers = [], 0, "", None, b"", []
    for number, value in fields(message):
        if number == 1:
            dims += numbers(value)
        elif number == 2:
            data_type = value
        elif number in (4, 10):
            payload += value
        elif number in (5, 7, 11):
            integers += numbers(value)
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    if data_type not in DTYPES:
        raise Unreadable(f"data type {data_type}")
    dtype, code = DTYPES[data_type]
    if raw is None and integers:
        bits = np.array([i & 0xFFFFFFFFFFFFFFFF for i in integers], np.uint64)
        raw = bits.astype("<u" + str(np.dtype(code).itemsize)).tobytes()
    raw = payload if raw is None else raw
    if dtype in PACKED:
        elements = unpacked(np.frombuffer(raw, np.uint8), PACKED[dtype], dims).astype(code)
        half = 2 ** (PACKED[dtype] - 1)
        return name, dtype, (elements ^ half) - half if code == "i1" else elements
    return name, dtype, np.frombuffer(raw, code).reshape(dims)


def unpacked(packed, bits, dims):
    """One element a byte, as unsigned numbers."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[:, None] >> shifts) &
            (2**bits - 1)).reshape(-1)[:int(np.prod(dims, dtype=np.int64))].reshape(dims)


def graph_of(path):
    """inputs and outputs (names), and nodes: (op, input names, names of attributes)."""
    with open(path, "rb") as source:
        model = source.read()
    inputs, outputs, nodes, held = [], [], [], set()
    graph = b"".join(value for number, value in fields(model) if number == 7)
    name_of = lambda message, key: next((v.decode() for n, v in fields(message) if n == key), "")
    for number, value in fields(graph):
        if number == 1:
            parts = list(fields(value))
            op = next((v.decode() for n, v in parts if n == 4), "")
            nodes.append((op, [v.decode() for n, v in parts if n == 1],
                          [name_of(v, 1) for n, v in parts if n == 5]))
        elif number == 5:
            held.add(name_of(value, 8))
        elif number == 11:
            inputs.append(name_of(value, 1))
        elif number == 12:
            outputs.append(name_of(value, 1))
    return [name for name in inputs if name not in held], outputs, nodes


def extract(corpus, parent):
    """The folder of the cases, in `parent` and named by what the archives hold: they are unpacked
    there once, and those of another corpus elsewhere."""
    archives = [
        os.path.join(corpus, "onnx-backend", name)
        for name in ("onnx-node-tests.tar.xz", "onnx-other-tests.tar.xz")
    ]
    digest = hashlib.sha256()
    for archive in archives:
        with open(archive, "rb") as source:
            digest.update(hashlib.sha256(source.read()).digest())
    folder = os.path.join(parent, digest.hexdigest()[:16])
    done = os.path.join(folder, "done")
    if not os.path.exists(done):
        for archive in archives:
            with tarfile.open(archive) as packed:
                packed.extractall(folder)
        open(done, "w").close()
    return folder


def small_models(folder):
    """"simple/test_x" and its like: the tests that are no node tests."""
    return sorted(f"{kind}/{name}" for kind in ("simple", "pytorch-converted", "pytorch-operator")
                  for name in os.listdir(os.path.join(folder, kind)) if name.startswith("test_"))


def index(corpus):
    """test -> row of the index, of the node tests."""
    with open(os.path.join(corpus, "onnx-backend", "onnx-node-tests.index.tsv"),
              newline="") as source:
        return {row["test"]: row for row in csv.DictReader(source, delimiter="\t")}
