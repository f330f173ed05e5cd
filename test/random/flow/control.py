"""Branches and loops, whose graphs are random ones, too."""
import numpy as np
from lists import DTYPES, erased, fits, inserted, joined, pick_sequence, position
from model import MOST_STEPS, Body, Listed, Scope, Tensor, TooLarge, Value
from plain import (casted, clipped, concat, is_filled, is_sequence, least, pick, reduction, tensors,
                   unary)
from extents import integers, size, with_dims, within

MOST_DEPTH = 2
TRUTH = Tensor("bool", (), 0, 1)


def truth(scope, random):
    """A condition: one element, with a dim or without."""
    way = random.randrange(4)
    found = tensors(scope, lambda t: t.dtype == "bool" and t.dims in ((), (1,)))
    if way < 2 and found:
        return random.choice(found)
    if way == 2:
        a, b = size(scope, random), scope.constant([random.randint(0, 4)])
        return scope.add("Less", [a, b], Tensor("bool", (1,), 0, 1), np.less)
    value = pick(scope, lambda t: t.dtype in ("f32", "i64") and t.is_whole and t.rank >= 1)
    if not value:
        return scope.add("Less", [size(scope, random), scope.constant([2])],
                         Tensor("bool", (1, ), 0, 1), np.less)
    total = reduction(scope, "ReduceSum", value, None, 0)
    return scope.add("Greater",
                     [total, scope.constant(random.randint(-2, 4), total.type.dtype)], TRUTH,
                     np.greater)


def own(scope, value):
    """A graph gives only values of its own nodes."""
    if any(value in node.outputs for node in scope.nodes):
        return value
    return scope.add("Identity", [value], value.type, lambda v: v)


# --- If
# --------------------------------------------------------------------------------------------------


def alike(a, b):
    """Whether both may be the results of two branches."""
    if isinstance(a, Listed) or isinstance(b, Listed):
        return isinstance(a, Listed) and isinstance(b, Listed) and alike(a.element, b.element)
    return a.dtype == b.dtype and a.rank == b.rank


def either(scope, a, b):
    """The type of the result of two branches."""
    if isinstance(a, Listed):
        return Listed(joined([a.element, b.element]), min(a.least, b.least),
                      a.count if a.count == b.count else None)
    both = joined([a, b])
    dims = []
    for at, dim in enumerate(both.dims):
        ranges = [scope.model.range(t.dims[at]) for t in (a, b)]
        dims.append(
            scope.model.token(min(r[0]
                                  for r in ranges), max(r[1]
                                                        for r in ranges)) if dim is None else dim)
    return with_dims(both, dims)


def together(results):
    return tuple(results) if len(results) > 1 else results[0]


def run_if(environment, node, condition):
    body = node.bodies()[0 if np.asarray(condition).item() else 1]
    here = dict(environment)
    body.scope.run(here)
    return together([here[value.name] for value in body.outputs])


def branch(scope, random, grow):
    if scope.depth >= MOST_DEPTH:
        return None
    condition = truth(scope, random)
    scopes = [Scope(scope.model, scope) for _ in range(2)]
    for inner in scopes:
        grow(inner, random.randint(1, 4))
    results = [[], []]
    for _ in range(random.choice([1, 1, 2])):
        first = random.choice(scopes[0].values or scope.visible())
        others = [
            value for value in scopes[1].values + scope.visible() if alike(value.type, first.type)
        ]
        if not others:
            first = random.choice(scope.visible())
            others = [
                value for value in scopes[1].values + [first] if alike(value.type, first.type)
            ]
        for inner, collected, value in zip(scopes, results, (first, random.choice(others[:4]))):
            collected.append(own(inner, value))
    types = [either(scope, *(value.type for value in pair)) for pair in zip(*results)]

    bodies = [Body(inner, [], given) for inner, given in zip(scopes, results)]
    return scope.add("If", [condition], types if len(types) > 1 else types[0], run_if,
                     then_branch=bodies[0], else_branch=bodies[1])


# --- Loop
# --------------------------------------------------------------------------------------------------


def argument_type(scope, random, type):
    """What a loop may carry from a value of `type`, the axis along which it changes its size, and
    how."""
    if isinstance(type, Listed):
        return Listed(type.element,
                      type.least), None, random.choice(["insert", "insert", "replace", "keep"])
    most = 8 if type.is_whole else 4
    bounds = (0, 1) if type.dtype == "bool" else (min(type.low, -most), max(type.high, most))
    axis = random.randrange(type.rank) if type.rank and random.random() < 0.45 else None
    way = random.choice(["grow", "grow", "shrink", "any"]) if axis is not None else "same"
    dims = list(type.dims)
    if axis is not None:
        dims[axis] = scope.model.token(
            scope.model.range(type.dims[axis])[0] if way == "grow" else 0, 300)
    return Tensor(type.dtype, tuple(dims), *bounds, type.is_whole), axis, way


def next_tensor(scope, random, argument, axis, way, initial):
    """A value of the body that the next step may take for `argument`."""
    type = argument.type

    def fits_next(t, free=None):
        return (t.dtype == type.dtype and t.rank == type.rank and (t.is_whole or not type.is_whole)
                and all(x == y or at == free for at, (x, y) in enumerate(zip(t.dims, type.dims))))

    if way == "any":
        value = random.choice(tensors(scope, lambda t: fits_next(t, axis))[-4:])
    elif way == "grow":
        pieces = tensors(scope, lambda t: fits_next(t, axis) and least(scope, t.dims[axis]) >= 0)
        value = concat(scope,
                       random.sample([argument, random.choice([initial, *pieces[-3:]])], 2), axis)
    elif way == "shrink":
        ends = [scope.constant([k]) for k in random.choice([(1, 2**62), (0, -1)])]
        value = scope.add(
            "Slice", [argument, *ends, scope.constant([axis])],
            with_dims(type, (*type.dims[:axis], scope.model.token(0, 300), *type.dims[axis + 1:])),
            lambda v, a, b, _: v.take(range(v.shape[axis])[int(a[0]):int(b[0])], axis))
    else:
        made = [
            value for value in scope.values
            if isinstance(value.type, Tensor) and fits_next(value.type) and value != argument
        ]
        value = random.choice(made[-3:]) if made else unary_of(scope, random, argument)
    return own(scope, clipped(scope, value, type.low, type.high))


def unary_of(scope, random, value):
    type = value.type
    if type.dtype == "bool":
        return scope.add("Not", [value], type, np.logical_not)
    step = scope.constant(random.randint(1, 2), type.dtype)
    return scope.add("Add", [value, step],
                     Tensor(type.dtype, type.dims, type.low + 1, type.high + 2, type.is_whole),
                     np.add)


def next_sequence(scope, random, argument, way, initial):
    value = argument
    if way == "replace" and argument.type.least > 0:
        value = erased(scope, random, argument)
    if way != "keep":
        made = [
            v for v in scope.values + scope.outer.visible()[-6:]
            if isinstance(v.type, Tensor) and fits(v.type, argument.type.element)
        ]
        if not made:
            return own(scope, argument)
        at = position(scope, random, value, 1) if random.random() < 0.5 else None
        value = inserted(scope, value,
                         random.choice(made[:3] if random.random() < 0.5 else made[-3:]), at)
    return own(scope, value)


def empty_sequence(scope, random):
    """For elements such as a value that is there."""
    value = pick(scope, lambda t: t.rank >= 1)
    if not value:
        return None
    dims = (None, *value.type.dims[1:])
    most = 1 if value.type.dtype == "bool" else 64
    element = Tensor(value.type.dtype, dims, 0 if most == 1 else -most, most, value.type.is_whole)
    return scope.add("SequenceEmpty", [], Listed(element, 0), lambda: [],
                     dtype=DTYPES[value.type.dtype])


def outer_dims(scope, type, mark):
    """Whether all dims were there before the body."""
    return all(isinstance(dim, int) or int(dim[1:]) <= mark for dim in type.dims)


def initial_values(scope, random):
    values = []
    for _ in range(random.choice([0, 1, 1, 2, 2, 3])):
        if random.random() < 0.3:
            value = random.choice(
                [pick_sequence, pick_sequence, lambda s: empty_sequence(s, random)])(scope)
        else:
            value = pick(scope, lambda t: t.dtype != "bool" or random.random() < 0.3)
        if value and value not in values:
            values.append(value)
    return values


def loop_end(scope, random, step, goes, limited):
    """Whether another step follows."""
    if limited and random.random() < 0.6:
        return scope.add("Identity", [goes], TRUTH, lambda v: v)
    value = None if random.random() < 0.5 else truth(scope, random)
    if not value or value.type.dims or not limited:
        limit = scope.constant(random.randint(0, 2))
        value = scope.add("Less", [step, limit], TRUTH, np.less)
        if random.random() < 0.4:
            other = pick(scope, lambda t: t.dtype == "bool" and t.dims == ())
            value = scope.add("And", [value, other], TRUTH, np.logical_and)
    return own(scope, value)


def run_loop(environment, node, trips, condition, *carried):
    body, taken = node.bodies()[0], 0
    step, goes, *arguments = body.inputs
    gathered = body.outputs[1 + len(arguments):]
    stacks = [[] for _ in gathered]
    on = condition is None or bool(np.asarray(condition).item())
    while on and (trips is None or taken < trips.item()):
        here = {
            **environment, step.name: np.int64(taken), goes.name: np.True_,
            **{a.name: v for a, v in zip(arguments, carried)}
        }
        body.scope.run(here)
        on, *carried = (here[value.name] for value in body.outputs[:1 + len(arguments)])
        for stack, value in zip(stacks, gathered):
            stack.append(here[value.name])
        taken += 1
        if taken > MOST_STEPS:
            raise TooLarge
    return together([
        *carried, *(np.stack(stack) if stack else np.zeros((0, *(d if isinstance(d, int) else 0
                                                                 for d in value.type.dims)))
                    for stack, value in zip(stacks, gathered))
    ])


def loop(scope, random, grow):
    if scope.depth >= MOST_DEPTH:
        return None
    limited = random.random() < 0.75
    trips = within(scope, random, random.randrange(2), 4) if limited else None
    start = truth(scope, random) if random.random() < 0.3 else None
    steps_least = 0 if start else max(0, int(trips.type.low)) if trips else 1
    if not limited and not start:
        start = scope.constant(True, "bool")
    initial = initial_values(scope, random)
    mark = scope.model.names
    inner = Scope(scope.model, scope)
    step, goes = Value(scope.model.name("i"), integers((), 0,
                                                       8)), Value(scope.model.name("go"), TRUTH)
    arguments, plans = [], []
    for value in initial:
        type, axis, way = argument_type(scope, random, value.type)
        arguments.append(Value(scope.model.name("h"), type))
        plans.append((axis, way))
    inner.values = [step, goes, *arguments]
    grow(inner, random.randint(1, 5))
    following = []
    for argument, (axis, way), value in zip(arguments, plans, initial):
        if is_sequence(argument):
            following.append(next_sequence(inner, random, argument, way, value))
        else:
            following.append(next_tensor(inner, random, argument, axis, way, value))
    produced = [
        value for node in inner.nodes for value in node.outputs
        if isinstance(value.type, Tensor) and value in inner.values
    ]
    gathered = random.sample(produced,
                             min(len(produced), random.choice([0, 0, 1, 2] if initial else [1, 2])))
    gathered = [
        value for value in gathered if value.type.rank < 4 and outer_dims(scope, value.type, mark)
    ]
    end = loop_end(inner, random, step, goes, limited)
    if not initial and not gathered:
        return None
    if inner.nodes[-1].inputs[0] is not goes:
        steps_least = min(steps_least, 1)  # the condition may stop it after the first
    count = scope.model.token(steps_least, 8)
    # After no step the open dims of a stack are 0: nothing reads them.
    types = [result_type(scope, value, argument, plan, steps_least, after)
             for value, argument, plan, after in zip(initial, arguments, plans, following)]
    types += [with_dims(value.type, (count, *value.type.dims)) for value in gathered]

    body = Body(inner, [step, goes, *arguments], [end, *following, *gathered])
    made = scope.add("Loop", [trips, start, *initial], types if len(types) > 1 else types[0],
                     run_loop, body=body)
    made = made if isinstance(made, list) else [made]
    if not steps_least:
        for value in made[len(initial):]:
            scope.values.remove(value)
            scope.model.loose.add(value.name)
            if scope.depth == 0:
                scope.model.outputs.append(value)
    return made


def result_type(scope, initial, argument, plan, steps_least, after):
    if is_sequence(argument):
        element = argument.type.element
        return Listed(element, after.type.least if steps_least else argument.type.least)
    axis, _ = plan
    if axis is None:
        return argument.type
    low, high = scope.model.range(argument.type.dims[axis])
    dims = list(argument.type.dims)
    dims[axis] = scope.model.token(low, high)
    return with_dims(argument.type, dims)


# --- Scan
# --------------------------------------------------------------------------------------------------


def run_scan(environment, node, *given):
    body, count = node.bodies()[0], len(given) - node.attributes["num_scan_inputs"]
    carried, parts = list(given[:count]), given[count:]
    reads, writes = (node.attributes.get(f"scan_{what}_directions", [0] * 99)
                     for what in ("input", "output"))
    parts = [part[::-1] if back else part for part, back in zip(parts, reads)]
    stacks = [[] for _ in body.outputs[count:]]
    for elements in zip(*parts):
        here = {
            **environment,
            **{value.name: array for value, array in zip(body.inputs, (*carried, *elements))}
        }
        body.scope.run(here)
        results = [here[value.name] for value in body.outputs]
        carried = results[:count]
        for stack, result in zip(stacks, results[count:]):
            stack.append(result)
    return together([
        *carried, *(np.stack(stack[::-1] if back else stack) for stack, back in zip(stacks, writes))
    ])


def scan(scope, random, grow):
    if scope.depth >= MOST_DEPTH:
        return None
    first = pick(scope, lambda t: 1 <= t.rank and least(scope, t.dims[0]) > 0)
    if not first:
        return None
    scanned = [first]
    more = [
        value for value in tensors(scope, lambda t: t.rank and t.dims[0] == first.type.dims[0])
        if value != first
    ]
    scanned += random.sample(more, min(len(more), random.randrange(2)))
    states = [value for value in initial_values(scope, random)
              if isinstance(value.type, Tensor)][:2]
    mark = scope.model.names
    inner = Scope(scope.model, scope)
    arguments = [
        Value(
            scope.model.name("h"),
            Tensor(
                v.type.dtype, v.type.dims,
                *((0, 1) if v.type.dtype == "bool" else (min(v.type.low, -8), max(v.type.high, 8))),
                v.type.is_whole)) for v in states
    ]
    elements = [
        Value(scope.model.name("e"), with_dims(value.type, value.type.dims[1:]))
        for value in scanned
    ]
    inner.values = [*arguments, *elements]
    grow(inner, random.randint(1, 4))
    following = [
        next_tensor(inner, random, argument, None, "same", value)
        for argument, value in zip(arguments, states)
    ]
    produced = [
        value for node in inner.nodes for value in node.outputs if isinstance(value.type, Tensor)
        and value.type.rank < 4 and value in inner.values and outer_dims(scope, value.type, mark)
    ]
    gathered = random.sample(produced, min(len(produced), random.choice([1, 2])))
    if not gathered and not states:
        return None
    reads, writes = ([random.randrange(2) for _ in values] for values in (scanned, gathered))

    types = [a.type for a in arguments] + [
        with_dims(value.type, (first.type.dims[0], *value.type.dims)) for value in gathered
    ]
    more = {
        **({"scan_input_directions": reads} if any(reads) else {}),
        **({"scan_output_directions": writes} if any(writes) else {})
    }
    return scope.add("Scan", [*states, *scanned], types if len(types) > 1 else types[0], run_scan,
                     num_scan_inputs=len(scanned), body=Body(inner, [*arguments, *elements],
                                                             [*following, *gathered]), **more)
