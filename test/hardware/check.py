#!/usr/bin/env python3
"""Verifies dlc on this machine's GPU and measures it. Needs an NVIDIA driver, NVRTC (of a CUDA
toolkit, or `pip install nvidia-cuda-nvrtc`), Python 3.7 and the C library; nothing else of dlc, and
no other package.

    ./check                      everything: words of the device vocabulary, models,
                                 compute-sanitizer, benchmarks, calibration
    ./check --only cases         one stage: words, cases, sanitizer, benchmarks or calibration
    ./check --emulator FOLDER    the same on the emulated GPU whose libraries lie in FOLDER, with
                                 smaller networks: shows that this folder works
    ./check --repository DLC     also puts the result into DLC/test/bench/results, where dlc-ledger
                                 reads it

A case is a model: it is compiled here, its results on the GPU are compared with those on the CPU,
and each of its kernels runs by itself on values that the CPU computed, so that a wrong one is
named. It goes on where it was stopped (--fresh: from the beginning) and ends within --minutes 10,
leaving out what did not fit. Results are in results/GPU-DATE.json. Exit status: 0 all that ran is
right, 1 something is wrong, 2 usage, 5 no GPU that can be used."""
import argparse
import concurrent.futures
import datetime
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "results", "tools")
sys.path.insert(0, HERE)
import measure  # noqa: E402
import weights  # noqa: E402

STAGES = ("words", "cases", "sanitizer", "benchmarks", "calibration")
# Seconds that one process may take before it counts as hung, and that stages before the
# measurements leave to these.
TIMEOUT, RESERVE = 120, 220
NO_NVRTC = 77  # exit status of kernel-ptx
DIGITS = 16  # of a hash in the table of PTX, as dlc-ledger takes them


def say(text=""):
    print(text, flush=True)


class Outcome:
    """What became of one process: "ok", "failed" or "left out", and the sentence that says why."""

    def __init__(self, status, detail="", seconds=0.0):
        self.status, self.detail, self.seconds = status, detail, seconds
        self.kernels = [
        ]  # of the case's model: what dlc inspect says of each, whether it ran, and its PTX


class Machine:
    """The GPU, or the emulated one, and the environment that our tools run in."""

    def __init__(self, emulator):
        self.emulated = emulator is not None
        self.environment = dict(os.environ)
        self.environment.setdefault("DLC_CACHE_DIR", os.path.join(HERE, "results", "kernel-cache"))
        unpack_tools()
        self.dlc = os.path.join(TOOLS, "dlc")
        self.real = dict(self.environment)  # kernel-ptx asks the real NVRTC, where there is one
        if self.emulated:
            for variable, library in (("DLC_LIBCUDA", "libdlc_cuda_emu.so"),
                                      ("DLC_LIBNVRTC", "libdlc_nvrtc_emu.so")):
                path = os.path.join(os.path.abspath(emulator), library)
                if not os.path.exists(path):
                    sys.exit(
                        f"error: there is no {path}; --emulator names the folder of the emulator's libraries"
                    )
                self.environment[variable] = path
        doctor = self.run([self.dlc, "doctor", "--device", "cuda"])
        self.report = doctor.stdout
        gpu = re.search(r"^GPU 0 +(.*), sm_(\d+)$", self.report, re.M)
        self.usable = doctor.returncode == 0 and gpu is not None
        self.name, self.architecture = (gpu.group(1), int(gpu.group(2))) if gpu else ("none", 0)
        self.facts = {key: found.group(1).strip() if found else "" for key, found in (
            ("driver", re.search(r"^CUDA driver +(.*)$", self.report, re.M)),
            ("nvrtc", re.search(r"^NVRTC +(.*)$", self.report, re.M)))}

    def run(self, command, real=False, **extra):
        """Like subprocess.run; what hangs is ended with all its children. returncode None: it took
        too long."""
        environment = self.real if real else self.environment
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, universal_newlines=True,
                                   errors="replace", env={**environment,
                                                          **extra}, start_new_session=True)
        try:
            out, err = process.communicate(timeout=TIMEOUT * (5 if self.emulated else 1))
            return subprocess.CompletedProcess(command, process.returncode, out, err)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return subprocess.CompletedProcess(command, None, out, err)

    def slug(self):
        name = "emulator" if self.emulated else re.sub(r"[^a-z0-9]+", "-",
                                                       self.name.lower()).strip("-")
        return f"{name}-{datetime.date.today().isoformat()}"


def unpack_tools():
    """The folder holds them compressed; and what one of another folder has left there is of no use.
    """
    packed, mark = os.path.join(HERE, "tools.tar.xz"), os.path.join(TOOLS, "of")
    identity = str(os.stat(packed).st_mtime_ns)
    if not os.path.exists(mark) or open(mark, encoding="utf-8").read() != identity:
        shutil.rmtree(TOOLS, ignore_errors=True)
        with tarfile.open(packed) as source:
            source.extractall(os.path.dirname(TOOLS))
        with open(mark, "w", encoding="utf-8") as out:
            out.write(identity)


class State:
    """What earlier runs of this folder found on the same machine, a line of JSON each."""

    def __init__(self, path, identity, fresh):
        self.path, self.found = path, {}
        lines = []
        if not fresh and os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                lines = source.read().splitlines()
        if lines and lines[0] == identity:
            for line in lines[1:]:
                try:
                    key, value = json.loads(line)
                except ValueError:  # the last line of a run that was stopped
                    continue
                self.found[key] = value
        else:
            with open(path, "w", encoding="utf-8") as out:
                out.write(identity + "\n")

    def keep(self, key, value):
        self.found[key] = value
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(json.dumps([key, value]) + "\n")


class Check:
    def __init__(self, options):
        self.options = options
        with open(os.path.join(HERE, "manifest.json"), encoding="utf-8") as source:
            self.manifest = json.load(source)
        os.makedirs(os.path.join(HERE, "results"), exist_ok=True)
        self.machine = Machine(options.emulator)
        if not self.machine.usable:
            say(self.machine.report)
            say("error: no GPU can be used; the lines above say why")
            sys.exit(5)
        identity = json.dumps([
            self.machine.name, self.machine.architecture, self.machine.facts,
            self.manifest["commit"], self.manifest["made"],
            os.path.getmtime(os.path.join(HERE, "tools.tar.xz"))
        ])
        self.state = State(os.path.join(HERE, "results", "state"), identity, options.fresh)
        self.deadline = time.time() + 60 * options.minutes
        self.counts = {"ok": 0, "failed": 0, "left out": 0}
        self.left_out = {}
        self.failures = []
        self.version = None  # of the NVRTC that keys kernels
        turn, turns = options.turn
        self.cases_taken = [
            case for case in self.manifest["cases"]
            if (zlib.crc32(case["name"].encode()) + turn) % turns == 0
        ]
        if turns > 1:
            for _ in range(len(self.manifest["cases"]) - len(self.cases_taken)):
                self.leave_out("a case", f"not in this turn, 1 in {turns}")

    say = staticmethod(say)

    def fail(self, stage, name, why):
        self.record(stage, name, Outcome("failed", why))

    def leave_out(self, what, reason):
        self.counts["left out"] += 1
        self.left_out.setdefault(reason, []).append(what)

    def record(self, stage, name, outcome):
        """Counts and prints a case; keeps it, so that it is not run again, unless it was only a
        matter of time."""
        if outcome.status == "left out":
            self.leave_out(f"{stage}: {name}", outcome.detail)
            return
        self.counts[outcome.status] += 1
        if outcome.status == "failed":
            self.failures.append({"stage": stage, "name": name, "why": outcome.detail})
        say(f"{'ok    ' if outcome.status == 'ok' else 'FAILED'} {stage} {name} ({outcome.seconds:.1f} s)"
            + (f": {outcome.detail}" if outcome.detail else ""))

    def each(self, stage, entries, function, reserve):
        """Runs `function` on all entries, each in processes of its own, some at a time."""
        say(f"== {stage}: {len(entries)}")

        def work(entry):
            known = self.state.found.get(f"{stage}/{entry['name']}")
            if known and known["status"] == "ok":
                before = Outcome("ok", "as found before", 0.0)
                before.kernels = known["kernels"]
                return before
            if time.time() > self.deadline - reserve:
                return Outcome(
                    "left out",
                    f"the {self.options.minutes} minutes were over; run ./check again, it goes on here"
                )
            start = time.time()
            try:
                outcome = function(entry)
            except (OSError, RuntimeError, ValueError) as error:
                outcome = Outcome("failed", f"{type(error).__name__}: {error}")
            outcome.seconds = time.time() - start
            return outcome

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for entry, outcome in zip(entries, pool.map(work, entries)):
                self.record(stage, entry["name"], outcome)
                if outcome.status != "left out":
                    self.state.keep(f"{stage}/{entry['name']}", {
                        "status": outcome.status, "detail": outcome.detail,
                        "kernels": outcome.kernels
                    })

    #-- The stages ---------------------------------------------------------------------------------

    def words(self):
        missing = self.manifest["words_without_a_case"]
        for word in missing:
            self.leave_out(f"words: {word}",
                           "the folder has no case for these words of the vocabulary")

        def one(entry):
            if entry["needs_hopper"] and self.machine.architecture != 90:
                return Outcome(
                    "left out",
                    f"needs compute capability 9.0, the GPU has {self.machine.architecture / 10:.1f}"
                )
            run = self.machine.run([
                os.path.join(TOOLS, "gpu-words"), "--compare",
                os.path.join(TOOLS, "words"), entry["name"]
            ])
            return self.judge(run, r"^(?:FAILED|error:) *(.*)$")

        self.each("words", self.manifest["words"], one, RESERVE)

    def made(self, entry):
        """The folder of a case, unpacked and compiled, and an outcome where that fails."""
        place = os.path.join(HERE, "results", "work", entry["name"])
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        for packed in glob.glob(os.path.join(HERE, "cases", entry["name"], "*.gz")):
            with gzip.open(packed) as source, open(
                    os.path.join(place,
                                 os.path.basename(packed)[:-len(".gz")]), "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
        source, asked = entry["sources"][0], entry.get("weights")
        if self.machine.emulated and len(entry["sources"]) > 1:
            source, asked = entry["sources"][1], entry["reduced_weights"]
            os.replace(os.path.join(place, "reduced.txt"), os.path.join(place, "plan.txt"))
        command = [
            self.machine.dlc, "compile",
            os.path.join(place, source), "--target", "cpu,cuda", *entry["flags"], "-q", "-o",
            os.path.join(place, "model.bin")
        ]
        if "--chains" not in entry["flags"]:
            command += ["--chains", "never"]  # each kernel is judged by itself
        if asked is not None:
            file = os.path.join(place, "weights.safetensors")
            weights.write(file, asked)
            command += ["--weights", file]
        run = self.machine.run(command)
        if asked is not None:
            os.remove(file)
        return place, None if run.returncode == 0 else self.judge(run, r"error: (.*)$")

    def kernels_of(self, place, said):
        """What is known of the kernels of a model after gpu-case has run it."""
        model = os.path.join(place, "model.bin")
        facts = json.loads(self.machine.run([self.machine.dlc, "inspect", model, "--json"]).stdout)
        ran, replayed = (set(re.findall(rf"^{word} (\S+)$", said, re.M))
                         for word in ("ran", "replayed"))
        blamed = set(re.findall(r"^FAILED kernel '(\S+)'", said, re.M))
        ptx = self.ptx_of([model])
        kernels = []
        for program in facts["programs"]:
            for kernel in program["kernels"] if program["target"] == "cuda" else []:
                known = {key: kernel[key] for key in ("name", "kind", "text_sha256")}
                known["variant"] = "in_place_of" in kernel or "stages" in kernel
                known["ran"] = kernel["launches_at_load"] > 0 or kernel["name"] in ran | replayed
                known["blamed"] = kernel["name"] in blamed
                known["ptx"] = ptx.get(kernel["text_sha256"])
                kernels.append(known)
        return kernels

    def architecture(self):
        return f"sm_{self.machine.architecture}" + ("a" if self.machine.architecture >= 90 else "")

    def ptx_of(self, files):
        """text_sha256 -> ptx_sha256, by the NVRTC of this machine; empty where there is none."""
        run = self.machine.run([os.path.join(TOOLS, "kernel-ptx"), "--arch", self.architecture(),
                                "--known", os.path.join(HERE, "results", "ptx"), *files], real=True)
        lines = run.stdout.splitlines()
        if run.returncode == NO_NVRTC:
            return {}
        if run.returncode or not lines:
            raise RuntimeError(f"kernel-ptx: {run.stdout[-500:]}{run.stderr[-500:]}")
        self.version = lines[0].split()[1]
        return dict(line.split() for line in lines[1:])

    def cases(self):
        repeat = 1 if self.machine.emulated else 3

        def one(entry):
            place, failure = self.made(entry)
            if failure:
                return failure
            command = [
                os.path.join(TOOLS, "gpu-case"), place, "--device", "cuda", "--repeat", repeat
            ]
            run = self.machine.run(command)
            outcome = self.judge(run,
                                 r"^(?:FAILED|error:|.*, (?:turn \d+|on the CPU): error:) *(.*)$")
            if run.returncode in (0, 4):
                outcome.kernels = self.kernels_of(place, run.stdout)
            elif not self.machine.emulated:
                # Launch by launch: then the error stands at the kernel that made it.
                again = self.machine.run(command, CUDA_LAUNCH_BLOCKING="1")
                detail = self.judge(again, r"error: (.*)$").detail
                outcome.detail += f" [launch by launch: {detail or 'no error'}]"
            if "weights" in entry:  # compute-sanitizer takes the others once more
                shutil.rmtree(place)
            return outcome

        self.each("cases", self.cases_taken, one, RESERVE)

    @staticmethod
    def judge(run, pattern):
        if run.returncode == 0:
            return Outcome("ok")
        said = re.findall(pattern, run.stdout + run.stderr, re.M)
        lines = (run.stdout + run.stderr).strip().splitlines()
        why = said[0] if said else (lines[-1] if lines else "it said nothing")
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        if run.returncode is None:
            return Outcome("failed", f"took longer than {TIMEOUT} s: {why}")
        if run.returncode < 0:
            return Outcome("failed", f"was ended by signal {-run.returncode}: {why}")
        return Outcome("failed", why[:600] + more)

    def sanitizer(self):
        names = [
            "compute-sanitizer",
            *(os.path.join(os.environ.get(variable, "/nowhere"), "bin", "compute-sanitizer")
              for variable in ("CUDA_HOME", "CUDA_PATH")), "/usr/local/cuda/bin/compute-sanitizer"
        ]
        tool = next((found for found in map(shutil.which, names) if found), None)
        if self.machine.emulated or not tool:
            self.leave_out(
                "sanitizer", "the emulator has a checker of its own"
                if self.machine.emulated else "compute-sanitizer is not on this machine")
            return
        # Races and barriers where threads work together, everything else everywhere; as many as
        # half the time allows.
        entries = []
        for kind in ("memcheck", "racecheck", "synccheck"):
            for word in self.manifest["words"]:
                if not word["needs_hopper"] or self.machine.architecture == 90:
                    command = [
                        os.path.join(TOOLS, "gpu-words"), "--compare",
                        os.path.join(TOOLS, "words"), word["name"]
                    ]
                    entries.append(
                        {"name": f"{kind}: {word['name']}", "command": command, "tool": kind})
            for case in [case for case in self.cases_taken
                         if "weights" not in case][::1 if kind == "memcheck" else 4]:
                place = os.path.join(HERE, "results", "work", case["name"])
                if os.path.exists(os.path.join(place, "model.bin")):
                    command = [
                        os.path.join(TOOLS, "gpu-case"), place, "--device", "cuda", "--repeat", 1
                    ]
                    entries.append(
                        {"name": f"{kind}: {case['name']}", "command": command, "tool": kind})

        def one(entry):
            run = self.machine.run(
                [tool, "--tool", entry["tool"], "--error-exitcode", "9", *entry["command"]])
            if run.returncode is None:
                return Outcome("left out", f"took longer than {TIMEOUT} s under compute-sanitizer")
            return self.judge(run, r"^========= (?!COMPUTE|Target)(.*)$")

        self.each("sanitizer", entries, one, RESERVE)

    def benchmarks(self):
        measure.benchmarks(self)

    def calibration(self):
        measure.calibration(self)

    #-- The result ---------------------------------------------------------------------------------

    def verified(self):
        """text_sha256 -> what confirms it, and the PTX of each. A case confirms the kernels that it
        launched: a package may hold others, for other GPUs and shapes. One that is also part of a
        failed case is not verified, unless others are to blame."""
        status, ptx = {}, {}

        def count(name, kernel, is_right, ran):
            known = status.setdefault(
                kernel["text_sha256"], {
                    "kind": kernel["kind"], "name": kernel["name"], "variant": True, "cases": [],
                    "failed": []
                })
            known["variant"] &= kernel.get("variant", False)
            if not is_right:
                known["failed"].append(name)
            elif ran:
                known["cases"].append(name)
            if kernel.get("ptx"):
                ptx[kernel["text_sha256"][:DIGITS]] = kernel["ptx"][:DIGITS]

        for entry in self.manifest["words"]:
            found = self.state.found.get(f"words/{entry['name']}")
            if found:
                kernel = {
                    "kind": "words", "name": entry["name"], "text_sha256": entry["text_sha256"]
                }
                count(f"words/{entry['name']}", kernel, found["status"] == "ok", True)
        for entry in self.manifest["cases"]:
            found = self.state.found.get(f"cases/{entry['name']}")
            for kernel in found["kernels"] if found else []:
                named = any(each["blamed"] for each in found["kernels"])
                is_right = found["status"] == "ok" or (named and not kernel["blamed"])
                count(f"cases/{entry['name']}", kernel, is_right, kernel["ran"])
        for known in status.values():
            known["verified"] = bool(known["cases"]) and not known["failed"]
        return status, ptx

    def write_result(self):
        kernels, ptx = self.verified()
        if ptx and not self.version:
            self.ptx_of(glob.glob(os.path.join(TOOLS, "words", "calibrate.cu")))
        result = {
            "format": 2, "emulated": self.machine.emulated, "gpu": self.machine.name,
            "architecture": self.machine.architecture,
            **self.machine.facts, "date": datetime.date.today().isoformat(),
            "commit": self.manifest["commit"], "counts": self.counts, "failures": self.failures,
            "left_out": self.left_out, "keys": {
                "nvrtc": self.version or "none", "architecture": self.architecture(), "ptx": ptx
            }, "kernels": kernels, "benchmarks": self.state.found.get("benchmarks", []),
            "calibration": self.state.found.get("calibration", {})
        }
        path = os.path.join(HERE, "results", self.machine.slug() + ".json")
        with open(path + ".new", "w", encoding="utf-8") as out:
            json.dump(result, out, indent=1)
        os.replace(path + ".new", path)
        if self.options.repository:
            target = os.path.join(self.options.repository, "test", "bench", "results")
            os.makedirs(target, exist_ok=True)
            shutil.copy(path, target)
            say(f"{os.path.join(target, os.path.basename(path))}: commit it")
        say()
        for reason, names in self.left_out.items():
            say(f"{len(names)} left out ({reason})")
        confirmed = sum(kernel["verified"] for kernel in kernels.values())
        say(f"{confirmed} of {len(kernels)} kernel texts {'agree with the references on the emulator' if self.machine.emulated else 'verified'}"
            f" on {self.machine.name} (sm_{self.machine.architecture}); {path}")
        say(f"{self.counts['ok']} passed, {self.counts['failed']} failed")


def turn_of(text):
    found = re.match(r"(\d+)/([1-9]\d*)$", text)
    if not found:
        raise argparse.ArgumentTypeError(
            "expected K/N: of N equal parts of the cases, the one with number K")
    return int(found.group(1)), int(found.group(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     epilog="See the head of this file.")
    parser.add_argument("--emulator", metavar="FOLDER")
    parser.add_argument("--only", choices=STAGES, action="append")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--turn", type=turn_of, default=(0, 1), metavar="K/N")
    parser.add_argument("--repository", metavar="DLC")
    options = parser.parse_args()
    if options.emulator is not None and options.repository:
        parser.error(
            "what the emulator says is no result of hardware: --repository goes without --emulator")
    start = time.time()
    check = Check(options)
    say(f"{check.machine.name}, sm_{check.machine.architecture}; driver {check.machine.facts['driver']}; NVRTC "
        f"{check.machine.facts['nvrtc']}; dlc {check.manifest['commit'][:12]}")
    for stage in STAGES:
        if not options.only or stage in options.only:
            try:
                getattr(check, stage)()
            except KeyboardInterrupt:
                check.leave_out(stage, "stopped from the keyboard")
                break
    check.write_result()
    say(f"{time.time() - start:.0f} s")
    return int(check.counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
