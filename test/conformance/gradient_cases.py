"""Graphs for run_gradient.py: nodes of ONNX, and what they are in PyTorch."""
from typing import Callable, Dict, NamedTuple, Sequence

import numpy as np
import torch
from torch.nn import functional as F

from onnx_writer import node, tensor


class Case(NamedTuple):
    name: str
    nodes: Sequence[bytes]  # that make y of the inputs
    inputs: Dict[str, object]  # arrays, or functions of a random generator
    function: Callable
    xs: Sequence[str]
    tensors: Sequence[bytes] = ()
    opset: int = 17
    rtol: float = 1e-9
    dims: Dict[str, tuple] = {}  # of inputs with symbolic dims, and of the weights of y
    twice: bool = False


def normal(*dims, dtype=np.float64):
    return lambda random: random.normal(size=dims).astype(dtype)


def positive(*dims):
    return lambda random: random.uniform(0.3, 2, dims)


def within(*dims):
    """Between -1 and 1."""
    return lambda random: random.uniform(-0.9, 0.9, dims)


def ints(name, *numbers):
    return tensor(name, "i64", [len(numbers)], numbers)


CASES = []


def add(name, nodes, inputs, function, xs=None, *tensors, **more):
    CASES.append(Case(name, nodes, inputs, function, xs or list(inputs), tensors, **more))


def one(op, function, *arrays, name=None, tensors=(), more="", xs=None, opset=17, rtol=1e-9,
        dims=None, twice=False, domain="", **attributes):
    """A node of one op over arrays a, b, ... and the tensors named in `more`."""
    names = "abcdef"[:len(arrays)]
    inputs = ", ".join(names) + (", " + more if more else "")
    CASES.append(
        Case(name or op, [node(op, inputs, "y", domain=domain, **attributes)],
             dict(zip(names, arrays)), function, xs or list(names), tensors, opset, rtol, dims
             or {}, twice))


# Arithmetic, where one operand is repeated too.
for op, function in (("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul)):
    one(op, function, normal(2, 3), normal(2, 3))
    one(op, function, normal(2, 3), normal(3), name=op + " of a row")
    one(op, function, normal(2, 1), normal(4, 1, 3), name=op + " of both")
    one(op, function, normal(), normal(2, 3), name=op + " of a number")
one("Div", torch.div, normal(2, 3), positive(3))
one("Max", torch.maximum, [[1.0, 2.0, 3.0]], [[2.0, 2.0, 1.0]])
one("Min", torch.minimum, [[1.0, 2.0, 3.0]], [[2.0, 2.0, 1.0]])
one("Sum", lambda a, b, c: a + b + c, normal(2, 3), normal(3), normal(2, 1))
one("Mean", lambda a, b: (a + b) / 2, normal(2, 3), normal(3))
one("Pow", torch.pow, positive(2, 3), normal(3), twice=False)
one("Pow", lambda a, b: torch.pow(a, b), [0.0, 0.0, 2.0], [2.0, 3.0, 0.0], name="Pow of zeros")
one("Pow", lambda a: a**2, normal(2, 3), name="Pow by 2", more="two",
    tensors=[tensor("two", "f32", [], [2.0])])
one("Pow", lambda a: a**2.5, positive(2, 3), name="Pow by 2.5", more="e",
    tensors=[tensor("e", "f32", [], [2.5])])
one("Pow", lambda a: a**0.5, positive(2, 3), name="Pow by 0.5", more="e",
    tensors=[tensor("e", "f32", [], [0.5])])
one("Mod", torch.fmod, normal(2, 3), positive(3), name="Mod by fmod", fmod=1)
one("Mod", torch.remainder, normal(2, 3), positive(3))
one("PRelu", lambda a, b: torch.where(a < 0, a * b, a), normal(2, 3), normal(3))
for op, function in (("Neg", torch.neg), ("Abs", torch.abs), ("Exp", torch.exp), ("Sin", torch.sin),
                     ("Cos", torch.cos), ("Atan", torch.atan), ("Sinh", torch.sinh),
                     ("Cosh", torch.cosh), ("Tanh", torch.tanh), ("Asinh", torch.asinh),
                     ("Erf", torch.erf), ("Sigmoid", torch.sigmoid), ("Relu", torch.relu),
                     ("Softplus", F.softplus), ("Softsign", F.softsign), ("Elu", F.elu),
                     ("Selu", F.selu), ("Mish", F.mish), ("HardSwish", F.hardswish),
                     ("HardSigmoid", lambda a:
                      (0.2 * a + 0.5).clamp(0, 1)), ("Tan", torch.tan), ("Celu", F.celu), ("Swish",
                                                                                           F.silu)):
    one(op, function, normal(4, 5), opset=24 if op == "Swish" else 17)
for op, function in (("Asin", torch.asin), ("Acos", torch.acos), ("Atanh", torch.atanh)):
    one(op, function, within(4, 5))
for op, function in (("Log", torch.log), ("Sqrt", torch.sqrt), ("Reciprocal", torch.reciprocal)):
    one(op, function, positive(4, 5))
one("Acosh", torch.acosh, lambda random: random.uniform(1.1, 3, (2, 3)))
for op, function in (("Floor", torch.floor), ("Ceil", torch.ceil), ("Round", torch.round),
                     ("Sign", torch.sign)):
    add(op, [node(op, "a", "s"), node("Mul", "s, a", "y")], {"a": normal(2, 3)},
        lambda a, f=function: f(a.detach()) * a)
one("Relu", torch.relu, [-1.0, 0.0, 2.0], name="Relu at 0")
one("Abs", torch.abs, [-1.0, 0.0, 2.0], name="Abs at 0")
one("LeakyRelu", lambda a: F.leaky_relu(a, 0.25), normal(4, 5), alpha=0.25)
one("Celu", lambda a: F.celu(a, 0.5), normal(4, 5), name="Celu of 0.5", alpha=0.5)
one("ThresholdedRelu", lambda a: F.threshold(a, 0.5, 0), normal(4, 5), alpha=0.5)
one("Gelu", F.gelu, normal(4, 5), opset=20)
one("Gelu", lambda a: 0.5 * a * (1 + torch.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))),
    normal(4, 5), name="Gelu by tanh", opset=20, approximate="tanh")
one("Clip", lambda a: a.clamp(-0.5, 0.75), [-1.0, -0.5, 0.0, 0.75, 2.0], opset=6, min=-0.5,
    max=0.75)
one("Clip", lambda a: a.clamp(min=-0.5), normal(4, 5), name="Clip from below", opset=6, min=-0.5)
add("Where",
    [node("Greater", "a, b", "c"), node("Where", "c, a, b", "y")],
    {"a": normal(2, 3), "b": normal(3)}, lambda a, b: torch.where(a > b, a, b))
add("Cast", [node("Cast", "a", "s", to=1),
             node("Mul", "s, s", "t"),
             node("Cast", "t", "y", to=11)], {"a": normal(2, 3)}, lambda a:
    (a.float() * a.float()).double(), rtol=1e-6)
add("LRN", [node("LRN", "a", "y", size=3, alpha=0.5, beta=0.75, bias=1.0)],
    {"a": normal(1, 4, 2, 2)}, lambda a: F.local_response_norm(a, 3, 0.5, 0.75, 1.0))

# Elements that move.
one("Transpose", lambda a: a.permute(2, 0, 1), normal(2, 3, 4), perm=[2, 0, 1])
one("Reshape", lambda a: a.reshape(3, 4), normal(2, 6), more="s", tensors=[ints("s", 3, -1)])
one("Flatten", lambda a: a.flatten(1), normal(2, 3, 2))
one("Squeeze", lambda a: a.squeeze(1), normal(2, 1, 3), more="s", tensors=[ints("s", 1)])
one("Unsqueeze", lambda a: a.unsqueeze(1), normal(2, 3), more="s", tensors=[ints("s", 1)])
one("Tile", lambda a: a.repeat(2, 3), normal(4, 2), more="s", tensors=[ints("s", 2, 3)])
one("Concat", lambda a, b, c: torch.cat((a, b, c), 1), normal(2, 3), normal(2, 1), normal(2, 2),
    axis=1)
one("Slice", lambda a: a[1:5:2, :-1], normal(7, 4), more="s, e, x, t",
    tensors=[ints("s", 1, 0), ints("e", 5, -1),
             ints("x", 0, 1), ints("t", 2, 1)])
one("Slice", lambda a: a[1:7:3], normal(7, 4), name="Slice to the end", more="s, e, x, t",
    tensors=[ints("s", -6), ints("e", 99), ints("x", 0),
             ints("t", 3)])
one("Slice", lambda a: a.flip(0)[1::2], normal(7, 4), name="Slice backwards", more="s, e, x, t",
    tensors=[ints("s", -2), ints("e", -99),
             ints("x", 0), ints("t", -2)])
one("Pad", lambda a: F.pad(a, (1, -1, 0, 2)), normal(3, 4), more="s",
    tensors=[ints("s", 0, 1, 2, -1)])
one("Trilu", torch.triu, normal(3, 4)), one("Trilu", torch.tril, normal(3, 4),
                                            name="Trilu of the lower", upper=0)
add("Split", [
    node("Split", "a, s", "u, v", axis=1),
    node("Mul", "u, u", "w"),
    node("Concat", "w, v", "y", axis=1)
], {"a": normal(2, 5)}, lambda a: torch.cat((a[:, :2]**2, a[:, 2:]), 1), None, ints("s", 2, 3))
one("DepthToSpace", lambda a: F.pixel_shuffle(a, 2), normal(1, 8, 2, 3), blocksize=2, mode="CRD")
one("Resize", lambda a: a[..., [0, 0, 1, 1, 2]], normal(1, 2, 2, 3), more=", , s",
    tensors=[ints("s", 1, 2, 2, 5)], mode="nearest", coordinate_transformation_mode="align_corners")
one("ReverseSequence", lambda a: torch.stack((a[[1, 0, 2], 0], a[[2, 1, 0], 1]), 1), normal(3, 2),
    more="l", tensors=[ints("l", 2, 3)])
add("DequantizeLinear", [node("DequantizeLinear", "q, a", "y", block_size=2, axis=1)],
    {"a": normal(1, 2, dtype=np.float32)},
    lambda a: torch.tensor([[1, -2, 3, 4]]) * a.repeat_interleave(2, 1), None,
    tensor("q", "i8", [1, 4], [1, -2, 3, 4]), opset=21, rtol=1e-6)
one(
    "RotaryEmbedding", lambda a, b, c: torch.stack(
        (a[..., ::2] * b.unsqueeze(1) - a[..., 1::2] * c.unsqueeze(1), a[..., ::2] * c.unsqueeze(1)
         + a[..., 1::2] * b.unsqueeze(1)), -1).flatten(3), normal(2, 2, 3, 4), normal(2, 3, 2),
    normal(2, 3, 2), opset=23, interleaved=1)

# Positions.
rows = ints("i", 2, 0, 2)
one("Gather", lambda a: a[torch.tensor([2, 0, 2])], normal(4, 3), more="i", tensors=[rows])
one("Gather", lambda a: a[:, torch.tensor([2, 0, 2])], normal(4, 3), name="Gather of columns",
    more="i", tensors=[rows], axis=1)
one("Gather", lambda a: a[:, -1], normal(4, 3), name="Gather of one", more="i",
    tensors=[tensor("i", "i64", [], [-1])], axis=1)
one("Gather", lambda a, i: a[i], normal(4, 3), np.array([[1, -1], [3, 1]]), name="Gather by data",
    xs=["a"])
one("GatherElements", lambda a, i: a.gather(1, i), normal(2, 3), np.array([[0, 2], [1, 1]]),
    xs=["a"], axis=1)
add("TopK", [node("TopK", "a, k", "y, i", axis=1)], {"a": normal(3, 5)}, lambda a: a.topk(2, 1)[0],
    None, ints("k", 2))

places = torch.tensor([[0, 2], [1, 0]])


def scattered(a, b, reduce=None):
    """b at the places along dim 1, or added there."""
    return a.scatter_add(1, places, b) if reduce else a.scatter(1, places, b)


pairs = tensor("i", "i64", [2, 2], [0, 2, 1, 0])
for op, opset in (("ScatterElements", 16), ("Scatter", 9)):
    add(op, [node(op, "a, i, b", "y", axis=1)], {"a": normal(2, 3), "b": normal(2, 2)}, scattered,
        None, pairs, opset=opset)
add("ScatterElements that adds", [node("ScatterElements", "a, i, b", "y", axis=1, reduction="add")],
    {"a": normal(2, 3), "b": normal(2, 2)}, lambda a, b: scattered(a, b, "add"), None, pairs,
    opset=16)
add("ScatterND", [node("ScatterND", "a, i, b", "y")], {"a": normal(3, 3, 2), "b": normal(2, 2)},
    lambda a, b: a.index_put((torch.tensor([0, 1]), torch.tensor([2, 0])), b), None, pairs)
for what, first, count in (("a slice", 1, 2), ("all", 0, 3)):
    add(f"ScatterND of {what}", [node("ScatterND", "a, i, b", "y")],
        {"a": normal(3, 2), "b": normal(count, 2)},
        lambda a, b, first=first, count=count: torch.cat((a[:first], b, a[first + count:])), None,
        tensor("i", "i64", [count, 1], list(range(first, first + count))))
for mode in ("linear", "nearest"):
    add(
        f"GridSample by {mode}", [node("GridSample", "a, b", "y", mode=mode)],
        {"a": normal(1, 2, 4, 5), "b": within(1, 3, 3, 2)},
        lambda a, b, m=mode: F.grid_sample(a, b, "bilinear"
                                           if m == "linear" else m, align_corners=False), opset=20)

# Reductions.
for kind, function in (("Sum", torch.sum), ("Mean", torch.mean)):
    one("Reduce" + kind, lambda a, f=function: f(a, (0, 2), keepdim=True), normal(2, 3, 4),
        opset=11, axes=[0, 2])
    one("Reduce" + kind, lambda a, f=function: f(a, 1), normal(2, 3, 4),
        name=f"Reduce{kind} of a dim", opset=11, axes=[-2], keepdims=0)
    one("Reduce" + kind, lambda a, f=function: f(a), normal(2, 3), name=f"Reduce{kind} of all",
        opset=11, keepdims=0)
one("ReduceMax", lambda a: a.amax(1), [[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]], opset=11, axes=[1],
    keepdims=0)
one("ReduceMin", lambda a: a.amin(1, keepdim=True), normal(2, 3), opset=11, axes=[1])
one("ReduceProd", lambda a: a.prod(1), normal(2, 3), opset=11, axes=[1], keepdims=0)
one("ReduceProd", lambda a: a.prod(1), [[1.0, 0.0, 3.0], [0.0, 0.0, 1.0], [1.0, 2.0, 4.0]],
    name="ReduceProd of zeros", opset=11, axes=[1], keepdims=0)
one("ReduceL1", lambda a: a.abs().sum(1), normal(2, 3), opset=11, axes=[1], keepdims=0)
one("ReduceL2", lambda a: a.norm(dim=1), normal(2, 3), opset=11, axes=[1], keepdims=0)
one("ReduceSumSquare", lambda a: (a * a).sum(1), normal(2, 3), opset=11, axes=[1], keepdims=0)
one("ReduceLogSum", lambda a: a.sum(1).log(), positive(2, 3), opset=11, axes=[1], keepdims=0)
one("ReduceLogSumExp", lambda a: a.logsumexp((0, 1)), normal(2, 3), opset=11, keepdims=0)
one("LpNormalization", lambda a: F.normalize(a, 2, 1), normal(2, 3), axis=1)
one("Softmax", lambda a: a.softmax(1), normal(2, 3, 4), axis=1)
one("Softmax", lambda a: a.flatten(1).softmax(1).reshape(2, 3, 4), normal(2, 3, 4),
    name="Softmax of opset 11", opset=11)
one("LogSoftmax", lambda a: a.log_softmax(-1), normal(2, 3, 4))
one("CumSum", lambda a: a.cumsum(1), normal(2, 4), more="i", tensors=[tensor("i", "i64", [], [1])])
add("SoftmaxCrossEntropyLoss", [node("SoftmaxCrossEntropyLoss", "a, i", "y")], {"a": normal(4, 3)},
    lambda a: F.cross_entropy(a, torch.tensor([0, 2, 1, 1])), None, ints("i", 0, 2, 1, 1))

# Products.
one("MatMul", torch.matmul, normal(2, 3), normal(3, 4))
one("MatMul", torch.matmul, normal(2, 5, 2, 3), normal(5, 3, 4), name="MatMul of batches")
one("MatMul", torch.matmul, normal(2, 5, 2, 3), normal(3, 4), name="MatMul by one matrix")
one("MatMul", torch.matmul, normal(2, 3), normal(5, 3, 4), name="MatMul of one matrix")
one("MatMul", torch.matmul, normal(3), normal(3), name="MatMul of vectors")
one("MatMul", torch.matmul, normal(2, 5, 3), normal(3), name="MatMul by a vector")
one("MatMul", torch.matmul, normal(3), normal(2, 3, 5), name="MatMul of a vector")
one("Gemm", lambda a, b, c: 0.5 * a.T @ b + 2 * c, normal(3, 2), normal(3, 4), normal(4), transA=1,
    alpha=0.5, beta=2.0)
one("Gemm", F.linear, normal(2, 3), normal(4, 3), normal(4), name="Gemm that is linear", transB=1)
for equation, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))),
                         ("ij,k->k", ((2, 3), (4, ))), ("ij,ij", ((2, 3), (2, 3))),
                         ("i,j,ij->j", ((2, ), (3, ), (2, 3))), ("bij->b", ((2, 3, 4), ))):
    one("Einsum", lambda *all, e=equation: torch.einsum(e, *all),
        *(normal(*shape) for shape in shapes), name=f"Einsum of {equation}", equation=equation)

heads = normal(2, 4, 3, 6), normal(2, 4, 5, 6), normal(2, 4, 5, 2)


def attention(q, k, v, added=0.0, scale=None):
    """Heads that share keys and values read them in groups."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return ((q @ k.transpose(-1, -2)) * (scale or q.shape[-1] ** -0.5) + added).softmax(-1) @ v


some = torch.tensor([[True], [False], [True]])  # rows that attend to something
causal = torch.full((3, 5), -torch.inf).triu(1)
one("Attention", attention, *heads, opset=23)
one("Attention", lambda a, b, c, d: attention(a, b, c, d), *heads, normal(3, 5),
    name="Attention with a mask", opset=23)
one("Attention", lambda a, b, c: attention(a, b, c, causal, 0.25), *heads,
    name="Attention that is causal", opset=23, is_causal=1, scale=0.25)
one("Attention", lambda a, b, c: attention(a, b, c), normal(2, 4, 3, 6), normal(2, 2, 5, 6),
    normal(2, 2, 5, 2), name="Attention of shared heads", opset=23)
one("Attention", lambda a, b, c, d: attention(a, b, c, torch.where(d, 0.0, -torch.inf)), *heads,
    np.array([[1, 0, 1, 1, 0]] * 3, bool), name="Attention with truths", xs=["a", "b", "c"],
    opset=23)

add("Attention of a row to nothing",
    [node("Attention", "a, b, c, m", "t"),
     node("Where", "s, t, z", "y")], dict(zip("abc", heads)),
    lambda a, b, c: torch.where(some, attention(a, b, c), 0.0), None,
    tensor("m", "bool", [3, 5], [1] * 5 + [0] * 5 + [1] * 5), tensor("s", "bool", [3, 1],
                                                                     [1, 0, 1]),
    tensor("z", "f64", [], raw=np.float64(0).tobytes()), opset=23)
one("Attention", lambda a, b, c: (2 *
                                  (a @ b.transpose(-1, -2) * 6**-0.5 / 2).tanh()).softmax(-1) @ c,
    *heads, name="Attention with a softcap", opset=23, softcap=2.0)

# Convolutions and pools.
conv = lambda count, **named: lambda a, b, c=None: getattr(F, f"conv{count}d")(a, b, c, **named)
one("Conv", conv(2), normal(2, 3, 5, 6), normal(4, 3, 3, 3), normal(4))
one("Conv", conv(2, stride=2, padding=1), normal(2, 3, 6, 7), normal(4, 3, 3, 2),
    name="Conv with a stride", strides=[2, 2], pads=[1, 1, 1, 1])
one("Conv", conv(2, stride=(1, 2), dilation=(2, 1), groups=2), normal(2, 4, 6, 7),
    normal(6, 2, 3, 3), name="Conv of groups", strides=[1, 2], dilations=[2, 1], group=2)
one("Conv", lambda a, b: F.conv2d(F.pad(a, (0, 1, 1, 2)), b), normal(1, 2, 4, 4),
    normal(2, 2, 2, 2), name="Conv with uneven pads", pads=[1, 0, 2, 1])
one("Conv", conv(1, stride=3), normal(2, 2, 9), normal(3, 2, 2), normal(3), name="Conv in one dim",
    strides=[3])
one("Conv", conv(3, padding=1), normal(1, 2, 3, 4, 3), normal(2, 2, 2, 2, 2),
    name="Conv in three dims", pads=[1] * 6)
one("ConvTranspose",
    lambda a, b, c: F.conv_transpose2d(a, b, c, stride=2, padding=1, output_padding=1),
    normal(2, 3, 3, 4), normal(3, 2, 3,
                               3), normal(2), strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
one("ConvTranspose", lambda a, b: F.conv_transpose1d(a, b, dilation=2, groups=2), normal(2, 4, 5),
    normal(4, 3, 2), name="ConvTranspose in one dim", dilations=[2], group=2)
one("ConvTranspose", F.conv_transpose3d, normal(1, 2, 2, 2, 3), normal(2, 1, 2, 2, 2),
    name="ConvTranspose in three dims")
one("AveragePool", lambda a: F.avg_pool2d(a, (2, 3), (2, 1)), normal(2, 3, 4, 5),
    kernel_shape=[2, 3], strides=[2, 1])
one("AveragePool", lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), normal(2, 3, 5, 6),
    name="AveragePool with pads", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
one("AveragePool", lambda a: F.avg_pool2d(a, 3, 2, 1), normal(2, 3, 5, 6),
    name="AveragePool that counts pads", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4,
    count_include_pad=1)
one("AveragePool", lambda a: F.avg_pool1d(a, 2, 2), normal(2, 3, 7), name="AveragePool in one dim",
    kernel_shape=[2], strides=[2])
one("AveragePool", lambda a: F.avg_pool3d(a, 2), normal(1, 2, 4, 4, 2),
    name="AveragePool in three dims", kernel_shape=[2] * 3, strides=[2] * 3)
one(
    "AveragePool", lambda a: F.avg_pool2d(F.pad(a, (0, 1, 0, 1)), 2, 1, divisor_override=1) / F
    .avg_pool2d(F.pad(torch.ones_like(a), (0, 1, 0, 1)), 2, 1, divisor_override=1),
    normal(2, 3, 3, 4), name="AveragePool with uneven pads", kernel_shape=[2, 2], pads=[0, 0, 1, 1])
one("GlobalAveragePool", lambda a: a.mean((2, 3), keepdim=True), normal(2, 3, 4, 5))
one("MaxPool", lambda a: F.max_pool2d(a, 3, 2, 1), normal(2, 3, 5, 6), kernel_shape=[3, 3],
    strides=[2, 2], pads=[1] * 4)
one("MaxPool", lambda a: F.max_pool1d(a, 3, 1, 0, 2), normal(2, 3, 8), name="MaxPool in one dim",
    kernel_shape=[3], dilations=[2])
add("MaxPool with positions", [node("MaxPool", "a", "y, i", kernel_shape=[2, 2], strides=[2, 2])],
    {"a": normal(2, 3, 4, 4)}, lambda a: F.max_pool2d(a, 2))
add("MaxPool in one dim with positions", [node("MaxPool", "a", "y, i", kernel_shape=[2])],
    {"a": normal(2, 3, 4)}, lambda a: F.max_pool1d(a, 2, 1))
one("GlobalMaxPool", lambda a: a.amax((2, 3), keepdim=True), normal(2, 3, 4, 5))

# Normalizations.
one("LayerNormalization", lambda a, b, c: F.layer_norm(a, (4, ), b, c), normal(2, 3, 4), normal(4),
    normal(4))
one("LayerNormalization", lambda a, b: F.layer_norm(a, (3, 4), b), normal(2, 3, 4), normal(3, 4),
    name="LayerNormalization of two dims", axis=1)
one("RMSNormalization", lambda a, b: a * (a.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * b,
    normal(2, 3, 4), normal(4), opset=23)
one("GroupNormalization", lambda a, b, c: F.group_norm(a, 2, b, c), normal(2, 4, 3, 2), normal(4),
    normal(4), opset=21, num_groups=2)
one("InstanceNormalization", lambda a, b, c: F.instance_norm(a, weight=b, bias=c),
    normal(2, 3, 4, 2), normal(3), normal(3))
one("BatchNormalization", lambda a, b, c, d, e: (a - d[:, None]) *
    (e[:, None] + 1e-5).rsqrt() * b[:, None] + c[:, None], normal(2, 3, 4), normal(3), normal(3),
    normal(3), positive(3))
one(
    "MeanVarianceNormalization", lambda a: (a - a.mean((0, 2, 3), keepdim=True)) / (a.var(
        (0, 2, 3), False, keepdim=True).sqrt() + 1e-9), normal(2, 3, 2, 2))

# Other dtypes, dims that vary, and derivatives of derivatives.
single = lambda *dims: normal(*dims, dtype=np.float32)
one("Mul", torch.mul, normal(2, 3, dtype=np.float16), normal(3, dtype=np.float16),
    name="Mul in f16", rtol=4e-3)
batch = {"a": ("N", 3), "weights": ("N", 4)}
one("MatMul", torch.matmul, normal(2, 3), normal(3, 4), name="MatMul of a batch", dims=batch)
one("Add", torch.add, normal(2, 3), normal(3), name="Add to a batch",
    dims={"a": ("N", 3), "weights": ("N", 3)})
one("ReduceMean", lambda a: a.mean(0), normal(4, 3), name="ReduceMean of a batch", opset=11,
    axes=[0], keepdims=0, dims={"a": ("N", 3)})
image = {"a": ("N", 3, "H", "W")}
one("GlobalAveragePool", lambda a: a.mean((2, 3), keepdim=True), normal(2, 3, 4, 5),
    name="GlobalAveragePool of images", dims={**image, "weights": ("N", 3, 1, 1)})
add("Conv of images",
    [node("Conv", "a, b", "c", pads=[1] * 4),
     node("GlobalAveragePool", "c", "y")], {"a": normal(2, 3, 4, 5), "b": normal(2, 3, 3, 3)},
    lambda a, b: F.conv2d(a, b, padding=1).mean(
        (2, 3), keepdim=True), ["a"], dims={**image, "weights": ("N", 2, 1, 1)})
one("Tanh", torch.tanh, normal(2, 3), name="Tanh twice", twice=True)
one("MatMul", torch.matmul, normal(2, 3), normal(3, 4), name="MatMul twice", twice=True)
one("Softmax", lambda a: a.softmax(1), normal(2, 3), name="Softmax twice", twice=True)
one("Asin", torch.asin, within(2, 3), name="Asin twice", twice=True)
one("Gelu", F.gelu, normal(4, 5), name="Gelu twice", opset=20, twice=True)
for op, function in (("fmod", torch.fmod), ("remainder", torch.remainder)):
    add(f"Mod by {op} twice",
        [node("Mod", "a, b", "m", fmod=int(op == "fmod")),
         node("Mul", "m, m", "y")], {"a": normal(2, 3), "b": positive(2, 3)},
        lambda a, b, f=function: f(a, b)**2, twice=True)
add("Expand twice",
    [node("Exp", "a", "e"),
     node("ReduceMean", "e", "m", axes=[1]),
     node("Mul", "m, m", "y")], {"a": normal(2, 3)}, lambda a: a.exp().mean(1, keepdim=True)**2,
    twice=True)
add("Gather twice",
    [node("Gather", "a, i", "g"), node("Mul", "g, g", "y")], {"a": normal(4, 3)},
    lambda a: a[torch.tensor([2, 0, 2])]**2, None, rows, twice=True)
add("MaxPool twice",
    [node("Mul", "a, a", "s"),
     node("MaxPool", "s", "y", kernel_shape=[2, 2], strides=[2, 2])], {"a": normal(2, 3, 4, 4)},
    lambda a: F.max_pool2d(a * a, 2), twice=True)
# A network and its loss, as training has it.
add(
    "a network", [
        node("Conv", "x, w1, b1", "c1", pads=[1] * 4),
        node("Relu", "c1", "r1"),
        node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "p1", "f"),
        node("Gemm", "f, w2, b2", "h", transB=1),
        node("SoftmaxCrossEntropyLoss", "h, t", "y")
    ], {
        "x": normal(2, 1, 6, 6), "w1": normal(3, 1, 3, 3), "b1": normal(3), "w2": normal(4, 27),
        "b2": normal(4)
    }, lambda x, w1, b1, w2, b2: F.cross_entropy(
        F.linear(F.max_pool2d(F.conv2d(x, w1, b1, padding=1).relu(), 2).flatten(1), w2, b2),
        torch.tensor([1, 3])), ["w1", "b1", "w2", "b2"], ints("t", 1, 3))
