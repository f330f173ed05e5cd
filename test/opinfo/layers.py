"""The cases of PyTorch's module_db: layers of dlc, with weights, against those of torch.nn in
double precision."""
import copy

import torch

from case import Case, NAMES, Skipped
from expected import results_of
from samples import seed
from spelling import Speller


class Sample:
    """The inputs of a layer, as results_of takes them."""

    def __init__(self, arguments, named):
        self.input, self.args, self.kwargs = arguments[0], arguments[1:], named


def constructed(info, given):
    """The layer in inference mode, with weights and statistics that tell what reads them."""
    layer = info.module_cls(*given.args, **given.kwargs).eval()
    for parameter in layer.parameters():
        if parameter.dim() == 1:
            parameter.data.uniform_(0.1, 0.9)
    for buffer in layer.buffers():
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 1.5)
    return layer


def case_of(info, sample, name):
    given, forward = sample.constructor_input, sample.forward_input
    speller, inputs = Speller(), Speller()
    named = {key: value for key, value in given.kwargs.items() if key != "dtype"}
    member = f"{name.split('.')[-1]}({speller.arguments(given.args, named)})"
    if speller.inputs:
        raise Skipped("tensors as arguments of a layer")
    # The input may be named, too.
    positional = [*forward.args] or [
        forward.kwargs[given] for given in ("query", "src", "input") if given in forward.kwargs
    ]
    named = {
        key: value for key, value in forward.kwargs.items()
        if all(value is not one for one in positional)
    }
    call = f"@layer({inputs.arguments(positional, named)})"
    layer = constructed(info, given)
    wide = copy.deepcopy(layer).double()

    def function(x, *rest, **named):
        module = wide if torch.get_default_dtype() == torch.float64 else layer
        with torch.no_grad():
            return module(x, *rest, **named)
    case = Case(
        name, "layer", "f32", call, inputs.inputs, member=member, weights={
            key: value.numpy() for key, value in layer.state_dict().items()
            if value.dim() or value.is_floating_point()
        })
    terms = 16 + 2 * sum(x.numel() for x in inputs.inputs) // max(
        1, inputs.inputs[0].shape[0] if inputs.inputs[0].dim() else 1)
    case.results, case.is_tuple = results_of(function, Sample(positional, named), "f32", name,
                                             terms)
    return case


def cases_of(info, seed_number, leave_out):
    name = info.name
    seed(name, seed_number)
    try:
        found = info.module_inputs_func(info, device="cpu", dtype=torch.float32,
                                        requires_grad=False, training=False)
    except Exception as error:
        leave_out(f"layers whose inputs PyTorch does not make ({type(error).__name__})")
        return []
    cases = []
    for sample in found:
        try:
            cases.append(case_of(info, sample, name))
        except Skipped as skipped:
            leave_out(f"layers with {skipped}")
    return cases
