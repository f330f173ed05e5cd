"""Nodes between those of flow: elementwise functions, products, reductions, views."""
import math

import numpy as np
from model import Listed, Tensor

# Whole numbers beyond this are clipped, and real ones beyond SMALL.
LARGE, SMALL = 64, 4
MOST_RANK = 4


def tensors(scope, fits=lambda type: True):
    return [
        value for value in scope.visible() if isinstance(value.type, Tensor) and fits(value.type)
    ]


def pick(scope, fits=lambda type: True):
    """A tensor that `fits`, mostly one of the last, or None."""
    found = tensors(scope, fits)
    random = scope.model.random
    return random.choice(found[-6:] if random.random() < 0.7 else found) if found else None


def is_number(type):
    return type.dtype in ("f32", "i64")


def least(scope, dim):
    return scope.model.range(dim)[0]


def is_filled(scope, type):
    return all(least(scope, dim) > 0 for dim in type.dims)


def clipped(scope, value, low, high):
    """`value` itself if it is within the bounds."""
    if low <= value.type.low and value.type.high <= high:
        return value
    dtype = value.type.dtype
    bounds = [scope.constant(bound, dtype) for bound in (low, high)]
    type = Tensor(dtype, value.type.dims, max(low, min(high, value.type.low)),
                  min(high, max(low, value.type.high)), value.type.is_whole)
    return scope.add("Clip", [value, *bounds], type, lambda v, a, b: np.clip(v, a, b))


def tamed(scope, value):
    if value.type.is_whole:
        return value if max(-value.type.low, value.type.high) <= LARGE else clipped(
            scope, value, -8, 8)
    return clipped(scope, value, -SMALL, SMALL)


def softmax(v, axis):
    e = np.exp(v - v.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


UNARY = [
    ("Neg", lambda v: -v, lambda a, b: (-b, -a), True),
    ("Abs", np.abs, lambda a, b: (0, max(-a, b)), True),
    ("Relu", lambda v: np.maximum(v, 0), lambda a, b: (max(a, 0), max(b, 0)), True),
    ("Sign", np.sign, lambda a, b: (-1, 1), True),
    ("Tanh", np.tanh, lambda a, b: (-1, 1), False),
    ("Sigmoid", lambda v: 1 / (1 + np.exp(-v)), lambda a, b: (0, 1), False),
    ("Sin", np.sin, lambda a, b: (-1, 1), False),
    ("Softsign", lambda v: v / (1 + np.abs(v)), lambda a, b: (-1, 1), False),
]


def unary(scope, random):
    value = pick(scope, is_number)
    op, compute, bounds, keeps_whole = random.choice(UNARY)
    if (not value or value.type.dtype == "i64" and not keeps_whole
                or op == "Sign" and not value.type.is_whole):
        return None
    if op == "Relu" and value.type.dtype == "i64":
        return None
    low, high = bounds(value.type.low, value.type.high)
    return scope.add(
        op, [value],
        Tensor(value.type.dtype, value.type.dims, low, high, keeps_whole and value.type.is_whole),
        compute)


def softened(scope, random):
    value = pick(scope, lambda t: t.dtype == "f32" and any(least(scope, dim) > 0 for dim in t.dims))
    if not value:
        return None
    axis = random.choice(
        [axis for axis, dim in enumerate(value.type.dims) if least(scope, dim) > 0])
    return scope.add("Softmax", [value], Tensor("f32", value.type.dims, 0, 1, False),
                     lambda v: softmax(v, axis), axis=axis - random.choice([0, value.type.rank]))


def joined_dims(a, b):
    """The dims of two tensors that broadcast for sure, or None."""
    dims, rank = [], max(len(a), len(b))
    for x, y in zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)):
        if x != y and x != 1 and y != 1:
            return None
        dims.append(y if x == 1 else x)
    return tuple(dims)


BINARY = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum
}
COMPARE = {
    "Greater": np.greater, "Less": np.less, "Equal": np.equal, "GreaterOrEqual": np.greater_equal
}
LOGICAL = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


def partner(scope, random, a, fits):
    """A tensor that goes with `a`, or a constant."""
    if random.random() < 0.25 and is_number(a.type):
        return scope.constant(random.randint(-3, 3), a.type.dtype)
    return pick(
        scope, lambda t: t.dtype == a.type.dtype and fits(t) and joined_dims(a.type.dims, t.dims) is
        not None)


def binary(scope, random):
    a = pick(scope, is_number)
    b = a and partner(scope, random, a, is_number)
    if not b:
        return None
    op = random.choice(list(BINARY))
    ends = [
        float(BINARY[op](x, y)) for x in (a.type.low, a.type.high)
        for y in (b.type.low, b.type.high)
    ]
    if op == "Sub":
        ends = [a.type.low - b.type.high, a.type.high - b.type.low]
    type = Tensor(a.type.dtype, joined_dims(a.type.dims, b.type.dims), min(ends), max(ends),
                  a.type.is_whole and b.type.is_whole)
    return tamed(scope, scope.add(op, [a, b], type, BINARY[op]))


def compare(scope, random):
    a = pick(scope, lambda t: is_number(t) and t.is_whole)
    b = a and partner(scope, random, a, lambda t: t.is_whole)
    if not b:
        return None
    op = random.choice(list(COMPARE))
    return scope.add(op, [a, b], Tensor("bool", joined_dims(a.type.dims, b.type.dims), 0, 1),
                     COMPARE[op])


def logical(scope, random):
    a = pick(scope, lambda t: t.dtype == "bool")
    if not a:
        return None
    if random.random() < 0.4:
        return scope.add("Not", [a], a.type, np.logical_not)
    b = partner(scope, random, a, lambda t: True)
    op = random.choice(list(LOGICAL))
    return b and scope.add(op, [a, b], Tensor("bool", joined_dims(a.type.dims, b.type.dims), 0, 1),
                           LOGICAL[op])


def chosen(scope, random):
    c = pick(scope, lambda t: t.dtype == "bool")
    a = c and pick(scope, lambda t: is_number(t) and joined_dims(c.type.dims, t.dims) is not None)
    b = a and partner(
        scope, random, a,
        lambda t: joined_dims(joined_dims(c.type.dims, a.type.dims), t.dims) is not None)
    if not b:
        return None
    dims = joined_dims(joined_dims(c.type.dims, a.type.dims), b.type.dims)
    type = Tensor(a.type.dtype, dims, min(a.type.low, b.type.low), max(a.type.high, b.type.high),
                  a.type.is_whole and b.type.is_whole)
    return scope.add("Where", [c, a, b], type, np.where)


def cast(scope, random):
    value = pick(scope, lambda t: t.is_whole)
    to = value and random.choice([dtype for dtype in ("f32", "i64") if dtype != value.type.dtype])
    return value and casted(scope, value, to)


def casted(scope, value, to):
    type = Tensor(to, value.type.dims, value.type.low, value.type.high)
    return scope.add("Cast", [value], type, lambda v: v, to={"f32": 1, "i64": 7, "bool": 9}[to])


def product(scope, random):
    """By weights whose columns have absolute sums of at most 1, so that roundings do not grow."""
    value = pick(
        scope, lambda t: t.dtype == "f32" and t.rank >= 2 and isinstance(t.dims[-1], int) and t.
        dims[-1] > 0)
    if not value:
        return None
    width = random.choice([2, 3, 4, 6])
    weights = np.array([[random.uniform(-1, 1) for _ in range(width)]
                        for _ in range(value.type.dims[-1])])
    weights = (weights / np.abs(weights).sum(0)).astype(np.float32)
    most = 1.001 * max(-value.type.low, value.type.high)
    return scope.add("MatMul", [value, scope.constant(weights, "f32")],
                     Tensor("f32", (*value.type.dims[:-1], width), -most, most, False), np.matmul)


def gram(scope, random):
    """x times x transposed."""
    value = pick(scope, lambda t: t.dtype == "f32" and t.rank == 2)
    if not value:
        return None
    flipped = transposed(scope, value, (1, 0))
    a, b = random.choice([(value, flipped), (flipped, value)])
    most = max(-value.type.low, value.type.high)**2 * scope.model.range(a.type.dims[1])[1]
    if most > 2**22:
        return None
    return tamed(
        scope,
        scope.add("MatMul", [a, b],
                  Tensor("f32", (a.type.dims[0], b.type.dims[1]), -most, most, value.type.is_whole),
                  np.matmul))


def transposed(scope, value, order):
    return scope.add(
        "Transpose", [value],
        Tensor(value.type.dtype, tuple(value.type.dims[axis] for axis in order), value.type.low,
               value.type.high, value.type.is_whole), lambda v: v.transpose(order),
        perm=list(order))


def turned(scope, random):
    value = pick(scope, lambda t: t.rank >= 2)
    return value and transposed(scope, value, random.sample(range(value.type.rank),
                                                            value.type.rank))


def reduced(scope, random):
    op = random.choice(
        ["ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ArgMax", "ArgMin"])
    value = pick(
        scope, lambda t: is_number(t) and t.rank >= 1 and
        (t.is_whole or not op.startswith("Arg")) and (op != "ReduceMean" or t.dtype == "f32"))
    if not value:
        return None
    axis, keeps = random.randrange(value.type.rank), random.randrange(2)
    if op != "ReduceSum" and least(scope, value.type.dims[axis]) < 1:
        return None
    return reduction(scope, op, value, axis, keeps)


def reduction(scope, op, value, axis, keeps):
    """Over `axis`, or all axes for None."""
    old = value.type
    axes = list(range(old.rank)) if axis is None else [axis]
    dims = tuple(1 if at in axes else dim for at, dim in enumerate(old.dims)
                 if keeps or at not in axes)
    over = tuple(axes)
    if op.startswith("Arg"):
        most = scope.model.range(old.dims[axis])[1]
        find = np.argmax if op == "ArgMax" else np.argmin
        return scope.add(op, [value], Tensor("i64", dims, 0, most),
                         lambda v: find(v, axis, keepdims=bool(keeps)), axis=axis, keepdims=keeps)
    count = math.prod(scope.model.range(old.dims[at])[1] for at in axes) if op == "ReduceSum" else 1
    if count * max(abs(old.low), abs(old.high)) > 2**23:
        value = clipped(scope, value, -1, 1)
    low, high = (min(0, value.type.low * count),
                 max(0, value.type.high * count)) if op == "ReduceSum" else (old.low, old.high)
    compute = {
        "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceMean": np.mean
    }[op]
    type = Tensor(old.dtype, dims, low, high, old.is_whole and op != "ReduceMean")
    run = lambda v, *_: compute(v, over, keepdims=bool(keeps))
    if op == "ReduceSum" or scope.model.opset >= 18:
        return tamed(scope, scope.add(op, [value, scope.constant(axes)], type, run, keepdims=keeps))
    return tamed(scope, scope.add(op, [value], type, run, keepdims=keeps, axes=axes))


def unsqueezed(scope, value, axis):
    dims = (*value.type.dims[:axis], 1, *value.type.dims[axis:])
    return scope.add(
        "Unsqueeze", [value, scope.constant([axis])],
        Tensor(value.type.dtype, dims, value.type.low, value.type.high, value.type.is_whole),
        lambda v, _: np.expand_dims(v, axis))


def widened(scope, random):
    value = pick(scope, lambda t: t.rank < MOST_RANK)
    return value and unsqueezed(scope, value, random.randint(0, value.type.rank))


def summed(scope, random):
    value = pick(scope, lambda t: is_number(t) and t.rank >= 1)
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    count = scope.model.range(value.type.dims[axis])[1]
    if count * max(abs(value.type.low), abs(value.type.high)) > 2**23:
        return None
    type = Tensor(value.type.dtype, value.type.dims, min(value.type.low, value.type.low * count),
                  max(value.type.high, value.type.high * count), value.type.is_whole)
    return tamed(
        scope, scope.add("CumSum", [value, scope.constant(axis)], type,
                         lambda v, _: v.cumsum(axis)))


def concatenated(scope, random):
    value = pick(scope, lambda t: t.rank >= 1)
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    others = [
        b
        for b in tensors(scope, lambda t: t.dtype == value.type.dtype and t.rank == value.type.rank)
        if all(x == y or at == axis for at, (x, y) in enumerate(zip(value.type.dims, b.type.dims)))
    ]
    return concat(scope, [value] + random.choices(others, k=random.randint(1, 2)), axis)


def concat(scope, values, axis):
    first = values[0].type
    sizes = [value.type.dims[axis] for value in values]
    bounds = [sum(scope.model.range(size)[end] for size in sizes) for end in (0, 1)]
    size = sum(sizes) if all(isinstance(size, int)
                             for size in sizes) else scope.model.token(*bounds)
    type = Tensor(first.dtype, (*first.dims[:axis], size, *first.dims[axis + 1:]),
                  min(v.type.low for v in values), max(v.type.high for v in values),
                  all(v.type.is_whole for v in values))
    return scope.add("Concat", values, type, lambda *arrays: np.concatenate(arrays, axis),
                     axis=axis)


def is_sequence(value):
    return isinstance(value.type, Listed)


MAKERS = [(unary, 4), (softened, 2), (binary, 5), (compare, 2), (logical, 1), (chosen, 2),
          (cast, 1), (product, 3), (gram, 1), (turned, 2), (reduced, 3), (widened, 1), (summed, 1),
          (concatenated, 3)]
