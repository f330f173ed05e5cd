"""bad_output.py FOLDER: whatever keeps dlc from writing a file, it says which and why, the old file
stays, nothing else is left.

A full disk is a small tmpfs in a mount namespace of our own, where the system lets us have one; a
limit on the size of files stands in for it everywhere."""
import os
import resource
import signal
import subprocess
import sys

import numpy as np
from weight_cases import Suite, numbers, save

suite = Suite(sys.argv[1])
expect = suite.expect
LOOSE = "dl 1\nmodel M{\nforward( x:f32[4] )->(y:f32[4]) {y=relu( x )}\n}\n" + "# a long comment\n" * 500
WIDE = "dl 1\nmodel M {\n  fc: Linear(64, 64)\n  forward(x: f32[64,64]) -> (y: f32[64,64]) {\n    y = fc(x)\n  }\n}\n" \
    'weights "wide.safetensors"\n'
NOBODY = 65534


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def says(what, status, stderr, *arguments, stdout="", **options):
    run = subprocess.run(["dlc", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, errors="replace", **options)
    expect(what, (run.returncode, run.stdout, run.stderr), (status, stdout, stderr))


write("wide.dl", WIDE)
save("wide.safetensors", {"fc.weight": numbers(64, 64), "fc.bias": numbers(64)})
save("new.safetensors", {"fc.weight": numbers(64, 64, seed=1), "fc.bias": numbers(64, seed=1)})
says("a compile", 0, "", "compile", "-q", "wide.dl", "--target", "cpu", "-o", "wide.bin")
PACKAGE = read("wide.bin")
ARRAY = 128 + 4 * 64 * 64
write("loose.dl", LOOSE)
FORMATTED = len(
    subprocess.run(["dlc", "fmt", "-"], input=LOOSE.encode(), stdout=subprocess.PIPE,
                   check=True).stdout)
WRITERS = (("out.bin", len(PACKAGE), ("compile", "-q", "wide.dl", "--target", "cpu", "-o")),
           ("new.bin", len(PACKAGE),
            ("refit", "-q", "wide.bin", "--weights", "new.safetensors",
             "-o")), ("y.npy", ARRAY, ("run", "wide.bin", "--device", "cpu", "--input", "random",
                                       "--output")), ("loose.dl", FORMATTED, ("fmt", )))


def no_room(place, why, **options):
    """Each writer, to a file that exists and to one that does not."""
    for name, needed, arguments in WRITERS:
        path = place + name
        spec = "@" + path if arguments[0] == "run" else path
        for old in (LOOSE,) if arguments[0] == "fmt" else ("old", None):
            if old is not None:
                write(path, old)
            before = sorted(os.listdir(place or "."))
            says(f"{arguments[0]}: no room for {path}", 5,
                 f"error: cannot write '{path}': {why(needed, old)}\n", *arguments, spec, **options)
            expect(f"{arguments[0]}: nothing is left of {path}", sorted(os.listdir(place or ".")),
                   before)
            if old is not None:
                expect(f"{arguments[0]}: {path} is as it was", read(path).decode(), old)
                os.remove(path)
    if not place:  # in place: the model itself is the file
        path = "model.bin"
        with open(path, "wb") as out:
            out.write(PACKAGE)
        says("refit in place", 5, f"error: cannot write '{path}': {why(len(PACKAGE), None)}\n",
             "refit", "-q", path, "--weights", "new.safetensors", **options)
        expect("refit in place: the model is as it was", read(path) == PACKAGE, True)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as a shell's ulimit leaves it


DISK, PAGE = 12288, 4096
if sys.argv[2:] == ["full disk"]:  # in a mount namespace of its own
    os.makedirs("disk", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", "disk"], check=True)
    no_room("disk/", lambda needed, old: f"No space left on device; {needed} bytes are needed, "
            f"{DISK - -(-len(old or '') // PAGE) * PAGE} are free in 'disk'")
    suite.finish()

no_room(
    "", lambda needed, old:
    f"File too large; {needed} bytes are needed, the process may write 4096 (ulimit -f)",
    preexec_fn=small_files)
namespace = next((words for words in (["unshare", "-m"], ["unshare", "-rm"])
                  if not subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode),
                 None)
if namespace:
    full = subprocess.run([*namespace, sys.executable, __file__, ".", "full disk"],
                          stdout=subprocess.PIPE, text=True)
    expect("a full disk", (full.returncode, full.stdout.splitlines()[-1:]),
           (0, ["19 passed, 0 failed"]))
    print(full.stdout, end="", file=sys.stderr)
else:
    print("no full disk: the system gives us no mount namespace")

# A folder that may not be written, a folder that is none, and files in the way.
os.makedirs("closed", exist_ok=True)
os.makedirs("folder", exist_ok=True)
os.makedirs("folder.npy", exist_ok=True)
write("closed/kept.bin", "kept")
write("closed/loose.dl", LOOSE)
write("closed/kept.npy", "kept")
os.chmod("closed", 0o555)
for name in ("closed/kept.bin", "closed/kept.npy"):
    os.chmod(name, 0o444)
# The rights of files bind everybody but root.
anybody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
for name, _, arguments in WRITERS[:3]:
    is_run = arguments[0] == "run"
    for path, why in (("closed/new.bin", "Permission denied"), ("closed/kept.bin",
                                                                "Permission denied"),
                      ("folder", "it is a directory; name a file in it"),
                      ("nowhere/x.bin", "there is no folder 'nowhere'"),
                      ("wide.dl/x.bin", "there is no folder 'wide.dl'")):
        path = path.replace(".bin", ".npy").replace("folder", "folder.npy") if is_run else path
        says(f"{arguments[0]} to {path}", 5, f"error: cannot write '{path}': {why}\n", *arguments,
             "@" * is_run + path, **anybody)
says("fmt in a closed folder", 5, "error: cannot write 'closed/loose.dl': Permission denied\n",
     "fmt", "closed/loose.dl", **anybody)
expect("the closed folder is as it was",
       [read("closed/" + name).decode() for name in sorted(os.listdir("closed"))],
       ["kept", "kept", LOOSE])
os.chmod("closed", 0o755)
long = "n" * 300 + ".npy"
says("a name too long", 5, f"error: cannot write '{long}': File name too long\n", "run", "wide.bin",
     "--device", "cpu", "--input", "random", "--output", "@" + long)

# Standard output that takes nothing: full, closed, or a pipe whose reader has gone.
PRINTERS = {
    "run": ("run", "wide.bin", "--device", "cpu", "--input", "random"),
    "inspect": ("inspect", "wide.bin"), "check": ("check", "wide.dl"), "help": ("--help", ),
    "help of a command": ("run", "--help"), "the formatted text": ("fmt", "--stdout", "wide.dl"),
    "the IR": ("compile", "wide.dl", "--compile-to=import"),
    "the package": ("compile", "wide.dl", "--target", "cpu", "-o", "-"),
    "the array": ("run", "wide.bin", "--device", "cpu", "--input", "random", "--output", "@-"),
    "facts of a model": ("inspect", "wide.dl"), "weights": ("inspect", "wide.safetensors")
}
with open("/dev/full", "w", encoding="utf-8") as full:
    for what, arguments in PRINTERS.items():
        for kind, options, why in (("full", {"stdout": full}, "No space left on device"),
                                   ("closed", {"preexec_fn": lambda: os.close(1)},
                                    "Bad file descriptor")):
            run = subprocess.run(["dlc", *arguments], stderr=subprocess.PIPE, text=True, **options)
            expect(f"{what}: standard output is {kind}", (run.returncode, run.stderr),
                   (5, f"error: cannot write to standard output: {why}\n"))
        reader, writer = os.pipe()
        os.close(reader)
        run = subprocess.run(["dlc", *arguments], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        expect(f"{what}: the reader has gone", (run.returncode, run.stderr), (-signal.SIGPIPE, ""))
# What a process writes to its closed standard files must not end in the file that it makes.
for closed in ((1,), (2,), (0, 1, 2)):
    run = subprocess.run(["dlc", "compile", "wide.dl", "--target", "cpu", "-o", "apart.bin"],
                         preexec_fn=lambda: [os.close(file) for file in closed])
    expect(f"a package without the standard files {closed}",
           (run.returncode, read("apart.bin") == PACKAGE), (0, True))

# Ended in mid-write: the moment is found by the temporary file that stands there.
save("large.safetensors", {"a": np.zeros((4096, 4096), np.float32)})
write("large.dl", "dl 1\nmodel M {\n  a: Linear(4096, 4096, bias=False)\n"
      "  forward(x: f32[1,4096]) -> (y: f32[1,4096]) {\n    y = a(x)\n  }\n}\n"
      'weights "large.safetensors" {\n  rename { "a" -> "a.weight" }\n}\n')
says("a large model", 0, "", "compile", "-q", "large.dl", "--target", "cpu", "-o", "large.bin")
ZEROS = read("large.bin")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    for what, arguments in (("compile", ("compile", "-q", "large.dl", "--target", "cpu", "-o",
                                         "large.bin")), ("refit",
                                                         ("refit", "-q", "large.bin", "--weights",
                                                          "large.safetensors"))):
        caught = False
        for attempt in range(20):
            # Whoever runs this may ignore SIGINT, as a shell does for what it puts into the
            # background.
            child = subprocess.Popen(["dlc", *arguments],
                                     preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
            while child.poll() is None:
                if any(".tmp" in name for name in os.listdir(".")):
                    child.send_signal(number)
                    break
            caught = caught or child.wait() == -number
            if caught or child.returncode not in (0, -number):
                break
        expect(f"{what}: {number.name} in mid-write",
               (child.returncode, [n for n in os.listdir(".") if ".tmp" in n]), (-number, []))
        expect(f"{what}: the file is as it was after {number.name}",
               read("large.bin") == ZEROS, True)
os.remove("large.bin")
os.remove("large.safetensors")
suite.finish()
