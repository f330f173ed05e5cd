"""Compiles what the NVRTC check reads: every network that the repository holds, in f32, tf32, f16
and bf16, and the numeric rows, many in a module, as the emulator runs them."""
import collections
import concurrent.futures
import os
import sys
import tempfile

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in ("conformance", "numeric"):
    sys.path.insert(0, os.path.join(TEST, folder))
import networks  # noqa: E402
from cases import Failure  # noqa: E402
from dlc_tool import dlc  # noqa: E402
from modules import Case, for_targets, module_text  # noqa: E402
from rows import ROWS  # noqa: E402

# The dtype that the text says, and flags.
PRECISIONS = {
    "f32": ("f32", []), "tf32": ("f32", ["--precision", "tf32"]), "f16": ("f16", []),
    "bf16": ("bf16", [])
}
# Rows of one module; a compile each.
CHUNK = 24


def network_jobs():
    """(network, precision) to compile."""
    return [(network, precision) for network in networks.NETWORKS.values()
            for precision in PRECISIONS]


def compile_network(network, precision, folder):
    """The path of model.bin."""
    dtype, flags = PRECISIONS[precision]
    out = os.path.join(folder, f"{network.name}-{precision}.bin")
    # The same network in tf32 and in f32 has one text and is compiled at the same time: each job
    # writes a text of its own.
    with tempfile.TemporaryDirectory(dir=folder) as texts:
        model = networks.write(network, texts, dtype, network.shortened)
        weights = networks.save_weights(model, os.path.join(texts, "weights.safetensors"))
        dlc("compile", model, "--weights", weights, "--target", "cuda", *flags, "-q", "-o", out)
    return out


def numeric_modules():
    """(module text, phase, first case) of the rows, by CHUNK."""
    groups = collections.defaultdict(list)
    for row in ROWS:
        groups[row.phase, tuple(row.sizes)] += [Case(row, dtype) for dtype in row.dtypes]
    for (phase, sizes), members in groups.items():
        for start in range(0, len(members), CHUNK):
            piece = members[start:start + CHUNK]
            yield for_targets(module_text(piece, sizes), phase), phase, piece[0].name


def compile_module(text, phase, number, folder, flags):
    # The same rows in another precision are compiled at the same time: each job has a file of its
    # own.
    source = os.path.join(folder, f"rows{number}{'-'.join(['', *flags[1:]])}.mlir")
    out = source.replace(".mlir", ".bin")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    dlc("compile", source, "--compile-from=" + phase, "--target", "cuda", *flags, "-q", "-o", out)
    return out


def row_jobs(folder):
    """(name, function, arguments) that compile the numeric rows into `folder`."""
    for number, (text, phase, name) in enumerate(numeric_modules()):
        yield f"rows from '{name}' on", compile_module, (text, phase, number, folder, [])
        # A later phase no longer chooses it.
        if phase == "import" and any(f"dl.{op}" in text for op in ("matmul", "conv", "linear")):
            yield (f"rows from '{name}' on, in tf32", compile_module, (text, phase, number, folder,
                                                                       ["--precision", "tf32"]))


def run_all(work, jobs):
    """(paths, sentences about what did not compile)."""
    paths, problems = [], []

    def run(entry):
        name, function, arguments = entry
        try:
            return function(*arguments), None
        except Failure as failure:
            return None, f"{name}: {failure}"

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, problem in pool.map(run, work):
            paths += [path] if path else []
            problems += [problem] if problem else []
    return paths, problems


def build_rows(folder, jobs):
    """Compiles the numeric rows into `folder`; as run_all."""
    return run_all(list(row_jobs(folder)), jobs)


def build(folder, jobs):
    """Compiles everything into `folder`; as run_all."""
    return run_all([(f"{network.name} in {precision}", compile_network,
                     (network, precision, folder))
                    for network, precision in network_jobs()] + list(row_jobs(folder)), jobs)
