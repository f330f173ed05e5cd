"""What computes the rows: the reference interpreter, and what dlc compiles for the CPU and for
CUDA."""
import atexit
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import accuracy as acc
from execute import DTYPES
from modules import for_targets, from_bytes, to_bytes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
TIMEOUT = 900


class Failure(Exception):
    """A row could not be computed."""


class Missing(Exception):
    """The build does not have this voice."""


def built(*path):
    found = os.path.join(BUILD, *path)
    if not os.path.exists(found):
        raise Missing(f"{os.path.relpath(found, BUILD)} was not built")
    return found


def execute(command, **environment):
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace",
                             timeout=TIMEOUT, env={**os.environ, **environment})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{os.path.basename(command[0])}: {error}") from None
    if run.returncode:
        said = " ".join((run.stderr + run.stdout).split())
        raise Failure(f"{os.path.basename(command[0])} ended with {run.returncode}: {said[:400]}")


def slices(data, cases, sizes, width):
    """The bytes of each result, by case and then by N; `width` of a dtype."""
    results, offset = [[] for _ in cases], 0
    for n in sizes:
        for case, collected in zip(cases, results):
            dims = case.dims(case.row.result, n)
            size = int(np.prod(dims, dtype=np.int64)) * width(case.result_dtype)
            collected.append((data[offset:offset + size], dims))
            offset += size
    if offset != len(data):
        raise Failure(f"{len(data)} bytes of results, expected {offset}")
    return results


class Reference:
    """The interpreter (Reference.cpp), floats unrounded."""
    turns = 2

    def __init__(self):
        self.program = built("bin", "numeric", "numeric-reference")

    def run(self, module, cases, sizes):
        with tempfile.TemporaryDirectory() as folder:
            paths = [
                os.path.join(folder, name)
                for name in ("module.mlir", "symbols", "inputs", "outputs")
            ]
            with open(paths[0], "w") as file:
                file.write(module)
            with open(paths[1], "w") as file:
                file.writelines(f"{n}\n" for n in sizes)
            write_inputs(paths[2], cases, sizes)
            execute([self.program, *paths])
            with open(paths[3], "rb") as file:
                data = file.read()
        kind = {dtype: "f64" if acc.is_float(dtype) else "i64" for dtype in acc.TORCH}
        return [[from_bytes(piece, kind[case.result_dtype], dims) for piece, dims in pieces]
                for case, pieces in zip(cases, slices(data, cases, sizes, lambda dtype: 8))]


def write_inputs(path, cases, sizes):
    with open(path, "wb") as file:
        for n in sizes:
            for case in cases:
                file.writelines(
                    to_bytes(x, dtype) for x, (dtype, _) in zip(case.inputs(n), case.kinds))


class Compiled:
    """`dlc compile`, then the runtime library. Voices share what they compile."""
    device, target, environment = "cpu", "cpu", {}
    flags = []
    # To compile, where it is another one than that of the other voices of the target and flags
    way = ""
    packages = {}
    folder = None

    def __init__(self):
        self.dlc = os.environ.get("DLC_TOOL") or built("bin", "dlc")
        self.library = built("lib", "libdlc_runtime.so")
        if not Compiled.folder:
            Compiled.folder = tempfile.mkdtemp()
            atexit.register(shutil.rmtree, Compiled.folder, ignore_errors=True)

    def prepared(self, source, phase):
        """The arguments of `dlc compile` that say what it starts from."""
        return [source, "--compile-from=" + phase]

    def package(self, module, phase):
        key = "".join([self.way, self.target, *self.flags, phase]) + hashlib.sha256(
            module.encode()).hexdigest()
        path = os.path.join(Compiled.folder, key + ".bin")
        if key not in Compiled.packages:
            source = path.replace(".bin", ".mlir")
            with open(source, "w") as file:
                file.write(for_targets(module, phase))
            try:
                execute([
                    self.dlc, "compile", *self.prepared(source, phase), "--target", self.target,
                    *self.flags, "-q", "-o", path
                ])
                Compiled.packages[key] = None
            except Failure as failure:
                Compiled.packages[key] = failure
        if Compiled.packages[key]:
            raise Compiled.packages[key]
        return path

    def run(self, module, cases, sizes):
        package = self.package(module, cases[0].row.phase)
        with tempfile.TemporaryDirectory() as folder:
            plan, inputs, outputs = (os.path.join(folder, name)
                                     for name in ("plan", "inputs", "outputs"))
            with open(plan, "w") as file:
                json.dump([[[(dtype, case.dims(shape, n)) for case in cases
                             for shape, (dtype, _) in zip(case.row.inputs, case.kinds)],
                            [(case.result_dtype, case.dims(case.row.result, n)) for case in cases]]
                           for n in sizes], file)
            write_inputs(inputs, cases, sizes)
            execute([
                sys.executable,
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "execute.py"),
                self.library, package, self.device, plan, inputs, outputs
            ], **self.environment)
            with open(outputs, "rb") as file:
                data = file.read()
        width = {dtype: size for dtype, (_, size) in DTYPES.items()}
        return [[from_bytes(piece, case.result_dtype, dims) for piece, dims in pieces]
                for case, pieces in zip(cases, slices(data, cases, sizes, width.get))]


class Cpu(Compiled):
    """The CPU's best instruction set, in checked mode."""


class CpuSeparate(Cpu):
    """The same of what has not been optimised: composed ops replaced by those that define them, and
    a kernel for each op."""
    way = "separate"
    pipeline = ("builtin.module(func.func(decompose-ops),split-targets{targets=cpu},"
                "builtin.module(func.func(decompose-attention,form-fusions{separate})))")

    def __init__(self):
        super().__init__()
        self.dlc_opt = built("bin", "dlc-opt")

    @staticmethod
    def takes(case):
        """Not what holds of ops that passes raise: here they may stay apart."""
        return not getattr(case.row.bound, "is_raised", False)

    def prepared(self, source, phase):
        assert phase == "import", "the passes of the phases before that of fusions are left out"
        with open(source) as file:
            pipeline = self.pipeline_of(file.read())
        fused = source.replace(".mlir", f".{self.way}.mlir")
        execute([self.dlc_opt, source, "-pass-pipeline=" + pipeline, "-o", fused])
        return [fused, "--compile-from=fuse"]

    def pipeline_of(self, module):
        return self.pipeline


class CpuShuffled(CpuSeparate):
    """The same optimised, the passes of simplify in an order of the module's own, some of them
    several times and some not at all."""
    way = "shuffled"
    passes = ("canonicalize", "cse", "simplify-algebra", "fold-constants", "fold-batch-norm",
              "hoist-slices", "move-views", "raise-norms", "raise-activations",
              "raise-integer-products", "raise-rotary", "raise-attention", "fold-scales",
              "mark-gated-mlp")
    count = 20

    def pipeline_of(self, module):
        order = random.Random(module)
        simplify = ",".join(order.choice(self.passes) for _ in range(self.count))
        layout = order.choice(("assign-layouts,sink-permutations,", ""))
        return (f"builtin.module(func.func(decompose-ops,{simplify}),split-targets{{targets=cpu}},"
                f"builtin.module(func.func({layout}decompose-attention,form-fusions)))")


class CpuAvx2(Compiled):
    """The variant for processors without AVX-512."""
    turns = 3
    environment = {"DLC_CPU_ISA": "avx2"}


class Cuda(Compiled):
    """CUDA kernels on the emulator."""
    turns = 3
    device = target = "cuda"

    def __init__(self):
        super().__init__()
        self.environment = {"DLC_LIBCUDA": built("lib", "libdlc_cuda_emu.so"),
                            "DLC_LIBNVRTC": built("lib", "libdlc_nvrtc_emu.so")}


class CudaTf32(Cuda):
    """The same with products of f32 in tf32: the rows of f32 alone that bound a sum of products,
    and their whole numbers."""
    flags = ["--precision", "tf32"]

    @staticmethod
    def takes(case):
        return case.dtype == "f32" and (hasattr(case.row.bound, "magnitude") or hasattr(
            case.row.bound, "in_tf32") or case.row.bound is None and case.row.values == "whole")

    @staticmethod
    def bound(bound):
        return getattr(bound, "in_tf32", None) or (acc.in_tf32(bound) if bound else bound)


class CudaSmall(Cuda):
    """The same on a small GPU: three multiprocessors of 99 KiB, where recurrences keep some of
    their weights and stream the others."""

    def __init__(self):
        super().__init__()
        self.environment = {
            **self.environment, "DLC_EMU_ARCH": "120", "DLC_EMU_MULTIPROCESSORS": "3"
        }

    @staticmethod
    def takes(case):
        return "shared units" in case.row.name


def checked(base, policy):
    """`base` with the emulator's checker for races and stray accesses, under one order of threads,
    blocks and copies."""
    class Checked(base):
        def __init__(self):
            super().__init__()
            self.environment = {**self.environment, "DLC_EMU_CHECK": "1", "DLC_EMU_POLICY": policy}
    return Checked


VOICES = {
    "reference": Reference, "cpu": Cpu, "cpu-avx2": CpuAvx2, "cuda": Cuda, "cuda-tf32": CudaTf32,
    "cuda-small": CudaSmall
}
# Beside them, where somebody asks: some minutes for each.
CHECKED = {
    f"{name}-{policy.split(':')[0]}": checked(VOICES[name], policy)
    for name in ("cuda", "cuda-tf32", "cuda-small") for policy in ("order", "reverse", "random:7")
}
