"""What `dlc compile -o` does to files: whole or as before, whatever stands in the way."""
import os
import signal
import subprocess
import sys
import time

model, folder = sys.argv[1:]
os.chdir(folder)


def compile_to(output, **options):
    return subprocess.run(["dlc", "compile", model, "--target", "cpu", "-o", output],
                          capture_output=True, **options)


def check(what, holds):
    if not holds:
        sys.exit("FAILED: " + what)
    print(what)


assert compile_to("real.bin").returncode == 0
good = open("real.bin", "rb").read()

open("old.bin", "w").write("old")
os.symlink("old.bin", "link.bin")
check(
    "symlink kept, target replaced",
    compile_to("link.bin").returncode == 0 and os.path.islink("link.bin")
    and open("old.bin", "rb").read() == good)
os.symlink("new.bin", "dangling.bin")
check(
    "dangling symlink filled",
    compile_to("dangling.bin").returncode == 0 and os.path.islink("dangling.bin")
    and open("new.bin", "rb").read() == good)
os.chmod("old.bin", 0o640)
check("permissions kept",
      compile_to("old.bin").returncode == 0 and os.stat("old.bin").st_mode & 0o777 == 0o640)
check("/dev/stdout takes the bytes",
      compile_to("/dev/stdout").stdout == good and compile_to("-").stdout == good)
full = compile_to("/dev/full")
check("a full device is an error", full.returncode == 5 and b"No space left" in full.stderr)
# A pipe whose reader has gone; SIGPIPE ignored, as some parents leave it.
read, write = os.pipe()
os.close(read)
gone = subprocess.run(["dlc", "--help"], stdout=write, stderr=subprocess.PIPE,
                      preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
                      restore_signals=False)
check("a reader that has gone is no crash", gone.returncode == -signal.SIGPIPE and not gone.stderr)
# At whatever point the signal comes, the file is the old one or the new one.
open("kept.bin", "w").write("kept")
for delay in (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08):
    child = subprocess.Popen(["dlc", "compile", model, "--target", "cpu", "-o", "kept.bin"])
    time.sleep(delay)
    child.terminate()
    if child.wait() not in (0, -signal.SIGTERM) or open("kept.bin",
                                                        "rb").read() not in (b"kept", good):
        sys.exit("FAILED: interrupted compile")
print("an interrupted compile leaves the old file")
check("no temporary file is left", not [name for name in os.listdir(".") if ".tmp" in name])
