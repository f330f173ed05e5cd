"""ONNX files from a few words, right or wrong, in protobuf's wire format."""
import struct

DTYPES = {
    "f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "str": 8, "bool": 9,
    "f16": 10, "f64": 11, "f8": 17
}
CODES = {"f32": "f", "f16": "e", "i64": "q", "i32": "i", "bool": "B", "u8": "B", "i8": "b"}


def varint(value):
    value &= 0xFFFFFFFFFFFFFFFF
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number, value):
    """A field: an integer, a float, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dtype, dims, numbers=(), raw=None, extra=b""):
    message = b"".join(field(1, dim) for dim in dims) + field(2, DTYPES.get(dtype, dtype)) + field(
        8, name) + extra
    if raw is None and numbers:
        raw = struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers)
    return message + (field(9, raw) if raw is not None else b"")


def sparse(values, places, dims):
    """A tensor of which `values` are those elements that are not 0."""
    return field(1, values) + field(2, places) + b"".join(field(3, dim) for dim in dims)


def external(location, offset=0, length=None):
    entries = {
        "location": location, "offset": str(offset),
        **({} if length is None else {"length": str(length)})
    }
    return b"".join(field(13,
                          field(1, key) + field(2, value))
                    for key, value in entries.items()) + field(14, 1)


def value(name, dtype="f32", dims=(2, 3)):
    """Dims are numbers, names, or None for one without a name; dims=None leaves the shape out."""
    shape = b""
    for dim in dims or ():
        shape += field(1, field(1, dim) if isinstance(dim, int) else field(2, dim) if dim else b"")
    kind = field(1, DTYPES.get(dtype, dtype)) + (b"" if dims is None else field(2, shape))
    return field(1, name) + field(2, field(1, kind))


def attribute(name, held):
    out = field(1, name)
    if isinstance(held, int):
        return out + field(3, held) + field(20, 2)
    if isinstance(held, float):
        return out + field(2, held) + field(20, 1)
    if isinstance(held, str):
        return out + field(4, held) + field(20, 3)
    if isinstance(held, tuple):  # of a message: ("tensor", bytes) or ("graph", bytes)
        return out + field({"tensor": 5, "graph": 6, "sparse": 22}[held[0]], held[1])
    number = 7 if held and isinstance(held[0],
                                      float) else 9 if held and isinstance(held[0], str) else 8
    return out + b"".join(field(number, element) for element in held)


def node(op, inputs="x", outputs="y", name="n", domain="", **attributes):
    split = lambda names: [n.strip() for n in names.split(",")] if names else []
    return (b"".join(field(1, n)
                     for n in split(inputs)) + b"".join(field(2, n) for n in split(outputs)) +
            (field(3, name) if name else b"") + field(4, op) + (field(7, domain) if domain else b"")
            + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


def graph(nodes, inputs=(), outputs=("y",), tensors=(), extra=b"", name="g"):
    plain = [v if isinstance(v, bytes) else field(1, v) for v in outputs]
    return (b"".join(field(1, n)
                     for n in nodes) + field(2, name) + b"".join(field(5, t) for t in tensors)
            + b"".join(field(11, v) for v in inputs) + b"".join(field(12, v)
                                                                for v in plain) + extra)


def model(nodes, inputs=None, outputs=("y", ), tensors=(), opset=17, functions=(), extra=b"",
          opsets=()):
    inputs = [value("x")] if inputs is None else inputs
    out = field(1, 8) + b"".join(field(8, field(1, d) + field(2, v)) for d, v in opsets)
    out += field(8, field(2, opset)) if opset else b""
    return out + field(7, graph(nodes, inputs, outputs, tensors, extra)) + b"".join(
        field(25, f) for f in functions)


def function(name, nodes, inputs="x", outputs="y", domain="own", opset=17):
    split = lambda names: [n.strip() for n in names.split(",")]
    return (field(1, name) + b"".join(field(4, n) for n in split(inputs))
            + b"".join(field(5, n) for n in split(outputs)) + b"".join(field(7, n) for n in nodes)
            + field(9, field(2, opset)) + field(10, domain))
