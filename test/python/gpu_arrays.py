"""Models on the emulated GPU: arrays in its memory and in that of the CPU, streams, processes that
are forked."""
import ctypes
import multiprocessing
import os
import sys

import numpy as np

from models import AFFINE, BUILD, Failure, compiled, dlc, expect, expect_array, refused, run

X = np.arange(24, dtype=np.float32).reshape(3, 8)
DRIVER = ctypes.CDLL(os.path.join(BUILD, "lib", "libdlc_cuda_emu.so"))


def driver(name, *arguments):
    status = getattr(DRIVER, name)(*arguments)
    if status:
        raise Failure(f"{name} of the emulator gives {status}")


class DLTensor(ctypes.Structure):
    """DLManagedTensor of DLPack, as one structure."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class GpuArray:
    """f32 in the emulated GPU's memory, handed over by DLPack. Its namespace makes others, as
    CuPy's does."""
    float32 = "float32"
    streams = []

    def __init__(self, shape, ordinal=0):
        self.shape, self.size, self.ordinal = tuple(shape), 4 * int(np.prod(shape)), ordinal
        self.address = ctypes.c_uint64()
        driver("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(self.size, 1)))

    def set(self, array):
        driver("cuMemcpyHtoD_v2", self.address, ctypes.c_void_p(array.ctypes.data),
               ctypes.c_size_t(self.size))
        return self

    def get(self):
        found = np.empty(self.shape, np.float32)
        driver("cuMemcpyDtoH_v2", ctypes.c_void_p(found.ctypes.data), self.address,
               ctypes.c_size_t(self.size))
        return found

    @classmethod
    def empty(cls, shape, dtype):
        expect(dtype, "float32")
        return cls(shape)

    def __array_namespace__(self):
        return type(self)

    def __dlpack_device__(self):
        return 2, self.ordinal

    def __dlpack__(self, stream=None, **options):
        self.streams.append(stream)
        dims = (ctypes.c_int64 * max(len(self.shape), 1))(*self.shape)
        self.held = DLTensor(self.address.value, 2, self.ordinal, len(self.shape), 2, 32, 1, dims,
                             None, 0, None, None)
        ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
        return ctypes.pythonapi.PyCapsule_New(ctypes.c_void_p(ctypes.addressof(self.held)),
                                              b"dltensor", None)


def new_stream():
    """A stream of the primary context, which is made current for the allocations here."""
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuInit", 0)
    driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    driver("cuCtxSetCurrent", context)
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    return stream.value


def model_on_gpu(**options):
    return compiled(AFFINE, **{"device": "cuda", "threads": 0, **options})


def test_memory_of_the_cpu():
    expect_array(model_on_gpu()(X), X * 2 + 1)


def test_memory_of_the_gpu():
    stream = new_stream()
    model, x = model_on_gpu(stream=stream), GpuArray(X.shape).set(X)
    GpuArray.streams.clear()
    found = model(x)
    expect((type(found), set(GpuArray.streams)), (GpuArray, {stream}))
    expect_array(found.get(), X * 2 + 1)
    y = GpuArray(X.shape)
    expect(model.run({"x": x}, {"y": y})["y"] is y, True)
    expect_array(y.get(), X * 2 + 1)


def test_bad_places():
    stream = new_stream()
    x = GpuArray(X.shape).set(X)
    with refused(
            "input 'x' is in GPU memory, and its framework must be told in which stream the model reads it; load the model with stream="
    ):
        model_on_gpu()(x)
    far = GpuArray(X.shape, ordinal=1)
    with refused("input 'x' is on cuda:1, and the model runs on cuda:0"):
        model_on_gpu(stream=stream)(far)
    model = compiled(AFFINE, stream=stream)
    try:
        model(x)
    except dlc.Error as error:
        expect((error.code, str(error).startswith(
            "input 'x': its data is in GPU memory, and the context runs on cpu (")),
               (dlc.Code.USAGE, True))
    else:
        raise Failure("a model of the CPU took an array in GPU memory")


class WithoutNamespace(GpuArray):
    __array_namespace__ = property()


def test_no_allocator():
    x = WithoutNamespace(X.shape).set(X)
    with refused(
            "output 'y': the framework of the first input cannot be asked for GPU memory; give the model an array for each output",
            dlc.Code.UNSUPPORTED):
        model_on_gpu(stream=new_stream())(x)


def test_device_time():
    model = model_on_gpu(profile=True)
    model(X)
    expect((model.device_time() >= 0, len(model.profile()) >= 1), (True, True))


def test_progress():
    """Told for each kernel that is compiled; an exception there ends the loading."""
    seen = []
    model_on_gpu(progress=lambda done, total: seen.append((done, total)), cache_dir="")
    expect(bool(seen) and seen[-1][0] == seen[-1][1], True)

    def stop(done, total):
        raise KeyboardInterrupt

    try:
        model_on_gpu(progress=stop, cache_dir="")
    except KeyboardInterrupt:
        return
    raise Failure("the exception of progress= was lost")


def answer(model, pipe):
    try:
        model(X)
        pipe.send(None)
    except dlc.Error as error:
        pipe.send((str(error), int(error.code)))


def test_fork():
    model = model_on_gpu()
    model(X)
    receive, send = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=answer, args=(model, send))
    child.start()
    if not receive.poll(60):
        child.kill()
        raise Failure("the child does not answer")
    expect(receive.recv(),
           ("CUDA device 0 was opened before this process was forked, and CUDA does not work in the child: start it by exec "
                            "or spawn, or fork before the first context is created", 2))
    child.join()
    expect_array(model(X), X * 2 + 1)


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
