#!/usr/bin/env python3
"""Writes the committed seeds of the fuzz targets safetensors and npy into test/fuzz/corpus.

usage: make_corpus.py [FOLDER]

Each is a small file with another feature of its format. The seeds of the target dl are models
written by hand, and those of the target model are compiled from these by tools/scripts/fuzz, so
that they follow the package format."""
import gzip
import io
import json
import os
import struct
import sys
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")
IDX = bytes([0, 0, 11, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + np.arange(6, dtype=">i2").tobytes()


def put(kind, name, data):
    os.makedirs(os.path.join(ROOT, kind), exist_ok=True)
    with open(os.path.join(ROOT, kind, name), "wb") as file:
        file.write(data)


def safetensors(name, header, data):
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    put("safetensors", name, struct.pack("<Q", len(text)) + text + data)


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def npy(array, version=(1, 0)):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def main():
    safetensors("two",
                {"fc.weight": tensor("F32", [2, 3], 0, 24), "fc.bias": tensor("F16", [2], 24, 28)},
                bytes(range(28)))
    safetensors("metadata", {"__metadata__": {"format": "pt"}, "n": tensor("I64", [], 0, 8)},
                bytes(8))
    safetensors("empty", {}, b"")
    safetensors("zero",
                {"a": tensor("BF16", [0, 5], 0, 0), "b\\u00e9\"": tensor("BOOL", [3], 0, 3)},
                b"\0\1\0")
    for code, size in (("F64", 8), ("I32", 4), ("I16", 2), ("I8", 1), ("U8", 1), ("F8_E4M3", 1),
                       ("U64", 8)):
        safetensors(code.lower(), {"x": tensor(code, [1], 0, size)}, bytes(size))
    safetensors("overlap", {"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 2, 6)}, bytes(6))
    safetensors("reversed", {"a": tensor("U8", [4], 4, 0)}, bytes(4))
    safetensors("huge", {"a": tensor("F32", [2 ** 62, 8], 0, 4)}, bytes(4))

    put("npy", "f4", npy(np.arange(6, dtype="<f4").reshape(2, 3)))
    put("npy", "fortran", npy(np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3))))
    put("npy", "big-endian", npy(np.arange(3, dtype=">i4")))
    put("npy", "version2", npy(np.zeros((1, 0, 2), "u1"), (2, 0)))
    put("npy", "scalar", npy(np.array(True)))
    put("npy", "idx", IDX)
    put("npy", "packed-idx", gzip.compress(IDX, mtime=0))
    put("npy", "half", npy(np.ones(2, "f2")))
    put(
        "npy", "object", b"\x93NUMPY\x01\x00\x36\x00"
        + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(53) + b"\n")
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        out = io.BytesIO()
        save(out, a=np.arange(4, dtype="<f4"), b=np.ones((2, 2), ">f8"))
        put("npy", name + ".npz", out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("z.npy"), npy(np.zeros(3000, "u1")), zipfile.ZIP_DEFLATED)
        archive.comment = b"a comment"
    put("npy", "comment.npz", out.getvalue())


main()
