"""The backend "dlc" of torch.compile, for inference: torch.compile(model, backend="dlc").

TorchDynamo splits the model into graphs and runs what lies between them itself. AOTAutograd
makes each graph functional and keeps what changes or returns its inputs outside of it. The graph
is compiled once for all sizes that Dynamo leaves open. Ops that dlc does not take run in eager
PyTorch, the rest around them by dlc, and a dlc.CompileWarning names them. A graph that records
gradients runs in eager PyTorch as a whole."""

from __future__ import annotations

import collections
import hashlib
import os
import tempfile
import warnings

import torch

from . import compiler
from .aten import weights as weight_files
from .aten.backend import Pieces, static_positions
from .aten.effects import without_checks
from .aten.export import decompositions_of_aot
from .aten.failure import ExportFailure
from .aten.pairs import as_pairs
from .errors import CompileWarning, Error
from .model import load

#: Versions of its weights that a piece keeps compiled.
KEPT = 4
#: Changes of a weight for which a piece is compiled again.
COMPILED_CHANGES = 1


def _warn(why):
    warnings.warn(f"eager PyTorch runs {why}", CompileWarning, stacklevel=2)


class _Watch:
    """Whether tensors are as they were: their place and version, and of those on the CPU the bytes
    of some elements, for PyTorch does not count what changes through `.data` or NumPy."""

    #: A tensor of more bytes is compared at so many elements.
    WHOLE, SAMPLED = 1 << 14, 32

    def __init__(self, tensors):
        self.state = [(tensor.data_ptr(), self._version(tensor)) for tensor in tensors]
        self.samples = [self._sample(tensor) for tensor in tensors]
        self.bytes = [None if sample is None else sample.tobytes() for sample in self.samples]

    @staticmethod
    def _version(tensor):
        return None if tensor.is_inference() else tensor._version

    def _sample(self, tensor):
        if tensor.device.type != "cpu" or not tensor.is_contiguous() or not tensor.numel():
            return None
        words = tensor.detach().reshape(-1).view(torch.uint8).numpy()
        return words if words.nbytes <= self.WHOLE else words[:: words.nbytes // self.SAMPLED | 1]

    def changed(self, tensors):
        """The positions of tensors that are not as they were."""
        return [
            position
            for position, (state, sample, held, tensor) in enumerate(
                zip(self.state, self.samples, self.bytes, tensors)
            )
            if state != (tensor.data_ptr(), self._version(tensor))
            or (sample is not None and sample.tobytes() != held)
        ]

    def is_same(self, tensors):
        return not self.changed(tensors)


class _Piece(torch.nn.Module):
    """A functional graph that dlc compiles when it is called first, and again when a weight has
    changed. Weights that change more often become inputs of the model: each call passes them, and
    nothing is compiled for them any more."""

    def __init__(self, source, options):
        super().__init__()
        self.source, self.options = source, options
        self.compiled = []  # (watch, model), the newest last
        self.changes = collections.Counter()  # of each weight, by its position

    def _pass_changing(self, held):
        """Counts the weights that have changed, and makes inputs of those that change again."""
        if not self.compiled:
            return
        weights = [self.source.weights[i] for i in self.compiled[-1][0].changed(held)]
        self.changes.update(weights)
        passed = [weight for weight in weights if self.changes[weight] > COMPILED_CHANGES]
        if passed:
            self.source = self.source.passing(passed)
            self.compiled = []

    def _model(self, arguments):
        """The model of the weights as they are, and what it is called with; the graph itself in
        place of the model where dlc does not take it."""
        held = [arguments[position] for position in self.source.weights]
        made = next((made for watch, made in reversed(self.compiled) if watch.is_same(held)), None)
        if made is None:
            self._pass_changing(held)
            held = [arguments[position] for position in self.source.weights]
        given = [self._input(arguments[position]) for position in self.source.inputs]
        return self._made(held, given) if made is None else made, given

    @staticmethod
    def _input(value):
        if not isinstance(value, torch.Tensor):
            return torch.tensor(value)
        return as_pairs(value.detach()).contiguous()

    def _made(self, held, given):
        on_gpu = next((value.device for value in given if value.is_cuda), None)
        device = f"cuda:{on_gpu.index or 0}" if on_gpu else "cpu"
        watch = _Watch(held)
        try:
            made = _compiled(self.source.program(held), {"device": device, **self.options})
        except (Error, ExportFailure) as error:
            _warn(f"a graph: {error}")
            made = self.source.graph
        self.compiled = [*self.compiled[1 - KEPT :], (watch, made)]
        return made

    def forward(self, *arguments):
        if not self.source.made:
            return self.source.results(arguments, ())
        made, given = self._model(arguments)
        if made is self.source.graph:
            return made(*arguments)
        try:
            found = made(*given)
        except Error as error:
            _warn(f"a graph with sizes that dlc does not take: {error}")
            return self.source.graph(*arguments)
        return self.source.results(arguments, found if isinstance(found, tuple) else (found,))


def _cache_folder():
    """Where compiled graphs are kept from process to process; None where DLC_TORCH_CACHE is empty.
    """
    folder = os.environ.get(
        "DLC_TORCH_CACHE",
        os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dlc", "torch"
        ),
    )
    return folder or None


def _key(text, tensors, options):
    """Of the text, the weights, the options and the compiler."""
    tool = os.stat(compiler.find_tool())
    found = hashlib.blake2b(
        f"{text}\n{sorted(options.items())}\n{tool.st_size} {tool.st_mtime_ns}".encode(),
        digest_size=20,
    )
    for name, tensor in tensors.items():
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        if flat.numel():
            found.update(memoryview(flat.view(torch.uint8).numpy()))
    return found.hexdigest()


def _compiled(program, options):
    """The model of a program's text and weights, from the cache of compiled graphs where it is
    there."""
    text, cache = program.text(), _cache_folder()
    kept = cache and os.path.join(cache, _key(text, program.weights, options) + ".bin")
    if kept and os.path.exists(kept):
        return load(kept, device=options["device"])
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        path = os.path.join(folder, "graph.dl")
        if program.weights:
            weight_files.write(os.path.join(folder, "graph.safetensors"), program.weights)
            text += 'weights "graph.safetensors"\n'
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        made = os.path.join(folder, "graph.bin")
        model = compiler.compile(path, output=made, **options)
        if kept:
            _keep(made, kept)
        return model


def _keep(made, kept):
    """Moves a package into the cache; whatever fails there costs only the next process its time."""
    try:
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        partial = f"{kept}.{os.getpid()}"
        with open(made, "rb") as package, open(partial, "wb") as out:
            out.write(package.read())
        os.replace(partial, kept)
    except OSError:
        pass


class _Graph:
    """A graph of TorchDynamo's. `models`: for each piece whether dlc runs it."""

    def __init__(self, graph, example_inputs, options):
        from torch._functorch.aot_autograd import aot_module_simplified

        self.options, self.models = options, {}
        if torch.is_grad_enabled() and any(
            tensor.requires_grad
            for tensor in (*graph.parameters(), *graph.buffers(), *example_inputs)
            if isinstance(tensor, torch.Tensor)
        ):
            _warn(
                "a graph: it records gradients, which dlc does not compute; call the model under torch.no_grad()"
            )
            self.models["graph"] = None
            self.function = graph
        else:
            self.function = aot_module_simplified(
                graph,
                example_inputs,
                fw_compiler=self._compile,
                decompositions=decompositions_of_aot(),
            )

    def _compile(self, graph, example_inputs):
        """What AOTAutograd calls with the functional graph."""
        static = static_positions(graph)
        try:
            pieces = Pieces(without_checks(graph), static, lambda source: self._try(source))
        except ExportFailure as failure:
            _warn(f"a graph: {failure}")
            self.models["eager"] = None
            return graph
        for why in pieces.reasons:
            _warn(why)
        self.models.update({name: piece for name, piece in pieces.made.items()})
        if pieces.reasons or not pieces.made:
            self.models["eager"] = None
        return pieces.function

    def _try(self, source):
        return _Piece(source, self.options)

    def __call__(self, *arguments):
        return self.function(*arguments)


def backend(graph, example_inputs, *, options=None):
    """What torch.compile calls for each graph. `options` are keywords of dlc.compile:
    torch.compile(model, backend=backend, options={"precision": "f16"})."""
    return _Graph(graph, example_inputs, dict(options or {}))
