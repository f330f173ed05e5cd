"""ScatterND at positions of many origins. slice_assignment.py FOLDER compiles a model of each, and
runs it on the CPU and, for some, on the emulated GPU against NumPy. A line for each case says the
dl ops that it became; the last one is "N passed, N failed"."""
import os
import re
import subprocess
import sys

import numpy as np
from onnx_writer import model, node, tensor, value

folder = sys.argv[1]
random = np.random.default_rng(4)
passed = failed = 0


def reference(x, positions, updates, combine=lambda old, new: new):
    y = x.copy()
    for at in np.ndindex(positions.shape[:-1]):
        y[tuple(positions[at])] = combine(y[tuple(positions[at])], updates[at])
    return y


def boxed(*ranges, order=None):
    """Positions of a box, their dims in `order`."""
    grid = np.stack(np.meshgrid(*ranges, indexing="ij"), -1)
    return grid if order is None else grid.transpose(*order, len(ranges))


def case(name, nodes, dims, arrays, expected, tensors=(), devices=("cpu",), opset=18, dtypes=None):
    """`dims` are those of the inputs in the model, `arrays` are what they are given."""
    global passed, failed
    path = os.path.join(folder, name)
    values = [value(key, (dtypes or {}).get(key, "f32"), dims[key]) for key in arrays]
    with open(path + ".onnx", "wb") as out:
        out.write(model(nodes, values, tensors=tensors, opset=opset))
    np.save(path + ".npy", expected)
    given = []
    for key, array in arrays.items():
        np.save(f"{path}-{key}.npy", array)
        given += ["--input", f"{key}=@{path}-{key}.npy"]
    text = subprocess.run(["dlc", "compile", path + ".onnx", "--compile-to=import"],
                          capture_output=True, text=True)
    ops = " ".join(re.findall(r"dl\.(update_slice|narrow|permute|scatter)",
                              text.stdout)) or "none of these"
    notes = "".join("; " + line.rsplit(".onnx: ", 1)[1] for line in text.stderr.splitlines()
                    if "remark" in line)
    print(f"{name}: {ops}{notes}")
    problem = ""
    for step in (["dlc", "compile", path + ".onnx", "-o", path + ".bin"], *([
            "dlc", "run", path + ".bin", "--device", device, *given, "--expected-output",
            f"y=@{path}.npy", "--atol", "0", "--rtol", "0"
    ] for device in devices)):
        done = subprocess.run(step, capture_output=True, text=True)
        problem = problem or (done.returncode and f"{' '.join(step)}: {done.stdout}{done.stderr}")
    if problem:
        print(f"FAILED {name}: {problem}")
    failed, passed = failed + bool(problem), passed + (not problem)


def drawn(*shape):
    return random.standard_normal(shape).astype(np.float32)


def stored(name, positions, shape=(4, 5), **more):
    """Positions that are an initializer, as those of a model whose dims are all numbers."""
    positions = np.asarray(positions)
    updates = drawn(*positions.shape[:-1], *shape[positions.shape[-1]:])
    x = drawn(*shape)
    named = tensor("p", "i64", list(positions.shape), raw=positions.astype(np.int64).tobytes())
    wrapped = np.where(positions < 0, positions + np.array(shape[:positions.shape[-1]]), positions)
    case(name, [node("ScatterND", "x, p, u", "y", **more)], {"x": shape, "u": updates.shape},
         {"x": x, "u": updates},
         reference(x, wrapped, updates, np.add if more else lambda old, new: new), [named])


stored("whole", boxed(range(4), range(5)))
stored("rows", [[1], [2]])
stored("one", [[3, 4]])
stored("columns", boxed(range(4), [1, 2, 3]))
stored("corner", boxed([1, 2], [2, 3, 4]))
stored("turned", boxed([1, 2], [2, 3, 4], order=(1, 0)))
stored("last_column", boxed(range(4), [-1]).reshape(4, 2))
stored("from_the_end", boxed([-3, -2], range(5)))
stored("inner", boxed(range(3), [1], [2, 3]), (3, 4, 5, 2))
stored("large", boxed(range(64), range(3, 40)), (64, 40))
# No boxes: a step, a turn, a place twice, an order of no range, an end that wraps, a sum.
stored("apart", boxed(range(4), [0, 2, 4]))
stored("backwards", boxed(range(4), [3, 2, 1]))
stored("twice", [[1], [1]])
stored("along_both", [[0, 0], [1, 1], [2, 2]])
stored("shuffled", [[1], [2], [0]])
stored("around_the_end", [[-1], [0]])
stored("added", [[1], [2]], reduction="add")


def numbers(name, *values, dims=None):
    return tensor(name, "i64", [len(values)] if dims is None else dims, list(values))


ZERO, ONE, END = numbers("zero", 0, dims=[]), numbers("one", 1, dims=[]), numbers("end", -1)


def size(of, axis, name):
    """A dim of a tensor, as a number without dims."""
    return [node("Shape", of, name + "_all"),
            node("Gather", f"{name}_all, {name}_axis",
                 name)], numbers(name + "_axis", axis, dims=[])


def repeated(name, axes):
    """A range [T] as one part of positions over dims of the size `given`."""
    return ([
        node("Unsqueeze", f"{name}, {name}_axes", name + "_apart"),
        node("Expand", f"{name}_apart, given", name + "_all"),
        node("Unsqueeze", f"{name}_all, end", name + "_part")
    ], numbers(name + "_axes", *axes))


def computed(name, start, count, dims, shapes, whole=False, devices=("cpu",)):
    """x[:, start:start + count] = u, its positions as PyTorch's exporter computes them; `start` and
    `count` are the names of numbers."""
    rows, rows_axis = size("x", 0, "rows")
    columns, columns_axis = size("u", 1, "columns")
    before, before_axis = size("before", 0, "past")
    up, up_axes = repeated("up", [1])
    along, along_axes = repeated("along", [0])
    nodes = [
        *rows, *columns, *before,
        node("Range", "zero, rows, one", "up"),
        node("Add", f"{start}, {count}", "stop"),
        node("Range", f"{start}, stop, one", "along"),
        node("Shape", "u", "given"), *up, *along,
        node("Concat", "up_part, along_part", "p", axis=-1),
        node("ScatterND", "x, p, u", "y")
    ]
    x, u, b = (drawn(*shapes[key]) for key in ("x", "u", "before"))
    first = {"zero": 0, "past": len(b)}[start]
    case(name, nodes, dims, {"x": x, "u": u, "before": b},
         reference(x, boxed(range(len(x)), range(first, first + u.shape[1])), u),
         [ZERO, ONE, END, rows_axis, columns_axis, before_axis, up_axes, along_axes], devices)


both = ("cpu", "cuda-emu")
computed("symbolic_whole", "zero", "columns", {"x": ("N", "T"), "u": ("N", "T"), "before": ("P", )},
         {"x": (3, 7), "u": (3, 7), "before": (2, )}, devices=both)
# As many places more as the part begins after: it fits whatever the sizes are.
computed("symbolic_part", "past", "columns",
         {"x": ("N", "P + T"), "u": ("N", "T"), "before": ("P", )},
         {"x": (3, 7), "u": (3, 5), "before": (2, )}, devices=both)
# A part of a dim that is a number is as long as that at most.
computed("narrowed", "zero", "columns", {"x": ("N", 8), "u": ("N", "T"), "before": ("P", )},
         {"x": (3, 8), "u": (3, 5), "before": (2, )})
# Nothing says that so many fit.
computed("unknown", "zero", "columns", {"x": ("N", "C"), "u": ("N", "T"), "before": ("P", )},
         {"x": (3, 8), "u": (3, 5), "before": (2, )})

# Numbers that depend on dims: the last row, and two rows in the middle of twice as many.
x, u = drawn(6, 2), drawn(2, 2)
count, count_axis = size("x", 0, "n")
case("symbolic_last", [
    *count,
    node("Sub", "n, one", "m"),
    node("Reshape", "m, single", "p"),
    node("ScatterND", "x, p, u", "y")
], {"x": ("N", 2), "u": (1, 2)}, {"x": x, "u": u[:1]}, reference(x, np.array([[5]]), u[:1]),
     [ONE, count_axis, numbers("single", 1, 1)], both)
case("symbolic_middle", [
    node("Tile", "x, twice", "xx"), *count,
    node("Sub", "n, one", "m"),
    node("Reshape", "m, single", "m1"),
    node("Reshape", "n, single", "n1"),
    node("Concat", "m1, n1", "mn", axis=0),
    node("Unsqueeze", "mn, end", "p"),
    node("ScatterND", "xx, p, u", "y")
], {"x": ("N", 2), "u": (2, 2)}, {"x": x, "u": u},
     reference(np.concatenate([x, x]), np.array([[5], [6]]), u),
     [ONE, END, count_axis, numbers("single", 1),
      numbers("twice", 2, 1)])

# Positions that the data say, a range times two, and a part of a range that is moved.
x, u = drawn(6, 2), drawn(3, 2)
case("data", [node("ScatterND", "x, p, u", "y")],
     {"x": (6, 2), "u": (3, 2), "p": (3, 1)}, {"x": x, "u": u, "p": np.array([[1], [2], [3]])},
     reference(x, np.array([[1], [2], [3]]), u), dtypes={"p": "i64"})
rows, rows_axis = size("u", 0, "rows")
from_range = [*rows, node("Range", "zero, rows, one", "r")]
case("doubled", [
    *from_range,
    node("Mul", "r, two", "d"),
    node("Unsqueeze", "d, end", "p"),
    node("ScatterND", "x, p, u", "y")
], {"x": (6, 2), "u": ("M", 2)}, {"x": x, "u": u}, reference(x, np.array([[0], [2], [4]]), u),
     [ZERO, ONE, END, rows_axis, numbers("two", 2)])
case("sliced", [
    node("Range", "zero, six, one", "r"),
    node("Add", "r, shift", "a"),
    node("Slice", "a, two, five, first", "b"),
    node("Unsqueeze", "b, end", "p"),
    node("ScatterND", "x, p, u", "y")
], {"x": (6, 2), "u": (3, 2)}, {"x": x, "u": u}, reference(x, np.array([[3], [4], [5]]), u), [
    ZERO, ONE, END,
    numbers("six", 6, dims=[]),
    numbers("shift", 1),
    numbers("two", 2),
    numbers("five", 5),
    numbers("first", 0)
])
# Sums of a range with itself, again and again: soon they are followed no further.
chain = [node("Add", f"a{i}, a{i}", f"a{i + 1}") for i in range(40)]
case("long", [
    *rows,
    node("Range", "zero, rows, one", "a0"), *chain,
    node("Mod", "a40, two", "m"),
    node("Unsqueeze", "m, end", "p"),
    node("ScatterND", "x, p, u", "y")
], {"x": (6, 2), "u": ("M", 2)}, {"x": x, "u": u[:1]}, reference(x, np.array([[0]]), u[:1]),
     [ZERO, ONE, END, rows_axis, numbers("two", 2)])
print(f"{passed} passed, {failed} failed")
