"""What gpu-case by itself says of small models on the emulated GPU, where they are right and where
something is wrong."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
from cases import Failure  # noqa: E402
from dlc_tool import BUILD, dlc  # noqa: E402

sys.path.insert(0, HERE)
import make_folder  # noqa: E402

OUT, LIBRARIES = os.path.join(BUILD, "test-logs", "gpu-check"), os.path.join(BUILD, "lib")
GPU_CASE = os.path.join(BUILD, "bin", "gpu-case")
EMULATOR = {"DLC_LIBCUDA": os.path.join(LIBRARIES, "libdlc_cuda_emu.so"),
            "DLC_LIBNVRTC": os.path.join(LIBRARIES, "libdlc_nvrtc_emu.so")}
# exp has a kernel of its own between two products.
THREE = """dl 1
model Three {
  forward(x: f32[6,20], w: f32[20,30], v: f32[30,10]) -> (y: f32[6,10]) {
    a = x @ w
    b = exp(a * 0.1) @no_fuse
    y = b @ v
  }
}
"""
# One result is a constant, which a copy takes from the package.
CONSTANT = """func.func @main(%x: tensor<3xf32> {dl.name = "x"}) -> (tensor<7x9xf32> {dl.name = "y"}, tensor<3xf32> {dl.name = "z"}) {
  %y = dl.causal_mask : () -> tensor<7x9xf32>
  %z = dl.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  return %y, %z : tensor<7x9xf32>, tensor<3xf32>
}
"""
# The workspaces of the CUDA kernel have the type of its result.
ORDER = """func.func @main(%x: tensor<5000xi64> {dl.name = "x"}) -> (tensor<5000xi64> {dl.name = "y"}) {
  %y = dl.order %x {dim = 0 : i64, descending = false, count = affine_map<() -> (5000)>} : (tensor<5000xi64>) -> tensor<5000xi64>
  return %y : tensor<5000xi64>
}
"""
# The CUDA kernel wants weights packed as the CPU's does not.
STEPS = """module attributes {dl.symbols = [#dl.symbol<"N", 0, 15>]} {
func.func @main(%x: tensor<4x?x5xf32, #dl.t<[4, s0, 5]>> {dl.name = "x"}, %h: tensor<1x?x3xf32, #dl.t<[1, s0, 3]>> {dl.name = "h"},
                %c: tensor<1x?x17xf32, #dl.t<[1, s0, 17]>> {dl.name = "c"}, %w: tensor<68x5xf32> {dl.name = "w"},
                %r: tensor<68x3xf32> {dl.name = "r"},
                %b: tensor<68xf32> {dl.name = "b"}, %d: tensor<68xf32> {dl.name = "d"}, %p: tensor<3x17xf32> {dl.name = "p"})
    -> (tensor<4x?x3xf32, #dl.t<[4, s0, 3]>> {dl.name = "y"}) {
  %y, %n, %m = dl.lstm %x, %h, %c, %w, %r, %b, %d, %p
    {operandSegmentSizes = array<i32: 1, 2, 5, 0>, num_layers = 1 : i64, bidirectional = false, batch_first = false}
    : (tensor<4x?x5xf32, #dl.t<[4, s0, 5]>>, tensor<1x?x3xf32, #dl.t<[1, s0, 3]>>, tensor<1x?x17xf32, #dl.t<[1, s0, 17]>>, tensor<68x5xf32>,
       tensor<68x3xf32>, tensor<68xf32>, tensor<68xf32>, tensor<3x17xf32>)
    -> (tensor<4x?x3xf32, #dl.t<[4, s0, 3]>>, tensor<1x?x3xf32, #dl.t<[1, s0, 3]>>, tensor<1x?x17xf32, #dl.t<[1, s0, 17]>>)
  return %y : tensor<4x?x3xf32, #dl.t<[4, s0, 3]>>
}
}
"""


def run(*command, expect=0, **environment):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                             errors="replace", cwd="/", env={**os.environ, **environment})
    if process.returncode != expect:
        raise Failure(f"exit status {process.returncode}, expected {expect}, from {command[0]}\n"
                      f"{process.stdout[-3000:]}{process.stderr[-1000:]}")
    return process.stdout


def has(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.M):
            raise Failure(f"expected '{pattern}' in\n{text[-3000:]}")


def folder(name):
    place = os.path.join(OUT, name)
    os.makedirs(place)
    return place


def write(place, name, *lines):
    path = os.path.join(place, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return path


def replayed(place, status=0):
    """What gpu-case says of a folder with plan.txt and model.bin."""
    return run(GPU_CASE, place, "--repeat", "1", expect=status, DLC_CACHE_DIR="", **EMULATOR)


def made(name, model, *plan):
    """A folder with these."""
    place = folder(name)
    write(place, "plan.txt", *plan)
    dlc("compile", write(place, "model.mlir", model), "--compile-from=import", "--target",
        "cpu,cuda", "--chains", "never", "-q", "-o", os.path.join(place, "model.bin"))
    return place


def same_noise():
    """Numbers that both machines make are the same."""
    place = folder("noise")
    plan, expected = make_folder.Plan(), []
    plan.run("all")
    for seed, dtype in enumerate(("f64", "f32", "f16", "bf16"), start=4000000000):
        for scale, offset in ((1.75, 0), (87.5, 0), (0.3, 0.1)):
            plan.input(dtype, [7, 301], f"noise {seed} {scale} {offset}")
            expected.append(make_folder.noise(seed, scale, offset, dtype, [7, 301]))
    for dtype, low, high in (("i64", -5, 2**40), ("i8", -4, 4), ("ui8", 0, 4), ("f16", -4, 4),
                             ("i32", -4, 4), ("i1", 0, 1)):
        plan.input(dtype, [999], f"integers 3 {low} {high}")
        expected.append(make_folder.integers(3, low, high, dtype, [999]))
    plan.write(place)
    run(GPU_CASE, place, "--inputs", os.path.join(place, "made"))
    with open(os.path.join(place, "made"), "rb") as source:
        if source.read() != b"".join(map(make_folder.to_bytes, expected)):
            raise Failure("gpu-case makes other numbers than make_folder.py")


def wrong_kernel():
    """A wrong kernel is named; those before and after it are right."""
    place = folder("wrong")
    model, outlined, package = (os.path.join(place, name)
                                for name in ("model.dl", "outlined.mlir", "model.bin"))
    write(place, "model.dl", THREE)
    write(place, "plan.txt", "run one", "in f32 6 20 = noise 1 1 0", "in f32 20 30 = noise 2 1 0",
          "in f32 30 10 = noise 3 1 0", "out y roundings 600")
    dlc("compile", model, "--target", "cpu,cuda", "--compile-to=outline", "-o", outlined)
    with open(outlined, encoding="utf-8") as source:
        text = source.read()
    cuda = text.index("module @cuda")
    for changed, status in ((text, 0), (text[:cuda] + text[cuda:].replace("dl.exp ", "dl.tanh "),
                                        4)):
        with open(outlined, "w", encoding="utf-8") as out:
            out.write(changed)
        dlc("compile", outlined, "--compile-from=outline", "--chains", "never", "-q", "-o", package)
        said = replayed(place, status)
        named = re.findall(r"^FAILED kernel '(\w+)'", said, re.M)
        right = set(re.findall(r"^replayed (\w+)", said, re.M))
        if len(named) != (status > 0) or any("exp" not in name and "mul" not in name
                                             for name in named):
            raise Failure(f"these kernels are named: {named}\n{said}")
        if not named and len(right) < 3 or named and (not right or right & set(named)):
            raise Failure(f"these kernels are right: {right}\n{said}")
    has(said, r"^FAILED y, one: \d+ of 60 values are wrong", r"^1 outputs, 2 wrong$")


def inputs_from_a_file():
    """Inputs come from inputs.bin: it may be missing where they are empty, and nowhere else."""
    place = folder("inputs")

    def asked(elements, expect, data=None):
        write(place, "plan.txt", "run one", f"in f32 0 {elements} = file",
              f"in f32 {elements} = file", "out y exact")
        if data is not None:
            with open(os.path.join(place, "inputs.bin"), "wb") as out:
                out.write(data)
        return run(GPU_CASE, place, "--inputs", os.path.join(place, "made"), expect=expect)

    short = rf"^error: {re.escape(place)}/plan\.txt:3: cannot be understood, or inputs\.bin is too short$"
    asked(0, 0)
    has(asked(5, 5), short)
    has(asked(5, 5, bytes(19)), short)
    asked(5, 0, bytes(range(20)))
    with open(os.path.join(place, "made"), "rb") as source:
        if source.read() != bytes(range(20)):
            raise Failure("gpu-case feeds other inputs than inputs.bin has")
    has(asked(4, 5), rf"^error: {re.escape(place)}/inputs\.bin holds more than plan\.txt says$")


def constant_result():
    """A result that is a constant of the package is compared like others."""
    said = replayed(
        made("constant", CONSTANT, "run one", "in f32 3 = noise 1 1 0", "out y exact",
             "out z exact"))
    has(said, r"^ran copy$", r"^replayed dlc_neg$", r"^2 outputs, 0 wrong$")


def cleared_workspace():
    """A workspace is cleared: what its kernel leaves there is nobody's fault, what was not cleared
    is."""
    place = made("workspace", ORDER, "run one", "in i64 5000 = integers 1 -4 4", "out y exact")
    has(replayed(place), r"^replayed dlc_order$", r"^replayed dlc_order_clear$",
        r"^replayed dlc_order_clear2$")
    scheduled = os.path.join(place, "scheduled.mlir")
    dlc("compile", os.path.join(place, "model.mlir"), "--compile-from=import", "--target",
        "cpu,cuda", "--chains", "never", "--compile-to=schedule", "-o", scheduled)
    with open(scheduled, encoding="utf-8") as source:
        text = source.read()
    begin = text.index("gpu.func @dlc_order_clear2")
    end = text.index("gpu.func", begin + 1)
    changed, count = re.subn(r"(?<=arith\.constant )0 : i(?=(32|64)\b)", "7 : i", text[begin:end])
    if count != 1:
        raise Failure(f"{count} zeros are found in\n{text[begin:end]}")
    write(place, "scheduled.mlir", text[:begin] + changed + text[end:])
    dlc("compile", scheduled, "--compile-from=schedule", "-q", "-o",
        os.path.join(place, "model.bin"))
    said = replayed(place, 4)
    has(
        said,
        r"^FAILED kernel 'dlc_order_clear2' \(scheduled\.mlir:\d+:\d+\): what it clears is not 0 everywhere$",
        r"^replayed dlc_order_clear$")
    if re.search("^replayed dlc_order_clear2$", said, re.M):
        raise Failure(f"a kernel is right and wrong\n{said}")


def unread_result():
    """What a kernel wrote is not known to be right where nothing reads it: that is no fault and no
    confirmation."""
    packs = {"dlc_lstm_steps_pack", "dlc_lstm_steps_pack2"}
    for n, known in ((2, packs), (0, set())):
        sizes = (f"4 {n} 5", f"1 {n} 3", f"1 {n} 17", "68 5", "68 3", "68", "68", "3 17")
        plan = [f"in f32 {dims} = noise {seed} 1 0" for seed, dims in enumerate(sizes)]
        said = replayed(made(f"steps{n}", STEPS, "run one", *plan, "out y roundings 600"))
        for word in ("ran", "replayed"):
            found = packs & set(re.findall(rf"^{word} (\w+)$", said, re.M))
            if found != known:
                raise Failure(f"N = {n}: of these is said that they '{word}': {found}\n{said}")


TESTS = (same_noise, wrong_kernel, inputs_from_a_file, constant_result, cleared_workspace,
         unread_result)
