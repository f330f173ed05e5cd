"""Reads the safetensors files that dlc quantize writes."""
import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "I8": np.int8, "U8": np.uint8, "I32": np.int32, "F8_E4M3": np.uint8}


def load(path):
    """Arrays by name; those of e4m3 as their bytes."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<Q", data[:8])
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[8 + size + begin:8 + size + end],
                                        TYPES[entry["dtype"]]).reshape(entry["shape"])
    return found
