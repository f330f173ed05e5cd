"""Makes a model smaller as long as it shows the same fault."""
import copy

import numpy as np
from model import Listed, Tensor, Value


def scopes(scope):
    yield scope
    for node in scope.nodes:
        for body in node.bodies():
            yield from scopes(body.scope)


def places(model):
    """Each node with its scope, the last ones first."""
    return [(scope, node) for scope in scopes(model.main) for node in scope.nodes][::-1]


def replace(scope, old, new):
    """All that reads value `old` reads `new`."""
    for inner in scopes(scope):
        for node in inner.nodes:
            node.inputs = [new if value == old else value for value in node.inputs]
            for body in node.bodies():
                body.outputs = [new if value == old else value for value in body.outputs]


def alike(a, b):
    return (isinstance(a, Tensor) and isinstance(b, Tensor) and
            (a.dtype, a.rank) == (b.dtype, b.rank)
            or isinstance(a, Listed) and isinstance(b, Listed) and alike(a.element, b.element))


def bypassed(number, which):
    """An edit: the first output of a node becomes input `which` of it."""
    def edit(case):
        scope, node = places(case.model)[number]
        value = node.inputs[which]
        if not value or not alike(value.type, node.outputs[0].type) or len(node.outputs) > 1:
            return False
        replace(case.model.main, node.outputs[0], value)
        case.model.outputs = [
            value if output == node.outputs[0] else output for output in case.model.outputs
        ]
        return True
    return edit


def given(number):
    """An edit: the outputs of a node of the main graph become inputs."""
    def edit(case):
        scope, node = places(case.model)[number]
        if scope.outer or any(isinstance(value.type, Listed) for value in node.outputs):
            return False
        environment = dict(zip([value.name for value in case.model.inputs], case.data[0]))
        case.model.steps, case.model.noise = 0, None
        case.model.main.run(environment)
        for value in node.outputs:
            case.model.inputs.append(Value(value.name, value.type))
            case.data[0].append(environment[value.name])
        scope.nodes.remove(node)
        return True
    return edit


def fixed(number):
    """An edit: the outputs of a node of an inner graph become constants."""
    def edit(case):
        scope, node = places(case.model)[number]
        if not scope.outer or any(
                isinstance(value.type, Listed) or not all(
                    isinstance(d, int) for d in value.type.dims) for value in node.outputs):
            return False
        for value in node.outputs:
            low, high = max(0, value.type.low), value.type.high
            scope.constants.append(
                (value, np.full(value.type.dims,
                                min(max(low, 1),
                                    high)).astype({"f32": float, "i64": int,
                                                   "bool": bool}[value.type.dtype])))
        scope.nodes.remove(node)
        return True
    return edit


def without(number, which):
    """An edit: a node loses output `which`, a loop with it what it carries or gathers."""
    def edit(case):
        _, node = places(case.model)[number]
        if not node.bodies() or which >= len(node.outputs) or len(node.outputs) < 2:
            return False
        output = node.outputs.pop(which)
        skipped = 1 if node.op == "Loop" else 0
        carried = {
            "Loop": len(node.inputs) - 2,
            "Scan": len(node.inputs) - node.attributes.get("num_scan_inputs", 0)
        }.get(node.op, 0)
        for body in node.bodies():
            del body.outputs[which + skipped]
            if which < carried:
                argument = body.inputs.pop(which + 2 * skipped)
                initial = node.inputs.pop(which + 2 * skipped)
                replace(body.scope, argument, initial)
                body.outputs = [initial if value == argument else value for value in body.outputs]
        return output not in case.model.outputs
    return edit


def removed(number):
    """An edit: a node that nothing reads is not there."""
    def edit(case):
        scope, node = places(case.model)[number]
        read = read_names(case.model)
        if any(value.name in read for value in node.outputs):
            return False
        scope.nodes.remove(node)
        return True
    return edit


def read_names(model):
    names = {value.name for value in model.outputs}
    for scope in scopes(model.main):
        for node in scope.nodes:
            names |= {value.name for value in node.inputs if value}
            names |= {value.name for body in node.bodies() for value in body.outputs}
    return names


def pruned(case):
    """Removes constants and inputs that nothing reads."""
    model = case.model
    read = read_names(model)
    for scope in scopes(model.main):
        scope.constants = [entry for entry in scope.constants if entry[0].name in read]
    kept = [at for at, value in enumerate(model.inputs) if value.name in read]
    model.inputs, case.data = [model.inputs[at] for at in kept], [[arrays[at] for at in kept]
                                                                  for arrays in case.data]


def edits(case):
    count = len(places(case.model))
    for number in range(count):
        yield removed(number)
    for number in range(count):
        yield given(number)
    for number in range(count):
        for which in range(4):
            yield without(number, which)
        yield fixed(number)
        for which in range(len(places(case.model)[number][1].inputs)):
            yield bypassed(number, which)


def reduced(case, is_wrong):
    """The smallest case found for which `is_wrong` holds."""
    smaller = True
    while smaller:
        smaller = False
        for edit in edits(case):
            changed = copy.deepcopy(case)
            try:
                if not edit(changed):
                    continue
                pruned(changed)
                changed.judge()
            except Exception:  # the edit leaves no model that runs
                continue
            if len(changed.model.file()) < len(case.model.file()) and is_wrong(changed):
                case, smaller = changed, True
                break
    return case
