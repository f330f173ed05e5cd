"""What importing a network of others takes: seconds and peak memory of `dlc compile MODEL.onnx` and
of `dlc import`, for ResNet-50, BERT-base and GPT-2 as PyTorch exports them. Part of
tools/scripts/bench; runs in the Python of the export tests."""
import importlib.util
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), name) for name in ("conformance", "aten")]
import torch_networks  # noqa: E402
from dlc_tool import DLC  # noqa: E402
from onnx_exports import export_onnx  # noqa: E402

SECONDS, MORE_BYTES = 5, 500 << 20  # of import and compile; memory beyond twice the weights
ROUNDS = 3
NETWORKS = ("resnet50", "bert", "gpt2")


# A process that is spawned inherits the peak of its parent, which PyTorch has made large here: a
# small one measures.
MEASURE = """import os, sys, time
begin = time.monotonic()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(status, time.monotonic() - begin, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)"""


def measured(*command):
    """Seconds, peak bytes and seconds of all processors of a process."""
    run = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], stdout=subprocess.PIPE,
                         text=True, check=True)
    status, seconds, peak, processor = run.stdout.split()
    if int(status):
        sys.exit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(int(status))}")
    return float(seconds), int(peak), float(processor)


def verdict(value, goal, unit):
    return f"goal {goal:.4g} {unit}: " + ("met" if value <= goal else
                                          f"MISSED by {value - goal:.3g} {unit}")


def main():
    missing = [
        name for name in ("torch", "torchvision", "transformers")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        print(
            f"Import: not measured, because this Python has no {', '.join(missing)} (tools/scripts/setup --tests)"
        )
        return
    import torch
    print(f"Import and compile of networks that PyTorch exported (least of {ROUNDS} rounds)")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in NETWORKS:
            make, inputs_of, whole, _, outputs, dynamic = torch_networks.NETWORKS[name]
            torch.manual_seed(1)
            generator = torch_networks.np.random.default_rng(2)
            inputs = {
                key: torch.from_numpy(value) for key, value in inputs_of(whole, generator).items()
            }
            module = make("whole").eval()
            weights = sum(parameter.numel() * parameter.element_size()
                          for parameter in module.parameters())
            path = export_onnx(module, inputs, folder, outputs, dynamic)
            for what, command in (("compile", (DLC, "compile", path, "-q", "-o", "model.bin")),
                                  ("import", (DLC, "import", path, "-o", "model.dl", "--force"))):
                runs = [measured(*command) for _ in range(ROUNDS)]
                seconds, memory = min(run[0] for run in runs), max(run[1] for run in runs)
                allowed = 2 * weights + MORE_BYTES
                print(f"  {name:9} {what:8} {seconds:6.2f} s ({verdict(seconds, SECONDS, 's')}), "
                      f"{memory / 1e6:6.0f} MB for {weights / 1e6:.0f} MB of weights "
                      f"({verdict(memory / 1e6, allowed / 1e6, 'MB')})", flush=True)
            os.remove(path)


if __name__ == "__main__":
    main()
