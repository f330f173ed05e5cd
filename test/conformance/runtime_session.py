"""A model.bin run through libdlc_runtime.so in this process: any dtype, arrays in and out."""
import ctypes

import numpy as np

MAX_RANK = 8
# ORDER DTYPE. bf16 and the floats of 8 and 4 bits as their bits.
CODES = [
    "<f8", "<f4", "<f2", "<u2", "<i8", "<i4", "<i2", "i1", "u1", "u1", "<u2", "<u4", "<u8", "u1",
    "u1", "u1", "u1", "u1", "u1", "i1", "u1", "i1", "u1"
]
NAMES = [
    "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool", "u16", "u32", "u64",
    "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1", "i4", "u4", "i2", "u2"
]


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("dims", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]


class ValueInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t),
                ("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("dims", ctypes.c_int64 * MAX_RANK), ("min_dims", ctypes.c_int64 * MAX_RANK),
                ("max_dims", ctypes.c_int64 * MAX_RANK), ("dim_names", ctypes.c_char_p * MAX_RANK)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("checked", ctypes.c_int)]


class Refused(Exception):
    """What the runtime says."""


class Session:
    def __init__(self, library, package, device, checked=False, threads=1):
        self.lib = ctypes.CDLL(library)
        self.lib.dlc_last_error.restype = ctypes.c_char_p
        for name in ("dlc_module_num_inputs", "dlc_module_num_outputs"):
            getattr(self.lib, name).restype = ctypes.c_size_t
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.module, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.dlc_module_load(package.encode(), None, ctypes.byref(self.module)))
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), device=device.encode(),
                                 threads=threads, checked=int(checked))
        self.check(
            self.lib.dlc_context_create(self.module, ctypes.byref(options),
                                        ctypes.byref(self.context)))

    def check(self, status):
        if status:
            raise Refused(self.lib.dlc_last_error().decode())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.lib.dlc_context_free(self.context)
        self.lib.dlc_module_free(self.module)

    def reset_states(self):
        self.check(self.lib.dlc_context_reset_states(self.context))

    def values(self, kind):
        """(name, dtype) of the inputs or outputs."""
        found = []
        for position in range(getattr(self.lib, f"dlc_module_num_{kind}s")(self.module)):
            info = ValueInfo(struct_size=ctypes.sizeof(ValueInfo))
            self.check(
                getattr(self.lib, f"dlc_module_{kind}")(self.module, ctypes.c_size_t(position),
                                                        ctypes.byref(info)))
            found.append((info.name.decode(), NAMES[info.dtype]))
        return found

    @staticmethod
    def describe(array, dtype):
        described = Tensor(struct_size=ctypes.sizeof(Tensor), dtype=NAMES.index(dtype),
                           rank=array.ndim, data=array.ctypes.data, bytes=array.nbytes)
        described.dims[:array.ndim] = array.shape
        return described

    def output_dims(self, position):
        rank, dims = ctypes.c_int(), (ctypes.c_int64 * MAX_RANK)()
        self.check(
            self.lib.dlc_context_output_dims(self.context, ctypes.c_size_t(position),
                                             ctypes.byref(rank), dims))
        return list(dims)[:rank.value]

    def kept(self, position, dtype):
        """The elements of an output that the context keeps."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.check(
            self.lib.dlc_context_output_data(self.context, ctypes.c_size_t(position),
                                             ctypes.byref(data), ctypes.byref(size)))
        return np.frombuffer(ctypes.string_at(data, size.value), CODES[NAMES.index(dtype)])

    def run(self, arrays):
        """`arrays` by name, in the dtypes of the inputs; (dtype, array) by the name of the output.
        """
        inputs, outputs = self.values("input"), self.values("output")
        held = [
            np.ascontiguousarray(arrays[name]).reshape(arrays[name].shape) for name, _ in inputs
        ]
        given = (Tensor
                 * max(len(held), 1))(*[self.describe(a, d) for a, (_, d) in zip(held, inputs)])
        self.check(self.lib.dlc_context_bind(self.context, given, ctypes.c_size_t(len(held))))
        results, taken = [], (Tensor * max(len(outputs), 1))()
        for position, (_, dtype) in enumerate(outputs):
            dims = self.output_dims(position)
            if -1 in dims:  # known after the run: the context keeps it
                results.append(None)
                taken[position] = Tensor(struct_size=ctypes.sizeof(Tensor),
                                         dtype=NAMES.index(dtype), rank=len(dims))
            else:
                results.append(np.zeros(dims, CODES[NAMES.index(dtype)]))
                taken[position] = self.describe(results[-1], dtype)
        self.check(self.lib.dlc_context_run(self.context, given, ctypes.c_size_t(len(held)), taken,
                                            ctypes.c_size_t(len(results))))
        # Where the data say how large an output is, it is known now.
        for position, array in enumerate(results):
            dims = self.output_dims(position)
            if array is None:
                array = self.kept(position, outputs[position][1])
            results[position] = array.reshape(-1)[:int(np.prod(dims, dtype=np.int64))].reshape(dims)
        return {name: (dtype, array) for (name, dtype), array in zip(outputs, results)}
