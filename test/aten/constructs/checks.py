"""Checks constructs in both ways against eager PyTorch."""

import contextlib
import dataclasses
import warnings

import torch
from torch.utils import _pytree as pytree

from constructs.construct import EXPORTED
from module_cases import Checks, Failure, compare, dlc


def _plain(tree):
    """A tree in which dataclasses are tuples of their type and their fields."""

    def opened(leaf):
        if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            fields = [getattr(leaf, field.name) for field in dataclasses.fields(leaf)]
            return (type(leaf).__name__, *map(_plain, fields))
        return leaf

    return pytree.tree_map(opened, tree)


def _expect(construct, found, wanted, title):
    found, wanted = _plain(found), _plain(wanted)
    if pytree.tree_structure(found) != pytree.tree_structure(wanted):
        shown = [pytree.tree_structure(tree) for tree in (found, wanted)]
        raise Failure(f"{title}: a tree {shown[0]}, PyTorch gives {shown[1]}")
    compare(found, wanted, title, each=construct.each)


def _shared(*trees):
    """Pairs of positions of tensors that share memory."""
    leaves = [leaf for leaf in pytree.tree_leaves(trees) if isinstance(leaf, torch.Tensor)]
    places = [leaf.untyped_storage().data_ptr() for leaf in leaves]
    return [(i, j) for j, place in enumerate(places) for i in range(j) if place == places[i] != 0]


def _called(function, call):
    return function(**call) if isinstance(call, dict) else function(*call)


def _held(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def _of_one_shape(calls):
    """Calls up to the first whose shapes are not those of the example."""

    def shapes(call):
        return [getattr(leaf, "shape", leaf) for leaf in pytree.tree_leaves(call)]

    others = [i for i, call in enumerate(calls) if shapes(call) != shapes(calls[0])]
    return calls[: others[0]] if others else calls


@contextlib.contextmanager
def _recorded():
    """The texts of dlc's warnings."""
    said = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield said
    said += [str(one.message) for one in found if one.category is dlc.CompileWarning]


class ConstructChecks(Checks):
    """`refused`: of cases that dlc refuses, or leaves to eager PyTorch, a part of its message."""

    def __init__(self, refused):
        super().__init__([])
        self.refused = refused

    def check(self, construct):
        for way in construct.ways:
            name = f"{construct.name}, {way}"
            check = self._exported if way == EXPORTED else self._compiled
            with self.case(name), torch.set_grad_enabled(construct.records):
                self._expected(name, lambda: check(construct))

    def _expected(self, name, check):
        """The check fails as refused.txt says, or passes if it says nothing."""
        listed = self.refused.get(name)
        try:
            check()
        except Failure as failure:
            if listed is None or listed not in str(failure):
                raise
        else:
            if listed is not None:
                raise Failure(f"refused.txt says '{listed}', which is no longer so")

    @staticmethod
    def _model(construct, module):
        """The compiled model; None if dlc refuses it as refused.txt says."""
        options = {"dynamic": construct.dynamic, "device": "cpu", "target": "cpu"}
        try:
            with _recorded() as said:
                model = dlc.compile(module, example=construct.calls()[0], **options)
        except dlc.Error as error:
            raise Failure(f"dlc refuses it: {error}") from None
        if said:
            raise Failure(f"dlc warns: {said[0]}")
        return model

    def _exported(self, construct):
        module, twin = construct.module(), construct.module()
        modes = [part.training for part in module.modules()]
        model = self._model(construct, module)
        compare(_held(module), _held(twin), "the module after its compilation", each=True)
        if modes != [part.training for part in module.modules()]:
            raise Failure("the compilation changes the module's modes")
        calls = _of_one_shape(construct.calls()) if not construct.dynamic else construct.calls()
        if len(calls) < 2:
            raise Failure("no second call has the shapes of the example")
        for number, (ours, theirs) in enumerate(zip(calls, construct.calls())):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dlc.CopyWarning)
                found = _called(model, ours)
            _expect(construct, found, _called(twin, theirs), f"call {number}")
            _expect(construct, ours, theirs, f"the inputs after call {number}")
            states = model.state_dict()
            kept = dict(twin.named_buffers())
            compare(list(states.values()), [kept[name] for name in states], "the states")

    def _compiled(self, construct):
        """A warning of what eager PyTorch runs comes once, and its results are right."""
        from dlc.torch_backend import backend

        torch._dynamo.reset()
        captures = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
        with torch._dynamo.config.patch(captures if construct.captures else {}):
            with _recorded() as said:
                made = self._run(construct, backend)
            with _recorded() as again:
                _called(made, construct.calls()[-1])
        if again or len(set(said)) > 1:
            raise Failure(f"several warnings: {[*said, *again]}")
        if said:
            raise Failure(f"eager PyTorch has a part: {said[0]}")

    @staticmethod
    def _run(construct, backend):
        module, twin = construct.module(), construct.module()
        made = torch.compile(module, backend=backend)
        results = []
        for number, (ours, theirs) in enumerate(zip(construct.calls(), construct.calls())):
            if construct.before:
                construct.before(module, number)
                construct.before(twin, number)
            found, wanted = _called(made, ours), _called(twin, theirs)
            results.append((found, wanted))
            _expect(construct, found, wanted, f"call {number}")
            _expect(construct, ours, theirs, f"the inputs after call {number}")
            compare(_held(module), _held(twin), f"the module after call {number}")
            if construct.shares and _shared(ours, found) != _shared(theirs, wanted):
                pairs = _shared(ours, found), _shared(theirs, wanted)
                raise Failure(f"call {number}: {pairs[0]} share memory, not {pairs[1]}")
        for number, (found, wanted) in enumerate(results):
            _expect(construct, found, wanted, f"the results of call {number} after the last")
        return made
