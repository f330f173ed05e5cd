"""Files of safetensors, of NumPy's dtypes."""
from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping

import numpy as np

_DTYPES = {
    "F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32,
    "BOOL": np.bool_
}


def _read(path: str) -> tuple[dict[str, dict], bytes]:
    with open(path, "rb") as file:
        data = file.read()
    (length, ) = struct.unpack_from("<Q", data)
    return json.loads(data[8:8 + length]), data[8 + length:]


def read_safetensors(path: str) -> dict[str, np.ndarray]:
    """The tensors of a file that dlc has written."""
    header, data = _read(path)
    found = {}
    for name, held in header.items():
        if name != "__metadata__":
            begin, end = held["data_offsets"]
            array = np.frombuffer(data[begin:end], _DTYPES[held["dtype"]])
            found[name] = array.reshape(held["shape"])
    return found


def read_metadata(path: str) -> dict[str, str]:
    return _read(path)[0].get("__metadata__", {})


def write_safetensors(path: str, arrays: Mapping[str, np.ndarray],
                      metadata: Mapping[str, str] | None = None) -> None:
    """Writes tensors by name. If that fails, the file is as it was before."""
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    parts, offset = [], 0
    names = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(data)]}
        parts.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError:
        if os.path.exists(beside):
            os.remove(beside)
        raise
