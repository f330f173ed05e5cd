#!/usr/bin/env python3
"""How far each op of the op table is from what this processor could do, on the CPU target:
op_roofline.py [--op NAME]... [--rounds N]

The bound is max(bytes / bandwidth, FLOPs / peak): each input read once, each result written once,
and the arithmetic that the op cannot do without, whatever our code does. The bandwidth is the
memory's, of a copy that no cache holds, the peak that of multiply-adds in registers, both measured
in this run, in this process, between the ops and with as many threads. Most rows do fit a cache:
beside the factor to the bound stands the one to a stricter bound, with the bandwidth of a copy
within as much memory as the row takes. Every time is the least of many, since other programs may
use the processor too; the median stands beside it. A result that PyTorch does not confirm is not
timed. Prints a row for each op, then those slower than 20 times either bound; OUT/op_roofline.json
has all of it."""
import argparse
import collections
import ctypes
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
for folder in ("numeric", "lint"):
    sys.path.insert(0, os.path.join(TEST, folder))
import execute  # noqa: E402
import op_rows  # noqa: E402

try:
    import torch
    import torch.nn.functional as functions
except ImportError:
    torch = None

BUILD = os.environ.get("DLC_BUILD_DIR") or os.path.join(os.path.dirname(TEST), "build")
OUT = os.path.join(BUILD, "bench")
DLC = os.path.join(BUILD, "bin", "dlc")
# A copy of so many bytes is one of memory.
MEMORY = 1 << 28
# From the bound; from a whole process of `dlc compile`.
LIMIT, COMPILE_SECONDS = 20, 1.0
THREADS = (1, 2)
# Of one op and number of threads, in each round.
SECONDS, LEAST_RUNS = 0.06, 3
STORED = {
    "f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "i64": "i8", "i32": "i4", "i16": "i2",
    "i8": "i1", "u8": "u1", "bool": "u1"
}
NAMES = {"u8": "ui8", "bool": "i1"}  # in execute.py


#===- The processor -------------------------------------------------------------------------------#

class Machine:
    """The best rates seen so far: the longer it is asked, the less the machine's other work is in
    them."""

    def __init__(self):
        self.library = ctypes.CDLL(os.path.join(BUILD, "lib", "libmachine-peaks.so"))
        self.library.dlc_bench_peak_flops.restype = ctypes.c_double
        self.library.dlc_bench_copy_rate.restype = ctypes.c_double
        self.flops, self.rates = collections.defaultdict(float), collections.defaultdict(float)

    @staticmethod
    def bucket(size):
        """The power of two nearest to `size`: copies of one are measured for all rows of it."""
        return 1 << max(16, round(math.log2(max(size, 1))))

    def measure(self, size, threads):
        key = self.bucket(size), threads
        rate = self.library.dlc_bench_copy_rate(ctypes.c_size_t(key[0]), threads)
        self.rates[key] = max(self.rates[key], rate)
        self.flops[threads] = max(self.flops[threads], self.library.dlc_bench_peak_flops(threads))

    def bound_ms(self, row, threads, in_cache):
        """Two threads that had to share a processor with others still do no worse than one."""
        counts, size = [n for n in THREADS
                        if n <= threads], self.bucket(row.working_set if in_cache else MEMORY)
        return 1e3 * max(row.bytes / max(self.rates[size, n]
                                         for n in counts), row.flops / max(self.flops[n]
                                                                           for n in counts))


#===- Values --------------------------------------------------------------------------------------#

def values(value, row):
    """An input as the runtime takes it."""
    random = np.random.default_rng(zlib.crc32(f"{row.name} {value.name}".encode()))
    kind = value.kind
    if kind.startswith("<"):
        numbers = random.integers(0, int(kind[1:]), value.dims)
    elif kind.startswith(">"):
        low = int(kind[1:])
        numbers = random.uniform(low, low
                                 + 20, value.dims) if value.dtype[0] == "f" else random.integers(
                                     low, low + 20, value.dims)
    elif kind.startswith("="):
        numbers = np.arange(value.elements).reshape(value.dims) * int(kind[1:])
    elif kind == "permutation":
        numbers = random.permuted(np.broadcast_to(np.arange(value.dims[-1]), value.dims), axis=-1)
    elif value.dtype == "bool":
        numbers = random.integers(0, 2, value.dims)
    elif value.dtype in ("i8", "u8"):
        numbers = random.integers(0, 100, value.dims)
    elif value.dtype[0] == "i":
        numbers = random.integers(-10**6, 10**6, value.dims)
    else:
        numbers = {
            "": lambda: random.standard_normal(value.dims),
            "positive": lambda: np.abs(random.standard_normal(value.dims)) + 0.1,
            "unit": lambda: random.uniform(0.01, 0.99, value.dims),
            "wide": lambda: 20 * random.standard_normal(value.dims),
            "small": lambda: 0.05 * random.standard_normal(value.dims)
        }[kind]()
    return np.ascontiguousarray(numbers.astype(STORED[value.dtype]))


class Names(dict):
    """What a call of the language means in PyTorch."""
    WORDS = {"true": True, "false": False, "none": None, "len": len, "int": int}

    def __missing__(self, name):
        if name in self.WORDS:
            return self.WORDS[name]
        for where in (functions, torch, torch._C._VariableFunctions):
            if hasattr(where, name):
                return getattr(where, name)
        if hasattr(torch.Tensor, name):
            return getattr(torch.Tensor, name)
        raise NameError(name)


def as_number(array, dtype):
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64 if dtype[0] == "f" else np.int64)


def problem(row, inputs, results):
    """What is wrong with the results, as PyTorch sees it; None where nothing is, and where PyTorch
    has no such op."""
    if row.torch == "none":
        return None
    given = Names({
        value.name: torch.from_numpy(array.astype(bool) if value.dtype == "bool" else array)
        for value, array in zip(row.inputs, inputs)
    })
    try:
        expected = eval(row.torch, {"__builtins__": {}}, given)  # our own rows
    except Exception as error:
        return f"PyTorch does not take '{row.torch}': {error}"
    expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    for value, array, wide in zip(row.results, results, expected):
        wide = (wide.double() if wide.is_floating_point() else wide.long()).numpy()
        if list(wide.shape) != value.dims:
            return f"PyTorch's result has the dims {list(wide.shape)}"
        found = as_number(array, value.dtype)
        if value.dtype[0] not in "bf":
            if not np.array_equal(found, wide):
                return f"{np.count_nonzero(found != wide)} of {wide.size} whole numbers are not PyTorch's"
            continue
        # A gate against timing something else; how exact it is, test/numeric judges.
        room = (0.02 if value.dtype in ("f16", "bf16") else
                1e-3) * (1 + np.abs(wide[np.isfinite(wide)]).max(initial=0))
        with np.errstate(invalid="ignore"):
            wrong = ~((np.abs(found - wide) <= room) | (found == wide) |
                      (np.isnan(found) & np.isnan(wide)))
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            return f"{np.count_nonzero(wrong)} of {wide.size} numbers are not PyTorch's: {found[at]} for {wide[at]} at {at}"
    return None


#===- Running -------------------------------------------------------------------------------------#

class Runtime:
    def __init__(self):
        self.library = ctypes.CDLL(os.path.join(BUILD, "lib", "libdlc_runtime.so"))
        self.library.dlc_last_error.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name}: {self.library.dlc_last_error().decode()}")


class Compiled:
    """A row compiled and loaded, with a context for each number of threads."""

    def __init__(self, runtime, row):
        self.runtime, self.row = runtime, row
        stem = os.path.join(OUT, "op_" + row.name.replace("/", "-").replace(" ", "-"))
        with open(stem + ".dl", "w", encoding="utf-8") as file:
            file.write(row.model())
        begin = time.perf_counter()
        run = subprocess.run(
            [DLC, "compile", stem + ".dl", "-q", "--target", "cpu", "-o", stem + ".bin"],
            capture_output=True, text=True)
        self.compile_seconds = time.perf_counter() - begin
        if run.returncode:
            raise RuntimeError(f"dlc compile ended with {run.returncode}: {run.stderr.strip()}")
        self.inputs = [values(value, row) for value in row.inputs]
        self.results = [np.empty(value.dims, STORED[value.dtype]) for value in row.results]
        self.module, self.contexts = ctypes.c_void_p(), {}
        runtime.call("dlc_module_load", (stem + ".bin").encode(), None, ctypes.byref(self.module))
        for threads in THREADS:
            context = ctypes.c_void_p()
            options = execute.ContextOptions(ctypes.sizeof(execute.ContextOptions), b"cpu", threads,
                                             0, 0)
            runtime.call("dlc_context_create", self.module, ctypes.byref(options),
                         ctypes.byref(context))
            self.contexts[threads] = context
        self.arguments = self.tensors(row.inputs, self.inputs)
        self.outputs = self.tensors(row.results, self.results)

    @staticmethod
    def tensors(described, arrays):
        made = [
            execute.describe(NAMES.get(value.dtype, value.dtype), value.dims, array.ctypes.data)[0]
            for value, array in zip(described, arrays)
        ]
        return (execute.Tensor * len(made))(*made), ctypes.c_size_t(len(made))

    def run(self, threads):
        self.runtime.call("dlc_context_run", self.contexts[threads], *self.arguments, *self.outputs)

    def times(self, threads):
        self.run(threads)
        found, begin = [], time.perf_counter()
        while len(found) < LEAST_RUNS or time.perf_counter() - begin < SECONDS:
            start = time.perf_counter()
            self.run(threads)
            found.append(1e3 * (time.perf_counter() - start))
        return found

    def free(self):
        for context in self.contexts.values():
            self.runtime.library.dlc_context_free(context)
        self.runtime.library.dlc_module_free(self.module)


class Measured:
    """What is known of a row."""

    def __init__(self, row):
        self.row, self.times, self.failure, self.compiles = row, {
            threads: [] for threads in THREADS
        }, None, []

    def add(self, runtime, machine):
        try:
            compiled = Compiled(runtime, self.row)
        except RuntimeError as error:
            self.failure = str(error)
            return
        self.compiles.append(compiled.compile_seconds)
        try:
            compiled.run(THREADS[-1])
            self.failure = problem(self.row, compiled.inputs, compiled.results) if torch else None
            if self.failure:
                return
            for threads in THREADS:
                machine.measure(self.row.working_set, threads)
                self.times[threads] += compiled.times(threads)
        finally:
            compiled.free()

    def factor(self, machine, threads, in_cache=False):
        return min(self.times[threads]) / machine.bound_ms(self.row, threads, in_cache)


#===- The report ----------------------------------------------------------------------------------#

def line(one, machine):
    row = one.row
    if one.failure:
        return f"{row.name:32} FAILED: {one.failure[:300]}"
    cells = [
        f"{row.name:32} {row.bytes / 1e6:7.2f} {row.flops / 1e6:8.1f} {min(one.compiles):7.2f} "
    ]
    for threads in THREADS:
        times = one.times[threads]
        cells.append(
            f" {min(times):9.3f} {statistics.median(times):9.3f} {machine.bound_ms(row, threads, False):8.3f} "
            f"{one.factor(machine, threads):6.1f} {one.factor(machine, threads, True):6.1f}")
    return " ".join(cells)


def report(found, machine, rounds):
    print(f"\nOps on the CPU beside what the processor can do, the least and the median of {rounds} rounds of "
          f"{SECONDS * 1e3:.0f} ms (other programs may have run: read the least)")
    for threads in THREADS:
        copies = ", ".join(f"{rate / 1e9:.1f} at {size / 1e6:.1f} MB"
                           for (size, count), rate in sorted(machine.rates.items())
                           if count == threads and size >= 1 << 20)
        print(
            f"{threads} thread{'s' * (threads > 1)}: {machine.flops[threads] / 1e9:.0f} GFLOP/s; GB/s copied: {copies}"
        )
    heads = " ".join(f"{f'ms x{n}':>9} {'median':>9} {'bound':>8} {'times':>6} {'cache':>6} "
                     for n in THREADS)
    print(f"\n{'op':32} {'MB':>7} {'MFLOP':>8} {'compile':>7}   {heads}")
    for one in found:
        print(line(one, machine))
    timed = [one for one in found if not one.failure]
    for in_cache, threads in itertools.product((False, True), THREADS):
        factors = {one.row.name: one.factor(machine, threads, in_cache) for one in timed}
        slow = sorted((name for name, factor in factors.items() if factor > LIMIT),
                      key=lambda name: -factors[name])
        bound = "what copies in a cache allow" if in_cache else "the bound"
        print(
            f"\nSlower than {LIMIT} times {bound}, with {threads} thread{'s' * (threads > 1)}: {len(slow)} of {len(timed)}"
        )
        for name in slow:
            print(f"  {name:32} {factors[name]:6.1f}")
    long = [one for one in timed if min(one.compiles) > COMPILE_SECONDS]
    print(f"\nCompiled in more than {COMPILE_SECONDS:g} s: {len(long)}")
    for one in long:
        print(f"  {one.row.name:32} {min(one.compiles):6.2f} s")
    unseen = [one.row.name for one in timed if not torch or one.row.torch == "none"]
    print(
        f"\n{len(unseen)} not compared with PyTorch{': ' if unseen else ''}{', '.join(unseen) if torch else 'it is not installed'}"
    )


def as_json(found, machine):
    entries = []
    for one in found:
        entry = {
            "op": one.row.op, "row": one.row.name, "call": one.row.call,
            "inputs": [v.type
                       for v in one.row.inputs], "results": [v.type for v in one.row.results],
            "bytes": one.row.bytes, "flops": one.row.flops
        }
        if one.failure:
            entry["failure"] = one.failure
        else:
            entry["compile_seconds"] = min(one.compiles)
            entry["threads"] = {
                threads: {
                    "ms": min(one.times[threads]),
                    "median_ms": statistics.median(one.times[threads]),
                    "runs": len(one.times[threads]),
                    "bound_ms": machine.bound_ms(one.row, threads, False),
                    "times_bound": one.factor(machine, threads),
                    "times_bound_in_cache": one.factor(machine, threads, True)
                } for threads in THREADS
            }
        entries.append(entry)
    return {
        "limit": LIMIT, "peak_flops": dict(machine.flops),
        "copy_bytes_per_second": [{"bytes": size, "threads": threads, "rate": rate}
                                  for (size, threads), rate in sorted(machine.rates.items())],
        "rows": entries
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--op", action="append", help="an op or a row alone")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    all_rows = op_rows.rows()
    import roofline
    missing = roofline.missing({row.op for row in all_rows})
    if missing:
        sys.exit(f"error: no row in test/bench/op_rows.txt for {', '.join(missing)}")
    chosen = [
        row for row in all_rows
        if not row.stands_for and (not options.op or row.op in options.op or row.name in options.op)
    ]
    if not chosen:
        sys.exit("error: no row is called so")
    if torch:
        torch.set_num_threads(1)
        warnings.simplefilter(
            "ignore")  # of functions that PyTorch would rather have called otherwise
    os.makedirs(OUT, exist_ok=True)
    runtime, machine = Runtime(), Machine()
    found = [Measured(row) for row in chosen]
    for _ in range(options.rounds):
        for threads in THREADS:
            machine.measure(MEMORY, threads)
        for one in found:
            if not one.failure:
                one.add(runtime, machine)
    report(found, machine, options.rounds)
    path = os.path.join(OUT, "op_roofline.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(as_json(found, machine), file, indent=1)
    print(f"Written to {path}")
    return any(one.failure for one in found)


if __name__ == "__main__":
    sys.exit(main())
