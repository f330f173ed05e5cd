"""What a model says of inputs whose dims are in range and too small for one of its ops: needs.py
NEEDS.DL FOLDER DEVICE..."""
import re
import subprocess
import sys

text, folder, devices = sys.argv[1], sys.argv[2], sys.argv[3:]
# Model: dims of its inputs that it refuses, dims next to them that it takes, what it says.
CASES = {
    "Topk": (["2x4"], ["2x5"], "topk needs 5 or more along dim 1 of f32[2,T]; it would be 4"),
    "Reflect": (["1x2x3"], ["1x2x4"],
                "pad needs 4 or more along dim 2 of f32[1,2,T]; it would be 3"),
    "Circular": (["1x2x2"], ["1x2x3"],
                 "pad needs 3 or more along dim 2 of f32[1,2,T]; it would be 2"),
    "Replicate": (["1x2x0"], ["1x2x1"],
                  "pad needs 1 or more along dim 2 of f32[1,2,N]; it would be 0"),
    "Crop": (["2x2"], ["2x3"],
             "pad gives f32[2,T - 3], where T - 3 must be 0 or more; it would be -1"),
    "Conv": (["1x1x4"], ["1x1x5"],
             "conv1d gives f32[1,1,T - 4], where T - 4 must be 1 or more; it would be 0"),
    "Pool": (["1x1x4"], ["1x1x5"],
             "avg_pool1d gives f32[1,1,T/5], where T/5 must be 1 or more; it would be 0"),
    "Unfold": (["1x1x1x1"], ["1x1x3x3"],
               "unfold needs 3 or more along dim 2 of f32[1,1,T,T]; it would be 1"),
    "Amax": (["2x0"], ["2x1"], "amax needs 1 or more along dim 1 of f32[2,N]; it would be 0"),
    "Argmin": (["2x0"], ["2x1"], "argmin needs 1 or more along dim 1 of f32[2,N]; it would be 0"),
    "Max": (["2x0"], ["2x1"], "max_dim needs 1 or more along dim 1 of f32[2,N]; it would be 0"),
    "Halve": (["1x1x1"], ["1x1x2"],
              "interpolate gives f32[1,1,T/2], where T/2 must be 1 or more; it would be 0"),
    "Adaptive": (["1x1x0"], ["1x1x1"],
                 "adaptive_avg_pool1d needs 1 or more along dim 2 of f32[1,1,N]; it would be 0"),
    "Created": (["4"], ["5"],
                "ones gives f32[T - 5,T - 5], where T - 5 must be 0 or more; it would be -1"),
    "Repeated": (["1x4"], ["1x5"],
                 "expand gives f32[T - 5,T], where T - 5 must be 0 or more; it would be -1"),
    "Filled": (["6", "5"], ["5", "5"],
               "zeros gives f32[T*-1 + S], where T*-1 + S must be 0 or more; it would be -1"),
    "Conv2": (["1x1x4x9"], ["1x1x5x9"],
              "conv2d gives f32[1,1,T - 4,5], where T - 4 must be 1 or more; it would be 0"),
    "Conv3": (["1x1x4x9x9"], ["1x1x5x9x9"],
              "conv3d gives f32[1,1,T - 4,5,5], where T - 4 must be 1 or more; it would be 0"),
    "MaxPool2": (["1x1x9x2"], ["1x1x9x3"],
                 "max_pool2d gives f32[1,1,3,T/3], where T/3 must be 1 or more; it would be 0"),
    "MaxPool3": (["1x1x9x9x2"], ["1x1x9x9x3"],
                 "max_pool3d gives f32[1,1,3,3,T/3], where T/3 must be 1 or more; it would be 0"),
    "Amin": (["2x0"], ["2x1"], "amin needs 1 or more along dim 1 of f32[2,N]; it would be 0"),
    "Argmax": (["2x0"], ["2x1"], "argmax needs 1 or more along dim 1 of f32[2,N]; it would be 0"),
    "Min": (["2x0"], ["2x1"], "min_dim needs 1 or more along dim 1 of f32[2,N]; it would be 0"),
    "AdaptiveMax": (["1x1x0x4"], [
        "1x1x1x4"
    ], "adaptive_max_pool2d needs 1 or more along dim 2 of f32[1,1,N,4]; it would be 0"),
    "Slice": (["5"], ["4"],
              "slice gives f32[T*-1 + 4], where T*-1 + 4 must be 0 or more; it would be -1"),
    "Deform": (["1x1x4x9"], [
        "1x1x5x9"
    ], "deform_conv2d gives f32[1,1,T - 4,5], where T - 4 must be 1 or more; it would be 0"),
    "Upfirdn": (["1x1x4x9"], ["1x1x5x9"],
                "upfirdn2d gives f32[1,1,T - 4,5], where T - 4 must be 1 or more; it would be 0"),
    "Positions1": (["1x1x2"], [
        "1x1x3"
    ], "max_pool1d_with_indices gives f32[1,1,T/3], where T/3 must be 1 or more; it would be 0"),
    "Positions2": (["1x1x9x2"], [
        "1x1x9x3"
    ], "max_pool2d_with_indices gives f32[1,1,3,T/3], where T/3 must be 1 or more; it would be 0"),
    "AvgPool2": (["1x1x9x2"], ["1x1x9x3"],
                 "avg_pool2d gives f32[1,1,3,T/3], where T/3 must be 1 or more; it would be 0"),
    "AvgPool3": (["1x1x9x9x2"], ["1x1x9x9x3"],
                 "avg_pool3d gives f32[1,1,3,3,T/3], where T/3 must be 1 or more; it would be 0"),
    # One patch of three by three has one place in a side of 3, and (T - 2)^2 says the same of a
    # side of 1.
    "Fold": (["1x1x1x1"], ["1x1x3x3"],
             "fold gives f32[1,1,T,T], where T must be 3 or more; it would be 1"),
}
inputs = {
    name: re.findall(r"(\w+): f32\[", ports)
    for name, ports in re.findall(r"model (\w+) \{ forward\((.*?)\) ->",
                                  open(text).read())
}
assert inputs.keys() == CASES.keys(), inputs.keys() ^ CASES.keys()
failures = 0


def run(package, device, names, shapes):
    given = [
        part for name, shape in zip(names, shapes)
        for part in ("--input", f"{name}={shape}xf32=random")
    ]
    done = subprocess.run(["dlc", "run", package, "--device", device, *given],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


def check(what, is_right, said):
    global failures
    if not is_right:
        failures += 1
        print(f"{what}: {said}")


for name, (refused, taken, sentence) in CASES.items():
    package = f"{folder}/{name}.bin"
    subprocess.run(
        ["dlc", "compile", text, "--model", name, "--validate-passes", "-q", "-o", package],
        check=True)
    for device in devices:
        status, said = run(package, device, inputs[name], refused)
        whole = "error: the model does not take inputs of these dims: "
        check(f"{name} of {refused} on {device}", status == 2 and said.startswith(whole)
              and said.rstrip().endswith(": " + sentence), f"{status}: {said}")
        status, said = run(package, device, inputs[name], taken)
        check(f"{name} of {taken} on {device}", status == 0, f"{status}: {said}")
print(f"{len(CASES)} models, {failures} failures")
