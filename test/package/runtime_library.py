"""libdlc_runtime.so through ctypes: what a foreign program sees of it."""
import ctypes

import numpy as np

MAX_RANK = 8
F32 = 1  # DLC_F32


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("dims", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("checked", ctypes.c_int), ("profile", ctypes.c_int)]


def tensor(array):
    """Describes a C-contiguous f32 array; the array must outlive the result."""
    described = Tensor(struct_size=ctypes.sizeof(Tensor), dtype=F32, rank=array.ndim,
                       data=array.ctypes.data, bytes=array.nbytes)
    described.dims[:array.ndim] = array.shape
    return described


class Runtime:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.dlc_last_error.restype = ctypes.c_char_p
        for name in ("dlc_module_free", "dlc_context_free"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
            getattr(self.lib, name).restype = None
        self.lib.dlc_module_load_memory.argtypes = [
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_void_p)
        ]
        self.lib.dlc_context_create.argtypes = [ctypes.c_void_p, ctypes.POINTER(ContextOptions),
                                                ctypes.POINTER(ctypes.c_void_p)]
        self.lib.dlc_context_run.argtypes = [
            ctypes.c_void_p,
            ctypes.POINTER(Tensor), ctypes.c_size_t,
            ctypes.POINTER(Tensor), ctypes.c_size_t
        ]

    def error(self):
        return self.lib.dlc_last_error().decode()

    def run(self, package, data, shape):
        """(status, sentence, output): the status of the first call that is refused, or of the run.
        """
        module, context = ctypes.c_void_p(), ctypes.c_void_p()
        status = self.lib.dlc_module_load_memory(package.ctypes.data, package.size, None,
                                                 ctypes.byref(module))
        if status:
            return status, self.error(), None
        try:
            options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), device=b"cpu",
                                     threads=1)
            status = self.lib.dlc_context_create(module, ctypes.byref(options),
                                                 ctypes.byref(context))
            if status:
                return status, self.error(), None
            output = np.full(shape, np.nan, np.float32)
            status = self.lib.dlc_context_run(context, ctypes.byref(tensor(data)), 1,
                                              ctypes.byref(tensor(output)), 1)
            return status, self.error() if status else "", output
        finally:
            self.lib.dlc_context_free(context)
            self.lib.dlc_module_free(module)
