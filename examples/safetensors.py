"""Writes and reads safetensors files: a header in JSON with name, type, shape and place of each
tensor, then the bytes.

The layout is fixed (tensors in the given order, header padded to 8 bytes), so the same tensors give
the same file."""
import json
import struct

import numpy as np

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
    "int8": "I8", "uint8": "U8", "bool": "BOOL"
}


def save(path, tensors, metadata=None):
    """tensors: name -> array; metadata: str -> str."""
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    for name, array in arrays.items():
        header[name] = {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)))
        out.write(text)
        for array in arrays.values():
            out.write(array.tobytes())


def load(path):
    """name -> array, in the order of the file; and its metadata."""
    with open(path, "rb") as source:
        data = source.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    metadata, arrays = header.pop("__metadata__", None), {}
    for name, entry in header.items():
        dtype = next(own for own, stored in DTYPES.items() if stored == entry["dtype"])
        begin, end = (start + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
    return arrays, metadata
