"""The constant tensors of an ONNX file, read from the protobuf wire format: enough to give a
model's weights other names."""
import numpy as np

DTYPES = {1: "<f4", 6: "<i4", 7: "<i8", 11: "<f8"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message: an int, or the bytes of a string or of a message.
    """
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:  # 4 or 8 bytes
            length = 4 if key & 7 == 5 else 8
            value, at = data[at:at + length], at + length
        yield key >> 3, value


def tensor(message):
    """Name and array of a TensorProto; None for the array of a dtype that no weight has."""
    dims, dtype, name, raw, floats = [], 0, "", None, b""
    for number, value in fields(message):
        if number == 1:
            packed, at = value if isinstance(value, bytes) else None, 0
            if packed is None:
                dims.append(value)
            while packed is not None and at < len(packed):
                dim, at = varint(packed, at)
                dims.append(dim)
        elif number == 2:
            dtype = value
        elif number == 4:
            floats += value
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    raw = floats if raw is None else raw
    if dtype not in DTYPES or len(raw) != np.dtype(DTYPES[dtype]).itemsize * int(
            np.prod(dims, dtype=np.int64)):
        return name, None
    return name, np.frombuffer(raw, DTYPES[dtype]).reshape(dims)


def constants(path):
    """name -> array, of the initializers and of the outputs of Constant nodes."""
    with open(path, "rb") as source:
        model = source.read()
    found = {}
    graph = b"".join(value for number, value in fields(model) if number == 7)
    for number, value in fields(graph):
        if number == 5:
            name, array = tensor(value)
            found[name] = array
        elif number == 1:
            node = list(fields(value))
            if (4, b"Constant") in node:
                output = next(v for n, v in node if n == 2).decode()
                held = [v for n, a in node if n == 5 for m, v in fields(a) if m == 5]
                found[output] = tensor(held[0])[1] if held else None
    return {name: array for name, array in found.items() if array is not None}
