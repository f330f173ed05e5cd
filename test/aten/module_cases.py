"""Modules that dlc compiles in both ways, against eager PyTorch."""

import os
import sys
import tempfile
import warnings

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TEST, "conformance"))
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import dlc  # noqa: E402
from cases import Cases, Failure  # noqa: E402
from dlc_tool import run_model  # noqa: E402

BOUND = 1e-5  # of the largest element: both compute in f32, in another order
#: The same for dtypes that round more or less.
BOUNDS = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float64: 1e-9}


def compare(got, wanted, title, each=False):
    """Fails if trees of results differ. The bound is relative to the largest element of a tensor,
    or to each element and 1 if `each`."""
    got, wanted = pytree.tree_leaves(got), pytree.tree_leaves(wanted)
    if len(got) != len(wanted):
        raise Failure(f"{title}: {len(got)} results, PyTorch gives {len(wanted)}")
    for ours, theirs in zip(got, wanted):
        if isinstance(theirs, (torch.Tensor, int, float)):
            _compare_tensors(torch.as_tensor(ours), torch.as_tensor(theirs), title, each)
        elif type(ours) is not type(theirs) or ours != theirs:
            raise Failure(f"{title}: {ours!r}, PyTorch gives {theirs!r}")


def _compare_tensors(ours, theirs, title, each):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        found = f"{ours.dtype}{list(ours.shape)}"
        raise Failure(f"{title}: {found}, PyTorch gives {theirs.dtype}{list(theirs.shape)}")
    if not theirs.numel():
        return
    if theirs.is_complex():
        ours, theirs = torch.view_as_real(ours.resolve_conj()), torch.view_as_real(
            theirs.resolve_conj()
        )
    if theirs.is_floating_point():
        far = (ours.double() - theirs.double()).abs()
        size = theirs.double().abs().nan_to_num(0.0, 0.0, 0.0)
    else:
        far, size = (ours != theirs).double(), torch.ones(theirs.shape)
    same = torch.isnan(ours) & torch.isnan(theirs) | (ours == theirs)
    most = (size if each else size.max()).clamp(min=1.0)
    far = torch.where(same, 0.0, far / most).max().item()
    if not far <= BOUNDS.get(theirs.dtype, BOUND):
        raise Failure(f"{title}: {far:.1e} of {size.max().item():.1e} off PyTorch's")


class Of(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Of2(Of):
    def forward(self, x, y):
        return self.function(x, y)


class Checks(Cases):
    """Counts checks; `chosen`: parts of the names of those that run, or none for all."""

    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen

    def runs(self, name):
        return not self.chosen or any(part in name for part in self.chosen)

    def both(self, name, module, calls, dynamic=None, emulated=True):
        """Through torch.export and as the backend of torch.compile. `calls`: arguments of calls,
        the first of which is the example."""
        self.exported(name, module, calls, dynamic, emulated)
        self.compiled(name, module, calls)

    def exported(self, name, module, calls, dynamic=None, emulated=True):
        """dlc.compile, on the CPU and, through the tool, on the emulated GPU."""
        name += ", exported"
        if not self.runs(name):
            return
        module = module.eval()
        with self.case(name), tempfile.TemporaryDirectory() as folder, torch.no_grad():
            package = os.path.join(folder, "model.bin")
            targets = "cpu,cuda" if emulated else "cpu"
            options = {"output": package, "device": "cpu", "target": targets}
            model = dlc.compile(module, example=calls[0], dynamic=dynamic, **options)
            for inputs in calls:
                title = " and ".join(str(list(torch.as_tensor(x).shape)) for x in inputs)
                wanted = module(*inputs)
                compare(model(*inputs), wanted, title)
                if emulated:
                    self._emulated(model, package, inputs, wanted, title)

    @staticmethod
    def _emulated(model, package, inputs, wanted, title):
        names = [value.name for value in model.inputs]
        tensors = [x.numpy() for x in inputs if isinstance(x, torch.Tensor)]
        outputs = [value.name for value in model.outputs]
        found = run_model(package, dict(zip(names, tensors)), outputs, "--device", "cuda-emu")
        wanted = [x for x in pytree.tree_leaves(wanted) if isinstance(x, torch.Tensor)]
        compare([torch.from_numpy(x) for x in found], wanted, f"cuda-emu, {title}")

    def compiled(self, name, function, calls, eager=None, dynamic=True):
        """torch.compile; `eager`: a part of the warning of what stays in eager PyTorch, or None."""
        name += ", torch.compile"
        if not self.runs(name):
            return
        from dlc.torch_backend import backend

        torch._dynamo.reset()
        with self.case(name), torch.no_grad(), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = torch.compile(function, backend=backend, dynamic=dynamic)
            for inputs in calls:
                title = " and ".join(str(list(torch.as_tensor(x).shape)) for x in inputs)
                compare(made(*inputs), function(*inputs), title)
            said = [str(one.message) for one in found if one.category is dlc.CompileWarning]
            if eager is None and said:
                raise Failure(f"eager PyTorch has a part: {said[0]}")
            if eager is not None and not any(eager in text for text in said):
                raise Failure(f"no warning says '{eager}', but: {said}")

    def refused(self, name, module, inputs, why, dynamic=None):
        """dlc.compile refuses a module, in a message that says `why`."""
        if not self.runs(name):
            return
        with self.case(name):
            try:
                dlc.compile(module.eval(), example=inputs, dynamic=dynamic, device="cpu")
            except dlc.Error as error:
                if why not in str(error):
                    raise Failure(f"the message is: {error}") from None
            else:
                raise Failure("it compiles")
