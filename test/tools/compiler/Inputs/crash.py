"""crash.py FOLDER: sends SIGSEGV to dlc-compile while it is in a phase, and checks what it says and
leaves."""
import ctypes
import glob
import os
import re
import signal
import subprocess
import sys
import time

folder = sys.argv[1]
TGKILL = 234  # of x86-64: to one thread of a process
MODEL = """dl 1
model Long {
  forward(x: f32[8,16], w: f32[16,16]) -> (y: f32[8,16]) {
    for i in 0..400 { x = softmax(x @ w, dim=1) }
    y = x
  }
}
"""
model = os.path.join(folder, "long.dl")
with open(model, "w", encoding="utf-8") as out:
    out.write(MODEL)


def crash(process):
    ctypes.CDLL(None).syscall(TGKILL, process.pid, process.pid, signal.SIGSEGV)
    said = process.communicate()[1]
    return process.returncode, said


def start(*arguments):
    return subprocess.Popen(
        ["dlc-compile", "compile", *arguments, "-o",
         os.path.join(folder, "no.bin")], stderr=subprocess.PIPE, text=True)


def attempt_reading(pipe):
    """The exit status and what was said, after a signal while a pipe is opened.

    The open waits for a writer, and a writer can open the pipe as soon as somebody waits. The open
    that this ends may return before the signal arrives, so that one attempt proves nothing.
    """
    reader = start(pipe)
    writer = None
    while writer is None and reader.poll() is None:
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.001)
    ended = crash(reader)
    if writer is not None:
        os.close(writer)
    return ended


pipe = os.path.join(folder, "pipe.dl")
os.mkfifo(pipe)
expected = f"error: internal error while '{pipe}' was read: a crash; this is a bug of dlc: please report it, with the file\n"
for _ in range(40):
    status, said = attempt_reading(pipe)
    if (status, said) == (70, expected):
        break
else:
    sys.exit(
        f"no crash while a file was read was reported; the last attempt ended with {status}: {said}"
    )


def attempt(number):
    """The exit status and what was said, after a signal somewhere in a phase or between two of
    them."""
    dump = os.path.join(folder, f"dump{number}")
    os.environ["TMPDIR"] = os.path.join(folder, f"kept{number}")
    os.mkdir(os.environ["TMPDIR"])
    process = start(model, "--target", "cpu", "--dump-dir", dump)
    while process.poll() is None and not glob.glob(os.path.join(dump, "*canonicalize*.mlir")):
        time.sleep(0.001)
    return crash(process)


for number in range(
        40):  # a signal between two phases is what it always was, and a busy machine sends it late
    status, said = attempt(number)
    found = re.search(
        r"internal error in phase '(\w+)': a crash; this is a bug of dlc: please report it; what it worked on is in (.+\.mlir)",
        said)
    if status == 70 and found:
        with open(found[2], encoding="utf-8") as kept:
            first = kept.readline()
        assert f"--compile-to={found[1]} THIS_FILE" in first, first
        assert "dl.matmul" in open(found[2], encoding="utf-8").read()
        assert not os.path.exists(os.path.join(folder, "no.bin"))
        print(f"crashed in phase {found[1]}, attempt {number}")
        break
else:
    sys.exit(f"no attempt was reported; the last ended with {status}: {said}")
