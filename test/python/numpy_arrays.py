"""Models over NumPy's arrays: what they take without a copy, what they copy, what they refuse;
states, threads, processes."""
import array
import gc
import multiprocessing
import os
import sys
import threading
import time

import numpy as np

from models import (AFFINE, COUNTED, DTYPES, FLOW, MLP, NUMPY, STREAM, TWO, Failure, compiled, dlc,
                    expect, expect_array, package, refused, run, same, warned)

X = np.arange(24, dtype=np.float32).reshape(3, 8)
COPIED = "input 'x' is not contiguous in C order and is copied for each run; a contiguous array is read where it lies"


def test_call():
    model = compiled(AFFINE)
    expect_array(model(X), X * 2 + 1)
    expect_array(model(x=X[:1]), X[:1] * 2 + 1)
    expect_array(model.run({"x": X})["y"], X * 2 + 1)


def test_several_results():
    model, a, b = compiled(TWO), np.ones(3, np.float32), np.arange(4).reshape(2, 2)
    for found in (model(a, b), model(a,
                                     b=b), model(b=b,
                                                 a=a), tuple(model.run({"b": b, "a": a}).values())):
        expect(type(found), tuple)
        expect_array(found[0], a + np.float32(0.5))
        expect_array(found[1], b.T)


def test_every_dtype():
    for dtype in DTYPES:
        model = compiled(same(dtype))
        expect(str(model.inputs[0]), f"x: {dtype}[2,3]")
        x = np.array([[0, 1, 1], [1, 0, 1]]).astype(NUMPY[dtype])
        found = model(x)
        expect_array(found.view(x.dtype), x[::-1])  # of ml_dtypes where that is installed


def test_descriptions():
    model = compiled(AFFINE)
    expect(model.inputs, (dlc.Value("x", "f32", ("N", 8), (1, 8), (64, 8)),))
    expect(repr(model), "<dlc.Model (x: f32[N,8]) -> (y: f32[N,8])>")
    expect(model.states, ())
    expect(model.precision, "f32")
    expect(model.remarks, [])
    if not model.device.startswith("cpu ("):
        raise Failure(model.device)
    expect(compiled(STREAM).states, (dlc.Value("total", "f32", ("N", 8), (1, 8), (4, 8)),))


def test_prepare():
    model = compiled(AFFINE)
    expect(model.prepare({"x": (5, 8)}), {"y": (5, 8)})
    expect(model.memory()["weights"], 0)
    expect(compiled(TWO).prepare(), {"sum": (3,), "turned": (2, 2)})
    with refused("expected a shape for input 'x', x: f32[N,8]"):
        model.prepare()
    with refused("the model has no input 'z'; it has x"):
        model.prepare({"x": (5, 8), "z": (1,)})
    with refused("input 'x', dim 0: expected 1 to 64, got 65; 'x' is f32[N,8] with N in 1..64"):
        model.prepare({"x": (65, 8)})
    with refused("input 0: expected 0 to 8 dims, got 9"):
        model.prepare({"x": (1,) * 9})


def test_given_outputs():
    model, y = compiled(AFFINE), np.zeros((3, 8), np.float32)
    expect(model.run({"x": X}, {"y": y})["y"] is y, True)
    expect_array(y, X * 2 + 1)
    turned = np.zeros((2, 2), np.int64)
    found = compiled(TWO).run({"a": np.ones(3, np.float32), "b": np.arange(4).reshape(2, 2)},
                              {"turned": turned})
    expect_array(turned, np.array([[0, 2], [1, 3]]))
    expect(sorted(found), ["sum", "turned"])
    with refused(
            "output 'y' is not contiguous in C order; results are written only into one that is"):
        model.run({"x": X}, {"y": np.zeros((3, 16), np.float32)[:, ::2]})
    with refused("output 'y', dim 0: expected 3, got 2"):
        model.run({"x": X}, {"y": np.zeros((2, 8), np.float32)})
    with refused("output 'y': expected f32, got f64"):
        model.run({"x": X}, {"y": np.zeros((3, 8))})
    with refused("the model has no output 'z'; it has y"):
        model.run({"x": X}, {"z": y})
    y.flags.writeable = False
    with refused("output 'y': its memory cannot be written: buffer source array is read-only"):
        model.run({"x": X}, {"y": y})


def test_read_only_input():
    x = X.copy()
    x.flags.writeable = False
    expect_array(compiled(AFFINE)(x), x * 2 + 1)


def test_strides():
    model, wide = compiled(AFFINE), np.arange(48, dtype=np.float32).reshape(3, 16)
    for x in (wide[:, ::2], np.asfortranarray(X), X[::-1], X[:, ::-1]):
        with warned(COPIED):
            expect_array(model(x), x * 2 + 1)
    expect_array(model(wide.reshape(6, 8)[::2][:1]),
                 wide[:1, :8] * 2 + 1)  # one row has no strides to speak of


def test_other_buffers():
    model = compiled(TWO)
    sum_, _ = model(array.array("f", [1, 2, 3]), memoryview(np.arange(4).reshape(2, 2)))
    expect_array(sum_, np.array([1.5, 2.5, 3.5], np.float32))
    scalar = compiled("dl 1\nmodel Scalar {\n  forward(x: f32[]) -> (y: f32[]) { y = x + 1 }\n}\n")
    expect_array(scalar(np.float32(2)), np.array(3, np.float32))
    expect_array(scalar(np.array(2, np.float32)), np.array(3, np.float32))


def test_bad_arrays():
    model = compiled(AFFINE)
    with refused("input 'x': expected f32[N,8], got f64"):
        model(X.astype(np.float64))
    with refused("input 'x', dim 1: expected 8, got 7; 'x' is f32[N,8] with N in 1..64"):
        model(X[:, :7].copy())
    with refused("input 'x': expected 2 dims, got 1; 'x' is f32[N,8] with N in 1..64"):
        model(X[0])
    with refused("input 'x', dim 0: expected 1 to 64, got 65; 'x' is f32[N,8] with N in 1..64"):
        model(np.zeros((65, 8), np.float32))
    with refused(
            "input 'x': expected f32, got elements of the format '>f', which dlc does not know"):
        model(X.astype(">f4"))
    with refused(
            "input 'x': expected f32, got elements of the format 'Zf', which dlc does not know"):
        model(X.astype(np.complex64))
    with refused("input 'x': expected 0 to 8 dims, got 9"):
        model(np.zeros((1,) * 9, np.float32))
    for value in ([1.0], 1.0, "x", None):
        with refused(
                f"input 'x': expected an array of NumPy, PyTorch, JAX or another one with DLPack, got {type(value).__name__}"
        ):
            model(value)


def test_bad_names():
    model, a, b = compiled(TWO), np.ones(3, np.float32), np.arange(4).reshape(2, 2)
    with refused("expected 2 inputs (a, b), got 3"):
        model(a, b, b)
    with refused("input 'b' is missing; the model's inputs are a, b"):
        model(a)
    with refused("input 'b' is missing; the model's inputs are a, b"):
        model.run({"a": a})
    with refused("the model has no input 'c'; it has a, b"):
        model(a, b, c=b)
    with refused(
            "an input is given both by its place and by its name; the model's inputs are a, b"):
        model(a, b, a=a)
    with refused("the model has no input 'c'; it has a, b"):
        model.run({"a": a, "b": b, "c": b})


def test_states():
    model, x = compiled(STREAM), np.ones((2, 8), np.float32)
    expect([float(model(x)[0, 0]) for _ in range(3)], [1, 2, 3])
    other = model.clone()
    expect([float(other(x)[0, 0]), float(model(x)[0, 0])], [1, 4])
    with refused("state 'total' holds [2,8] from the runs before, and these inputs make it [3,8]; reset the states first "
                 "(--reset-state, dlc_context_reset_states)"):
        model(np.ones((3, 8), np.float32))
    model.reset()
    expect(float(model(np.ones((3, 8), np.float32))[0, 0]), 1)


def test_counted():
    model = compiled(COUNTED)
    for values in ([0, 3, 0, 4], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 7, 0]):
        x = np.array(values, np.float32)
        expect_array(model(x), np.argwhere(x))


def test_flow():
    """Outputs whose dims only the run tells."""
    model, x = compiled(FLOW), np.sin(np.arange(20, dtype=np.float32)).reshape(5, 4)
    expect(model.prepare({"x": (5, 4), "n": ()}), {"rows": (-1, 4), "square": (-1, -1)})
    kept = []
    for n in (3, 0, 5):
        rows, square = model(x, np.array(n))
        kept.append((n, rows, square))
    for n, rows, square in kept:  # each run's are its own
        expect_array(rows, x[:n] * 2)
        expect(square.shape, (n, n))
        expect(np.allclose(square, x[:n] @ x[:n].T, atol=1e-6), True)
    room = np.full((5, 4), 7, np.float32)
    found = model.run({"x": x, "n": np.array(2)}, {"rows": room})
    expect_array(found["rows"], x[:2] * 2)
    expect_array(room[:2], x[:2] * 2)
    expect((room[2:] == 7).all(), True)
    expect(found["square"].shape, (2, 2))
    with refused("output 'rows': the model computed f32[5,4], which needs 80 bytes, and the array has 48. Run again with a larger array, or "
                 "leave the output to the context (data null, bytes 0)"):
        model.run({"x": x, "n": np.array(5)}, {"rows": room[:3]})
    with refused("the model computed dim = 70; expected 0 to 64"):
        model(x, np.array(70))
    expect_array(model(x, np.array(1))[0], x[:1] * 2)


def test_profile():
    model = compiled(MLP, profile=True)
    model(np.ones((2, 64), np.float32), np.ones((64, 64), np.float32), np.ones((64, 10),
                                                                               np.float32))
    times = model.profile()
    expect(sum(time.flops for time in times) >= 2 * 2 * 64 * 74, True)
    expect(all(isinstance(time, dlc.KernelTime) and time.microseconds >= 0 for time in times), True)
    with refused("the context was created without the option 'profile'"):
        compiled(AFFINE).profile()
    with refused(
            "the device's time is measured on a GPU, from the first run of a context with the option 'time_device' or 'profile' on",
            dlc.Code.UNSUPPORTED):
        compiled(AFFINE).device_time()


def test_closed():
    with compiled(AFFINE) as model:
        model(X)
    model.close()
    for call in (lambda: model(X), model.reset, model.memory, model.profile, lambda: model.device,
                 lambda: model.prepare({"x": (1, 8)})):
        with refused("the model is closed"):
            call()


def test_load():
    data = package(AFFINE)
    expect_array(dlc.load(data, device="cpu")(X), X * 2 + 1)
    with refused("unknown device 'tpu'; expected cpu, cuda, cuda:N or auto"):
        dlc.load(data, device="tpu")
    with refused("expected 0 to 1024 threads, got -1"):
        dlc.load(data, threads=-1)
    with refused("unknown use of cuBLASLt 'perhaps'; expected auto, never or always"):
        dlc.load(data, cublas="perhaps")
    for damaged in (b"", b"not a model", data[:-1], data[:300] + b"\xff" + data[301:]):
        try:
            dlc.load(damaged, verify_all=True)
        except dlc.Error as error:
            expect(error.code, dlc.Code.INCOMPATIBLE)
            continue
        raise Failure("a damaged model was loaded")
    try:
        dlc.load("/no/such/model.bin")
    except dlc.Error as error:
        expect((error.code, "/no/such/model.bin" in str(error)), (dlc.Code.DEVICE, True))
    else:
        raise Failure("a file that does not exist was loaded")


def test_memory_goes():
    """Neither inputs nor results stay alive, and a model frees what it holds."""
    model = compiled(AFFINE)
    x = X.copy()
    before = sys.getrefcount(x)
    y = model(x)
    expect(sys.getrefcount(x), before)
    expect(sys.getrefcount(y), 2)
    data, big = package(AFFINE), np.zeros((64, 8), np.float32)
    for _ in range(50):
        dlc.load(data, device="cpu", threads=1)(big)
    gc.collect()
    start = resident()
    for _ in range(400):
        dlc.load(data, device="cpu", threads=1)(big)
    gc.collect()
    grown = resident() - start
    if grown > 8 << 20:
        raise Failure(f"400 models leave {grown} bytes behind")


def resident():
    with open("/proc/self/statm", encoding="ascii") as source:
        return int(source.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_no_copies():
    """A run of 256 MiB in and out needs no more than these."""
    model = compiled(
        "dl 1\nmodel Large {\n  forward(x: f32[33554432]) -> (y: f32[33554432]) { y = x + 1 }\n}\n")
    x, y = np.ones(1 << 25, np.float32), np.zeros(1 << 25, np.float32)
    y += 1  # its pages are there
    model.run({"x": x}, {"y": y})
    with open("/proc/self/clear_refs", "w", encoding="ascii") as out:
        out.write("5")  # the peak begins anew
    before = resident()
    model.run({"x": x}, {"y": y})
    with open("/proc/self/status", encoding="ascii") as source:
        peak = next(int(line.split()[1]) * 1024 for line in source if line.startswith("VmHWM"))
    expect(float(y[-1]), 2.0)
    if peak - before > 32 << 20:
        raise Failure(f"the run took {peak - before} bytes more")


def test_threads():
    """Threads share a model, and its results are theirs; other threads run meanwhile."""
    model, problems = compiled(STREAM.replace("total + x", "x * 2")), []

    def work(number):
        x = np.full((1 + number % 4, 8), number, np.float32)
        own = model.clone()
        for _ in range(200):
            if not np.array_equal(own(x), x * 2):
                problems.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expect(problems, [])
    shared, totals = compiled(AFFINE), []

    def use(number):
        x = np.full((number, 8), number, np.float32)
        totals.append(all(np.array_equal(shared(x), x * 2 + 1) for _ in range(500)))

    workers = [threading.Thread(target=use, args=(number,)) for number in range(1, 9)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expect(totals, [True] * 8)


def test_gil():
    """Python goes on while a model runs."""
    model = compiled(
        "dl 1\nmodel Long {\n  forward(x: f32[1024,1024]) -> (y: f32[1024,1024]) {\n    y = x @ x @ x @ x @ x @ x @ x @ x\n  }\n}\n"
    )
    x, state = np.zeros((1024, 1024), np.float32), {"done": False, "seen": 0}

    def count():
        while not state["done"]:
            state["seen"] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    seen = []
    for _ in range(5):
        before = state["seen"]
        model(x)
        seen.append(state["seen"] - before)
    state["done"] = True
    counter.join()
    if max(seen) < 5:
        raise Failure(f"the other thread counted {seen} times in runs of tens of milliseconds")


class Caller:
    """Calls the model from within an allocation of the model's own run."""

    def __init__(self, model):
        self.model = model

    def __array_namespace__(self):
        return self

    def __dlpack_device__(self):
        return X.__dlpack_device__()

    def __dlpack__(self, **options):
        return X.__dlpack__()

    def from_dlpack(self, array_):
        return self.model(X)


def test_call_within_a_call():
    model = compiled(AFFINE)
    with refused("the model was called while this thread runs it already"):
        model(Caller(model))
    expect_array(model(X), X * 2 + 1)


def test_fork():
    """A model of the CPU runs in a child that was forked after it ran, with its threads gone."""
    model = compiled(MLP, threads=2)
    arguments = [np.ones(shape, np.float32) for shape in ((64, 64), (64, 64), (64, 10))]
    expected = model(*arguments)
    receive, send = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: send.send(np.array_equal(model(*arguments), expected)))
    child.start()
    if not receive.poll(60):
        child.kill()
        raise Failure("the child does not answer")
    expect(receive.recv(), True)
    child.join()


def test_errors_are_pickled():
    import pickle
    error = pickle.loads(pickle.dumps(dlc.CompileError("a sentence", 1)))
    expect((type(error), str(error), error.code), (dlc.CompileError, "a sentence", dlc.Code.MODEL))


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
