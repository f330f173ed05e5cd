"""Sizes that shapes or data give, and nodes that use them."""
import numpy as np
from model import Tensor
from plain import (MOST_RANK, casted, clipped, compare, concat, is_filled, is_number, is_sequence,
                   least, pick, reduction, transposed, unsqueezed)

INT64 = 2**63 - 1


def integers(dims, low, high):
    return Tensor("i64", dims, low, high)


# --- Values: i64 of one element each, with one dim
# ----------------------------------------------------------------------------------


def some_axis(scope, random):
    """A tensor, an axis of it, and the least and largest size of its dim there; nothing where no
    tensor has dims."""
    value = pick(scope, lambda t: t.rank >= 1)
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    return value, axis, *scope.model.range(value.type.dims[axis])


def of_shape(scope, random):
    found = some_axis(scope, random)
    return dim_of(scope, random, *found) if found else None


def dim_of(scope, random, value, axis, low, high):
    if random.random() < 0.4:
        return scope.add("Shape", [value], integers((1, ), low, high),
                         lambda v: v.shape[axis:axis + 1], start=axis, end=axis + 1)
    shape = scope.add("Shape", [value], integers((value.type.rank,), 0, 2**20), lambda v: v.shape)
    if random.random() < 0.5:
        return scope.add("Gather", [shape, scope.constant([axis])], integers((1, ), low, high),
                         lambda v, at: v[at], axis=0)
    return scope.add(
        "Slice",
        [shape, scope.constant([axis]), scope.constant([axis + 1])], integers(
            (1, ), low, high), lambda v, a, b: v[axis:axis + 1])


def flat(scope, value):
    """With one dim."""
    return value if value.type.rank == 1 else scope.add(
        "Reshape", [value, scope.constant([1])], integers(
            (1, ), value.type.low, value.type.high), lambda v, _: v.reshape(1))


def of_input(scope, random):
    value = pick(scope, lambda t: t.dtype == "i64" and t.dims in ((), (1,)))
    return value and flat(scope, value)


def of_data(scope, random):
    """What a tensor says: a count of true elements, or the largest of integers."""
    value = pick(scope, lambda t: t.dtype == "bool" and t.rank >= 1)
    if value and random.random() < 0.7:
        return flat(scope, reduction(scope, "ReduceSum", casted(scope, value, "i64"), None, 0))
    value = pick(scope, lambda t: t.dtype == "i64" and t.rank >= 1 and is_filled(scope, t))
    return value and flat(scope, reduction(scope, "ReduceMax", value, None, 0))


def of_length(scope, random):
    found = [value for value in scope.visible() if is_sequence(value)]
    return flat(scope, length_of(scope, random.choice(found))) if found else None


def length_of(scope, sequence):
    low, high = sequence.type.least, 40 if sequence.type.count is None else sequence.type.count
    return scope.add("SequenceLength", [sequence], integers((), low, high), len)


def combined(scope, random, depth):
    a = size(scope, random, depth + 1)
    b = scope.constant([random.randint(1, 4)]) if random.random() < 0.5 else size(
        scope, random, depth + 1)
    op = random.choice(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Where"])
    (low, high), (least_b, most_b) = (a.type.low, a.type.high), (b.type.low, b.type.high)
    two = lambda compute, ends: scope.add(op, [a, b], integers((1,), min(ends), max(ends)), compute)
    if op == "Add":
        return two(np.add, (low + least_b, high + most_b))
    if op == "Sub":
        return two(np.subtract, (low - most_b, high - least_b))
    if op == "Mul":
        return two(np.multiply, [x * y for x in (low, high) for y in (least_b, most_b)])
    if op in ("Div", "Mod"):
        # Rounded as in C, and with the sign of the divisor.
        if least_b <= 0:
            b = scope.constant([random.randint(1, 4)])
        compute = (lambda x, y: np.trunc(x / y).astype(np.int64)) if op == "Div" else np.mod
        most = max(abs(low), abs(high))
        return two(compute, (-most, most) if op == "Div" else (0, b.type.high))
    if op in ("Min", "Max"):
        return two(np.minimum if op == "Min" else np.maximum,
                   (min(low, least_b), max(high, most_b)))
    test = random.choice([("Less", np.less), ("Equal", np.equal)])
    c = scope.add(test[0], [a, b], Tensor("bool", (1,), 0, 1), test[1])
    b = size(scope, random, depth + 1)
    return scope.add("Where", [c, a, b],
                     integers((1, ), min(low, b.type.low), max(high, b.type.high)), np.where)


def size(scope, random, depth=0):
    """A number that may be a size; it may be negative."""
    if depth < 3 and random.random() < 0.45:
        value = combined(scope, random, depth)
    else:
        value = random.choice([of_shape, of_shape, of_shape, of_input, of_data, of_length])(scope,
                                                                                            random)
    if not value or max(-value.type.low, value.type.high) > 2**30:
        return scope.constant([random.randint(0, 4)])
    return value


def within(scope, random, low, high):
    """A number of at least `low` and at most `high`."""
    value = size(scope, random)
    if low <= value.type.low and value.type.high <= high:
        return value
    way = random.randrange(3)
    if way == 0:
        value = scope.add("Mod", [value, scope.constant([high - low + 1])],
                          integers((1, ), 0, high - low), np.mod)
        return scope.add("Add", [value, scope.constant([low])], integers(
            (1, ), low, high), np.add) if low else value
    if way == 1:
        return clipped(scope, value, low, high)
    value = scope.add("Min", [value, scope.constant([high])],
                      integers((1, ), min(high, value.type.low), min(high, value.type.high)),
                      np.minimum)
    return scope.add("Max", [value, scope.constant([low])],
                     integers((1, ), max(low, value.type.low), max(low, value.type.high)),
                     np.maximum)


def at_most(scope, random, value, axis):
    """A number from 0 to that dim of `value`."""
    low, high = scope.model.range(value.type.dims[axis])
    wanted = within(scope, random, 0, 6)
    dim = scope.constant([low]) if low == high else dim_of(scope, random, value, axis, low, high)
    return scope.add("Min", [wanted, dim], integers((1,), 0, min(6, high)), np.minimum)


def new_dim(scope, value):
    """A dim of the size `value`."""
    return scope.model.token(value.type.low, value.type.high)


def with_dims(type, dims, *more):
    """`type` with other dims; its elements may be `more`, too."""
    return Tensor(type.dtype, tuple(dims),
                  min(type.low, *more) if more else type.low,
                  max(type.high, *more) if more else type.high, type.is_whole)


def replaced(type, axis, dim, *more):
    return with_dims(type, (*type.dims[:axis], dim, *type.dims[axis + 1:]), *more)


# --- Nodes
# --------------------------------------------------------------------------------------------------


def sliced(scope, random):
    value = pick(scope, lambda t: t.rank >= 1)
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    step = random.choice([1, 1, 1, 1, 2, -1, -2])
    ends = [
        size(scope, random) if random.random() < 0.6 else scope.constant([random.randint(-3, 4)])
        for _ in range(2)
    ]
    if random.random() < 0.4:
        ends[random.randrange(2)] = scope.constant([random.choice([0, -1, INT64, -INT64])])
    high = scope.model.range(value.type.dims[axis])[1]
    type = replaced(value.type, axis, scope.model.token(0, high))

    def compute(v, a, b, *_):
        at = [slice(None)] * v.ndim
        count, (first, last) = v.shape[axis], (int(a[0]), int(b[0]))
        # As the standard says it; Python's own slices take the same numbers but for ends before the
        # first element of a step back.
        first, last = (end + count if end < 0 else end for end in (first, last))
        first = min(max(first, 0), count if step > 0 else count - 1)
        last = min(max(last, 0), count) if step > 0 else min(max(last, -1), count - 1)
        at[axis] = list(range(first, last, step))
        return v[tuple(at)]

    return scope.add("Slice",
                     [value, *ends, scope.constant([axis]),
                      scope.constant([step])], type, compute)


def zeros(scope, count):
    return [scope.constant([0])] * count


def listed(scope, parts):
    """A list of numbers as one tensor."""
    if len(parts) == 1:
        return parts[0]
    return scope.add(
        "Concat", parts,
        integers((len(parts), ), min(p.type.low for p in parts), max(p.type.high for p in parts)),
        lambda *v: np.concatenate(v), axis=0)


def padded(scope, random):
    value = pick(scope, lambda t: is_number(t) and t.rank >= 1)
    if not value:
        return None
    axis, rank = random.randrange(value.type.rank), value.type.rank
    mode = random.choice(["constant", "constant", "edge"])
    low, high = scope.model.range(value.type.dims[axis])
    if mode == "edge" and low < 1:
        return None
    widths = [
        within(scope, random, 0, 3)
        if random.random() < 0.7 else scope.constant([random.randint(0, 2)]) for _ in range(2)
    ]
    dim = scope.model.token(low + sum(w.type.low for w in widths),
                            high + sum(w.type.high for w in widths))
    filler = [scope.constant(random.randint(-2, 2), value.type.dtype)
              ] if mode == "constant" and random.random() < 0.5 else []

    def compute(v, w, f=None, *_):
        around = [(0, 0)] * v.ndim
        around[axis] = (w[0], w[1]) if len(w) == 2 else (w[axis], w[axis + v.ndim])
        return np.pad(v, around, mode=mode,
                      **({"constant_values": 0 if f is None else f} if mode == "constant" else {}))

    if scope.model.opset >= 18 and random.random() < 0.5:
        inputs = [
            value,
            listed(scope, widths), filler[0] if filler else None,
            scope.constant([axis])
        ]
    else:
        parts = zeros(scope, axis) + [widths[0]] + zeros(scope, rank - 1) + [widths[1]] + zeros(
            scope, rank - 1 - axis)
        inputs = [value, listed(scope, parts), *filler]
    return scope.add("Pad", inputs,
                     replaced(value.type, axis, dim, *(filler[0].type.low if filler else 0, )),
                     compute, mode=mode)


def tiled(scope, random):
    value = pick(scope, lambda t: t.rank >= 1)
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    times = within(scope, random, random.randrange(2), 3)
    low, high = scope.model.range(value.type.dims[axis])
    parts = [times if at == axis else scope.constant([1]) for at in range(value.type.rank)]
    return scope.add(
        "Tile", [value, listed(scope, parts)],
        replaced(value.type, axis, scope.model.token(low * times.type.low, high * times.type.high)),
        np.tile)


def expanded(scope, random):
    value = pick(scope, lambda t: t.rank < MOST_RANK)
    if not value:
        return None
    axis = random.randint(0, value.type.rank)
    wide = unsqueezed(scope, value, axis)
    count = within(scope, random, random.randrange(2), 4)
    parts = [count if at == axis else scope.constant([1]) for at in range(wide.type.rank)]
    return scope.add("Expand", [wide, listed(scope, parts)],
                     replaced(wide.type, axis, new_dim(scope, count)),
                     lambda v, s: np.broadcast_to(v, np.broadcast_shapes(v.shape, tuple(s))).copy())


def merged(scope, random):
    """Two dims become one."""
    value = pick(scope, lambda t: t.rank >= 2)
    if not value:
        return None
    axis, dims = random.randrange(value.type.rank - 1), value.type.dims
    two = [scope.model.range(dim) for dim in dims[axis:axis + 2]]
    both = dims[axis] * dims[axis + 1] if all(
        isinstance(d, int)
        for d in dims[axis:axis + 2]) else scope.model.token(*(x * y for x, y in zip(*two)))
    parts = []
    way = random.randrange(2)
    for at, dim in enumerate(dims):
        if at == axis + 1:
            continue
        pair = [
            dim_of(scope, random, value, k, *scope.model.range(dims[k]))
            for k in ((at, at + 1) if at == axis else (at, ))
        ]
        if at != axis:
            parts.append(scope.constant([dim]) if isinstance(dim, int) else pair[0])
        elif way or not is_filled(scope, value.type):
            parts.append(
                scope.add("Mul", pair, integers((1, ), *(x * y for x, y in zip(*two))),
                          np.multiply))
        else:
            parts.append(scope.constant([-1]))
    type = with_dims(value.type, (*dims[:axis], both, *dims[axis + 2:]))
    shape = [slice(0, axis), slice(axis + 2, None)]
    # A 0 of the shape copies a dim unless allowzero is set.
    return scope.add(
        "Reshape", [value, listed(scope, parts)], type, lambda v, s: v.reshape(
            *v.shape[shape[0]], v.shape[axis] * v.shape[axis + 1], *v.shape[shape[1]]),
        **({} if is_filled(scope, value.type) else {"allowzero": 1}))


def halved(scope, random):
    """The largest even part of a dim becomes pairs."""
    value = pick(scope, lambda t: t.rank >= 1 and t.rank < MOST_RANK and is_filled(scope, t))
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    low, high = scope.model.range(value.type.dims[axis])
    dim = dim_of(scope, random, value, axis, low, high)
    half = scope.add("Div", [dim, scope.constant([2])], integers((1, ), low // 2, high // 2),
                     np.floor_divide)
    even = scope.add("Mul", [half, scope.constant([2])], integers((1, ), low // 2 * 2,
                                                                  high // 2 * 2), np.multiply)
    part = scope.add(
        "Slice",
        [value, scope.constant([0]), even, scope.constant([axis])],
        replaced(value.type, axis, new_dim(scope,
                                           even)), lambda v, a, b, _: v.take(range(b[0]), axis))
    parts = [
        scope.constant([2]) if at == axis + 1 else half if at == axis else
        scope.constant([value.type.dims[at]]) if at < axis and isinstance(value.type.dims[at], int)
        else dim_of(scope, random, value, at -
                    (at > axis), *scope.model.range(value.type.dims[at - (at > axis)]))
        for at in range(value.type.rank + 1)
    ]
    dims = value.type.dims
    return scope.add(
        "Reshape", [part, listed(scope, parts)],
        with_dims(value.type, (*dims[:axis], new_dim(scope, half), 2, *dims[axis + 1:])),
        lambda v, s: v.reshape(*v.shape[:axis], v.shape[axis] // 2, 2, *v.shape[axis + 1:]),
        allowzero=1)


def ranged(scope, random):
    count = within(scope, random, 0, 6)
    scalar = scope.add("Squeeze", [count, scope.constant([0])], integers((), 0, 6),
                       lambda v, _: v.reshape(()))
    first, step = random.choice([(0, 1), (0, 1), (-2, 1), (1, 2), (6, -1)])
    return scope.add(
        "Range",
        [scope.constant(first), scalar, scope.constant(step)],
        integers((scope.model.token(0, 8), ), -2, 8), np.arange)


def filled(scope, random):
    parts = [within(scope, random, random.randrange(2), 4) for _ in range(random.randint(1, 2))]
    return scope.add("ConstantOfShape", [listed(scope, parts)],
                     Tensor("f32", tuple(new_dim(scope, part) for part in parts), 0, 0), np.zeros)


def split(scope, random):
    found = some_axis(scope, random)
    if not found:
        return None
    value, axis, low, high = found
    first = at_most(scope, random, value, axis)
    rest = scope.add("Sub", [dim_of(scope, random, value, axis, low, high), first],
                     integers((1, ), 0, high), np.subtract)
    types = [replaced(value.type, axis, new_dim(scope, part)) for part in (first, rest)]
    return scope.add("Split", [value, listed(scope, [first, rest])], types,
                     lambda v, s: tuple(np.split(v, [s[0]], axis)), axis=axis)


def top(scope, random):
    value = pick(scope, lambda t: t.rank >= 1 and is_number(t) and t.is_whole)
    if not value:
        return None
    axis, largest = random.randrange(value.type.rank), random.randrange(2)
    count = at_most(scope, random, value, axis)
    dim = new_dim(scope, count)
    types = [
        replaced(value.type, axis, dim),
        integers(
            replaced(value.type, axis, dim).dims, 0,
            scope.model.range(value.type.dims[axis])[1])
    ]

    def compute(v, k):
        order = np.argsort(-v if largest else v, axis, kind="stable").take(range(k[0]), axis)
        return np.take_along_axis(v, order, axis), order

    return scope.add("TopK", [value, count], types, compute, axis=axis, largest=largest)


def found(scope, random):
    """The positions of a condition, and what is there."""
    mask = pick(scope, lambda t: t.dtype == "bool" and t.rank >= 1) or compare(scope, random)
    if not mask or mask.type.dtype != "bool" or not mask.type.rank:
        return None
    most = int(np.prod([scope.model.range(dim)[1] for dim in mask.type.dims]))
    dim = scope.model.token(0, most)
    places = scope.add("NonZero", [mask], integers((mask.type.rank, dim), 0, most),
                       lambda v: np.array(v.nonzero()))
    value = pick(scope, lambda t: t.dims[:mask.type.rank] == mask.type.dims)
    if not value or random.random() < 0.2:
        return places
    rows = transposed(scope, places, (1, 0))
    return scope.add("GatherND", [value, rows],
                     with_dims(value.type, (dim, *value.type.dims[mask.type.rank:])),
                     lambda v, at: v[tuple(at.T)])


def compressed(scope, random):
    mask = pick(scope, lambda t: t.dtype == "bool" and t.rank == 1)
    value = mask and pick(scope, lambda t: mask.type.dims[0] in t.dims)
    if not value:
        return None
    axis = value.type.dims.index(mask.type.dims[0])
    dim = scope.model.token(0, scope.model.range(mask.type.dims[0])[1])
    return scope.add("Compress", [value, mask], replaced(value.type, axis, dim),
                     lambda v, m: v.compress(m, axis), axis=axis)


def distinct(scope, random):
    value = pick(scope, lambda t: is_number(t) and t.is_whole and is_filled(scope, t))
    if not value:
        return None
    most = int(np.prod([scope.model.range(dim)[1] for dim in value.type.dims]))
    dim = scope.model.token(1, most)
    types = [
        with_dims(value.type, (dim, )),
        *(integers((size, ), 0, most) for size in (dim, scope.model.token(1, most), dim))
    ]
    # NumPy 2 gives the third result the shape of the input.
    return scope.add("Unique", [value], types,
                     lambda v: [result.ravel() for result in np.unique(v, True, True, True)],
                     sorted=1)


def gathered(scope, random):
    at = pick(scope, lambda t: t.dtype == "i64" and t.rank <= 2)
    value = at and pick(
        scope, lambda t: 1 <= t.rank and t.rank + at.type.rank - 1 <= MOST_RANK and any(
            least(scope, dim) > 0 for dim in t.dims))
    if not value:
        return None
    axis = random.choice(
        [axis for axis, dim in enumerate(value.type.dims) if least(scope, dim) > 0])
    low, high = scope.model.range(value.type.dims[axis])
    if at.type.low < 0 or at.type.high >= low:
        at = scope.add("Mod", [at, dim_of(scope, random, value, axis, low, high)],
                       integers(at.type.dims or (1, ), 0, high), np.mod)
    dims = (*value.type.dims[:axis], *at.type.dims, *value.type.dims[axis + 1:])
    return scope.add("Gather", [value, at], with_dims(value.type, dims),
                     lambda v, i: v.take(i, axis), axis=axis)


def cut_by_triangle(scope, random):
    value = pick(scope, lambda t: t.rank >= 2 and is_number(t))
    if not value:
        return None
    upper = random.randrange(2)
    k = within(scope, random, -1, 2)
    scalar = scope.add("Squeeze", [k, scope.constant([0])], integers((), -1, 2),
                       lambda v, _: v.reshape(()))
    return scope.add("Trilu", [value, scalar], with_dims(value.type, value.type.dims, 0),
                     np.triu if upper else np.tril, upper=upper)


def as_length(scope, random):
    """A size among the numbers of the model."""
    value = size(scope, random)
    return clipped(scope, value, -8, 8)


MAKERS = [(sliced, 4), (padded, 2), (tiled, 2), (expanded, 2), (merged, 2),
          (halved, 1), (ranged, 1), (filled, 1), (split, 2), (top, 2), (found, 3), (compressed, 2),
          (distinct, 1), (gathered, 2), (cut_by_triangle, 1), (as_length, 1)]
