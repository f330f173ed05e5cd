"""What a call from Python takes beyond the C API for a model of two layers on the CPU: at most
LIMIT microseconds, and what PyTorch needs to allocate the result. And what `import dlc` takes."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from models import BUILD, Failure, compiled, run

LIMIT = 3.0
IMPORT_LIMIT = 50.0  # milliseconds
MLP = """dl 1
model Mlp {
  fc1: Linear(16, 16)
  fc2: Linear(16, 4)
  forward(x: f32[1,16]) -> (y: f32[1,4]) { y = fc2(relu(fc1(x))) }
}
"""


def mlp(**options):
    random = np.random.default_rng(1)
    weights = {
        name: random.standard_normal(dims, np.float32)
        for name, dims in (("fc1.weight", (16, 16)), ("fc1.bias", (16, )), ("fc2.weight", (4, 16)),
                           ("fc2.bias", (4, )))
    }
    return compiled(MLP, weights=weights, **options)


def microseconds(call, calls=200, rounds=300):
    """The best of some rounds: other work of the machine only adds to it."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best * 1e6


def of_c_api(package):
    """The fastest run that `dlc bench` sees: its own loop calls the C API."""
    done = subprocess.run([
        os.path.join(BUILD, "bin", "dlc"), "bench", package, "--device", "cpu", "--threads", "1",
        "--duration", "1", "--json"
    ], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["latency_ms"]["min"] * 1e3


def call_times(x):
    """Microseconds of a call with x, an array or tensor [1, 16], and of the C API's part of it."""
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "mlp.bin")
        model = mlp(output=package)
        return microseconds(lambda: model(x)), of_c_api(package)


def import_milliseconds(rounds=5):
    """Milliseconds of a processor that `import dlc` takes in a new process, the least of some, and
    the large packages that it loads."""
    program = ("import sys, time\nbegin = time.process_time()\nimport dlc\nprint(time.process_time() - begin)\n"
               "print(*[name for name in ('numpy', 'torch', 'subprocess') if name in sys.modules])")
    took, loaded = [], ""
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True,
                              check=True,
                              env={**os.environ, "PYTHONPATH": os.path.join(BUILD, "python")})
        seconds, loaded = done.stdout.splitlines()
        took.append(float(seconds) * 1e3)
    return min(took), loaded.split()


def measure(make, allocation=0.0):
    """`allocation`: microseconds that the framework takes for the result."""
    x = make()
    python, own = call_times(x)
    print(
        f"{type(x).__name__}: {python:.2f} us, of which the C API {own:.2f} us and the allocation of the result {allocation:.2f} us"
    )
    if python - own - allocation > LIMIT:
        raise Failure(
            f"a call takes {python - own - allocation:.2f} us beyond the C API; the limit is {LIMIT}"
        )


def test_numpy():
    measure(lambda: np.ones((1, 16), np.float32))


def test_import():
    took, loaded = import_milliseconds()
    print(f"import dlc: {took:.1f} ms")
    if loaded:
        raise Failure(f"import dlc loads {' and '.join(loaded)}")
    if took > IMPORT_LIMIT:
        raise Failure(f"import dlc takes {took:.1f} ms; the limit is {IMPORT_LIMIT}")


def test_torch():
    import torch
    device = torch.ones(1).device
    measure(lambda: torch.ones(1, 16),
            microseconds(lambda: torch.empty((1, 4), dtype=torch.float32, device=device)))


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
