"""Sequences."""
import numpy as np
from model import Body, Listed, Scope, Tensor, Value
from plain import MOST_RANK, is_number, is_sequence, pick, tensors
from extents import at_most, dim_of, integers, length_of, listed, replaced, size, with_dims

DTYPES = {"f32": 1, "i64": 7, "bool": 9}


def joined(types):
    """The type of elements of several types: of one dtype and rank."""
    first = types[0]
    dims = tuple(first.dims[at] if all(t.dims[at] == first.dims[at] for t in types) else None
                 for at in range(first.rank))
    return Tensor(first.dtype, dims, min(t.low for t in types), max(t.high for t in types),
                  all(t.is_whole for t in types))


def pick_sequence(scope, fits=lambda type: True):
    found = [value for value in scope.visible() if is_sequence(value) and fits(value.type)]
    return scope.model.random.choice(found[-4:]) if found else None


def fitting(scope, element):
    """A tensor that may be among `element`s and leaves their type as it is, or None."""
    return pick(scope, lambda t: fits(t, element))


def fits(type, element):
    return (type.dtype == element.dtype and type.rank == element.rank and element.low <= type.low
            and type.high <= element.high and (type.is_whole or not element.is_whole)
            and all(d is None or d == x for d, x in zip(element.dims, type.dims)))


def construct(scope, random):
    first = pick(scope, lambda t: t.dtype in DTYPES and t.rank >= 1)
    if not first:
        return None
    more = tensors(scope, lambda t: t.dtype == first.type.dtype and t.rank == first.type.rank)
    # Mostly of tensors that can be joined along the first dim.
    alike = [value for value in more if value.type.dims[1:] == first.type.dims[1:]]
    values = [first] + random.choices(alike if random.random() < 0.8 else more, k=random.randint(
        0, 2))
    return scope.add("SequenceConstruct", values,
                     Listed(joined([value.type for value in values]), len(values), len(values)),
                     lambda *v: v)


def scalar(scope, value):
    return scope.add("Squeeze", [value, scope.constant([0])],
                     integers((), value.type.low, value.type.high), lambda v, _: v.reshape(()))


def position(scope, random, sequence, more=0):
    """A position in the sequence, of `more` than it has elements: known at import or not."""
    count = sequence.type.least + more
    if random.random() < 0.4:
        return scope.constant(random.randint(-sequence.type.least, count - 1))
    length = length_of(scope, sequence)
    if more:
        length = scope.add("Add", [length, scope.constant(more)],
                           integers((), length.type.low + more, length.type.high + more), np.add)
    return scope.add("Mod", [scalar(scope, size(scope, random)), length],
                     integers((), 0, length.type.high - 1), np.mod)


def opened(scope, element):
    """The type of one element: dims that differ get tokens."""
    return with_dims(element,
                     [scope.model.token(0, 300) if dim is None else dim for dim in element.dims])


def taken(scope, random):
    sequence = pick_sequence(scope, lambda t: t.least > 0)
    return sequence and scope.add("SequenceAt",
                                  [sequence, position(scope, random, sequence)],
                                  opened(scope, sequence.type.element), lambda v, at: v[int(at)])


def inserted(scope, sequence, value, at=None):
    def compute(v, e, k=None):
        v = list(v)
        v.insert(len(v) if k is None else int(k) if k >= 0 else len(v) + int(k), e)
        return v

    old = sequence.type
    type = Listed(
        joined([value.type, old.element]) if old.least else old.element, old.least + 1,
        None if old.count is None else old.count + 1)
    return scope.add("SequenceInsert", [sequence, value, at] if at else [sequence, value], type,
                     compute)


def insert(scope, random):
    sequence = pick_sequence(scope)
    value = sequence and fitting(scope, sequence.type.element)
    return value and inserted(
        scope, sequence, value,
        position(scope, random, sequence, 1) if random.random() < 0.6 else None)


def erased(scope, random, sequence):
    def compute(v, k=None):
        return [e for at, e in enumerate(v) if at != (len(v) - 1 if k is None else int(k) % len(v))]

    type = Listed(sequence.type.element, sequence.type.least - 1,
                  None if sequence.type.count is None else sequence.type.count - 1)
    at = [position(scope, random, sequence)] if random.random() < 0.7 else []
    return scope.add("SequenceErase", [sequence, *at], type, compute)


def erase(scope, random):
    sequence = pick_sequence(scope, lambda t: t.least > 1)
    return sequence and erased(scope, random, sequence)


def joined_sequence(scope, random):
    new = random.random() < 0.3
    sequence = pick_sequence(
        scope, lambda t: t.least > 0 and None not in t.element.dims[0 if new else 1:] and t.element.
        rank < MOST_RANK)
    if not sequence:
        return None
    element, (least_count, count) = sequence.type.element, (sequence.type.least,
                                                            sequence.type.count)
    ends = (count, count) if count else (least_count, 40)
    if new:
        axis = random.randint(0, element.rank)
        dim = count or scope.model.token(*ends)
        return scope.add("ConcatFromSequence", [sequence],
                         with_dims(element, (*element.dims[:axis], dim, *element.dims[axis:])),
                         lambda v: np.stack(v, axis), axis=axis, new_axis=1)
    axis = 0 if None in element.dims else random.randrange(element.rank)
    low, high = (0, 300) if element.dims[axis] is None else scope.model.range(element.dims[axis])
    dim = scope.model.token(low * ends[0], high * ends[1])
    return scope.add("ConcatFromSequence", [sequence], replaced(element, axis, dim),
                     lambda v: np.concatenate(v, axis), axis=axis)


def parted(scope, random):
    value = pick(scope, lambda t: t.rank >= 1)
    if not value:
        return None
    axis = random.randrange(value.type.rank)
    dim = value.type.dims[axis]
    low, high = scope.model.range(dim)
    element = replaced(value.type, axis, None)
    if random.random() < 0.5:
        first = at_most(scope, random, value, axis)
        rest = scope.add("Sub", [dim_of(scope, random, value, axis, low, high), first],
                         integers((1, ), 0, high), np.subtract)
        return scope.add("SplitToSequence", [value, listed(scope, [first, rest])],
                         Listed(element, 2, 2), lambda v, s: np.split(v, [s[0]], axis), axis=axis)
    if isinstance(dim, int) and dim > 0 and random.random() < 0.5:
        part = random.randint(1, dim)
        count = -(-dim // part)
        return scope.add(
            "SplitToSequence", [value, scope.constant(part)], Listed(element, count, count),
            lambda v, _: [v.take(range(k, min(k + part, dim)), axis) for k in range(0, dim, part)],
            axis=axis)
    keeps = random.randrange(2)
    element = replaced(value.type, axis, 1) if keeps else with_dims(
        value.type, value.type.dims[:axis] + value.type.dims[axis + 1:])
    if not keeps and value.type.rank < 2:
        return None
    count = dim if isinstance(dim, int) else None
    return scope.add(
        "SplitToSequence", [value], Listed(element, low, count),
        lambda v: [v.take([k], axis) if keeps else v.take(k, axis) for k in range(v.shape[axis])],
        axis=axis, keepdims=keeps)


def run_map(environment, node, held):
    body, results = node.bodies()[0], []
    for element in held:
        here = {**environment, body.inputs[0].name: element}
        body.scope.run(here)
        results.append(here[body.outputs[0].name])
    return results


def mapped(scope, random):
    sequence = pick_sequence(scope, lambda t: t.count != 0 and is_number(t.element))
    if not sequence:
        return None
    inner = Scope(scope.model, scope)
    element = sequence.type.element
    argument = Value(scope.model.name("e"), opened(scope, element))
    result = inner.add(
        "Neg", [argument],
        Tensor(element.dtype, argument.type.dims, -element.high, -element.low, element.is_whole),
        np.negative)
    type = Listed(
        Tensor(element.dtype, element.dims, -element.high, -element.low, element.is_whole),
        sequence.type.least, sequence.type.count)

    return scope.add("SequenceMap", [sequence], type, run_map,
                     body=Body(inner, [argument], [result]))


def optional(scope, random):
    value = pick(scope)
    if not value or scope.model.opset < 18:
        return None
    held = scope.add("Optional", [value], value.type, lambda v: v)
    scope.values.remove(held)
    return scope.add("OptionalGetElement", [held], value.type, lambda v: v)


def size_of_sequence(scope, random):
    sequence = pick_sequence(scope)
    return sequence and length_of(scope, sequence)


MAKERS = [(construct, 4), (taken, 4), (insert, 4), (erase, 2), (joined_sequence, 5), (parted, 2),
          (mapped, 1), (optional, 1), (size_of_sequence, 1)]
