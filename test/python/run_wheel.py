#!/usr/bin/env python3
"""The wheel of tools/scripts/wheel: what is in it, and that it is enough. It is installed into an
environment that has nothing else of ours, and there, in an empty folder, README's first example
runs, with the PyTorch of the machine."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import BUILD, run_tool  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "wheel")
PYTHON = os.environ.get("DLC_PYTHON", sys.executable)
MIB = 1 << 20
LARGEST = 40 * MIB
OLDEST_GLIBC = (2, 28)  # of Debian 10 and Red Hat 8
FILES = {
    "dlc/__init__.py", "dlc/__init__.pyi", "dlc/_runtime.pyi", "dlc/py.typed", "dlc/model.py",
    "dlc/errors.py", "dlc/compiler.py", "dlc/command.py", "dlc/decoder.py", "dlc/torch_backend.py",
    "dlc/keras_graph.py", "dlc/keras_import.py", "dlc/keras_text.py", "dlc/onnx_backend.py",
    "dlc/bin/dlc"
}


def first_example(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as source:
        return re.search(r"^```python\n(.*?)^```", source.read(), re.M | re.S)[1]


def clean(command, folder, **more):
    """What a command prints in a clean environment and an empty folder."""
    env = {
        "PATH": os.path.dirname(command[0]) + ":/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8",
        **more
    }
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode:
        raise Failure(f"exit status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def newest_glibc(folder):
    """The newest version of glibc that a file of the wheel asks for."""
    versions = set()
    for path in glob.glob(os.path.join(folder, "dlc", "bin", "dlc")) + glob.glob(
            os.path.join(folder, "dlc", "*.so")):
        listed = subprocess.run(["readelf", "-V", path], capture_output=True, text=True,
                                check=True).stdout
        versions.update(
            tuple(map(int, number.split("."))) for number in re.findall(r"GLIBC_(2\.\d+)", listed))
    return max(versions)


def main():
    cases, maker = Cases(), os.path.join(BUILD, "python-dlc", "bin", "python")
    if not os.path.exists(maker) or subprocess.run(
        [maker, "-c", "import nanobind, scikit_build_core"], capture_output=True).returncode:
        cases.leave_out(1, "no nanobind and scikit-build-core: tools/scripts/setup --tests")
        return cases.finish()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    wheel = None
    with cases.case("the wheel is made"):
        run_tool(os.path.join(ROOT, "tools", "scripts", "wheel"), OUT,
                 timeout=1200)  # it builds what has changed
        wheel, = glob.glob(os.path.join(OUT, "*.whl"))
    if not wheel:
        return cases.finish()
    with tempfile.TemporaryDirectory() as folder:
        with cases.case("it has its files, and its name says what it needs"):
            with zipfile.ZipFile(wheel) as archive:
                names = set(archive.namelist())
                archive.extractall(folder)
            if missing := FILES - names:
                raise Failure(f"it lacks {', '.join(sorted(missing))}")
            major, minor = newest_glibc(folder)
            named = re.search(r"manylinux_(\d+)_(\d+)_x86_64\.whl$", wheel)
            if not named or tuple(map(int, named.groups())) < (major, minor):
                raise Failure(f"{os.path.basename(wheel)} needs glibc {major}.{minor}")
            print(f"{os.path.basename(wheel)}: its files ask for glibc {major}.{minor}")
        if subprocess.run([maker, "-c", "import ziglang"], capture_output=True).returncode:
            cases.leave_out(
                2,
                "no ziglang, by which the wheel is linked for an old glibc: tools/scripts/setup --tests"
            )
        else:
            with cases.case("it runs on glibc 2.28"):
                if newest_glibc(folder) > OLDEST_GLIBC or "manylinux_2_28_" not in wheel:
                    raise Failure(
                        f"{os.path.basename(wheel)} asks for glibc {newest_glibc(folder)}")
            with cases.case("what it has in place of newer versions of glibc"):
                program = os.path.join(folder, "old-glibc-test")
                run_tool(maker, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.28", "-O2",
                         os.path.join(HERE, "OldGlibcTest.c"),
                         os.path.join(ROOT, "tools", "python", "OldGlibc.c"), "-lpthread", "-o",
                         program)
                run_tool(program)
    with cases.case("it is at most 40 MiB"):
        print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel) / MIB:.1f} MiB")
        if os.path.getsize(wheel) > LARGEST:
            raise Failure(f"it has {os.path.getsize(wheel)} bytes")
    environment = os.path.join(OUT, "environment")
    python = os.path.join(environment, "bin", "python")
    with cases.case("pip installs it into a bare environment"):
        run_tool(PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", environment)
        run_tool(PYTHON, "-m", "pip", "--python", python, "install", "-q", "--no-index",
                 "--no-deps", "--disable-pip-version-check", wheel)
    with tempfile.TemporaryDirectory() as folder:
        with cases.case("its command runs"):
            if "dlc 0." not in clean([os.path.join(environment, "bin", "dlc"), "--version"],
                                     folder):
                raise Failure("dlc --version does not say its version")
        current = os.path.join(BUILD, "python-aten", "bin", "python")
        if not os.path.exists(current):
            cases.leave_out(1, "no PyTorch 2.5 with torchvision: tools/scripts/setup --tests")
        else:
            with cases.case("README's first example runs"):
                program = os.path.join(folder, "example.py")
                with open(program, "w", encoding="utf-8") as out:
                    out.write(first_example("README.md"))
                installed, = glob.glob(os.path.join(environment, "lib", "python3*",
                                                    "site-packages"))
                printed = clean([current, program], folder, PYTHONPATH=installed)
                difference = re.search(r"difference from PyTorch: (\S+)", printed)
                if not difference or not float(
                        difference[1]) < 1e-4 or "resnet18.bin" not in os.listdir(folder):
                    raise Failure(f"it prints\n{printed}")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
