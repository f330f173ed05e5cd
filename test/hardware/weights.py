"""Weights for a model, without NumPy."""
import array
import json
import random
import struct


def write(path, shapes):
    """Random weights that keep the size of what flows through, as safetensors; a block of numbers
    stands again and again."""
    generator = random.Random(7)
    normal = array.array("f", (generator.gauss(0, 1) for _ in range(1 << 15)))
    header, offset = {}, 0
    for name, dims in shapes.items():
        count = 1
        for dim in dims:
            count *= dim
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [offset, offset + 4 * count]}
        offset += 4 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, dims in shapes.items():
            begin, end = header[name]["data_offsets"]
            if name.endswith(("running_var", "moving_variance")) or len(dims) < 2 and name.endswith(
                (".weight", "gamma")):
                block = array.array("f", (1 + 0.1 * abs(value) for value in normal))
            else:
                inputs = 1
                for dim in dims[1:]:
                    inputs *= dim
                scale = (1.5 / inputs) ** 0.5 if len(dims) > 1 else 0.1
                block = array.array("f", (scale * value for value in normal))
            data, left = block.tobytes(), end - begin
            while left > 0:
                out.write(data[:left])
                left -= len(data)
