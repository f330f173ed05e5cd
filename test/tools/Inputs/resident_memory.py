"""resident_memory.py FOLDER LIB: by how much a process grows that loads and runs a model, in f32
and in 8 bits, and the bytes of the files."""
import os
import re
import subprocess
import sys

import numpy as np
from weight_cases import ROOT, Suite, dlc, numbers, save

sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
from runtime_session import Session  # noqa: E402

WIDTH, LAYERS = 2048, 4


def resident():
    """Bytes of this process in memory, its own and those of files."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return 1024 * sum(
            int(size) for size in re.findall(r"^Rss(?:Anon|File):\s+(\d+)", status.read(), re.M))


def grown(library, package):
    """How much loading `package` and three runs have added; the first of all is another model's,
    with what every model needs."""
    x = np.ones((1, 8), np.float32)
    with Session(library, "small.bin", "cpu") as session:
        session.run({"x": x})
    before = resident()
    with Session(library, package, "cpu") as session:
        for _ in range(3):
            session.run({"x": np.ones((1, WIDTH), np.float32)})
        return resident() - before


if sys.argv[1] == "grown":
    print(grown(*sys.argv[2:]))
    sys.exit()
suite, library = Suite(sys.argv[1]), os.path.join(sys.argv[2], "libdlc_runtime.so")
expect = suite.expect


def model(name, width, layers):
    calls = "".join(f"    {'y' if i == layers - 1 else 'x'} = relu(fc{i}(x))\n"
                    for i in range(layers))
    members = "".join(f"  fc{i}: Linear({width}, {width})\n" for i in range(layers))
    with open(name + ".dl", "w", encoding="utf-8") as out:
        out.write(f"dl 1\ndim N = 1..8\nmodel M {{\n{members}  forward(x: f32[N,{width}]) -> (y: f32[N,{width}]) {{\n{calls}  }}\n}}\n"
                  f"weights \"{name}.safetensors\"\n")
    save(
        name + ".safetensors", {
            f"fc{i}.{part}": numbers(*shape, seed=i) / np.float32(width**0.5) for i in range(layers)
            for part, shape in (("weight", (width, width)), ("bias", (width, )))
        })


model("small", 8, 1)
model("large", WIDTH, LAYERS)
np.savez("c.npz", x=numbers(16, WIDTH))
FORMS = {
    "f32": [], "int8": ["--quantize", "int8", "--calib", "c.npz"],
    "int8, no refit": ["--quantize", "int8", "--no-refit", "--calib",
                       "c.npz"], "w8": ["--quantize", "w8"]
}
expect("small", dlc("compile", "small.dl", "--target", "cpu", "-q", "-o", "small.bin").stderr, "")
size, memory = {}, {}
for form, flags in FORMS.items():
    expect(
        form,
        dlc("compile", "large.dl", "--target", "cpu", "-q", "--opt-shapes", f"x:1x{WIDTH}", *flags,
            "-o", "m.bin").stderr, "")
    size[form] = os.path.getsize("m.bin")
    # Twice: a file that the kernel holds in larger pieces by now must cost no more.
    for _ in range(2):
        run = subprocess.run([sys.executable, __file__, "grown", library, "m.bin"],
                             capture_output=True, text=True)
        expect(f"{form} runs", run.stderr, "")
        memory[form] = max(memory.get(form, 0), int(run.stdout))
weights = 4 * WIDTH * WIDTH * LAYERS
expect(f"f32 holds its weights once: {memory['f32']} of {weights}",
       weights < memory["f32"] < 1.05 * weights, True)
for form in ("int8", "int8, no refit", "w8"):
    expect(f"memory of {form}: {memory[form]} of {memory['f32']}", memory[form]
           <= 0.30 * memory["f32"], True)
for form in ("int8, no refit", "w8"):
    expect(f"file of {form}: {size[form]} of {size['f32']}", size[form] <= 0.30 * size["f32"], True)
suite.finish()
