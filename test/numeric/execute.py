"""Runs a compiled module through the runtime's C API: execute.py LIBRARY PACKAGE DEVICE PLAN INPUTS
OUTPUTS

PLAN is JSON: for each run a list of inputs and one of outputs, each [dtype, dims]. Elements stand
one after another in INPUTS and are written so to OUTPUTS, in their own formats. A process of its
own, since checked mode ends it at the first access beyond a buffer; without NumPy, which takes
longer to import than most modules to run."""
import ctypes
import json
import math
import sys

# ORDER DTYPE: dlc_dtype of dlc/runtime.h, and bytes of an element.
DTYPES = {
    "f64": (0, 8), "f32": (1, 4), "f16": (2, 2), "bf16": (3, 2), "i64": (4, 8), "i32": (5, 4),
    "i16": (6, 2), "i8": (7, 1), "ui8": (8, 1), "i1": (9, 1), "ui16": (10, 2), "ui32": (11, 4),
    "ui64": (12, 8), "f8E4M3FN": (13, 1), "f8E4M3FNUZ": (14, 1), "f8E5M2": (15, 1),
    "f8E5M2FNUZ": (16, 1), "f8E8M0FNU": (17, 1), "f4E2M1FN": (18, 1), "i4": (19, 1), "ui4": (20, 1),
    "i2": (21, 1), "ui2": (22, 1)
}
MAX_RANK = 8


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("dims", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("checked", ctypes.c_int), ("profile", ctypes.c_int)]


def describe(dtype, dims, data):
    code, width = DTYPES[dtype]
    size = math.prod(dims) * width
    tensor = Tensor(ctypes.sizeof(Tensor), code, len(dims), (ctypes.c_int64 * MAX_RANK)(*dims),
                    data, size)
    return tensor, size


def main(library, package, device, plan, inputs, outputs):
    runtime = ctypes.CDLL(library)
    runtime.dlc_last_error.restype = ctypes.c_char_p

    def call(name, *arguments):
        if getattr(runtime, name)(*arguments):
            sys.exit(f"{name}: {runtime.dlc_last_error().decode()}")

    module, context = ctypes.c_void_p(), ctypes.c_void_p()
    call("dlc_module_load", package.encode(), None, ctypes.byref(module))
    options = ContextOptions(ctypes.sizeof(ContextOptions), device.encode(), 2, device == "cpu", 0)
    call("dlc_context_create", module, ctypes.byref(options), ctypes.byref(context))
    with open(inputs, "rb") as file:
        data = file.read()
    given, offset = ctypes.create_string_buffer(data, len(data) + 1), 0
    with open(plan) as file:
        runs = json.load(file)
    with open(outputs, "wb") as file:
        for ins, outs in runs:
            arguments, results, kept = [], [], []
            for dtype, dims in ins:
                tensor, size = describe(dtype, dims, ctypes.addressof(given) + offset)
                offset += size
                arguments.append(tensor)
            for dtype, dims in outs:
                # What the run does not write is seen.
                array = ctypes.create_string_buffer(max(1, describe(dtype, dims, None)[1]))
                ctypes.memset(array, 0xA5, len(array))
                kept.append(array)
                results.append(describe(dtype, dims, ctypes.addressof(array))[0])
            call("dlc_context_run", context, (Tensor * len(arguments))(*arguments),
                 ctypes.c_size_t(len(arguments)), (Tensor * len(results))(*results),
                 ctypes.c_size_t(len(results)))
            for array, result in zip(kept, results):
                file.write(array.raw[:result.bytes])


if __name__ == "__main__":
    main(*sys.argv[1:])
