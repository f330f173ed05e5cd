"""Files whose sizes are known when they run. What NumPy gives for the same graph is expected.
sizes.py FOLDER; the last line is "N passed, N failed"."""
import numpy as np
from onnx_writer import graph, node, tensor
from sized_cases import case, finish, ints, scalar, x


def pooled(v):
    h, w = v.shape[2:]
    return v.reshape(*v.shape[:2], h // 2, 2, w // 2, 2).max((3, 5))


def pyramid(v):
    a = pooled(v)
    return a + pooled(a).repeat(2, 2).repeat(2, 3)


def recurrent(v, h):
    w, r = np.array([[0.5, 0.1, -0.2], [0.3, 0.4, -0.6]]), np.array([[0.1, 0.2], [-0.3, 0.4]])
    for step in v:
        h = np.tanh(step @ w.T + h @ r.T)
    return h


# Slices clamp, as Python's do, whatever the sizes.
for name, start, end, step in (("first", 0, 5, 1), ("beyond", 2, 2**62, 1),
                               ("last", -3, 2**63 - 1, 1), ("inner", 1, -1, 1),
                               ("strided", 1, 6, 2), ("reversed", -1, -2**63,
                                                      -1), ("back", 4, 0, -2), ("empty", 3, 1, 1)):
    case(
        f"slice_{name}", [node("Slice", "x, s, e, a, t")], [x("N", 2)],
        [ints("s", start), ints("e", end),
         ints("a", 0), ints("t", step)],
        lambda v, s=start, e=end, t=step: v[slice(s, None
                                                  if e in (2**62, 2**63 - 1, -2**63) else e, t)],
        [[(n, 2)] for n in (1, 2, 4, 5, 9)])

# Half of a dim, and a slice whose end is computed.
half = [node("Shape", "x", "shape"), node("Gather", "shape, one", "n"), node("Div", "n, two", "h")]
case("half", [*half, node("Slice", "x, zero, h, one")], [x(2, "T")],
     [ints("one", 1), ints("two", 2), ints("zero", 0)], lambda v: v[:, :v.shape[1] // 2],
     [[(2, t)] for t in (1, 2, 7, 64)])
case("at_most",
     [*half[:2], node("Min", "n, most", "h"),
      node("Slice", "x, zero, h, one")], [x(2, "T")],
     [ints("one", 1), ints("most", 6), ints("zero", 0)], lambda v: v[:, :6], [[(2, t)]
                                                                              for t in (1, 6, 20)])

# Where a file pads to a multiple, and to a length.
case("pad_to_multiple", [
    node("Shape", "x", "shape"),
    node("Gather", "shape, one", "n"),
    node("Mod", "n, eight", "rest"),
    node("Sub", "eight, rest", "more"),
    node("Mod", "more, eight", "width"),
    node("Concat", "zeros, width", "pads", axis=0),
    node("Pad", "x, pads")
], [x(2, "T")],
     [ints("one", 1), ints("eight", 8), ints("zeros", 0, 0, 0)],
     lambda v: np.pad(v, ((0, 0), (0, -v.shape[1] % 8))), [[(2, t)] for t in (1, 7, 8, 9)])
case(
    "pad_to_length", [
        node("Shape", "x", "shape"),
        node("Gather", "shape, one", "n"),
        node("Sub", "length, n", "width"),
        node("Concat", "zeros, width", "pads", axis=0),
        node("Pad", "x, pads")
    ], [x(2, "T")],
    [ints("one", 1), ints("length", 10), ints("zeros", 0, 0, 0)],
    lambda v: np.pad(v, ((0, 0), (0, 10)))[:, :10], [[(2, t)] for t in (1, 10, 13)])
for mode, torch_mode in (("reflect", "reflect"), ("edge", "edge"), ("wrap", "wrap")):
    case(f"pad_{mode}", [
        node("Shape", "x", "shape"),
        node("Gather", "shape, one", "n"),
        node("Div", "n, two", "width"),
        node("Concat", "zero, width, zero, width", "pads", axis=0),
        node("Pad", "x, pads", mode=mode)
    ], [x(2, "T")],
         [ints("one", 1), ints("two", 2), ints("zero", 0)],
         lambda v, m=torch_mode: np.pad(v, (
             (0, 0), (v.shape[1] // 2, ) * 2), mode=m), [[(2, t)] for t in (2, 5, 12)])

# A shape that a comparison chooses.
case("chosen_shape", [
    node("Shape", "x", "shape"),
    node("Gather", "shape, one", "n"),
    node("Greater", "n, four", "large"),
    node("Where", "large, four, n", "m"),
    node("Slice", "x, zero, m, one")
], [x(2, "T")], [ints("one", 1), ints("four", 4), ints("zero", 0)], lambda v: v[:, :4],
     [[(2, t)] for t in (1, 4, 5, 30)])

# Sizes that real numbers give, in f32 as the file says.
case("real_size", [
    node("Shape", "x", "shape"),
    node("Gather", "shape, one", "n"),
    node("Cast", "n", "real", to=1),
    node("Mul", "real, factor", "scaled"),
    node("Floor", "scaled", "low"),
    node("Cast", "low", "m", to=7),
    node("Slice", "x, zero, m, one")
], [x(2, "T")],
     [ints("one", 1), ints("zero", 0),
      tensor("factor", "f32", [1], [0.7])],
     lambda v: v[:, :int(np.floor(np.float32(v.shape[1]) * np.float32(0.7)))],
     [[(2, t)] for t in (1, 10, 20, 33)])
case("real_range", [
    node("Shape", "x", "shape"),
    node("Gather", "shape, zero", "n"),
    node("Cast", "n", "real", to=1),
    node("Range", "start, real, step", "places"),
    node("Add", "x, places")
], [x("N")],
     [scalar("zero", 0), scalar("start", 0.0, "f32"),
      scalar("step", 1.0, "f32")], lambda v: v + np.arange(len(v)), [[(n, )] for n in (1, 6)])
case("range_down", [
    node("Shape", "x", "shape"),
    node("Gather", "shape, zero", "n"),
    node("Range", "n, minus, step", "places"),
    node("Cast", "places", "y", to=1)
], [x("N")], [scalar("zero", 0), scalar("minus", -1),
              scalar("step", -2)], lambda v: np.arange(len(v), -1, -2),
     [[(n, )] for n in (1, 2, 5, 6)])

# The f32 numbers 0.3 and 0.1 give 4 elements, as text too.
case("fractions", [node("Range", "zero, end, step", "r"),
                   node("Add", "r, x")], [x("N", 1)],
     [scalar("zero", 0.0, "f32"),
      scalar("end", 0.3, "f32"),
      scalar("step", 0.1, "f32")], lambda v: v + np.arange(4) * 0.1, [[(2, 1)]])

# A reshape whose number of elements is compared when shapes are bound.
case("reshape",
     [node("Reshape", "x, shape", "z"), node("Relu", "z")], [x("N", "M")], [ints("shape", -1, 6)],
     lambda v: np.maximum(v.reshape(-1, 6), 0), [[(2, 3)], [(6, 5)], [(1, 12)]],
     [([(2, 4)], "to be equal")])
case("windows", [
    node("Shape", "x", "shape"),
    node("Gather", "shape, one", "n"),
    node("Div", "n, four", "m"),
    node("Concat", "minus, m, four", "new", axis=0),
    node("Reshape", "x, new", "z"),
    node("Relu", "z")
], [x(2, "T")],
     [ints("one", 1), ints("four", 4), ints("minus", -1)],
     lambda v: np.maximum(v.reshape(-1, v.shape[1] // 4, 4), 0), [[(2, 4)], [(2, 20)], [(2, 6)]],
     [([(2, 7)], "to be equal")])

# A pyramid: the file works for sizes that 4 divides, which the import finds out.
case("pyramid", [
    node("MaxPool", "x", "a", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1]),
    node("MaxPool", "a", "b", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1]),
    node("Resize", "b, , scales", "c", mode="nearest", coordinate_transformation_mode="asymmetric",
         nearest_mode="floor"),
    node("Add", "a, c")
], [x(1, 1, "H", 8)], [tensor("scales", "f32", [4], [1.0, 1.0, 2.0, 2.0])], lambda v: pyramid(v),
     [[(1, 1, 4, 8)], [(1, 1, 12, 8)], [(1, 1, 64, 8)]], [([(1, 1, 6, 8)], "in steps of")],
     notes=["H: multiples of"])

# Sizes that are 1 more than multiples of 2.
case("odd", [node("Slice", "x, s, e, a", "z"),
             node("Reshape", "z, shape")], [x(1, "H", name="x")],
     [ints("s", 1), ints("e", 2**62),
      ints("a", 1), ints("shape", -1, 2)], lambda v: v[:, 1:].reshape(-1, 2), [[(1, 3)], [(1, 9)]],
     [([(1, 4)], "in steps of 2")], notes=["H: 1 more than multiples of 2"])

# A range of sizes, outside of which an op of the file has no meaning.
case("squeeze",
     [node("MaxPool", "x", "a", kernel_shape=[4], strides=[4]),
      node("Squeeze", "a, axis")], [x(1, 2, "L")], [ints("axis", 2)], lambda v: v[:, :, :4].max(2),
     [[(1, 2, 4)], [(1, 2, 7)]], [([(1, 2, 8)], "4 to 7")], notes=["L: 4..7"])

# Without axes a dim of 1 would be gone.
case(
    "squeeze_all", [node("Squeeze", "x")], [x("N", 1, 3, 1)], [], lambda v: v[:, 0, :, 0],
    [[(2, 1, 3, 1)], [(7, 1, 3, 1)]], [([(1, 1, 3, 1)], "2 to")], notes=[
        "it has no axes and would drop a dim of 1: dlc takes N for 2 or more; --shapes gives it the size 1"
    ])
# The data decide how many there are: one stays a list.
case(
    "squeeze_found", [node("NonZero", "x", "n"), node("Squeeze", "n")], [x("N")], [],
    lambda v: np.nonzero(v)[0], [[np.array([0, 2, 0, 3])], [np.array([0, 5])], [np.zeros(3)]],
    notes=[
        "it has no axes: dlc keeps its dim of nonzero_count, where another runtime would drop it if it is 1"
    ])


def transposed(v, stride, before):
    """A transposed convolution by [1, 2, 4], cut to `stride` times the size."""
    y = np.zeros((v.size - 1) * stride + 3)
    for at, number in enumerate(v.ravel()):
        y[at * stride:at * stride + 3] += number * np.array([1, 2, 4])
    return y[before:before + stride * v.size].reshape(1, 1, -1)


# As many results as the input has elements, times the stride: whatever the size, the same is cut
# off.
for stride, mode, before in ((1, "SAME_UPPER", 1), (2, "SAME_UPPER", 0), (2, "SAME_LOWER", 1)):
    case(f"transposed_{mode.lower()}_{stride}",
         [node("ConvTranspose", "x, w", strides=[stride], auto_pad=mode)], [x(1, 1, "L")],
         [tensor("w", "f32", [1, 1, 3], [1.0, 2.0, 4.0])],
         lambda v, s=stride, b=before: transposed(v, s, b), [[(1, 1, 1)], [(1, 1, 6)]])

# Positions along one dim read the first elements along the others: there are as many at least.
case("gather_elements", [node("GatherElements", "x, i", axis=0)], [x("N", "M")],
     [tensor("i", "i64", [2, 3], [0, 1, 2, 2, 0, 1])],
     lambda v: np.take_along_axis(v[:, :3], np.array([[0, 1, 2], [2, 0, 1]]), 0),
     [[(3, 3)], [(5, 7)]], [([(3, 2)], "expected 3")], notes=["takes indices 0 to 2 of dim 1"])

# Dims that differ by name meet: they are equal, or one of them is 1.
case("broadcast", [node("Add", "x, v")], [x("N", 3), x("M", 3, name="v")], [], lambda a, b: a + b,
     [[(4, 3), (4, 3)], [(1, 3), (4, 3)], [(5, 3), (1, 3)], [(1, 3), (1, 3)]],
     [([(2, 3), (3, 3)], "equal")])
case("join", [node("Concat", "x, v", axis=1)], [x("N", 3), x("M", 2, name="v")], [],
     lambda a, b: np.concatenate([a, b], 1), [[(4, 3), (4, 2)], [(1, 3), (1, 2)]],
     [([(2, 3), (3, 2)], "got 3")])
case("number", [node("MatMul", "x, w")], [x("N", "K")],
     [tensor("w", "f32", [3, 2], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
     lambda a: a @ np.arange(1, 7).reshape(3, 2), [[(4, 3)], [(1, 3)]], [([(4, 2)], "expected 3")])
case(
    "expand", [node("Shape", "v", "shape"), node("Expand", "x, shape")],
    [x("N", 1), x("M", 4, name="v")], [], lambda a, b: np.broadcast_to(a, b.shape)
    if a.shape[0] in (1, b.shape[0]) else np.broadcast_to(a, (a.shape[0], 4)),
    [[(3, 1), (3, 4)], [(1, 1), (5, 4)], [(5, 1), (1, 4)]])

case("states", [node("RNN", "x, w, r, , , h", "all, y", hidden_size=2)],
     [x("T", "N", 3), x(1, "M", 2, name="h")], [
         tensor("w", "f32", [1, 2, 3], [0.5, 0.1, -0.2, 0.3, 0.4, -0.6]),
         tensor("r", "f32", [1, 2, 2], [0.1, 0.2, -0.3, 0.4])
     ], lambda v, h: recurrent(v, h), [[(3, 2, 3), (1, 2, 2)], [(1, 5, 3), (1, 5, 2)]],
     [([(2, 3, 3), (1, 2, 2)], "expected 3")])
# A signal may be longer than other dims.
case("signal", [node("Slice", "x, s, e, a")], [x("B", "L")],
     [ints("s", 0), ints("e", 3), ints("a", 1)], lambda v: v[:, :3], [[(1, 2)], [(1, 500000)]])

# Splits of a dim without a number, even and by computed sizes.
case("split", [node("Split", "x", "a, b", axis=0),
               node("Concat", "b, a", axis=0)], [x("N", 2)], [],
     lambda v: np.concatenate([v[-(len(v) // 2):], v[:len(v) - len(v) // 2]])
     if len(v) > 1 else v, [[(4, 2)], [(8, 2)], [(5, 2)]])
case("split_sizes", [
    *half[:1],
    node("Gather", "shape, zero", "n"),
    node("Sub", "n, two", "most"),
    node("Concat", "two, most", "sizes", axis=0),
    node("Split", "x, sizes", "a, b", axis=0),
    node("Concat", "b, a", axis=0)
], [x("N", 2)], [ints("two", 2), ints("zero", 0)], lambda v: np.concatenate([v[2:], v[:2]]),
     [[(3, 2)], [(9, 2)]])
case(
    "space_to_depth", [node("SpaceToDepth", "x", blocksize=2)], [x(1, 1, "H", "W")],
    [], lambda v: v.reshape(1, 1, v.shape[2] // 2, 2, v.shape[3] // 2, 2).transpose(
        0, 3, 5, 1, 2, 4).reshape(1, 4, v.shape[2] // 2, -1), [[(1, 1, 2, 4)], [(1, 1, 6, 8)]],
    [([(1, 1, 3, 4)], "in steps of 2")])

# Dims of -1 and "?" are any sizes, each for itself.
case("any", [node("Relu", "x")], [x(2, "?", "?")], [], lambda v: np.maximum(v, 0),
     [[(2, 3, 5)], [(2, 1, 1)]])

# Dims that are smaller, so that their product is no tensor beyond all memory.
case(
    "large", [node("Relu", "x")], [x("A", "B", "C", "D")], [], lambda v: np.maximum(v, 0),
    [[(2, 3, 4, 5)]], [([(1, 1, 1, 8193)], "expected 1 to 8192")], notes=[
        "large.onnx: dims are 8192 at most, for tensors would have more than 2^56 elements; --max-shapes gives other limits"
    ])

finish()
