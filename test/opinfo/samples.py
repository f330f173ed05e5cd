"""The cases of an entry of op_db: its own samples, extreme values for functions of each element and
for reductions, and inputs that PyTorch refuses."""
import random
import zlib

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import (BinaryUfuncInfo, SampleInput,
                                                                UnaryUfuncInfo)

import extremes
from case import NAMES, Skipped
from expected import results_of
from spelling import name_of, spelled_case

# How many samples of each dtype, spread over those that there are.
COUNTS = {
    torch.float32: 12, torch.float16: 4, torch.bfloat16: 3, torch.int64: 6, torch.int32: 4,
    torch.bool: 4, torch.uint8: 3
}
LARGEST = 1 << 16  # elements of an input
# Conversions that C leaves undefined outside of the range of the integers.
INTEGERS = {
    "byte": torch.uint8, "char": torch.int8, "short": torch.int16, "int": torch.int32,
    "long": torch.int64
}


def spread(items, count):
    return items if len(items) <= count else [items[i * len(items) // count] for i in range(count)]


def size_of(value):
    if isinstance(value, torch.Tensor):
        return value.numel()
    return max(map(size_of, value), default=0) if isinstance(value, (list, tuple)) else 0


def terms_of(case):
    """How many elements of inputs come on an element of a result."""
    given = sum(x.numel() for x in case.inputs)
    return -(-given // max(1, min((result.exact.numel() for result in case.results), default=1)))


def seed(entry, number):
    value = zlib.crc32(f"{entry} {number}".encode())
    torch.manual_seed(value)
    np.random.seed(value)
    random.seed(value)


def within(x, dtype):
    """`x` with numbers that `dtype` holds, if these are floats."""
    limits = torch.iinfo(dtype)
    if not x.is_floating_point():
        return x
    return torch.nan_to_num(x.double(), posinf=0, neginf=0).clamp(limits.min / 2,
                                                                  limits.max / 2).to(x.dtype)


class Samples:
    """Makes cases; counts by their reasons the samples that it cannot."""

    def __init__(self, known, seed_number, leave_out):
        self.known, self.seed_number, self.leave_out = known, seed_number, leave_out

    def case(self, op, sample, form, kind, dtype):
        try:
            if op.name in INTEGERS:
                sample.input = within(sample.input, INTEGERS[op.name])
            found = spelled_case(op, sample, form, self.known, kind, dtype)
            # A first look without bounds says how many terms a result has.
            for count in (0, None):
                if count is None:
                    count = 16 + 2 * terms_of(found)
                    if not any(result.bound for result in found.results):
                        break
                found.results, found.is_tuple = results_of(
                    op.op, sample, dtype, found.entry, count,
                    isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)))
            return [found]
        except Skipped as skipped:
            self.leave_out(f"samples with {skipped}" if "PyTorch" not in
                           str(skipped) else f"samples for which {skipped}")
            return []

    def own(self, op):
        cases = []
        for dtype, count in COUNTS.items():
            if dtype not in op.dtypes and not (dtype == torch.float16
                                               and torch.float32 in op.dtypes):
                continue
            seed(name_of(op), self.seed_number)
            try:
                found = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            except Exception as error:
                self.leave_out(
                    f"dtypes whose samples PyTorch does not make ({type(error).__name__})")
                continue
            found = [sample for sample in found if size_of([sample.input, *sample.args]) <= LARGEST]
            for form, sample in enumerate(spread(found, count)):
                cases += self.case(op, sample, form, "sample", NAMES[dtype])
        return cases

    def extreme(self, op):
        made = []
        if isinstance(op, UnaryUfuncInfo) or op.name in extremes.UNARY:
            made = extremes.unary(op.name)
        elif isinstance(op, BinaryUfuncInfo):
            made = extremes.binary(name_of(op))
        elif op.name in extremes.REDUCTIONS and op.variant_test_name in ("", "reduction_no_dim",
                                                                         "reduction_with_dim"):
            made = extremes.reductions(op.name)
        cases = []
        for form, (x, positional, named) in enumerate(made):
            if x.dtype in op.dtypes or x.dtype == torch.float16 and torch.float32 in op.dtypes:
                sample = SampleInput(x, args=positional, kwargs=named)
                cases += self.case(op, sample, form, "extremal", NAMES[x.dtype])
        return cases

    def errors(self, op):
        cases = []
        try:
            found = list(op.error_inputs_func(op, "cpu")) if op.error_inputs_func else []
        except Exception as error:
            self.leave_out(f"error inputs that PyTorch does not make ({type(error).__name__})")
            return []
        for error in found:
            try:
                case = spelled_case(op, error.sample_input, 0, self.known, "error", "any")
            except Skipped as skipped:
                self.leave_out(f"error inputs with {skipped}")
                continue
            case.expects = str(error.error_regex) or "numbers in place of tensors"
            cases.append(case)
        return cases
