"""What dlc says where it cannot do what it was asked for: whole messages, with their exit status.
"""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
from weight_cases import Suite, dlc, save

TINY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny.dl")
suite = Suite(sys.argv[1])
expect = suite.expect


def run(*arguments, program="dlc", **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([program, *arguments], text=True, errors="replace", **options)


def says(what, status, stderr, *arguments, **options):
    """`dlc ARGUMENTS` ends with the status, and these lines on stderr, but for those that are
    quoted from the model."""
    got = run(*arguments, **options)
    lines = re.sub(r"dlc-reproducer-\w+", "dlc-reproducer", got.stderr).splitlines()
    expect(what,
           (got.returncode, [line for line in lines if not line.startswith((" ", "module", "^"))]),
           (status, stderr))


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def edited(path, source, *changes):
    """Writes `source`'s text with each (old, new) of `changes` to `path`."""
    text = read(source)
    for old, new in changes:
        assert old in text, (path, old, text)
        text = text.replace(old, new)
    write(path, text)


says("a compile", 0, [], "compile", TINY, "-q", "-o", "tiny.bin")
says("the IR of fuse", 0, [], "compile", TINY, "--compile-to=fuse", "-o", "fused.mlir")
says("the IR of outline", 0, [], "compile", TINY, "--compile-to=outline", "-o", "outlined.mlir")
write("several.dl",
      "dl 1\nmodel M {\n  forward(a: f32[4], b: f32[4]) -> (p: f32[4], q: bf16[4]) {\n    p = a + b\n"
      "    q = to(a - b, bf16)\n  }\n}\n")
says("a model of two", 0, [], "compile", "several.dl", "-q", "--target", "cpu", "-o", "several.bin")

# What cannot be read or written.
says("a model that is none", 2,
     ["error: 'fused.mlir' is no .dl or .onnx file; IR needs 'dlc compile --compile-from=PHASE'"],
     "compile", "fused.mlir")
for name, advice in (
    ("net.pt",
     "tools/scripts/export_torch.py writes a .dl file and its weights from a PyTorch module"),
    ("net.keras",
     "tools/scripts/import_keras.py writes a .dl file and its weights from a Keras model"),
    ("net.pb", "convert it to ONNX, with tf2onnx for one"),
    ("net.safetensors", "it holds arrays alone: a .dl file names its weights by 'weights'"),
    ("net.bin",
     "'dlc run' runs a compiled model and 'dlc inspect' shows it; weights of PyTorch come by "
     "tools/scripts/export_torch.py")):
    write(name, "")
    for command in ("compile", "check"):
        says(f"{command} {name}", 2, [f"error: '{name}' is no .dl or .onnx file; {advice}"],
             command, name)
    os.remove(name)
for name, holds in (("several.dl", "a model's text"), ("w.safetensors", "weights")):
    says("--source of " + name, 2,
         [f"error: --source prints a kernel of a compiled model; '{name}' holds {holds}, expected a model.bin of "
                                    "'dlc compile'"], "inspect", name, "--source", "foo")
says("a folder in the way", 5, ["error: cannot make the folder 'tiny.bin/dump': Not a directory"],
     "compile", TINY, "--dump-dir", "tiny.bin/dump", "-o", "other.bin")
says("no folder", 5, ["error: cannot write 'nowhere/m.bin': there is no folder 'nowhere'"],
     "compile", TINY, "-o", "nowhere/m.bin")
says("a folder instead of standard input", 5, ["error: cannot read standard input: Is a directory"],
     "check", "-", stdin=os.open(".", os.O_RDONLY))
with open("/dev/full", "w") as full:
    says("a full disk", 5, ["error: cannot write to standard output: No space left on device"],
         "inspect", "tiny.bin", stdout=full)
    says("a full disk for an output", 5,
         ["error: cannot write to standard output: No space left on device"], "run", "tiny.bin",
         "--device", "cpu", "--input", "random", "--output", "@-", stdout=full)

# Calls that contradict themselves.
says("phases", 2, [
    "error: --compile-from=fuse --compile-to=fuse: nothing is left to do; expected a later phase to stop at"
], "compile", "fused.mlir", "--compile-from=fuse", "--compile-to=fuse")
says("weights of IR", 2, [
    "error: --weights belongs to a .dl model; the IR given to --compile-from names its weights itself"
], "compile", "fused.mlir", "--compile-from=fuse", "--weights", "w.npz")
for word, hint in (("rnu", "; did you mean 'run'? 'dlc"), ("convert", "; 'dlc"),
                   ("inspekt", "; did you mean 'inspect'? 'dlc")):
    says(f"dlc {word}", 2,
         [f"error: 'dlc' has no command '{word}'{hint} --help' shows what there is"], word, "m.bin",
         "--input", "x")
says("a misspelt option", 2, [
    "error: 'dlc run' has no option '--inputs'; did you mean '--input'? 'dlc run --help' shows what there is"
], "run", "tiny.bin", "--inputs", "x=@x.npy")
says("a misspelt option with a value", 2, [
    "error: 'dlc compile' has no option '--wieghts'; did you mean '--weights'? 'dlc compile "
    "--help' shows what there is"
], "compile", TINY, "--wieghts=w.npz")
says("a misspelt option that is required", 2, [
    "error: 'dlc import' has no option '--ouptut'; did you mean '--output'? 'dlc import "
    "--help' shows what there is"
], "import", "m.onnx", "--ouptut", "m.dl")
says("an option that is none", 2,
     ["error: 'dlc run' has no option '--frobnicate'; 'dlc run --help' shows what there is"], "run",
     "tiny.bin", "--frobnicate")
says("an option of no command", 2, [
    "error: 'dlc' has no option '--verison'; did you mean '--version'? 'dlc --help' shows what there is"
], "--verison")
says("a second model", 2, [
    "error: 'dlc run' takes no further argument, got 'two.bin'; 'dlc run --help' shows what there is"
], "run", "tiny.bin", "two.bin")
expect("dlc help", run("help").stdout, run("--help").stdout)
COMMANDS = re.findall(r"^  ([a-z]+) {3,}", run("--help").stdout.split("Subcommands:")[1], re.M)
expect("commands", len(COMMANDS) > 15, True)
helps = [("--help", )]
for command in COMMANDS[:-1]:  # the last one is help
    helps += [(command, "--help"), ("help", command)]
    options = re.findall(r"^  (?:-\w,)?--([a-z0-9-]+)", run(command, "--help").stdout, re.M)
    helps += [("help", command, "--" + option) for option in options]
for words in helps:
    shown = run(*words).stdout
    expect(f"80 columns: dlc {' '.join(words)}",
           (bool(shown), [line for line in shown.splitlines() if len(line) > 80]), (True, []))
says("no iterations", 2,
     ["error: --iterations: expected a number above 0, got '0'; 'dlc bench --help' explains it"],
     "bench", "tiny.bin", "--iterations", "0")
for value in ("-1", "nan", "-inf"):
    says("a duration of " + value, 2,
         [f"error: --duration: expected 0 or more, got '{value}'; 'dlc bench --help' explains it"],
         "bench", "tiny.bin", "--duration", value)
says("a tolerance below 0", 2,
     ["error: --atol: expected 0 or more, got '-0.5'; 'dlc run --help' explains it"], "run",
     "tiny.bin", "--atol", "-0.5")
for value in ("many", "1.5", "1e3", "3000000000"):
    says("--iterations " + value, 2, [
        "error: --iterations: expected a whole number of at most 2147483647, got '" + value
        + "'; 'dlc bench --help' explains it"
    ], "bench", "tiny.bin", "--iterations", value)
says("--atol small", 2,
     ["error: --atol: expected a number, got 'small'; 'dlc run --help' explains it"], "run",
     "tiny.bin", "--atol", "small")
for value in ("-1", "x", "18446744073709551616"):
    says("--seed " + value, 2, [
        "error: --seed: expected a whole number from 0 to 18446744073709551615, got '" + value
        + "'; 'dlc generate --help' explains it"
    ], "generate", "tiny.bin", "--tokens", "1", "--temperature", "1", "--seed", value)
for command, flag, least, most, value in (("run", "--threads", "0", "4096",
                                           "4097"), ("bench", "--threads", "0", "4096", "-1"),
                                          ("run", "--timeout", "0.001", "1000000",
                                           "0"), ("bench", "--timeout", "0.001", "1000000", "nan")):
    says(f"{flag} {value}", 2, [
        f"error: {flag}: expected a number from {least} to {most}, got '{value}'; 'dlc {command} --help' explains it"
    ], command, "tiny.bin", flag, value)
says(
    "--top-p 1.5", 2,
    ["error: --top-p: expected a number from 0 to 1, got '1.5'; 'dlc generate --help' explains it"],
    "generate", "tiny.bin", "--tokens", "1", "--temperature", "1", "--top-p", "1.5")
says("a precision by PyTorch's name", 2, [
    "error: --precision: 'fp16' is none of f32, tf32, f16, bf16, mixed, mixed-bf16; did you mean "
    "'f16'? 'dlc compile --help' explains it"
], "compile", TINY, "--precision", "fp16")
says("one target twice", 2, ["error: --target names 'cpu' twice; name each target once"],
     "compile", TINY, "--target", "cpu,cpu")
says("no device", 2,
     ["error: --device: unknown device 'tpu'; expected auto, cpu, cuda, cuda:N or cuda-emu; 'dlc run --help' "
                      "explains it"], "run", "tiny.bin", "--device", "tpu")
says("validation of kernels", 1, [
    "outlined.mlir:1:1: error: --validate-passes needs the model as one function; start before the "
    "compress phase"
], "compile", "outlined.mlir", "--compile-from=outline", "--validate-passes", "--target", "cpu",
     "-o", "other.bin")

# A phase that cannot go on: what it got is kept.
os.mkdir("temporary")
os.environ["TMPDIR"] = os.path.abspath("temporary")
kept = os.path.abspath("temporary") + "/dlc-reproducer.mlir"
edited("limit.mlir", "outlined.mlir", ("kind = #dlx.kind<map>", "kind = #dlx.kind<attention>"))
says("what a schedule cannot do", 3, [
    "limit.mlir:24:5: error: 'dlx.kernel' op is of kind 'attention' and has 0 "
    "dl.attention in its body; expected one",
    f"error: phase 'schedule' cannot compile this model; what it worked on is in {kept}"
], "compile", "limit.mlir", "--compile-from=outline", "-o", "other.bin", "--target", "cuda")
says("the IR of schedule", 0, [], "compile", TINY, "--target", "cpu", "--compile-to=schedule", "-o",
     "scheduled.mlir")
says("a target that the IR has not", 2, [
    "error: 'scheduled.mlir' has no module for target 'cuda'; expected one of those that it was made for"
], "compile", "scheduled.mlir", "--compile-from=schedule", "--target", "cuda", "-o", "other.bin")
edited("bug.mlir", "scheduled.mlir", ("@relu_mul(%arg0) ->", "@relu_mul(%0) ->"))
reads = "bug.mlir:9:7: error: 'dlx.launch' op writes a buffer that it reads"
bug = "error: internal error in phase 'buffers'; this is a bug of dlc: please report it"
says("an internal error", 70, [reads, bug + "; what it worked on is in " + kept], "compile",
     "bug.mlir", "--compile-from=schedule", "-o", "other.bin")
size = max(
    os.path.getsize(path) for path in glob.glob("temporary/*")
    if "--compile-from=schedule" in read(path).split("\n")[0])
# Phases may lie between the input and the failure: the reproducer holds what the last of them left.
edited("early.mlir", "outlined.mlir", ("@relu_mul(%arg0) ->", "@relu_mul(%0) ->"))
early = reads.replace("bug.mlir:9", "early.mlir:6")
before = set(glob.glob("temporary/*"))
says("an internal error after a phase that went well", 70,
     [early, bug + "; what it worked on is in " + kept], "compile", "early.mlir",
     "--compile-from=outline", "-o", "other.bin", "--target", "cpu")
made = (set(glob.glob("temporary/*")) - before).pop()
says("its reproducer", 70, [early, bug + "; what it worked on is in " + kept], "compile", made,
     "--compile-from=schedule", "--compile-to=buffers")
os.environ["TMPDIR"] = "nowhere"
says("no folder for temporary files", 70, [reads, bug + "; no reproducer could be written"],
     "compile", "bug.mlir", "--compile-from=schedule", "-o", "other.bin")
os.environ["TMPDIR"] = os.path.abspath("temporary")


def without_space():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


says("no space for a reproducer", 70, [
    reads, f"error: cannot write '{kept}': File too large; {size} bytes are needed, the process "
    "may write 0 (ulimit -f)", bug + "; no reproducer could be written"
], "compile", "bug.mlir", "--compile-from=schedule", "-o", "other.bin", preexec_fn=without_space)
expect("the reproducers", sorted(read(path).split("\n")[0] for path in glob.glob("temporary/*")), [
    "", "// dlc compile --compile-from=outline --compile-to=schedule THIS_FILE",
    *["// dlc compile --compile-from=schedule --compile-to=buffers THIS_FILE"] * 3])
os.environ.pop("TMPDIR")

# Inputs and outputs.
says("an input of no name", 2,
     ["error: the model has several inputs; name the one that is meant: a, b"], "run",
     "several.bin", "--device", "cpu", "--input", "@a.npy")
says("an output of no name", 2,
     ["error: the model has several outputs; name the one that is meant: p, q"], "run",
     "several.bin", "--device", "cpu", "--output", "@p.npy")
says("another input", 2, ["error: the model has no input 'c'; it has: a, b"],
     "run", "several.bin", "--device", "cpu", "--input", "c=random")
says("another output", 2, ["error: the model has no output 'r'; it has: p, q"],
     "run", "several.bin", "--device", "cpu", "--output", "r=@r.npy")
says("an input is missing", 2,
     ["error: input 'b', f32[4], is not given; add --input b=@FILE.npy or --input b=random"], "run",
     "several.bin", "--device", "cpu", "--input", "a=random")
says("an input twice", 2, ["error: input 'a' is given twice"],
     "run", "several.bin", "--device", "cpu", "--input", "a=random", "--input", "a=zeros")
says("no specification", 2,
     ["error: --input 'a=2x4xf31=random' is not understood; expected NAME=@FILE.npy, NAME=@FILE.npz, "
                             "NAME=8x1x28x28xf32=random or NAME=zeros"],
     "run", "several.bin", "--device", "cpu", "--input", "a=2x4xf31=random")
for option in ("--output", "--expected-output"):
    says("no file: " + option, 2,
         [f"error: {option} 'p=random' names no file; expected NAME=@FILE.npy or NAME=@FILE.npz"],
         "run", "several.bin", "--device", "cpu", option, "p=random")
np.save("u16.npy", np.zeros(4, np.uint16))
says("another type", 2, ["error: input 'a' is f32[4], but 'u16.npy' holds u16[4]; save it as f32"],
     "run", "several.bin", "--device", "cpu", "--input", "a=@u16.npy")
says("a type that npy lacks", 5,
     ["error: cannot write 'q.npy': npy has no dtype bf16; cast the output to f32"], "run",
     "several.bin", "--device", "cpu", "--input", "a=random", "--input", "b=random", "--output",
     "q=@q.npy")

# A file that the call names and that cannot be read gives 5, whatever reads it.
for command in (("compile", "several.dl", "-o", "other.bin"), ("check", "several.dl"), ("check",
                                                                                        "-")):
    says(" ".join(command) + " without its weights", 5,
         ["error: cannot read 'none.npz': No such file or directory"], *command, "--weights",
         "none.npz", input="dl 1\n", stdin=None)
says("weights that are a folder", 5,
     ["error: cannot read 'temporary': it is a directory; expected a file"], "compile",
     "several.dl", "--weights", "temporary", "-o", "other.bin")

# Weights that are not what they were when the IR was made.
write(
    "w.dl",
    'dl 1\nmodel M {\n  fc: Linear(3, 2)\n  forward(x: f32[2,3]) -> (y: f32[2,2]) {\n    y = fc(x)\n  }\n}\n'
)
arrays = {"fc.weight": np.zeros((2, 3), np.float32), "fc.bias": np.zeros(2, np.float32)}
for kind in ("safetensors", "npz"):
    save("w." + kind, arrays)
    says("IR over " + kind, 0, [], "compile", "w.dl", "--weights", "w." + kind,
         "--compile-to=import", "-o", f"w-{kind}.mlir")


def stale(what, status, message, kind):
    says(what, status, [message], "compile", f"w-{kind}.mlir", "--compile-from=import",
         "--validate-passes", "-o", "other.bin")


save("w.npz", {**arrays, "fc.bias": np.zeros(3, np.float32)})
stale(
    "another size", 1,
    "w-npz.mlir:4:10: error: weights file 'w.npz' has changed: 'fc.bias' has 12 bytes, expected 8",
    "npz")
save("w.npz", {"fc.weight": arrays["fc.weight"]})
stale("a weight gone", 1,
      "w-npz.mlir:4:10: error: 'w.npz' has no array 'fc.bias'; it holds: fc.weight", "npz")
os.truncate("w.safetensors", os.path.getsize("w.safetensors") - 4)
stale(
    "a file cut off", 1,
    "w-safetensors.mlir:4:10: error: weights file 'w.safetensors' has changed: it ends before 'fc.bias'",
    "safetensors")
os.remove("w.safetensors")
stale(
    "a file gone", 1,
    "w-safetensors.mlir:3:10: error: cannot read weights file 'w.safetensors': No such file or directory",
    "safetensors")

# What dlc inspect prints of packages, and what --dump-dir holds.
write("net.dl", "dl 1\ndim N = 1..8\nmodel Net {\n  a: Linear(3, 40)\n  b: Linear(40, 2)\n  forward(x: f32[N,3]) -> (y: f32[N,2]) {\n"
      "    y = b(softmax(a(x), dim=1))\n  }\n}\n")
save("net.npz", {"a.weight": np.zeros((40, 3), np.float32), "a.bias": np.zeros(40, np.float32),
                 "b.weight": np.zeros((2, 40), np.float32), "b.bias": np.zeros(2, np.float32)})
says("a dump", 0, [], "compile", "net.dl", "-q", "--weights", "net.npz", "--target", "cpu",
     "--dump-dir", "why it's so", "-o", "net.bin")
expect(
    "the plan",
    re.sub(r"[\d.]+ us modelled|(?<=reduce )[\d.]+", "...",
           read("why it's so/plan.txt")).splitlines(),
    [
        "target cpu", "", "buffers", "  %4  f32[N,40]  N*160 bytes  commands 0 to 1",
        "  %5  f32[40,3]  576 bytes  persistent", "  %6  f32[N,40]  N*160 bytes  commands 1 to 2",
        "  %7  f32[N,2]  N*8 bytes  commands 2 to 2", "  %8  f32[2,40]  2560 bytes  persistent", "",
        "commands (at load: init)", "  init  linear_pack %0 %5; map, ...",
        "  0  linear %arg0 %5 %1 %4; panels group=4 rows=48, ..., not reduce ...",
        "  1  softmax %4 %6; reduce, ...", "  init  linear_0_pack %2 %8; map, ...",
        "  2  linear_0 %6 %8 %3 %7; panels group=4 rows=48, ..., not reduce ...", ""
    ])
expect("the way back", read("why it's so/repro.sh").splitlines(), [
    "#!/bin/sh", "# Compiles once more what this folder shows.",
    f"cd '{os.getcwd()}' && exec 'dlc' 'compile' 'net.dl' '-q' '--weights' 'net.npz' '--target' 'cpu' '--dump-dir' "
    "'why it'\\''s so' '-o' 'net.bin'"])
text = run("inspect", "net.bin").stdout
text = re.sub(r"(, |avx2: |avx512: )[\d.]+ KiB", r"\1... KiB",
              text).replace("dlc " + run("--version").stdout.split()[1], "dlc ...")
text = re.sub(r"[\d.]+ us", "... us", text)
expect("inspect", text.splitlines(), [
    "Model 'Net', ... KiB, by dlc ...", "Inputs", "  x: f32[N,3]", "Outputs", "  y: f32[N,2]",
    "Symbolic dims", "  N = 1..8", "", "Program for cpu", "  code for avx2: ... KiB",
    "  code for avx512: ... KiB",
    "  memory: weights 968 bytes, made at load 3.1 KiB, intermediate 160*N + 160*N bytes, before reuse",
    "  kernels (launches in a run + at load)",
    "    'linear_pack'                    map           0 + 1   net.dl:7:19",
    "      plan: map, ... us modelled",
    "    'linear'                         contraction   1 + 0   net.dl:7:19",
    "      plan: panels (group=4 rows=48), ... us modelled; not reduce ... us",
    "    'softmax'                        reduce        1 + 0   net.dl:7:11",
    "      plan: reduce, ... us modelled",
    "    'linear_0_pack'                  map           0 + 1   net.dl:7:9",
    "      plan: map, ... us modelled",
    "    'linear_0'                       contraction   1 + 0   net.dl:7:9",
    "      plan: panels (group=4 rows=48), ... us modelled; not reduce ... us"
])
says("no CUDA program", 2,
     ["error: the package has no CUDA program; compile with --target cuda or cpu,cuda"], "inspect",
     "net.bin", "--source", "linear")
says("no such kernel", 2,
     ["error: the package has no kernel, op, layer or node 'lunch'; its kernels are: dlc_relu_mul"],
     "inspect", "tiny.bin", "--source", "lunch")

# What dlc bench prints, with its numbers made 0; the slowest kernel stands first.
text = run("bench", "net.bin", "--device", "cpu", "--threads", "1", "--duration", "0", "--warmup",
           "0").stdout.splitlines()
numbers = re.compile(r"\b\d[\d.]*(e[+-]\d+)?|avx\d+")
expect("bench", [numbers.sub("0", line) for line in text[:8]], [
    "Device: cpu (0, 0 thread)", "Load: 0 ms   First inference: 0 ms",
    "Memory: weights 0, made at load 0, intermediate 0, scratch 0 bytes",
    "=== Performance summary ===", "Iterations: 0 in 0 s", "Throughput: 0 qps",
    "Latency: min = 0 ms, max = 0 ms, mean = 0 ms, median = 0 ms, percentile(0%) = 0 ms, "
    "percentile(0%) = 0 ms, percentile(0%) = 0 ms", "=== Kernels ==="
])
expect(
    "the columns of bench", text[8],
    " Time %   Time (ms)  Calls    GFLOP/s      GB/s  Kernel                       Kind        Model lines"
)
expect("the kernels of bench", sorted(line[49:] for line in text[9:-1]), [
    "linear                       contraction net.dl:7:19",
    "linear_0                     contraction net.dl:7:9",
    "softmax                      reduce      net.dl:7:11"
])
expect("the last line of bench", numbers.sub("0", text[-1]).split(), ["0", "0", "total"])

# dlc without its compiler and the emulator.
os.makedirs("alone/bin")
program = shutil.copy(shutil.which("dlc"), "alone/bin/dlc")
folder = os.path.abspath("alone")
says("no compiler", 5,
     [f"error: cannot start the compiler '{folder}/bin/dlc-compile': No such file or directory; it belongs "
                        "beside dlc"], "compile", TINY, program=program)
report = run("doctor", "--device", "cpu", program=program).stdout.splitlines()
expect("doctor without the compiler", report[1],
       "Compiler      dlc-compile is not beside dlc; dlc runs models only")
says("no emulator", 5, [
    f"error: device cuda-emu needs {folder}/lib/libdlc_cuda_emu.so, which is not built; build the targets of "
    "test/emulator"
], "run", "tiny.bin", "--device", "cuda-emu", program=program)
suite.finish()
