"""Models that are loaded and run."""
from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._runtime import Package, Session
from .errors import Code, Error

_CUBLAS = {"auto": 0, "never": 1, "always": 2}  # ORDER dlc_cublas


def _stream(stream: int | None) -> int:
    """0 where the model shall have a stream of its own. Frameworks call CUDA's default stream 0,
    its driver too calls it 1."""
    return 0 if stream is None else stream or 1


class Value(NamedTuple):
    """An input, output or state of a model."""

    name: str
    dtype: str  #: of dlc: "f32", "bf16", "i64", "bool"
    shape: tuple[int | str, ...]  #: a number, or the name of a dim that runs choose: "N", "2*N"
    min_shape: tuple[int, ...]  #: the smallest that each dim may be
    max_shape: tuple[int, ...]  #: the largest

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{','.join(map(str, self.shape))}]"


class KernelTime(NamedTuple):
    """A command of the last run."""

    kernel: str  #: its name, or "copy"
    kind: str  #: as `dlc inspect` shows it; "copy"; "cublasLt" where that computed it
    microseconds: float
    flops: int  #: of this run's shapes
    bytes: int
    start_microseconds: float  #: from the begin of the first


class Model:
    """A compiled model on a device. `dlc.load` and `dlc.compile` make it.

    Called like a function with arrays of NumPy, PyTorch, JAX or anything with DLPack, it gives new
    arrays of the same kind on the same device; the model reads and writes them where they lie.
    Several threads may call it: their runs come one after another, without the GIL. `clone` makes
    another one for runs side by side."""

    def __init__(self, package: Package, options: dict[str, Any]) -> None:
        self._package, self._options = package, options
        self._session = Session(package, **options)
        self.inputs: tuple[Value, ...] = tuple(Value(*port) for port in package.inputs)
        self.outputs: tuple[Value, ...] = tuple(Value(*port) for port in package.outputs)
        #: what the model keeps from run to run
        self.states: tuple[Value, ...] = tuple(Value(*port) for port in package.states)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs the model on its inputs, in their order or by their names. One output is returned as
        it is, several as a tuple."""
        return self._session.call(inputs, named)

    def run(self, inputs: Mapping[str, Any],
            outputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs the model on arrays by name and returns the results by name. `outputs` are
        contiguous arrays by name that results are written into; those that it lacks are new."""
        return self._session.run(dict(inputs), None if outputs is None else dict(outputs))

    def prepare(self,
                shapes: Mapping[str, Sequence[int]] | None = None) -> dict[str, tuple[int, ...]]:
        """Places the memory for runs with inputs of these shapes, by name, so that the first run
        does not; the shapes of the outputs. An input of fixed shape may be left out. Where the data
        say how large an output is, its shape is the largest possible; a dim that only the run tells
        is -1."""
        given = dict(shapes or {})
        found = []
        for value in self.inputs:
            shape = given.pop(value.name, value.shape)
            if any(isinstance(dim, str) for dim in shape):
                raise Error(f"expected a shape for input '{value.name}', {value}", Code.USAGE)
            found.append([operator.index(dim) for dim in shape])
        if given:
            names = ", ".join(value.name for value in self.inputs)
            raise Error(f"the model has no input '{next(iter(given))}'; it has {names}", Code.USAGE)
        return {
            value.name: shape for value, shape in zip(self.outputs, self._session.prepare(found))
        }

    def state(self, name: str) -> Any:
        """A NumPy array with what a state holds: what the last run has left there, zeros before the
        first."""
        for index, value in enumerate(self.states):
            if value.name == name:
                return self._session.read_state(index)
        raise Error(
            f"the model has no state '{name}'; it has {', '.join(value.name for value in self.states) or 'none'}",
            Code.USAGE)

    def set_state(self, name: str, array: Any) -> None:
        """The array, in host memory, of the state's dtype and dims, is what the state holds in the
        next run."""
        for index, value in enumerate(self.states):
            if value.name == name:
                return self._session.write_state(index, array)
        raise Error(
            f"the model has no state '{name}'; it has {', '.join(value.name for value in self.states) or 'none'}",
            Code.USAGE)

    def manual_seed(self, seed: int) -> None:
        """The random numbers of the next call are the first that follow from the seed; those of
        later calls follow on them. Without it, and after a reset, the seed is 0."""
        seed = operator.index(seed) % 2**64
        self._session.seed(seed - 2**64 if seed >= 2**63 else seed)

    def reset(self) -> None:
        """All states are zero in the next run, as in the first."""
        self._session.reset()

    @property
    def cache_capacity(self) -> int:
        """Positions that the caches among the states hold; 0 of a model whose runs add no positions
        to one."""
        return self._package.cache_capacity

    @property
    def cache_length(self) -> int:
        """Positions of the caches that runs have taken since the last reset. A run that has no room
        is refused."""
        return self._session.cache_length()

    def stream(
        self,
        prompt: Any,
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        stop: Iterable[int] | int | None = None,
        tokenizer: Any = None,
    ) -> Iterator[Any]:
        """The tokens that follow a prompt, one after another as they are made; pieces of text where
        there is a tokenizer.

        prompt       the numbers of its tokens, or a text
        max_tokens   so many at most; None: as many as the model's cache holds
        temperature  0: always the likeliest token; larger: drawn, flatter for larger numbers
        top_k        draw among so many of the likeliest tokens, and those as likely as the last of
                     them; 0: all
        top_p        draw among the fewest of the likeliest that have this probability together
        seed         equal seeds draw equal tokens
        stop         a token, or several, that end the text; they are not given. None: the special
                     tokens of a tokenizer.json whose names say that they end texts, such as </s>
        tokenizer    the path of a tokenizer.json, which the package tokenizers reads, or an object
                     that encodes and decodes

        The states are reset first. The model needs a cache that counts its positions
        (cache_capacity)."""
        from .generation import stream
        return stream(self, prompt, max_tokens, temperature, top_k, top_p, seed, stop, tokenizer)

    def generate(self, prompt: Any, **options: Any) -> Any:
        """All tokens that follow a prompt, a list of their numbers, or a text where there is a
        tokenizer. The options are those of `stream`."""
        made = list(self.stream(prompt, **options))
        return made if options.get("tokenizer") is None else "".join(made)

    def clone(self) -> Model:
        """The same model with states and memory of its own, and with the same weights: for another
        thread."""
        return Model(self._package, self._options)

    def close(self) -> None:
        """Frees the model's memory now. It cannot run any more."""
        self._session.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def device(self) -> str:
        """Where it runs: "cpu (avx512, 2 threads)", or the GPU's name."""
        return self._session.device()

    @property
    def remarks(self) -> list[str]:
        """What came to pass otherwise than one may expect: why "auto" did not take CUDA, why
        kernels are not kept."""
        return self._session.remarks().splitlines()

    @property
    def precision(self) -> str:
        """"f16" or "bf16" where values of f32 may be stored in it between layers, else "f32"."""
        return self._package.precision

    def profile(self) -> list[KernelTime]:
        """The commands of the last run, in order. Needs a model loaded with `profile=True`."""
        return [KernelTime(*entry) for entry in self._session.profile()]

    def device_time(self) -> float:
        """Microseconds that the GPU needed for the last run, without copies. Needs
        `time_device=True` or `profile=True`."""
        return self._session.device_time()

    def memory(self) -> dict[str, int]:
        """Bytes by their use: weights, persistent, arena, scratch, states. For the shapes of the
        last run or `prepare`."""
        return self._session.memory()

    def __repr__(self) -> str:
        return f"<dlc.Model ({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    device: str = "auto",
    threads: int = 0,
    stream: int | None = None,
    profile: bool = False,
    time_device: bool = False,
    no_jit: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], object] | None = None,
    no_graph: bool = False,
    no_overlap: bool = False,
    cublas: str = "auto",
    timeout_ms: int = 0,
    checked: bool = False,
    verify_all: bool = False,
) -> Model:
    """Loads a model.bin, a file or its bytes, onto a device.

    device       "cpu", "cuda", "cuda:1", or "auto": cuda where it is usable
    threads      of the CPU; 0: one for each core that this process may use
    stream       CUDA: the stream to work in, as in torch.cuda.current_stream().cuda_stream; it must
                 outlive the model. Without it the model has one of its own, and waits for PyTorch's
                 before it reads a tensor in GPU memory
    profile      keep the time of each command of the last run (Model.profile)
    time_device  CUDA: measure each run on the GPU (Model.device_time)
    no_jit       CUDA: take the package's compiled kernels; fail where it has none for the GPU
    cache_dir    CUDA: the folder of compiled kernels; "": none; None: DLC_CACHE_DIR, or dlc/kernels
                 in the user's cache
    progress     CUDA: called with how many of the kernels to compile are done, and how many there
                 are
    no_graph     CUDA: launch kernel by kernel, not by a CUDA graph
    no_overlap   CUDA: no kernel begins before the one before it has ended
    cublas       CUDA: "auto", "never" or "always": which products cuBLASLt computes, where it is
                 installed
    timeout_ms   a run that takes longer fails; 0: as long as it takes
    checked      CPU: each buffer between guard pages, filled with NaN before use; for tests, slow
    verify_all   check the hash of all of the file, not only of its parts up to 64 MiB"""
    if cublas not in _CUBLAS:
        raise Error(f"unknown use of cuBLASLt '{cublas}'; expected auto, never or always",
                    Code.USAGE)
    options = {
        "device": device,
        "threads": threads,
        "checked": checked,
        "profile": profile,
        "no_jit": no_jit,
        "cache_dir": None if cache_dir is None else os.fspath(cache_dir),
        "progress": progress,
        "no_graph": no_graph,
        "stream": _stream(stream),
        "time_device": time_device,
        "cublas": _CUBLAS[cublas],
        "timeout_ms": timeout_ms,
        "no_overlap": no_overlap,
    }
    if isinstance(source, bytes):
        package = Package.load_memory(source, verify_all)
    else:
        package = Package.load(os.fspath(source), verify_all)
    return Model(package, options)
