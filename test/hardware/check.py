#!/usr/bin/env python3
"""Verifies dlc's CUDA kernels on this machine's GPU and measures what they take. Needs an NVIDIA driver, NVRTC (of a CUDA
toolkit, or `pip install nvidia-cuda-nvrtc`) and Python 3.7; nothing else of dlc, and no other package.

    ./check                      everything: words of the device vocabulary, kernels, compute-sanitizer, benchmarks, calibration
    ./check --only cases         one stage: words, cases, sanitizer, benchmarks or calibration
    ./check --emulator FOLDER    the same on the emulated GPU whose libraries lie in FOLDER: shows that this folder works
    ./check --repository DLC     also puts the result into DLC/test/bench/results, where dlc-ledger reads it

It goes on where it was stopped (--fresh: from the beginning) and ends within --minutes 10, leaving out what did not fit. Results
are in results/GPU-DATE.json. Exit status: 0 all that ran is right, 1 something is wrong, 2 usage, 5 no GPU that can be used."""
import argparse
import array
import concurrent.futures
import datetime
import glob
import gzip
import json
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(HERE, "bin")
STAGES = ("words", "cases", "sanitizer", "benchmarks", "calibration")
# Seconds that one process may take before it counts as hung, and that stages before the measurements leave to these.
TIMEOUT, RESERVE = 120, 150


def say(text=""):
    print(text, flush=True)


class Outcome:
    """What became of one process: "ok", "failed" or "left out", and the sentence that says why."""

    def __init__(self, status, detail="", seconds=0.0):
        self.status, self.detail, self.seconds = status, detail, seconds
        self.ran = []  # the kernels that the process launched


class Machine:
    """The GPU, or the emulated one, and the environment that our tools run in."""

    def __init__(self, emulator):
        self.emulated = emulator is not None
        self.environment = dict(os.environ)
        self.environment.setdefault("DLC_CACHE_DIR", os.path.join(HERE, "results", "kernel-cache"))
        if self.emulated:
            for variable, library in (("DLC_LIBCUDA", "libdlc_cuda_emu.so"), ("DLC_LIBNVRTC", "libdlc_nvrtc_emu.so")):
                path = os.path.join(os.path.abspath(emulator), library)
                if not os.path.exists(path):
                    sys.exit(f"error: there is no {path}; --emulator names the folder of the emulator's libraries")
                self.environment[variable] = path
            self.environment["DLC_CACHE_DIR"] = ""
        doctor = self.run([os.path.join(BIN, "dlc"), "doctor", "--device", "cuda"])
        self.report = doctor.stdout
        gpu = re.search(r"^GPU 0 +(.*), sm_(\d+)$", self.report, re.M)
        self.usable = doctor.returncode == 0 and gpu is not None
        self.name, self.architecture = (gpu.group(1), int(gpu.group(2))) if gpu else ("none", 0)
        self.facts = {key: found.group(1).strip() if found else "" for key, found in (
            ("driver", re.search(r"^CUDA driver +(.*)$", self.report, re.M)),
            ("nvrtc", re.search(r"^NVRTC +(.*)$", self.report, re.M)))}

    def run(self, command, timeout=TIMEOUT, **extra):
        """Like subprocess.run; what hangs is ended with all its children. returncode None: it took too long."""
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True, errors="replace", env={**self.environment, **extra},
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout)
            return subprocess.CompletedProcess(command, process.returncode, out, err)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return subprocess.CompletedProcess(command, None, out, err)

    def slug(self):
        name = "emulator" if self.emulated else re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"{name}-{datetime.date.today().isoformat()}"


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
        identity = json.dumps([self.machine.name, self.machine.architecture, self.machine.facts, self.manifest["commit"],
                               self.manifest["made"], self.manifest["part"]])
        self.state = State(os.path.join(HERE, "results", "state"), identity, options.fresh)
        self.deadline = time.time() + 60 * options.minutes
        self.counts = {"ok": 0, "failed": 0, "left out": 0}
        self.left_out = {}
        self.failures = []

    def leave_out(self, what, reason):
        self.counts["left out"] += 1
        self.left_out.setdefault(reason, []).append(what)

    def record(self, stage, name, outcome):
        """Counts and prints a case; keeps it, so that it is not run again, unless it was only a matter of time."""
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
                before.ran = known["ran"]
                return before
            if time.time() > self.deadline - reserve:
                return Outcome("left out", f"the {self.options.minutes} minutes were over; run ./check again, it goes on here")
            start = time.time()
            outcome = function(entry)
            outcome.seconds = time.time() - start
            return outcome

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for entry, outcome in zip(entries, pool.map(work, entries)):
                self.record(stage, entry["name"], outcome)
                if outcome.status != "left out":
                    self.state.keep(f"{stage}/{entry['name']}", {"status": outcome.status, "detail": outcome.detail, "ran": outcome.ran})

    #-- The stages ---------------------------------------------------------------------------------

    def words(self):
        missing = self.manifest["words_without_a_case"]
        for word in missing:
            self.leave_out(f"words: {word}", "the folder has no case for these words of the vocabulary")

        def one(entry):
            if entry["needs_hopper"] and self.machine.architecture != 90:
                return Outcome("left out", f"needs compute capability 9.0, the GPU has {self.machine.architecture / 10:.1f}")
            run = self.machine.run([os.path.join(BIN, "gpu-words"), "--compare", os.path.join(HERE, "words"), entry["name"]])
            return self.judge(run, r"^(?:FAILED|error:) *(.*)$")

        self.each("words", self.manifest["words"], one, RESERVE)

    def case_command(self, place, entry):
        """Unpacks the case into the folder `place`, and runs it there."""
        target = os.path.join(place, entry["name"])
        if not os.path.isdir(target):
            os.makedirs(target)
            for packed in glob.glob(os.path.join(HERE, "cases", entry["name"], "*.gz")):
                with gzip.open(packed) as source, open(os.path.join(target, os.path.basename(packed)[:-len(".gz")]), "wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
        repeat = 1 if self.machine.emulated else 3
        return [os.path.join(BIN, "gpu-case"), target, "--device", "cuda", "--repeat", repeat]

    def cases(self):
        def one(entry):
            with tempfile.TemporaryDirectory() as place:
                return examine(self.case_command(place, entry))

        def examine(command):
            run = self.machine.run(command)
            outcome = self.judge(run, r"^(?:FAILED|error:|.*, turn \d+: error:) *(.*)$")
            outcome.ran = re.findall(r"^ran (\S+)$", run.stdout, re.M)
            if run.returncode not in (0, 4) and not self.machine.emulated:
                # Launch by launch: then the error stands at the kernel that made it.
                again = self.machine.run(command, CUDA_LAUNCH_BLOCKING="1")
                detail = self.judge(again, r"error: (.*)$").detail
                outcome.detail += f" [launch by launch: {detail or 'no error'}]"
            return outcome

        self.each("cases", self.manifest["cases"], one, RESERVE)

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
        names = ["compute-sanitizer", *(os.path.join(os.environ.get(variable, "/nowhere"), "bin", "compute-sanitizer")
                                        for variable in ("CUDA_HOME", "CUDA_PATH")), "/usr/local/cuda/bin/compute-sanitizer"]
        tool = next((found for found in map(shutil.which, names) if found), None)
        if self.machine.emulated or not tool:
            self.leave_out("sanitizer", "the emulator has a checker of its own" if self.machine.emulated else
                           "compute-sanitizer is not on this machine")
            return
        # Races and barriers where threads work together, everything else everywhere; as many as half the time allows.
        entries = []
        for kind in ("memcheck", "racecheck", "synccheck"):
            for word in self.manifest["words"]:
                if not word["needs_hopper"] or self.machine.architecture == 90:
                    command = [os.path.join(BIN, "gpu-words"), "--compare", os.path.join(HERE, "words"), word["name"]]
                    entries.append({"name": f"{kind}: {word['name']}", "command": command, "tool": kind})
            for case in self.manifest["cases"][::1 if kind == "memcheck" else 4]:
                entries.append({"name": f"{kind}: {case['name']}", "case": case, "tool": kind})

        def one(entry):
            with tempfile.TemporaryDirectory() as place:
                command = entry.get("command") or self.case_command(place, entry["case"])[:-1] + [1]
                run = self.machine.run([tool, "--tool", entry["tool"], "--error-exitcode", "9", *command])
            if run.returncode is None:
                return Outcome("left out", f"took longer than {TIMEOUT} s under compute-sanitizer")
            return self.judge(run, r"^========= (?!COMPUTE|Target)(.*)$")

        self.each("sanitizer", entries, one, RESERVE)

    def benchmarks(self):
        rounds = 1 if self.machine.emulated else 3
        entries = [entry for entry in self.manifest["benchmarks"] if entry["emulated"] or not self.machine.emulated]
        for entry in self.manifest["benchmarks"]:
            if entry not in entries:
                self.leave_out(f"benchmarks: {entry['name']}", "too large for the emulator")
        say(f"== benchmarks: {len(entries)}")
        measured = {entry["name"]: [] for entry in entries}
        with tempfile.TemporaryDirectory() as place:
            models = {}
            for turn in range(rounds):  # interleaved, so that a change of clocks meets all of them
                for entry in entries:
                    if time.time() > self.deadline - 20:
                        self.leave_out(f"benchmarks: {entry['name']}, round {turn + 1}", "the time was over")
                        continue
                    if entry["file"] not in models:
                        models[entry["file"]] = self.unpack(entry, place)
                    problem = self.bench(entry, models[entry["file"]], measured[entry["name"]])
                    if problem:
                        self.record("benchmarks", entry["name"], Outcome("failed", problem))
        for entry in entries:  # dlc's own kernel ran in its place
            if entry.get("by_library") and any(kernel["kind"] != "cublasLt" for figures in measured[entry["name"]]
                                               for kernel in figures["graph"]["kernels"]):
                measured[entry["name"]].clear()
                self.leave_out(f"benchmarks: {entry['name']}", "cuBLASLt is not installed, or failed")
        results = [self.summarize(entry, measured[entry["name"]]) for entry in entries if measured[entry["name"]]]
        for result in results:
            rate = "".join(f", {result[key]:.1f} {unit}" for key, unit in (("gb_s", "GB/s"), ("tflop_s", "TFLOP/s")) if key in result)
            say(f"       {result['name']:32} {result['gpu_ms']:10.4f} ms on the GPU, {result['wall_ms']:10.4f} ms in all, "
                f"{result['launches']} launches{rate}")
            self.counts["ok"] += 1
        self.state.keep("benchmarks", results)

    def bench(self, entry, model, measured):
        """Adds a round's figures, with and without a graph; a sentence where it fails."""
        figures = {}
        for kind, flags in (("graph", []), ("eager", ["--no-graph"])):
            seconds = ["--iterations", 2, "--warmup", 0, "--duration", 0] if self.machine.emulated else ["--duration", 1]
            inputs = [part for text in entry["inputs"] for part in ("--input", text)]
            library = "--cublas" if entry.get("by_library") else "--no-cublas"
            run = self.machine.run([os.path.join(BIN, "dlc"), "bench", model, "--device", "cuda", "--json", library, *seconds, *flags,
                                    *inputs])
            if run.returncode != 0:
                return self.judge(run, r"error: (.*)$").detail
            figures[kind] = json.loads(run.stdout)
        measured.append(figures)
        return None

    @staticmethod
    def summarize(entry, measured):
        def median(kind, *path):
            values = []
            for figures in measured:
                value = figures[kind]
                for key in path:
                    value = value[key]
                values.append(value)
            return statistics.median(values)

        gpu = [figures["graph"]["gpu_ms"]["median"] for figures in measured]
        result = {"name": entry["name"], "launches": entry["launches"], "rounds": len(measured), "gpu_ms": statistics.median(gpu),
                  "gpu_ms_min": min(gpu), "gpu_ms_max": max(gpu), "wall_ms": median("graph", "latency_ms", "median"),
                  "gpu_ms_without_graph": median("eager", "gpu_ms", "median"),
                  "wall_ms_without_graph": median("eager", "latency_ms", "median"),
                  "load_ms": median("graph", "load_ms"), "first_inference_ms": median("graph", "first_inference_ms"),
                  "kernels": measured[0]["graph"]["kernels"]}
        for key, source, scale in (("gb_s", "bytes", 1e6), ("tflop_s", "flops", 1e9)):
            if source in entry and result["gpu_ms"] > 0:
                result[key] = entry[source] / result["gpu_ms"] / scale
        return result

    def unpack(self, entry, place):
        """The path of model.bin, with random weights where it has any."""
        path = os.path.join(place, entry["file"][:-len(".gz")])
        with gzip.open(os.path.join(HERE, "bench", entry["file"])) as source, open(path, "wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
        if entry["weights"]:
            weights = path + ".safetensors"
            write_weights(weights, entry["weights"])
            run = self.machine.run([os.path.join(BIN, "dlc"), "refit", path, "--weights", weights])
            os.remove(weights)
            if run.returncode:
                sys.exit(f"error: dlc refit: {run.stderr}{run.stdout}")
        return path

    def calibration(self):
        say("== calibration")
        run = self.machine.run([os.path.join(BIN, "gpu-calibrate"), *(["--small"] if self.machine.emulated else [])])
        if run.returncode:
            self.record("calibration", "gpu-calibrate", self.judge(run, r"error: (.*)$"))
            return
        facts = json.loads(run.stdout)
        chain = next((bench for bench in self.state.found.get("benchmarks", []) if bench["name"] == "chain of launches"), None)
        if chain:
            facts["graph_edge_us"] = 1e3 * chain["gpu_ms"] / chain["launches"]
            facts["launch_edge_us"] = 1e3 * chain["gpu_ms_without_graph"] / chain["launches"]
        for name, value in facts.items():
            say(f"       {name:32} {value}")
            self.counts["ok"] += 1
        for what, reason in (("cluster barrier", "the vocabulary has no word for it"),
                             ("peaks of cuBLASLt in fp8 and int8", "dlc multiplies in neither yet")):
            self.leave_out(f"calibration: {what}", reason)
        self.state.keep("calibration", facts)

    #-- The result ---------------------------------------------------------------------------------

    def verified(self):
        """text_sha256 -> what confirms it. A case confirms the kernels that it launched: a package may hold others, for other GPUs
        and shapes. One that is also part of a failed case is not verified."""
        status = {}
        for stage in ("words", "cases"):
            for entry in self.manifest[stage]:
                found = self.state.found.get(f"{stage}/{entry['name']}")
                if not found:
                    continue
                for kernel in entry.get("kernels", [{"text_sha256": entry.get("text_sha256"), "kind": "words", "name": entry["name"]}]):
                    known = status.setdefault(kernel["text_sha256"], {"kind": kernel["kind"], "name": kernel["name"], "cases": [],
                                                                      "failed": []})
                    if found["status"] != "ok":
                        known["failed"].append(f"{stage}/{entry['name']}")
                    elif stage == "words" or kernel["launches_at_load"] > 0 or kernel["name"] in found["ran"]:
                        known["cases"].append(f"{stage}/{entry['name']}")
        for known in status.values():
            known["verified"] = bool(known["cases"]) and not known["failed"]
        return status

    def write_result(self):
        kernels = self.verified()
        result = {"format": 1, "emulated": self.machine.emulated, "gpu": self.machine.name, "architecture": self.machine.architecture,
                  **self.machine.facts, "date": datetime.date.today().isoformat(), "commit": self.manifest["commit"],
                  "part": self.manifest["part"], "counts": self.counts, "failures": self.failures, "left_out": self.left_out,
                  "kernels": kernels, "benchmarks": self.state.found.get("benchmarks", []),
                  "calibration": self.state.found.get("calibration", {})}
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


def write_weights(path, shapes):
    """Random weights that keep the size of what flows through, as safetensors; a block of numbers stands again and again."""
    generator = random.Random(7)
    normal = array.array("f", (generator.gauss(0, 1) for _ in range(1 << 15)))
    header, offset = {}, 0
    for name, dims in shapes.items():
        count = 1
        for dim in dims:
            count *= dim
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [offset, offset + 4 * count]}
        offset += 4 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, dims in shapes.items():
            begin, end = header[name]["data_offsets"]
            if name.endswith(("running_var", "moving_variance")) or len(dims) < 2 and name.endswith((".weight", "gamma")):
                block = array.array("f", (1 + 0.1 * abs(value) for value in normal))
            else:
                inputs = 1
                for dim in dims[1:]:
                    inputs *= dim
                scale = (1.5 / inputs) ** 0.5 if len(dims) > 1 else 0.1
                block = array.array("f", (scale * value for value in normal))
            data, left = block.tobytes(), end - begin
            while left > 0:
                out.write(data[:left])
                left -= len(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="See the head of this file.")
    parser.add_argument("--emulator", metavar="FOLDER")
    parser.add_argument("--only", choices=STAGES, action="append")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--repository", metavar="DLC")
    options = parser.parse_args()
    if options.emulator is not None and options.repository:
        parser.error("what the emulator says is no result of hardware: --repository goes without --emulator")
    check = Check(options)
    start = time.time()
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
